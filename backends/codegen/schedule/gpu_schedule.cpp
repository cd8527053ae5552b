#include "weft/backends/codegen/schedule/gpu_schedule.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "weft/core/base/environment.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kManyPoints = 1 << 15;     // this many threads keep a device busy
constexpr std::int64_t kFewPoints = 512;          // this few teams do not
constexpr std::int64_t kManyColumns = 1 << 13;    // fewer leave multiprocessors with one block, which should then be large
constexpr std::int64_t kManySteps = 1 << 11;      // of a sum along columns
constexpr std::int64_t kSharedBytes = 40 * 1024;  // scratch in a block's shared memory, besides the memory of reductions
constexpr std::int64_t kShortSum = 128;           // steps of a sum that one thread computes
constexpr std::int64_t kLocalBytes = 512;         // of scratch in a thread's own memory
constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kFarBytes = 32;  // between elements of different pieces of memory that is read at once

class GpuScheduler {
 public:
  GpuScheduler(const Kernel& k, bool aligned, bool common_scratch) : k_(k), live_(live_nodes(k)), aligned_(aligned) {
    s_.common_scratch = common_scratch;
    for (const KernelArg& a : k.args)
      if (a.scratch) scratch_ += (a.elements * a.dtype.itemsize() + 15) / 16 * 16;
  }

  GpuSchedule run() {
    s_.nests.resize(k_.nests.size());
    s_.points = k_.outer;
    s_.scratch = scratch_;
    if (s_.common_scratch) s_.workspace = true, scratch_ = 0;
    if (k_.nests.size() == 1 && scratch_ == 0)
      single();
    else
      several();
    s_.teams = s_.transposed_loads.empty() ? size(s_.points) / s_.lanes : tiles();
    return std::move(s_);
  }

 private:
  std::int64_t size(int d) const { return k_.dag.dims[static_cast<std::size_t>(d)]; }
  std::int64_t size(const std::vector<int>& dims) const {
    std::int64_t n = 1;
    for (int d : dims) n *= size(d);
    return n;
  }
  static bool running(const Nest& t) {
    return std::any_of(t.reductions.begin(), t.reductions.end(), [](const Reduction& r) { return r.running; });
  }
  bool in_order(const Nest& t) const {
    return std::any_of(t.parallel.begin(), t.parallel.end(), [&](int d) { return k_.sequential >> d & 1; });
  }

  /// WEFT_CUDA_DETERMINISTIC: sums and products do not depend on the order in which threads come.
  static bool deterministic() { return is_switched_on("WEFT_CUDA_DETERMINISTIC"); }
  bool rounds(const Nest& t) const {
    return std::any_of(t.stores.begin(), t.stores.end(), [&](const Store& s) {
      ScalarOp op = ScalarOp::add;
      return atomic_operand(k_, s, op) >= 0 && (op == ScalarOp::add || op == ScalarOp::mul) &&
             k_.args[static_cast<std::size_t>(s.arg)].dtype.is_floating();
    });
  }

  /// Whether iterations of a loop never write the same element, whatever the other loops and the indices are: what is left of the position
  /// is made of whole multiples of the loop's extent, and of parts that are smaller than its stride.
  bool keeps_apart(const Nest& t, int dim) const {
    if (k_.sequential >> dim & 1 || !t.reductions.empty() || !t.repeats.empty()) return false;
    return std::all_of(t.stores.begin(), t.stores.end(), [&](const Store& s) {
      const Affine& a = k_.dag.affine(s.position);
      std::int64_t stride = 0, below = 0;
      for (const AffineTerm& x : a.terms)
        if (x.atom == dim) stride = x.coef;
      if (stride <= 0) return false;
      for (const AffineTerm& x : a.terms) {
        if (x.atom == dim || x.coef % (stride * size(dim)) == 0) continue;
        if (x.atom < 0) return false;
        below += std::abs(x.coef) * (size(x.atom) - 1);
      }
      return below < stride;
    });
  }

