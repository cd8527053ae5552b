#include "weft/library/plot/plot_draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::detail {
namespace {

using Kind = PlotMark::Kind;

constexpr double kTitleSize = 14, kLabelSize = 12, kTickSize = 11, kTickLength = 4;

/// What is drawn along one axis.
Extent extent_of(const Plot& plot, bool along_x) {
  Extent all;
  const bool log = along_x ? plot.options().x_log : plot.options().y_log;
  const auto add = [&](double v) { all.add(v, log); };
  const auto add_all = [&](const std::vector<double>& v) { std::for_each(v.begin(), v.end(), add); };
  for (const PlotMark& m : plot.marks()) switch (m.kind) {
      case Kind::line:
      case Kind::scatter:
      case Kind::text: add_all(along_x ? m.x : m.y); break;
      case Kind::band:
        add_all(along_x ? m.x : m.y);
        if (!along_x) add_all(m.low);
        break;
      case Kind::error_bars:
        if (along_x) add_all(m.x);
        for (std::size_t i = 0; !along_x && i < m.y.size(); ++i) add(m.y[i] - m.low[i]), add(m.y[i] + m.low[i]);
        break;
      case Kind::bars:
        if (along_x != m.horizontal) {
          if (!m.x.empty()) add(-0.5), add(static_cast<double>(m.x.size()) - 0.5);
        } else {
          add_all(m.y);
          if (!m.y.empty()) add(base_of(m, log));
        }
        break;
      case Kind::histogram:
        add_all(along_x ? m.x : m.y);
        if (!along_x && !m.y.empty()) add(log ? 0.5 * *std::max_element(m.y.begin(), m.y.end()) : 0);
        break;
      case Kind::image: add(along_x ? m.x_sides.first : m.y_sides.first), add(along_x ? m.x_sides.second : m.y_sides.second); break;
      case Kind::horizontal:
        if (!along_x) add_all(m.y);
        break;
      case Kind::vertical:
        if (along_x) add_all(m.x);
        break;
    }
  return all;
}

const PlotMark* find_kind(const Plot& plot, Kind kind) {
  for (const PlotMark& m : plot.marks())
    if (m.kind == kind) return &m;
  return nullptr;
}

/// The ends of an axis. Marks that start at a base line (bars) or fill their place (an image) touch the frame.
PlotRange range_along(const Plot& plot, bool along_x) {
  const PlotOptions& o = plot.options();
  if (const auto& given = along_x ? o.x_range : o.y_range) return *given;
  const bool log = along_x ? o.x_log : o.y_log;
  const PlotMark* const image = find_kind(plot, Kind::image);
  const PlotMark* const bars = find_kind(plot, Kind::bars);
  const Extent extent = extent_of(plot, along_x);
  PlotRange range = axis_range(extent, log, image ? 0 : 0.045);
  if (bars && along_x != bars->horizontal) range = axis_range(extent, log, 0);
  if (const PlotMark* const stands = bars && along_x == bars->horizontal ? bars
                                     : !along_x                          ? find_kind(plot, Kind::histogram)
                                                                         : nullptr;
      stands && !extent.empty && !log) {
    const double base = stands->kind == Kind::bars ? base_of(*stands, false) : 0;
    if (extent.low == base) range.first = base;
    if (extent.high == base) range.second = base;
  }
  // Rows of an image, and names of bars one below the other, count from the top.
  if (!along_x && ((image && image->y_sides.first > image->y_sides.second) || (bars && bars->horizontal)))
    std::swap(range.first, range.second);
  if (along_x && image && image->x_sides.first > image->x_sides.second) std::swap(range.first, range.second);
  return range;
}

/// Names in place of numbers.
Ticks names_as_ticks(const std::vector<std::string>& names) {
  Ticks t;
  for (std::size_t i = 0; i < names.size(); ++i) t.ticks.push_back({static_cast<double>(i), names[i]});
  return t;
}
const std::vector<std::string>* names_along(const Plot& plot, bool along_x) {
  for (const PlotMark& m : plot.marks()) {
    if (m.kind == Kind::bars && along_x != m.horizontal) return &m.names;
    if (m.kind == Kind::image && !(along_x ? m.names : m.rows).empty()) return along_x ? &m.names : &m.rows;
  }
  return nullptr;
}
/// Whether an axis marks whole numbers only: those of a heat map's cells without names.
bool counts_cells(const Plot& plot) {
  const PlotMark* const image = find_kind(plot, Kind::image);
  return image && image->x_sides.first == -0.5;
}

double widest(const Ticks& ticks) {
  double w = 0;
  for (const Tick& t : ticks.ticks) w = std::max(w, text_width(t.label, kTickSize));
  return w;
}

struct Labelled {
  const PlotMark* mark;
  double width;
};

class Drawing {
 public:
  Drawing(SvgWriter& out, const Plot& plot, Box all) : out_(out), plot_(plot), o_(plot.options()), all_(all) {
    for (const PlotMark& m : plot.marks()) {
      if (!m.label.empty()) labels_.push_back({&m, text_width(m.label, kTickSize)});
      if (m.color_bar && !bar_) bar_ = &m;
    }
  }

