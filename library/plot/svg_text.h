// The elements of SVG that pictures are made of (https://www.w3.org/TR/SVG2/).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/library/plot/plot_options.h"

namespace weft::detail {

/// Text escaped for XML; bytes that are not UTF-8, and control characters, become U+FFFD.
std::string escaped(std::string_view text);
/// The estimated width of a text, in the units of the font's size.
double text_width(std::string_view text, double size);
/// A coordinate, with as few digits as show.
std::string coordinate(double v);

enum class Anchor { start, middle, end };

/// Writes elements one behind the other.
class SvgWriter {
 public:
  void raw(std::string_view text) { text_ += text; }
  /// `attributes` are written as they are.
  void text(double x, double y, std::string_view words, double size, Anchor anchor = Anchor::start, std::string_view attributes = "");
  void line(double x0, double y0, double x1, double y1, std::string_view attributes);
  void rect(double x, double y, double width, double height, std::string_view attributes);
  /// A picture of [height, width, 3 or 4] bytes, or [height, width] of grey ones, stretched over the rectangle without any smoothing.
  void image(double x, double y, double width, double height, const Array& pixels);
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

/// A whole file: the contents, with the colors of text and lines by the theme.
std::string svg_document(double width, double height, Theme theme, std::string_view title, std::string_view contents);

}  // namespace weft::detail
