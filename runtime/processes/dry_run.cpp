#include "weft/runtime/processes/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "weft/core/base/environment.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

std::string size_text(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  int u = 0;
  while (bytes >= 1000 && u < 4) bytes /= 1000, ++u;
  return u == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, units[u]);
}
std::string time_text(double s) {
  return s < 1e-3 ? fmt::format("{:.3g} us", s * 1e6) : s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

}  // namespace

DryRunSettings parse_dry_run(const std::string& text) {
  DryRunSettings s;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](auto& value) {
    const auto [stop, problem] = std::from_chars(at, end, value);
    const bool good = problem == std::errc() && stop != at;
    at = stop;
    return good;
  };
  const auto skip = [&](std::string_view word) {
    if (static_cast<std::size_t>(end - at) < word.size() || std::memcmp(at, word.data(), word.size()) != 0) return false;
    at += word.size();
    return true;
  };
  bool good = number(s.processes) && skip("x") && number(s.devices);
  while (good && at != end) good = skip(",") && ((skip("latency=") && number(s.latency)) || (skip("bandwidth=") && number(s.bandwidth)));
  if (!good || s.processes < 1 || s.processes > (1 << 20) || s.devices < 1 || s.devices > 1024 ||
      !(s.latency >= 0 && s.latency <= kLongestTime) || !(s.bandwidth >= 0 && s.bandwidth <= 1e18))
    throw DistributedError(
        fmt::format("distributed::initialize: WEFT_DRY_RUN is `{}`; write processes x devices, and if you like latency in seconds and "
                    "bandwidth in bytes a "
                    "second: `64x4,latency=2e-6,bandwidth=1e10`",
                    text));
  return s;
}

Transport::Request DryTransport::send(Channel, int, int, std::span<const Piece>) { return {}; }
Transport::Request DryTransport::receive(Channel, int, int, std::span<const Piece> pieces) {
  for (const Piece& p : pieces) std::memset(p.data, 0, p.bytes);
  return {};
}
bool DryTransport::test(Request&) { return true; }
void DryTransport::abort(int code) { std::_Exit(code); }

void DryRun::add(const std::string& text, SourceLoc loc, int processes, std::int64_t messages, std::int64_t bytes, int rounds) {
  const std::lock_guard lock(mutex_);
  auto e = std::find_if(entries_.begin(), entries_.end(),
                        [&](const Entry& x) { return x.text == text && x.loc.line() == loc.line() && x.loc.file() == loc.file(); });
  if (e == entries_.end()) e = entries_.insert(entries_.end(), Entry{text, loc, processes, rounds, 0, messages, bytes});
  ++e->calls;
}

// Each message costs its latency, one after the other; rounds in which nothing is sent wait for one.
double DryRun::seconds(const Entry& e) const {
  const double messages = static_cast<double>(std::max<std::int64_t>(e.messages, e.rounds));
  return messages * settings_.latency + (settings_.bandwidth > 0 ? static_cast<double>(e.bytes) / settings_.bandwidth : 0);
}

std::string DryRun::report() const {
  const std::lock_guard lock(mutex_);
  const bool timed = settings_.latency > 0 || settings_.bandwidth > 0;
  std::string text = fmt::format("dry run as process 0 of {} with {} {} each:\n", settings_.processes, settings_.devices,
                                 settings_.devices == 1 ? "device" : "devices");
  double bytes = 0, time = 0;
  std::int64_t calls = 0;
  for (const Entry& e : entries_) {
    text += fmt::format("  {}{}: {} {}, among {} processes; each time {} messages, {} sent", e.text,
                        e.loc ? fmt::format(" at {}:{}", e.loc.file(), e.loc.line()) : "", e.calls, e.calls == 1 ? "call" : "calls",
                        e.processes, e.messages, size_text(static_cast<double>(e.bytes)));
    if (timed) text += fmt::format(", {}", time_text(seconds(e)));
    text += "\n";
    calls += e.calls;
    bytes += static_cast<double>(e.calls) * static_cast<double>(e.bytes);
    time += static_cast<double>(e.calls) * seconds(e);
  }
  text += fmt::format("  in all {} calls, {} sent{}\n", calls, size_text(bytes), timed ? ", " + time_text(time) : std::string());
  return text;
}

}  // namespace weft::detail
