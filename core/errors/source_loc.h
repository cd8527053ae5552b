// Lines of the user's code, as equations and errors name them.
#pragma once
#include <cstdint>

namespace weft {

namespace detail {
/// Functions of the library whose equations have the name of another operation. Errors that such an equation meets later, in a transform,
/// name the function that was called.
enum class CalledAs : std::uint8_t { operation, fori_loop, map, psum_scatter, pshuffle, pswapaxes };
}  // namespace detail

/// Where the user's code stands. As a defaulted last parameter it names the line of the call; as a defaulted constructor
/// parameter of an argument type (Arg, Index, Text, ...) it names the line where the implicit conversion happens.
class SourceLoc {
 public:
  /// No location: for what the library itself makes.
  constexpr SourceLoc() = default;
  static constexpr SourceLoc here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return SourceLoc(Known{}, file, line);
  }
  /// A location read from text; `file` must outlive every use (a string literal or an interned name).
  static constexpr SourceLoc at(const char* file, int line) { return SourceLoc(Known{}, file, line); }
  constexpr const char* file() const { return file_; }
  constexpr int line() const { return line_; }
  /// The same line, of a call of this function.
  constexpr SourceLoc of(detail::CalledAs function) const {
    SourceLoc out = *this;
    out.called_ = function;
    return out;
  }
  constexpr detail::CalledAs called() const { return called_; }
  /// Whether a line is known.
  constexpr explicit operator bool() const { return line_ != 0; }

 private:
  struct Known {};  // so that a shape `{0, 2}` is never taken for a null file name and a line
  constexpr SourceLoc(Known, const char* file, int line) : file_(file), line_(line) {}
  const char* file_ = "";
  int line_ = 0;
  detail::CalledAs called_ = detail::CalledAs::operation;
};

}  // namespace weft
