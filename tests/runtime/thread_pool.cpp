// The thread pool: every index once, loops within loops, exceptions, many callers, cancelled threads.
#include "weft/runtime/host/thread_pool.h"

#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/runtime/devices.h"

using namespace weft::detail;

namespace {

int threads_of_process() {
  struct stat tasks{};
  return stat("/proc/self/task", &tasks) == 0 ? static_cast<int>(tasks.st_nlink) - 2 : 0;
}
[[maybe_unused]] const int threads_before_main = threads_of_process();

}  // namespace

TEST_CASE("a program that is linked with the library has no threads but its own before main") { CHECK(threads_before_main == 1); }

TEST_CASE("linear algebra leaves no threads behind") {
  parallel_for(64, [](std::int64_t) {});  // the pool has its threads now
  const int before = threads_of_process();
  weft::linalg::svdvals(weft::ones({40, 40})).block_until_ready();
  CHECK(threads_of_process() == before);
}

TEST_CASE("every index is run once") {
  for (std::int64_t n : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
    parallel_for(n, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const auto& r : runs) REQUIRE(r == 1);
  }
}

TEST_CASE("a thread that is done goes on with what others have left, each part in order") {
  if (num_threads() < 2) return;
  constexpr std::int64_t n = 64;
  std::atomic<std::int64_t> others{0};
  std::mutex mutex;
  std::map<std::thread::id, std::vector<std::int64_t>> orders;
  parallel_for(n, [&](std::int64_t i) {
    {
      const std::lock_guard lock(mutex);
      orders[std::this_thread::get_id()].push_back(i);
    }
    if (i > 0)
      ++others;
    else
      while (others < n - 1) std::this_thread::yield();
  });
  for (const auto& [thread, order] : orders) {
    int parts = 1;
    for (std::size_t i = 1; i < order.size(); ++i) parts += order[i] < order[i - 1];
    CHECK(parts <= num_threads());
  }
}

TEST_CASE("loops within loops run inline") {
  std::atomic<int> runs{0};
  parallel_for(8, [&](std::int64_t) {
    const bool inside = in_parallel_region();
    const std::thread::id me = std::this_thread::get_id();
    parallel_for(8, [&](std::int64_t) {
      ++runs;
      CHECK((!inside || std::this_thread::get_id() == me));
    });
  });
  CHECK(runs == 64);
}

TEST_CASE("the first exception comes out, and the pool goes on") {
  std::atomic<int> runs{0};
  CHECK_THROWS_AS(parallel_for(100,
                               [&](std::int64_t i) {
                                 ++runs;
                                 if (i == 13) throw std::runtime_error("thirteen");
                               }),
                  std::runtime_error);
  CHECK(runs == 100);
  parallel_for(100, [&](std::int64_t) { ++runs; });
  CHECK(runs == 200);
}

TEST_CASE("many threads may run loops at once") {
  std::atomic<std::int64_t> total{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) parallel_for(16, [&](std::int64_t i) { total += i; });
    });
  for (std::thread& t : threads) t.join();
  CHECK(total == 12 * 200 * 120);
}

TEST_CASE("a thread that is cancelled in a loop, a compilation or a callback finishes it, and ends after that") {
  struct Seen {
    std::atomic<int> tasks{0}, calls{0};
    std::atomic<bool> went_on{false};
    float result = 0;
  } seen;
  const auto cancelled = [&](void* (*body)(void*)) {
    pthread_t thread{};
    REQUIRE(pthread_create(&thread, nullptr, body, &seen) == 0);
    void* result = nullptr;
    REQUIRE(pthread_join(thread, &result) == 0);
    return result == PTHREAD_CANCELED;
  };
  CHECK(cancelled([](void* s) -> void* {
    auto& now = *static_cast<Seen*>(s);
    pthread_cancel(pthread_self());
    parallel_for(64, [&](std::int64_t) {
      ++now.tasks;
      pthread_testcancel();
    });
    pthread_testcancel();
    now.went_on = true;
    return nullptr;
  }));
  CHECK(seen.tasks == 64);
  CHECK(cancelled([](void* s) -> void* {
    auto& now = *static_cast<Seen*>(s);
    const auto called = [&](weft::Array x) {
      ++now.calls;
      pthread_testcancel();
      return x * 2;
    };
    const auto f = weft::jit([&](weft::Array x) {
      pthread_cancel(pthread_self());  // what follows traces and compiles
      const auto step = [&](weft::Array c, weft::Array v) {
        return std::pair{c + weft::pure_callback(called, weft::ShapeDtypeStruct{}, v), c};
      };
      return weft::scan(step, x, weft::ones(5)).first;
    });
    now.result = f(0.f).item<float>();
    pthread_testcancel();
    now.went_on = true;
    return nullptr;
  }));
  CHECK(seen.calls == 5);
  CHECK(seen.result == 10);
  CHECK_FALSE(seen.went_on);
}
