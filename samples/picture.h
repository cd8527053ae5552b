// A small SVG writer for the samples: line plots and grids of grey images.
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace picture {

class Svg {
 public:
  Svg(int width, int height)
      : text_(
            fmt::format("<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' font-family='sans-serif'>\n"
                        "<rect width='{0}' height='{1}' fill='white'/>\n",
                        width, height)) {}

  void label(double x, double y, const std::string& words, const char* colour = "#222", int size = 13, const char* anchor = "start") {
    text_ +=
        fmt::format("<text x='{:.1f}' y='{:.1f}' font-size='{}' fill='{}' text-anchor='{}'>{}</text>\n", x, y, size, colour, anchor, words);
  }
  void line(double x0, double y0, double x1, double y1, const char* colour = "#999") {
    text_ += fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='{}'/>\n", x0, y0, x1, y1, colour);
  }
  void rect(double x, double y, double w, double h, const std::string& fill) {
    text_ += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}'/>\n", x, y, w, h, fill);
  }
  /// A curve through (i, values[i]) in the box, the vertical scale from 0 to `top`.
  void curve(const std::vector<double>& values, double x, double y, double w, double h, double top, const char* colour,
             const char* dashes = "") {
    text_ += fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.8' stroke-dasharray='{}' points='", colour, dashes);
    for (std::size_t i = 0; i < values.size(); ++i)
      text_ +=
          fmt::format("{:.1f},{:.1f} ", x + w * static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(1, values.size() - 1)),
                      y + h * (1 - std::min(values[i] / top, 1.0)));
    text_ += "'/>\n";
  }
  /// Lines from point to point, an area, and a dot.
  void path(const std::vector<std::pair<double, double>>& points, const char* colour) {
    text_ += fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.5' points='{}'/>\n", colour, written(points));
  }
  void area(const std::vector<std::pair<double, double>>& points, const char* colour) {
    text_ += fmt::format("<polygon fill='{}' points='{}'/>\n", colour, written(points));
  }
  void dot(double x, double y, double radius, const char* colour) {
    text_ += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='{}'/>\n", x, y, radius, colour);
  }
  /// A grey image, values 0 (white) to 1 (black), row by row.
  void image(const float* pixels, int rows, int columns, double x, double y, double size) {
    const double cell = size / std::max(rows, columns);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) {
        const int grey = static_cast<int>(255 * (1 - std::clamp(pixels[r * columns + c], 0.f, 1.f)));
        rect(x + c * cell, y + r * cell, cell + .3, cell + .3, fmt::format("#{0:02x}{0:02x}{0:02x}", grey));
      }
  }
  /// Returns whether the file was written.
  bool save(const std::string& path) const {
    std::FILE* f = std::fopen(path.c_str(), "w");
    if (!f) return false;
    const bool ok = std::fwrite(text_.data(), 1, text_.size(), f) == text_.size() && std::fputs("</svg>\n", f) >= 0;
    return std::fclose(f) == 0 && ok;
  }

 private:
  static std::string written(const std::vector<std::pair<double, double>>& points) {
    std::string text;
    for (const auto& [x, y] : points) text += fmt::format("{:.1f},{:.1f} ", x, y);
    return text;
  }
  std::string text_;
};

}  // namespace picture
