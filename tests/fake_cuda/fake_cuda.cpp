// A CUDA driver for tests: the entry points that weft calls, on the host's memory. It counts calls and objects, fails where a test wants
// it, and runs kernels by the emulator. FAKE_CUDA_DEVICES: how many devices it has (2). Transfers between host and device happen as late as
// a driver may do them, everything else at once. What a driver refuses is refused: streams and events of another context than the thread's,
// calls that may not be made while a stream is captured, launches beyond a device's limits.
#include <algorithm>
#include <cstdlib>
#include <cstring>
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

#include "backends/cuda/driver.h"
#include "calls.h"
#include "control.h"
#include "emulator.h"

using namespace weft::detail::cuda;

namespace {

constexpr std::size_t kMemory = std::size_t{1} << 30;  // of each device
constexpr std::size_t kPooled = std::size_t{128} << 20;
constexpr Result kInvalid = 1, kNotFound = 500, kIllegal = 400, kLaunchFailed = 719, kIllegalAddress = 700, kInvalidContext = 201,
                 kCaptureInvalidated = 901, kWrongThread = 908;

struct FakeModule {
  std::unique_ptr<fake_cuda::Emulated> code;
};
/// What several streams do together, when all have come to it.
struct Together {
  std::vector<Stream> streams;
  std::function<int()> run;
};
struct Work {
  std::function<Result()> run;
  std::shared_ptr<Together> together;  // instead
};
struct FakeGraph {
  std::vector<Work> work;
  std::vector<std::shared_ptr<FakeGraph>> bodies{};  // of conditional nodes
  bool inner = false;                                // a body
};
/// The node that was added last; so many there are.
Node node_of(const FakeGraph& g) { return reinterpret_cast<Node>(g.work.size()); }
struct FakeStream {
  Context context = nullptr;
  std::vector<std::function<void()>> transfers{};  // not made yet
  std::deque<Work> work{};                         // behind what waits for other streams
  FakeGraph* capturing = nullptr;
  Node behind = nullptr;  // what is captured next comes after this
  std::thread::id capturer{};
  bool invalid_capture = false;
};
struct FakeEvent {
  Context context = nullptr;
  int collectives = 0;  // before it
  Stream stream = nullptr;
};
thread_local Context current = nullptr;

struct State {
  std::recursive_mutex mutex;
  fake_cuda::Calls calls;
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
  int busy = 0;  // so often an event behind the last collective is not yet reached
  int collectives = 0;
};
State& state() {
  static State& s = *new State;  // calls come until the process ends
  return s;
}

int num_devices() {
  const char* n = std::getenv("FAKE_CUDA_DEVICES");
  return n ? std::atoi(n) : 2;
}

Result enter(const char* name) { return state().calls.enter(name); }

int device_of(Context c) { return static_cast<int>(reinterpret_cast<std::intptr_t>(c)) - 1; }
FakeStream& of(void* s) { return *static_cast<FakeStream*>(s); }
bool is_stream(Stream s) { return state().streams.count(s) > 0; }
/// Whether the stream waits for others.
bool is_blocked(Stream s) { return is_stream(s) && !of(s).work.empty(); }

/// What streams have to do, as far as they come; the first thing that fails.
Result progress() {
  State& s = state();
  Result result = kSuccess;
  for (bool any = true; any;) {
    any = false;
    for (void* each : s.streams) {
      std::deque<Work>& work = of(each).work;
      while (!work.empty()) {
        const Work w = work.front();
        Result r = kSuccess;
        if (w.together) {
          const auto& all = w.together->streams;
          if (!std::all_of(all.begin(), all.end(), [&](Stream o) { return is_blocked(o) && of(o).work.front().together == w.together; }))
            break;
          for (Stream o : all) of(o).work.pop_front();
          ++s.collectives;
          r = w.together->run() == 0 ? kSuccess : kLaunchFailed;
        } else {
          work.pop_front();
          r = w.run();
        }
        any = true;
        if (result == kSuccess) result = r;
      }
    }
  }
  return result;
}
/// All transfers that wait.
void flush() {
  progress();
  for (void* s : state().streams) {
    if (!of(s).work.empty()) continue;
    auto& transfers = of(s).transfers;
    for (auto& f : transfers) f();
    transfers.clear();
  }
}
/// What the driver says to a call that uses the stream.
Result may_use(Stream s) {
  if (!current) return kInvalidContext;
  if (!is_stream(s)) return kIllegal;
  return of(s).context == current ? kSuccess : kIllegal;
}
/// And to one that may not be made by a thread that captures: it makes what is captured useless.
Result not_while_capturing() {
  Result r = kSuccess;
  for (void* s : state().streams)
    if (of(s).capturing && of(s).capturer == std::this_thread::get_id()) of(s).invalid_capture = true, r = kCaptureUnsupported;
  return r;
}
bool captures(Stream s) { return is_stream(s) && of(s).capturing; }
/// Nor by any thread, with the stream that is captured.
Result not_captured(Stream s) { return captures(s) ? (of(s).invalid_capture = true, kCaptureUnsupported) : kSuccess; }

/// What is captured must come after all that is there: else a device could do both at once.
Result add_node(Stream s, Work w) {
  FakeStream& stream = of(s);
  if (stream.behind != node_of(*stream.capturing)) {
    std::fprintf(stderr, "fake driver: a node of a graph that nothing waits for\n");
    return stream.invalid_capture = true, kInvalid;
  }
  stream.capturing->work.push_back(std::move(w));
  return stream.behind = node_of(*stream.capturing), kSuccess;
}

/// Does it now, or when the graph that is being captured runs, or when the stream goes on.
Result now_or_later(Stream s, std::function<Result()> f) {
  if (captures(s)) return add_node(s, {std::move(f), nullptr});
  flush();
  if (is_blocked(s)) return of(s).work.push_back({std::move(f), nullptr}), kSuccess;
  return f();
}
/// For whoever waits.
Result arrives(Stream s) {
  flush();
  if (!is_stream(s)) return kIllegal;
  if (!is_blocked(s)) return kSuccess;
  std::fprintf(stderr, "fake driver: a stream waits for others, which do not come\n");
  return kLaunchFailed;
}

std::size_t whole_pages(std::size_t n) { return (n + 255) / 256 * 256; }
void empty_pool() {
  State& s = state();
  for (auto& [size, blocks] : s.pool)
    for (void* p : blocks) std::free(p);
  s.pool.clear(), s.pooled = 0;
}

bool is_memory(DevicePointer p, std::size_t bytes) {
  State& s = state();
  auto it = s.memory.upper_bound(p);
  if (it == s.memory.begin()) return bytes == 0;
  --it;
  return p + bytes <= it->first + it->second;
}

Result give_back(DevicePointer p) {
  State& s = state();
  const auto it = s.memory.find(p);
  if (it == s.memory.end()) return kIllegal;
  s.in_use -= it->second;
  const std::size_t size = whole_pages(it->second);
  std::memset(reinterpret_cast<void*>(p), 0xdd, it->second);  // nor what memory holds that was given back
  s.pool[{s.owners[p], size}].push_back(reinterpret_cast<void*>(p)), s.pooled += size;
  s.owners.erase(p);
  s.memory.erase(it);
  if (s.pooled > kPooled) empty_pool();
  return kSuccess;
}

}  // namespace

