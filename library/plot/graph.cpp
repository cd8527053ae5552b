#include "weft/library/plot/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/base/files.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/text/text.h"
#include "weft/library/plot/layered_graph.h"
#include "weft/library/plot/svg_text.h"

namespace weft {
namespace {

using namespace detail;

constexpr double kFont = 12, kSmall = 10, kMargin = 14;

/// Which color of the palette an operation has, and what the legend calls it.
struct Family {
  std::size_t color;
  const char* name;
};
Family family_of(Kind kind) {
  switch (kind) {
    case Kind::elementwise: return {0, "elementwise"};
    case Kind::movement:
    case Kind::concatenate:
    case Kind::iota: return {5, "movement"};
    case Kind::reduce:
    case Kind::arg_reduce:
    case Kind::cumulative:
    case Kind::reduce_window: return {2, "reduction"};
    case Kind::dot:
    case Kind::convolution: return {1, "matmul"};
    case Kind::gather:
    case Kind::scatter:
    case Kind::dynamic_slice:
    case Kind::dynamic_update_slice:
    case Kind::sort: return {6, "indexing"};
    case Kind::random: return {7, "random"};
    case Kind::call:
    case Kind::control: return {4, "control"};
    case Kind::spmd:
    case Kind::collective: return {3, "devices"};
    case Kind::library:
    case Kind::effect: return {7, "library"};
  }
  return {0, ""};
}

struct Panel {
  std::string title;
  Jaxpr program;
};

/// The program, then those within it.
void collect(const Jaxpr& program, const std::string& title, const GraphOptions& o, std::vector<Panel>& panels, std::size_t& equations,
             SourceLoc loc) {
  check_nesting("programs inside programs");
  equations += program.eqns().size();
  if (equations > static_cast<std::size_t>(std::max(o.max_equations, 0)))
    throw Error(
        fmt::format("graph_svg: the program has more than {} equations; draw a part of it, or raise max_equations", o.max_equations), loc);
  panels.push_back({title, program});
  if (!o.programs) return;
  std::set<const JaxprData*> seen;
  for (const Eqn& e : program.eqns())
    for (const ParamText& p : e.op->params_list(*e.params)) {
      std::vector<Jaxpr> inner;
      if (p.jaxpr) inner.push_back(*p.jaxpr);
      if (p.jaxprs) inner = *p.jaxprs;
      for (const Jaxpr& j : inner)
        if (seen.insert(&j.data()).second) collect(j, fmt::format("{}, {}", e.op->name, p.name), o, panels, equations, loc);
    }
}

class PanelDrawing {
 public:
  PanelDrawing(const Jaxpr& program, const GraphOptions& options) : j_(program.data()), o_(options) {
    int last = 1;
    std::vector<int> layer_of(j_.avals.size());
    made_by_.assign(j_.avals.size(), 0);
    for (Var v = 0; v < j_.first_result(); ++v) {
      made_by_[v] = nodes_.size();
      add(v < j_.first_input() ? "const" : fmt::format("in {}", v - j_.first_input()), to_string(j_.avals[v]), 0, {});
    }
    for (const Eqn& e : j_.eqns) {
      int layer = 1;
      for (const Atom a : e.inputs)
        if (!a.is_literal()) layer = std::max(layer, layer_of[a.var()] + 1);
      std::string numbers;
      for (const Atom a : e.inputs)
        if (a.is_literal()) numbers += " " + print_literal(j_.literals[a.literal()]);
      const std::size_t node = nodes_.size();
      add(std::string(e.op->name) + numbers,
          e.outputs.empty() ? "" : to_string(j_.avals[e.outputs[0]]) + (e.outputs.size() > 1 ? ", ..." : ""), layer, family_of(e.op->kind));
      families_.insert({family_of(e.op->kind).color, family_of(e.op->kind).name});
      for (const Atom a : e.inputs)
        if (!a.is_literal()) edge(made_by_[a.var()], node);
      for (const Var v : e.outputs) made_by_[v] = node, layer_of[v] = layer;
      last = std::max(last, layer);
    }
    for (std::size_t k = 0; k < j_.outputs.size(); ++k) {
      const Atom a = j_.outputs[k];
      const std::size_t node = nodes_.size();
      add(fmt::format("out {}", k) + (a.is_literal() ? " = " + print_literal(j_.literals[a.literal()]) : ""), to_string(j_.aval(a)),
          last + 1, {});
      if (!a.is_literal()) edge(made_by_[a.var()], node);
    }
    // Nodes without operands are placed near their readers.
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const bool reads = std::any_of(edges_.begin(), edges_.end(), [&](const auto& e) { return e.second == n; });
      if (reads || !is_equation_[n]) continue;
      int nearest = last + 1;
      for (const auto& [from, to] : edges_)
        if (from == n) nearest = std::min(nearest, nodes_[to].layer);
      nodes_[n].layer = std::max(1, nearest - 1);
    }
    layout_ = lay_out_graph(std::move(nodes_), edges_);
  }

  double width() const { return layout_.width; }
  double height() const { return layout_.height; }
  const std::set<std::pair<std::size_t, std::string>>& families() const { return families_; }

