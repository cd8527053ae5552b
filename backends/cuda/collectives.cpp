#include "weft/backends/cuda/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "weft/backends/cuda/graph_memory.h"
#include "weft/backends/cuda/libraries/nccl.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/hash.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/device_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail::cuda {
namespace {

constexpr double kTimeLimit = 600;        // seconds
constexpr std::size_t kManyRunning = 64;  // more collectives of a device than these are looked through; among several processes, waited for

/// A collective in a device's stream, between two marks.
struct Running {
  std::unique_ptr<Mark> begin, end;
  std::shared_ptr<const WatchedCollective::What> what;
  std::optional<std::chrono::steady_clock::time_point> seen;  ///< when it was first seen to have begun
};
std::mutex& running_mutex() {
  static std::mutex m;
  return m;
}
std::map<GpuDevice*, std::deque<Running>>& running() {
  static auto& all = *new std::map<GpuDevice*, std::deque<Running>>;
  return all;
}

double time_limit() {
  if (process_world()) return process_world()->timeout().count();
  return number_in_environment("WEFT_COLLECTIVE_TIMEOUT").value_or(kTimeLimit);
}

bool reached(const Mark& m, const std::string& what) {
  const Result r = driver().cuEventQuery(m.event());
  if (r != kNotReady) check(r, "cuEventQuery", what);
  return r != kNotReady;
}

/// Forgets what has ended. The first that has not, if it takes too long; else null.
std::shared_ptr<const WatchedCollective::What> takes_too_long(GpuDevice& device, const std::string& what) {
  const std::lock_guard lock(running_mutex());
  std::deque<Running>& list = running()[&device];
  while (!list.empty() && reached(*list.front().end, what)) list.pop_front();
  if (list.empty()) return nullptr;
  Running& first = list.front();
  const auto now = std::chrono::steady_clock::now();
  if (!first.seen && reached(*first.begin, what)) first.seen = now;
  const double limit = time_limit();
  return limit > 0 && first.seen && std::chrono::duration<double>(now - *first.seen).count() > limit ? first.what : nullptr;
}

/// After a failure: aborts the communicators and forgets the running collectives.
void give_up(const std::string& why) {
  abort_communicators(why);
  const std::lock_guard lock(running_mutex());
  running().clear();
}

/// NCCL's type, and how many of it an element is; -1: it has none.
int nccl_type(DType t, std::int64_t& count) {
  if (t.is_complex()) count *= 2, t = t.real_part();
  if (t.is_bool()) return nccl::kUint8;
  if (t == float16) return nccl::kFloat16;
  if (t == bfloat16) return nccl::kBFloat16;
  if (t == float32) return nccl::kFloat32;
  if (t == float64) return nccl::kFloat64;
  if (t.is_floating()) return -1;
  switch (t.itemsize()) {
    case 1: return t.is_signed() ? nccl::kInt8 : nccl::kUint8;
    case 4: return t.is_signed() ? nccl::kInt32 : nccl::kUint32;
    case 8: return t.is_signed() ? nccl::kInt64 : nccl::kUint64;
    default: return -1;
  }
}

using GroupCall = std::function<int(std::size_t, nccl::Comm, Stream, const char*&)>;

/// One group of NCCL's calls. Throws DistributedError, before anything is aborted.
void call_as_group(const std::vector<GpuDevice*>& gpus, const std::vector<nccl::Comm>& comms, const std::vector<int>& processes,
                   const CollectiveLabel& label, GroupCall f) {
  struct Said {
    const char* call = "ncclGroupStart";
  };
  const auto said = std::make_shared<Said>();
  const int status = guarded(processes, label, [gpus, comms, said, f = std::move(f)] {
    const nccl::Library& l = nccl::library();
    int result = l.ncclGroupStart();
    if (result != nccl::kSuccess) return result;
    for (std::size_t k = 0; k < gpus.size() && result == nccl::kSuccess; ++k) {
      gpus[k]->enter();
      result = f(k, comms[k], gpus[k]->stream(), said->call);
    }
    const int end = l.ncclGroupEnd();
    if (result == nccl::kSuccess && end != nccl::kSuccess && end != nccl::kInProgress) said->call = "ncclGroupEnd", result = end;
    return result;
  });
  nccl::check(status, said->call, label.text, label.loc);
}

class Join {
 public:
  Join(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
       std::span<const int> device_ids)
      : plan_(plan), in_(in), out_(out), mesh_(device_ids.begin(), device_ids.end()), size_(group.size()) {
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      const auto position = static_cast<std::size_t>(group[rank]);
      if (!processes().is_local(mesh_[position])) continue;
      at_.push_back(position);
      ranks_.push_back(rank);
      gpus_.push_back(&device_of(mesh_[position]));
    }
    if (gpus_.empty()) return;
    which_ = static_cast<std::size_t>(std::find(plan.groups->begin(), plan.groups->end(), group) - plan.groups->begin());
    label_.text = fmt::format("{} over `{}` of {} between GPUs", plan.operation, fmt::join(plan.axes, "`, `"), to_string(plan.in));
    label_.signature = fnv_with(fnv_of(label_.text), plan.program);
    label_.loc = plan.loc;
    // Locks are taken in a fixed order, so that two collectives can't deadlock.
    std::vector<GpuDevice*> sorted = gpus_;
    std::sort(sorted.begin(), sorted.end(), [](GpuDevice* a, GpuDevice* b) { return a->id() < b->id(); });
    for (GpuDevice* g : sorted) locks_.emplace_back(g->order());
  }

