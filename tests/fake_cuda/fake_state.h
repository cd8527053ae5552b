// What the fake driver keeps, and when it does what: streams that wait for each other, transfers that come late, graphs.
#pragma once
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calls.h"
#include "emulator.h"
#include "fake_meeting.h"
#include "weft/backends/cuda/driver.h"

namespace fake_cuda {

using namespace weft::detail::cuda;

constexpr std::size_t kMemory = std::size_t{1} << 30;  // of each device
constexpr std::size_t kPooled = std::size_t{128} << 20;
constexpr Result kInvalid = 1, kNotFound = 500, kIllegal = 400, kLaunchFailed = 719, kIllegalAddress = 700, kInvalidContext = 201,
                 kCaptureInvalidated = 901, kWrongThread = 908;

struct FakeModule {
  std::shared_ptr<Emulated> code;
};
/// What several streams do together, when all have come to it: a status, or kNotYet while other processes have not come.
struct Together {
  std::vector<Stream> streams;
  std::function<int()> run;
};
struct Work {
  std::function<Result()> run;
  std::shared_ptr<Together> together;  // instead
  std::function<bool()> ready{};       // whether it can be done yet
};
struct FakeGraph {
  std::vector<Work> work;
  std::vector<std::shared_ptr<FakeGraph>> bodies{};  // of conditional nodes
  bool inner = false;                                // a body
};
/// The node that was added last; so many there are.
inline Node node_of(const FakeGraph& g) { return reinterpret_cast<Node>(g.work.size()); }
struct FakeStream {
  Context context = nullptr;
  std::vector<std::function<void()>> transfers{};  // not made yet
  std::deque<Work> work{};                         // behind what waits for other streams
  std::uint64_t queued = 0, done = 0;              // so much of it has been there, and is done
  FakeGraph* capturing = nullptr;
  Node behind = nullptr;  // what is captured next comes after this
  std::thread::id capturer{};
  bool invalid_capture = false;
};
struct FakeEvent {
  Context context = nullptr;
  int collectives = 0;  // before it, those that wait for other processes too
  Stream stream = nullptr;
  std::uint64_t after = 0;  // what was in the stream's queue
  double time = 0;          // milliseconds
  bool timed = false;
};
inline thread_local Context current = nullptr;

struct State {
  std::recursive_mutex mutex;
  Calls calls;
  State() { calls.fail_first("FAKE_CUDA_FAIL", 719); }
  std::map<DevicePointer, std::size_t> memory;
  std::map<DevicePointer, int> owners;          // of each block of memory, the device
  std::set<std::pair<int, int>> shared_memory;  // the first device's, with the second one
  // Memory that was given back, by its device and its size: the last comes first, so that steps repeat themselves.
  std::map<std::pair<int, std::size_t>, std::vector<void*>> pool;
  std::size_t pooled = 0;
  std::map<Condition, unsigned> conditions;
  std::map<Condition, Context> condition_contexts;
  std::set<void*> pinned, modules, events, streams, graphs, execs, links;
  int contexts = 0;
  bool skips_kernels = false;
  std::size_t in_use = 0;
  double time = 0;  // milliseconds that the libraries say have passed
  int busy = 0;     // so often an event behind the last collective is not yet reached
  int collectives = 0;
  bool waits_for_processes = false;  // some collective does
  Result failed = kSuccess;          // a collective with other processes, which nobody has been told yet
};
State& state();

int num_devices();
inline int device_of(Context c) { return static_cast<int>(reinterpret_cast<std::intptr_t>(c)) - 1; }
inline FakeStream& of(void* s) { return *static_cast<FakeStream*>(s); }
inline bool is_stream(Stream s) { return state().streams.count(s) > 0; }
/// Whether the stream waits for others.
inline bool is_blocked(Stream s) { return is_stream(s) && !of(s).work.empty(); }
/// Behind what is there.
inline void push(void* s, Work w) { of(s).work.push_back(std::move(w)), ++of(s).queued; }
inline void pop(void* s) { of(s).work.pop_front(), ++of(s).done; }
inline bool is_reached(const FakeEvent& e) { return !e.stream || !is_stream(e.stream) || of(e.stream).done >= e.after; }
inline bool captures(Stream s) { return is_stream(s) && of(s).capturing; }

/// What streams have to do, as far as they come; the first thing that fails.
Result progress();
/// All transfers that wait.
void flush();
/// What the driver says to a call that uses the stream.
Result may_use(Stream s);
/// And to one that may not be made by a thread that captures: it makes what is captured useless.
Result not_while_capturing();
/// Nor by any thread, with the stream that is captured.
Result not_captured(Stream s);
/// What is captured must come after all that is there: else a device could do both at once.
Result add_node(Stream s, Work w);
/// Does it now, or when the graph that is being captured runs, or when the stream goes on.
Result now_or_later(Stream s, std::function<Result()> f);
/// For whoever waits, for all that is in the stream, or a part of it. Other processes are waited for, but not for ever.
Result arrives(Stream s);
Result arrives(Stream s, std::uint64_t after);

inline std::size_t whole_pages(std::size_t n) { return (n + 255) / 256 * 256; }
void empty_pool();
bool is_memory(DevicePointer p, std::size_t bytes);
Result give_back(DevicePointer p);

}  // namespace fake_cuda

#define ENTER(name)                                     \
  const std::lock_guard lock(fake_cuda::state().mutex); \
  if (const Result r = fake_cuda::state().calls.enter(#name); r != kSuccess) return r;

#define NEEDS(condition) \
  if (const Result refused = condition; refused != kSuccess) return refused;

// What destroys does so though it fails.
#define ENTER_TO_DESTROY(name)                          \
  const std::lock_guard lock(fake_cuda::state().mutex); \
  const Result injected = fake_cuda::state().calls.enter(#name);
