#include "weft/backends/codegen/schedule/kernel_accesses.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weft::detail {

bool runs_singly(const Kernel& k, int dim) {
  if (k.sequential >> dim & 1) return true;
  return std::any_of(k.limits.begin(), k.limits.end(), [&](const LoopLimit& l) { return l.outer == dim; });
}

namespace {

constexpr std::size_t kMostSections = 16;  // each has code of its own

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 && (a < 0) == (b < 0)); }

}  // namespace

bool counts_loops(const Kernel& k) {
  const auto counted = [](auto&& self, const std::vector<Repeat>& all) -> bool {
    return std::all_of(all.begin(), all.end(), [&](const Repeat& r) { return r.go_on < 0 && self(self, r.inner); });
  };
  return std::all_of(k.nests.begin(), k.nests.end(), [&](const Nest& t) { return counted(counted, t.repeats); });
}

bool is_border(const Kernel& k, const Node& n, int dim) {
  if (n.kind != NodeKind::index_below) return false;
  const Affine& a = k.dag.affine(n.operands[0]);
  return a.terms.size() == 1 && a.terms[0].atom == dim && a.terms[0].coef != 0;
}

bool holds_at(const Kernel& k, const Node& n, std::int64_t coordinate) {
  const Affine& a = k.dag.affine(n.operands[0]);
  const std::int64_t at = a.terms[0].coef * coordinate + a.constant;
  return at >= 0 && at < n.integer;
}

std::vector<Section> sections(const Kernel& k, int dim, std::int64_t lanes) {
  const std::int64_t size = k.dag.dims[static_cast<std::size_t>(dim)];
  std::set<std::int64_t> borders{size};
  for (const Node& n : k.dag.nodes) {
    if (!is_border(k, n, dim)) continue;
    const Affine& a = k.dag.affine(n.operands[0]);
    const std::int64_t step = a.terms[0].coef;
    // The first coordinates on the other side of 0 and of the bound, on the way up or down.
    for (const std::int64_t bound : {-a.constant, n.integer - a.constant})
      if (const std::int64_t at = step > 0 ? ceil_div(bound, step) : ceil_div(bound - 1, step); at > 0 && at < size) borders.insert(at);
  }
  std::vector<Section> all;
  std::int64_t done = 0;
  for (const std::int64_t b : borders) {
    const std::int64_t whole = b == size ? size : b / lanes * lanes;
    if (whole > done) all.push_back({done, whole, true}), done = whole;
    if (b <= done) continue;
    const std::int64_t end = std::min(size, whole + lanes);
    if (!all.empty() && !all.back().uniform)
      all.back().to = end;
    else
      all.push_back({done, end, false});
    done = end;
  }
  return all;
}

bool can_peel(const Kernel& k, int dim, std::int64_t lanes) {
  if (k.limits[static_cast<std::size_t>(dim)].outer >= 0) return false;
  const std::vector<Section> all = sections(k, dim, lanes);
  if ((all.size() == 1 && all[0].uniform) || all.size() > kMostSections) return false;
  std::int64_t cut = 0, vectors = 0;
  for (const Section& s : all) {
    const std::int64_t n = ceil_div(s.to - s.from, lanes);
    vectors += n;
    if (!s.uniform) cut += n;
  }
  return 4 * cut <= vectors;
}

bool is_decided(const Kernel& k, NodeId condition, std::uint64_t dims) {
  const Node& n = k.dag[condition];
  if (n.dims & ~dims) return false;
  if (n.kind == NodeKind::constant) return true;
  if (n.kind == NodeKind::index_below) return is_border(k, n, k.dag.affine(n.operands[0]).terms[0].atom);
  return n.kind == NodeKind::op && n.op == ScalarOp::bit_and && is_decided(k, n.operands[0], dims) && is_decided(k, n.operands[1], dims);
}

bool divides_by_sum(const Kernel& k, const Node& n) {
  if (n.kind != NodeKind::op || n.op != ScalarOp::div || n.dtype != float32) return false;
  const Node &x = k.dag[n.operands[0]], &s = k.dag[n.operands[1]];
  if (s.kind != NodeKind::local) return false;
  for (const Nest& t : k.nests)
    for (const Reduction& r : t.reductions) {
      if (r.local != s.integer || r.running || r.kind != Reduction::Kind::reduce || r.combiner != Combiner::sum || !t.parallel.empty())
        continue;
      const Node& term = k.dag[r.value];
      if (term.kind != NodeKind::math || (term.function != MathFunction::exp && term.function != MathFunction::exp2)) return false;
      // The terms may be in scratch, which holds nothing else.
      if (x.kind != NodeKind::load || x.operands[1] >= 0 || !k.args[static_cast<std::size_t>(x.integer)].scratch) return false;
      for (const Nest& other : k.nests)
        for (const Store& store : other.stores)
          if (store.arg == x.integer && (store.value != r.value || &other != &t)) return false;
      return true;
    }
  return false;
}

