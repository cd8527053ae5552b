// Everything at once for a long time: soak SECONDS [THREADS [SEED]].
//
// Threads trace, compile, call, differentiate, map, export, save, load and parse, with functions that throw and a signal every two
// milliseconds that interrupts system calls. Each result is checked. In between the threads stop, and what the process then holds is noted:
// bytes of malloc's and of arrays, descriptors, threads. From the first third on, by when all tables are full, nothing of it may grow. Ends
// with 0 if all was right.
#include <fmt/core.h>

#include <dirent.h>
#include <malloc.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/folder.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;
using Random = std::mt19937;

std::mutex printing;
std::atomic<int> wrong{0};
std::atomic<long> signals{0};

void report(const std::string& what) {
  ++wrong;
  const std::lock_guard lock(printing);
  std::printf("wrong: %s\n", what.c_str());
  std::fflush(stdout);
}
void expect(bool right, const char* what) {
  if (!right) report(what);
}
void expect_near(float got, float want, const char* what) {
  if (!(std::abs(got - want) <= 1e-4f * std::max(1.f, std::abs(want)))) report(fmt::format("{}: {} and not {}", what, got, want));
}

/// What all threads call.
struct Shared {
  std::function<Array(Array)> sum_of_squares = jit([](Array x) { return sum(x * x); });
  std::function<Array(Array, Array)> product = jit([](Array a, Array b) { return matmul(a, b); });
  std::function<Array(Array)> failing = jit([](Array x) {
    return pure_callback(
        [](Array v) -> Array {
          if (v.item<float>() > 0) throw std::runtime_error("asked for");
          return v;
        },
        ShapeDtypeStruct{{}, float32}, x);
  });
  std::string folder;
};

struct Tree {
  Array a;
  std::vector<Array> list;
};

void compile_anew(Shared&, Random& r, int) {
  const float c = 1.f + static_cast<float>(r() % 1000000) * 1e-6f;
  const int n = 1 + static_cast<int>(r() % 50);
  const auto f = jit([c](Array x) { return sum(x * c + exp(x * 0)); });
  expect_near(f(ones(n)).item<float>(), static_cast<float>(n) * (c + 1), "a new program");
}
void call_shapes(Shared& s, Random& r, int) {
  const int n = 1 + static_cast<int>(r() % 300);
  expect_near(s.sum_of_squares(full({n}, 2.f)).item<float>(), 4.f * static_cast<float>(n), "a jitted function of many shapes");
}
void call_warm(Shared& s, Random&, int) {
  for (int i = 0; i < 100; ++i) expect(s.sum_of_squares(full({7}, 3.f)).item<float>() == 63.f, "a warm call");
}
void products(Shared& s, Random& r, int) {
  const int n = 8 << r() % 5;
  expect_near(s.product(ones({n, 2 * n}), ones({2 * n, n}))(0, 0).item<float>(), 2.f * static_cast<float>(n), "a product");
  expect_near(linalg::det(eye(5) * 2.f).item<float>(), 32.f, "a determinant");
}
void transforms(Shared& s, Random& r, int) {
  const float x = 1.f + static_cast<float>(r() % 10);
  expect_near(grad([](Array v) { return v * v * v; })(Array(x)).item<float>(), 3 * x * x, "a gradient");
  expect_near(grad([&](Array v) { return s.sum_of_squares(v); })(full({5}, x))(2).item<float>(), 2 * x,
              "the gradient of a jitted function");
  const Array rows = vmap([&](Array v) { return s.sum_of_squares(v) + v(0); })(full({4, 3}, x));
  expect_near(rows(3).item<float>(), 3 * x * x + x, "a mapped function");
  const auto [carry, steps] = scan([](Array c, Array v) { return std::pair{c + v, c}; }, Array(0.f), full({6}, x));
  expect_near(carry.item<float>() + steps(1).item<float>(), 7 * x, "a scan");
  expect_near(pmap([](Array v) { return psum(v, "i"); }, {.axis_name = "i"})(full({4}, x))(1).item<float>(), 4 * x, "a sum over devices");
}
void exceptions(Shared& s, Random& r, int) {
  const bool throws = r() % 2 == 0;
  bool thrown = false;
  try {
    s.failing(throws ? 1.f : -1.f);
  } catch (const std::runtime_error& e) {
    thrown = std::string(e.what()) == "asked for";
  }
  expect(thrown == throws, "a callback's exception");
  thrown = false;
  try {
    jit([](Array x) -> Array {
      throw 42;
      return x;
    })(ones(2));
  } catch (int) {
    thrown = true;
  }
  expect(thrown, "an exception while tracing");
  thrown = false;
  try {
    matmul(ones({2, 3}), ones({2, 3}));
  } catch (const ShapeError&) {
    thrown = true;
  }
  expect(thrown, "a ShapeError");
}
void files(Shared& s, Random& r, int thread) {
  const std::string own = s.folder + "/" + std::to_string(thread);
  const float x = static_cast<float>(r() % 100);
  save(own + ".npy", full({1000}, x));
  expect(sum(load(own + ".npy")).item<float>() == 1000 * x, "a saved array");
  const Tree tree{full({10}, x), {full({3}, 2 * x), full({4}, 3 * x)}};
  save_checkpoint(own + "-checkpoint", tree);
  const Tree back = load_checkpoint(own + "-checkpoint", tree);
  expect(sum(back.list[1]).item<float>() == 12 * x && sum(back.a).item<float>() == 10 * x, "a checkpoint");
}
void texts(Shared& s, Random& r, int thread) {
  const int n = 2 + static_cast<int>(r() % 20);
  const auto f = [n](Array x) { return sum(sin(x) * static_cast<float>(n)); };
  const std::string text = make_jaxpr(f)(ones(n)).to_string();
  expect(parse(text).to_string() == text, "a program's text");
  export_object(jit(f).lower(ones(n)).compile(), s.folder + "/object" + std::to_string(thread));
  expect(std::filesystem::file_size(s.folder + "/object" + std::to_string(thread) + ".o") > 0, "an exported object");
}

