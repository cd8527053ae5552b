// weft-fuzz --seed S --count N [--shrink] [--out DIR]    runs N random programs on the interpreter and on the CPU backend
// weft-fuzz --program P [--shrink]                       one of them, by its own number
// weft-fuzz --replay FILE [--shrink]                     a case that was printed
// weft-fuzz --texts N --seed S                           N mutated texts through the parser
// weft-fuzz --calls N --seed S                           N calls of public functions with any arguments
// weft-fuzz --call P                                     one of them
//
// Prints what fails as text that --replay reads, and closes with `N programs, N failed`. Programs run in a process of their own, so that a
// crash or a hang is a failure like any other.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "tools/fuzz/calls.h"
#include "tools/fuzz/check.h"
#include "tools/fuzz/compare.h"
#include "tools/fuzz/mutate.h"
#include "tools/fuzz/shrink.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/error.h"

namespace weft::fuzz {
namespace {

constexpr double kSeconds = 40;        // of the processor, for one program
constexpr double kWallSeconds = 900;   // for one that waits for something
constexpr double kShrinkSeconds = 20;  // of the processor, for making a failing one small

constexpr long kBatch = 200;  // programs that one process runs

struct Options {
  std::uint64_t seed = 1;
  long count = 100, texts = 0, calls = 0;
  std::optional<std::uint64_t> program, call;
  std::string replay, out;
  bool shrink = false;
};

/// What the parent reads of a worker.
struct Shared {
  long current = -1, done = 0, failed = 0;
  CompareCounts counts;
  double started = 0, cpu_started = 0;
  char name[64] = {};
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double seconds_of(clockid_t clock) {
  timespec t{};
  return clock_gettime(clock, &t) == 0 ? static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec) : 0;
}
double cpu_of(pid_t process) {
  clockid_t clock;
  return clock_getcpuclockid(process, &clock) == 0 ? seconds_of(clock) : 0;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw IoError(path + ": can't be read");
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

/// A child that does the work; its exit status. Past the time it is killed.
template <class F>
int in_child(double seconds, F&& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int code = work();
    std::fflush(nullptr);
    _exit(code);
  }
  const double end = now() + seconds;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (now() > end) kill(child, SIGKILL);
    usleep(2000);
  }
  return status;
}
int replay_in_child(const std::string& path) {
  return in_child(200, [&] {
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)) return 3;
    execl("/proc/self/exe", "weft-fuzz", "--replay", path.c_str(), static_cast<char*>(nullptr));
    return 3;
  });
}

void report(const Options& o, const std::string& title, const Failure& f, const Case& c) {
  const std::string text = fmt::format("# {}\n# {}\n{}", title, f.kind, print_case(c));
  fmt::print("{}: {}: {}\n{}\n", title, f.kind, f.message, text);
  if (!o.out.empty()) {
    std::string name = title;
    for (char& ch : name)
      if (ch == ' ') ch = '_';
    detail::make_folders(o.out, {}, "weft-fuzz");
    detail::write_file(o.out + "/" + name + ".jaxpr", {text}, {}, "weft-fuzz");
  }
  std::fflush(stdout);
}

/// Checks one case in this process, and reports it. Whether it failed.
bool check_and_report(const Options& o, const std::string& title, const Case& c) {
  Case reached;
  Failure f = check_case(c, &reached);
  if (!f) return false;
  Case small = reached;
  if (o.shrink) {
    report(o, title + " unshrunk", f, small);  // to make it small may fail
    if (const Failure again = check_case(small); again.kind != f.kind) small = c;
    small =
        shrunk(small, [&](const Case& candidate) { return ends_soon(candidate) && check_case(candidate).kind == f.kind; }, kShrinkSeconds);
    if (const Failure last = check_case(small)) f = last;
  }
  report(o, title, f, small);
  return true;
}

