// fmt's class template `formatter`, declared so that the library's types can be printed by fmt without reading fmt's headers where nothing
// is printed. A program that prints includes <fmt/core.h>, before or after.
#pragma once
#include <string>
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

/// The text padded as fmt pads a string by this format (`>10`). Throws fmt's format_error if it is not a format.
std::string padded(std::string_view text, std::string_view format);

/// The base of formatters of types that print as one text: they take a width, a fill and an alignment, as a string does.
struct TextFormatter {
  template <class Context>
  constexpr auto parse(Context& ctx) {
    auto end = ctx.begin();
    while (end != ctx.end() && *end != '}') ++end;
    format_ = std::string_view(ctx.begin(), static_cast<std::size_t>(end - ctx.begin()));
    return end;
  }
  template <class Out>
  Out write(std::string_view text, Out out) const {
    return format_.empty() ? write_text(text, out) : write_text(padded(text, format_), out);
  }

 private:
  std::string_view format_;
};
}  // namespace weft::detail
