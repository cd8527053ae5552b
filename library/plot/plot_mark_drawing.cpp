// Curves, points, bars and images, in the coordinates of their axes' box.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "weft/library/plot/plot_draw.h"

namespace weft::detail {
namespace {

using Kind = PlotMark::Kind;

struct Point {
  double x = 0, y = 0;
  bool drawn() const { return std::isfinite(x) && std::isfinite(y); }
};

std::string stroke(const PlotMark& m) {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}{}", escaped(m.color), coordinate(m.size),
                     m.opacity < 1 ? fmt::format(" stroke-opacity=\"{}\"", coordinate(m.opacity)) : "", dashes(m.style, m.size));
}

/// The part of a segment that is within the box, and around it as far as the box is large. Places far outside would be beyond what
/// viewers can compute with.
bool clip(Point& a, Point& b, const Box& box) {
  const double w = box.width(), h = box.height();
  double first = 0, last = 1;
  const double dx = b.x - a.x, dy = b.y - a.y;
  const auto cut = [&](double direction, double distance) {
    if (direction == 0) return distance >= 0;
    const double t = distance / direction;
    (direction < 0 ? first = std::max(first, t) : last = std::min(last, t));
    return first <= last;
  };
  if (!cut(-dx, a.x + w) || !cut(dx, 2 * w - a.x) || !cut(-dy, a.y + h) || !cut(dy, 2 * h - a.y)) return false;
  const Point from = a;
  if (last < 1) b = {from.x + last * dx, from.y + last * dy};
  if (first > 0) a = {from.x + first * dx, from.y + first * dy};
  return true;
}

/// The visible ones of many points in the order of x: in each column of pixels the first, the lowest, the highest and the last.
std::vector<Point> thinned(const std::vector<Point>& points, double width) {
  if (static_cast<double>(points.size()) < 8 * width) return points;
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].drawn() && points[i - 1].drawn() && points[i].x < points[i - 1].x) return points;
  std::vector<Point> out;
  for (std::size_t i = 0; i < points.size();) {
    if (!points[i].drawn()) {
      if (out.empty() || out.back().drawn()) out.push_back(points[i]);
      ++i;
      continue;
    }
    const double column = std::floor(2 * points[i].x);
    std::size_t low = i, high = i, j = i;
    for (; j < points.size() && points[j].drawn() && std::floor(2 * points[j].x) == column; ++j) {
      if (points[j].y < points[low].y) low = j;
      if (points[j].y > points[high].y) high = j;
    }
    for (const std::size_t k : std::set<std::size_t>{i, low, high, j - 1}) out.push_back(points[k]);
    i = j;
  }
  return out;
}

std::vector<Point> points_of(const std::vector<double>& xs, const std::vector<double>& ys, const Axes& axes) {
  std::vector<Point> out(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) out[i] = {axes.x(xs[i]), axes.y(ys[i])};
  return out;
}
/// Each value holds up to the next point.
std::vector<Point> as_steps(const std::vector<Point>& points) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0) out.push_back({points[i].x, points[i - 1].y});
    out.push_back(points[i]);
  }
  return out;
}

std::string path_through(const std::vector<Point>& points, const Box& box) {
  std::string d;
  Point last{std::nan(""), 0};
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    Point a = points[i], b = points[i + 1];
    if (!a.drawn() || !b.drawn() || !clip(a, b, box)) continue;
    if (!(a.x == last.x && a.y == last.y)) d += fmt::format("M{} {}", coordinate(a.x), coordinate(a.y));
    d += fmt::format("L{} {}", coordinate(b.x), coordinate(b.y));
    last = b;
  }
  return d;
}

std::string marker_path(Marker marker, Point p, double size) {
  const double r = size / 2;
  const auto c = [](double v) { return coordinate(v); };
  switch (marker) {
    case Marker::square: return fmt::format("M{} {}h{}v{}h{}z", c(p.x - 0.9 * r), c(p.y - 0.9 * r), c(1.8 * r), c(1.8 * r), c(-1.8 * r));
    case Marker::triangle:
      return fmt::format("M{} {}L{} {}L{} {}z", c(p.x), c(p.y - 1.15 * r), c(p.x + r), c(p.y + 0.7 * r), c(p.x - r), c(p.y + 0.7 * r));
    case Marker::cross:
      return fmt::format("M{} {}L{} {}M{} {}L{} {}", c(p.x - r), c(p.y - r), c(p.x + r), c(p.y + r), c(p.x - r), c(p.y + r), c(p.x + r),
                         c(p.y - r));
    default:
      return fmt::format("M{} {}a{} {} 0 1 0 {} 0a{} {} 0 1 0 {} 0z", c(p.x - r), c(p.y), c(r), c(r), c(2 * r), c(r), c(r), c(-2 * r));
  }
}
std::string marker_style(Marker marker, const std::string& color, double opacity) {
  return marker == Marker::cross
             ? fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\" stroke-opacity=\"{}\"", color, coordinate(opacity))
             : fmt::format("fill=\"{}\" fill-opacity=\"{}\"", color, coordinate(opacity));
}

