// What errors say.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace weft::test {

/// The message of the E that a call throws.
template <class E, class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "no error of this kind was thrown";
}
inline bool has(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (text.find(part) == std::string::npos) {
      MESSAGE(text, " lacks ", part);
      return false;
    }
  return true;
}

}  // namespace weft::test
