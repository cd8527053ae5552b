// Options of plots and of their parts.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/library/plot/plot_colors.h"

namespace weft {

/// The color of text and axes. The background is transparent.
enum class Theme {
  automatic,  ///< dark on light; light on dark if the viewer's system prefers it
  light,
  dark,
};
enum class LineStyle { solid, dashed, dotted };
enum class Marker { off, circle, square, triangle, cross };
/// The position of the legend.
enum class Legend {
  automatic,  ///< in the corner where the fewest points are, or beside the axes where no corner is free
  off,
  top_left,
  top_right,
  bottom_left,
  bottom_right,
  outside,
};

/// Numbers to draw: an array, a vector, a span, or numbers in braces. They are read as float64.
class PlotValues {
 public:
  PlotValues(const Array& x, SourceLoc loc = SourceLoc::here());
  template <NumberRange R>
  PlotValues(const R& numbers, SourceLoc loc = SourceLoc::here()) : PlotValues(array(numbers, loc), loc) {}
  PlotValues(std::initializer_list<double> numbers, SourceLoc loc = SourceLoc::here())
      : numbers_(numbers), shape_(static_cast<std::int64_t>(numbers.size())), loc_(loc) {}
  const std::vector<double>& numbers() const { return numbers_; }
  const Shape& shape() const { return shape_; }
  SourceLoc where() const { return loc_; }

 private:
  std::vector<double> numbers_;
  Shape shape_;
  SourceLoc loc_;
};

/// The ends of an axis, in the order in which they are drawn; the first may be the larger one.
using PlotRange = std::pair<double, double>;
/// A PlotRange or none: `{0, 1}`. (A std::optional of a pair can't be made from `{0, 1}`.)
class PlotBounds {
 public:
  PlotBounds() = default;
  PlotBounds(detail::NoneValue auto) {}
  template <ScalarType A, ScalarType B>
  PlotBounds(A first, B second) : range_(std::in_place, static_cast<double>(first), static_cast<double>(second)) {}
  PlotBounds(PlotRange range) : range_(range) {}
  explicit operator bool() const { return range_.has_value(); }
  const PlotRange& operator*() const { return *range_; }
  const PlotRange* operator->() const { return &*range_; }
  PlotRange value_or(PlotRange other) const { return range_.value_or(other); }

 private:
  std::optional<PlotRange> range_;
};

/// Options of a Plot.
struct PlotOptions {
  std::string title = {}, x_label = {}, y_label = {};
  bool x_log = false, y_log = false;      ///< logarithmic axes; what is not positive is left out
  PlotBounds x_range = {}, y_range = {};  ///< absent: the range of the data, with a margin
  int width = 520, height = 340;          ///< of the whole picture, in pixels
  Legend legend = Legend::automatic;
  bool grid = true;
  bool axes = true;           ///< false: no frame, ticks or labels
  bool equal_scales = false;  ///< a step along x looks as long as one along y
  Theme theme = Theme::automatic;
};
/// Options of Plot::line.
struct LineOptions {
  std::string label = {};  ///< in the legend; empty: it isn't listed
  std::string color = {};  ///< of CSS; empty: the next one of the palette
  double width = 1.8;      ///< in pixels
  LineStyle style = LineStyle::solid;
  Marker marker = Marker::off;  ///< at each point
  double opacity = 1;
  bool steps = false;  ///< each value holds until the next one
};
/// Options of Plot::scatter.
struct ScatterOptions {
  std::string label = {}, color = {};
  double size = 5;  ///< diameter in pixels
  Marker marker = Marker::circle;
  double opacity = 0.75;
  std::optional<PlotValues> values = {};  ///< a number for each point, shown as its color
  ColorMap map = ColorMap::sequential;
  PlotBounds range = {};  ///< of the values at the ends of the color map
};
/// Options of Plot::bars.
struct BarOptions {
  std::string label = {}, color = {};
  bool horizontal = false;          ///< names stand one below the other
  bool annotated = false;           ///< each bar's number is at its end
  double width = 0.8;               ///< of the distance between the names
  std::optional<double> base = {};  ///< the value at which bars begin; absent: 0, or 1 on a logarithmic axis
};
/// Options of Plot::histogram.
struct HistogramOptions {
  std::string label = {}, color = {};
  int bins = 0;           ///< 0: by the rule of Freedman and Diaconis
  PlotBounds range = {};  ///< what is outside is not counted; absent: all
  bool density = false;   ///< the area of all bars is 1
  double opacity = 0.7;
};
/// Options of Plot::band.
struct BandOptions {
  std::string label = {}, color = {};
  double opacity = 0.22;
};
/// Options of Plot::image.
struct ImageOptions {
  ColorMap map = ColorMap::gray;
  PlotBounds range = {};      ///< of the numbers at the ends of the color map; absent: the least and the largest
  PlotBounds x = {}, y = {};  ///< where its sides are; absent: a pixel is 1 wide and 1 high, the first row is the top one
  bool color_bar = false;
};
/// Options of Plot::heat_map.
struct HeatMapOptions {
  ColorMap map = ColorMap::sequential;
  PlotBounds range = {};
  std::vector<std::string> columns = {}, rows = {};  ///< their names; empty: their numbers
  bool color_bar = true;
  bool annotated = false;  ///< each cell's number is in it
  std::string label = {};  ///< beside the color bar
};
/// Options of Plot::text.
struct TextOptions {
  std::string color = {};
  double size = 11;
  bool centered = false;
};
/// Options of Plot::horizontal and Plot::vertical.
struct RuleOptions {
  std::string label = {}, color = {};
  LineStyle style = LineStyle::dashed;
  double width = 1.2;
};

/// Options of a Figure.
struct FigureOptions {
  int columns = 0;  ///< 0: as many rows as columns, about
  std::string title = {};
  Theme theme = Theme::automatic;
  int gap = 14;  ///< between plots, in pixels
};

}  // namespace weft
