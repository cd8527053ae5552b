#pragma once

namespace weft {

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
  /// Whether a line is known.
  constexpr explicit operator bool() const { return line_ != 0; }

 private:
  struct Known {};  // so that a shape `{0, 2}` is never taken for a null file name and a line
  constexpr SourceLoc(Known, const char* file, int line) : file_(file), line_(line) {}
  const char* file_ = "";
  int line_ = 0;
};

}  // namespace weft
