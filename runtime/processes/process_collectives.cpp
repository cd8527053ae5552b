#include "weft/runtime/processes/process_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/base/hash.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/reduce.h"
#include "weft/runtime/host/thread_pool.h"
#include "weft/runtime/processes/collective_thread.h"
#include "weft/runtime/processes/process_parts.h"
#include "weft/runtime/processes/process_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kSmallSum = 32 << 10;         // up to this many bytes, every process receives all parts and reduces them itself
constexpr std::int64_t kShort = 512;                 // up to this many bytes, a message that arrives before its receive is posted is cheap
constexpr std::int64_t kReductionChunk = 256 << 10;  // bytes that one task reduces
constexpr std::int64_t kAlignment = 64;              // of a process's share of a reduction

Ref<Buffer> new_buffer(std::int64_t bytes, int device) { return Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(bytes), device)); }
char* address(const Ref<Buffer>& b) { return static_cast<char*>(b->data()); }

/// Reduces arrays of n elements, by several threads if they are long.
void reduce_all(const ArrayReduction& r, std::int64_t n) {
  const std::int64_t chunk = kReductionChunk / r.dtype.itemsize(), chunks = (n + chunk - 1) / chunk;
  const auto one = [&](std::int64_t i) { r.run(i * chunk, std::min(n, (i + 1) * chunk)); };
  if (chunks > 1)
    parallel_for(chunks, one);
  else if (chunks == 1)
    one(0);
}

class ProcessCollective final : public ReadyCollective {
 public:
  ProcessCollective(const CollectivePlan& plan, std::span<const int> device_ids, std::span<const std::int64_t> mesh_shape)
      : plan_(plan),
        world_(*process_world()),
        common_(groups_of_processes(plan.groups, device_ids, mesh_shape, world_)),
        groups_(common_->mine),
        short_sums_(groups_.size()) {
    int num_joint = 0;
    bool one_part_each = true;
    for (const SharedGroup& g : groups_)
      if (g.channel) ++num_joint, one_part_each &= g.steps > 0;
    parts_.resize(groups_.size());
    totals_.resize(groups_.size());
    own_.resize(groups_.size());
    other_.resize(groups_.size());
    label_.text = fmt::format("{} over `{}` of {}", plan.operation, fmt::join(plan.axes, "`, `"), to_string(plan.in));
    label_.loc = plan.loc;
    std::string all_of_it =
        fmt::format("{} {} {} {} {}", label_.text, to_string(plan.out), plan.parts.dim, plan.parts.concat_dim, plan.parts.source);
    for (const auto& [from, to] : plan.parts.perm) all_of_it += fmt::format(" {}>{}", from, to);
    label_.signature = fnv_with(fnv_of(all_of_it, common_->signature), plan.program);
    sums_ = plan.exchange == Exchange::allreduce;
    out_bytes_ = plan.out.bytes();
    is_large_ = plan.in.bytes() > kSmallSum || out_bytes_ > kSmallSum;
    if (sums_ && plan.in.bytes() <= kSmallSum)
      for (std::size_t k = 0; k < groups_.size(); ++k) short_sums_[k] = short_sum(groups_[k], plan);
    joins_ = !(sums_ && num_joint == 1 && one_part_each);
  }

  void run(std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) override {
    CollectiveCall call(world_, *common_->everyone, label_, common_->layouts);
    if (joins_) call.join_messages();
    taken_ = 0;
    sent_ = 0;
    if (sums_ || plan_.exchange == Exchange::reduce_scatter)
      for (std::size_t i = 0; i < groups_.size(); ++i)
        if (short_sums_[i].leaf < 0) local_parts(groups_[i], in, parts_[i]);
    if (sums_) {
      sum(call, in, out);
    } else {
      switch (plan_.exchange) {
        case Exchange::reduce_scatter: scatter(call, in, out, parts_); break;
        case Exchange::allgather: gather(call, in, out); break;
        case Exchange::alltoall: exchange(call, in, out); break;
        case Exchange::permute: permute(call, in, out); break;
        case Exchange::broadcast: broadcast(call, in, out); break;
        default: throw Error("internal error: not a join");
      }
    }
    for (std::vector<Ref<Buffer>>& p : parts_) std::fill(p.begin(), p.end(), Ref<Buffer>());
    if (is_large_) kept_.clear();
    count_collective_in_turn(sent_);
  }