  /// Bytes accessed with unit stride along the loop. What is the same in all steps of the reducing loops is accessed once.
  double contiguous(int dim) const {
    double bytes = 0;
    std::uint64_t reducing = 0;
    for (int d : k_.nests[0].reduce) reducing |= std::uint64_t{1} << d;
    const auto steps = static_cast<double>(size(k_.nests[0].reduce));
    const auto look = [&](NodeId position, int arg, double weight) {
      if (!(k_.dag[position].dims & reducing)) weight /= steps;
      std::int64_t s = 0;
      if (k_.dag.stride(position, dim, s) && s != 0 && std::abs(s) <= 2)
        bytes += weight * k_.args[static_cast<std::size_t>(arg)].dtype.itemsize() / static_cast<double>(std::abs(s));
    };
    for (std::size_t n = 0; n < k_.dag.nodes.size(); ++n)
      if (live_[n] && k_.dag.nodes[n].kind == NodeKind::load)
        look(k_.dag.nodes[n].operands[0], static_cast<int>(k_.dag.nodes[n].integer), 1);
    for (const Nest& t : k_.nests)
      for (const Store& s : t.stores) look(s.position, s.arg, 1.5);
    return bytes;
  }

  /// The loop with most contiguous accesses becomes the fastest.
  void sort_points() {
    if (s_.points.size() < 2) return;
    std::size_t best = s_.points.size() - 1;
    double most = contiguous(s_.points[best]);
    for (std::size_t i = s_.points.size() - 1; i-- > 0;)
      if (const double c = contiguous(s_.points[i]); c > most && size(s_.points[i]) >= 16) most = c, best = i;
    std::rotate(s_.points.begin() + static_cast<std::ptrdiff_t>(best), s_.points.begin() + static_cast<std::ptrdiff_t>(best) + 1,
                s_.points.end());
  }

  /// One nest and no scratch: its parallel loops are points as well.
  void single() {
    const Nest& t = k_.nests[0];
    GpuNestSchedule& nest = s_.nests[0];
    if (in_order(t)) {
      if (combines_atomically(k_) && !(deterministic() && rounds(t))) {
        s_.atomic = true;
        s_.points.insert(s_.points.end(), t.parallel.begin(), t.parallel.end());
        sort_points();
        return;
      }
      for (int d : t.parallel) (keeps_apart(t, d) ? s_.points : nest.in_order).push_back(d);
      sort_points();
      s_.threads = size(s_.points) < kFewPoints * 64 ? 64 : 256;
      return;
    }
    // Loops with a limit run within the point that sets it.
    s_.points.insert(s_.points.end(), t.parallel.begin(), t.parallel.end());
    const std::int64_t points = size(s_.points), steps = size(t.reduce);
    if (t.reduce.empty() && tile()) return;
    sort_points();
    if (t.reduce.empty()) {
      choose_lanes();
      return;
    }
    const bool along_steps = !s_.points.empty() && contiguous(t.reduce.back()) > contiguous(s_.points.back());
    if (steps < 32 || (points >= kManyPoints && !along_steps)) return;
    if (running(t)) {
      if (points >= kManyPoints / 4 && !along_steps) return;
      across(steps);
      return;
    }
    if (!s_.points.empty() && !along_steps && size(s_.points.back()) >= 32) {
      // A block takes 32 neighbouring points; its warps share the steps.
      s_.columns = true;
      s_.threads = steps >= kManySteps && points < kManyColumns ? 1024 : steps >= 256 ? 512 : 256;
      s_.team = s_.threads / 32;
      nest.reduces_across = true;
      return;
    }
    across(steps);
  }

