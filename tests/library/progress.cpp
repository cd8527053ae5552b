// How far loops are: what is told on a terminal and where there is none, of loops that end early, in several threads and on several
// devices.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/progress.h>
#include <weft/weft.h>

#include <cstdlib>
#include <thread>

#include "tests/library/terminal.h"
#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

namespace {

/// What a program of these tests, run in a process of its own, writes to stderr; on a terminal, or else into a pipe.
std::string told_by(const char* name, const char* style, bool terminal = false, int* result = nullptr) {
  int ends[2];
  if (terminal) {
    ends[0] = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(ends[0] >= 0);
    REQUIRE(::grantpt(ends[0]) == 0);
    REQUIRE(::unlockpt(ends[0]) == 0);
    ends[1] = ::open(::ptsname(ends[0]), O_RDWR | O_NOCTTY);
    winsize size{24, 100, 0, 0};
    REQUIRE(::ioctl(ends[1], TIOCSWINSZ, &size) == 0);
  } else {
    REQUIRE(::pipe(ends) == 0);
  }
  const pid_t child = fork();
  if (child == 0) {
    ::dup2(ends[1], 2);
    ::setenv("WEFT_TEST_PROGRESS", name, 1);
    ::setenv("WEFT_PROGRESS", style, 1);
    ::setenv("WEFT_NUM_CPU_DEVICES", "2", 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::setenv("TERM", "xterm", 1);
    if (!terminal) ::close(ends[0]);
    execl("/proc/self/exe", "test_library", "-tc=a program that tells how far it is", "-m", static_cast<char*>(nullptr));
    _exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t n; (n = ::read(ends[0], block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (result) *result = status;
  return text;
}

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

}  // namespace

// What the other cases run in processes of their own; by itself it does nothing.
TEST_CASE("a program that tells how far it is") {
  const char* const name = std::getenv("WEFT_TEST_PROGRESS");
  if (!name) return;
  const std::string which = name;
  if (which == "host loop") {
    std::int64_t sum = 0;
    for (const std::int64_t i : progress(100, "adding")) sum += i;
    CHECK(sum == 4950);
    const std::vector<int> values{1, 2, 3};
    for (const int v : progress(values, "a\nvector")) sum += v;
    for (Array row : progress(ones({4, 2}), "rows")) sum += row.size();
  } else if (which == "slow") {
    for (const std::int64_t i : progress(10, "slow")) static_cast<void>(i), wait_a_little();
  } else if (which == "exception") {
    try {
      for (const std::int64_t i : progress(10, "failing")) {
        wait_a_little();
        if (i == 6) throw std::runtime_error("as it must");
      }
    } catch (const std::runtime_error&) {
      std::fputs("caught\n", stderr);
    }
  } else if (which == "break") {
    for (const std::int64_t i : progress(10, "leaving"))
      if (i == 3) break;
  } else if (which == "uncaught") {
    for (const std::int64_t i : progress(10, "ending")) {
      wait_a_little();
      if (i == 5) std::exit(3);
    }
  } else if (which == "threads") {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([t] {
        for (const std::int64_t i : progress(200, "thread " + std::to_string(t)))
          static_cast<void>(i), std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    for (std::thread& t : threads) t.join();
  } else if (which == "scan") {
    const auto step = [](Array c, Array x) { return std::pair{c + x, c}; };
    const auto [last, all] = jit([&](Array xs) { return scan(progress(step, "scanning"), Array(0.f), xs); })(ones(50));
    CHECK(last.item<float>() == 50);
    fori_loop(0, 20, progress([](Array, Array v) { return v * 2; }, "counting"), Array(1.f));
    while_loop([](Array v) { return v < 10; }, progress([](Array v) { return v + 1; }, "while", {.total = 10}), Array(0.f));
    grad([&](Array x) { return fori_loop(0, 7, progress([&](Array, Array v) { return v * x; }, "derivative"), Array(1.f)); })(2.f);
    vmap([](Array x) { return fori_loop(0, 6, progress([](Array, Array v) { return v + 1; }, "lanes"), x); })(ones(3));
  } else if (which == "pmap") {
    pmap([](Array x) { return fori_loop(0, 30, progress([](Array, Array v) { return v + 1; }, "training"), x); })(ones({2, 3}))
        .block_until_ready();
  }
}

TEST_CASE("where there is no terminal, loops end with a line") {
  const std::string text = told_by("host loop", "");
  CHECK(has(text, {"adding: 100 of 100 in 0:00, ", "/s\n", "a vector: 3 of 3 in 0:00", "rows: 4 of 4"}));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(told_by("host loop", "off").empty());
  CHECK(told_by("scan", "0").empty());
  int status = 0;
  CHECK(told_by("host loop", "sometimes", false, &status).empty());
  CHECK(status != 0);  // an Error: it is none of the words
}

TEST_CASE("loops of compiled programs tell of each run, devices have lines of their own") {
  const std::string text = told_by("scan", "lines");
  for (const char* line : {"scanning: 50 of 50", "counting: 20 of 20", "while: 10 of 10", "derivative: 7 of 7", "lanes: 6 of 6"})
    CHECK(has(text, line));
  const std::string mapped = told_by("pmap", "lines");
  CHECK(has(mapped, {"training cpu:0: 30 of 30", "training cpu:1: 30 of 30"}));
}

TEST_CASE("bars move on a terminal, and leave one line each") {
  const std::string text = told_by("slow", "", true);
  CHECK(has(text, {"\u2588", "\u2591", "left"}));
  Terminal screen(100);
  screen.write(text);
  REQUIRE(screen.lines().size() == 1);
  CHECK(has(screen.lines()[0], "slow: 10 of 10 in 0:00, "));
  CHECK(screen.column() == 0);
}

TEST_CASE("after an exception, a break and an exit there are whole lines") {
  for (const bool terminal : {false, true}) {
    Terminal screen(100);
    screen.write(told_by("exception", terminal ? "" : "lines", terminal));
    REQUIRE(screen.lines().size() == 2);
    CHECK(has(screen.lines()[0], "failing: stopped at 6 of 10 in 0:00"));
    CHECK(screen.lines()[1] == "caught");
    Terminal other(100);
    other.write(told_by("break", terminal ? "" : "lines", terminal));
    CHECK(has(other.lines()[0], "leaving: stopped at 3 of 10"));
    Terminal ended(100);
    ended.write(told_by("uncaught", terminal ? "" : "lines", terminal));
    REQUIRE(ended.lines().size() >= 1);
    CHECK(has(ended.lines()[0], "ending: stopped at 5 of 10"));
    CHECK(ended.column() == 0);
  }
}

TEST_CASE("bars of several threads stand one below the other") {
  const std::string text = told_by("threads", "", true);
  CHECK(has(text, "\x1b[2A"));
  Terminal screen(100);
  screen.write(text);
  REQUIRE(screen.lines().size() == 3);
  for (const std::string& line : screen.lines()) CHECK(has(line, ": 200 of 200 in "));
  CHECK(has(told_by("pmap", "", true), "training cpu:1"));
}

TEST_CASE("where nothing is to be told, a loop's body is what it was") {
  if (const char* const set = std::getenv("WEFT_PROGRESS"); !set || std::string(set) != "off") {
    // The choice is made once in a process.
    const pid_t child = fork();
    if (child == 0) {
      ::setenv("WEFT_PROGRESS", "off", 1);
      execl("/proc/self/exe", "test_library", "-tc=where nothing is to be told*", "-m", static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    return;
  }
  const auto body = [](Array, Array v) { return v * 2; };
  const auto with = make_jaxpr([&](Array x) { return fori_loop(0, 3, progress(body, "loop"), x); })(1.f);
  CHECK(with == make_jaxpr([&](Array x) { return fori_loop(0, 3, body, x); })(1.f));
}
