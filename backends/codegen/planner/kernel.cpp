#include "weft/backends/codegen/planner/kernel.h"

#include <algorithm>

#include "weft/backends/codegen/planner/signature.h"
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
  mark(k.row_partition.row);
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
  read_otherwise(k.row_partition.row);
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

std::uint64_t structural_hash(const Kernel& k) {
  std::uint64_t h = kFnvStart;
  for (std::int64_t v : signature(k)) h = fnv_with(h, static_cast<std::uint64_t>(v)), h ^= h >> 29;
  return h;
}
bool same_code(const Kernel& a, const Kernel& b) { return signature(a) == signature(b); }

}  // namespace weft::detail