  void draw() {
    Legend place = o_.legend;
    lay_out(place == Legend::outside);
    std::optional<Box> legend;
    if (place != Legend::off && !labels_.empty()) {
      if (place == Legend::automatic) {
        legend = best_corner();
        if (!legend) lay_out(true), place = Legend::outside;
      }
      if (!legend) legend = legend_box(place);
    }
    if (o_.axes) draw_axes();
    draw_marks();
    if (o_.axes) draw_frame();
    if (legend) draw_legend(*legend);
    if (bar_) draw_color_bar();
    if (!o_.title.empty())
      out_.text(o_.axes ? (axes_.box.left + axes_.box.right) / 2 : (all_.left + all_.right) / 2, all_.top + 18, o_.title, kTitleSize,
                Anchor::middle, "font-weight=\"600\"");
  }

 private:
  double legend_width() const {
    double w = 0;
    for (const Labelled& l : labels_) w = std::max(w, l.width);
    return w + 40;
  }
  double legend_height() const { return 17 * static_cast<double>(labels_.size()) + 8; }

  /// Places the axes: numbers and names beside them take room, which says where the axes are, which says which numbers there are.
  void lay_out(bool legend_outside) {
    const bool names_below = names_along(plot_, true) != nullptr;
    Box box{all_.left + 12, all_.top + (o_.title.empty() ? 12 : 30), all_.right - 14, all_.bottom - 12};
    if (!o_.axes) box = {all_.left + 2, all_.top + (o_.title.empty() ? 2 : 26), all_.right - 2, all_.bottom - 2};
    if (legend_outside) box.right -= legend_width() + 6;
    if (bar_)
      box.right -= 26 + widest(ticks_of(Scale(bar_->range.first, bar_->range.second, false, 0, 1), 5)) + (bar_->bar_label.empty() ? 6 : 24);
    const PlotRange xr = range_along(plot_, true), yr = range_along(plot_, false);
    const auto scales = [&] {
      axes_.box = box;
      axes_.x = Scale(xr.first, xr.second, o_.x_log, 0, box.width());
      axes_.y = Scale(yr.first, yr.second, o_.y_log, box.height(), 0);
    };
    const auto choose = [&] {
      const auto* const xs = names_along(plot_, true);
      const auto* const ys = names_along(plot_, false);
      x_ticks_ = xs ? names_as_ticks(*xs) : ticks_of(axes_.x, static_cast<int>(std::max(2.0, box.width() / 75)));
      y_ticks_ = ys ? names_as_ticks(*ys) : ticks_of(axes_.y, static_cast<int>(std::max(2.0, box.height() / 45)));
      if (counts_cells(plot_)) {
        if (!xs) std::erase_if(x_ticks_.ticks, [](const Tick& t) { return t.value != std::round(t.value); });
        if (!ys) std::erase_if(y_ticks_.ticks, [](const Tick& t) { return t.value != std::round(t.value); });
      }
    };
    scales();
    if (o_.axes) {
      choose();
      box.left += widest(y_ticks_) + kTickLength + 5 + (o_.y_label.empty() ? 0 : 20);
      scales();
      choose();
      // Names that don't fit side by side are slanted.
      slanted_ = names_below && !x_ticks_.ticks.empty() && widest(x_ticks_) + 6 > box.width() / static_cast<double>(x_ticks_.ticks.size());
      box.bottom -= kTickLength + (slanted_ ? 8 + 0.64 * widest(x_ticks_) : 14) + (o_.x_label.empty() ? 0 : 20);
      if (!y_ticks_.factor.empty()) box.top += o_.title.empty() ? 6 : 4;
      if (!x_ticks_.factor.empty() && o_.x_label.empty()) box.bottom -= 14;
    }
    box.right = std::max(box.right, box.left + 10), box.bottom = std::max(box.bottom, box.top + 10);
    scales();
    if (o_.equal_scales) {
      const double x_size = std::abs(xr.second - xr.first), y_size = std::abs(yr.second - yr.first);
      const double unit = std::min(box.width() / x_size, box.height() / y_size);
      const double spare_x = box.width() - unit * x_size, spare_y = box.height() - unit * y_size;
      box.left += spare_x / 2, box.right -= spare_x / 2, box.top += spare_y / 2, box.bottom -= spare_y / 2;
      scales();
    }
    if (o_.axes) choose();
  }

