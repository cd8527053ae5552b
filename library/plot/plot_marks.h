// The marks of a Plot: one for each call. Internal.
#pragma once
#include <string>
#include <vector>

#include "weft/library/plot/plot_options.h"

namespace weft::detail {

/// A curve, points, bars, ... with its numbers. Which of the fields mean something depends on the kind.
struct PlotMark {
  enum class Kind { line, scatter, bars, histogram, band, error_bars, image, text, horizontal, vertical };
  Kind kind = Kind::line;
  std::vector<double> x = {}, y = {};  ///< of a histogram: the ends of the intervals (one more than heights), and the heights
  std::vector<double> low = {};  ///< of a band: the lower curve; of error bars: half their lengths; of points: numbers shown as colors
  std::vector<std::string> names = {};  ///< of bars; of an image its columns'
  std::vector<std::string> rows = {};   ///< of an image: the names of its rows
  std::string label = {}, color = {};
  double size = 1;  ///< of a line its width, of points their diameter, of text its size, of bars their part of the distance
  double opacity = 1;
  LineStyle style = LineStyle::solid;
  Marker marker = Marker::off;
  bool steps = false, horizontal = false, annotated = false, centered = false;
  std::optional<double> base = {};
  // An image: its pixels, its position and its color map.
  Array pixels = {};  ///< [height, width, 4] of uint8
  std::int64_t height = 0, width = 0;
  PlotRange x_sides{0, 1}, y_sides{0, 1};
  ColorMap map = ColorMap::gray;
  PlotRange range{0, 1};
  bool color_bar = false;
  std::string bar_label = {};
};

}  // namespace weft::detail