  void run() {
    if (gpus_.empty()) return;
    if (GraphMemory* s = gpus_[0]->supply()) s->communicated(first_here(), static_cast<std::int64_t>(size_ - 1) * plan_.in.bytes());
    if (size_ == 1 && (plan_.exchange != Exchange::permute || !plan_.parts.perm.empty())) {
      out_[at_[0]] = in_[at_[0]];  // the same bytes, in whatever shape
      return;
    }
    switch (plan_.exchange) {
      case Exchange::allreduce:
        return reduce(plan_.combiner == Combiner::max ? nccl::kMax : plan_.combiner == Combiner::min ? nccl::kMin : nccl::kSum);
      case Exchange::allgather: return gather();
      case Exchange::reduce_scatter: return scatter();
      case Exchange::alltoall: return exchange();
      case Exchange::permute: return permute();
      case Exchange::broadcast: return broadcast();
      default: throw Error("internal error: not a join");
    }
  }

 private:
  /// The addresses of each device's operand and result.
  using Places = std::vector<std::pair<DevicePointer, DevicePointer>>;
  static DevicePointer pointer(const Ref<Buffer>& b) { return static_cast<GpuBuffer&>(*b).pointer(); }
  static void* address(DevicePointer p) { return reinterpret_cast<void*>(p); }
  /// The number of this process's devices in the group.
  std::size_t here() const { return at_.size(); }
  /// Whether no group before this one has devices of this process.
  bool first_here() const {
    for (std::size_t g = 0; g < which_; ++g)
      for (int k : (*plan_.groups)[g])
        if (processes().is_local(mesh_[static_cast<std::size_t>(k)])) return false;
    return true;
  }
  Ref<Buffer> memory(std::size_t k, std::int64_t bytes) const {
    return Ref<Buffer>(new GpuBuffer(*gpus_[k], static_cast<std::size_t>(bytes)));
  }
  Ref<Buffer>& result(std::size_t k) {
    Ref<Buffer>& r = out_[at_[k]];
    r = memory(k, plan_.out.bytes());
    return r;
  }
  const Ref<Buffer>& operand(std::size_t k) const { return in_[at_[k]]; }

  /// Whether the collective is being captured into graphs, whose events must not be queried and whose communicators must not be aborted
  /// here; the code that captures does so.
  bool captured() const { return gpus_[0]->supply() && gpus_[0]->supply()->mode() == GraphMemory::Mode::capturing; }

