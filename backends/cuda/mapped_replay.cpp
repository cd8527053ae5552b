// Mapped programs as graphs, one for each device: kernels, matmuls and NCCL's calls of a step are captured from all devices' streams at
// once, and replayed where arrays are as they were then. Several processes must capture and replay alike, independently of the addresses of
// their arrays: there a program has fixed memory for its inputs and results, and arrays are copied.
#include "weft/runtime/sharded/mapped_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "weft/backends/cuda/collectives.h"
#include "weft/backends/cuda/graph_memory.h"
#include "weft/backends/cuda/libraries/nvtx.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/collectives.h"
#include "weft/runtime/processes/device_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail::cuda {
namespace {

constexpr std::size_t kGraphsKept = 4;
constexpr const char* kWhat = "a mapped program";

/// A thread that launches a device's graphs. A launch may wait until the devices before it have come to a collective, which these do only
/// when all are launched: NCCL's documentation warns of one thread that launches for several devices.
class Launcher {
 public:
  explicit Launcher(GpuDevice& device) : device_(device) {
    std::thread([this] { serve(); }).detach();
  }
  void launch(GraphExec graph) {
    const std::lock_guard lock(mutex_);
    graph_ = graph, done_ = false;
    changed_.notify_all();
  }
  Result wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return result_;
  }

 private:
  void serve() {
    restore_standard_floats();
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return graph_ != nullptr; });
      const GraphExec graph = std::exchange(graph_, nullptr);
      lock.unlock();
      Result r = driver().cuCtxSetCurrent(device_.context());
      if (r == kSuccess) r = driver().cuGraphLaunch(graph, device_.stream());
      lock.lock();
      result_ = r, done_ = true;
      changed_.notify_all();
    }
  }

  GpuDevice& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  GraphExec graph_ = nullptr;
  bool done_ = true;
  Result result_ = kSuccess;
};
Launcher& launcher_of(GpuDevice& device) {
  static std::mutex mutex;
  static auto& all = *new std::map<GpuDevice*, std::unique_ptr<Launcher>>;  // their threads last as long as the process
  const std::lock_guard lock(mutex);
  std::unique_ptr<Launcher>& l = all[&device];
  if (!l) l = std::make_unique<Launcher>(device);
  return *l;
}

/// The executable graphs of all devices for one call.
struct Graphs {
  std::vector<GraphExec> of_device;
  std::vector<Graph> sources;       ///< kept where they have conditional nodes
  std::uint64_t communicators = 0;  ///< how often these had been aborted when it was captured
  ~Graphs() {
    for (GraphExec g : of_device)
      if (g) driver().cuGraphExecDestroy(g);
    for (Graph g : sources)
      if (g) driver().cuGraphDestroy(g);
  }
};

class Replay final : public MappedReplay {
 public:
  Replay(const std::vector<int>& mesh, std::size_t num_constants)
      : mesh_size_(mesh.size()), here_(local_positions(mesh)), across_(processes_across(mesh)), num_constants_(num_constants) {
    for (std::size_t position : here_) ids_.push_back(mesh[position]);
    for (int id : ids_) devices_.push_back(&device_of(id));
    label_.text = fmt::format("{} over {} devices", kWhat, mesh_size_);
    label_.signature = std::hash<std::string>()(label_.text);
    in_order_ = devices_;
    std::sort(in_order_.begin(), in_order_.end(), [](GpuDevice* a, GpuDevice* b) { return a->id() < b->id(); });
  }

  Values run(Values inputs, const Steps& steps) override {
    if (!possible_ && across_.empty()) return steps(inputs, false);
    for (auto& value : inputs)
      for (std::size_t k = 0; k < ids_.size(); ++k) at(value, k) = moved(at(value, k), ids_[k]);
    const std::lock_guard mine(mutex_);
    before_collective(devices_, label_, across_);
    // After a failure, all processes start again from the first run.
    if (const std::uint64_t now = communicators_aborted(); !across_.empty() && now != begun_) {
      begun_ = now;
      possible_ = true, noted_ = false;
    }
    if (!possible_) return steps(inputs, false);
    std::vector<std::unique_lock<std::recursive_mutex>> locks;
    for (GpuDevice* d : in_order_) locks.emplace_back(d->order());
    if (std::any_of(devices_.begin(), devices_.end(), [](GpuDevice* d) { return d->supply() != nullptr; })) return steps(inputs, true);
    return noted_ ? repeat(inputs, steps) : note(inputs, steps);
  }

