#include "weft/runtime/host/progress_bars.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

#include "weft/core/base/environment.h"
#include "weft/core/base/own_exit.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBetweenFrames = 0.1, kBetweenLines = 10;  // seconds
constexpr int kStderr = 2;

enum class Style { off, lines, bars };

Style chosen_style() {
  const std::string_view wanted = word_in_environment("WEFT_PROGRESS");
  if (wanted == "0" || wanted == "off") return Style::off;
  if (wanted == "lines") return Style::lines;
  if (wanted == "bars") return Style::bars;
  const char* const terminal = std::getenv("TERM");
  return ::isatty(kStderr) && !(terminal && std::string_view(terminal) == "dumb") ? Style::bars : Style::lines;
}
Style style() {
  static const Style s = chosen_style();
  return s;
}
bool writes_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* const v = std::getenv(variable); v && *v) {
      const std::string_view s = v;
      return s.find("UTF-8") != s.npos || s.find("utf8") != s.npos || s.find("utf-8") != s.npos;
    }
  return false;
}
int columns() {
  winsize size{};
  if (::ioctl(kStderr, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string duration(double seconds) {
  const auto s = static_cast<std::int64_t>(std::min(seconds, 1e9));
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60) : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}
std::string rate(double per_second) {
  return per_second >= 1e6   ? fmt::format("{:.3g}M/s", per_second * 1e-6)
         : per_second >= 1e4 ? fmt::format("{:.3g}k/s", per_second * 1e-3)
         : per_second >= 1   ? fmt::format("{:.4g}/s", per_second)
         : per_second > 1e-9 ? fmt::format("{:.3g} s each", 1 / per_second)
                             : std::string("0/s");
}

/// Writes all of it, or as much as the descriptor takes.
void write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(kStderr, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

struct Bar final : ProgressBar {
  std::string name;
  std::int64_t total = -1;
  Clock::time_point start = Clock::now();
  std::atomic<std::int64_t> done{0};
  bool ended = false;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  double per_second() const { return static_cast<double>(done) / std::max(seconds(), 1e-9); }
  /// `530 of 1000 (53 %), 125/s, 0:04 left`.
  std::string state() const {
    const std::int64_t n = done;
    std::string text = total >= 0 ? fmt::format("{} of {} ({} %), {}", n, total, total > 0 ? 100 * n / total : 100, rate(per_second()))
                                  : fmt::format("{}, {}", n, rate(per_second()));
    if (total > n && n > 0) text += ", " + duration(static_cast<double>(total - n) / per_second()) + " left";
    return text;
  }
  std::string last_words(bool complete) const {
    const std::int64_t n = done;
    const std::string of = total >= 0 ? fmt::format("{} of {}", n, total) : std::to_string(n);
    return fmt::format("{}: {}{} in {}, {}", name, complete ? "" : "stopped at ", of, duration(seconds()), rate(per_second()));
  }
  std::string drawn(int width, std::size_t name_width, bool utf8) const {
    const std::int64_t n = done;
    std::string words = state();
    std::string line = fmt::format("{:<{}} ", name, name_width);
    const auto room = static_cast<int>(width - 1 - static_cast<int>(line.size()) - static_cast<int>(words.size()) - 1);
    if (total > 0 && room >= 8) {
      const int cells = std::min(room, 40);
      const double filled = cells * std::min(1.0, static_cast<double>(n) / static_cast<double>(total));
      // Eighths of a cell.
      static constexpr const char* parts[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
      const int whole = static_cast<int>(filled), part = static_cast<int>((filled - whole) * 8);
      for (int i = 0; i < whole; ++i) line += utf8 ? "\u2588" : "#";
      if (utf8) line += parts[part];
      for (int i = whole + (utf8 && part > 0); i < cells; ++i) line += utf8 ? "\u2591" : ".";
      return line + " " + words;
    }
    line += words;
    return line.size() > static_cast<std::size_t>(width - 1) ? line.substr(0, static_cast<std::size_t>(width - 1)) : line;
  }
};

struct Display {
  std::mutex mutex;
  std::vector<Ref<Bar>> bars;         // that are not over, the oldest first
  std::atomic<std::int64_t> next{0};  // when something is drawn again: of the clock
  const bool utf8 = writes_utf8();

  /// The bars, and before them what is to stay on the screen.
  void draw(const std::string& stays) {
    std::string frame = "\r\x1b[J" + stays;
    const int width = columns();
    std::size_t names = 0;
    for (const Ref<Bar>& b : bars) names = std::max(names, std::min<std::size_t>(b->name.size(), 30));
    for (std::size_t i = 0; i < bars.size(); ++i) frame += (i ? "\n" : "") + bars[i]->drawn(width, names, utf8);
    if (bars.size() > 1) frame += fmt::format("\x1b[{}A", bars.size() - 1);
    write_out(frame + "\r");
  }
  void tell(double pause) {
    next = (Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause))).time_since_epoch().count();
    if (style() == Style::bars) return draw({});
    std::string lines;
    for (const Ref<Bar>& b : bars) lines += b->name + ": " + b->state() + "\n";
    write_out(lines);
  }
  void end(Bar& bar, bool complete) {
    if (std::exchange(bar.ended, true)) return;
    const std::string words = bar.last_words(complete) + "\n";
    std::erase_if(bars, [&](const Ref<Bar>& b) { return b.get() == &bar; });
    if (style() == Style::bars)
      draw(words);
    else
      write_out(words);
  }
};
Display& display() {
  static Display& d = *[] {
    auto* const made = &process_wide<Display>();
    // A process that ends within a loop leaves whole lines behind.
    at_own_exit([] {
      const std::lock_guard lock(display().mutex);
      while (!display().bars.empty()) display().end(*Ref<Bar>(display().bars.front()), false);
    });
    return made;
  }();
  return d;
}

double pause() { return style() == Style::bars ? kBetweenFrames : kBetweenLines; }

/// One line of printable characters.
std::string clean(const std::string& name) {
  std::string out;
  for (const char c : name) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return out.empty() ? "progress" : out;
}

thread_local std::int64_t loop_steps = -1;

}  // namespace

bool progress_is_on() { return style() != Style::off; }

Ref<ProgressBar> begin_progress(const std::string& name, std::int64_t total) {
  if (!progress_is_on()) return {};
  Ref<Bar> bar = make_ref<Bar>();
  bar->name = clean(name), bar->total = total;
  Display& d = display();
  const std::lock_guard lock(d.mutex);
  d.bars.push_back(bar);
  if (style() == Style::bars)
    d.tell(kBetweenFrames);
  else if (d.bars.size() == 1)
    d.next = (Clock::now() + std::chrono::seconds(static_cast<int>(kBetweenLines))).time_since_epoch().count();
  return Ref<ProgressBar>(bar.get());
}

void advance_progress(ProgressBar& given, std::int64_t steps) noexcept {
  auto& bar = static_cast<Bar&>(given);
  bar.done.fetch_add(steps, std::memory_order_relaxed);
  Display& d = display();
  if (Clock::now().time_since_epoch().count() < d.next.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(d.mutex, std::try_to_lock);
  if (!lock || bar.ended) return;  // somebody draws already
  try {
    d.tell(pause());
  } catch (const std::bad_alloc&) {
    // Without memory for it nothing is printed.
  }
}

void end_progress(ProgressBar& given, bool complete) noexcept {
  auto& bar = static_cast<Bar&>(given);
  Display& d = display();
  const std::lock_guard lock(d.mutex);
  try {
    d.end(bar, complete);
  } catch (const std::bad_alloc&) {
    std::erase_if(d.bars, [&](const Ref<Bar>& b) { return b.get() == &bar; });
  }
}

LoopSteps::LoopSteps(std::int64_t steps) : outer_(loop_steps) { loop_steps = steps; }
LoopSteps::~LoopSteps() { loop_steps = outer_; }
std::int64_t LoopSteps::current() { return loop_steps; }

}  // namespace weft::detail