  std::unique_ptr<StartedCollective> start(std::span<const Ref<Buffer>> in) override { return std::make_unique<Started>(*this, in); }

 private:
  class Started final : public StartedCollective {
   public:
    Started(ProcessCollective& what, std::span<const Ref<Buffer>> in)
        : in_(in.begin(), in.end()), out_(in.size()), queued_([this, &what] { what.run(in_, out_); }) {}
    void wait(std::span<Ref<Buffer>> out) override {
      queued_.wait();
      std::move(out_.begin(), out_.end(), out.begin());
    }

   private:
    std::vector<Ref<Buffer>> in_, out_;
    QueuedCollective queued_;  // its end comes before that of the memory
  };

  int device_of(const SharedGroup& g, int index) const { return common_->device_ids[at(g, index)]; }
  static std::size_t at(const SharedGroup& g, int index) { return static_cast<std::size_t>(g.positions[static_cast<std::size_t>(index)]); }
  bool is_mine(const SharedGroup& g, int index) const { return g.owners[static_cast<std::size_t>(index)] == world_.rank(); }

  void send(CollectiveCall& call, const SharedGroup& g, int to, const void* data, std::int64_t bytes) {
    call.send(*g.channel, to, data, bytes);
    sent_ += bytes;
  }
  /// Memory of this call. That of small collectives is kept for the next one.
  const Ref<Buffer>& scratch(std::int64_t bytes, int device) {
    if (taken_ == kept_.size()) kept_.emplace_back();
    Ref<Buffer>& b = kept_[taken_++];
    if (!b || b->bytes() != static_cast<std::size_t>(bytes)) b = new_buffer(bytes, device);
    return b;
  }
  void wait(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<const Ref<Buffer>> out) { call.wait({in, out, kept_}); }
  static void give_to_mine(const SharedGroup& g, Ref<Buffer> value, std::span<Ref<Buffer>> out) {
    for (std::size_t i = 1; i < g.mine.size(); ++i) out[at(g, g.mine[i])] = value;
    out[at(g, g.mine[0])] = std::move(value);
  }

  /// The parts of the reduction that this process computes; null for those of other processes.
  void local_parts(const SharedGroup& g, std::span<const Ref<Buffer>> in, std::vector<Ref<Buffer>>& parts) {
    const DType to = g.part_dtype(plan_.in.dtype);
    parts.resize(g.reduction.parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const PartialReduction& p = g.reduction.parts[k];
      if (p.owner != world_.rank()) continue;
      if (p.end - p.begin == 1 && to == plan_.in.dtype) {
        parts[k] = in[at(g, p.begin)];
        continue;
      }
      std::vector<const void*> sources;
      for (int i = p.begin; i < p.end; ++i) sources.push_back(in[at(g, i)]->data());
      const std::int64_t bytes = plan_.in.size() * to.itemsize();
      parts[k] = g.ranks.size() == 1 ? new_buffer(bytes, g.device) : scratch(bytes, g.device);  // alone, it is the result
      reduce_all({plan_.combiner, plan_.in.dtype, balanced_order(p.end - p.begin), sources, plan_.in.dtype, parts[k]->data(), to},
                 plan_.in.size());
    }
  }

