#include "weft/backends/codegen/planner/kernel.h"

#include <fmt/core.h>

#include <algorithm>

#include "weft/backends/codegen/planner/signature.h"
#include "weft/backends/codegen/schedule/kernel_cost.h"
#include "weft/core/base/hash.h"

namespace weft::detail {

namespace {

void add_stores(const std::vector<Store>& stores, std::vector<NodeId>& nodes) {
  for (const Store& s : stores)
    for (NodeId n : {s.position, s.value, s.guard})
      if (n >= 0) nodes.push_back(n);
}
void add_repeat(const Repeat& r, std::vector<NodeId>& nodes) {
  if (r.go_on >= 0) nodes.push_back(r.go_on);
  for (const Repeat::Carried& c : r.carried) nodes.push_back(c.start), nodes.push_back(c.next);
  add_stores(r.stores, nodes);
  for (const Repeat& inner : r.inner) add_repeat(inner, nodes);
}
void add_dims(const Repeat& r, std::vector<int>& dims) {
  dims.push_back(r.dim);
  for (const Repeat& inner : r.inner) add_dims(inner, dims);
}

}  // namespace

std::vector<NodeId> wanted_nodes(const Nest& t) {
  std::vector<NodeId> nodes;
  for (const Reduction& r : t.reductions) {
    nodes.push_back(r.value);
    if (r.position >= 0) nodes.push_back(r.position);
  }
  for (const Repeat& r : t.repeats) add_repeat(r, nodes);
  add_stores(t.stores, nodes);
  return nodes;
}

std::vector<int> repeat_dims(const Nest& t) {
  std::vector<int> dims;
  for (const Repeat& r : t.repeats) add_dims(r, dims);
  return dims;
}

std::optional<std::vector<std::pair<int, int>>> copied_arguments(const Kernel& k, const Nest& t) {
  if (!t.reduce.empty() || !t.reductions.empty() || !t.repeats.empty()) return {};
  std::vector<std::pair<int, int>> copied;
  for (const Store& s : t.stores) {
    const Node& value = k.dag[s.value];
    if (s.guard >= 0 || value.kind != NodeKind::load || value.operands[0] != s.position || value.operands[1] >= 0) return {};
    copied.emplace_back(static_cast<int>(value.integer), s.arg);
  }
  return copied;
}

double points_along(const Kernel& k, std::uint64_t dims) {
  for (const Nest& t : k.nests)
    for (int d : repeat_dims(t)) dims &= ~(std::uint64_t{1} << d);
  double points = 1;
  for (std::size_t d = 0; d < k.dag.dims.size(); ++d)
    if (dims >> d & 1) points *= static_cast<double>(k.dag.dims[d]);
  return points;
}

std::vector<char> live_nodes(const Kernel& k) {
  std::vector<char> live(k.dag.nodes.size());
  auto mark = [&](NodeId n) {
    if (n >= 0) live[static_cast<std::size_t>(n)] = 1;
  };
  for (const Nest& t : k.nests)
    for (NodeId n : wanted_nodes(t)) mark(n);
  mark(k.division.row);
  for (std::size_t n = k.dag.nodes.size(); n-- > 0;) {
    if (!live[n]) continue;
    const Node& node = k.dag.nodes[n];
    for (NodeId o : node.operands) mark(o);
    if (node.kind == NodeKind::index)
      for (const AffineTerm& t : k.dag.affines[static_cast<std::size_t>(node.affine)].terms)
        if (t.atom < 0) mark(~t.atom);
  }
  return live;
}

bool needs_wide_indices(const Kernel& k) {
  // Intermediate sums of a position may be larger than the position itself.
  constexpr std::int64_t kNarrow = 0x40000000;
  const auto wide = [](std::int64_t n) { return n <= -kNarrow || n >= kNarrow; };
  if (std::any_of(k.args.begin(), k.args.end(), [&](const KernelArg& a) { return wide(a.elements); })) return true;
  const std::vector<char> live = live_nodes(k);
  for (std::size_t n = 0; n < k.dag.nodes.size(); ++n) {
    if (!live[n]) continue;
    const Node& node = k.dag.nodes[n];
    const bool divides = node.kind == NodeKind::index_div || node.kind == NodeKind::index_mod;
    if ((node.kind == NodeKind::index || divides) && (wide(node.low) || wide(node.high))) return true;
    if ((divides || node.kind == NodeKind::index_below) && wide(node.integer)) return true;
    if (node.kind != NodeKind::index) continue;
    const Affine& a = k.dag.affines[static_cast<std::size_t>(node.affine)];
    if (wide(a.constant) || std::any_of(a.terms.begin(), a.terms.end(), [&](const AffineTerm& t) { return wide(t.coef); })) return true;
  }
  return false;
}

namespace {

// Longer inner loops, in elements and in bytes, have vectors of their own, for which conditions are tested once.
constexpr std::int64_t kShortLoop = 16, kShortBytes = 63;

std::int64_t coef(const Affine& f, int dim) {
  for (const AffineTerm& t : f.terms)
    if (t.atom == dim) return t.coef;
  return 0;
}

std::int64_t largest_element(const Kernel& k) {
  std::int64_t bytes = 1;
  for (const KernelArg& a : k.args) bytes = std::max<std::int64_t>(bytes, a.dtype.itemsize());
  return bytes;
}

/// The positions that are read only by conditions `0 <= f < n`, for a loop a and a short loop b just inside of it, along which f stays as
/// it is: of the merged loop they are conditions too, `0 <= b_extent f + (position along b) < b_extent n`.
std::vector<char> only_compared(const Kernel& k, const std::vector<char>& live, int a, int b) {
  const Dag& dag = k.dag;
  std::vector<char> compared(dag.nodes.size());
  for (std::size_t n = 0; n < dag.nodes.size(); ++n) {
    const Node& node = dag.nodes[n];
    if (!live[n] || node.kind != NodeKind::index) continue;
    const Affine& f = dag.affines[static_cast<std::size_t>(node.affine)];
    compared[n] = coef(f, b) == 0 && std::abs(coef(f, a)) == 1;
  }
  const auto read_otherwise = [&](NodeId n) {
    if (n >= 0) compared[static_cast<std::size_t>(n)] = 0;
  };
  for (std::size_t n = 0; n < dag.nodes.size(); ++n) {
    if (!live[n] || dag.nodes[n].kind == NodeKind::index_below) continue;
    for (NodeId o : dag.nodes[n].operands) read_otherwise(o);
    if (dag.nodes[n].kind == NodeKind::index)
      for (const AffineTerm& t : dag.affines[static_cast<std::size_t>(dag.nodes[n].affine)].terms)
        if (t.atom < 0) read_otherwise(~t.atom);
  }
  for (const Nest& t : k.nests)
    for (NodeId n : wanted_nodes(t)) read_otherwise(n);
  read_otherwise(k.division.row);
  return compared;
}

/// Merges loop b into loop a, just outside of it, if all positions move by b's full extent where a takes a step.
bool merge_loops(Kernel& k, const std::vector<char>& live, int a, int b) {
  Dag& dag = k.dag;
  const auto ia = static_cast<std::size_t>(a), ib = static_cast<std::size_t>(b);
  if ((k.sequential >> a & 1) != (k.sequential >> b & 1)) return false;
  for (std::size_t d = 0; d < k.limits.size(); ++d)
    if (k.limits[d].outer >= 0 && (k.limits[d].outer == a || k.limits[d].outer == b || d == ia || d == ib)) return false;
  std::vector<char> compared;
  const std::int64_t extent = dag.dims[ib];
  // Nodes may share an affine form.
  std::vector<char> moves(dag.affines.size()), tested(dag.affines.size());
  for (std::size_t n = 0; n < dag.nodes.size(); ++n) {
    if (!live[n] || dag.nodes[n].kind != NodeKind::index) continue;
    const auto form = static_cast<std::size_t>(dag.nodes[n].affine);
    const Affine& f = dag.affines[form];
    const bool merges = coef(f, a) == coef(f, b) * extent;
    if (!merges) {
      if (extent > kShortLoop || extent * largest_element(k) > kShortBytes) return false;
      if (compared.empty()) compared = only_compared(k, live, a, b);
      if (!compared[n]) return false;
    }
    (merges ? moves : tested)[form] = 1;
  }
  for (std::size_t n = 0; n < dag.nodes.size(); ++n) {
    Node& node = dag.nodes[n];
    if (!live[n] || node.kind != NodeKind::index_below) continue;
    const Node& f = dag.nodes[static_cast<std::size_t>(node.operands[0])];
    if (f.kind == NodeKind::index && tested[static_cast<std::size_t>(f.affine)]) node.integer *= extent;
  }
  for (std::size_t n = 0; n < dag.nodes.size(); ++n) {
    Node& node = dag.nodes[n];
    if (!live[n] || node.kind != NodeKind::index || !tested[static_cast<std::size_t>(node.affine)]) continue;
    node.low *= extent;
    node.high = node.high * extent + extent - 1;
  }
  for (std::size_t form = 0; form < dag.affines.size(); ++form) {
    if (!tested[form]) continue;
    Affine& f = dag.affines[form];
    const std::int64_t step = coef(f, a);
    f.constant = f.constant * extent + (step < 0 ? extent - 1 : 0);
    for (AffineTerm& t : f.terms) t.coef *= extent;
    f.terms.push_back({b, step});
  }
  dag.dims[ia] *= dag.dims[ib];
  dag.dims[ib] = 1;
  const std::uint64_t bit_a = std::uint64_t{1} << a, bit_b = std::uint64_t{1} << b;
  for (Node& n : dag.nodes)
    if (n.dims & (bit_a | bit_b)) n.dims = (n.dims & ~bit_b) | bit_a;
  for (Affine& f : dag.affines) {
    const std::int64_t c = coef(f, b);
    std::erase_if(f.terms, [&](const AffineTerm& t) { return t.atom == b; });
    for (AffineTerm& t : f.terms)
      if (t.atom == a) t.coef = c;
    std::erase_if(f.terms, [](const AffineTerm& t) { return t.coef == 0; });
  }
  return true;
}

void collapse(Kernel& k, const std::vector<char>& live, std::vector<int>& loops) {
  for (std::size_t i = 0; i + 1 < loops.size();) {
    if (merge_loops(k, live, loops[i], loops[i + 1]))
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    else
      ++i;
  }
}

}  // namespace

void collapse_loops(Kernel& k) {
  const std::vector<char> live = live_nodes(k);
  collapse(k, live, k.outer);
  for (Nest& t : k.nests) {
    collapse(k, live, t.parallel);
    const bool running = std::any_of(t.reductions.begin(), t.reductions.end(), [](const Reduction& r) { return r.running; });
    if (!running) collapse(k, live, t.reduce);
  }
}

namespace {

std::string text(const Dag& dag, const Affine& a) {
  std::string s;
  for (const AffineTerm& t : a.terms) {
    if (!s.empty()) s += t.coef < 0 ? " - " : " + ";
    const std::int64_t c = s.empty() ? t.coef : std::abs(t.coef);
    if (c == -1)
      s += "-";
    else if (c != 1)
      s += fmt::format("{}*", c);
    s += t.atom >= 0 ? fmt::format("i{}", t.atom) : fmt::format("%{}", ~t.atom);
  }
  (void)dag;
  if (s.empty()) return std::to_string(a.constant);
  if (a.constant != 0) s += fmt::format(" {} {}", a.constant < 0 ? "-" : "+", std::abs(a.constant));
  return s;
}

std::string text(const Kernel& k, NodeId id) {
  const Node& n = k.dag[id];
  switch (n.kind) {
    case NodeKind::constant:
      return n.dtype.is_floating() ? fmt::format("{}:{}", n.floating, n.dtype.short_name())
                                   : fmt::format("{}:{}", n.integer, n.dtype.short_name());
    case NodeKind::index: return text(k.dag, k.dag.affine(id));
    case NodeKind::local: return fmt::format("l{}", n.integer);
    default: return fmt::format("%{}", id);
  }
}

}  // namespace

std::uint64_t structural_hash(const Kernel& k) {
  std::uint64_t h = kFnvStart;
  for (std::int64_t v : signature(k)) h = fnv_with(h, static_cast<std::uint64_t>(v)), h ^= h >> 29;
  return h;
}
bool same_code(const Kernel& a, const Kernel& b) { return signature(a) == signature(b); }

std::string to_string(const Kernel& k) {
  std::string s = fmt::format("{}: flops={} bytes={}\n", k.name, k.cost.flops, k.cost.bytes);
  const KernelTraffic traffic = element_traffic(k);
  for (std::size_t a = 0; a < k.args.size(); ++a) {
    const KernelArg& arg = k.args[a];
    s += fmt::format("  a{}: {}[{}]", a, arg.dtype.short_name(), arg.elements);
    if (arg.scratch) s += " scratch";
    if (traffic.read[a] > 0) s += fmt::format(", {} read", traffic.read[a]);
    if (arg.written) s += fmt::format(", {} written", traffic.written[a]);
    s += "\n";
  }
  const auto loops = [&](std::string_view what, const std::vector<int>& dims) {
    std::string t;
    for (int d : dims) {
      t += fmt::format(" {} i{} < {}", what, d, k.dag.dims[static_cast<std::size_t>(d)]);
      if (k.sequential >> d & 1) t += " in order";
      const LoopLimit& limit = k.limits[static_cast<std::size_t>(d)];
      if (limit.outer >= 0) t += fmt::format(" (i{} chunks of {})", limit.outer, limit.total);
    }
    return t;
  };
  s += "  outer" + loops("for", k.outer) + "\n";
  if (k.division.loop >= 0)
    s += fmt::format("  divided by {} of i{}, below {}\n", text(k, k.division.row), k.division.loop, k.division.rows);
  std::vector<char> printed(k.dag.nodes.size());
  for (const Nest& t : k.nests) {
    s += "  nest" + loops("for", t.parallel) + loops("reduce", t.reduce) + "\n";
    const auto print = [&](auto&& self, NodeId id) -> void {
      if (id < 0 || printed[static_cast<std::size_t>(id)]) return;
      printed[static_cast<std::size_t>(id)] = 1;
      const Node& n = k.dag[id];
      if (n.kind == NodeKind::index)
        for (const AffineTerm& a : k.dag.affine(id).terms)
          if (a.atom < 0) self(self, ~a.atom);
      for (NodeId o : n.operands) self(self, o);
      const std::string name = fmt::format("    %{} = {} ", id, n.dtype.short_name());
      switch (n.kind) {
        case NodeKind::constant:
        case NodeKind::index:
        case NodeKind::local: return;
        case NodeKind::index_div: s += name + fmt::format("({}) / {}\n", text(k, n.operands[0]), n.integer); return;
        case NodeKind::index_mod: s += name + fmt::format("({}) % {}\n", text(k, n.operands[0]), n.integer); return;
        case NodeKind::index_below: s += name + fmt::format("0 <= {} < {}\n", text(k, n.operands[0]), n.integer); return;
        case NodeKind::index_value: s += name + fmt::format("index {}\n", text(k, n.operands[0])); return;
        case NodeKind::load:
          s += name + fmt::format("a{}[{}]", n.integer, text(k, n.operands[0])) +
               (n.operands[1] >= 0 ? " if " + text(k, n.operands[1]) : "") + "\n";
          return;
        case NodeKind::op:
        case NodeKind::math:
          s += name + std::string(n.kind == NodeKind::op ? name_of(n.op) : name_of(n.function));
          for (NodeId o : n.operands)
            if (o >= 0) s += " " + text(k, o);
          s += "\n";
      }
    };
    const auto store = [&](const Store& w) {
      s += fmt::format("    a{}[{}] = {}{}\n", w.arg, text(k, w.position), text(k, w.value), w.guard >= 0 ? " if " + text(k, w.guard) : "");
    };
    for (const Reduction& r : t.reductions) {
      print(print, r.value), print(print, r.position);
      constexpr std::string_view names[] = {"sum", "prod", "max", "min", "and", "or", "xor", "logsumexp"};
      const std::string_view what = r.kind == Reduction::Kind::reduce    ? names[static_cast<std::size_t>(r.combiner)]
                                    : r.kind == Reduction::Kind::arg_max ? "argmax"
                                    : r.kind == Reduction::Kind::arg_min ? "argmin"
                                                                         : "complex prod";
      s += fmt::format("    l{} = {} {} {}{}{}\n", r.local, r.dtype.short_name(), what, text(k, r.value),
                       r.kind == Reduction::Kind::complex_product ? " " + text(k, r.position) : "", r.running ? " (running)" : "");
    }
    const auto repeat = [&](auto&& self, const Repeat& r, const std::string& indent) -> void {
      for (const Repeat::Carried& c : r.carried) {
        print(print, c.start);
        s += fmt::format("{}l{} = {}\n", indent, c.local, text(k, c.start));
      }
      s += indent + (r.go_on >= 0 ? "while\n" : fmt::format("repeat i{} < {}\n", r.dim, k.dag.dims[static_cast<std::size_t>(r.dim)]));
      if (r.go_on >= 0) print(print, r.go_on), s += fmt::format("{}  if {}\n", indent, text(k, r.go_on));
      for (const Repeat& inner : r.inner) self(self, inner, indent + "  ");
      for (const Repeat::Carried& c : r.carried) print(print, c.next);
      for (const Store& w : r.stores) print(print, w.position), print(print, w.value), store(w);
      for (const Repeat::Carried& c : r.carried) s += fmt::format("{}  l{} = {}\n", indent, c.local, text(k, c.next));
      for (const Repeat::Carried& c : r.carried) s += fmt::format("{}l{} = l{}\n", indent, c.result, c.local);
    };
    for (const Repeat& r : t.repeats) repeat(repeat, r, "    ");
    for (const bool within : {true, false})
      for (const Store& w : t.stores)
        if (w.in_reduction == within) print(print, w.position), print(print, w.value), print(print, w.guard), store(w);
  }
  return s;
}

}  // namespace weft::detail
