// Pictures of numbers, as SVG: curves, points, bars, histograms, images and heat maps on axes, several of them in one figure.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "weft/library/plot/plot_marks.h"
#include "weft/library/plot/plot_options.h"

namespace weft {

/// Axes and the marks on them. A value type: copies are independent. Numbers that can't be drawn (NaN, infinity, a number that is not
/// positive on a logarithmic axis or is beyond 1e300) leave a gap; without marks the axes are empty.
///
///     Plot p({.title = "training", .x_label = "step", .y_log = true});
///     p.line(steps, losses, {.label = "loss"});
///     p.save("loss.svg");
///
/// Arguments are read when they are given: traced arrays throw ConcretizationError, arrays of other than one dimension (but for image and
/// heat_map) and of different lengths ShapeError.
class Plot {
 public:
  explicit Plot(PlotOptions options = {}, SourceLoc loc = SourceLoc::here());

  /// A curve through (x[i], y[i]), broken where either is not finite.
  Plot& line(const PlotValues& x, const PlotValues& y, LineOptions options = {});
  /// The same over the positions 0, 1, ...
  Plot& line(const PlotValues& y, LineOptions options = {});
  Plot& scatter(const PlotValues& x, const PlotValues& y, ScatterOptions options = {});
  /// A bar for each name. Several calls with the same names stand beside each other; other names are an Error.
  Plot& bars(const std::vector<std::string>& names, const PlotValues& heights, BarOptions options = {});
  /// The numbers of values, in an array of any shape, in intervals of equal width. Values that are not finite are not counted.
  Plot& histogram(const PlotValues& values, HistogramOptions options = {});
  /// Fills the area between two curves.
  Plot& band(const PlotValues& x, const PlotValues& low, const PlotValues& high, BandOptions options = {});
  /// Vertical lines from y - error to y + error.
  Plot& error_bars(const PlotValues& x, const PlotValues& y, const PlotValues& errors, LineOptions options = {});
  /// [height, width] by a color map, or [height, width, 3 or 4] of red, green, blue and opacity: floats from 0 to 1, or uint8. What is NaN
  /// is left out. Throws ShapeError for other shapes.
  Plot& image(const Array& pixels, ImageOptions options = {}, SourceLoc loc = SourceLoc::here());
  /// A matrix as colored cells with a color bar, the first row at the top.
  Plot& heat_map(const PlotValues& matrix, HeatMapOptions options = {});
  /// Text at a point.
  Plot& text(double x, double y, const std::string& words, TextOptions options = {}, SourceLoc loc = SourceLoc::here());
  /// A line across the axes at this y, or (vertical) at this x.
  Plot& horizontal(double y, RuleOptions options = {}, SourceLoc loc = SourceLoc::here());
  Plot& vertical(double x, RuleOptions options = {}, SourceLoc loc = SourceLoc::here());

  /// The options of these names, set later: `p.title("training").x_label("step")`.
  Plot& title(std::string words);
  Plot& x_label(std::string words);
  Plot& y_label(std::string words);
  Plot& xlabel(std::string words) { return x_label(std::move(words)); }
  Plot& ylabel(std::string words) { return y_label(std::move(words)); }

  /// The whole picture as an SVG document.
  std::string svg() const;
  /// Writes svg(). Throws IoError if the file can't be written.
  void save(const std::string& path, SourceLoc loc = SourceLoc::here()) const;

  const PlotOptions& options() const { return options_; }
  /// For the library.
  const std::vector<detail::PlotMark>& marks() const { return marks_; }

 private:
  detail::PlotMark& add(detail::PlotMark mark, const std::string& color, SourceLoc loc);
  PlotOptions options_;
  std::vector<detail::PlotMark> marks_;
  std::size_t colors_ = 0;
};

/// Several plots in rows, each of its own size.
class Figure {
 public:
  explicit Figure(std::vector<Plot> plots, FigureOptions options = {}, SourceLoc loc = SourceLoc::here());
  std::string svg() const;
  void save(const std::string& path, SourceLoc loc = SourceLoc::here()) const;

 private:
  std::vector<Plot> plots_;
  FigureOptions options_;
};

}  // namespace weft
