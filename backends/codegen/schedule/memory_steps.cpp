#include "weft/backends/codegen/schedule/memory_steps.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

namespace weft::detail {
namespace {

constexpr double kManyElements = 4;       // of records, which are then worth code that transposes them at fewer points
constexpr std::int64_t kFewElements = 3;  // of records that are written

void add(std::vector<int>& list, int number) {
  const auto at = std::lower_bound(list.begin(), list.end(), number);
  if (at == list.end() || *at != number) list.insert(at, number);
}

void peel_borders(const Kernel& k, const Target& target, Schedule& s) {
  const auto peel = [&](LoopPlan& l) { l.peeled = is_worth_peeling(k, target, l.dim, l.vector ? s.lanes : 1); };
  // Loops that are joined to records are unrolled as a whole, so that comparisons are decided in each copy.
  for (LoopPlan& l : s.outer)
    if (std::find(s.record_dims.begin(), s.record_dims.end(), l.dim) == s.record_dims.end()) peel(l);
  for (NestSchedule& n : s.nests)
    for (std::vector<LoopPlan>* loops : {&n.parallel, &n.reduce})
      for (LoopPlan& l : *loops)
        if (l.vector || l.unroll == 1) peel(l);
}

/// What a condition comes to at this coordinate of a loop, if the loop alone decides it.
std::optional<bool> decided_at(const Kernel& k, NodeId condition, int dim, std::int64_t at) {
  const Node& n = k.dag[condition];
  if (is_border(k, n, dim)) return holds_at(k, n, at);
  if (n.kind != NodeKind::op || n.op != ScalarOp::bit_and || !n.dtype.is_bool()) return {};
  const std::optional<bool> a = decided_at(k, n.operands[0], dim, at), b = decided_at(k, n.operands[1], dim, at);
  if (a && b) return *a && *b;
  return (a && !*a) || (b && !*b) ? std::optional(false) : std::nullopt;
}

/// How many nodes a section of a loop that begins here has of its own: not what is the same for the whole loop, nor what is not chosen.
std::size_t nodes_of_section(const Kernel& k, int dim, std::int64_t at) {
  const bool is_outer = contains(k.outer, dim);
  std::vector<char> seen(k.dag.nodes.size());
  std::vector<NodeId> left;
  for (const Nest& t : k.nests)
    if (is_outer || contains(t.parallel, dim) || contains(t.reduce, dim))
      for (NodeId n : wanted_nodes(t)) left.push_back(n);
  std::size_t count = 0;
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    if (id < 0 || seen[static_cast<std::size_t>(id)]) continue;
    seen[static_cast<std::size_t>(id)] = 1;
    const Node& n = k.dag[id];
    if (n.kind == NodeKind::load && n.operands[1] >= 0 && decided_at(k, n.operands[1], dim, at) == false) continue;
    if (n.kind == NodeKind::op && n.op == ScalarOp::select)
      if (const std::optional<bool> first = decided_at(k, n.operands[0], dim, at)) {
        left.push_back(n.operands[*first ? 1 : 2]);
        continue;
      }
    count += n.dims >> dim & 1;
    for (NodeId o : n.operands) left.push_back(o);
  }
  return count;
}

std::uint64_t peeled_dims(const std::vector<LoopPlan>& loops) {
  std::uint64_t dims = 0;
  for (const LoopPlan& l : loops) dims |= l.peeled ? std::uint64_t{1} << l.dim : 0;
  return dims;
}

/// Prefetches gathered rows from far memory, where they have not many more lines than there are vectors that gather from them.
void prefetch_gathered(const Kernel& k, const Target& target, const Access& a, const NestLoops& loops, Schedule& s) {
  const KernelArg& arg = k.args[static_cast<std::size_t>(a.arg)];
  const std::optional<GatheredRow> row = gathered_row(k, a.position, loops.vector, loops.loops[loops.loops.size() - 2].dim);
  if (!row || arg.elements * arg.dtype.itemsize() < target.middle_cache) return;
  if (bytes_of_lane(k, *row, a.arg, loops.vector) * s.lanes > 2 * target.line_bytes) return;
  add(s.gathered, a.arg);
  const std::int64_t bytes = row->apart * arg.dtype.itemsize();
  s.gathered_ahead = std::max(s.gathered_ahead, static_cast<int>(std::clamp<std::int64_t>(target.gathered_ahead / bytes, 1, 64)));
}

/// Prefetches rows of which an innermost loop takes a few vectors each, where they are beyond the middle cache: hardware doesn't see the
/// order of lines so far apart.
void prefetch_rows(const Kernel& k, const Target& target, Schedule& s) {
  constexpr std::int64_t kFewest = 16;  // rows
  if (s.rows_ahead > 0 || !s.transposed.empty()) return;
  const std::vector<NestLoops> loops = nest_loops(s);
  std::int64_t ahead = 0;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].vector < 0 || loops[i].loops.empty() || loops[i].loops.back().vector) continue;
    const int rows = loops[i].loops.back().dim;
    const std::int64_t count = k.dag.dims[static_cast<std::size_t>(rows)];
    if (count < kFewest) continue;
    std::int64_t columns = s.lanes;
    for (const LoopPlan& l : loops[i].loops)
      if (l.vector) columns *= l.unroll;
    for (const Access& a : accesses(k, k.nests[i])) {
      const KernelArg& arg = k.args[static_cast<std::size_t>(a.arg)];
      std::int64_t along = 0, down = 0;
      if (arg.scratch || contains(s.streamed, a.arg) || arg.elements * arg.dtype.itemsize() < target.middle_cache) continue;
      if (columns * arg.dtype.itemsize() >= target.far_row) continue;  // which hardware prefetches
      if (!k.dag.stride(a.position, loops[i].vector, along) || along != 1 || !k.dag.stride(a.position, rows, down)) continue;
      // Of few rows those far ahead are already the next columns'.
      if (down * arg.dtype.itemsize() >= target.far_row) ahead = std::max(ahead, std::min<std::int64_t>(count / 8, target.rows_ahead));
    }
  }
  if (ahead > 0) s.rows_ahead = static_cast<int>(ahead), s.row_bytes = target.far_row;
}