/// A case that ends its process is shrunk with each candidate in a process of its own.
void report_crash(const Options& o, const std::string& title, const std::string& how, const Case& c) {
  Case small = c;
  if (o.shrink) {
    // A file without a name, which the child opens by that of its descriptor.
    const detail::Descriptor file(memfd_create("weft-fuzz", MFD_CLOEXEC));
    const std::string path = fmt::format("/proc/{}/fd/{}", getpid(), file.get());
    small = shrunk(
        c,
        [&](const Case& candidate) {
          const std::string text = print_case(candidate);
          if (ftruncate(file.get(), 0) != 0 || pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            throw IoError("weft-fuzz: no memory for a file");
          return WIFSIGNALED(replay_in_child(path));
        },
        kShrinkSeconds);
  }
  report(o, title, {how, "the process ended"}, small);
}

std::string title_of(std::uint64_t program) { return fmt::format("program {}", program); }

bool run_program(const Options& o, std::uint64_t program) {
  Case c;
  try {
    c = random_case(program);
  } catch (const std::exception& e) {
    report(o, title_of(program), {"trace", e.what()}, {});
    return true;
  }
  return check_and_report(o, title_of(program), c);
}

std::uint64_t program_at(const Options& o, long i) { return o.seed * 1000000 + static_cast<std::uint64_t>(i); }

void work(const Options& o, Shared& s, long until) {
  while (s.current + 1 < until) {
    ++s.current;
    s.started = now(), s.cpu_started = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    if (run_program(o, program_at(o, s.current))) ++s.failed;
    ++s.done;
  }
}

int run_many(const Options& o) {
  fmt::print("seed {}\n", o.seed);
  auto* const s = new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  while (s->current + 1 < o.count) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      s->cpu_started = 0;
      const CompareCounts before = s->counts;
      work(o, *s, std::min(o.count, s->current + 1 + kBatch));
      const CompareCounts& mine = compare_counts();
      s->counts = {before.compared + mine.compared, before.disturbed + mine.disturbed, before.ill_conditioned + mine.ill_conditioned};
      std::fflush(nullptr);
      _exit(0);
    }
    s->started = now(), s->cpu_started = 0;
    int status = 0;
    bool hung = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (cpu_of(child) - s->cpu_started > kSeconds || now() - s->started > kWallSeconds) hung = true, kill(child, SIGKILL);
      usleep(10000);
    }
    if (!WIFSIGNALED(status)) {
      if (s->done < o.count) fmt::print("{} so far\n", s->done);
      continue;
    }
    ++s->done, ++s->failed;
    const std::uint64_t program = program_at(o, s->current);
    const std::string how = hung ? "does not end" : fmt::format("signal {}", WTERMSIG(status));
    // As it is, and then made small: in children, as to run parts of it may end them too.
    for (const bool shrink : {false, true})
      if (!shrink || o.shrink)
        in_child(kWallSeconds, [&] {
          Options options = o;
          options.shrink = shrink;
          report_crash(options, title_of(program), how, random_case(program));
          return 0;
        });
    fmt::print("{}: {}\n", title_of(program), how);
  }
  fmt::print("{} comparisons, {} of them of sensitive results, {} without meaning\n", s->counts.compared, s->counts.disturbed,
             s->counts.ill_conditioned);
  fmt::print("{} programs, {} failed\n", s->done, s->failed);
  return s->failed == 0 ? 0 : 1;
}

int run_calls(const Options& o) {
  fmt::print("seed {}\n", o.seed);
  auto* const s = new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  while (s->current + 1 < o.calls) {
    const auto told = [](void* shared, const char* name) {
      std::strncpy(static_cast<Shared*>(shared)->name, name, sizeof(Shared::name) - 1);
    };
    const int status = in_child(kWallSeconds, [&] {
      rlimit limit{std::size_t{8} << 30, std::size_t{8} << 30};
      setrlimit(RLIMIT_AS, &limit);
      while (s->current + 1 < o.calls) {
        ++s->current;
        alarm(200);
        const std::string wrong = random_call(program_at(o, s->current), told, s);
        if (wrong.empty()) continue;
        ++s->failed;
        fmt::print("call {}: {}\n", program_at(o, s->current), wrong);
      }
      return 0;
    });
    if (!WIFSIGNALED(status)) continue;
    ++s->failed;
    fmt::print("call {}: {}: signal {}\n", program_at(o, s->current), s->name, WTERMSIG(status));
  }
  fmt::print("{} calls, {} failed\n", s->current + 1, s->failed);
  return s->failed == 0 ? 0 : 1;
}

int replay(const Options& o) {
  const Case c = parse_case(read_text(o.replay));
  if (o.shrink) {
    const int status = replay_in_child(o.replay);
    if (WIFSIGNALED(status)) {
      report_crash(o, o.replay, fmt::format("signal {}", WTERMSIG(status)), c);
      return 1;
    }
  }
  const bool failed = check_and_report(o, o.replay, c);
  if (!failed) fmt::print("nothing is wrong\n");
  return failed ? 1 : 0;
}

std::optional<Options> read_options(int argc, char** argv) try {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--shrink") {
      o.shrink = true;
      continue;
    }
    if (i + 1 == argc) return {};
    const std::string value = argv[++i];
    if (word == "--seed")
      o.seed = std::stoull(value);
    else if (word == "--count")
      o.count = std::stol(value);
    else if (word == "--texts")
      o.texts = std::stol(value);
    else if (word == "--calls")
      o.calls = std::stol(value);
    else if (word == "--program")
      o.program = std::stoull(value);
    else if (word == "--call")
      o.call = std::stoull(value);
    else if (word == "--replay")
      o.replay = value;
    else if (word == "--out")
      o.out = value;
    else
      return {};
  }
  return o;
} catch (const std::logic_error&) {  // a number that is none, or too large
  return {};
}

int main(int argc, char** argv) {
  const std::optional<Options> o = read_options(argc, argv);
  if (!o) {
    fmt::print(stderr,
               "usage: weft-fuzz --seed S --count N [--shrink] [--out DIR] | --program P [--shrink] | --replay FILE [--shrink] | --texts N "
               "--seed S | --calls N --seed S | --call P\n");
    return 2;
  }
  if (!o->replay.empty()) return replay(*o);
  if (o->texts > 0) return mutate_texts(o->seed, o->texts) == 0 ? 0 : 1;
  if (o->calls > 0) return run_calls(*o);
  if (o->call) {
    const std::string wrong = random_call(*o->call);
    fmt::print("{}\n", wrong.empty() ? "nothing is wrong" : wrong);
    return wrong.empty() ? 0 : 1;
  }
  if (o->program) {
    const bool failed = run_program(*o, *o->program);
    if (!failed) fmt::print("nothing is wrong\n");
    return failed ? 1 : 0;
  }
  return run_many(*o);
}

}  // namespace
}  // namespace weft::fuzz

int main(int argc, char** argv) {
  setenv("WEFT_TRACEBACK", "0", 0);  // its own functions tell nobody anything
  try {
    return weft::fuzz::main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft-fuzz: %s\n", error.what());
    return 2;
  }
}
