#include "weft/runtime/host/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/reduce.h"
#include "weft/runtime/host/thread_pool.h"
#include "weft/runtime/profile/timeline.h"

namespace weft::detail {
namespace {

std::atomic<std::int64_t> calls{0}, all_bytes_moved{0};
std::atomic<std::int64_t> calls_in_turn{0}, bytes_in_turn{0};

constexpr std::int64_t kChunkBytes = 256 << 10;     // of one operand: what one task joins
constexpr std::int64_t kParallelBytes = 512 << 10;  // below this the caller does it alone

/// f(begin, end) over [0, n), in chunks of a fixed size.
template <class F>
void for_chunks(std::int64_t n, std::int64_t chunk, bool parallel, F&& f) {
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  const auto one = [&](std::int64_t i) { f(i * chunk, std::min(n, (i + 1) * chunk)); };
  if (parallel && chunks > 1)
    parallel_for(chunks, one);
  else
    for (std::int64_t i = 0; i < chunks; ++i) one(i);
}

std::vector<const void*> addresses(std::span<const Ref<Buffer>> in, const std::vector<int>& group) {
  std::vector<const void*> list;
  for (int k : group) list.push_back(in[static_cast<std::size_t>(k)]->data());
  return list;
}

Ref<Buffer> reduction_group(const CollectivePlan& plan, std::span<const Ref<Buffer>> in, const std::vector<int>& group, int device) {
  const Ref<Buffer> total(new HostBuffer(static_cast<std::size_t>(plan.in.bytes()), device));
  const std::vector<const void*> sources = addresses(in, group);
  const ReductionOrder order = balanced_order(static_cast<int>(group.size()));
  const std::int64_t chunk = kChunkBytes / plan.in.dtype.itemsize();
  const bool parallel = plan.in.bytes() * static_cast<std::int64_t>(group.size()) > kParallelBytes;
  const ArrayReduction r{plan.combiner, plan.in.dtype, order, sources, plan.in.dtype, total->data(), plan.in.dtype};
  for_chunks(plan.in.size(), chunk, parallel, [&](std::int64_t begin, std::int64_t end) { r.run(begin, end); });
  return total;
}

/// Bytes before a dimension's index advances, and after it, of a row-major array.
struct Around {
  std::int64_t outer = 1, inner = 1;
};
Around around(const Shape& shape, int dim, std::int64_t itemsize) {
  Around a{1, itemsize};
  for (int d = 0; d < dim; ++d) a.outer *= shape[d];
  for (int d = dim + 1; d < shape.size(); ++d) a.inner *= shape[d];
  return a;
}

/// Rows of `row` bytes, `rows` of them, from one stride to another.
void copy_rows(const char* from, std::int64_t from_stride, char* to, std::int64_t to_stride, std::int64_t row, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(row));
}

Ref<Buffer> gather_group(const CollectivePlan& plan, std::span<const Ref<Buffer>> in, const std::vector<int>& group, int device) {
  const auto n = static_cast<std::int64_t>(group.size());
  const Ref<Buffer> all(new HostBuffer(static_cast<std::size_t>(plan.out.bytes()), device));
  // Along the gathered dimension each device's part is one piece of every outer row.
  std::int64_t outer = 1;
  for (int d = 0; d < plan.parts.dim; ++d) outer *= plan.in.shape[d];
  const std::int64_t row = outer == 0 ? 0 : plan.in.bytes() / outer;
  const auto one = [&](std::int64_t k) {
    copy_rows(static_cast<const char*>(in[static_cast<std::size_t>(group[static_cast<std::size_t>(k)])]->data()), row,
              static_cast<char*>(all->data()) + k * row, n * row, row, outer);
  };
  if (plan.out.bytes() > kParallelBytes)
    parallel_for(n, one);
  else
    for (std::int64_t k = 0; k < n; ++k) one(k);
  return all;
}

void scatter_group(const CollectivePlan& plan, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out, const std::vector<int>& group,
                   std::span<const int> device_ids) {
  const auto n = static_cast<std::int64_t>(group.size());
  const Ref<Buffer> total = reduction_group(plan, in, group, device_ids[static_cast<std::size_t>(group[0])]);
  const Around a = around(plan.in.shape, plan.parts.dim, plan.in.dtype.itemsize());
  const std::int64_t row = plan.in.shape[plan.parts.dim] / n * a.inner;
  for (std::int64_t k = 0; k < n; ++k) {
    const auto to = static_cast<std::size_t>(group[static_cast<std::size_t>(k)]);
    out[to] = Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(plan.out.bytes()), device_ids[to]));
    copy_rows(static_cast<const char*>(total->data()) + k * row, n * row, static_cast<char*>(out[to]->data()), row, row, a.outer);
  }
}

void exchange_group(const CollectivePlan& plan, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out, const std::vector<int>& group,
                    std::span<const int> device_ids) {
  const auto n = static_cast<std::int64_t>(group.size());
  const std::int64_t itemsize = plan.in.dtype.itemsize();
  const Shape part = plan.in.shape.with(plan.parts.dim, plan.in.shape[plan.parts.dim] / n);
  const auto one = [&](std::int64_t k) {
    const auto to = static_cast<std::size_t>(group[static_cast<std::size_t>(k)]);
    out[to] = Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(plan.out.bytes()), device_ids[to]));
    std::vector<std::int64_t> from_start(static_cast<std::size_t>(part.size())), to_start = from_start;
    from_start[static_cast<std::size_t>(plan.parts.dim)] = k * part[plan.parts.dim];
    for (std::int64_t j = 0; j < n; ++j) {
      to_start[static_cast<std::size_t>(plan.parts.concat_dim)] = j * part[plan.parts.concat_dim];
      copy_box({in[static_cast<std::size_t>(group[static_cast<std::size_t>(j)])]->data(), plan.in.shape, from_start},
               {out[to]->data(), plan.out.shape, to_start}, part, itemsize);
    }
  };
  if (plan.out.bytes() * n > kParallelBytes)
    parallel_for(n, one);
  else
    for (std::int64_t k = 0; k < n; ++k) one(k);
}