/// Whether records are read often enough for the code that transposes them: at many points, or many elements at each.
bool is_worth_transposing(const Kernel& k, const Target& target, const std::vector<NodeId>& loads, const Access& a) {
  const double points = points_along(k, k.dag[a.load].dims);
  if (points >= target.transposed_points) return true;
  const Affine& at = k.dag.affine(a.position);
  const auto elements = std::count_if(loads.begin(), loads.end(), [&](NodeId other) {
    return k.dag[other].integer == a.arg && k.dag.affine(k.dag[other].operands[0]).terms == at.terms;
  });
  return points * static_cast<double>(elements) >= kManyElements * target.transposed_points;
}

void choose_accesses(const Kernel& k, const Target& target, Schedule& s) {
  const std::vector<NodeId> loads = plain_loads(k);
  const std::vector<NestLoops> loops = nest_loops(s);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const int vector = loops[i].vector;
    if (vector < 0) continue;
    for (const Access& a : accesses(k, k.nests[i])) {
      const KernelArg& arg = k.args[static_cast<std::size_t>(a.arg)];
      if (arg.scratch) continue;
      const NodeId guard = a.load >= 0 ? k.dag[a.load].operands[1] : -1;
      const bool is_guarded = guard >= 0 && !is_decided(k, guard, peeled_dims(loops[i].loops));
      const bool square = !is_guarded && std::any_of(loops[i].loops.begin(), loops[i].loops.end(), [&](const LoopPlan& l) {
        return l.unroll == s.lanes && square_direction(k, a.position, vector, l.dim) != 0;
      });
      if (square) add(s.transposed, a.arg);
      if (a.load >= 0 && loops[i].loops.size() > 1 && loops[i].loops.back().vector) prefetch_gathered(k, target, a, loops[i], s);
      if (reads_records(k, loads, a, vector, s.lanes) && is_worth_transposing(k, target, loads, a))
        add(s.records, a.arg), s.shuffled_record = target.shuffled_record;
    }
    for (const Store& store : k.nests[i].stores) {
      if (points_along(k, k.dag[store.position].dims) * kManyElements >= target.transposed_points &&
          writes_records(k, k.nests[i], store.arg, vector))
        add(s.records, store.arg), s.shuffled_record = target.shuffled_record;
      const KernelArg& arg = k.args[static_cast<std::size_t>(store.arg)];
      if (!arg.scratch && arg.elements * arg.dtype.itemsize() >= target.streamed_result && k.cost.bytes >= target.streaming_total &&
          (is_aligned(k, store, vector, s.lanes, target.vector_bytes) ||
           is_aligned_record(k, store, vector, s.lanes, target.vector_bytes, s.record_dims)) &&
          !is_loaded(k, store.arg))
        add(s.streamed, store.arg);
      else if (arg.elements * arg.dtype.itemsize() >= target.prepared_result && fills_lines(k, store, loops[i], s.record_dims) &&
               !is_loaded(k, store.arg))
        add(s.prepared, store.arg), s.stored_ahead = target.stored_ahead;
    }
  }
}

/// Whether vectors at the position may lie in two lines each, as rows are no whole number of vectors apart.
bool crosses_lines(const Kernel& k, const Target& target, const Schedule& s, const Access& a) {
  const std::int64_t bytes = k.args[static_cast<std::size_t>(a.arg)].dtype.itemsize(),
                     vector = std::min(s.lanes * bytes, target.line_bytes);
  const Affine& at = k.dag.affine(a.position);
  return at.constant * bytes % vector != 0 || std::any_of(at.terms.begin(), at.terms.end(), [&](const AffineTerm& t) {
           return std::abs(t.coef) > 1 && t.coef * bytes % vector != 0;
         });
}