void draw_markers(SvgWriter& out, const PlotMark& m, const std::vector<Point>& points, double size, const Axes& axes) {
  // One of many points at one place is drawn, and they are grouped by color.
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  std::string all;
  std::map<long, std::string> colored;  // by the number of the color
  constexpr double kColors = 100;
  const bool by_value = m.kind == Kind::scatter && !m.low.empty();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point p = points[i];
    if (!p.drawn() || p.x < -size || p.y < -size || p.x > axes.box.width() + size || p.y > axes.box.height() + size) continue;
    if (points.size() > 5000 && !seen.emplace(std::llround(2 * p.x), std::llround(2 * p.y)).second) continue;
    if (!by_value) {
      all += marker_path(m.marker, p, size);
      continue;
    }
    if (!std::isfinite(m.low[i])) continue;
    const double t = (m.low[i] - m.range.first) / (m.range.second - m.range.first);
    colored[std::lround(kColors * std::clamp(t, 0.0, 1.0))] += marker_path(m.marker, p, size);
  }
  for (const auto& [number, d] : colored)
    out.raw(fmt::format("<path d=\"{}\" {}/>\n", d,
                        marker_style(m.marker, hex(color_at(m.map, static_cast<double>(number) / kColors)), m.opacity)));
  if (!all.empty()) out.raw(fmt::format("<path d=\"{}\" {}/>\n", all, marker_style(m.marker, escaped(m.color), m.opacity)));
}

void draw_band(SvgWriter& out, const PlotMark& m, const Axes& axes) {
  const std::vector<Point> high = points_of(m.x, m.y, axes), low = points_of(m.x, m.low, axes);
  const double w = axes.box.width(), h = axes.box.height();
  const auto write = [&](std::string& d, const Point& p, bool first) {
    d += fmt::format("{}{} {}", first ? 'M' : 'L', coordinate(std::clamp(p.x, -10 * w, 11 * w)),
                     coordinate(std::clamp(p.y, -10 * h, 11 * h)));
  };
  std::string d;
  for (std::size_t i = 0; i < high.size();) {
    std::size_t end = i;
    while (end < high.size() && high[end].drawn() && low[end].drawn()) ++end;
    if (end > i + 1) {
      for (std::size_t k = i; k < end; ++k) write(d, high[k], k == i);
      for (std::size_t k = end; k-- > i;) write(d, low[k], false);
      d += "z";
    }
    i = std::max(end, i + 1);
  }
  if (!d.empty()) out.raw(fmt::format("<path d=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n", d, escaped(m.color), coordinate(m.opacity)));
}

void draw_bars(SvgWriter& out, const PlotMark& m, const Axes& axes, std::size_t number, std::size_t count) {
  const Scale& along = m.horizontal ? axes.y : axes.x;
  const Scale& up = m.horizontal ? axes.x : axes.y;
  const double each = m.size / static_cast<double>(count), first = -m.size / 2 + each * static_cast<double>(number);
  const double base = up(base_of(m, up.log()));
  const double limit = 2 * (m.horizontal ? axes.box.width() : axes.box.height());
  for (std::size_t i = 0; i < m.y.size(); ++i) {
    double end = up(m.y[i]);
    if (!std::isfinite(end)) continue;
    end = std::clamp(end, -limit, limit);
    const double a = along(m.x[i] + first), b = along(m.x[i] + first + each * 0.96);
    const double low = std::min(a, b), size = std::abs(b - a), start = std::min(base, end), length = std::abs(end - base);
    const std::string fill = fmt::format("fill=\"{}\" rx=\"1.5\"", escaped(m.color));
    if (m.horizontal)
      out.rect(start, low, length, size, fill);
    else
      out.rect(low, start, size, length, fill);
    if (!m.annotated) continue;
    const std::string label = short_number(m.y[i]);
    const bool forward = m.horizontal ? end >= base : end <= base;
    const double middle = low + size / 2, font = std::clamp(size * 0.9, 8.0, 11.0);
    if (m.horizontal) {
      // Beside the bar; in it where there is no room, or beside its other end where it is too short.
      const double wide = text_width(label, font) + 6;
      const bool room = forward ? end + wide <= axes.box.width() : end - wide >= 0, fits = length > wide;
      const double at = room ? end + (forward ? 4 : -4) : fits ? end + (forward ? -4 : 4) : base + (forward ? -4 : 4);
      out.text(at, middle + 0.35 * font, label, font, forward == room ? Anchor::start : Anchor::end, !room && fits ? "fill=\"#fff\"" : "");
    } else {
      const double at = forward ? end - 4 : end + font + 2;
      const bool inside = at - font < 0 || at > axes.box.height();
      out.text(middle, inside ? (forward ? end + font + 2 : end - 4) : at, label, font, Anchor::middle, inside ? "fill=\"#fff\"" : "");
    }
  }
}

