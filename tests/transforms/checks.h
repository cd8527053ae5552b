#pragma once
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <string>
#include <vector>

namespace weft::test {

inline bool near(const Array& x, const std::vector<double>& want, double tolerance = 1e-5) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  return same;
}

/// Whether a program throws an E whose message holds all parts.
template <class E, class F>
bool refuses(F&& program, const std::vector<std::string>& parts) {
  try {
    program();
    MESSAGE("not refused");
    return false;
  } catch (const E& e) {
    for (const std::string& part : parts)
      if (std::string(e.what()).find(part) == std::string::npos) {
        MESSAGE("no `", part, "` in: ", e.what());
        return false;
      }
    return true;
  }
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace weft::test