  /// The loads that are contiguous along `down` while the last loop strides through memory.
  std::vector<NodeId> transposed_loads(int down) const {
    std::vector<NodeId> loads;
    for (std::size_t n = 0; n < k_.dag.nodes.size(); ++n) {
      const Node& node = k_.dag.nodes[n];
      if (!live_[n] || node.kind != NodeKind::load || node.operands[1] >= 0 || k_.args[static_cast<std::size_t>(node.integer)].written)
        continue;
      std::int64_t along = 0, apart = 0;
      if (!k_.dag.stride(node.operands[0], down, along) || along != 1 || !k_.dag.stride(node.operands[0], s_.points.back(), apart))
        continue;
      if (std::abs(apart) * node.dtype.itemsize() >= kFarBytes) loads.push_back(static_cast<NodeId>(n));
    }
    return loads;
  }

  /// Transposes, which read along one loop and write along another: uses tiles in shared memory.
  bool tile() {
    const Nest& t = k_.nests[0];
    if (s_.points.size() < 2 || !t.reductions.empty() || !t.repeats.empty() || size(s_.points) < kManyPoints / 2) return false;
    const auto written_along = [&](int dim) {
      return size(dim) >= GpuSchedule::kTile / 2 && std::all_of(t.stores.begin(), t.stores.end(), [&](const Store& s) {
               std::int64_t stride = 0;
               return k_.dag.stride(s.position, dim, stride) && stride == 1;
             });
    };
    const auto across = std::find_if(s_.points.begin(), s_.points.end(), written_along);
    if (across == s_.points.end()) return false;
    const std::vector<int> given = s_.points;
    std::rotate(across, across + 1, s_.points.end());
    std::size_t best = 0;
    for (std::size_t i = 0; i + 1 < s_.points.size(); ++i) {
      if (size(s_.points[i]) < GpuSchedule::kTile / 2) continue;
      std::vector<NodeId> loads = transposed_loads(s_.points[i]);
      if (loads.size() > s_.transposed_loads.size()) s_.transposed_loads = std::move(loads), best = i;
    }
    std::int64_t bytes = 0;
    for (NodeId n : s_.transposed_loads) bytes += GpuSchedule::kTile * (GpuSchedule::kTile + 1) * k_.dag[n].dtype.itemsize();
    if (s_.transposed_loads.empty() || bytes > kSharedBytes) {
      s_.transposed_loads.clear(), s_.points = given;
      return false;
    }
    const auto at = s_.points.begin() + static_cast<std::ptrdiff_t>(best);
    std::rotate(at, at + 1, s_.points.end() - 1);
    s_.threads = s_.team = 256;
    return true;
  }
  std::int64_t tiles() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < s_.points.size(); ++i)
      n *= i + 2 < s_.points.size() ? size(s_.points[i]) : (size(s_.points[i]) + GpuSchedule::kTile - 1) / GpuSchedule::kTile;
    return n;
  }

  void across(std::int64_t steps) {
    const Nest& t = k_.nests[0];
    s_.nests[0].reduces_across = true;
    const int lanes = running(t) ? 1 : lanes_along(t, k_, t.reduce);
    team_for(steps / lanes, size(s_.points));
    s_.nests[0].lanes = fitting(lanes, steps);
  }

  /// As many lanes as leave each thread of a team something to do.
  int fitting(int lanes, std::int64_t steps) const {
    while (lanes > 1 && steps / lanes < s_.team) lanes /= 2;
    return lanes;
  }

  /// The lanes of vectors along the last of these loops, which a team's threads share: all that is accessed along it is side by side and
  /// aligned. `k`: the kernel with this nest alone.
  int lanes_along(const Nest& t, const Kernel& k, const std::vector<int>& dims) const {
    if (dims.empty() || !aligned_ || !t.repeats.empty()) return 1;
    for (const Reduction& r : t.reductions)
      if (r.running || r.kind != Reduction::Kind::reduce) return 1;
    for (int d : dims)
      if (k.limits[static_cast<std::size_t>(d)].outer >= 0 || k.sequential >> d & 1) return 1;
    const int dim = dims.back();
    struct Access {
      NodeId position, guard;
      int arg;
    };
    std::vector<Access> accesses;
    for (const Store& s : t.stores) {
      if (s.in_reduction) return 1;
      accesses.push_back({s.position, s.guard, s.arg});
    }
    const std::vector<char> live = live_nodes(k);
    int work = 0;
    for (std::size_t n = 0; n < k.dag.nodes.size(); ++n) {
      if (!live[n]) continue;
      const Node& node = k.dag.nodes[n];
      work += node.kind == NodeKind::math ? 20 : 1;
      if (node.kind == NodeKind::load) accesses.push_back({node.operands[0], node.operands[1], static_cast<int>(node.integer)});
    }
    const auto varies = [&](NodeId n) { return n >= 0 && (k.dag[n].dims >> dim & 1); };
    std::int64_t lanes = work > 400 ? 2 : 8;
    bool any = false;
    for (const Access& a : accesses) {
      if (varies(a.guard)) return 1;
      if (!varies(a.position)) continue;
      const KernelArg& arg = k.args[static_cast<std::size_t>(a.arg)];
      std::int64_t stride = 0;
      if (!k.dag.stride(a.position, dim, stride) || stride != 1) return 1;
      lanes = std::min(lanes, kVectorBytes / arg.dtype.itemsize());
      const Affine& f = k.dag.affine(a.position);
      const auto fits = [&](std::int64_t n) { return n % lanes == 0; };
      while (lanes > 1 &&
             !(fits(size(dim)) && fits(f.constant) && (!arg.scratch || fits(arg.elements)) &&
               std::all_of(f.terms.begin(), f.terms.end(), [&](const AffineTerm& x) { return x.atom == dim || fits(x.coef); })))
        lanes /= 2;
      any = true;
    }
    return any ? static_cast<int>(std::max<std::int64_t>(lanes, 1)) : 1;
  }

  void team_for(std::int64_t steps, std::int64_t points) {
    if (steps <= 256 || (steps <= 1024 && points >= kFewPoints * 8)) {
      s_.team = 32;
      s_.threads = points >= kFewPoints * 4 ? 128 : 32;
      return;
    }
    s_.team = 128;
    while (s_.team < 1024 && s_.team * 8 <= steps) s_.team *= 2;
    if (points >= kFewPoints) s_.team = std::min(s_.team, 512);
    s_.threads = s_.team;
  }

  /// Several nests at each point.
  void several() {
    const std::int64_t points = size(s_.points);
    // A team of one warp takes the loops over points in nests whose sums are short; barriers of a block would cost more than they save.
    std::int64_t most = 1, wide = 1;
    for (const Nest& t : k_.nests) {
      most = std::max(most, size(t.parallel) * size(t.reduce));
      wide = std::max(wide, size(t.parallel) >= 32 && size(t.reduce) <= kShortSum ? size(t.parallel) : size(t.parallel) * size(t.reduce));
    }
    const bool alone = (most <= 16 || (most <= 64 && points >= kManyPoints)) && scratch_ <= kLocalBytes;
    if (!alone) {
      team_for(wide, points);
      std::int64_t blocks_scratch = scratch_ * (s_.threads / s_.team);
      if (blocks_scratch > kSharedBytes) {
        s_.threads = std::max(s_.team, 32);
        blocks_scratch = scratch_;
      }
      s_.workspace = blocks_scratch > kSharedBytes;
    }
    for (std::size_t n = 0; n < k_.nests.size(); ++n) {
      const Nest& t = k_.nests[n];
      GpuNestSchedule& nest = s_.nests[n];
      if (alone) {
        nest.in_order = t.parallel;
        continue;
      }
      for (int d : t.parallel) (k_.sequential >> d & 1 ? nest.in_order : nest.distributed).push_back(d);
      if (t.reduce.empty() && t.reductions.empty()) continue;
      const std::int64_t distributed = size(nest.distributed), steps = size(t.reduce);
      if (t.reduce.empty() || (distributed >= s_.team / 2 && distributed > 1) || distributed >= steps) {
        if (distributed > 1 || t.reduce.empty()) continue;
      }
      nest.in_order.insert(nest.in_order.end(), nest.distributed.begin(), nest.distributed.end());
      nest.distributed.clear();
      nest.reduces_across = true;
    }
    for (std::size_t n = 0; n < k_.nests.size() && !alone; ++n) {
      const Nest& t = k_.nests[n];
      GpuNestSchedule& nest = s_.nests[n];
      const bool only_writes = t.reduce.empty() && t.reductions.empty();
      if (nest.reduces_across ? t.reduce.empty() : !only_writes) continue;
      Kernel one = k_;
      one.nests = {t};
      const std::vector<int>& dims = nest.reduces_across ? t.reduce : nest.distributed;
      nest.lanes = fitting(lanes_along(t, one, dims), size(dims));
    }
  }

  /// Vectors along the fastest loop, where all stores are contiguous and aligned.
  void choose_lanes() {
    if (s_.points.empty() || !aligned_) return;
    const int dim = s_.points.back();
    const Nest& t = k_.nests[0];
    if (t.stores.empty() || !t.reductions.empty() || !t.repeats.empty()) return;
    std::int64_t bytes = 1;
    for (const Store& s : t.stores) {
      bytes = std::max<std::int64_t>(bytes, k_.args[static_cast<std::size_t>(s.arg)].dtype.itemsize());
      std::int64_t stride = 0;
      if (s.guard >= 0 || !k_.dag.stride(s.position, dim, stride) || stride != 1) return;
    }
    int work = 0;
    for (std::size_t n = 0; n < k_.dag.nodes.size(); ++n) {
      if (!live_[n]) continue;
      const Node& node = k_.dag.nodes[n];
      if (node.kind == NodeKind::load) bytes = std::max<std::int64_t>(bytes, node.dtype.itemsize());
      if (node.kind == NodeKind::math) work += 20;
      ++work;
    }
    std::int64_t lanes = std::min<std::int64_t>(kVectorBytes / bytes, work > 400 ? 2 : 8);
    while (lanes > 1 && (size(dim) % lanes != 0 || size(s_.points) / lanes < kManyPoints || !aligned(t, dim, lanes))) lanes /= 2;
    s_.lanes = static_cast<int>(lanes);
  }
  bool aligned(const Nest& t, int dim, std::int64_t lanes) const {
    return std::all_of(t.stores.begin(), t.stores.end(), [&](const Store& s) {
      const Affine& a = k_.dag.affine(s.position);
      return a.constant % lanes == 0 &&
             std::all_of(a.terms.begin(), a.terms.end(), [&](const AffineTerm& x) { return x.atom == dim || x.coef % lanes == 0; });
    });
  }

  const Kernel& k_;
  const std::vector<char> live_;
  const bool aligned_;
  std::int64_t scratch_ = 0;
  GpuSchedule s_;
};

