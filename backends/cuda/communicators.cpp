#include "weft/backends/cuda/communicators.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "weft/backends/cuda/device.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/processes/device_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using Groups = std::vector<std::vector<int>>;

/// One for each of this process's devices in a mesh, null for one that is alone in its group.
using Comms = std::vector<nccl::Comm>;

std::mutex& comms_mutex() {
  static std::mutex m;
  return m;
}
/// By the mesh's devices, then by how they are divided; undivided: the mesh's own.
using Key = std::pair<std::vector<int>, Groups>;
std::map<Key, Comms>& all_comms() {
  static auto& all = *new std::map<Key, Comms>;
  return all;
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

/// A thread for calls that may never return.
class Caller {
 public:
  static std::shared_ptr<Caller> make() {
    const std::shared_ptr<Caller> c(new Caller);
    std::thread([c] { c->serve(); }).detach();
    return c;
  }
  void start(std::function<int()> f) {
    const std::lock_guard lock(mutex_);
    call_ = std::move(f), has_call_ = true, done_ = false;
    changed_.notify_all();
  }
  /// Whether the call has returned by then.
  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return done_; });
  }
  int result() {
    const std::lock_guard lock(mutex_);
    if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
    return result_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return has_call_; });
      const std::function<int()> f = std::move(call_);
      has_call_ = false;
      lock.unlock();
      int result = 0;
      std::exception_ptr problem;
      try {
        result = f();
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      result_ = result, problem_ = problem, done_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<int()> call_;
  bool has_call_ = false, done_ = true;
  int result_ = 0;
  std::exception_ptr problem_;
};

void abort_all(const Comms& comms) {
  for (nccl::Comm c : comms)
    if (c) nccl::library().ncclCommAbort(c);
}

/// The results of a call of NCCL for several devices, in memory that outlives the caller, which may stop waiting.
struct Made {
  explicit Made(std::size_t n) : comms(n) {}
  Comms comms;
  const char* call = "ncclGroupStart";
  int status = nccl::kSuccess;
};

/// `each(k, device, comm)` for each of the mesh's devices at these positions, as one group.
Comms make_group(const std::vector<int>& mesh, const std::vector<std::size_t>& here, const std::vector<int>& processes, const char* call,
                 const CollectiveLabel& label, std::function<int(std::size_t, nccl::Comm*)> each) {
  const auto made = std::make_shared<Made>(here.size());
  guarded(processes, label, [made, mesh, here, call, each = std::move(each)] {
    const nccl::Library& l = nccl::library();
    made->status = l.ncclGroupStart();
    if (made->status != nccl::kSuccess) return made->status;
    made->call = call;
    for (std::size_t i = 0; i < here.size() && made->status == nccl::kSuccess; ++i) {
      device_of(mesh[here[i]]).enter();
      made->status = each(i, &made->comms[i]);
    }
    const int end = l.ncclGroupEnd();
    if (made->status == nccl::kSuccess && end != nccl::kSuccess) made->call = "ncclGroupEnd", made->status = end;
    return made->status;
  });
  if (made->status != nccl::kSuccess) abort_all(made->comms);
  nccl::check(made->status, made->call, label.text, label.loc);
  return made->comms;
}

Comms make_root(const std::vector<int>& mesh, const std::vector<std::size_t>& here, const std::vector<int>& processes,
                const CollectiveLabel& label) {
  const nccl::Library& l = nccl::library();
  for (std::size_t a : here)
    for (std::size_t b : here)
      if (a != b) device_of(mesh[a]).share_memory_with(device_of(mesh[b]));
  const int n = static_cast<int>(mesh.size());
  if (processes.empty()) {
    std::vector<int> ordinals;
    for (int id : mesh) ordinals.push_back(device_of(id).ordinal());
    Comms comms(mesh.size());
    nccl::check(l.ncclCommInitAll(comms.data(), n, ordinals.data()), "ncclCommInitAll", label.text, label.loc);
    return comms;
  }
  const std::string told =
      device_world()->meet(processes, label, fmt::format("a communicator of the devices {}", fmt::join(mesh, ",")), [&] {
        nccl::UniqueId id{};
        nccl::check(l.ncclGetUniqueId(&id), "ncclGetUniqueId", label.text, label.loc);
        return std::string(id.bytes, sizeof id.bytes);
      });
  nccl::UniqueId id{};
  std::memcpy(id.bytes, told.data(), std::min(told.size(), sizeof id.bytes));
  return make_group(mesh, here, processes, "ncclCommInitRank", label, [=](std::size_t i, nccl::Comm* made) {
    return nccl::library().ncclCommInitRank(made, n, id, static_cast<int>(here[i]));
  });
}

