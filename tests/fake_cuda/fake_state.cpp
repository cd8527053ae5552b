#include "fake_state.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {

State& state() {
  static State& s = *new State;  // calls come until the process ends
  return s;
}

int num_devices() {
  const char* n = std::getenv("FAKE_CUDA_DEVICES");
  return n ? std::atoi(n) : 2;
}

namespace {

/// What waits for other processes goes on when they come, whatever the program does meanwhile.
void go_on_by_itself() {
  static std::atomic<bool>& ends = *new std::atomic<bool>(false);
  std::atexit([] {
    const std::lock_guard lock(state().mutex);
    ends = true;
  });
  std::thread([] {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const std::lock_guard lock(state().mutex);
      if (ends) return;
      if (state().waits_for_processes) flush();
    }
  }).detach();
}

}  // namespace

Result progress() {
  State& s = state();
  Result result = kSuccess;
  for (bool any = true; any;) {
    any = false;
    s.waits_for_processes = false;
    for (void* each : s.streams) {
      std::deque<Work>& work = of(each).work;
      while (!work.empty()) {
        const Work w = work.front();
        Result r = kSuccess;
        if (w.ready && !w.ready()) break;
        if (w.together) {
          const auto& all = w.together->streams;
          if (!std::all_of(all.begin(), all.end(), [&](Stream o) { return is_blocked(o) && of(o).work.front().together == w.together; }))
            break;
          const int status = w.together->run();
          if (status == kNotYet) {
            s.waits_for_processes = true;
            static std::once_flag once;
            std::call_once(once, go_on_by_itself);
            break;
          }
          for (Stream o : all) pop(o);
          ++s.collectives;
          r = status == 0 ? kSuccess : kLaunchFailed;
          if (r != kSuccess) s.failed = r;
        } else {
          pop(each);
          r = w.run();
        }
        any = true;
        if (result == kSuccess) result = r;
      }
    }
  }
  return result;
}
void flush() {
  progress();
  for (void* s : state().streams) {
    if (!of(s).work.empty()) continue;
    auto& transfers = of(s).transfers;
    for (auto& f : transfers) f();
    transfers.clear();
  }
}
Result may_use(Stream s) {
  if (!current) return kInvalidContext;
  if (!is_stream(s)) return kIllegal;
  return of(s).context == current ? kSuccess : kIllegal;
}
Result not_while_capturing() {
  Result r = kSuccess;
  for (void* s : state().streams)
    if (of(s).capturing && of(s).capturer == std::this_thread::get_id()) of(s).invalid_capture = true, r = kCaptureUnsupported;
  return r;
}
Result not_captured(Stream s) { return captures(s) ? (of(s).invalid_capture = true, kCaptureUnsupported) : kSuccess; }

Result add_node(Stream s, Work w) {
  FakeStream& stream = of(s);
  if (stream.behind != node_of(*stream.capturing)) {
    std::fprintf(stderr, "fake driver: a node of a graph that nothing waits for\n");
    return stream.invalid_capture = true, kInvalid;
  }
  stream.capturing->work.push_back(std::move(w));
  return stream.behind = node_of(*stream.capturing), kSuccess;
}

Result now_or_later(Stream s, std::function<Result()> f) {
  if (captures(s)) return add_node(s, {std::move(f), nullptr});
  flush();
  if (is_blocked(s)) return push(s, {std::move(f), nullptr}), kSuccess;
  return f();
}
Result arrives(Stream s) {
  if (!is_stream(s)) return flush(), kIllegal;
  return arrives(s, of(s).queued);
}
Result arrives(Stream s, std::uint64_t after) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    flush();
    if (const Result r = std::exchange(state().failed, kSuccess); r != kSuccess) return r;
    if (!is_stream(s)) return kIllegal;
    if (of(s).done >= after) return kSuccess;
    if (!state().waits_for_processes || std::chrono::steady_clock::now() - begin > std::chrono::seconds(120)) break;
    // Others may use the driver meanwhile; the caller has locked it once.
    state().mutex.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    state().mutex.lock();
  }
  std::fprintf(stderr, "fake driver: a stream waits for others, which do not come\n");
  return kLaunchFailed;
}

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

}  // namespace fake_cuda
