#include "weft/library/plot/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/array/format.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/library/plot/plot_draw.h"
#include "weft/library/plot/plot_scale.h"
#include "weft/library/plot/svg_text.h"

namespace weft {

using namespace detail;

PlotValues::PlotValues(const Array& x, SourceLoc loc) : shape_(x.shape()), loc_(loc) {
  if (x.dtype().is_complex() || x.dtype().is_key())
    throw DTypeError(fmt::format("Plot: {} can't be drawn; give real numbers, such as its abs or real part", to_string(x.aval())), loc);
  numbers_ = x.to_vector<double>(loc);
}

namespace {

/// One number for each of `want`'s, or ShapeError.
void check_row(const PlotValues& values, const char* what, const PlotValues* want = nullptr) {
  if (values.shape().size() != 1)
    throw ShapeError(fmt::format("Plot: {} has the shape {}; it must have one dimension", what, to_string(values.shape())), values.where());
  if (want && values.numbers().size() != want->numbers().size())
    throw ShapeError(fmt::format("Plot: {} has {}, x has {}; they must have the same number", what,
                                 counted(values.numbers().size(), "number"), want->numbers().size()),
                     values.where());
}

void check_positive(double v, const char* what, SourceLoc loc) {
  if (!(v > 0) || !std::isfinite(v)) throw Error(fmt::format("Plot: {} is {}; it must be positive", what, v), loc);
}
void check_opacity(double v, SourceLoc loc) {
  if (!(v >= 0 && v <= 1)) throw Error(fmt::format("Plot: opacity is {}; it must be between 0 and 1", v), loc);
}

std::vector<double> positions(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i);
  return x;
}

PlotRange range_of(const std::vector<double>& values, const PlotBounds& given, ColorMap map, const char* what, SourceLoc loc) {
  if (given) {
    check_range(*given, false, what, loc);
    return *given;
  }
  Extent extent;
  for (const double v : values) extent.add(v, false);
  if (extent.empty) return {0, 1};
  if (map == ColorMap::diverging && extent.low < 0 && extent.high > 0)
    extent.high = std::max(-extent.low, extent.high), extent.low = -extent.high;
  return extent.low < extent.high ? PlotRange{extent.low, extent.high} : axis_range(extent, false, 0);
}

/// Numbers as pixels [height, width, 4].
Array colored(const std::vector<double>& values, std::int64_t height, std::int64_t width, ColorMap map, PlotRange range, SourceLoc loc) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(4 * values.size());
  for (const double v : values) {
    const Rgb c = color_at(map, (v - range.first) / (range.second - range.first));
    for (const std::uint8_t part : {c.r, c.g, c.b}) pixels.push_back(part);
    pixels.push_back(std::isnan(v) ? 0 : 255);
  }
  return array(pixels, {height, width, 4}, {}, loc);
}

/// Freedman and Diaconis's rule: twice the distance of the quartiles, by the cube root of how many there are.
int good_bins(std::vector<double> sorted, double low, double high) {
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const double distance = sorted[3 * (n - 1) / 4] - sorted[(n - 1) / 4];
  const double width = 2 * distance / std::cbrt(static_cast<double>(n));
  const double sturges = std::log2(static_cast<double>(n)) + 1;
  return static_cast<int>(std::clamp(width > 0 ? std::ceil((high - low) / width) : sturges, std::min(sturges, 10.0), 120.0));
}

}  // namespace

Plot::Plot(PlotOptions options, SourceLoc loc) : options_(std::move(options)) {
  if (options_.width < 60 || options_.height < 40 || options_.width > 20000 || options_.height > 20000)
    throw Error(
        fmt::format("Plot: a picture of {} by {} pixels; it must have from 60 by 40 to 20000 by 20000", options_.width, options_.height),
        loc);
  if (options_.x_range) check_range(*options_.x_range, options_.x_log, "x_range", loc);
  if (options_.y_range) check_range(*options_.y_range, options_.y_log, "y_range", loc);
  if (options_.equal_scales && (options_.x_log || options_.y_log))
    throw Error("Plot: equal_scales has no meaning on a logarithmic axis", loc);
}

PlotMark& Plot::add(PlotMark mark, const std::string& color, SourceLoc loc) {
  if (color.empty()) {
    mark.color = hex(palette_color(colors_++));
  } else {
    check_color(color, loc);
    mark.color = color;
  }
  marks_.push_back(std::move(mark));
  return marks_.back();
}

