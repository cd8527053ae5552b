#include "weft/runtime/host/profile.h"
#include "weft/core/base/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>

#include "weft/core/base/files.h"
#include "weft/core/base/own_exit.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/text/json.h"
#include "weft/core/trace/named_scope.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/profile/machine_peaks.h"
#include "weft/runtime/profile/timeline_log.h"

namespace weft {
namespace detail {
namespace {

const char* name_of(Work work) {
  static constexpr const char* names[] = {"trace", "compile", "program", "kernel", "routine", "control", "collective", "transfer", "user"};
  return names[static_cast<int>(work)];
}
/// The whole name of a step: its program, what it is, what of the user's it computes.
std::string full_name(const TimelineEvent& e) {
  if (!e.label) return e.name;
  return (e.label->program.empty() ? "" : e.label->program + ": ") + e.label->name +
         (e.label->scope.empty() ? "" : " (" + e.label->scope + ")");
}

std::string chrome_trace() {
  std::string text = "{\"traceEvents\":[\n";
  const int process = static_cast<int>(::getpid());
  text += fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"weft\"}}}}", process);
  const auto microseconds = [](std::int64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) * 1e-3); };
  each_event([&](const TimelineEvent& e) {
    text += fmt::format(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"cat\":\"{}\",\"name\":{},\"ts\":{},\"dur\":{}", process, e.thread,
                        name_of(e.work), json_string(full_name(e)), microseconds(e.begun), microseconds(e.ended - e.begun));
    if (e.device >= 0) text += fmt::format(",\"args\":{{\"device\":{}}}", json_string(to_string(Device::of_id(e.device))));
    if (e.label && (e.label->flops > 0 || e.label->bytes > 0))
      text += fmt::format(",\"args\":{{\"flops\":{:.0f},\"bytes\":{:.0f}}}", e.label->flops, e.label->bytes);
    text += "}";
  });
  for (const MemorySample& m : memory_samples())
    text += fmt::format(",\n{{\"ph\":\"C\",\"pid\":{},\"name\":{},\"ts\":{},\"args\":{{\"bytes\":{}}}}}", process,
                        json_string("memory of " + to_string(Device::of_id(m.device))), microseconds(m.time), m.bytes);
  return text + "\n],\"displayTimeUnit\":\"ns\"}\n";
}

/// The file that WEFT_TRACE names.
const std::string& trace_file() {
  static const std::string& file = process_wide_from([] {
    std::error_code unknown;  // a folder that is gone: the path stays as it is
    const std::filesystem::path given = word_in_environment("WEFT_TRACE"), whole = std::filesystem::absolute(given, unknown);
    return (unknown ? given : whole).string();
  });
  return file;
}

/// WEFT_TRACE=file: the whole process.
const bool begun_by_environment = [] {
  if (word_in_environment("WEFT_TRACE").empty()) return false;
  trace_file();  // as the variable and the working folder are now
  take_timeline();
  start_timeline();
  at_own_exit([] {
    stop_timeline();
    try {
      write_file(trace_file(), {chrome_trace()}, {}, "WEFT_TRACE");
    } catch (const std::exception& e) {
      fmt::print(stderr, "weft: {}\n", e.what());
    }
  });
  return true;
}();

struct Row {
  TimelineEvent example;
  std::int64_t runs = 0, time = 0;
};

std::string amount(double v, const char* unit) {
  constexpr const char* prefixes[] = {"", "k", "M", "G", "T"};
  int k = 0;
  while (v >= 1000 && k < 4) v /= 1000, ++k;
  return fmt::format("{:.3g} {}{}", v, prefixes[k], unit);
}