std::int64_t terms_of_sum(const Kernel& k, const Node& n) {
  std::int64_t row = 1;
  for (std::size_t d = 0; d < k.dag.dims.size(); ++d)
    if ((n.dims & ~k.dag[n.operands[1]].dims) >> d & 1) row *= k.dag.dims[d];
  return row;
}

int square_direction(const Kernel& k, NodeId position, int vector, int other) {
  std::int64_t along = 0, s = 0;
  if (vector < 0 || other == vector || !k.dag.stride(position, vector, along) || (along >= -1 && along <= 2)) return 0;
  return k.dag.stride(position, other, s) && (s == 1 || s == -1) ? static_cast<int>(s) : 0;
}

bool maps_squares(const Kernel& k, std::size_t nest, NodeId position, int vector, int lanes) {
  const Nest& t = k.nests[nest];
  if (k.nests.size() == 1 || t.parallel.empty() || !t.reduce.empty() || !t.reductions.empty() || !t.repeats.empty()) return false;
  const int inner = t.parallel.back();
  const auto size = [&](int dim) { return k.dag.dims[static_cast<std::size_t>(dim)]; };
  return std::find(k.outer.begin(), k.outer.end(), vector) != k.outer.end() && !runs_singly(k, inner) && size(inner) >= lanes &&
         size(vector) >= lanes && square_direction(k, position, vector, inner) != 0;
}

std::vector<NodeId> plain_loads(const Kernel& k) {
  std::vector<NodeId> loads;
  std::vector<char> pinned(k.dag.nodes.size());  // depends on what the kernel computes in earlier nests
  const std::vector<char> live = live_nodes(k);
  for (std::size_t n = 0; n < k.dag.nodes.size(); ++n) {
    const Node& node = k.dag.nodes[n];
    bool p = node.kind == NodeKind::local || (node.kind == NodeKind::load && k.args[static_cast<std::size_t>(node.integer)].written);
    for (NodeId o : node.operands) p |= o >= 0 && pinned[static_cast<std::size_t>(o)];
    if (node.kind == NodeKind::index)
      for (const AffineTerm& t : k.dag.affines[static_cast<std::size_t>(node.affine)].terms)
        p |= t.atom < 0 && pinned[static_cast<std::size_t>(~t.atom)];
    pinned[n] = p;
    if (node.kind == NodeKind::load && live[n] && !p && node.operands[1] < 0) loads.push_back(static_cast<NodeId>(n));
  }
  return loads;
}

bool is_aligned(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes) {
  const std::int64_t bytes = k.args[static_cast<std::size_t>(s.arg)].dtype.itemsize();
  if (lanes * bytes != vector_bytes) return false;
  const Affine& a = k.dag.affine(s.position);
  if (a.constant * bytes % vector_bytes != 0) return false;
  return std::all_of(a.terms.begin(), a.terms.end(),
                     [&](const AffineTerm& t) { return t.atom == vector || (t.atom >= 0 && t.coef * bytes % vector_bytes == 0); });
}

bool is_aligned_record(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes, const std::vector<int>& records) {
  const std::int64_t bytes = k.args[static_cast<std::size_t>(s.arg)].dtype.itemsize();
  if (lanes * bytes != vector_bytes || s.guard >= 0) return false;
  const Affine& a = k.dag.affine(s.position);
  std::int64_t apart = 0, elements = 1;
  for (const AffineTerm& t : a.terms) {
    const bool in_record = t.atom >= 0 && std::find(records.begin(), records.end(), t.atom) != records.end();
    if (t.atom == vector)
      apart = t.coef;
    else if (in_record && t.coef > 0)
      elements *= k.dag.dims[static_cast<std::size_t>(t.atom)];
    else if (t.atom < 0 || t.coef * bytes % vector_bytes != 0)
      return false;
  }
  return a.constant * bytes % vector_bytes == 0 && apart > 1 && apart == elements;
}

bool fills_lines(const Kernel& k, const Store& s, const NestLoops& nest, const std::vector<int>& records) {
  std::int64_t apart = 0, elements = 1;
  int innermost = -1;
  for (const LoopPlan& l : nest.loops) {
    if (std::find(records.begin(), records.end(), l.dim) == records.end())
      innermost = l.dim;
    else
      elements *= k.dag.dims[static_cast<std::size_t>(l.dim)];
  }
  return innermost == nest.vector && k.dag.stride(s.position, nest.vector, apart) && apart == elements;
}

bool is_loaded(const Kernel& k, int arg) {
  return std::any_of(k.dag.nodes.begin(), k.dag.nodes.end(), [&](const Node& n) { return n.kind == NodeKind::load && n.integer == arg; });
}

bool is_gathered(const Kernel& k, NodeId value, int vector) {
  const Node& n = k.dag[value];
  std::int64_t stride = 0;
  return vector >= 0 && n.kind == NodeKind::load && n.operands[1] < 0 && n.dtype.itemsize() >= 4 && (n.dims >> vector & 1) &&
         !k.dag.stride(n.operands[0], vector, stride);
}

