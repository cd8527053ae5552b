#include "weft/runtime/profile/timeline.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "weft/core/base/process_wide.h"
#include "weft/runtime/profile/timeline_log.h"

namespace weft::detail {
namespace {

/// The events of one thread. They outlive the thread.
struct ThreadLog {
  std::mutex mutex;
  std::deque<TimelineEvent> events;  // grows without being copied
  std::vector<MemorySample> memory;
  int number = 0;
};
/// Bounds the memory of a recording that is never stopped.
constexpr std::size_t kMostEvents = 1 << 22;
/// Changes of the memory in use below this many bytes and this fraction of it are not recorded.
constexpr std::int64_t kSmallChange = 64 << 10, kSmallPart = 100;

struct Timeline {
  std::mutex mutex;
  std::vector<std::shared_ptr<ThreadLog>> threads;
  std::atomic<std::size_t> count{0};
  std::atomic<std::int64_t> start{0};
  bool taken = false;
};
Timeline& timeline() {
  static Timeline& t = process_wide<Timeline>();
  return t;
}
ThreadLog& log_of_thread() {
  thread_local ThreadLog* mine = nullptr;  // kept by the timeline, as a thread may record until its very end
  if (!mine) {
    auto made = std::make_shared<ThreadLog>();
    const std::lock_guard lock(timeline().mutex);
    made->number = static_cast<int>(timeline().threads.size());
    timeline().threads.push_back(made);
    mine = made.get();
  }
  return *mine;
}
std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

bool takes_one_more() { return timeline().count.fetch_add(1, std::memory_order_relaxed) < kMostEvents; }

template <class F>
void each_thread(F&& f) {
  const std::lock_guard lock(timeline().mutex);
  for (const auto& thread : timeline().threads) {
    const std::lock_guard inner(thread->mutex);
    f(*thread);
  }
}

struct Labels {
  std::mutex mutex;
  std::unordered_multimap<std::size_t, const WorkLabel*> all;  // by the hash of their texts
};

// The amount of memory that this thread recorded last: small changes since are not recorded.
struct Told {
  int device;
  std::int64_t bytes, start;
};
thread_local Told told{-1, 0, 0};

}  // namespace

std::atomic<bool> timeline_is_on{false};

const WorkLabel& lasting(const WorkLabel& label) {
  static Labels& labels = process_wide<Labels>();
  const std::hash<std::string> hash;
  const std::size_t key = hash(label.name) ^ hash(label.program) * 3 ^ hash(label.scope) * 5;
  const std::lock_guard lock(labels.mutex);
  const auto [first, last] = labels.all.equal_range(key);
  for (auto it = first; it != last; ++it)
    if (*it->second == label) return *it->second;
  return *labels.all.emplace(key, new WorkLabel(label))->second;
}

void TimelineRange::begin(Work work, std::string_view name, int device) {
  name_ = name;
  work_ = work;
  device_ = device;
  begun_ = now();
}
void TimelineRange::end() {
  const std::int64_t ended = now(), start = timeline().start.load(std::memory_order_relaxed);
  // A range that began before the profile, or ends after it, is not part of it.
  if (!timeline_is_on.load(std::memory_order_relaxed) || begun_ < start || !takes_one_more()) return;
  ThreadLog& log = log_of_thread();
  const std::lock_guard lock(log.mutex);
  log.events.push_back({std::move(name_), label_, begun_ - start, ended - start, device_, log.number, work_});
}

void note_memory(int device, std::int64_t bytes) noexcept {
  const std::int64_t start = timeline().start.load(std::memory_order_relaxed), change = std::abs(bytes - told.bytes);
  if (told.device == device && told.start == start && (change < kSmallChange || change < bytes / kSmallPart)) return;
  if (!takes_one_more()) return;
  told = {device, bytes, start};
  try {
    ThreadLog& log = log_of_thread();
    const std::lock_guard lock(log.mutex);
    log.memory.push_back({now() - start, bytes, device});
  } catch (const std::bad_alloc&) {
    // If there is no memory for it, the sample is dropped.
  }
}

bool take_timeline() {
  const std::lock_guard lock(timeline().mutex);
  return !std::exchange(timeline().taken, true);
}
void return_timeline() {
  const std::lock_guard lock(timeline().mutex);
  timeline().taken = false;
}
void start_timeline() {
  each_thread([](ThreadLog& thread) { thread.events.clear(), thread.memory.clear(); });
  timeline().count = 0;
  timeline().start = now();
  timeline_is_on.store(true, std::memory_order_relaxed);
}
void stop_timeline() { timeline_is_on.store(false, std::memory_order_relaxed); }

void each_event(FunctionRef<void(const TimelineEvent&)> f) {
  each_thread([&](const ThreadLog& thread) { std::for_each(thread.events.begin(), thread.events.end(), f); });
}
std::vector<MemorySample> memory_samples() {
  std::vector<MemorySample> out;
  each_thread([&](const ThreadLog& thread) { out.insert(out.end(), thread.memory.begin(), thread.memory.end()); });
  std::stable_sort(out.begin(), out.end(), [](const MemorySample& a, const MemorySample& b) { return a.time < b.time; });
  return out;
}

}  // namespace weft::detail