/// Whether a later nest uses what an earlier one left in a local.
bool shares_locals(const Kernel& k) {
  if (std::any_of(k.nests.begin(), k.nests.end(), [](const Nest& t) { return !t.repeats.empty(); })) return true;
  std::vector<int> nest_of(k.locals.size(), -1);
  for (std::size_t n = 0; n < k.nests.size(); ++n)
    for (const Reduction& r : k.nests[n].reductions) {
      nest_of[static_cast<std::size_t>(r.local)] = static_cast<int>(n);
      if (r.kind != Reduction::Kind::reduce) nest_of[static_cast<std::size_t>(r.local) + 1] = static_cast<int>(n);
    }
  for (std::size_t n = 0; n < k.nests.size(); ++n) {
    Kernel one = k;
    one.nests = {k.nests[n]};
    const std::vector<char> live = live_nodes(one);
    for (std::size_t i = 0; i < live.size(); ++i)
      if (live[i] && k.dag.nodes[i].kind == NodeKind::local && nest_of[static_cast<std::size_t>(k.dag.nodes[i].integer)] >= 0 &&
          nest_of[static_cast<std::size_t>(k.dag.nodes[i].integer)] != static_cast<int>(n))
        return true;
  }
  return false;
}

}  // namespace

NodeId atomic_operand(const Kernel& k, const Store& s, ScalarOp& op) {
  const DType stored = k.args[static_cast<std::size_t>(s.arg)].dtype;
  const bool small = stored == float16 || stored == bfloat16;
  // Small floats are converted, combined, and converted back.
  const auto widened = [&](NodeId n, DType from, DType to) {
    const Node& c = k.dag[n];
    return c.kind == NodeKind::op && c.op == ScalarOp::convert && c.dtype == to && k.dag[c.operands[0]].dtype == from ? c.operands[0] : -1;
  };
  const NodeId combined = small ? widened(s.value, float32, stored) : s.value;
  if (combined < 0) return -1;
  const Node& v = k.dag[combined];
  if (v.kind != NodeKind::op) return -1;
  switch (v.op) {
    case ScalarOp::add:
    case ScalarOp::mul:
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::bit_and:
    case ScalarOp::bit_or: break;
    default: return -1;
  }
  for (int i = 0; i < 2; ++i) {
    const NodeId read = small ? widened(v.operands[static_cast<std::size_t>(i)], stored, float32) : v.operands[static_cast<std::size_t>(i)];
    if (read < 0) continue;
    const Node& old = k.dag[read];
    if (old.kind != NodeKind::load || old.integer != s.arg || old.operands[0] != s.position) continue;
    op = v.op;
    return v.operands[static_cast<std::size_t>(1 - i)];
  }
  return -1;
}