#define ENTER(name)                          \
  const std::lock_guard lock(state().mutex); \
  if (const Result r = enter(#name); r != kSuccess) return r;

#define NEEDS(condition) \
  if (const Result refused = condition; refused != kSuccess) return refused;

// What destroys does so though it fails.
#define ENTER_TO_DESTROY(name)               \
  const std::lock_guard lock(state().mutex); \
  const Result injected = enter(#name);

extern "C" {

void fake_cuda_fail(const char* call, int n, int code) { state().calls.fail(call, n, code); }
void fake_cuda_busy(int queries) { state().busy = queries; }
int fake_cuda_calls(const char* call) { return state().calls.count(call); }
void fake_cuda_reset_calls() { state().calls.reset(); }
void fake_cuda_collective() {
  const std::lock_guard lock(state().mutex);
  ++state().collectives;
  flush();
}
bool fake_cuda_reaches(int device, const void* p) {
  const std::lock_guard lock(state().mutex);
  const auto at = state().owners.upper_bound(reinterpret_cast<DevicePointer>(p));
  if (at == state().owners.begin()) return false;
  const int owner = std::prev(at)->second;
  return owner == device || state().shared_memory.count({owner, device}) > 0;
}
/// A collective of several streams: now, or as part of the graphs that all of them are captured into.
int fake_cuda_join(const Stream* streams, int n, std::function<int()>* work) {
  const std::lock_guard lock(state().mutex);
  const auto together = std::make_shared<Together>(Together{{streams, streams + n}, *work});
  delete work;
  const auto captured = std::count_if(streams, streams + n, captures);
  if (captured != 0 && captured != n) return kInvalid;
  flush();
  for (int i = 0; i < n; ++i) {
    if (captured > 0)
      add_node(streams[i], {nullptr, together});
    else
      of(streams[i]).work.push_back({nullptr, together});
  }
  return captured > 0 ? kSuccess : progress();
}
/// Collectives that wait for others end without a result.
void fake_cuda_abort_collectives() {
  const std::lock_guard lock(state().mutex);
  const auto holds = [](const FakeGraph& g) {
    return std::any_of(g.work.begin(), g.work.end(), [](const Work& w) { return w.together != nullptr; });
  };
  bool held = false;
  for (void* g : state().graphs) held |= holds(*static_cast<FakeGraph*>(g));
  for (void* g : state().execs) held |= holds(*static_cast<FakeGraph*>(g));
  for (void* s : state().streams) held |= of(s).capturing && holds(*of(s).capturing);
  if (held) {
    std::fprintf(stderr, "fake driver: a communicator is aborted that a graph holds: NCCL would wait for ever\n");
    std::abort();
  }
  for (void* s : state().streams)
    for (Work& w : of(s).work)
      if (w.together) w = {[] { return kSuccess; }, nullptr};
  flush();
}
int fake_cuda_enqueue(Stream s, std::function<int()>* work) {
  const std::lock_guard lock(state().mutex);
  const std::unique_ptr<std::function<int()>> owned(work);
  NEEDS(may_use(s))
  return now_or_later(s, *owned);
}
void fake_cuda_skip_kernels(bool skip) { state().skips_kernels = skip; }
int fake_cuda_live(const char* kind) {
  State& s = state();
  const std::string k = kind;
  const std::size_t n = k == "memory"    ? s.memory.size()
                        : k == "pinned"  ? s.pinned.size()
                        : k == "module"  ? s.modules.size()
                        : k == "event"   ? s.events.size()
                        : k == "stream"  ? s.streams.size()
                        : k == "graph"   ? s.graphs.size()
                        : k == "link"    ? s.links.size()
                        : k == "context" ? static_cast<std::size_t>(s.contexts)
                                         : s.execs.size();
  return static_cast<int>(n);
}
const char* fake_cuda_name(int k) {
  static const char* const names[] = {
#define NAME(name, parameters) #name,
      WEFT_CUDA_DRIVER(NAME) WEFT_CUDA_CONDITIONS(NAME)
#undef NAME
          nullptr};
  return names[k];
}

Result cuInit(unsigned) {
  ENTER(cuInit)
  fake_cuda::set_conditions_by([](std::uint64_t c, std::uint32_t value) {
    if (!state().conditions.count(c)) std::abort();  // a device would fail then
    state().conditions[c] = value;
  });
  fake_cuda::check_memory_by([](std::uintptr_t p, std::size_t bytes) { return is_memory(p, bytes); });
  return kSuccess;
}
Result cuDriverGetVersion(int* v) {
  ENTER(cuDriverGetVersion);
  return *v = 13000, kSuccess;
}
Result cuGetErrorName(Result r, const char** name) {
  static const std::map<Result, const char*> names = {
      {kSuccess, "CUDA_SUCCESS"},
      {kInvalid, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kIllegal, "CUDA_ERROR_INVALID_HANDLE"},
      {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
  };
  const auto known = names.find(r);
  *name = known == names.end() ? "CUDA_ERROR_UNKNOWN" : known->second;
  return kSuccess;
}
Result cuGetErrorString(Result, const char** text) { return *text = "as the test wants it", kSuccess; }
Result cuDeviceGetCount(int* n) {
  ENTER(cuDeviceGetCount);
  return *n = num_devices(), kSuccess;
}
Result cuDeviceGet(int* d, int i) {
  ENTER(cuDeviceGet);
  return *d = i, i < num_devices() ? kSuccess : kInvalid;
}
Result cuDeviceGetName(char* name, int n, int) {
  ENTER(cuDeviceGetName);
  return std::strncpy(name, "Fake GPU", static_cast<std::size_t>(n)), kSuccess;
}
Result cuDeviceTotalMem_v2(std::size_t* n, int) {
  ENTER(cuDeviceTotalMem_v2);
  return *n = kMemory, kSuccess;
}
Result cuDeviceGetAttribute(int* v, int what, int) {
  ENTER(cuDeviceGetAttribute);
  return *v = what == kAttributeMultiprocessors ? 2 : 0, kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context* c, int d) {
  ENTER(cuDevicePrimaryCtxRetain)
  ++state().contexts;
  return *c = reinterpret_cast<Context>(static_cast<std::intptr_t>(d + 1)), kSuccess;
}
Result cuDevicePrimaryCtxRelease_v2(int) {
  ENTER_TO_DESTROY(cuDevicePrimaryCtxRelease_v2)
  --state().contexts;
  return injected;
}
Result cuCtxSetCurrent(Context c) {
  ENTER(cuCtxSetCurrent);
  return current = c, kSuccess;
}
Result cuStreamCreate(Stream* s, unsigned) {
  ENTER(cuStreamCreate)
  if (!current) return kInvalidContext;
  return *s = reinterpret_cast<Stream>(new FakeStream{current}), state().streams.insert(*s), kSuccess;
}
Result cuStreamDestroy_v2(Stream s) {
  ENTER_TO_DESTROY(cuStreamDestroy_v2)
  if (!state().streams.erase(s)) return kIllegal;
  delete reinterpret_cast<FakeStream*>(s);
  return injected;
}
Result cuStreamSynchronize(Stream s) {
  ENTER(cuStreamSynchronize)
  NEEDS(not_while_capturing())
  NEEDS(not_captured(s))
  return arrives(s);
}
Result cuStreamWaitEvent(Stream s, Event e, unsigned) {
  ENTER(cuStreamWaitEvent)
  NEEDS(may_use(s))
  NEEDS(not_captured(s))
  flush();
  return state().events.count(e) ? kSuccess : kIllegal;
}
Result cuEventCreate(Event* e, unsigned) {
  ENTER(cuEventCreate)
  if (!current) return kInvalidContext;
  return *e = reinterpret_cast<Event>(new FakeEvent{current}), state().events.insert(*e), kSuccess;
}
Result cuEventDestroy_v2(Event e) {
  ENTER_TO_DESTROY(cuEventDestroy_v2)
  if (!state().events.erase(e)) return kIllegal;
  delete reinterpret_cast<FakeEvent*>(e);
  return injected;
}
Result cuEventRecord(Event e, Stream s) {
  ENTER(cuEventRecord)
  NEEDS(may_use(s))
  NEEDS(not_captured(s))
  if (!state().events.count(e) || reinterpret_cast<FakeEvent*>(e)->context != current) return kIllegal;
  flush();
  return *reinterpret_cast<FakeEvent*>(e) = {current, state().collectives, s}, kSuccess;
}
Result cuEventSynchronize(Event e) {
  ENTER(cuEventSynchronize)
  NEEDS(not_while_capturing())
  if (!state().events.count(e)) return kIllegal;
  const Stream s = reinterpret_cast<FakeEvent*>(e)->stream;
  return s ? arrives(s) : kSuccess;
}
Result cuDeviceGetDefaultMemPool(MemoryPool* p, int d) {
  ENTER(cuDeviceGetDefaultMemPool);
  return *p = reinterpret_cast<MemoryPool>(static_cast<std::intptr_t>(d + 1)), kSuccess;
}
Result cuMemPoolSetAttribute(MemoryPool, int, void*) {
  ENTER(cuMemPoolSetAttribute);
  return kSuccess;
}
Result cuMemPoolSetAccess(MemoryPool p, const PoolAccess* access, std::size_t n) {
  ENTER(cuMemPoolSetAccess)
  for (std::size_t i = 0; i < n; ++i) {
    if (access[i].place_type != kPlaceDevice || access[i].flags != kReadAndWrite || access[i].device >= num_devices()) return kInvalid;
    state().shared_memory.insert({device_of(reinterpret_cast<Context>(p)), access[i].device});
  }
  return kSuccess;
}
Result cuDeviceCanAccessPeer(int* can, int, int) {
  ENTER(cuDeviceCanAccessPeer);
  return *can = 1, kSuccess;
}
Result cuMemPoolTrimTo(MemoryPool, std::size_t) {
  ENTER(cuMemPoolTrimTo);
  return empty_pool(), kSuccess;
}
Result cuMemAllocAsync(DevicePointer* p, std::size_t n, Stream stream) {
  ENTER(cuMemAllocAsync)
  State& s = state();
  NEEDS(not_captured(stream))
  if (s.in_use + n > kMemory) return kOutOfMemory;
  void* memory = nullptr;
  const int device = device_of(reinterpret_cast<FakeStream*>(stream)->context);
  if (std::vector<void*>& kept = s.pool[{device, whole_pages(n)}]; !kept.empty()) {
    memory = kept.back();
    kept.pop_back(), s.pooled -= whole_pages(n);
  } else {
    memory = std::aligned_alloc(256, whole_pages(n));
  }
  std::memset(memory, 0xcd, n);  // nothing may rely on what new memory holds
  *p = reinterpret_cast<DevicePointer>(memory);
  s.memory[*p] = n, s.in_use += n;
  s.owners[*p] = device;
  return kSuccess;
}
Result cuMemFreeAsync(DevicePointer p, Stream stream) {
  ENTER_TO_DESTROY(cuMemFreeAsync)
  NEEDS(not_captured(stream))
  flush();
  if (is_blocked(stream)) return of(stream).work.push_back({[=] { return give_back(p); }, nullptr}), injected;
  return give_back(p) == kSuccess ? injected : kIllegal;
}
Result cuMemGetInfo_v2(std::size_t* left, std::size_t* total) {
  ENTER(cuMemGetInfo_v2);
  return *left = kMemory - state().in_use, *total = kMemory, kSuccess;
}
Result cuMemAllocHost_v2(void** p, std::size_t n) {
  ENTER(cuMemAllocHost_v2);
  NEEDS(not_while_capturing());
  return *p = std::malloc(n), state().pinned.insert(*p), kSuccess;
}
Result cuMemFreeHost(void* p) {
  ENTER(cuMemFreeHost);
  flush();
  return state().pinned.erase(p) ? (std::free(p), kSuccess) : kIllegal;
}
static void transfer(Stream s, std::function<void()> f) {
  if (is_blocked(s))
    of(s).work.push_back({[f] { return f(), kSuccess; }, nullptr});
  else
    of(s).transfers.push_back(std::move(f));
}
// The host's memory is read and written when the device comes to it: no earlier than at the next call that uses the stream, or waits.
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t n, Stream s) {
  ENTER(cuMemcpyHtoDAsync_v2)
  NEEDS(may_use(s))
  NEEDS(not_captured(s))
  if (!is_memory(to, n)) return kInvalid;
  transfer(s, [=] { std::memcpy(reinterpret_cast<void*>(to), from, n); });
  return kSuccess;
}
Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t n, Stream s) {
  ENTER(cuMemcpyDtoHAsync_v2)
  NEEDS(may_use(s))
  NEEDS(not_captured(s))
  if (!is_memory(from, n)) return kInvalid;
  std::memset(to, 0xee, n);
  transfer(s, [=] { std::memcpy(to, reinterpret_cast<const void*>(from), n); });
  return kSuccess;
}
Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t n, Stream s) {
  ENTER(cuMemcpyDtoDAsync_v2)
  NEEDS(may_use(s))
  if (!is_memory(to, n) || !is_memory(from, n)) return kInvalid;
  return now_or_later(s, [=] { return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), n), kSuccess; });
}
Result cuMemcpy2DAsync_v2(const Copy2D* c, Stream s) {
  ENTER(cuMemcpy2DAsync_v2)
  NEEDS(may_use(s))
  const Copy2D d = *c;
  const auto last = [](std::size_t pitch, const Copy2D& x) { return (x.height - 1) * pitch + x.width; };
  if (d.source_type != kMemoryOfDevice || d.target_type != kMemoryOfDevice || d.source_pitch < d.width || d.target_pitch < d.width)
    return kInvalid;
  if (!is_memory(d.source, last(d.source_pitch, d)) || !is_memory(d.target, last(d.target_pitch, d))) return kInvalid;
  return now_or_later(s, [d] {
    for (std::size_t i = 0; i < d.height; ++i)
      std::memcpy(reinterpret_cast<char*>(d.target) + i * d.target_pitch, reinterpret_cast<const char*>(d.source) + i * d.source_pitch,
                  d.width);
    return kSuccess;
  });
}
Result cuMemsetD8Async(DevicePointer p, unsigned char v, std::size_t n, Stream s) {
  ENTER(cuMemsetD8Async)
  NEEDS(may_use(s))
  if (!is_memory(p, n)) return kInvalid;
  return now_or_later(s, [=] { return std::memset(reinterpret_cast<void*>(p), v, n), kSuccess; });
}
Result cuEventQuery(Event e) {
  ENTER(cuEventQuery)
  if (!state().events.count(e)) return kIllegal;
  flush();
  if (is_blocked(reinterpret_cast<FakeEvent*>(e)->stream)) return kNotReady;
  return state().busy > 0 && reinterpret_cast<FakeEvent*>(e)->collectives == state().collectives ? (--state().busy, kNotReady) : kSuccess;
}
Result cuMemcpyPeerAsync(DevicePointer to, Context, DevicePointer from, Context, std::size_t n, Stream s) {
  ENTER(cuMemcpyPeerAsync)
  NEEDS(not_captured(s))
  flush();
  if (!is_memory(to, n) || !is_memory(from, n)) return kInvalid;
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), n), kSuccess;
}
Result cuLinkCreate_v2(unsigned, int*, void**, LinkState* l) {
  ENTER(cuLinkCreate_v2)
  *l = reinterpret_cast<LinkState>(new std::string);
  state().links.insert(*l);
  return kSuccess;
}
// "Machine code" is what was given.
Result cuLinkAddData_v2(LinkState l, int type, void* data, std::size_t bytes, const char*, unsigned, int*, void**) {
  ENTER(cuLinkAddData_v2)
  if (type != kInputPtx || bytes == 0 || static_cast<const char*>(data)[bytes - 1] != 0) return kInvalid;
  reinterpret_cast<std::string*>(l)->assign(static_cast<const char*>(data), bytes);
  return kSuccess;
}
Result cuLinkComplete(LinkState l, void** code, std::size_t* bytes) {
  ENTER(cuLinkComplete)
  auto& text = *reinterpret_cast<std::string*>(l);
  return *code = text.data(), *bytes = text.size(), kSuccess;
}
Result cuLinkDestroy(LinkState l) {
  ENTER_TO_DESTROY(cuLinkDestroy)
  if (!state().links.erase(l)) return kIllegal;
  delete reinterpret_cast<std::string*>(l);
  return injected;
}
Result cuModuleLoadDataEx(Module* m, const void* image, unsigned, int*, void**) {
  ENTER(cuModuleLoadDataEx)
  NEEDS(not_while_capturing())
  try {
    auto* made = new FakeModule{fake_cuda::load(static_cast<const char*>(image))};
    *m = reinterpret_cast<Module>(made);
    state().modules.insert(made);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fake driver: %s\n", e.what());
    return kInvalid;
  }
  return kSuccess;
}
Result cuModuleUnload(Module m) {
  ENTER_TO_DESTROY(cuModuleUnload)
  NEEDS(not_while_capturing())
  if (!state().modules.erase(m)) return kIllegal;
  delete reinterpret_cast<FakeModule*>(m);
  return injected;
}
Result cuModuleGetFunction(Function* f, Module m, const char* name) {
  ENTER(cuModuleGetFunction)
  *f = reinterpret_cast<Function>(reinterpret_cast<FakeModule*>(m)->code->find(name));
  return *f ? kSuccess : kNotFound;
}
Result cuLaunchKernel(Function f, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, Stream s,
                      void** parameters, void**) {
  ENTER(cuLaunchKernel)
  NEEDS(may_use(s))
  if (blocks == 0 || blocks > 0x7fffffff || threads == 0 || threads > 1024) return kInvalid;
  if (state().skips_kernels && !captures(s)) return kSuccess;
  if (!captures(s)) flush();
  std::vector<DevicePointer> values;
  if (!captures(s) && !is_blocked(s)) {
    try {
      fake_cuda::run(reinterpret_cast<void*>(f), blocks, threads, parameters);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "fake driver: %s\n", e.what());
      return std::string(e.what()).find("address") != std::string::npos ? kIllegalAddress : kLaunchFailed;
    }
    return kSuccess;
  }
  // How many there are is not known here; weft ends them with the workspace, null or not, and never has more than these.
  for (int i = 0; i < 512; ++i) {
    if (!parameters[i]) break;
    values.push_back(*static_cast<DevicePointer*>(parameters[i]));
  }
  return now_or_later(s, [=]() mutable {
    if (state().skips_kernels) return kSuccess;
    std::vector<void*> p;
    for (DevicePointer& v : values) p.push_back(&v);
    try {
      fake_cuda::run(reinterpret_cast<void*>(f), blocks, threads, p.data());
    } catch (const std::exception& e) {
      std::fprintf(stderr, "fake driver: %s\n", e.what());
      return kLaunchFailed;
    }
    return kSuccess;
  });
}
Result cuStreamBeginCapture_v2(Stream s, int) {
  ENTER(cuStreamBeginCapture_v2)
  NEEDS(may_use(s))
  if (captures(s)) return kInvalid;
  flush();
  FakeStream& stream = of(s);
  stream.capturing = new FakeGraph, stream.behind = nullptr, stream.capturer = std::this_thread::get_id(), stream.invalid_capture = false;
  return kSuccess;
}
Result cuStreamEndCapture(Stream s, Graph* g) {
  ENTER_TO_DESTROY(cuStreamEndCapture)
  if (!captures(s)) return kInvalid;
  FakeStream& stream = of(s);
  if (stream.capturer != std::this_thread::get_id()) return kWrongThread;
  *g = nullptr;
  if (stream.capturing->inner) {
    if (injected == kSuccess) *g = reinterpret_cast<Graph>(stream.capturing);
    stream.capturing = nullptr;
    return stream.invalid_capture ? kCaptureInvalidated : injected;
  }
  std::unique_ptr<FakeGraph> captured(std::exchange(stream.capturing, nullptr));
  if (stream.invalid_capture) return kCaptureInvalidated;
  if (injected == kSuccess) *g = reinterpret_cast<Graph>(captured.release()), state().graphs.insert(*g);
  return injected;
}
Result cuGraphInstantiateWithFlags(GraphExec* e, Graph g, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags)
  *e = reinterpret_cast<GraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph*>(g)));
  state().execs.insert(*e);
  return kSuccess;
}
Result cuGraphLaunch(GraphExec e, Stream s) {
  ENTER(cuGraphLaunch)
  NEEDS(may_use(s))
  flush();
  if (!state().execs.count(e)) return kIllegal;
  for (const Work& w : reinterpret_cast<FakeGraph*>(e)->work) of(s).work.push_back(w);
  return progress();
}
Result cuStreamGetCaptureInfo_v3(Stream s, int* status, std::uint64_t* id, Graph* g, const Node** behind, const void** edges, std::size_t* n) {
  ENTER(cuStreamGetCaptureInfo_v3)
  *status = !captures(s) ? 0 : of(s).invalid_capture ? 2 : kCaptureGoesOn, *id = 1;
  if (*status != kCaptureGoesOn) return kSuccess;
  *g = reinterpret_cast<Graph>(of(s).capturing), *behind = &of(s).behind, *edges = nullptr, *n = of(s).behind ? 1 : 0;
  return kSuccess;
}
Result cuStreamUpdateCaptureDependencies_v2(Stream s, Node* nodes, const void*, std::size_t n, unsigned flags) {
  ENTER(cuStreamUpdateCaptureDependencies_v2)
  if (!captures(s) || n != 1 || flags != kSetDependencies) return kInvalid;
  return of(s).behind = nodes[0], kSuccess;
}
Result cuStreamBeginCaptureToGraph(Stream s, Graph g, const Node*, const void*, std::size_t n, int) {
  ENTER(cuStreamBeginCaptureToGraph)
  NEEDS(may_use(s))
  auto* graph = reinterpret_cast<FakeGraph*>(g);
  if (captures(s) || !graph->inner || n != 0) return kInvalid;
  FakeStream& stream = of(s);
  stream.capturing = graph, stream.behind = nullptr, stream.capturer = std::this_thread::get_id(), stream.invalid_capture = false;
  return kSuccess;
}
Result cuGraphConditionalHandleCreate(Condition* c, Graph, Context context, unsigned value, unsigned flags) {
  ENTER(cuGraphConditionalHandleCreate)
  if (flags > 1 || context != current) return kInvalid;
  *c = state().conditions.size() + 1;
  state().conditions[*c] = value, state().condition_contexts[*c] = context;
  return kSuccess;
}
Result cuGraphAddNode_v2(Node* made, Graph g, const Node* behind, const void* edges, std::size_t n, ConditionalNode* node) {
  ENTER(cuGraphAddNode_v2)
  State& s = state();
  auto& graph = *reinterpret_cast<FakeGraph*>(g);
  const bool zero = std::all_of(std::begin(node->rest), std::end(node->rest), [](long long v) { return v == 0; }) && node->reserved_too == 0;
  if (node->type != kNodeConditional || node->size != 1 || !zero || edges || n > 1 || (n == 1 ? behind[0] : nullptr) != node_of(graph)) return kInvalid;
  const Condition c = node->condition;
  if (!s.conditions.count(c) || s.condition_contexts[c] != node->context || node->context != current) return kInvalid;
  const auto body = std::make_shared<FakeGraph>();
  body->inner = true;
  graph.bodies.push_back(body);
  static thread_local Graph given[1];
  given[0] = reinterpret_cast<Graph>(body.get()), node->bodies = given;
  const bool loop = node->kind == kConditionWhile;
  graph.work.push_back({[body, c, loop] {
    const auto& value = state().conditions[c];
    while (value != 0) {
      for (const Work& w : body->work)
        if (const Result r = w.run(); r != kSuccess) return r;
      if (!loop) break;
    }
    return kSuccess;
  }, nullptr});
  return *made = node_of(graph), kSuccess;
}
Result cuGraphExecDestroy(GraphExec e) {
  ENTER_TO_DESTROY(cuGraphExecDestroy)
  if (!state().execs.erase(e)) return kIllegal;
  delete reinterpret_cast<FakeGraph*>(e);
  return injected;
}
Result cuGraphDestroy(Graph g) {
  ENTER_TO_DESTROY(cuGraphDestroy)
  if (!state().graphs.erase(g)) return kIllegal;
  delete reinterpret_cast<FakeGraph*>(g);
  return injected;
}

}  // extern "C"