std::optional<GatheredRow> gathered_row(const Kernel& k, NodeId position, int vector, int rows) {
  if (k.dag[position].kind != NodeKind::index) return {};
  GatheredRow row;
  std::int64_t high = 0;
  bool differs = false;  // from lane to lane
  for (const AffineTerm& t : k.dag.affine(position).terms) {
    if (t.atom == vector) return {};
    if (t.atom == rows) row.apart = t.coef;
    if (t.atom >= 0) continue;
    const Node& n = k.dag[~t.atom];
    differs |= n.dims >> vector & 1;
    row.first += t.coef * (t.coef > 0 ? n.low : n.high), high += t.coef * (t.coef > 0 ? n.high : n.low);
  }
  row.elements = high - row.first + 1;
  if (!differs || row.apart <= 0) return {};
  return row;
}

std::optional<GatheredRow> whole_row(const Kernel& k, NodeId load, int vector) {
  const Node& n = k.dag[load];
  const KernelArg& arg = k.args[static_cast<std::size_t>(n.integer)];
  const Node& position = k.dag[n.operands[0]];
  if (arg.written || arg.scratch || position.kind != NodeKind::index || position.low < 0 || position.high >= arg.elements) return {};
  GatheredRow row;
  std::int64_t high = 0;
  bool differs = false;
  for (const AffineTerm& t : k.dag.affine(n.operands[0]).terms) {
    if (t.atom == vector) return {};
    if (t.atom >= 0 || !(k.dag[~t.atom].dims >> vector & 1)) continue;
    const Node& index = k.dag[~t.atom];
    differs = true;
    row.first += t.coef * (t.coef > 0 ? index.low : index.high), high += t.coef * (t.coef > 0 ? index.high : index.low);
  }
  row.elements = high - row.first + 1;
  if (!differs) return {};
  return row;
}

std::int64_t bytes_of_lane(const Kernel& k, const GatheredRow& row, int arg, int vector) {
  const std::int64_t lanes = k.dag.dims[static_cast<std::size_t>(vector)];
  return (row.elements * k.args[static_cast<std::size_t>(arg)].dtype.itemsize() + lanes - 1) / lanes;
}

std::vector<NestLoops> nest_loops(const Schedule& s) {
  std::vector<NestLoops> all;
  for (const NestSchedule& n : s.nests) {
    NestLoops one;
    one.loops = s.outer;
    one.loops.insert(one.loops.end(), n.parallel.begin(), n.parallel.end());
    one.loops.insert(one.loops.end(), n.reduce.begin(), n.reduce.end());
    for (const LoopPlan& l : one.loops)
      if (l.vector) one.vector = l.dim;
    all.push_back(std::move(one));
  }
  return all;
}

std::int64_t advances(const Kernel& k, const Schedule& s, const Access& a, const NestLoops& nest) {
  std::int64_t along = 0, down = 0;
  if (nest.vector < 0 || nest.loops.empty() || k.args[static_cast<std::size_t>(a.arg)].scratch) return 0;
  const LoopPlan& innermost = nest.loops.back();
  if (!k.dag.stride(a.position, nest.vector, along) || !k.dag.stride(a.position, innermost.dim, down)) return 0;
  const bool square = contains(s.transposed, a.arg) && std::any_of(nest.loops.begin(), nest.loops.end(), [&](const LoopPlan& l) {
                        return l.unroll == s.lanes && square_direction(k, a.position, nest.vector, l.dim) != 0;
                      });
  return along == 1 || square ? down * innermost.unroll * (innermost.vector ? s.lanes : 1) : 0;
}

std::vector<Access> accesses(const Kernel& k, const Nest& t) {
  std::vector<Access> found;
  std::vector<char> seen(k.dag.nodes.size());
  std::vector<NodeId> stack = wanted_nodes(t);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (id < 0 || std::exchange(seen[static_cast<std::size_t>(id)], 1)) continue;
    const Node& n = k.dag[id];
    if (n.kind == NodeKind::load) found.push_back({static_cast<int>(n.integer), n.operands[0], id});
    for (NodeId o : n.operands) stack.push_back(o);
    if (n.kind == NodeKind::index)
      for (const AffineTerm& a : k.dag.affine(id).terms)
        if (a.atom < 0) stack.push_back(~a.atom);
  }
  for (const Store& s : t.stores) found.push_back({s.arg, s.position, -1});
  const auto of_repeat = [&](auto&& self, const Repeat& r) -> void {
    for (const Store& s : r.stores) found.push_back({s.arg, s.position, -1});
    for (const Repeat& inner : r.inner) self(self, inner);
  };
  for (const Repeat& r : t.repeats) of_repeat(of_repeat, r);
  return found;
}

}  // namespace weft::detail
