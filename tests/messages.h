// What errors say.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace weft::test {

/// The message of the E that a call throws; empty where it throws nothing.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return {};
}
inline bool has(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (text.find(part) == std::string::npos) {
      MESSAGE(text, " lacks ", part);
      return false;
    }
  return true;
}
inline bool has(const std::string& text, const char* part) { return has(text, std::vector<std::string>{part}); }
/// Whether a call throws an E whose message holds all parts.
template <class E, class F>
bool refuses(F&& f, const std::vector<std::string>& parts) {
  const std::string text = message_of<E>(f);
  if (text.empty()) MESSAGE("not refused");
  return !text.empty() && has(text, parts);
}

}  // namespace weft::test