Comms split(const std::vector<int>& mesh, const Groups& groups, const std::vector<std::size_t>& here, const std::vector<int>& processes,
            const Comms& root, const CollectiveLabel& label) {
  if (!processes.empty()) {
    std::string text = fmt::format("communicators of groups of the devices {}:", fmt::join(mesh, ","));
    for (const std::vector<int>& g : groups) text += fmt::format(" [{}]", fmt::join(g, ","));
    device_world()->meet(processes, label, text);
  }
  std::vector<std::pair<int, int>> places(mesh.size(), {nccl::kNoColor, 0});  // color and key
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].size() && groups[g].size() > 1; ++i)
      places[static_cast<std::size_t>(groups[g][i])] = {static_cast<int>(g), static_cast<int>(i)};
  return make_group(mesh, here, processes, "ncclCommSplit", label, [=](std::size_t i, nccl::Comm* made) {
    const auto [color, key] = places[here[i]];
    return nccl::library().ncclCommSplit(root[i], color, key, made, nullptr);
  });
}

/// Whether there is only one group, of all positions in order.
bool is_undivided(const Groups& groups, std::size_t n) {
  if (groups.size() != 1 || groups[0].size() != n) return false;
  for (std::size_t i = 0; i < n; ++i)
    if (groups[0][i] != static_cast<int>(i)) return false;
  return true;
}

}  // namespace

std::vector<int> processes_across(const std::vector<int>& device_ids) {
  return all_local(device_ids) ? std::vector<int>() : processes().processes_of(device_ids);
}

int guarded(const std::vector<int>& processes, const CollectiveLabel& label, std::function<int()> f) {
  if (processes.empty()) return f();
  static std::mutex mutex;
  static auto& idle = *new std::vector<std::shared_ptr<Caller>>;
  std::shared_ptr<Caller> caller;
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) caller = std::move(idle.back()), idle.pop_back();
  }
  if (!caller) caller = Caller::make();
  DeviceWorld& world = *device_world();
  const Clock::time_point begin = Clock::now();
  caller->start(std::move(f));
  while (!caller->wait(std::chrono::milliseconds(20))) {
    world.look(label);
    if (Clock::now() - begin <= world.world().timeout()) continue;
    world.expect(processes, label, world.calls(processes));
    throw DistributedError(
        fmt::format("{}: NCCL's calls have not returned within {:.3g} s (WEFT_COLLECTIVE_TIMEOUT), though all processes are in it",
                    label.text, world.world().timeout().count()),
        label.loc);
  }
  const int result = caller->result();
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(caller));
  return result;
}

std::vector<nccl::Comm> communicators_of(const std::vector<int>& mesh, const Groups& groups, std::size_t which,
                                         const CollectiveLabel& label) {
  nccl::library_for(label.text, label.loc);
  const std::vector<std::size_t> here = local_positions(mesh);
  const bool divided = !is_undivided(groups, mesh.size());
  const Key root_key{mesh, {}}, key{mesh, divided ? groups : Groups()};
  const auto known = [](const Key& k) {
    const std::lock_guard lock(comms_mutex());
    const auto found = all_comms().find(k);
    return found == all_comms().end() ? Comms() : found->second;
  };
  const auto keep = [](const Key& k, const Comms& comms) {
    const std::lock_guard lock(comms_mutex());
    all_comms()[k] = comms;
    return comms;
  };
  Comms comms = known(key);
  if (comms.empty()) {
    static std::mutex making;  // one after the other
    const std::lock_guard lock(making);
    comms = known(key);
    const std::vector<int> processes = comms.empty() ? processes_across(mesh) : std::vector<int>();
    if (comms.empty()) {
      Comms root = known(root_key);
      if (root.empty()) root = keep(root_key, make_root(mesh, here, processes, label));
      comms = divided ? keep(key, split(mesh, groups, here, processes, root, label)) : root;
    }
  }
  std::vector<nccl::Comm> out;
  for (int position : groups[which])
    for (std::size_t i = 0; i < here.size(); ++i)
      if (here[i] == static_cast<std::size_t>(position)) out.push_back(comms[i]);
  return out;
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

void abort_communicators(const std::string& why) {
  {
    // NCCL waits for graphs that hold a communicator before destroying it.
    const std::lock_guard lock(keepers().mutex);
    ++keepers().aborted;
    for (const KeepsCollectives* k : keepers().all) k->drop();
  }
  if (DeviceWorld* world = device_world()) world->next_era(why);
  const std::lock_guard lock(comms_mutex());
  for (auto& [key, comms] : all_comms()) abort_all(comms);
  all_comms().clear();
}

int asynchronous_error() {
  const std::lock_guard lock(comms_mutex());
  for (auto& [key, comms] : all_comms())
    for (nccl::Comm c : comms) {
      int status = nccl::kSuccess;
      if (c) nccl::library().ncclCommGetAsyncError(c, &status);
      if (status != nccl::kSuccess && status != nccl::kInProgress) return status;
    }
  return nccl::kSuccess;
}

}  // namespace weft::detail::cuda