using Job = void (*)(Shared&, Random&, int);
constexpr std::pair<Job, int> kJobs[] = {{compile_anew, 4}, {call_shapes, 8}, {call_warm, 8}, {products, 4},
                                         {transforms, 4},   {exceptions, 4},  {files, 2},     {texts, 1}};

int entries(const char* folder) {
  int n = 0;
  if (DIR* d = opendir(folder)) {
    while (readdir(d)) ++n;
    closedir(d);
  }
  return n;
}
struct Held {
  double seconds, resident, allocated, arrays;  // the last three in MB
  int descriptors, threads;
};
/// The least of some moments: programs are being stored meanwhile.
int least_entries(const char* folder) {
  int least = entries(folder);
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    least = std::min(least, entries(folder));
  }
  return least;
}
Held held(Clock::time_point since) {
  malloc_trim(0);
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const struct mallinfo2 m = mallinfo2();
  constexpr double mb = 1 << 20;
  return {std::chrono::duration<double>(Clock::now() - since).count(),
          static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / mb,
          static_cast<double>(m.uordblks + m.hblkhd) / mb,
          static_cast<double>(devices()[0].memory_stats().bytes_in_use) / mb,
          least_entries("/proc/self/fd"),
          least_entries("/proc/self/task")};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::puts("soak SECONDS [THREADS [SEED]]"), 2;
  const double seconds = std::atof(argv[1]);
  const int threads = argc > 2 ? std::atoi(argv[2]) : 16;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : std::random_device()();
  config.num_cpu_devices = 4;
  config.jit_cache_size = 200;  // fewer than there are shapes
  const test::Folder folder;
  setenv("WEFT_CACHE_DIR", (folder.path + "/cache").c_str(), 1);
  Shared shared;
  shared.folder = folder.path;
  struct sigaction action{};
  action.sa_handler = [](int) { ++signals; };  // without SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every{{0, 2000}, {0, 2000}}, never{};

  constexpr int kRounds = 12;
  std::atomic<long> jobs{0};
  std::vector<Held> notes;
  std::printf("%d threads, seed %u\n", threads, seed);
  const Clock::time_point begin = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point until =
        begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds * (round + 1) / kRounds));
    setitimer(ITIMER_REAL, &every, nullptr);
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        Random random(seed + static_cast<unsigned>(round * 1000 + t));
        int total = 0;
        for (const auto& [job, weight] : kJobs) total += weight;
        do {
          int pick = static_cast<int>(random() % static_cast<unsigned>(total));
          Job chosen = nullptr;
          for (const auto& [job, weight] : kJobs)
            if ((pick -= weight) < 0 && !chosen) chosen = job;
          try {
            chosen(shared, random, t);
          } catch (const std::exception& e) {
            report(std::string("thrown: ") + e.what());
          }
          ++jobs;
        } while (Clock::now() < until);
      });
    for (auto& t : running) t.join();
    setitimer(ITIMER_REAL, &never, nullptr);
    notes.push_back(held(begin));
    const Held& h = notes.back();
    std::printf("%6.0f s: %ld jobs, %.1f MB resident, %.1f MB of malloc's, %.2f MB of arrays, %d descriptors, %d threads\n", h.seconds,
                jobs.load(), h.resident, h.allocated, h.arrays, h.descriptors, h.threads);
    std::fflush(stdout);
  }
  const Held &first = notes[kRounds / 3], &last = notes.back();
  expect(last.descriptors <= first.descriptors, "descriptors grow");
  expect(last.threads <= first.threads, "threads grow");
  expect(last.arrays <= first.arrays + 1, "memory of arrays grows");
  // A program cache of 1024 fills in a minute or so.
  if (seconds >= 300) expect(last.allocated <= first.allocated * 1.05 + 2, "memory grows");
  std::printf("%ld jobs, %ld signals, %d wrong\n", jobs.load(), signals.load(), wrong.load());
  return wrong == 0 ? 0 : 1;
}