  void draw_axes() {
    const Box& b = axes_.box;
    const bool over_image = find_kind(plot_, Kind::image) != nullptr;
    const PlotMark* const bars = find_kind(plot_, Kind::bars);
    const auto tick = [&](bool along_x, const Tick& t) {
      const double at = along_x ? b.left + axes_.x(t.value) : b.top + axes_.y(t.value);
      const bool named = names_along(plot_, along_x) != nullptr;
      if (!(at >= (along_x ? b.left : b.top) - 0.5) || !(at <= (along_x ? b.right : b.bottom) + 0.5)) return;
      const double length = t.label.empty() ? kTickLength / 2 : kTickLength;
      if (o_.grid && !over_image && !named)
        out_.line(along_x ? at : b.left, along_x ? b.top : at, along_x ? at : b.right, along_x ? b.bottom : at,
                  t.label.empty() ? "stroke=\"currentColor\" stroke-opacity=\".07\"" : "stroke=\"currentColor\" stroke-opacity=\".15\"");
      if (!(named && bars))
        out_.line(along_x ? at : b.left, along_x ? b.bottom : at, along_x ? at : b.left - length, along_x ? b.bottom + length : at,
                  "stroke=\"currentColor\" stroke-opacity=\".6\"");
      if (t.label.empty()) return;
      if (!along_x)
        out_.text(b.left - kTickLength - 4, at + 0.35 * kTickSize, t.label, kTickSize, Anchor::end);
      else if (slanted_)
        out_.text(at + 3, b.bottom + kTickLength + 9, t.label, kTickSize, Anchor::end,
                  fmt::format("transform=\"rotate(-40 {} {})\"", coordinate(at + 3), coordinate(b.bottom + kTickLength + 9)));
      else
        out_.text(at, b.bottom + kTickLength + 12, t.label, kTickSize, Anchor::middle);
    };
    for (const Tick& t : x_ticks_.ticks) tick(true, t);
    for (const Tick& t : y_ticks_.ticks) tick(false, t);
    if (!y_ticks_.factor.empty()) out_.text(b.left, b.top - 5, y_ticks_.factor, kTickSize, Anchor::start);
    if (!x_ticks_.factor.empty()) out_.text(b.right, b.bottom + kTickLength + 27, x_ticks_.factor, kTickSize, Anchor::end);
    if (!o_.x_label.empty()) out_.text((b.left + b.right) / 2, all_.bottom - 10, o_.x_label, kLabelSize, Anchor::middle);
    if (!o_.y_label.empty()) {
      const double x = b.left - kTickLength - 13 - widest(y_ticks_), y = (b.top + b.bottom) / 2;
      out_.text(x, y, o_.y_label, kLabelSize, Anchor::middle, fmt::format("transform=\"rotate(-90 {} {})\"", coordinate(x), coordinate(y)));
    }
  }

  void draw_marks() {
    const Box& b = axes_.box;
    out_.raw(fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" overflow=\"hidden\">\n", coordinate(b.left), coordinate(b.top),
                         coordinate(b.width()), coordinate(b.height())));
    std::size_t count = 0, number = 0;
    for (const PlotMark& m : plot_.marks()) count += m.kind == Kind::bars;
    for (const PlotMark& m : plot_.marks()) draw_mark(out_, m, axes_, m.kind == Kind::bars ? number++ : 0, count);
    out_.raw("</svg>\n");
  }

