// Draws a Plot: its axes, then its marks in the order in which they were given, then the legend. Internal.
#pragma once
#include "weft/library/plot/plot.h"
#include "weft/library/plot/plot_scale.h"
#include "weft/library/plot/svg_text.h"

namespace weft::detail {

/// A rectangle in pixels.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

/// The scales of both axes and the box that they span.
struct Axes {
  Box box;
  Scale x, y;
};

/// The whole plot in a rectangle.
void draw_plot(SvgWriter& out, const Plot& plot, double left, double top, double width, double height);

/// One mark. `number` of `count`: which of the marks of bars it is. The elements may reach beyond the box, which clips them.
void draw_mark(SvgWriter& out, const PlotMark& mark, const Axes& axes, std::size_t number, std::size_t count);
/// Adds the points at which the mark is drawn, which the legend avoids.
void note_places(const PlotMark& mark, const Axes& axes, std::vector<std::pair<double, double>>& places);
/// What stands beside a mark's label in the legend: a piece 22 pixels wide, its middle at this height.
void draw_sample(SvgWriter& out, const PlotMark& mark, double left, double middle);
/// Where the bars of a mark begin.
double base_of(const PlotMark& mark, bool log);
/// stroke-dasharray, or nothing.
std::string dashes(LineStyle style, double width);

}  // namespace weft::detail