  void draw(SvgWriter& out, double left, double top) const {
    std::set<std::string> pieces;  // edges of one node share their ways
    std::string all, tips;
    for (const GraphRoute& r : layout_.routes) {
      for (std::size_t i = 1; i < r.points.size(); ++i) {
        const auto [x, y] = r.points[i];
        const auto [px, py] = r.points[i - 1];
        std::string piece = fmt::format("M{} {}", coordinate(left + px), coordinate(top + py));
        // Straight through a layer, an S between two.
        if (i % 2 == 0)
          piece += fmt::format("L{} {}", coordinate(left + x), coordinate(top + y));
        else
          piece += fmt::format("C{} {} {} {} {} {}", coordinate(left + px), coordinate(top + (py + y) / 2), coordinate(left + x),
                               coordinate(top + (py + y) / 2), coordinate(left + x), coordinate(top + y));
        if (pieces.insert(piece).second) all += piece;
      }
      const auto [x, y] = r.points.back();
      tips += fmt::format("M{} {}l-3.2 -5.5h6.4z", coordinate(left + x), coordinate(top + y));
    }
    if (!all.empty())
      out.raw(
          fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".45\" stroke-width=\"1.2\"/>\n"
                      "<path d=\"{}\" fill-opacity=\".6\"/>\n",
                      all, tips));
    for (std::size_t n = 0; n < layout_.nodes.size(); ++n) {
      const GraphNode& g = layout_.nodes[n];
      const double x = left + g.x - g.width / 2, y = top + g.y;
      const std::string color = is_equation_[n] ? hex(palette_color(families_of_[n].color)) : "currentColor";
      out.rect(x, y, g.width, g.height,
               fmt::format("rx=\"{}\" fill=\"{}\" fill-opacity=\"{}\" stroke=\"{}\" stroke-opacity=\"{}\"", is_equation_[n] ? 5 : 12, color,
                           is_equation_[n] ? ".16" : ".06", color, is_equation_[n] ? ".9" : ".4"));
      const bool two = o_.types && !types_[n].empty();
      out.text(left + g.x, y + (two ? 14.5 : 16.5), titles_[n], kFont, Anchor::middle, is_equation_[n] ? "font-weight=\"600\"" : "");
      if (two) out.text(left + g.x, y + 27.5, types_[n], kSmall, Anchor::middle, "fill-opacity=\".75\"");
    }
  }

 private:
  void add(const std::string& title, const std::string& type, int layer, std::optional<Family> family) {
    titles_.push_back(title), types_.push_back(type), is_equation_.push_back(family.has_value());
    families_of_.push_back(family.value_or(Family{0, ""}));
    const double width = std::max(text_width(title, kFont) * 1.06, o_.types ? text_width(type, kSmall) : 0) + 18;
    nodes_.push_back({std::max(width, 44.0), o_.types && !type.empty() ? 35.0 : 25.0, layer});
  }
  void edge(std::size_t from, std::size_t to) {
    if (std::find(edges_.begin(), edges_.end(), std::pair{from, to}) == edges_.end()) edges_.emplace_back(from, to);
  }

  const JaxprData& j_;
  const GraphOptions& o_;
  std::vector<std::string> titles_, types_;
  std::vector<char> is_equation_;
  std::vector<Family> families_of_;
  std::set<std::pair<std::size_t, std::string>> families_;
  std::vector<GraphNode> nodes_;
  std::vector<std::pair<std::size_t, std::size_t>> edges_;
  std::vector<std::size_t> made_by_;
  GraphLayout layout_;
};

}  // namespace

std::string graph_svg(const Jaxpr& program, const GraphOptions& options, SourceLoc loc) {
  std::vector<Panel> panels;
  std::size_t equations = 0;
  collect(program, "", options, panels, equations, loc);
  std::vector<PanelDrawing> drawings;
  drawings.reserve(panels.size());
  std::set<std::pair<std::size_t, std::string>> families;
  double width = text_width(options.title, 14) + 10;
  for (const Panel& p : panels) {
    drawings.emplace_back(p.program, options);
    families.insert(drawings.back().families().begin(), drawings.back().families().end());
    width = std::max({width, drawings.back().width(), text_width(p.title, kFont) + 10});
  }
  double legend = 0;
  for (const auto& [color, name] : families) legend += text_width(name, kSmall) + 26;
  width = std::max(width, legend) + 2 * kMargin;
  SvgWriter out;
  double y = kMargin;
  if (!options.title.empty()) out.text(width / 2, y + 10, options.title, 14, Anchor::middle, "font-weight=\"600\""), y += 28;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    if (i > 0) {
      y += 22;
      out.line(kMargin, y, width - kMargin, y, "stroke=\"currentColor\" stroke-opacity=\".25\" stroke-dasharray=\"4 4\"");
      out.text(kMargin, y + 18, panels[i].title, kFont, Anchor::start, "font-style=\"italic\"");
      y += 30;
    }
    drawings[i].draw(out, (width - drawings[i].width()) / 2, y);
    y += drawings[i].height();
  }
  y += 18;
  double x = (width - legend) / 2;
  for (const auto& [color, name] : families) {
    out.rect(x, y, 11, 11, fmt::format("rx=\"3\" fill=\"{0}\" fill-opacity=\".16\" stroke=\"{0}\"", hex(palette_color(color))));
    out.text(x + 16, y + 9.5, name, kSmall);
    x += text_width(name, kSmall) + 26;
  }
  return svg_document(width, y + 11 + kMargin, options.theme, options.title.empty() ? "program" : options.title, out.str());
}

void save_graph(const std::string& path, const Jaxpr& program, const GraphOptions& options, SourceLoc loc) {
  write_file(path, {graph_svg(program, options, loc)}, loc, "save_graph");
}

}  // namespace weft