  void draw_frame() {
    const Box& b = axes_.box;
    out_.raw(fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".6\"/>\n", coordinate(b.left),
                         coordinate(b.top), coordinate(b.bottom), coordinate(b.right)));
  }

  /// The corner with the fewest points; none where each is crowded.
  std::optional<Box> best_corner() const {
    if (legend_width() > 0.7 * axes_.box.width() || legend_height() > 0.8 * axes_.box.height()) return {};
    std::vector<std::pair<double, double>> places;
    for (const PlotMark& m : plot_.marks()) note_places(m, axes_, places);
    std::optional<Box> best;
    std::size_t fewest = 0;
    for (const Legend corner : {Legend::top_right, Legend::top_left, Legend::bottom_right, Legend::bottom_left}) {
      const Box box = legend_box(corner);
      const auto inside = static_cast<std::size_t>(std::count_if(places.begin(), places.end(), [&](const auto& p) {
        return p.first > box.left - 4 && p.first < box.right + 4 && p.second > box.top - 4 && p.second < box.bottom + 4;
      }));
      if (!best || inside < fewest) best = box, fewest = inside;
    }
    if (fewest > 4 && static_cast<double>(fewest) > 0.01 * static_cast<double>(places.size())) return {};
    return best;
  }

  Box legend_box(Legend place) const {
    const Box& b = axes_.box;
    const double w = legend_width(), h = legend_height(), gap = 6;
    const bool left = place == Legend::top_left || place == Legend::bottom_left,
               bottom = place == Legend::bottom_left || place == Legend::bottom_right;
    if (place == Legend::outside) {
      const double x = all_.right - w - 4;
      return {x, b.top, x + w, b.top + h};
    }
    const double x = left ? b.left + gap : b.right - gap - w, y = bottom ? b.bottom - gap - h : b.top + gap;
    return {x, y, x + w, y + h};
  }

  void draw_legend(const Box& box) {
    out_.rect(box.left, box.top, box.width(), box.height(),
              "class=\"back\" fill=\"#fff\" fill-opacity=\".8\" stroke=\"currentColor\" stroke-opacity=\".15\" rx=\"4\"");
    double y = box.top + 4 + 8.5;
    for (const Labelled& l : labels_) {
      draw_sample(out_, *l.mark, box.left + 6, y);
      out_.text(box.left + 33, y + 0.35 * kTickSize, l.mark->label, kTickSize);
      y += 17;
    }
  }

  void draw_color_bar() {
    const Box& b = axes_.box;
    const double left = b.right + 12, width = 12;
    const auto steps = static_cast<std::size_t>(std::clamp(b.height(), 16.0, 256.0));
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = 0; i < steps; ++i) {
      const Rgb c = color_at(bar_->map, 1 - (static_cast<double>(i) + 0.5) / static_cast<double>(steps));
      for (const std::uint8_t part : {c.r, c.g, c.b}) pixels.push_back(part);
    }
    out_.image(left, b.top, width, b.height(), array(pixels, {steps, 1, 3}));
    out_.rect(left, b.top, width, b.height(), "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".4\"");
    const Scale scale(bar_->range.first, bar_->range.second, false, b.bottom, b.top);
    const Ticks ticks = ticks_of(scale, static_cast<int>(std::max(2.0, b.height() / 45)));
    for (const Tick& t : ticks.ticks) {
      const double y = scale(t.value);
      out_.line(left + width, y, left + width + 3, y, "stroke=\"currentColor\" stroke-opacity=\".6\"");
      out_.text(left + width + 6, y + 0.35 * kTickSize, t.label, kTickSize);
    }
    if (!ticks.factor.empty()) out_.text(left, b.top - 5, ticks.factor, kTickSize);
    if (!bar_->bar_label.empty()) {
      const double x = left + width + 20 + widest(ticks), y = (b.top + b.bottom) / 2;
      out_.text(x, y, bar_->bar_label, kLabelSize, Anchor::middle,
                fmt::format("transform=\"rotate(-90 {} {})\"", coordinate(x), coordinate(y)));
    }
  }

  SvgWriter& out_;
  const Plot& plot_;
  const PlotOptions& o_;
  const Box all_;
  Axes axes_;
  Ticks x_ticks_, y_ticks_;
  bool slanted_ = false;
  std::vector<Labelled> labels_;
  const PlotMark* bar_ = nullptr;
};

}  // namespace

void draw_plot(SvgWriter& out, const Plot& plot, double left, double top, double width, double height) {
  Drawing(out, plot, {left, top, left + width, top + height}).draw();
}

}  // namespace weft::detail
