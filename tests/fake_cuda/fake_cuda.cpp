// A CUDA driver for tests: the entry points that weft calls, on the host's memory. It counts calls and objects, fails where a test wants
// it, and runs kernels by the emulator. FAKE_CUDA_DEVICES: how many devices it has (2). Transfers between host and device happen as late as
// a driver may do them, everything else at once. What a driver refuses is refused: streams and events of another context than the thread's,
// calls that may not be made while a stream is captured, launches beyond a device's limits.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "control.h"
#include "fake_state.h"

using namespace fake_cuda;

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
void* fake_cuda_current() { return current; }
bool fake_cuda_usable(void* stream) {
  const std::lock_guard lock(state().mutex);
  const auto s = static_cast<Stream>(stream);
  return may_use(s) == kSuccess && !captures(s);
}
bool fake_cuda_has_memory(const void* p, unsigned long bytes) {
  const std::lock_guard lock(state().mutex);
  return p && is_memory(reinterpret_cast<DevicePointer>(p), bytes);
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
      push(streams[i], {nullptr, together});
  }
  if (captured > 0) return kSuccess;
  const Result r = progress();
  state().failed = kSuccess;  // it is told here
  return r;
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
  state().failed = kSuccess;
  flush();
}
int fake_cuda_enqueue(Stream s, std::function<int()>* work) {
  const std::lock_guard lock(state().mutex);
  const std::unique_ptr<std::function<int()>> owned(work);
  NEEDS(may_use(s))
  return now_or_later(s, *owned);
}
int fake_cuda_current_device() { return current ? device_of(current) : -1; }
void fake_cuda_advance(double milliseconds) {
  const std::lock_guard lock(state().mutex);
  state().time += milliseconds;
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
  const char* given = std::getenv("FAKE_CUDA_VERSION");
  return *v = given ? std::atoi(given) : 13000, kSuccess;
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
  if (!state().events.count(e)) return kIllegal;
  const FakeEvent now = *reinterpret_cast<FakeEvent*>(e);
  if (!is_reached(now)) push(s, {[] { return kSuccess; }, nullptr, [now] { return is_reached(now); }});
  return kSuccess;
}
Result cuEventCreate(Event* e, unsigned flags) {
  ENTER(cuEventCreate)
  if (!current) return kInvalidContext;
  auto* made = new FakeEvent{current};
  made->timed = !(flags & kEventNoTiming);
  return *e = reinterpret_cast<Event>(made), state().events.insert(*e), kSuccess;
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
  FakeEvent& event = *reinterpret_cast<FakeEvent*>(e);
  std::set<const void*> waiting;
  for (void* each : state().streams)
    for (const Work& w : of(each).work)
      if (w.together) waiting.insert(&*w.together);
  const int collectives = state().collectives + static_cast<int>(waiting.size());
  return event = {current, collectives, s, of(s).queued, state().time, event.timed}, kSuccess;
}
Result cuEventElapsedTime(float* milliseconds, Event a, Event b) {
  ENTER(cuEventElapsedTime)
  if (!state().events.count(a) || !state().events.count(b)) return kIllegal;
  const auto &begin = *reinterpret_cast<FakeEvent*>(a), &end = *reinterpret_cast<FakeEvent*>(b);
  if (!begin.timed || !end.timed || !begin.stream || !end.stream) return kIllegal;
  if (!is_reached(begin) || !is_reached(end)) return kNotReady;
  return *milliseconds = static_cast<float>(end.time - begin.time), kSuccess;
}
Result cuEventSynchronize(Event e) {
  ENTER(cuEventSynchronize)
  NEEDS(not_while_capturing())
  if (!state().events.count(e)) return kIllegal;
  const FakeEvent now = *reinterpret_cast<FakeEvent*>(e);
  return now.stream ? arrives(now.stream, now.after) : kSuccess;
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
  if (is_blocked(stream)) return push(stream, {[=] { return give_back(p); }, nullptr}), injected;
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
    push(s, {[f] { return f(), kSuccess; }, nullptr});
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
  if (const Result r = std::exchange(state().failed, kSuccess); r != kSuccess) return r;
  if (!is_reached(*reinterpret_cast<FakeEvent*>(e))) return kNotReady;
  return state().busy > 0 && reinterpret_cast<FakeEvent*>(e)->collectives == state().collectives ? (--state().busy, kNotReady) : kSuccess;
}
Result cuMemcpyPeerAsync(DevicePointer to, Context, DevicePointer from, Context, std::size_t n, Stream s) {
  ENTER(cuMemcpyPeerAsync)
  NEEDS(not_captured(s))
  if (!is_memory(to, n) || !is_memory(from, n)) return kInvalid;
  return now_or_later(s, [=] { return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), n), kSuccess; });
}

}  // extern "C"