  /// f(k, communicator, stream, call) for each of this process's devices, as one group; it says what it calls last. Where it fails,
  /// all communicators are aborted.
  void grouped(GroupCall f) {
    if (captured()) return call_grouped({}, std::move(f));
    const std::vector<int> processes = processes_across(mesh_);
    before_collective(gpus_, label_, processes);
    try {
      call_grouped(processes, std::move(f));
    } catch (const DistributedError& e) {
      give_up(e.message());
      throw;
    }
  }
  void call_grouped(const std::vector<int>& processes, GroupCall f) {
    const std::vector<nccl::Comm> comms = communicators_of(mesh_, *plan_.groups, which_, label_);
    std::optional<WatchedCollective> watched;
    if (!captured()) watched.emplace(gpus_, label_, processes);
    call_as_group(gpus_, comms, processes, label_, std::move(f));
    if (watched) watched->begun();
  }

  /// The elements' type, and how many there are in so many bytes of it.
  std::size_t count_of(std::int64_t bytes, int& type) const {
    std::int64_t count = bytes / plan_.in.dtype.itemsize();
    type = nccl_type(plan_.in.dtype, count);
    if (type < 0)
      throw DistributedError(fmt::format("{}: NCCL has no {}; convert it to a wider dtype first", label_.text, plan_.in.dtype.name()),
                             plan_.loc);
    return static_cast<std::size_t>(count);
  }

  void reduce(int op) {
    int type = 0;
    const std::size_t count = count_of(plan_.in.bytes(), type);
    Places places;
    for (std::size_t k = 0; k < here(); ++k) places.emplace_back(pointer(operand(k)), pointer(result(k)));
    grouped([=](std::size_t k, nccl::Comm comm, Stream stream, const char*& call) {
      call = "ncclAllReduce";
      return nccl::library().ncclAllReduce(address(places[k].first), address(places[k].second), count, type, op, comm, stream);
    });
  }

  /// Rows of `row` bytes, `rows` of them, from one stride to another.
  void copy_rows(std::size_t k, DevicePointer from, std::int64_t from_stride, DevicePointer to, std::int64_t to_stride, std::int64_t row,
                 std::int64_t rows) {
    if (row == 0 || rows == 0) return;
    gpus_[k]->enter();
    Copy2D c;
    c.source_type = c.target_type = kMemoryOfDevice;
    c.source = from, c.source_pitch = static_cast<std::size_t>(from_stride);
    c.target = to, c.target_pitch = static_cast<std::size_t>(to_stride);
    c.width = static_cast<std::size_t>(row), c.height = static_cast<std::size_t>(rows);
    check(driver().cuMemcpy2DAsync_v2(&c, gpus_[k]->stream()), "cuMemcpy2DAsync", label_.text);
  }

  static std::int64_t before(const Shape& s, int dim) {
    std::int64_t n = 1;
    for (int d = 0; d < dim; ++d) n *= s[d];
    return n;
  }