Plot& Plot::line(const PlotValues& x, const PlotValues& y, LineOptions o) {
  check_row(x, "x");
  check_row(y, "y", &x);
  check_positive(o.width, "a line's width", y.where());
  check_opacity(o.opacity, y.where());
  PlotMark m{.kind = PlotMark::Kind::line, .x = x.numbers(), .y = y.numbers(), .label = o.label};
  m.size = o.width, m.opacity = o.opacity, m.style = o.style, m.marker = o.marker, m.steps = o.steps;
  add(std::move(m), o.color, y.where());
  return *this;
}
Plot& Plot::line(const PlotValues& y, LineOptions o) {
  check_row(y, "y");
  return line(PlotValues(positions(y.numbers().size()), y.where()), y, std::move(o));
}
Plot& Plot::scatter(const PlotValues& x, const PlotValues& y, ScatterOptions o) {
  check_row(x, "x");
  check_row(y, "y", &x);
  check_positive(o.size, "a point's size", y.where());
  check_opacity(o.opacity, y.where());
  PlotMark m{.kind = PlotMark::Kind::scatter, .x = x.numbers(), .y = y.numbers(), .label = o.label};
  m.size = o.size, m.opacity = o.opacity, m.marker = o.marker;
  if (o.values) {
    check_row(*o.values, "values", &x);
    m.low = o.values->numbers(), m.map = o.map, m.range = range_of(m.low, o.range, o.map, "range", y.where()), m.color_bar = true;
  }
  add(std::move(m), o.color, y.where());
  return *this;
}
Plot& Plot::bars(const std::vector<std::string>& names, const PlotValues& heights, BarOptions o) {
  check_row(heights, "heights");
  const SourceLoc loc = heights.where();
  if (names.size() != heights.numbers().size())
    throw ShapeError(
        fmt::format("Plot: {} and {}; bars take one of each", counted(names.size(), "name"), counted(heights.numbers().size(), "height")),
        loc);
  for (const PlotMark& other : marks_)
    if (other.kind == PlotMark::Kind::bars && (other.names != names || other.horizontal != o.horizontal))
      throw Error("Plot: bars of other names, or of another direction, are there already; give all the same, or make another Plot", loc);
  if (!(o.width > 0 && o.width <= 1))
    throw Error(fmt::format("Plot: the width of bars is {}; it must be above 0 and at most 1", o.width), loc);
  PlotMark m{.kind = PlotMark::Kind::bars, .x = positions(names.size()), .y = heights.numbers(), .names = names, .label = o.label};
  m.size = o.width, m.horizontal = o.horizontal, m.annotated = o.annotated, m.base = o.base;
  add(std::move(m), o.color, loc);
  return *this;
}
Plot& Plot::histogram(const PlotValues& values, HistogramOptions o) {
  const SourceLoc loc = values.where();
  if (o.bins < 0 || o.bins > 100000) throw Error(fmt::format("Plot: {} bins; there may be up to 100000, 0 for a good number", o.bins), loc);
  if (o.range) check_range(*o.range, false, "range", loc);
  check_opacity(o.opacity, loc);
  Extent extent;
  std::vector<double> counted;
  for (const double v : values.numbers())
    if (std::isfinite(v) &&
        (!o.range || (v >= std::min(o.range->first, o.range->second) && v <= std::max(o.range->first, o.range->second)))) {
      counted.push_back(v);
      extent.add(v, false);
    }
  PlotMark m{.kind = PlotMark::Kind::histogram, .label = o.label};
  m.opacity = o.opacity;
  if (!counted.empty()) {
    PlotRange sides{extent.low, extent.high};
    if (o.range) sides = std::minmax(o.range->first, o.range->second);
    if (!(sides.second > sides.first)) sides = axis_range(extent, false, 0);
    const int bins = o.bins > 0 ? o.bins : good_bins(counted, sides.first, sides.second);
    const double step = sides.second / bins - sides.first / bins;
    for (int i = 0; i <= bins; ++i) m.x.push_back(i == bins ? sides.second : sides.first + i * step);
    m.y.resize(static_cast<std::size_t>(bins));
    for (const double v : counted)
      m.y[static_cast<std::size_t>(std::clamp((v / 2 - sides.first / 2) / (step / 2), 0.0, static_cast<double>(bins) - 1))] += 1;
    if (o.density)
      for (double& v : m.y) v /= static_cast<double>(counted.size()) * step;
  }
  add(std::move(m), o.color, loc);
  return *this;
}
Plot& Plot::band(const PlotValues& x, const PlotValues& low, const PlotValues& high, BandOptions o) {
  check_row(x, "x");
  check_row(low, "low", &x);
  check_row(high, "high", &x);
  check_opacity(o.opacity, x.where());
  PlotMark m{.kind = PlotMark::Kind::band, .x = x.numbers(), .y = high.numbers(), .low = low.numbers(), .label = o.label};
  m.opacity = o.opacity;
  add(std::move(m), o.color, x.where());
  return *this;
}
Plot& Plot::error_bars(const PlotValues& x, const PlotValues& y, const PlotValues& errors, LineOptions o) {
  check_row(x, "x");
  check_row(y, "y", &x);
  check_row(errors, "errors", &x);
  check_positive(o.width, "a line's width", y.where());
  PlotMark m{.kind = PlotMark::Kind::error_bars, .x = x.numbers(), .y = y.numbers(), .low = errors.numbers(), .label = o.label};
  m.size = o.width, m.opacity = o.opacity, m.style = o.style, m.marker = o.marker;
  add(std::move(m), o.color, y.where());
  return *this;
}

