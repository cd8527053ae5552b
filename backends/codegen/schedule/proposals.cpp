#include "weft/backends/codegen/schedule/proposals.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

constexpr double kNever = 1e30;

/// The schedules that the cost model chooses with changed numbers.
std::vector<Schedule> others(const Kernel& k, int vector_bytes) {
  std::vector<Schedule> all;
  const Target usual{.vector_bytes = vector_bytes};
  const auto add = [&](auto&& change, int bytes) {
    Target t = usual;
    t.vector_bytes = bytes;
    change(t);
    all.push_back(make_schedule(k, t));
  };
  const auto by_lengths = [&](auto&& change) {
    add(change, vector_bytes);
    if (vector_bytes > 16) add(change, vector_bytes / 2);
  };
  // Vectors of half the length (some processors run longer ones in two halves), and more or fewer of them side by side.
  by_lengths([](Target&) {});
  by_lengths([](Target& t) { t.light_work = t.some_work = 0; });
  by_lengths([](Target& t) { t.light_work = 0, t.some_work = kNever; });
  by_lengths([](Target& t) { t.light_work = t.some_work = kNever; });
  // Blocks.
  by_lengths([](Target& t) { t.block_cycles = 8192; });
  by_lengths([](Target& t) { t.enough_blocks = 32; });
  // Another loop by vectors.
  for (const int d : k.outer) all.push_back(make_schedule(k, usual, d));
  // How memory is read.
  add([](Target& t) { t.transposed_points = 0; }, vector_bytes);
  add([](Target& t) { t.transposed_points = kNever; }, vector_bytes);
  add([](Target& t) { t.shuffled_record = 1; }, vector_bytes);
  add([](Target& t) { t.shuffled_record = 16; }, vector_bytes);
  add([](Target& t) { t.beyond_caches = 0; }, vector_bytes);
  add([](Target& t) { t.column_bytes = 0; }, vector_bytes);
  add([](Target& t) { t.rows_ahead = 4; }, vector_bytes);
  // Instructions.
  add([](Target& t) { t.values_at_once = 0; }, vector_bytes);
  add([](Target& t) { t.values_at_once = 4; }, vector_bytes);
  add([](Target& t) { t.values_at_once = 16; }, vector_bytes);
  add([](Target& t) { t.peeled_vectors = std::int64_t{1} << 50; }, vector_bytes);
  // Rows side by side.
  add([](Target& t) { t.rows_together = 8; }, vector_bytes);
  add([](Target& t) { t.few_nodes = 0; }, vector_bytes);
  add([](Target& t) { t.few_nodes = 200; }, vector_bytes);
  return all;
}

/// The schedule with another unrolling of an outer loop, and blocks that fit it.
Schedule unrolled(const Kernel& k, Schedule s, std::size_t loop, int by) {
  LoopPlan& l = s.outer[loop];
  l.unroll = by;
  if (loop >= static_cast<std::size_t>(s.task_loops)) return s;
  const std::int64_t unit = std::int64_t{by} * (l.vector ? s.lanes : 1), size = k.dag.dims[static_cast<std::size_t>(l.dim)];
  std::int64_t &block = s.block[loop], &blocks = s.blocks[loop];
  const std::int64_t before = s.num_blocks;
  s.num_blocks /= blocks;
  block = (block + unit - 1) / unit * unit;
  blocks = (size + block - 1) / block;
  s.num_blocks *= blocks;
  if (s.grain > 0) s.grain = std::clamp<std::int64_t>(s.grain * s.num_blocks / before, 1, s.num_blocks);
  return s;
}

int vector_loop(const std::vector<LoopPlan>& loops) {
  for (const LoopPlan& l : loops)
    if (l.vector) return l.dim;
  return -1;
}

bool can_be_searched(const Kernel& k) {
  return k.row_partition.loop < 0 && k.sequential == 0 &&
         std::all_of(k.nests.begin(), k.nests.end(), [](const Nest& t) { return t.repeats.empty(); });
}

}  // namespace

bool same_bits(const Kernel& k, const Schedule& a, const Schedule& b) {
  if (a == b) return true;
  if (a.by_inverse != b.by_inverse || a.row_bits != b.row_bits || a.nests.size() != b.nests.size()) return false;
  // Mathematical functions have different formulas for different vector lengths and for scalars.
  const std::vector<char> live = live_nodes(k);
  bool has_functions = false;
  for (std::size_t n = 0; n < live.size(); ++n) has_functions |= live[n] && k.dag.nodes[n].kind == NodeKind::math;
  const auto same_vectors = [](const std::vector<LoopPlan>& m, const std::vector<LoopPlan>& n) { return vector_loop(m) == vector_loop(n); };
  if (has_functions && (a.lanes != b.lanes || a.vector_dim != b.vector_dim)) return false;
  for (std::size_t i = 0; i < k.nests.size(); ++i) {
    const Nest& t = k.nests[i];
    const NestSchedule &m = a.nests[i], &n = b.nests[i];
    if (has_functions && !(same_vectors(m.parallel, n.parallel) && same_vectors(m.reduce, n.reduce))) return false;
    if (t.reductions.empty()) continue;
    const auto order = [](const LoopPlan& l) { return std::tuple(l.dim, l.unroll, l.vector); };
    if (!std::equal(m.reduce.begin(), m.reduce.end(), n.reduce.begin(), n.reduce.end(),
                    [&](const LoopPlan& x, const LoopPlan& y) { return order(x) == order(y); }) ||
        m.by_rows != n.by_rows)
      return false;
    const bool is_running = std::any_of(t.reductions.begin(), t.reductions.end(), [](const Reduction& r) { return r.running; });
    if ((is_running || vector_loop(m.reduce) >= 0) && a.lanes != b.lanes) return false;
    if (is_running && (a.vector_dim != b.vector_dim || !(m == n))) return false;
  }
  return true;
}

std::vector<Schedule> proposed_schedules(const Kernel& k, const Schedule& usual, int vector_bytes, std::size_t most) {
  std::vector<Schedule> proposed;
  if (!can_be_searched(k)) return proposed;
  std::vector<Schedule> all = others(k, vector_bytes);
  // Rows side by side hide the latency of each step; the innermost loop that is not vectorised is tried first.
  std::vector<Schedule> rows;
  for (std::size_t i = usual.outer.size(); i-- > 0;)
    if (!usual.outer[i].vector && !contains(usual.record_dims, usual.outer[i].dim))
      for (const int by : {4, 2}) rows.push_back(unrolled(k, usual, i, by));
  all.insert(all.begin() + std::min<std::ptrdiff_t>(1, std::ssize(all)), rows.begin(), rows.end());
  for (Schedule& s : all) {
    if (proposed.size() >= most) break;
    if (s == usual || contains(proposed, s) || s.streamed != usual.streamed || !same_bits(k, usual, s)) continue;
    try {
      check_schedule(s, k, vector_bytes);
    } catch (const CompileError&) {
      continue;
    }
    proposed.push_back(std::move(s));
  }
  return proposed;
}

}  // namespace weft::detail