  void gather() {
    const auto n = static_cast<std::int64_t>(size_);
    const std::int64_t outer = before(plan_.in.shape, plan_.parts.dim), bytes = plan_.in.bytes();
    const bool direct = outer <= 1;
    std::vector<Ref<Buffer>> all;
    for (std::size_t k = 0; k < here(); ++k) {
      result(k);
      all.push_back(direct ? out_[at_[k]] : memory(k, plan_.out.bytes()));
    }
    Places places;
    for (std::size_t k = 0; k < here(); ++k) places.emplace_back(pointer(operand(k)), pointer(all[k]));
    grouped([=](std::size_t k, nccl::Comm comm, Stream stream, const char*& call) {
      call = "ncclAllGather";
      return nccl::library().ncclAllGather(address(places[k].first), address(places[k].second), static_cast<std::size_t>(bytes),
                                           nccl::kUint8, comm, stream);
    });
    if (direct) return;
    const std::int64_t row = bytes / outer;
    for (std::size_t k = 0; k < here(); ++k)
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(all[k]) + static_cast<DevicePointer>(j * bytes), row,
                  pointer(out_[at_[k]]) + static_cast<DevicePointer>(j * row), n * row, row, outer);
  }

  void scatter() {
    const auto n = static_cast<std::int64_t>(size_);
    const std::int64_t outer = before(plan_.in.shape, plan_.parts.dim), each = plan_.in.bytes() / n;
    int type = 0;
    const std::size_t count = count_of(each, type);
    std::vector<Ref<Buffer>> packed;
    for (std::size_t k = 0; k < here(); ++k) {
      result(k);
      packed.push_back(outer <= 1 ? operand(k) : memory(k, plan_.in.bytes()));
      if (outer <= 1) continue;
      const std::int64_t row = each / outer;
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(operand(k)) + static_cast<DevicePointer>(j * row), n * row,
                  pointer(packed[k]) + static_cast<DevicePointer>(j * each), row, row, outer);
    }
    Places places;
    for (std::size_t k = 0; k < here(); ++k) places.emplace_back(pointer(packed[k]), pointer(out_[at_[k]]));
    grouped([=](std::size_t k, nccl::Comm comm, Stream stream, const char*& call) {
      call = "ncclReduceScatter";
      return nccl::library().ncclReduceScatter(address(places[k].first), address(places[k].second), count, type, nccl::kSum, comm, stream);
    });
  }

  void exchange() {
    const auto n = static_cast<std::int64_t>(size_);
    const std::int64_t each = plan_.in.bytes() / n;
    const Shape part = plan_.in.shape.with(plan_.parts.dim, plan_.in.shape[plan_.parts.dim] / n);
    const std::int64_t split_rows = before(part, plan_.parts.dim), concat_rows = before(part, plan_.parts.concat_dim);
    std::vector<Ref<Buffer>> outgoing, incoming;
    for (std::size_t k = 0; k < here(); ++k) {
      result(k);
      outgoing.push_back(memory(k, plan_.in.bytes())), incoming.push_back(memory(k, plan_.in.bytes()));
      const std::int64_t row = split_rows == 0 ? 0 : each / split_rows;
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(operand(k)) + static_cast<DevicePointer>(j * row), n * row,
                  pointer(outgoing[k]) + static_cast<DevicePointer>(j * each), row, row, split_rows);
    }
    Places places;
    for (std::size_t k = 0; k < here(); ++k) places.emplace_back(pointer(outgoing[k]), pointer(incoming[k]));
    grouped([=](std::size_t k, nccl::Comm comm, Stream stream, const char*& call) {
      const nccl::Library& l = nccl::library();
      const auto bytes = static_cast<std::size_t>(each);
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<DevicePointer>(j * each);
        call = "ncclSend";
        int status = l.ncclSend(address(places[k].first + at), bytes, nccl::kUint8, static_cast<int>(j), comm, stream);
        if (status == nccl::kSuccess)
          call = "ncclRecv", status = l.ncclRecv(address(places[k].second + at), bytes, nccl::kUint8, static_cast<int>(j), comm, stream);
        if (status != nccl::kSuccess) return status;
      }
      return nccl::kSuccess;
    });
    const std::int64_t row = concat_rows == 0 ? 0 : each / concat_rows;
    for (std::size_t k = 0; k < here(); ++k)
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(incoming[k]) + static_cast<DevicePointer>(j * each), row,
                  pointer(out_[at_[k]]) + static_cast<DevicePointer>(j * row), n * row, row, concat_rows);
  }

  void permute() {
    const auto bytes = static_cast<std::size_t>(plan_.in.bytes());
    std::vector<char> given(size_);
    for (const auto& [from, to] : plan_.parts.perm) given[static_cast<std::size_t>(to)] = 1;
    for (std::size_t k = 0; k < here(); ++k) {
      result(k);
      if (given[ranks_[k]]) continue;
      gpus_[k]->enter();
      check(driver().cuMemsetD8Async(pointer(out_[at_[k]]), 0, bytes, gpus_[k]->stream()), "cuMemsetD8Async", label_.text);
    }
    if (size_ == 1) return;  // to nobody, from nobody
    Places places;
    for (std::size_t k = 0; k < here(); ++k) places.emplace_back(pointer(operand(k)), pointer(out_[at_[k]]));
    grouped([=, perm = plan_.parts.perm, ranks = ranks_](std::size_t k, nccl::Comm comm, Stream stream, const char*& call) {
      const nccl::Library& l = nccl::library();
      for (const auto& [from, to] : perm) {
        int status = nccl::kSuccess;
        call = "ncclSend";
        if (static_cast<std::size_t>(from) == ranks[k])
          status = l.ncclSend(address(places[k].first), bytes, nccl::kUint8, to, comm, stream);
        if (status == nccl::kSuccess && static_cast<std::size_t>(to) == ranks[k])
          call = "ncclRecv", status = l.ncclRecv(address(places[k].second), bytes, nccl::kUint8, from, comm, stream);
        if (status != nccl::kSuccess) return status;
      }
      return nccl::kSuccess;
    });
  }

  void broadcast() {
    Places places;
    for (std::size_t k = 0; k < here(); ++k) places.emplace_back(pointer(operand(k)), pointer(result(k)));
    grouped([=, bytes = static_cast<std::size_t>(plan_.in.bytes()), source = plan_.parts.source](std::size_t k, nccl::Comm comm,
                                                                                                 Stream stream, const char*& call) {
      call = "ncclBroadcast";
      return nccl::library().ncclBroadcast(address(places[k].first), address(places[k].second), bytes, nccl::kUint8, source, comm, stream);
    });
  }

  const CollectivePlan& plan_;
  std::span<const Ref<Buffer>> in_;
  std::span<Ref<Buffer>> out_;
  const std::vector<int> mesh_;
  const std::size_t size_;               // of the group
  std::size_t which_ = 0;                // it is among the plan's
  std::vector<std::size_t> at_, ranks_;  // of this process's devices: positions in the mesh, and in the group
  std::vector<GpuDevice*> gpus_;
  std::vector<std::unique_lock<std::recursive_mutex>> locks_;
  CollectiveLabel label_;
};

}  // namespace

