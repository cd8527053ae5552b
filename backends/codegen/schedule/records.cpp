#include "weft/backends/codegen/schedule/records.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace weft::detail {
namespace {

constexpr int kMostCopies = 16;  // of the body of a nest whose records are joined

std::int64_t elements(const Kernel& k, const std::vector<int>& loops) {
  std::int64_t n = loops.empty() ? 0 : 1;
  for (int d : loops) n *= k.dag.dims[static_cast<std::size_t>(d)];
  return n;
}

bool can_unroll(const Kernel& k, int d) {
  return !(k.sequential >> d & 1) && std::none_of(k.limits.begin(), k.limits.end(), [&](const LoopLimit& l) { return l.outer == d; });
}

/// The longest record that lanes along the schedule's vector loop read or write whole in a nest.
std::vector<int> longest_record(const Kernel& k, const Nest& t, const std::vector<NodeId>& nodes, int vector) {
  std::vector<int> best;
  const auto look = [&](NodeId position, bool is_store) {
    std::int64_t along = 0;
    if (!k.dag.stride(position, vector, along) || (is_store && along < 0)) return;
    std::vector<int> loops = record_loops(k, t, position, vector, along);
    if (is_store && elements(k, loops) != along && loops.size() > 1) loops.resize(1);
    if (elements(k, loops) > elements(k, best)) best = std::move(loops);
  };
  if (t.parallel.empty())
    for (NodeId id : nodes)
      if (const Node& n = k.dag[id]; n.kind == NodeKind::load && n.operands[1] < 0) look(n.operands[0], false);
  for (const Store& s : t.stores)
    if (t.parallel.empty() || (s.guard < 0 && !k.args[static_cast<std::size_t>(s.arg)].scratch)) look(s.position, true);
  return best;
}

}  // namespace

std::vector<int> record_loops(const Kernel& k, const Nest& t, NodeId position, int vector, std::int64_t stride) {
  stride = std::abs(stride);
  if (stride < 2 || stride > kLongestRecord || !t.reduce.empty() || !t.repeats.empty() ||
      std::find(k.outer.begin(), k.outer.end(), vector) == k.outer.end() || (t.parallel.empty() && k.nests.size() != 1))
    return {};
  const std::vector<int>& candidates = t.parallel.empty() ? k.outer : t.parallel;
  std::vector<int> loops;
  for (std::int64_t next = 1; next < stride;) {
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](int d) {
      std::int64_t s = 0;
      const std::int64_t n = k.dag.dims[static_cast<std::size_t>(d)];
      if (d == vector || n < 2 || n * next > stride || !can_unroll(k, d) || !k.dag.stride(position, d, s)) return false;
      return s == next || (next == 1 && s == -1);
    });
    if (found == candidates.end()) break;
    std::int64_t s = 0;
    loops.push_back(*found), next *= k.dag.dims[static_cast<std::size_t>(*found)];
    if (k.dag.stride(position, *found, s) && s < 0) break;
  }
  return loops;
}

std::int64_t record_of(const Kernel& k, const Nest& t, NodeId position, int vector, std::int64_t stride) {
  return elements(k, record_loops(k, t, position, vector, stride));
}

void join_records(const Kernel& k, const std::vector<std::vector<NodeId>>& nodes, std::size_t most_nodes, Schedule& schedule) {
  if (schedule.vector_dim < 0) return;
  const auto size = [&](int d) { return static_cast<int>(k.dag.dims[static_cast<std::size_t>(d)]); };
  for (std::size_t i = 0; i < k.nests.size(); ++i) {
    const std::vector<int> record = longest_record(k, k.nests[i], nodes[i], schedule.vector_dim);
    const auto n = static_cast<int>(elements(k, record));
    if (n == 0 || nodes[i].size() * static_cast<std::size_t>(n) > most_nodes) continue;
    LoopPlan lanes = schedule.outer.back();
    schedule.record_dims.insert(schedule.record_dims.end(), record.begin(), record.end());
    if (!k.nests[i].parallel.empty()) {
      for (LoopPlan& l : schedule.nests[i].parallel)
        if (contains(record, l.dim)) l.unroll = size(l.dim);
      schedule.outer.back().unroll = std::clamp(kMostCopies / n, 1, lanes.unroll);
      continue;
    }
    lanes.unroll = std::max(1, lanes.unroll / n);
    std::vector<LoopPlan> loops;
    for (const LoopPlan& l : schedule.outer)
      if (!contains(record, l.dim) && !l.vector) loops.push_back(l);
    for (auto d = record.rbegin(); d != record.rend(); ++d) loops.push_back({*d, size(*d), false});
    loops.push_back(lanes);
    schedule.outer = std::move(loops);
  }
  schedule.flat_records = can_flatten_records(k, schedule);
}

bool can_flatten_records(const Kernel& k, const Schedule& s) {
  if (s.record_dims.empty() || s.vector_dim < 0 || k.nests.size() != 1 || k.row_partition.loop >= 0) return false;
  const Nest& t = k.nests[0];
  if (!t.parallel.empty() || !t.reduce.empty() || !t.reductions.empty() || !t.repeats.empty()) return false;
  const std::uint64_t vector = std::uint64_t{1} << s.vector_dim;
  std::uint64_t record = 0;
  for (int d : s.record_dims) record |= std::uint64_t{1} << d;
  const auto is_of_elements = [&](NodeId n) { return (k.dag[n].dims & vector) != 0 && (k.dag[n].dims & record) != 0; };
  const auto is_in_order = [&](NodeId position) {
    std::int64_t stride = 0, next = 1;
    for (int d : s.record_dims) {
      if (!k.dag.stride(position, d, stride) || stride != next) return false;
      next *= k.dag.dims[static_cast<std::size_t>(d)];
    }
    return k.dag.stride(position, s.vector_dim, stride) && stride == next && next <= kLongestRecord;
  };
  const auto is_value = [&](NodeId n) {
    const NodeKind kind = k.dag[n].kind;
    return !is_of_elements(n) || kind == NodeKind::op || kind == NodeKind::math || kind == NodeKind::load;
  };
  const std::vector<char> live = live_nodes(k);
  for (std::size_t i = 0; i < live.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& n = k.dag[id];
    if (!live[i] || !is_of_elements(id)) continue;
    // A value is computed once for each copy of its own loops, of which there are fewer than vectors of a record if it lacks one.
    if ((n.dims & record) != record) return false;
    if (n.kind == NodeKind::load && (n.operands[1] >= 0 || !is_in_order(n.operands[0]))) return false;
    if (n.kind == NodeKind::op || n.kind == NodeKind::math)
      for (NodeId o : n.operands)
        if (o >= 0 && !is_value(o)) return false;
  }
  return std::all_of(t.stores.begin(), t.stores.end(), [&](const Store& store) {
    return store.guard < 0 && !k.args[static_cast<std::size_t>(store.arg)].scratch && is_in_order(store.position) && is_value(store.value);
  });
}

}  // namespace weft::detail