void draw_histogram(SvgWriter& out, const PlotMark& m, const Axes& axes) {
  if (m.y.empty()) return;
  const double bottom = axes.y.log() ? axes.box.height() : axes.y(0);
  std::string d;
  for (std::size_t i = 0; i < m.y.size(); ++i) {
    const double left = axes.x(m.x[i]), right = axes.x(m.x[i + 1]), top = axes.y(m.y[i]);
    if (!std::isfinite(left) || !std::isfinite(right) || !std::isfinite(top)) continue;
    d += fmt::format("M{0} {1}V{2}H{3}V{1}z", coordinate(left), coordinate(bottom), coordinate(top), coordinate(right));
  }
  out.raw(fmt::format("<path d=\"{0}\" fill=\"{1}\" fill-opacity=\"{2}\" stroke=\"{1}\" stroke-width=\".7\"/>\n", d, escaped(m.color),
                      coordinate(m.opacity)));
}

constexpr std::int64_t kMostCells = 1024;

/// Few pixels as rectangles, which no viewer smooths; neighbours of one color in a row are one.
void draw_cells(SvgWriter& out, const PlotMark& m, const Box& box) {
  const std::vector<std::uint8_t> pixels = m.pixels.to_vector<std::uint8_t>();
  const double w = box.width() / static_cast<double>(m.width), h = box.height() / static_cast<double>(m.height);
  out.raw("<g shape-rendering=\"crispEdges\">\n");
  for (std::int64_t r = 0; r < m.height; ++r)
    for (std::int64_t c = 0, end; c < m.width; c = end) {
      const std::uint8_t* const color = pixels.data() + 4 * (r * m.width + c);
      for (end = c + 1; end < m.width && std::equal(color, color + 4, color + 4 * (end - c));) ++end;
      if (color[3] == 0) continue;
      // Neighbours share their sides to the last digit, so that nothing shows between them.
      const auto side = [](double v) { return std::round(100 * v) / 100; };
      const double x = side(box.left + w * static_cast<double>(c)), y = side(box.top + h * static_cast<double>(r));
      out.rect(x, y, side(box.left + w * static_cast<double>(end)) - x, side(box.top + h * static_cast<double>(r + 1)) - y,
               fmt::format("fill=\"{}\"{}", hex({color[0], color[1], color[2]}),
                           color[3] < 255 ? fmt::format(" fill-opacity=\"{}\"", coordinate(color[3] / 255.)) : ""));
    }
  out.raw("</g>\n");
}

void draw_image(SvgWriter& out, const PlotMark& m, const Axes& axes) {
  if (m.pixels.is_empty_handle()) return;
  const double x0 = axes.x(m.x_sides.first), x1 = axes.x(m.x_sides.second);
  // The first row is at the second end of y_sides.
  const double y0 = axes.y(m.y_sides.second), y1 = axes.y(m.y_sides.first);
  const double left = std::min(x0, x1), top = std::min(y0, y1), width = std::abs(x1 - x0), height = std::abs(y1 - y0);
  const bool mirrored_x = x1 < x0, mirrored_y = y1 < y0;
  if (mirrored_x || mirrored_y)
    out.raw(fmt::format("<g transform=\"translate({} {}) scale({} {})\">\n", coordinate(mirrored_x ? 2 * left + width : 0),
                        coordinate(mirrored_y ? 2 * top + height : 0), mirrored_x ? -1 : 1, mirrored_y ? -1 : 1));
  if (m.height * m.width <= kMostCells)
    draw_cells(out, m, {left, top, left + width, top + height});
  else
    out.image(left, top, width, height, m.pixels);
  if (mirrored_x || mirrored_y) out.raw("</g>\n");
  if (!m.annotated) return;
  const double cell_width = width / static_cast<double>(m.width), cell_height = height / static_cast<double>(m.height);
  const double font = std::clamp(std::min(cell_width / 3.2, cell_height * 0.55), 5.0, 12.0);
  for (std::int64_t r = 0; r < m.height; ++r)
    for (std::int64_t c = 0; c < m.width; ++c) {
      const double v = m.y[static_cast<std::size_t>(r * m.width + c)];
      const bool light = is_light(color_at(m.map, (v - m.range.first) / (m.range.second - m.range.first)));
      out.text(axes.x(static_cast<double>(c)), axes.y(static_cast<double>(r)) + 0.35 * font, short_number(v), font, Anchor::middle,
               std::isnan(v) ? ""
               : light       ? "fill=\"#111\""
                             : "fill=\"#fff\"");
    }
}

}  // namespace

