#include "weft/runtime/host/profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/core/base/files.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/timeline.h"

namespace weft {
namespace detail {
namespace {

struct Event {
  std::string name;
  std::int64_t begun, ended;
  int device;
  Work work;
};
/// What one thread did. Threads come and go; what they did stays.
struct ThreadLog {
  std::mutex mutex;
  std::vector<Event> events;
  int number = 0;
};
/// A long run without an end must not take all memory.
constexpr std::size_t kMostEvents = 1 << 22;

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

const char* name_of(Work work) {
  static constexpr const char* names[] = {"trace", "compile", "program", "kernel", "routine", "control", "collective", "transfer", "user"};
  return names[static_cast<int>(work)];
}
std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

void start() {
  Timeline& t = timeline();
  const std::lock_guard lock(t.mutex);
  for (const auto& thread : t.threads) {
    const std::lock_guard inner(thread->mutex);
    thread->events.clear();
  }
  t.count = 0;
  t.start = now();
  timeline_is_on.store(true, std::memory_order_relaxed);
}
template <class F>
void each_event(F&& f) {
  Timeline& t = timeline();
  const std::lock_guard lock(t.mutex);
  for (const auto& thread : t.threads) {
    const std::lock_guard inner(thread->mutex);
    for (const Event& e : thread->events) f(*thread, e);
  }
}
std::string chrome_trace() {
  std::string text = "{\"traceEvents\":[\n";
  const int process = static_cast<int>(::getpid());
  text += fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"weft\"}}}}", process);
  each_event([&](const ThreadLog& thread, const Event& e) {
    text += fmt::format(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"cat\":\"{}\",\"name\":{},\"ts\":{:.3f},\"dur\":{:.3f}", process,
                        thread.number, name_of(e.work), quoted(e.name), static_cast<double>(e.begun - timeline().start) * 1e-3,
                        static_cast<double>(e.ended - e.begun) * 1e-3);
    if (e.device >= 0) text += fmt::format(",\"args\":{{\"device\":{}}}", quoted(to_string(Device::of_id(e.device))));
    text += "}";
  });
  return text + "\n],\"displayTimeUnit\":\"ns\"}\n";
}

/// WEFT_TRACE=file: the whole process.
const bool begun_by_environment = [] {
  const char* const path = std::getenv("WEFT_TRACE");
  if (!path || !*path) return false;
  timeline().taken = true;
  start();
  std::atexit([] {
    timeline_is_on.store(false, std::memory_order_relaxed);
    try {
      write_file(std::getenv("WEFT_TRACE"), {chrome_trace()}, {}, "WEFT_TRACE");
    } catch (const std::exception& e) {
      fmt::print(stderr, "weft: {}\n", e.what());
    }
  });
  return true;
}();

}  // namespace

std::atomic<bool> timeline_is_on{false};

void TimelineRange::begin(Work work, std::string_view name, int device) {
  name_ = name;
  work_ = work;
  device_ = device;
  begun_ = now();
}
void TimelineRange::end() {
  const std::int64_t ended = now();
  // One that began before the profile, or ends after it, is none of it.
  if (!timeline_is_on.load(std::memory_order_relaxed) || timeline().count.fetch_add(1, std::memory_order_relaxed) >= kMostEvents) return;
  ThreadLog& log = log_of_thread();
  const std::lock_guard lock(log.mutex);
  if (begun_ >= timeline().start) log.events.push_back({std::move(name_), begun_, ended, device_, work_});
}

}  // namespace detail

using namespace detail;

Profile::Profile(SourceLoc loc) {
  {
    const std::lock_guard lock(timeline().mutex);
    if (timeline().taken)
      throw Error("Profile: another profile is recorded just now; one that is destroyed, or WEFT_TRACE taken away, makes room",
                  effective_loc(loc));
    timeline().taken = true;
  }
  start();
}
Profile::~Profile() {
  stop();
  const std::lock_guard lock(timeline().mutex);
  timeline().taken = false;
}
void Profile::stop() { timeline_is_on.store(false, std::memory_order_relaxed); }

void Profile::save(const std::string& path, SourceLoc loc) const { write_file(path, {chrome_trace()}, loc, "Profile::save"); }

std::string Profile::table(int rows) const {
  struct Row {
    std::string name;
    Work work = Work::user;
    std::int64_t runs = 0, time = 0;
  };
  std::map<std::pair<Work, std::string>, Row> all;
  std::int64_t total = 0;
  each_event([&](const ThreadLog&, const Event& e) {
    if (e.work != Work::kernel && e.work != Work::routine && e.work != Work::control && e.work != Work::collective) return;
    Row& row = all[{e.work, e.name}];
    row.name = e.name, row.work = e.work;
    ++row.runs, row.time += e.ended - e.begun;
    total += e.ended - e.begun;
  });
  std::vector<Row> order;
  for (auto& [key, row] : all) order.push_back(std::move(row));
  std::sort(order.begin(), order.end(), [](const Row& a, const Row& b) { return a.time > b.time; });
  std::string text = fmt::format("{:>8} {:>12} {:>12} {:>7}  {:<10} {}\n", "runs", "total ms", "one us", "share", "what", "name");
  for (const Row& row : order) {
    if (rows-- <= 0) break;
    text += fmt::format("{:>8} {:>12.3f} {:>12.2f} {:>6.1f}%  {:<10} {}\n", row.runs, static_cast<double>(row.time) * 1e-6,
                        static_cast<double>(row.time) * 1e-3 / static_cast<double>(row.runs),
                        100. * static_cast<double>(row.time) / static_cast<double>(std::max<std::int64_t>(total, 1)), name_of(row.work),
                        row.name);
  }
  return text;
}

ProfileRange::ProfileRange(const std::string& name) {
  if (timeline_is_on.load(std::memory_order_relaxed)) range_ = new TimelineRange(Work::user, name);
}
ProfileRange::~ProfileRange() { delete static_cast<TimelineRange*>(range_); }

}  // namespace weft