 private:
  /// The source of a device's result: an input, an allocation of the run, or a constant buffer.
  struct Source {
    enum class Kind { input, piece, fixed } kind = Kind::fixed;
    std::size_t value = 0, device = 0;  ///< of an input; the piece's number and its device
    Ref<Buffer> buffer;
  };
  /// A call with arrays that are at these places.
  struct Known {
    std::vector<DevicePointer> addresses;
    std::uint64_t communicators = 0;  ///< as they were in its last run
    std::shared_ptr<Graphs> graphs;
  };
  using Places = std::vector<std::vector<DevicePointer>>;

  /// The block of the k-th of this process's devices.
  Ref<Buffer>& at(std::vector<Ref<Buffer>>& value, std::size_t k) const { return value[here_[k]]; }
  const Ref<Buffer>& at(const std::vector<Ref<Buffer>>& value, std::size_t k) const { return value[here_[k]]; }
  static DevicePointer pointer(const Ref<Buffer>& b) { return static_cast<GpuBuffer&>(*b).pointer(); }

  /// The first run shows what is allocated, and whether all of it is the devices' work.
  Values note(const Values& inputs, const Steps& steps) {
    Values results;
    std::vector<GraphMemory::Pieces> pieces;
    {
      GraphMemory supply(devices_);
      results = steps(inputs, true);
      const bool repeatable = supply.repeatable() && !is_switched_on("WEFT_CUDA_SYNC");
      possible_ = across_.empty() ? repeatable : all_say(repeatable);
      if (!possible_) return results;
      pieces = supply.pieces();
      collectives_ = supply.collectives(), moved_bytes_ = supply.moved_bytes();
      conditions_ = supply.conditions();
    }
    sources_.clear();
    for (const auto& value : results)
      for (std::size_t k = 0; k < ids_.size(); ++k) sources_.push_back(source_of(at(value, k), inputs, pieces));
    sizes_.clear();
    for (GraphMemory::Pieces& p : pieces) sizes_.push_back(place_pieces(p));
    pieces_ = std::move(pieces);
    own_memory_.reset();
    given_.clear(), made_.clear();
    noted_ = true;
    return results;
  }