bool combines_atomically(const Kernel& k) {
  // The combined value must not depend on the memory that is updated.
  std::vector<char> written(k.args.size());
  Kernel operands = k;
  for (Nest& t : operands.nests) {
    if (!t.reductions.empty() || !t.repeats.empty()) return false;
    for (Store& s : t.stores) {
      ScalarOp op;
      const NodeId v = atomic_operand(k, s, op);
      if (v < 0) return false;
      written[static_cast<std::size_t>(s.arg)] = 1;
      s.value = v;
    }
  }
  const std::vector<char> live = live_nodes(operands);
  for (std::size_t n = 0; n < live.size(); ++n)
    if (live[n] && k.dag.nodes[n].kind == NodeKind::load && written[static_cast<std::size_t>(k.dag.nodes[n].integer)]) return false;
  return true;
}

std::vector<GpuLaunch> gpu_launches(const Kernel& k, bool aligned) {
  const auto size = [&](const std::vector<int>& dims) {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1},
                           [&](std::int64_t n, int d) { return n * k.dag.dims[static_cast<std::size_t>(d)]; });
  };
  bool large = false;
  for (const Nest& t : k.nests) large |= size(t.parallel) * size(t.reduce) > 4096;
  const bool scratch = std::any_of(k.args.begin(), k.args.end(), [](const KernelArg& a) { return a.scratch; });
  std::vector<GpuLaunch> out;
  const bool common_scratch = scratch && size(k.outer) == 1;
  const bool apart = k.nests.size() > 1 && large && (!scratch || common_scratch) && size(k.outer) < kFewPoints && !shares_locals(k);
  if (apart) {
    for (const Nest& t : k.nests) {
      GpuLaunch one{k, {}};
      one.kernel.nests = {t};
      if (k.nests.size() > 1) one.kernel.name += "_" + std::to_string(out.size());
      out.push_back(std::move(one));
    }
  } else {
    out.push_back({k, {}});
  }
  for (GpuLaunch& l : out) l.schedule = GpuScheduler(l.kernel, aligned, apart && common_scratch).run();
  return out;
}

}  // namespace weft::detail
