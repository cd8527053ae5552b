// A jitted function keeps so many programs and no more; what is being run stays.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

class Limit {
 public:
  explicit Limit(int programs) : before_(config.jit_cache_size) { config.jit_cache_size = programs; }
  ~Limit() { config.jit_cache_size = before_; }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  int before_;
};

/// Which programs there are, by a number that each has.
class Alive {
 public:
  /// Something that a program of this number captures.
  std::shared_ptr<const int> of(int number) {
    const std::lock_guard lock(mutex_);
    numbers_.insert(number);
    return {new int(number), [this](const int* n) {
              const std::lock_guard lock(mutex_);
              numbers_.erase(numbers_.find(*n));
              delete n;
            }};
  }
  std::multiset<int> now() {
    const std::lock_guard lock(mutex_);
    return numbers_;
  }

 private:
  std::mutex mutex_;
  std::multiset<int> numbers_;
};

/// The sum of x and of its size. The program has a constant, so that no cache of equal programs keeps it.
auto watched(Alive& alive, int& traces, std::function<void(int)> when_called = [](int) {}) {
  return jit([&alive, &traces, when_called, c = Array(array({0.f, 0.f}))](Array x) {
    ++traces;
    const auto own = alive.of(static_cast<int>(x.size()));
    const Array size = pure_callback(
        [own, when_called](Array) {
          when_called(*own);
          return Array(static_cast<float>(*own));
        },
        ShapeDtypeStruct{{}, float32}, x(0));
    return sum(x) + size + sum(c);
  });
}

TEST_CASE("a jitted function keeps the programs that were used last, as many as the limit says") {
  const Limit limit(8);
  Alive alive;
  int traces = 0;
  {
    const auto f = watched(alive, traces);
    for (int n = 1; n <= 40; ++n) {
      CHECK(f(ones(n)).item<float>() == 2.f * static_cast<float>(n));
      CHECK(f(ones(3)).item<float>() == 6.f);  // goes on being used
      CHECK(alive.now().size() <= 8);
    }
    CHECK(traces == 40);
    CHECK(alive.now() == std::multiset<int>{3, 34, 35, 36, 37, 38, 39, 40});
    CHECK(f(ones(34)).item<float>() == 68.f);  // what was there
    CHECK(traces == 40);
    CHECK(f(ones(5)).item<float>() == 10.f);  // what went, made again
    CHECK(traces == 41);
    CHECK(alive.now() == std::multiset<int>{3, 5, 34, 36, 37, 38, 39, 40});
  }
  CHECK(alive.now().empty());
}

TEST_CASE("a smaller limit holds from the next new program on") {
  Alive alive;
  int traces = 0;
  const auto f = watched(alive, traces);
  for (int n = 1; n <= 10; ++n) f(ones(n));
  CHECK(alive.now().size() == 10);
  const Limit limit(3);
  f(ones(11));
  CHECK(alive.now().size() == 3);
}

TEST_CASE("a program that goes while a thread runs it stays until that has ended") {
  const Limit limit(4);
  Alive alive;
  int traces = 0;
  std::atomic<bool> holds{false}, inside{false}, go{false};
  const auto f = watched(alive, traces, [&](int n) {
    if (n != 1 || !holds) return;
    inside = true;
    while (!go) std::this_thread::yield();
  });
  for (int k = 0; k < 3; ++k) f(ones(1));
  holds = true;
  float result = 0;
  std::thread running([&] { result = f(ones(1)).item<float>(); });
  while (!inside) std::this_thread::yield();
  for (int n = 2; n <= 12; ++n)
    for (int k = 0; k < 3; ++k) CHECK(f(ones(n)).item<float>() == 2.f * static_cast<float>(n));
  CHECK(traces == 12);
  CHECK(alive.now().count(1) == 1);
  CHECK(alive.now().size() == 5);
  go = true;
  running.join();
  CHECK(result == 2.f);
  f(ones(13));  // what nobody runs any more goes with the next one
  CHECK(alive.now().count(1) == 0);
  CHECK(alive.now().size() == 4);
  holds = false;
  CHECK(f(ones(1)).item<float>() == 2.f);
}

TEST_CASE("calls within callbacks of calls, deeper than a thread notes what it runs") {
  const Limit limit(2);
  std::function<Array(Array)> again;
  const auto f = jit([&](Array x) {
    return pure_callback([&](Array v) -> Array { return v.item<float>() > 0 ? again(v - 1) : v; }, ShapeDtypeStruct{{}, float32}, x) + 1;
  });
  again = [&](Array v) { return f(v); };
  for (int k = 0; k < 3; ++k) CHECK(f(Array(20.f)).item<float>() == 21.f);
}

TEST_CASE("threads that call, and make others' programs go") {
  const Limit limit(4);
  Alive alive;
  std::atomic<int> wrong{0};
  {
    const auto f = jit([&alive, c = Array(array({0.f}))](Array x) {
      const auto own = alive.of(static_cast<int>(x.size()));
      return sum(x) * pure_callback([own](Array) { return Array(static_cast<float>(*own)); }, ShapeDtypeStruct{{}, float32}, x(0)) + c(0);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 60; ++i) {
          const int n = 1 + (t * 3 + i / 5) % 9;
          if (f(ones(n)).item<float>() != static_cast<float>(n * n)) ++wrong;
        }
      });
    for (auto& t : threads) t.join();
  }
  CHECK(wrong == 0);
  CHECK(alive.now().empty());
}

TEST_CASE("maps over devices keep as many programs") {
  const Limit limit(3);
  int traces = 0;
  const auto f = pmap([&](Array x) {
    ++traces;
    return x * 2;
  });
  for (int n = 1; n <= 6; ++n) CHECK(sum(f(ones({1, n}))).item<float>() == 2.f * static_cast<float>(n));
  CHECK(traces == 6);
  f(ones({1, 6})), f(ones({1, 5})), f(ones({1, 4}));
  CHECK(traces == 6);
  f(ones({1, 1}));
  CHECK(traces == 7);
}

}  // namespace