namespace {

/// The first collective that the device runs, or waits to run; null where no more than so many do.
std::shared_ptr<const WatchedCollective::What> first_running(GpuDevice& device, std::size_t at_most) {
  const std::lock_guard lock(running_mutex());
  const std::deque<Running>& list = running()[&device];
  return list.size() <= at_most ? nullptr : list.front().what;
}

/// Throws DistributedError if a collective has failed.
void look_for_faults(const WatchedCollective::What& first, bool late, const std::string& what) {
  const SourceLoc loc = first.label.loc;
  DeviceWorld* const world = first.across.empty() ? nullptr : device_world();
  if (world) world->look(first.label);
  if (const int failed = asynchronous_error(); failed != nccl::kSuccess) {
    // If a process has ended, that is the cause, and its error says more.
    for (int i = 0; i < 20 && world; ++i) {
      world->look(first.label);
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    throw DistributedError(fmt::format("{}: NCCL reports {} of a collective that runs ({}); its communicators are aborted", what,
                                       nccl::status_text(failed), first.label.text),
                           loc);
  }
  if (!late) return;
  if (world) world->expect(first.across, first.label, first.calls);
  throw DistributedError(fmt::format("{}: a collective has not ended after {} seconds (WEFT_COLLECTIVE_TIMEOUT): {}; its communicators are "
                                     "aborted",
                                     what, time_limit(), first.label.text),
                         loc);
}

}  // namespace

WatchedCollective::WatchedCollective(const std::vector<GpuDevice*>& devices, const CollectiveLabel& label, const std::vector<int>& across)
    : devices_(devices) {
  std::uint64_t calls = 0;
  if (!across.empty()) {
    device_world()->put(across, label);
    calls = device_world()->calls(across);
  }
  what_ = std::make_shared<const What>(What{label, across, calls});
  for (GpuDevice* g : devices_) {
    std::size_t known = 0;
    {
      const std::lock_guard lock(running_mutex());
      known = running()[g].size();
    }
    if (known > kManyRunning) takes_too_long(*g, label.text);
    begin_.push_back(std::make_unique<Mark>(*g, label.text));
  }
}

void WatchedCollective::begun() {
  for (std::size_t k = 0; k < devices_.size(); ++k) {
    auto ended = std::make_unique<Mark>(*devices_[k], what_->label.text);
    const std::lock_guard lock(running_mutex());
    running()[devices_[k]].push_back({std::move(begin_[k]), std::move(ended), what_, {}});
  }
}

void before_collective(const std::vector<GpuDevice*>& devices, const CollectiveLabel& label, const std::vector<int>& across) {
  if (across.empty()) return;
  for (GpuDevice* g : devices) wait_for_collectives(*g, label.text, kManyRunning);
  try {
    device_world()->look(label);
  } catch (const DistributedError& e) {
    give_up(e.message());
    throw;
  }
}

void give_up_collectives(const std::string& why) { give_up(why); }

void join_group(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                std::span<const int> device_ids) {
  Join(plan, group, in, out, device_ids).run();
}

void exchange_messages(std::span<const int> device_ids, std::span<const Accelerators::DeviceMessage> going,
                       std::span<const Accelerators::DeviceMessage> coming, const CollectiveLabel& label) {
  const std::vector<int> mesh(device_ids.begin(), device_ids.end());
  std::vector<int> all;
  GpuDevice* mine = nullptr;
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    all.push_back(static_cast<int>(k));
    if (processes().is_local(mesh[k])) mine = &device_of(mesh[k]);
  }
  struct Message {
    bool goes;
    int place;
    DevicePointer at;
    std::size_t bytes;
  };
  std::vector<Message> messages;
  const auto add = [&](std::span<const Accelerators::DeviceMessage> list, bool goes) {
    for (const Accelerators::DeviceMessage& m : list)
      messages.push_back({goes, static_cast<int>(m.place), static_cast<GpuBuffer&>(*m.memory).pointer(), m.memory->bytes()});
  };
  add(going, true), add(coming, false);
  const std::lock_guard lock(mine->order());
  const std::vector<int> processes = processes_across(mesh);
  before_collective({mine}, label, processes);
  try {
    const std::vector<nccl::Comm> comms = communicators_of(mesh, {all}, 0, label);
    WatchedCollective watched({mine}, label, processes);
    call_as_group({mine}, comms, processes, label, [messages](std::size_t, nccl::Comm comm, Stream stream, const char*& call) {
      const nccl::Library& l = nccl::library();
      for (const Message& m : messages) {
        auto* const at = reinterpret_cast<void*>(m.at);
        call = m.goes ? "ncclSend" : "ncclRecv";
        const int status = m.goes ? l.ncclSend(at, m.bytes, nccl::kUint8, m.place, comm, stream)
                                  : l.ncclRecv(at, m.bytes, nccl::kUint8, m.place, comm, stream);
        if (status != nccl::kSuccess) return status;
      }
      return nccl::kSuccess;
    });
    watched.begun();
  } catch (const DistributedError& e) {
    give_up(e.message());
    throw;
  }
}

std::string collectives_version() {
  const nccl::Library& l = nccl::library();
  int v = 0;
  if (!l.problem.empty()) return l.problem;
  nccl::check(l.ncclGetVersion(&v), "ncclGetVersion", "NCCL");
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

void wait_watching(GpuDevice& device, const std::string& what) {
  wait_for_collectives(device, what);
  device.wait(what);
}

void wait_for_collectives(GpuDevice& device, const std::string& what, std::size_t at_most) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const auto late = takes_too_long(device, what);
    const auto first = late ? late : first_running(device, at_most);
    if (!first) return;
    try {
      look_for_faults(*first, late != nullptr, what);
    } catch (const DistributedError& e) {
      give_up(e.message());
      throw;
    }
    if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace weft::detail::cuda
