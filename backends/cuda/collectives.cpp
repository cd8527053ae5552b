#include "backends/cuda/collectives.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "backends/cuda/nccl.h"
#include "backends/cuda/supply.h"
#include "core/error.h"
#include "runtime/accelerator.h"
#include "runtime/blocks.h"
#include "runtime/buffer.h"
#include "runtime/processes.h"

namespace weft::detail::cuda {
namespace {

constexpr double kTimeLimit = 600;        // seconds
constexpr std::size_t kManyRunning = 64;  // more collectives of a device than these are looked through

struct Library {
#define WEFT_DECLARE(name, parameters) int(*name) parameters = nullptr;
  WEFT_NCCL(WEFT_DECLARE)
#undef WEFT_DECLARE
  const char* (*ncclGetErrorString)(int) = nullptr;
  std::string problem;
};

const Library& library() {
  static const Library l = [] {
    Library r;
    const char* given = std::getenv("WEFT_LIBNCCL");
    const std::string path = given ? given : "libnccl.so.2";
    void* file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!file) {
      const char* reason = dlerror();
      r.problem =
          fmt::format("collectives between GPUs need NCCL: {}; install it, or set WEFT_LIBNCCL to its path", reason ? reason : path);
      return r;
    }
#define WEFT_LOOK_UP(name, parameters)                             \
  r.name = reinterpret_cast<decltype(r.name)>(dlsym(file, #name)); \
  if (!r.name && r.problem.empty()) r.problem = fmt::format("{} is too old: it has no {}", path, #name);
    WEFT_NCCL(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
    r.ncclGetErrorString = reinterpret_cast<decltype(r.ncclGetErrorString)>(dlsym(file, "ncclGetErrorString"));
    return r;
  }();
  return l;
}

const char* status_name(int status) {
  static constexpr const char* kNames[] = {"ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
                                           "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  return status >= 0 && status < static_cast<int>(std::size(kNames)) ? kNames[status] : "an unknown status";
}
std::string status_text(int status) {
  const Library& l = library();
  return fmt::format("{} ({}){}", status_name(status), status,
                     l.ncclGetErrorString ? fmt::format(": {}", l.ncclGetErrorString(status)) : "");
}
void check_nccl(int status, const char* call, const std::string& what) {
  if (status != nccl::kSuccess && status != nccl::kInProgress)
    throw DistributedError(fmt::format("{}: {} gives {}", what, call, status_text(status)));
}

/// The communicators of a group of devices, in the group's order: one for each.
struct Clique {
  std::vector<nccl::Comm> comms;
};

std::mutex& cliques_mutex() {
  static std::mutex m;
  return m;
}
/// By the mesh's devices, then the group's.
using CliqueKey = std::pair<std::vector<int>, std::vector<int>>;
std::map<CliqueKey, Clique>& cliques() {
  static auto& all = *new std::map<CliqueKey, Clique>;
  return all;
}

/// A collective in a device's stream, between two marks.
struct Running {
  std::unique_ptr<Mark> begin, end;
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
  const char* given = std::getenv("WEFT_COLLECTIVE_TIMEOUT");
  return given && *given ? std::atof(given) : kTimeLimit;
}

bool reached(const Mark& m, const std::string& what) {
  const Result r = driver().cuEventQuery(m.event());
  if (r != kNotReady) check(r, "cuEventQuery", what);
  return r != kNotReady;
}

/// Forgets what has ended. Whether the first that has not takes too long.
bool takes_too_long(GpuDevice& device, const std::string& what) {
  const std::lock_guard lock(running_mutex());
  std::deque<Running>& list = running()[&device];
  while (!list.empty() && reached(*list.front().end, what)) list.pop_front();
  if (list.empty()) return false;
  Running& first = list.front();
  const auto now = std::chrono::steady_clock::now();
  if (!first.seen && reached(*first.begin, what)) first.seen = now;
  const double limit = time_limit();
  return limit > 0 && first.seen && std::chrono::duration<double>(now - *first.seen).count() > limit;
}

struct Keepers {
  std::recursive_mutex mutex;
  std::vector<KeepsCollectives*> all;
  std::atomic<std::uint64_t> aborted{0};
};
Keepers& keepers() {
  static auto& k = *new Keepers;
  return k;
}

/// Communicators of the mesh's devices are made when they first communicate; those of groups are split from them. All devices are this
/// process's, so that no two processes can make them in different orders.
const Clique& clique_of(const std::vector<int>& mesh, const std::vector<int>& group, const std::string& what) {
  const Library& l = library();
  if (!l.problem.empty()) throw DistributedError(what + ": " + l.problem);
  const std::lock_guard lock(cliques_mutex());
  if (const auto known = cliques().find({mesh, group}); known != cliques().end()) return known->second;
  const auto keep = [&](const std::vector<int>& ids, std::vector<nccl::Comm> comms) -> const Clique& {
    return cliques()[{mesh, ids}] = Clique{std::move(comms)};
  };
  const auto known_world = cliques().find({mesh, mesh});
  if (known_world == cliques().end()) {
    std::vector<int> ordinals;
    for (int id : mesh) ordinals.push_back(id - processes().num_devices());
    for (int a : mesh)
      for (int b : mesh)
        if (a != b) device_of(a).share_memory_with(device_of(b));
    std::vector<nccl::Comm> comms(mesh.size());
    check_nccl(l.ncclCommInitAll(comms.data(), static_cast<int>(mesh.size()), ordinals.data()), "ncclCommInitAll", what);
    keep(mesh, std::move(comms));
  }
  const Clique& world = cliques().at({mesh, mesh});
  if (group == mesh) return world;
  std::vector<nccl::Comm> parts(mesh.size());
  check_nccl(l.ncclGroupStart(), "ncclGroupStart", what);
  int status = nccl::kSuccess;
  for (std::size_t k = 0; k < mesh.size() && status == nccl::kSuccess; ++k) {
    const auto at = std::find(group.begin(), group.end(), mesh[k]);
    status =
        l.ncclCommSplit(world.comms[k], at == group.end() ? nccl::kNoColor : 0, static_cast<int>(at - group.begin()), &parts[k], nullptr);
  }
  const int end = l.ncclGroupEnd();
  std::vector<nccl::Comm> comms;
  for (int id : group) comms.push_back(parts[static_cast<std::size_t>(std::find(mesh.begin(), mesh.end(), id) - mesh.begin())]);
  if (status != nccl::kSuccess || end != nccl::kSuccess)
    for (nccl::Comm c : comms)
      if (c) l.ncclCommAbort(c);
  check_nccl(status, "ncclCommSplit", what);
  check_nccl(end, "ncclGroupEnd", what);
  return keep(group, std::move(comms));
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

class Join {
 public:
  Join(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
       std::span<const int> device_ids)
      : plan_(plan), in_(in), out_(out), mesh_(device_ids.begin(), device_ids.end()) {
    for (int k : group) {
      at_.push_back(static_cast<std::size_t>(k));
      ids_.push_back(device_ids[at_.back()]);
      gpus_.push_back(&device_of(ids_.back()));
    }
    what_ = fmt::format("a collective of {} over the devices {}", to_string(plan.in), fmt::join(ids_, ", "));
    // In a fixed order, so that two joins do not wait for each other.
    std::vector<GpuDevice*> sorted = gpus_;
    std::sort(sorted.begin(), sorted.end(), [](GpuDevice* a, GpuDevice* b) { return a->id() < b->id(); });
    for (GpuDevice* g : sorted) locks_.emplace_back(g->order());
  }

  void run() {
    const std::size_t n = at_.size();
    const bool first = plan_.groups.empty() || static_cast<std::size_t>(plan_.groups[0][0]) == at_[0];
    if (Supply* s = gpus_[0]->supply()) s->communicated(first, static_cast<std::int64_t>(n - 1) * plan_.in.bytes());
    if (n == 1 && plan_.what != Collective::ppermute && plan_.in.shape == plan_.out.shape) {
      out_[at_[0]] = in_[at_[0]];
      return;
    }
    switch (plan_.what) {
      case Collective::psum: return reduce(nccl::kSum);
      case Collective::pmax: return reduce(nccl::kMax);
      case Collective::pmin: return reduce(nccl::kMin);
      case Collective::all_gather: return gather();
      case Collective::reduce_scatter: return scatter();
      case Collective::all_to_all: return exchange();
      case Collective::ppermute: return permute();
      case Collective::pbroadcast: return broadcast();
      default: throw Error("internal error: not a join");
    }
  }

 private:
  static DevicePointer pointer(const Ref<Buffer>& b) { return static_cast<GpuBuffer&>(*b).pointer(); }
  static void* address(DevicePointer p) { return reinterpret_cast<void*>(p); }
  std::size_t size() const { return at_.size(); }
  Ref<Buffer> memory(std::size_t k, std::int64_t bytes) const {
    return Ref<Buffer>(new GpuBuffer(*gpus_[k], static_cast<std::size_t>(bytes)));
  }
  Ref<Buffer>& result(std::size_t k) {
    Ref<Buffer>& r = out_[at_[k]];
    r = memory(k, plan_.out.bytes());
    return r;
  }
  const Ref<Buffer>& operand(std::size_t k) const { return in_[at_[k]]; }

  /// Whether this becomes a part of graphs: events in these are not to be asked for, and communicators that these hold not aborted. Who
  /// captures does that.
  bool captured() const { return gpus_[0]->supply() && gpus_[0]->supply()->mode() == Supply::Mode::capturing; }

  /// The devices' communicators; where making them fails, all are aborted.
  Clique clique() const {
    try {
      return clique_of(mesh_, ids_, what_);
    } catch (const DistributedError&) {
      if (!captured()) abort_communicators();
      throw;
    }
  }

  /// f(k, communicator, stream) for each device, as one group. `call`: what f calls, or has called last.
  template <class F>
  void grouped(const char* const& call, F f) {
    const Library& l = library();
    const Clique c = clique();
    std::optional<WatchedCollective> watched;
    if (!captured()) watched.emplace(gpus_, what_);
    check_nccl(l.ncclGroupStart(), "ncclGroupStart", what_);
    int status = nccl::kSuccess;
    for (std::size_t k = 0; k < size() && status == nccl::kSuccess; ++k) {
      gpus_[k]->enter();
      status = f(k, c.comms[k], gpus_[k]->stream());
    }
    const int end = l.ncclGroupEnd();
    if (status != nccl::kSuccess || (end != nccl::kSuccess && end != nccl::kInProgress))
      if (!captured()) abort_communicators();
    check_nccl(status, call, what_);
    check_nccl(end, "ncclGroupEnd", what_);
    if (watched) watched->begun();
  }

  /// The elements' type, and how many there are in so many bytes of it.
  std::size_t count_of(std::int64_t bytes, int& type) const {
    std::int64_t count = bytes / plan_.in.dtype.itemsize();
    type = nccl_type(plan_.in.dtype, count);
    if (type < 0)
      throw DistributedError(fmt::format("{}: NCCL has no {}; convert it to a wider dtype first", what_, plan_.in.dtype.name()));
    return static_cast<std::size_t>(count);
  }

  void reduce(int op) {
    int type = 0;
    const std::size_t count = count_of(plan_.in.bytes(), type);
    for (std::size_t k = 0; k < size(); ++k) result(k);
    grouped("ncclAllReduce", [&](std::size_t k, nccl::Comm comm, Stream stream) {
      return library().ncclAllReduce(address(pointer(operand(k))), address(pointer(out_[at_[k]])), count, type, op, comm, stream);
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
    check(driver().cuMemcpy2DAsync_v2(&c, gpus_[k]->stream()), "cuMemcpy2DAsync", what_);
  }

  static std::int64_t before(const Shape& s, int dim) {
    std::int64_t n = 1;
    for (int d = 0; d < dim; ++d) n *= s[d];
    return n;
  }

  void gather() {
    const auto n = static_cast<std::int64_t>(size());
    const std::int64_t outer = before(plan_.in.shape, plan_.dim), bytes = plan_.in.bytes();
    const bool direct = outer <= 1;
    std::vector<Ref<Buffer>> all;
    for (std::size_t k = 0; k < size(); ++k) {
      result(k);
      all.push_back(direct ? out_[at_[k]] : memory(k, plan_.out.bytes()));
    }
    grouped("ncclAllGather", [&](std::size_t k, nccl::Comm comm, Stream stream) {
      return library().ncclAllGather(address(pointer(operand(k))), address(pointer(all[k])), static_cast<std::size_t>(bytes), nccl::kUint8,
                                     comm, stream);
    });
    if (direct) return;
    const std::int64_t row = bytes / outer;
    for (std::size_t k = 0; k < size(); ++k)
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(all[k]) + static_cast<DevicePointer>(j * bytes), row,
                  pointer(out_[at_[k]]) + static_cast<DevicePointer>(j * row), n * row, row, outer);
  }

  void scatter() {
    const auto n = static_cast<std::int64_t>(size());
    const std::int64_t outer = before(plan_.in.shape, plan_.dim), each = plan_.in.bytes() / n;
    int type = 0;
    const std::size_t count = count_of(each, type);
    std::vector<Ref<Buffer>> packed;
    for (std::size_t k = 0; k < size(); ++k) {
      result(k);
      packed.push_back(outer <= 1 ? operand(k) : memory(k, plan_.in.bytes()));
      if (outer <= 1) continue;
      const std::int64_t row = each / outer;
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(operand(k)) + static_cast<DevicePointer>(j * row), n * row,
                  pointer(packed[k]) + static_cast<DevicePointer>(j * each), row, row, outer);
    }
    grouped("ncclReduceScatter", [&](std::size_t k, nccl::Comm comm, Stream stream) {
      return library().ncclReduceScatter(address(pointer(packed[k])), address(pointer(out_[at_[k]])), count, type, nccl::kSum, comm,
                                         stream);
    });
  }

  void exchange() {
    const auto n = static_cast<std::int64_t>(size());
    const std::int64_t each = plan_.in.bytes() / n;
    const Shape part = plan_.in.shape.with(plan_.dim, plan_.in.shape[plan_.dim] / n);
    const std::int64_t split_rows = before(part, plan_.dim), concat_rows = before(part, plan_.concat_dim);
    std::vector<Ref<Buffer>> outgoing, incoming;
    for (std::size_t k = 0; k < size(); ++k) {
      result(k);
      outgoing.push_back(memory(k, plan_.in.bytes())), incoming.push_back(memory(k, plan_.in.bytes()));
      const std::int64_t row = split_rows == 0 ? 0 : each / split_rows;
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(operand(k)) + static_cast<DevicePointer>(j * row), n * row,
                  pointer(outgoing[k]) + static_cast<DevicePointer>(j * each), row, row, split_rows);
    }
    const Library& l = library();
    const char* called = "ncclSend";
    grouped(called, [&](std::size_t k, nccl::Comm comm, Stream stream) {
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<DevicePointer>(j * each);
        called = "ncclSend";
        int status =
            l.ncclSend(address(pointer(outgoing[k]) + at), static_cast<std::size_t>(each), nccl::kUint8, static_cast<int>(j), comm, stream);
        if (status == nccl::kSuccess)
          called = "ncclRecv", status = l.ncclRecv(address(pointer(incoming[k]) + at), static_cast<std::size_t>(each), nccl::kUint8,
                                                   static_cast<int>(j), comm, stream);
        if (status != nccl::kSuccess) return status;
      }
      return nccl::kSuccess;
    });
    const std::int64_t row = concat_rows == 0 ? 0 : each / concat_rows;
    for (std::size_t k = 0; k < size(); ++k)
      for (std::int64_t j = 0; j < n; ++j)
        copy_rows(k, pointer(incoming[k]) + static_cast<DevicePointer>(j * each), row,
                  pointer(out_[at_[k]]) + static_cast<DevicePointer>(j * row), n * row, row, concat_rows);
  }

  void permute() {
    const Library& l = library();
    const auto bytes = static_cast<std::size_t>(plan_.in.bytes());
    std::vector<char> given(size());
    for (const auto& [from, to] : plan_.perm) given[static_cast<std::size_t>(to)] = 1;
    for (std::size_t k = 0; k < size(); ++k) {
      result(k);
      if (given[k]) continue;
      gpus_[k]->enter();
      check(driver().cuMemsetD8Async(pointer(out_[at_[k]]), 0, bytes, gpus_[k]->stream()), "cuMemsetD8Async", what_);
    }
    const char* called = "ncclSend";
    grouped(called, [&](std::size_t k, nccl::Comm comm, Stream stream) {
      for (const auto& [from, to] : plan_.perm) {
        int status = nccl::kSuccess;
        called = "ncclSend";
        if (static_cast<std::size_t>(from) == k) status = l.ncclSend(address(pointer(operand(k))), bytes, nccl::kUint8, to, comm, stream);
        if (status == nccl::kSuccess && static_cast<std::size_t>(to) == k)
          called = "ncclRecv", status = l.ncclRecv(address(pointer(out_[at_[k]])), bytes, nccl::kUint8, from, comm, stream);
        if (status != nccl::kSuccess) return status;
      }
      return nccl::kSuccess;
    });
  }

  void broadcast() {
    for (std::size_t k = 0; k < size(); ++k) result(k);
    grouped("ncclBroadcast", [&](std::size_t k, nccl::Comm comm, Stream stream) {
      return library().ncclBroadcast(address(pointer(operand(k))), address(pointer(out_[at_[k]])),
                                     static_cast<std::size_t>(plan_.in.bytes()), nccl::kUint8, plan_.source, comm, stream);
    });
  }

  const CollectivePlan& plan_;
  std::span<const Ref<Buffer>> in_;
  std::span<Ref<Buffer>> out_;
  const std::vector<int> mesh_;
  std::vector<std::size_t> at_;
  std::vector<int> ids_;
  std::vector<GpuDevice*> gpus_;
  std::vector<std::unique_lock<std::recursive_mutex>> locks_;
  std::string what_;
};

}  // namespace

WatchedCollective::WatchedCollective(const std::vector<GpuDevice*>& devices, std::string what) : devices_(devices), what_(std::move(what)) {
  for (GpuDevice* g : devices_) {
    std::size_t known = 0;
    {
      const std::lock_guard lock(running_mutex());
      known = running()[g].size();
    }
    if (known > kManyRunning) takes_too_long(*g, what_);
    begin_.push_back(std::make_unique<Mark>(*g, what_));
  }
}

void WatchedCollective::begun() {
  for (std::size_t k = 0; k < devices_.size(); ++k) {
    auto ended = std::make_unique<Mark>(*devices_[k], what_);
    const std::lock_guard lock(running_mutex());
    running()[devices_[k]].push_back({std::move(begin_[k]), std::move(ended), {}});
  }
}

KeepsCollectives::KeepsCollectives(std::function<void()> drop) : drop_(std::move(drop)) {
  const std::lock_guard lock(keepers().mutex);
  keepers().all.push_back(this);
}
KeepsCollectives::~KeepsCollectives() {
  const std::lock_guard lock(keepers().mutex);
  std::erase(keepers().all, this);
}

std::uint64_t communicators_aborted() { return keepers().aborted; }

void abort_communicators() {
  {
    // NCCL waits for graphs that hold a communicator before that goes.
    const std::lock_guard lock(keepers().mutex);
    ++keepers().aborted;
    for (const KeepsCollectives* k : keepers().all) k->drop();
  }
  const std::lock_guard lock(cliques_mutex());
  for (auto& [key, c] : cliques())
    for (nccl::Comm comm : c.comms) library().ncclCommAbort(comm);
  cliques().clear();
  const std::lock_guard also(running_mutex());
  running().clear();
}

void join_group(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                std::span<const int> device_ids) {
  Join(plan, group, in, out, device_ids).run();
}

std::string collectives_version() {
  const Library& l = library();
  int v = 0;
  if (!l.problem.empty()) return l.problem;
  check_nccl(l.ncclGetVersion(&v), "ncclGetVersion", "NCCL");
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

void wait_watching(GpuDevice& device, const std::string& what) {
  wait_for_collectives(device, what);
  device.wait(what);
}

void wait_for_collectives(GpuDevice& device, const std::string& what) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const bool late = takes_too_long(device, what);
    {
      const std::lock_guard lock(running_mutex());
      if (running()[&device].empty()) return;
    }
    int failed = nccl::kSuccess;
    {
      const std::lock_guard lock(cliques_mutex());
      for (auto& [key, c] : cliques())
        for (nccl::Comm comm : c.comms) {
          int status = nccl::kSuccess;
          library().ncclCommGetAsyncError(comm, &status);
          if (status != nccl::kSuccess && status != nccl::kInProgress) failed = status;
        }
    }
    if (failed != nccl::kSuccess) {
      abort_communicators();
      throw DistributedError(
          fmt::format("{}: NCCL reports {} of a collective that runs; its communicators are aborted", what, status_text(failed)));
    }
    if (late) {
      abort_communicators();
      throw DistributedError(fmt::format(
          "{}: a collective has not ended after {} seconds (WEFT_COLLECTIVE_TIMEOUT); its communicators are aborted", what, time_limit()));
    }
    if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace weft::detail::cuda