/// Prefetches whatever kernels that transpose squares read and write, if they store vectors that lie in two lines each: stores that miss
/// the second one run one after the other, and loads wait for those that seem to store what they read. Whole lines don't, and hardware is
/// as good at fetching them.
void prefetch_squares(const Kernel& k, const Target& target, Schedule& s) {
  if (s.transposed.empty()) return;
  const std::vector<NestLoops> loops = nest_loops(s);
  std::int64_t bytes = 0;
  bool any = false;
  for (const KernelArg& a : k.args) bytes += a.scratch ? 0 : a.elements * a.dtype.itemsize();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const std::vector<Access> all = accesses(k, k.nests[i]);
    const bool squares = std::any_of(all.begin(), all.end(),
                                     [&](const Access& a) { return contains(s.transposed, a.arg) && advances(k, s, a, loops[i]) != 0; });
    for (const Access& a : all)
      any |= squares && a.load < 0 && !contains(s.streamed, a.arg) && advances(k, s, a, loops[i]) != 0 && crosses_lines(k, target, s, a);
  }
  if (!any || bytes < target.middle_cache) return;
  s.steps_ahead = target.steps_ahead;
  s.prepared.clear(), s.stored_ahead = 0;
}

void choose_functions(const Kernel& k, const Target& target, Schedule& s) {
  std::array<int, 64> counts{};
  const std::vector<char> live = live_nodes(k);
  for (std::size_t n = 0; n < live.size(); ++n) {
    const Node& node = k.dag.nodes[n];
    if (!live[n]) continue;
    if (node.kind == NodeKind::math) {
      s.at_once = target.values_at_once;
      if (++counts[static_cast<std::size_t>(node.function)] == target.most_expansions + 1) s.called.push_back(node.function);
    }
    // Sixteen lanes have instructions for it.
    if (s.lanes == 16 && divides_by_sum(k, node) && terms_of_sum(k, node) >= target.long_row)
      s.by_inverse.push_back(static_cast<NodeId>(n));
  }
  std::sort(s.called.begin(), s.called.end());
}

}  // namespace

bool reads_records(const Kernel& k, const std::vector<NodeId>& loads, const Access& a, int vector, int lanes) {
  std::int64_t along = 0;
  if (a.load < 0 || !k.dag.stride(a.position, vector, along) || along <= 2 || !contains(loads, a.load)) return false;
  const Affine& at = k.dag.affine(a.position);
  return std::any_of(loads.begin(), loads.end(), [&](NodeId other) {
    if (other == a.load || k.dag[other].integer != a.arg) return false;
    const Affine& beside = k.dag.affine(k.dag[other].operands[0]);
    return beside.terms == at.terms && std::abs(beside.constant - at.constant) < lanes;
  });
}

std::size_t written_record(const Kernel& k, std::span<const Store* const> stores, int vector) {
  const Store& first = *stores[0];
  std::int64_t along = 0;
  if (vector < 0 || k.args[static_cast<std::size_t>(first.arg)].scratch || !k.dag.stride(first.position, vector, along) ||
      along < kFewElements)
    return 0;
  const Affine& at = k.dag.affine(first.position);
  std::size_t n = 0;
  for (; n < stores.size() && static_cast<std::int64_t>(n) < along; ++n) {
    const Store& s = *stores[n];
    const Affine& here = k.dag.affine(s.position);
    if (s.arg != first.arg || s.guard >= 0 || here.terms != at.terms || here.constant != at.constant + static_cast<std::int64_t>(n)) break;
  }
  return static_cast<std::int64_t>(n) >= kFewElements ? n : 0;
}

bool writes_records(const Kernel& k, const Nest& t, int arg, int vector) {
  std::vector<const Store*> stores;
  for (const bool in_reduction : {false, true}) {
    stores.clear();
    for (const Store& s : t.stores)
      if (s.in_reduction == in_reduction) stores.push_back(&s);
    for (std::span<const Store* const> rest = stores; !rest.empty(); rest = rest.subspan(1))
      if (rest[0]->arg == arg && written_record(k, rest, vector) > 0) return true;
  }
  return false;
}

bool is_worth_peeling(const Kernel& k, const Target& target, int dim, std::int64_t lanes) {
  const std::int64_t size = k.dag.dims[static_cast<std::size_t>(dim)];
  if (!can_peel(k, dim, lanes)) return false;
  if (lanes > 1 && size >= target.peeled_vectors * lanes) return true;
  if (lanes == 1 && runs_singly(k, dim)) return false;
  // In short loops borders between vectors are worth it, such as the middle of a row whose halves are joined, not those that cut vectors.
  // Where only a few iterations are beyond a border, code of their own would save little.
  const std::vector<Section> all = sections(k, dim, lanes);
  if (lanes > 1 && !std::all_of(all.begin(), all.end(), [](const Section& section) { return section.uniform; })) return false;
  std::size_t nodes = 0;
  for (const Section& s : all) nodes += nodes_of_section(k, dim, s.from);
  return nodes <= target.peeled_nodes &&
         std::all_of(all.begin(), all.end(), [&](const Section& s) { return (s.to - s.from) * target.peeled_share >= size; });
}

void choose_memory_steps(const Kernel& k, const Target& target, Schedule& s) {
  peel_borders(k, target, s);
  choose_accesses(k, target, s);
  prefetch_rows(k, target, s);
  prefetch_squares(k, target, s);
  choose_functions(k, target, s);
}

}  // namespace weft::detail