/// The most memory that each device had in use, and what the machine can do.
std::string closing_lines(const MachinePeaks* peaks) {
  std::map<int, std::int64_t> most;
  for (const MemorySample& m : memory_samples()) most[m.device] = std::max(most[m.device], m.bytes);
  std::string text;
  for (const auto& [device, bytes] : most)
    text += fmt::format("{}{} {}", text.empty() ? "most memory in use: " : ", ", to_string(Device::of_id(device)),
                        amount(static_cast<double>(bytes), "B"));
  if (!text.empty()) text += "\n";
  if (peaks) text += fmt::format("roofline: {}, {}\n", amount(peaks->flops, "FLOP/s"), amount(peaks->bytes, "B/s"));
  return text;
}

}  // namespace
}  // namespace detail

using namespace detail;

Profile::Profile(SourceLoc loc) {
  if (!take_timeline()) throw Error("Profile: another profile is being recorded; end it first, or unset WEFT_TRACE", effective_loc(loc));
  start_timeline();
}
Profile::~Profile() {
  stop();
  return_timeline();
}
void Profile::stop() { stop_timeline(); }

void Profile::save(const std::string& path, SourceLoc loc) const { write_file(path, {chrome_trace()}, loc, "Profile::save"); }

std::string Profile::table(int rows) const {
  std::map<std::tuple<Work, const WorkLabel*, std::string>, Row> all;
  std::int64_t total = 0;
  each_event([&](const TimelineEvent& e) {
    if (e.work != Work::kernel && e.work != Work::routine && e.work != Work::control && e.work != Work::collective) return;
    Row& row = all.try_emplace({e.work, e.label, e.name}, Row{e}).first->second;
    ++row.runs, row.time += e.ended - e.begun;
    total += e.ended - e.begun;
  });
  std::vector<Row> order;
  for (auto& [key, row] : all) order.push_back(std::move(row));
  std::stable_sort(order.begin(), order.end(), [](const Row& a, const Row& b) { return a.time > b.time; });
  if (order.size() > static_cast<std::size_t>(std::max(rows, 0))) order.resize(static_cast<std::size_t>(std::max(rows, 0)));
  const bool any_cost = std::any_of(order.begin(), order.end(), [](const Row& r) { return r.example.label && r.example.label->bytes > 0; });
  const bool was_on = timeline_is_on.exchange(false);  // the measurement's own work is not recorded
  const MachinePeaks* const peaks = any_cost ? &host_peaks() : nullptr;
  if (was_on) timeline_is_on.store(true);
  std::string text = fmt::format("{:>8} {:>12} {:>12} {:>7} {:>9} {:>9} {:>9}  {:<10} {}\n", "runs", "total ms", "one us", "share",
                                 "GFLOP/s", "GB/s", "roofline", "what", "name");
  for (const Row& row : order) {
    const double seconds = static_cast<double>(row.time) * 1e-9, one = seconds / static_cast<double>(row.runs);
    std::string rates = fmt::format("{:>9} {:>9} {:>9}", "", "", "");
    if (const WorkLabel* const l = row.example.label; l && l->bytes > 0 && one > 0)
      rates = fmt::format("{:>9.2f} {:>9.2f} {:>8.0f}%", l->flops / one * 1e-9, l->bytes / one * 1e-9,
                          100 * peaks->seconds(l->flops, l->bytes) / one);
    text += fmt::format("{:>8} {:>12.3f} {:>12.2f} {:>6.1f}% {}  {:<10} {}\n", row.runs, seconds * 1e3, one * 1e6,
                        100. * static_cast<double>(row.time) / static_cast<double>(std::max<std::int64_t>(total, 1)), rates,
                        name_of(row.example.work), full_name(row.example));
  }
  return order.empty() ? text : text + closing_lines(peaks);
}

ProfileRange::ProfileRange(const std::string& name) : ProfileRange(name, false) {}
ProfileRange::ProfileRange(const std::string& name, bool traced) {
  if (traced) scope_ = new NameScope(name);
  if (timeline_is_on.load(std::memory_order_relaxed)) range_ = new TimelineRange(Work::user, name);
}
ProfileRange::~ProfileRange() {
  delete static_cast<TimelineRange*>(range_);
  delete static_cast<NameScope*>(scope_);
}

}  // namespace weft