Plot& Plot::image(const Array& pixels, ImageOptions o, SourceLoc loc) {
  const Shape& shape = pixels.shape();
  const bool colors = shape.size() == 3 && (shape[2] == 3 || shape[2] == 4);
  if (!colors && shape.size() != 2)
    throw ShapeError(
        fmt::format("Plot::image: {} is not a picture; its shape must be [height, width], or [height, width, 3 or 4] for colors",
                    to_string(pixels.aval())),
        loc);
  PlotMark m{.kind = PlotMark::Kind::image};
  m.height = shape[0], m.width = shape[1];
  const PlotValues values(pixels, loc);
  m.map = o.map;
  if (pixels.size() > 0) {
    if (colors) {
      const double factor = pixels.dtype().is_floating() ? 255 : 1;
      std::vector<std::uint8_t> bytes;
      for (std::size_t i = 0, parts = static_cast<std::size_t>(shape[2]); i < values.numbers().size(); ++i) {
        const double v = values.numbers()[i];
        bytes.push_back(static_cast<std::uint8_t>(std::lround(v > 0 ? std::min(factor * v, 255.0) : 0)));
        if (parts == 3 && i % 3 == 2) bytes.push_back(255);
      }
      m.pixels = array(bytes, {shape[0], shape[1], 4}, {}, loc);
    } else {
      m.range = range_of(values.numbers(), o.range, o.map, "range", loc);
      m.pixels = colored(values.numbers(), shape[0], shape[1], o.map, m.range, loc);
      m.color_bar = o.color_bar;
    }
  }
  m.x_sides = o.x.value_or(PlotRange{0, std::max<double>(1, static_cast<double>(m.width))});
  m.y_sides = o.y.value_or(PlotRange{std::max<double>(1, static_cast<double>(m.height)), 0});
  check_range(m.x_sides, options_.x_log, "x of an image", loc);
  check_range(m.y_sides, options_.y_log, "y of an image", loc);
  add(std::move(m), "black", loc);
  return *this;
}
Plot& Plot::heat_map(const PlotValues& matrix, HeatMapOptions o) {
  const SourceLoc loc = matrix.where();
  const Shape& shape = matrix.shape();
  if (shape.size() != 2) throw ShapeError(fmt::format("Plot::heat_map: the shape is {}; it takes a matrix", to_string(shape)), loc);
  const auto check_names = [&](const std::vector<std::string>& names, std::int64_t n, const char* what) {
    if (!names.empty() && static_cast<std::int64_t>(names.size()) != n)
      throw ShapeError(fmt::format("Plot::heat_map: {} of {} of a matrix {}", counted(names.size(), "name"), what, to_string(shape)), loc);
  };
  check_names(o.columns, shape[1], "columns");
  check_names(o.rows, shape[0], "rows");
  if (options_.x_log || options_.y_log) throw Error("Plot::heat_map: its axes count rows and columns and can't be logarithmic", loc);
  PlotMark m{.kind = PlotMark::Kind::image, .y = matrix.numbers(), .names = o.columns, .rows = o.rows};
  m.height = shape[0], m.width = shape[1];
  m.map = o.map, m.range = range_of(matrix.numbers(), o.range, o.map, "range", loc);
  if (!matrix.numbers().empty()) m.pixels = colored(matrix.numbers(), shape[0], shape[1], o.map, m.range, loc);
  m.color_bar = o.color_bar && !matrix.numbers().empty(), m.bar_label = o.label, m.annotated = o.annotated;
  // A cell's number is at its middle.
  m.x_sides = {-0.5, std::max<double>(1, static_cast<double>(m.width)) - 0.5},
  m.y_sides = {std::max<double>(1, static_cast<double>(m.height)) - 0.5, -0.5};
  add(std::move(m), "black", loc);
  return *this;
}

