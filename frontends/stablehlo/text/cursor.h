// Walks over MLIR text: spaces and comments, names, numbers and strings. What doesn't fit is an Error with line and column.
#pragma once
#include <string>
#include <string_view>

#include "weft/core/errors/error.h"
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

class Cursor {
 public:
  /// `file` names the text in errors.
  Cursor(std::string_view text, std::string file, SourceLoc loc) : text_(text), file_(std::move(file)), loc_(loc) {}

  /// Skips spaces and comments, and gives the next character; 0 at the end.
  char peek();
  /// The same without skipping.
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// Whether the text goes on with `what`, behind spaces.
  bool looking_at(std::string_view what);
  /// Whether it goes on with just this name.
  bool looking_at_name(std::string_view name);
  bool take(std::string_view what);
  bool take_name(std::string_view name);
  void expect(std::string_view what);
  /// Whether a line ends before the next thing.
  bool line_ends();

  /// Letters, digits, `_`, `$`, `.` and inner `-`, as names of values and operations have them.
  std::string_view name();
  bool at_name();
  /// A name behind `@`, or a string there.
  std::string symbol();
  std::string string();
  /// A decimal or hexadecimal integer, with a sign.
  std::int64_t integer();
  /// The number as it is written, for parsing by its type: `-1.5e-3`, `0x7FC0`.
  std::string_view number();
  /// Skips what is between brackets of any kind, nested, and strings; the cursor stands on the first bracket.
  std::string_view balanced();

  std::size_t offset() const { return at_; }
  void seek(std::size_t offset) { at_ = offset; }
  std::string_view text() const { return text_; }
  Place place();
  Place place_of(std::size_t offset);
  /// Throws Error: `FILE:LINE:COLUMN: problem`.
  [[noreturn]] void fail(const std::string& problem);
  [[noreturn]] void fail_at(Place place, const std::string& problem) const;
  SourceLoc loc() const { return loc_; }
  const std::string& file() const { return file_; }

 private:
  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  SourceLoc loc_;
  // The last place that was asked for, from which the next one is counted.
  std::size_t counted_ = 0, line_start_ = 0;
  int line_ = 1;
};

/// The bits of a number in the dtype, appended to `out`. Throws through the cursor, whose number it is.
void append_number(Cursor& c, std::string_view number, DType dtype, std::string& out);

}  // namespace weft::detail::mlir