  void sum(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) {
    bool small = false, large = false, direct = false;
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      if (g.ranks.size() == 1 && g.part_dtype(plan_.in.dtype) == plan_.in.dtype) {
        totals_[k] = parts_[k][0];
        continue;
      }
      const bool doubling = !short_sums_[k].doubling.empty();
      if (!doubling) totals_[k] = new_buffer(plan_.in.bytes(), g.device);
      (doubling ? small : g.steps > 0 ? large : direct) = true;
    }
    if (small) sum_by_doubling(call, in, out, totals_, parts_);
    if (large) sum_by_halving(call, in, totals_, parts_);
    if (direct) sum_directly(call, in, totals_, parts_);
    for (std::size_t k = 0; k < groups_.size(); ++k) give_to_mine(groups_[k], std::move(totals_[k]), out);
  }

  int max_steps() const {
    return std::max_element(groups_.begin(), groups_.end(), [](const SharedGroup& a, const SharedGroup& b) { return a.steps < b.steps; })
        ->steps;
  }
  /// The operands of this process and its partner, in the order of the tree.
  static std::array<const void*, 2> in_order(const SharedGroup& g, int step, const void* own, const void* other) {
    if (g.my_part >> step & 1) return {other, own};
    return {own, other};
  }
  const ReductionOrder& two() const {
    static const auto& order = process_wide<ReductionOrder>(balanced_order(2));
    return order;
  }

  // All-reduce by recursive doubling, from the leaves of the balanced tree up: in each step a process exchanges the sum of its subtree with
  // a process of the sibling subtree. Short messages are sent first, so that the rest of the work overlaps with them.
  void sum_by_doubling(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out, std::vector<Ref<Buffer>>& totals,
                       std::vector<std::vector<Ref<Buffer>>>& parts) {
    // Plain pointers, since counting references would take longer than the rest of a short sum; `in`, `totals` and `kept_` own the memory.
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      const ShortSum& s = short_sums_[k];
      if (!s.doubling.empty()) own_[k] = address(s.leaf < 0 ? parts[k][static_cast<std::size_t>(g.my_part)] : in[at(g, s.leaf)]);
    }
    for (int i = 0, n = max_steps(); i < n; ++i) {
      const auto step = static_cast<std::size_t>(i);
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        const SharedGroup& g = groups_[k];
        const std::vector<SumStep>& doubling = short_sums_[k].doubling;
        if (step >= doubling.size()) continue;
        const SumStep& s = doubling[step];
        other_[k] = address(scratch(s.bytes, g.device));
        if (!joins_ && s.bytes <= kShort) {
          call.exchange(*g.channel, s.peer, s.place, own_[k], other_[k], s.bytes);
          sent_ += s.bytes;
        } else {
          call.receive(*g.channel, s.peer, other_[k], s.bytes);
          send(call, g, s.peer, own_[k], s.bytes);
        }
        if (step + 1 == doubling.size()) totals[k] = result_of(g, out);  // while the message is under way
      }
      wait(call, in, totals);
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        const SharedGroup& g = groups_[k];
        const std::vector<SumStep>& doubling = short_sums_[k].doubling;
        if (step >= doubling.size()) continue;
        const SumStep& s = doubling[step];
        char* const sum = address(step + 1 == doubling.size() ? totals[k] : scratch(s.sum_bytes, g.device));
        if (s.combine) {
          s.combine(s.right ? other_[k] : own_[k], s.right ? own_[k] : other_[k], sum, plan_.in.size());
        } else {
          reduce_all({plan_.combiner, plan_.in.dtype, two(), in_order(g, i, own_[k], other_[k]), s.before, sum, s.after}, plan_.in.size());
        }
        own_[k] = sum;
      }
    }
  }

  /// Memory for a group's result: that of `out`, if it is not shared and fits.
  Ref<Buffer> result_of(const SharedGroup& g, std::span<Ref<Buffer>> out) const {
    for (std::size_t i = 1; i < g.mine.size(); ++i) out[at(g, g.mine[i])] = {};
    Ref<Buffer> old = std::move(out[at(g, g.mine[0])]);
    const bool fits =
        old && old->on_host() && old->exclusive() && old->device_id() == g.device && old->bytes() == static_cast<std::size_t>(out_bytes_);
    if (!fits) old = {}, old = new_buffer(out_bytes_, g.device);
    return old;
  }

  // The same tree by recursive halving: each process sums half as many elements in each step; then the parts are gathered by recursive
  // doubling (Rabenseifner 2004).
  void sum_by_halving(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::vector<Ref<Buffer>>& totals,
                      std::vector<std::vector<Ref<Buffer>>>& parts) {
    struct Range {
      std::int64_t begin = 0, end = 0;
      std::int64_t size() const { return end - begin; }
    };
    // The half of a range that the subtree on the left, or on the right, sums.
    const auto half = [](const Range& r, bool right) -> Range {
      const std::int64_t middle = std::min(r.end, r.begin + (r.size() / 2 + kAlignment - 1) / kAlignment * kAlignment);
      return right ? Range{middle, r.end} : Range{r.begin, middle};
    };
    std::vector<std::vector<Range>> ranges(groups_.size());  // before each step, and after the last
    std::vector<Ref<Buffer>> own(groups_.size()), other(groups_.size());
    std::vector<std::int64_t> begins(groups_.size(), 0);  // which element is the first in `own`
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      ranges[k].push_back({0, plan_.in.size()});
      if (groups_[k].steps > 0) own[k] = parts[k][static_cast<std::size_t>(groups_[k].my_part)];
    }
    for (int step = 0; step < max_steps(); ++step) {
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        const SharedGroup& g = groups_[k];
        if (step >= g.steps) continue;
        const bool right = (g.my_part >> step & 1) != 0;
        const std::int64_t item = g.dtype_before(step, plan_.in.dtype).itemsize();
        const Range mine = half(ranges[k].back(), right), theirs = half(ranges[k].back(), !right);
        other[k] = scratch(mine.size() * item, g.device);
        call.receive(*g.channel, g.partner(step), other[k]->data(), mine.size() * item);
        send(call, g, g.partner(step), address(own[k]) + (theirs.begin - begins[k]) * item, theirs.size() * item);
        ranges[k].push_back(mine);
      }
      wait(call, in, own);
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        const SharedGroup& g = groups_[k];
        if (step >= g.steps) continue;
        const Range mine = ranges[k].back();
        const DType to = g.dtype_after(step, plan_.in.dtype);
        const bool last = step + 1 == g.steps;
        const Ref<Buffer> sum = last ? totals[k] : scratch(mine.size() * to.itemsize(), g.device);
        char* const target = address(sum) + (last ? mine.begin * to.itemsize() : 0);
        const DType from = g.dtype_before(step, plan_.in.dtype);
        const char* const here = address(own[k]) + (mine.begin - begins[k]) * from.itemsize();
        reduce_all({plan_.combiner, plan_.in.dtype, two(), in_order(g, step, here, other[k]->data()), from, target, to}, mine.size());
        own[k] = sum;
        begins[k] = mine.begin;
      }
    }
    for (int step = max_steps() - 1; step >= 0; --step) {
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        const SharedGroup& g = groups_[k];
        if (step >= g.steps) continue;
        const std::int64_t item = plan_.in.dtype.itemsize();
        const bool right = (g.my_part >> step & 1) != 0;
        const Range before = ranges[k][static_cast<std::size_t>(step)], mine = half(before, right), theirs = half(before, !right);
        call.receive(*g.channel, g.partner(step), address(totals[k]) + theirs.begin * item, theirs.size() * item);
        send(call, g, g.partner(step), address(totals[k]) + mine.begin * item, mine.size() * item);
      }
      wait(call, in, totals);
    }
  }

  // For groups in which a process has several subtrees. Small: every process sends its parts to all others, and reduces all of them. Large:
  // each process receives all parts of its share of the elements, reduces them, and sends the result to all.
  void sum_directly(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::vector<Ref<Buffer>>& totals,
                    std::vector<std::vector<Ref<Buffer>>>& parts) {
    const std::int64_t size = plan_.in.size();
    const bool small = plan_.in.bytes() <= kSmallSum;
    struct Share {
      std::int64_t begin = 0, end = 0;
    };
    const auto share_of = [&](const SharedGroup& g, std::size_t rank) -> Share {
      if (small) return {0, size};
      const auto n = static_cast<std::int64_t>(g.ranks.size());
      const std::int64_t each = ((size + n - 1) / n + kAlignment - 1) / kAlignment * kAlignment;
      return {std::min(size, static_cast<std::int64_t>(rank) * each), std::min(size, (static_cast<std::int64_t>(rank) + 1) * each)};
    };
    const auto skipped = [&](std::size_t k) { return groups_[k].steps > 0 || totals[k].get() == parts[k][0].get(); };
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      if (skipped(k)) continue;
      const SharedGroup& g = groups_[k];
      const std::int64_t item = g.part_dtype(plan_.in.dtype).itemsize();
      const Share own = share_of(g, static_cast<std::size_t>(g.my_rank));
      for (std::size_t p = 0; p < parts[k].size(); ++p) {
        const int owner = g.reduction.parts[p].owner;
        if (owner != world_.rank()) {
          parts[k][p] = scratch((own.end - own.begin) * item, g.device);
          call.receive(*g.channel, owner, parts[k][p]->data(), (own.end - own.begin) * item);
          continue;
        }
        for (std::size_t r = 0; r < g.ranks.size(); ++r) {
          if (g.ranks[r] == world_.rank()) continue;
          const Share s = share_of(g, r);
          send(call, g, g.ranks[r], address(parts[k][p]) + s.begin * item, (s.end - s.begin) * item);
        }
      }
    }
    wait(call, in, totals);
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      if (skipped(k)) continue;
      const SharedGroup& g = groups_[k];
      const std::int64_t item = g.part_dtype(plan_.in.dtype).itemsize(), bytes = plan_.in.dtype.itemsize();
      const Share own = share_of(g, static_cast<std::size_t>(g.my_rank));
      std::vector<const void*> sources;
      for (std::size_t p = 0; p < parts[k].size(); ++p)
        sources.push_back(address(parts[k][p]) + (g.reduction.parts[p].owner == world_.rank() ? own.begin * item : 0));
      reduce_all({plan_.combiner, plan_.in.dtype, g.reduction.order, sources, g.part_dtype(plan_.in.dtype),
                  address(totals[k]) + own.begin * bytes, plan_.in.dtype},
                 own.end - own.begin);
      if (small) continue;
      for (std::size_t r = 0; r < g.ranks.size(); ++r) {
        if (g.ranks[r] == world_.rank()) continue;
        const Share s = share_of(g, r);
        call.receive(*g.channel, g.ranks[r], address(totals[k]) + s.begin * bytes, (s.end - s.begin) * bytes);
        send(call, g, g.ranks[r], address(totals[k]) + own.begin * bytes, (own.end - own.begin) * bytes);
      }
    }
    if (!small) wait(call, in, totals);
  }

  /// The layout of a dimension in a row-major array: one position along it is `outer` pieces of `inner` bytes.
  struct Around {
    std::int64_t outer = 1, inner = 1;
  };
  static Around around(const Shape& shape, int dim, std::int64_t itemsize) {
    Around a{1, itemsize};
    for (int d = 0; d < dim; ++d) a.outer *= shape[d];
    for (int d = dim + 1; d < shape.size(); ++d) a.inner *= shape[d];
    return a;
  }

  // Reduce-scatter: each process receives, from all parts of the reduction, the slices that its devices keep.
  void scatter(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
               std::vector<std::vector<Ref<Buffer>>>& parts) {
    std::vector<std::vector<Ref<Buffer>>> sliced(groups_.size());  // parts with each member's slice in one piece
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      const std::int64_t item = g.part_dtype(plan_.in.dtype).itemsize(), slice = plan_.out.size() * item;
      const auto n = static_cast<std::int64_t>(g.positions.size());
      const Around a = around(plan_.in.shape, plan_.parts.dim, item);
      const std::int64_t row = plan_.in.shape[plan_.parts.dim] / n * a.inner;
      sliced[k].resize(parts[k].size());
      for (std::size_t p = 0; p < parts[k].size(); ++p) {
        const int owner = g.reduction.parts[p].owner;
        sliced[k][p] = owner == world_.rank() && a.outer == 1 ? parts[k][p] : scratch(slice * n, g.device);
        if (owner != world_.rank()) {
          for (int i : g.mine) call.receive(*g.channel, owner, address(sliced[k][p]) + i * slice, slice);
          continue;
        }
        if (a.outer != 1)
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t o = 0; o < a.outer; ++o)
              std::memcpy(address(sliced[k][p]) + i * slice + o * row, address(parts[k][p]) + (o * n + i) * row,
                          static_cast<std::size_t>(row));
        for (std::size_t i = 0; i < g.positions.size(); ++i)
          if (g.owners[i] != world_.rank()) send(call, g, g.owners[i], address(sliced[k][p]) + static_cast<std::int64_t>(i) * slice, slice);
      }
    }
    wait(call, in, out);
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      const std::int64_t slice = plan_.out.size() * g.part_dtype(plan_.in.dtype).itemsize();
      for (int i : g.mine) {
        std::vector<const void*> sources;
        for (const Ref<Buffer>& p : sliced[k]) sources.push_back(address(p) + i * slice);
        Ref<Buffer>& o = out[at(g, i)] = new_buffer(plan_.out.bytes(), device_of(g, i));
        reduce_all({Combiner::sum, plan_.in.dtype, g.reduction.order, sources, g.part_dtype(plan_.in.dtype), o->data(), plan_.in.dtype},
                   plan_.out.size());
      }
    }
  }

  void gather(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) {
    std::vector<Ref<Buffer>> all(groups_.size());
    std::vector<std::vector<Ref<Buffer>>> blocks(groups_.size());
    std::int64_t outer = 1;
    for (int d = 0; d < plan_.parts.dim; ++d) outer *= plan_.in.shape[d];
    const std::int64_t row = outer == 0 ? 0 : plan_.in.bytes() / outer;
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      all[k] = new_buffer(plan_.out.bytes(), g.device);
      for (std::size_t i = 0; i < g.positions.size(); ++i) {
        const auto index = static_cast<int>(i);
        blocks[k].emplace_back();
        if (is_mine(g, index)) {
          blocks[k][i] = in[at(g, index)];
          for (int r : g.ranks)
            if (r != world_.rank()) send(call, g, r, blocks[k][i]->data(), plan_.in.bytes());
        } else if (outer == 1) {
          call.receive(*g.channel, g.owners[i], address(all[k]) + static_cast<std::int64_t>(i) * row, row);
        } else {
          blocks[k][i] = scratch(plan_.in.bytes(), g.device);
          call.receive(*g.channel, g.owners[i], blocks[k][i]->data(), plan_.in.bytes());
        }
      }
    }
    wait(call, in, all);
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      const auto n = static_cast<std::int64_t>(g.positions.size());
      for (std::int64_t i = 0; i < n && row > 0; ++i)
        if (const Ref<Buffer>& b = blocks[k][static_cast<std::size_t>(i)])
          for (std::int64_t o = 0; o < outer; ++o)
            std::memcpy(address(all[k]) + (o * n + i) * row, address(b) + o * row, static_cast<std::size_t>(row));
      give_to_mine(g, all[k], out);
    }
  }

  // All data from the devices of one process to those of another is one message for each group.
  void exchange(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) {
    const std::int64_t item = plan_.in.dtype.itemsize();
    struct Incoming {
      std::size_t group;
      int from, to;
      Ref<Buffer> all;
      std::int64_t offset;
    };
    std::vector<Incoming> incoming;
    const std::vector<std::int64_t> zero(static_cast<std::size_t>(plan_.in.ndim()), 0);
    const auto split_start = [&](int to, const Shape& part) {
      std::vector<std::int64_t> s = zero;
      s[static_cast<std::size_t>(plan_.parts.dim)] = to * part[plan_.parts.dim];
      return s;
    };
    const auto join_start = [&](int from, const Shape& part) {
      std::vector<std::int64_t> s = zero;
      s[static_cast<std::size_t>(plan_.parts.concat_dim)] = from * part[plan_.parts.concat_dim];
      return s;
    };
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      const auto n = static_cast<int>(g.positions.size());
      const Shape part = plan_.in.shape.with(plan_.parts.dim, plan_.in.shape[plan_.parts.dim] / n);
      const std::int64_t bytes = part.num_elements() * item;
      for (int i : g.mine) out[at(g, i)] = new_buffer(plan_.out.bytes(), device_of(g, i));
      for (int r : g.ranks) {
        if (r == world_.rank()) continue;
        std::vector<int> theirs;
        for (int i = 0; i < n; ++i)
          if (g.owners[static_cast<std::size_t>(i)] == r) theirs.push_back(i);
        const std::int64_t total = bytes * static_cast<std::int64_t>(theirs.size() * g.mine.size());
        const Ref<Buffer> coming = scratch(total, g.device), going = scratch(total, g.device);
        call.receive(*g.channel, r, coming->data(), total);
        std::int64_t offset = 0;
        for (int from : theirs)
          for (int to : g.mine) incoming.push_back({k, from, to, coming, offset}), offset += bytes;
        offset = 0;
        for (int from : g.mine)
          for (int to : theirs) {
            copy_box({in[at(g, from)]->data(), plan_.in.shape, split_start(to, part)}, {address(going) + offset, part, zero}, part, item);
            offset += bytes;
          }
        send(call, g, r, going->data(), total);
      }
      for (int from : g.mine)
        for (int to : g.mine)
          copy_box({in[at(g, from)]->data(), plan_.in.shape, split_start(to, part)},
                   {out[at(g, to)]->data(), plan_.out.shape, join_start(from, part)}, part, item);
    }
    wait(call, in, out);
    for (const Incoming& m : incoming) {
      const SharedGroup& g = groups_[m.group];
      const Shape part =
          plan_.in.shape.with(plan_.parts.dim, plan_.in.shape[plan_.parts.dim] / static_cast<std::int64_t>(g.positions.size()));
      copy_box({address(m.all) + m.offset, part, zero}, {out[at(g, m.to)]->data(), plan_.out.shape, join_start(m.from, part)}, part, item);
    }
  }

  void permute(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) {
    for (const SharedGroup& g : groups_) {
      for (const auto& [from, to] : plan_.parts.perm) {
        const bool have = is_mine(g, from), want = is_mine(g, to);
        if (have && want) {
          out[at(g, to)] = in[at(g, from)];
        } else if (have) {
          send(call, g, g.owners[static_cast<std::size_t>(to)], in[at(g, from)]->data(), plan_.in.bytes());
        } else if (want) {
          Ref<Buffer>& o = out[at(g, to)] = new_buffer(plan_.out.bytes(), device_of(g, to));
          call.receive(*g.channel, g.owners[static_cast<std::size_t>(from)], o->data(), plan_.in.bytes());
        }
      }
      for (int i : g.mine) {
        Ref<Buffer>& o = out[at(g, i)];
        if (o) continue;
        o = new_buffer(plan_.out.bytes(), device_of(g, i));
        std::memset(o->data(), 0, o->bytes());
      }
    }
    wait(call, in, out);
  }

  void broadcast(CollectiveCall& call, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) {
    std::vector<Ref<Buffer>> values(groups_.size());
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const SharedGroup& g = groups_[k];
      if (is_mine(g, plan_.parts.source)) {
        values[k] = in[at(g, plan_.parts.source)];
        for (int r : g.ranks)
          if (r != world_.rank()) send(call, g, r, values[k]->data(), plan_.in.bytes());
      } else {
        values[k] = new_buffer(plan_.in.bytes(), g.device);
        call.receive(*g.channel, g.owners[static_cast<std::size_t>(plan_.parts.source)], values[k]->data(), plan_.in.bytes());
      }
    }
    wait(call, in, values);
    for (std::size_t k = 0; k < groups_.size(); ++k) give_to_mine(groups_[k], values[k], out);
  }

  CollectivePlan plan_;
  ProcessWorld& world_;
  std::shared_ptr<const CollectiveGroups> common_;
  const std::vector<SharedGroup>& groups_;  // those in which this process has devices
  std::vector<ShortSum> short_sums_;        // one for each of them
  CollectiveLabel label_;
  bool sums_;
  bool joins_;             // several messages of a process may go together
  bool is_large_ = false;  // keeps no memory for the next call
  std::int64_t out_bytes_ = 0;
  // Of the call that is running; there is one at a time in a process.
  std::vector<std::vector<Ref<Buffer>>> parts_;  // for each group
  std::vector<Ref<Buffer>> totals_;
  std::vector<char*> own_, other_;
  std::vector<Ref<Buffer>> kept_;
  std::size_t taken_ = 0;  // of kept_
  std::int64_t sent_ = 0;
};

class ProcessEngine final : public CollectiveEngine {
 public:
  std::string_view name() const override { return "mpi"; }
  bool overlaps() const override { return true; }
  std::unique_ptr<ReadyCollective> prepare(const CollectivePlan& plan, std::span<const int> device_ids,
                                           std::span<const std::int64_t> mesh_shape) override {
    return std::make_unique<ProcessCollective>(plan, device_ids, mesh_shape);
  }
};

}  // namespace

CollectiveEngine& process_engine() {
  static auto& engine = process_wide<ProcessEngine>();
  return engine;
}

}  // namespace weft::detail