double base_of(const PlotMark& m, bool log) { return m.base.value_or(log ? 1 : 0); }

std::string dashes(LineStyle style, double width) {
  switch (style) {
    case LineStyle::solid: return " stroke-linejoin=\"round\"";
    case LineStyle::dashed: return fmt::format(" stroke-dasharray=\"{} {}\"", coordinate(2 + 2.2 * width), coordinate(2 + 1.1 * width));
    case LineStyle::dotted: return fmt::format(" stroke-linecap=\"round\" stroke-dasharray=\"0.01 {}\"", coordinate(1.5 + 1.8 * width));
  }
  return {};
}

void draw_mark(SvgWriter& out, const PlotMark& m, const Axes& axes, std::size_t number, std::size_t count) {
  const Box& box = axes.box;
  switch (m.kind) {
    case Kind::line: {
      const std::vector<Point> given = points_of(m.x, m.y, axes);
      const std::vector<Point> points = thinned(m.steps ? as_steps(given) : given, box.width());
      if (const std::string d = path_through(points, box); !d.empty()) out.raw(fmt::format("<path d=\"{}\" {}/>\n", d, stroke(m)));
      if (m.marker != Marker::off) {
        draw_markers(out, m, given, 2.2 * m.size + 2.4, axes);
        break;
      }
      // A point without neighbours would not show.
      std::vector<Point> alone;
      for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].drawn() && (i == 0 || !given[i - 1].drawn()) && (i + 1 == given.size() || !given[i + 1].drawn()))
          alone.push_back(given[i]);
      draw_markers(out, m, alone, 2 * m.size, axes);
      break;
    }
    case Kind::scatter: draw_markers(out, m, points_of(m.x, m.y, axes), m.size, axes); break;
    case Kind::bars: draw_bars(out, m, axes, number, count); break;
    case Kind::histogram: draw_histogram(out, m, axes); break;
    case Kind::band: draw_band(out, m, axes); break;
    case Kind::error_bars: {
      std::string d;
      for (std::size_t i = 0; i < m.x.size(); ++i) {
        Point a{axes.x(m.x[i]), axes.y(m.y[i] - m.low[i])}, b{a.x, axes.y(m.y[i] + m.low[i])};
        // On a logarithmic axis the lower end may be below everything.
        if (axes.y.log() && !(m.y[i] - m.low[i] > 0)) a.y = 2 * box.height();
        if (!a.drawn() || !b.drawn() || !clip(a, b, box)) continue;
        d += fmt::format("M{0} {1}H{2}M{3} {1}V{4}M{0} {4}H{2}", coordinate(a.x - 3), coordinate(a.y), coordinate(a.x + 3), coordinate(a.x),
                         coordinate(b.y));
      }
      if (!d.empty()) out.raw(fmt::format("<path d=\"{}\" {}/>\n", d, stroke(m)));
      PlotMark centres = m;
      if (centres.marker == Marker::off) centres.marker = Marker::circle;
      draw_markers(out, centres, points_of(m.x, m.y, axes), 2 * m.size + 2, axes);
      break;
    }
    case Kind::image: draw_image(out, m, axes); break;
    case Kind::text:
      if (const Point p{axes.x(m.x[0]), axes.y(m.y[0])}; p.drawn())
        out.text(p.x, p.y, m.names[0], m.size, m.centered ? Anchor::middle : Anchor::start, fmt::format("fill=\"{}\"", escaped(m.color)));
      break;
    case Kind::horizontal:
    case Kind::vertical: {
      const bool flat = m.kind == Kind::horizontal;
      const double at = flat ? axes.y(m.y[0]) : axes.x(m.x[0]);
      if (!(at >= 0 && at <= (flat ? box.height() : box.width()))) break;
      out.line(flat ? 0 : at, flat ? at : 0, flat ? box.width() : at, flat ? at : box.height(), stroke(m));
      break;
    }
  }
}