  Source source_of(const Ref<Buffer>& b, const Values& inputs, std::vector<GraphMemory::Pieces>& pieces) const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      for (std::size_t k = 0; k < ids_.size(); ++k)
        if (at(inputs[i], k).get() == b.get()) return {Source::Kind::input, i, k, {}};
    for (std::size_t k = 0; k < ids_.size(); ++k)
      for (std::size_t n = pieces[k].size(); n-- > 0;)
        if (GraphMemory::Piece& p = pieces[k][n]; p.died < 0 && b->device_id() == ids_[k] && p.at == pointer(b)) {
          p.result = true;
          return {Source::Kind::piece, n, k, {}};
        }
    return {Source::Kind::fixed, 0, 0, b};
  }

  Values repeat(const Values& inputs, const Steps& steps) {
    if (!own_memory_) {
      std::vector<Ref<Buffer>> memory;
      for (std::size_t k = 0; k < ids_.size(); ++k)
        memory.push_back(Ref<Buffer>(new GpuBuffer(*devices_[k], static_cast<std::size_t>(sizes_[k]))));
      own_memory_ = std::move(memory);
    }
    if (!across_.empty()) return repeat_in_place(inputs, steps);
    // The results are new arrays.
    Places places(ids_.size());
    std::vector<std::vector<Ref<Buffer>>> made(ids_.size());
    std::vector<DevicePointer> addresses;
    for (const auto& value : inputs)
      for (std::size_t k = 0; k < ids_.size(); ++k) addresses.push_back(pointer(at(value, k)));
    for (std::size_t k = 0; k < ids_.size(); ++k) {
      made[k] = new_results(k);
      for (std::size_t n = 0; n < pieces_[k].size(); ++n) {
        const GraphMemory::Piece& p = pieces_[k][n];
        places[k].push_back(p.result ? pointer(made[k][n]) : pointer((*own_memory_)[k]) + static_cast<DevicePointer>(p.offset));
        if (p.result) addresses.push_back(places[k].back());
      }
    }
    const std::uint64_t communicators = communicators_aborted();
    auto [ready, capture_now] = look_up(addresses, communicators);
    if (!ready && capture_now && (ready = capture(inputs, places, steps))) keep(addresses, ready);
    if (ready) {
      launch(std::move(ready));
    } else {
      const GraphMemory supply(devices_, pieces_, places, false);
      steps(inputs, true);
    }
    return results_of(inputs, made);
  }

  Values results_of(const Values& inputs, const std::vector<std::vector<Ref<Buffer>>>& made) const {
    Values results(sources_.size() / ids_.size(), std::vector<Ref<Buffer>>(mesh_size_));
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const Source& s = sources_[i];
      at(results[i / ids_.size()], i % ids_.size()) = s.kind == Source::Kind::input   ? at(inputs[s.value], s.device)
                                                      : s.kind == Source::Kind::piece ? made[s.device][s.value]
                                                                                      : s.buffer;
    }
    return results;
  }

  /// The same where all processes must do it alike: always in the same memory, captured at the second time.
  Values repeat_in_place(const Values& inputs, const Steps& steps) {
    if (given_.empty() && made_.empty()) {
      given_ = inputs, made_.resize(ids_.size());
      for (std::size_t k = 0; k < ids_.size(); ++k) {
        for (std::size_t i = num_constants_; i < inputs.size(); ++i)
          at(given_[i], k) = Ref<Buffer>(new GpuBuffer(*devices_[k], at(inputs[i], k)->bytes()));
        for (const GraphMemory::Piece& p : pieces_[k])
          made_[k].push_back(p.result ? Ref<Buffer>(new GpuBuffer(*devices_[k], p.bytes)) : Ref<Buffer>());
      }
    }
    Places places(ids_.size());
    for (std::size_t k = 0; k < ids_.size(); ++k) {
      for (std::size_t i = num_constants_; i < inputs.size(); ++i) copy(k, at(inputs[i], k), at(given_[i], k));
      for (std::size_t n = 0; n < pieces_[k].size(); ++n)
        places[k].push_back(made_[k][n] ? pointer(made_[k][n])
                                        : pointer((*own_memory_)[k]) + static_cast<DevicePointer>(pieces_[k][n].offset));
    }
    auto [ready, capture_now] = look_up({}, communicators_aborted());
    if (!ready && capture_now) {
      try {
        ready = capture(given_, places, steps);
        possible_ = device_world()->all_say(across_, label_, "the graphs of a mapped program", ready != nullptr);
      } catch (const Error& e) {
        ready.reset();
        give_up_collectives(e.message());  // the others wait for what this one says
        throw;
      }
      if (!possible_) ready.reset();
      if (ready) keep({}, ready);
    }
    if (ready) {
      launch(std::move(ready));
    } else {
      const GraphMemory supply(devices_, pieces_, places, false);
      steps(given_, true);
    }
    std::vector<std::vector<Ref<Buffer>>> made(ids_.size());
    for (std::size_t k = 0; k < ids_.size(); ++k)
      for (const Ref<Buffer>& b : made_[k]) {
        made[k].push_back(b ? Ref<Buffer>(new GpuBuffer(*devices_[k], b->bytes())) : b);
        if (b) copy(k, b, made[k].back());
      }
    return results_of(inputs, made);
  }
  void copy(std::size_t k, const Ref<Buffer>& from, const Ref<Buffer>& to) const {
    if (from->bytes() == 0) return;
    devices_[k]->enter();
    check(driver().cuMemcpyDtoDAsync_v2(pointer(to), pointer(from), from->bytes(), devices_[k]->stream()), "cuMemcpyDtoDAsync",
          fmt::format("{}: {}", devices_[k]->label(), kWhat));
  }
  /// Whether all processes do.
  bool all_say(bool yes) const {
    try {
      return device_world()->all_say(across_, label_, "the first run of a mapped program", yes);
    } catch (const DistributedError& e) {
      give_up_collectives(e.message());
      throw;
    }
  }

  /// Memory for what are results among a device's pieces. Where several have one size, the first one is lowest: what the pool gives in
  /// another order is the same to the graphs.
  std::vector<Ref<Buffer>> new_results(std::size_t k) const {
    const GraphMemory::Pieces& pieces = pieces_[k];
    std::vector<Ref<Buffer>> made(pieces.size());
    std::map<std::size_t, std::vector<Ref<Buffer>>> of_size;
    for (const GraphMemory::Piece& p : pieces)
      if (p.result) of_size[p.bytes].push_back(Ref<Buffer>(new GpuBuffer(*devices_[k], p.bytes)));
    for (auto& [bytes, list] : of_size)
      std::sort(list.begin(), list.end(), [](const Ref<Buffer>& a, const Ref<Buffer>& b) { return pointer(a) > pointer(b); });
    for (std::size_t n = 0; n < pieces.size(); ++n) {
      if (!pieces[n].result) continue;
      std::vector<Ref<Buffer>>& list = of_size[pieces[n].bytes];
      made[n] = std::move(list.back());
      list.pop_back();
    }
    return made;
  }

  /// The graphs for these places; else whether they are to be captured now: it is the second time, with the communicators of the first.
  std::pair<std::shared_ptr<Graphs>, bool> look_up(const std::vector<DevicePointer>& addresses, std::uint64_t communicators) {
    std::vector<std::shared_ptr<Graphs>> forgotten;
    const std::lock_guard lock(graphs_mutex_);
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.addresses == addresses; });
    if (found == known_.end()) {
      if (known_.size() == kGraphsKept) {
        forgotten.push_back(std::move(known_.back().graphs));
        known_.pop_back();
      }
      known_.insert(known_.begin(), {addresses, communicators, nullptr});
      return {nullptr, false};
    }
    std::rotate(known_.begin(), found, found + 1);
    Known& k = known_.front();
    if (k.graphs && k.graphs->communicators == communicators) return {k.graphs, false};
    k.graphs.reset();
    return {nullptr, std::exchange(k.communicators, communicators) == communicators};
  }
  void keep(const std::vector<DevicePointer>& addresses, const std::shared_ptr<Graphs>& graphs) {
    const std::lock_guard lock(graphs_mutex_);
    if (!known_.empty() && known_.front().addresses == addresses && graphs->communicators == communicators_aborted())
      known_.front().graphs = graphs;
  }

  /// Returns null if the driver can't capture part of the program, which is then launched step by step from now on.
  std::shared_ptr<Graphs> capture(const Values& inputs, const Places& places, const Steps& steps) {
    const Driver& d = driver();
    auto made = std::make_shared<Graphs>();
    made->communicators = communicators_aborted();
    std::vector<Graph> graphs(ids_.size(), nullptr);
    const char* call = "cuStreamBeginCapture";
    Result failed = kSuccess;
    std::exception_ptr problem;
    std::size_t begun = 0, where = 0;
    try {
      for (; begun < ids_.size(); ++begun) {
        devices_[begun]->enter();
        failed = d.cuStreamBeginCapture_v2(devices_[begun]->stream(), kCaptureThreadLocal);
        where = begun;
        if (failed != kSuccess) break;
      }
      if (failed == kSuccess) {
        const GraphMemory supply(devices_, pieces_, places, true);
        steps(inputs, true);
      }
    } catch (...) {
      problem = std::current_exception();
    }
    // All captures are ended, even if one fails.
    for (std::size_t k = 0; k < begun; ++k) {
      devices_[k]->enter_to_destroy();
      const Result ended = d.cuStreamEndCapture(devices_[k]->stream(), &graphs[k]);
      if (ended != kSuccess && failed == kSuccess) failed = ended, call = "cuStreamEndCapture", where = k;
    }
    bool refused = failed >= kCaptureUnsupported && failed <= kCaptureLast;
    for (std::size_t k = 0; k < ids_.size() && failed == kSuccess && !problem; ++k) {
      GraphExec exec = nullptr;
      failed = d.cuGraphInstantiateWithFlags(&exec, graphs[k], 0);
      if (failed == kSuccess) made->of_device.push_back(exec);
      call = "cuGraphInstantiateWithFlags", where = k;
    }
    refused |= conditions_ && failed == kNotSupported;
    if (conditions_ && failed == kSuccess && !problem) {
      made->sources = graphs;
    } else {
      for (Graph g : graphs)
        if (g) d.cuGraphDestroy(g);
    }
    if (refused) {
      const char* why = nullptr;
      d.cuGetErrorName(failed, &why);
      fmt::print(stderr, "weft: warning: {}: {} is not replayed as a CUDA graph: {} gives {}\n", devices_[where]->label(), kWhat, call,
                 why ? why : "an unknown code");
      possible_ = false;
      return nullptr;
    }
    if (problem) {
      made.reset();
      give_up_after(problem);
    }
    check(failed, call, fmt::format("{}: {}", devices_[where]->label(), kWhat));
    return made;
  }

  /// Communicators that failed while they were captured are aborted now that no graph holds them. Among several processes whoever asked for
  /// the graphs does that, once: each time is one more that the others hear of.
  [[noreturn]] void give_up_after(std::exception_ptr problem) const {
    try {
      std::rethrow_exception(problem);
    } catch (const DistributedError& e) {
      if (across_.empty()) give_up_collectives(e.message());
      throw;
    }
  }

  void launch(std::shared_ptr<Graphs> graphs) {
    const ProfilerRange range(kWhat);
    WatchedCollective watched(devices_, label_, across_);
    for (std::size_t k = 0; k < ids_.size(); ++k) launcher_of(*devices_[k]).launch(graphs->of_device[k]);
    std::optional<std::size_t> bad;
    Result failed = kSuccess;
    for (std::size_t k = 0; k < ids_.size(); ++k)
      if (const Result r = launcher_of(*devices_[k]).wait(); r != kSuccess && !bad) bad = k, failed = r;
    if (bad) {
      graphs.reset();
      const std::string what = fmt::format("{}: {}", devices_[*bad]->label(), label_.text);
      give_up_collectives(what + ": cuGraphLaunch fails");  // the others would wait for it
      check(failed, "cuGraphLaunch", what);
    }
    watched.begun();
    for (int i = 0; i < collectives_; ++i) count_collective(i == 0 ? moved_bytes_ : 0);
  }

  const std::size_t mesh_size_;
  const std::vector<std::size_t> here_;  ///< positions in the mesh of this process's devices, of which the rest is
  const std::vector<int> across_;        ///< the processes; empty: this one alone
  const std::size_t num_constants_;      ///< inputs that are always the same buffers
  CollectiveLabel label_;
  std::vector<int> ids_;
  std::vector<GpuDevice*> devices_, in_order_;
  std::atomic<bool> possible_{!is_switched_on("WEFT_CUDA_SYNC") || !across_.empty()};
  std::mutex mutex_;
  bool noted_ = false;
  std::vector<GraphMemory::Pieces> pieces_;  ///< of each device
  std::vector<std::int64_t> sizes_;          ///< of the memory that each device's pieces share
  std::vector<Source> sources_;              ///< of each result, for each device
  int collectives_ = 0;
  std::int64_t moved_bytes_ = 0;
  bool conditions_ = false;  ///< loops or branches that depend on values
  std::optional<std::vector<Ref<Buffer>>> own_memory_;
  std::uint64_t begun_ = communicators_aborted();  ///< among several processes: how often communicators had been aborted then
  Values given_;                                   ///< among several: where inputs are copied to,
  std::vector<std::vector<Ref<Buffer>>> made_;     ///< and of each device the pieces that are results
  std::mutex graphs_mutex_;
  std::vector<Known> known_;  ///< the most recently used first
  const KeepsCollectives keeps_{[this] {
    const std::lock_guard lock(graphs_mutex_);
    for (Known& k : known_) k.graphs.reset();
  }};
};

}  // namespace
}  // namespace weft::detail::cuda

namespace weft::detail {
std::unique_ptr<MappedReplay> make_mapped_replay(std::vector<int> device_ids, std::size_t num_constants) {
  return std::make_unique<cuda::Replay>(device_ids, num_constants);
}
}  // namespace weft::detail