void give_to_all(const Ref<Buffer>& value, std::span<Ref<Buffer>> out, const std::vector<int>& group) {
  for (int k : group) out[static_cast<std::size_t>(k)] = value;
}

/// What a group of n host devices sends.
std::int64_t bytes_moved_in(const CollectivePlan& plan, std::int64_t n) {
  const std::int64_t bytes = plan.in.bytes();
  switch (plan.exchange) {
    case Exchange::allreduce: return 2 * (n - 1) * bytes;
    case Exchange::allgather: return n * (n - 1) * bytes;
    case Exchange::permute:
      return bytes * std::count_if(plan.parts.perm.begin(), plan.parts.perm.end(), [](const auto& p) { return p.first != p.second; });
    case Exchange::reduce_scatter:
    case Exchange::alltoall:
    case Exchange::broadcast: return (n - 1) * bytes;
    case Exchange::none:
    case Exchange::position: break;
  }
  return 0;
}

}  // namespace

std::int64_t bytes_moved(const CollectivePlan& plan) {
  std::int64_t all = 0;
  for (const std::vector<int>& group : *plan.groups) all += bytes_moved_in(plan, std::ssize(group));
  return all;
}

std::string to_string(const CollectivePlan& plan) {
  std::size_t devices = 0;
  for (const std::vector<int>& group : *plan.groups) devices += group.size();
  return fmt::format("{} over {} of {} on each of {} devices to {}; {} bytes moved", plan.operation, fmt::join(plan.axes, ", "),
                     to_string(plan.in), devices, to_string(plan.out), bytes_moved(plan));
}

CollectivePlan plan_collective(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out, DeviceGroups groups,
                               SourceLoc loc) {
  CollectivePlan plan;
  const CollectiveRules& rules = collective_rules(op);
  plan.operation = std::string(rules.called);
  plan.axes = collective_axes(op, params);
  plan.loc = loc;
  plan.exchange = rules.exchange;
  plan.combiner = op.combiner.value_or(Combiner::sum);
  plan.parts = rules.parts(params);
  plan.groups = std::move(groups);
  plan.in = in, plan.out = out;
  return plan;
}

void run_collective(const CollectivePlan& plan, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                    std::span<const int> device_ids) {
  const TimelineRange range(Work::collective, plan.operation);
  std::int64_t moved_bytes = 0;
  for (const std::vector<int>& group : *plan.groups) {
    const auto n = static_cast<std::int64_t>(group.size());
    const auto at = [&](int index) { return static_cast<std::size_t>(group[static_cast<std::size_t>(index)]); };
    const int first = device_ids[at(0)];
    if (is_accelerator(first)) {
      std::vector<Ref<Buffer>> there(in.begin(), in.end());
      bool any = false;  // of this process's
      for (int k : group) {
        Ref<Buffer>& x = there[static_cast<std::size_t>(k)];
        if (x) x = moved(x, device_ids[static_cast<std::size_t>(k)]), any = true;
      }
      accelerators().join(plan, group, there, out, device_ids);
      if (any) moved_bytes += (n - 1) * plan.in.bytes();
      continue;
    }
    moved_bytes += bytes_moved_in(plan, n);
    switch (plan.exchange) {
      case Exchange::allreduce: give_to_all(n == 1 ? in[at(0)] : reduction_group(plan, in, group, first), out, group); break;
      case Exchange::allgather: give_to_all(gather_group(plan, in, group, first), out, group); break;
      case Exchange::reduce_scatter: scatter_group(plan, in, out, group, device_ids); break;
      case Exchange::alltoall: exchange_group(plan, in, out, group, device_ids); break;
      case Exchange::permute:
        for (const auto& [from, to] : plan.parts.perm) out[at(to)] = in[at(from)];
        for (int k : group) {
          Ref<Buffer>& o = out[static_cast<std::size_t>(k)];
          if (o) continue;
          o = Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(plan.out.bytes()), device_ids[static_cast<std::size_t>(k)]));
          std::memset(o->data(), 0, o->bytes());
        }
        break;
      case Exchange::broadcast: give_to_all(in[at(plan.parts.source)], out, group); break;
      case Exchange::none:
      case Exchange::position: throw Error("internal error: not a join");
    }
  }
  count_collective(moved_bytes);
}

void count_collective(std::int64_t moved_bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  all_bytes_moved.fetch_add(moved_bytes, std::memory_order_relaxed);
}

void count_collective_in_turn(std::int64_t moved_bytes) {
  calls_in_turn.store(calls_in_turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  bytes_in_turn.store(bytes_in_turn.load(std::memory_order_relaxed) + moved_bytes, std::memory_order_relaxed);
}

CollectiveCounters collective_counters() {
  return {calls.load(std::memory_order_relaxed) + calls_in_turn.load(std::memory_order_relaxed),
          all_bytes_moved.load(std::memory_order_relaxed) + bytes_in_turn.load(std::memory_order_relaxed)};
}

}  // namespace weft::detail