void note_places(const PlotMark& m, const Axes& axes, std::vector<std::pair<double, double>>& places) {
  const double left = axes.box.left, top = axes.box.top;
  const auto note = [&](double x, double y) {
    if (std::isfinite(x) && std::isfinite(y)) places.emplace_back(left + x, top + y);
  };
  const auto note_line = [&](Point a, Point b) {
    if (!a.drawn() || !b.drawn() || !clip(a, b, axes.box)) return;
    const int steps = 1 + static_cast<int>(std::hypot(b.x - a.x, b.y - a.y) / 6);
    for (int i = 0; i <= steps; ++i) note(a.x + (b.x - a.x) * i / steps, a.y + (b.y - a.y) * i / steps);
  };
  const auto note_curve = [&](const std::vector<double>& y) {
    const std::vector<Point> points = thinned(points_of(m.x, y, axes), axes.box.width());
    for (std::size_t i = 0; i + 1 < points.size(); ++i) note_line(points[i], points[i + 1]);
    if (points.size() == 1) note(points[0].x, points[0].y);
  };
  switch (m.kind) {
    case Kind::line: note_curve(m.y); break;
    case Kind::band: note_curve(m.y), note_curve(m.low); break;
    case Kind::scatter:
    case Kind::error_bars:
    case Kind::text:
      for (std::size_t i = 0; i < m.x.size(); ++i) note(axes.x(m.x[i]), axes.y(m.y[i]));
      break;
    case Kind::bars:
      for (std::size_t i = 0; i < m.y.size(); ++i)
        for (const double side : {-0.35, 0.0, 0.35}) {
          const double base = base_of(m, m.horizontal ? axes.x.log() : axes.y.log());
          if (m.horizontal)
            note_line({axes.x(base), axes.y(m.x[i] + side)}, {axes.x(m.y[i]), axes.y(m.x[i] + side)});
          else
            note_line({axes.x(m.x[i] + side), axes.y(base)}, {axes.x(m.x[i] + side), axes.y(m.y[i])});
        }
      break;
    case Kind::histogram:
      for (std::size_t i = 0; i < m.y.size(); ++i) {
        const double middle = axes.x((m.x[i] + m.x[i + 1]) / 2);
        note_line({middle, axes.box.height()}, {middle, axes.y(m.y[i])});
      }
      break;
    case Kind::image:
      for (double x = 0; x < axes.box.width(); x += 12)
        for (double y = 0; y < axes.box.height(); y += 12) note(x, y);
      break;
    case Kind::horizontal: note_line({0, axes.y(m.y[0])}, {axes.box.width(), axes.y(m.y[0])}); break;
    case Kind::vertical: note_line({axes.x(m.x[0]), 0}, {axes.x(m.x[0]), axes.box.height()}); break;
  }
}

void draw_sample(SvgWriter& out, const PlotMark& m, double left, double middle) {
  const std::string fill =
      fmt::format("fill=\"{}\" fill-opacity=\"{}\" rx=\"1.5\"", escaped(m.color), coordinate(m.kind == Kind::bars ? 1 : m.opacity));
  switch (m.kind) {
    case Kind::bars:
    case Kind::histogram:
    case Kind::band: out.rect(left + 3, middle - 5, 16, 10, fill); break;
    case Kind::scatter:
      out.raw(fmt::format("<path d=\"{}\" {}/>\n", marker_path(m.marker, {left + 11, middle}, std::min(m.size, 9.0)),
                          marker_style(m.marker, escaped(m.color), m.opacity)));
      break;
    case Kind::error_bars:
      out.line(left + 11, middle - 6, left + 11, middle + 6, stroke(m));
      out.raw(fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"2.8\" fill=\"{}\"/>\n", coordinate(left + 11), coordinate(middle),
                          escaped(m.color)));
      break;
    default:
      out.line(left, middle, left + 22, middle, stroke(m));
      if (m.marker != Marker::off)
        out.raw(fmt::format("<path d=\"{}\" {}/>\n", marker_path(m.marker, {left + 11, middle}, 6),
                            marker_style(m.marker, escaped(m.color), m.opacity)));
  }
}

}  // namespace weft::detail