Plot& Plot::text(double x, double y, const std::string& words, TextOptions o, SourceLoc loc) {
  check_positive(o.size, "a text's size", loc);
  PlotMark m{.kind = PlotMark::Kind::text, .x = {x}, .y = {y}, .names = {words}};
  m.size = o.size, m.centered = o.centered;
  add(std::move(m), o.color.empty() ? "currentColor" : o.color, loc);
  return *this;
}
Plot& Plot::horizontal(double y, RuleOptions o, SourceLoc loc) {
  check_positive(o.width, "a line's width", loc);
  PlotMark m{.kind = PlotMark::Kind::horizontal, .y = {y}, .label = o.label};
  m.size = o.width, m.style = o.style;
  add(std::move(m), o.color.empty() ? "currentColor" : o.color, loc);
  return *this;
}
Plot& Plot::title(std::string words) {
  options_.title = std::move(words);
  return *this;
}
Plot& Plot::x_label(std::string words) {
  options_.x_label = std::move(words);
  return *this;
}
Plot& Plot::y_label(std::string words) {
  options_.y_label = std::move(words);
  return *this;
}
Plot& Plot::vertical(double x, RuleOptions o, SourceLoc loc) {
  check_positive(o.width, "a line's width", loc);
  PlotMark m{.kind = PlotMark::Kind::vertical, .x = {x}, .label = o.label};
  m.size = o.width, m.style = o.style;
  add(std::move(m), o.color.empty() ? "currentColor" : o.color, loc);
  return *this;
}

std::string Plot::svg() const {
  SvgWriter out;
  draw_plot(out, *this, 0, 0, options_.width, options_.height);
  return svg_document(options_.width, options_.height, options_.theme, options_.title, out.str());
}
void Plot::save(const std::string& path, SourceLoc loc) const { write_file(path, {svg()}, loc, "Plot::save"); }

Figure::Figure(std::vector<Plot> plots, FigureOptions options, SourceLoc loc) : plots_(std::move(plots)), options_(std::move(options)) {
  if (options_.columns < 0 || options_.gap < 0) throw Error("Figure: columns and gap can't be negative", loc);
}

std::string Figure::svg() const {
  const std::size_t n = plots_.size();
  const std::size_t columns =
      std::max<std::size_t>(1, std::min(n, options_.columns > 0 ? static_cast<std::size_t>(options_.columns)
                                                                : static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n))))));
  const std::size_t rows = (n + columns - 1) / columns;
  std::vector<int> widths(columns), heights(rows);
  for (std::size_t i = 0; i < n; ++i) {
    widths[i % columns] = std::max(widths[i % columns], plots_[i].options().width);
    heights[i / columns] = std::max(heights[i / columns], plots_[i].options().height);
  }
  const double top = options_.title.empty() ? 0 : 30;
  SvgWriter out;
  double y = top, right = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double x = 0;
    for (std::size_t c = 0; c < columns && r * columns + c < n; ++c) {
      const Plot& p = plots_[r * columns + c];
      draw_plot(out, p, x, y, p.options().width, p.options().height);
      x += widths[c];
      right = std::max(right, x);
      x += options_.gap;
    }
    y += heights[r] + (r + 1 < rows ? options_.gap : 0);
  }
  right = std::max(right, options_.title.empty() ? 60.0 : text_width(options_.title, 16) + 20);
  if (!options_.title.empty()) out.text(right / 2, 20, options_.title, 16, Anchor::middle, "font-weight=\"600\"");
  return svg_document(right, std::max(y, 40.0), options_.theme, options_.title, out.str());
}
void Figure::save(const std::string& path, SourceLoc loc) const { write_file(path, {svg()}, loc, "Figure::save"); }

}  // namespace weft
