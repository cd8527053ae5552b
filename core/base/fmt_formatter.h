// fmt's class template `formatter`, declared so that the library's types can be printed by fmt without reading fmt's headers where nothing
// is printed. A program that prints includes <fmt/core.h>, before or after.
#pragma once
#include <string_view>

#include "weft/version.h"

#ifndef FMT_VERSION
namespace fmt {
inline namespace WEFT_FMT_NAMESPACE {
template <typename T, typename Char, typename Enable>
struct formatter;
}
}  // namespace fmt
#endif

namespace weft::detail {
/// Writes text to fmt's output.
template <class Out>
Out write_text(std::string_view text, Out out) {
  for (const char c : text) *out++ = c;
  return out;
}
}  // namespace weft::detail
