// Several threads at once: one compilation, no traces that mix.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "functions.h"
#include "tests/messages.h"
#include "tests/together.h"

using namespace weft;

namespace {

constexpr int kThreads = 8;

template <class F>
void together(F body) {
  test::together(kThreads, body);
}

bool is(const Array& x, double want) { return x.to_vector<double>() == std::vector<double>(static_cast<std::size_t>(x.size()), want); }

}  // namespace

TEST_CASE("a jitted function called by several threads at first is traced and compiled once") {
  std::atomic<int> runs = 0, wrong = 0;
  auto f = jit([&](Array x) {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return x * 2 + 1;
  });
  const auto before = detail::jit_counters();
  together([&](int t) { wrong += !is(f(full(5, static_cast<float>(t))), 2. * t + 1); });
  const auto after = detail::jit_counters();
  CHECK(wrong == 0);
  CHECK(runs == 1);
  CHECK(after.traces - before.traces == 1);
  CHECK(after.compiles - before.compiles == 1);
  together([&](int t) { wrong += !is(f(full(5, static_cast<float>(t))), 2. * t + 1); });
  CHECK(wrong == 0);
  CHECK(detail::jit_counters().traces == after.traces);
  CHECK(detail::jit_counters().compiles == after.compiles);
}

TEST_CASE("threads that call with different shapes get a program each, once") {
  std::atomic<int> runs = 0, wrong = 0;
  auto f = jit([&](Array x) { return ++runs, sum(x) * 3; });
  together([&](int t) {
    for (int round = 0; round < 20; ++round) wrong += !is(f(ones(1 + (t + round) % 4)), 3. * (1 + (t + round) % 4));
  });
  CHECK(runs == 4);
  CHECK(wrong == 0);
}

TEST_CASE("a function whose trace fails on one thread fails on all, and works for other arguments") {
  std::atomic<int> refused = 0, wrong = 0;
  auto f = jit([&](Array x) { return x + ones(3); });
  together([&](int t) {
    if (t % 2)
      wrong += !is(f(ones(3)), 2);
    else
      try {
        f(ones(4));
      } catch (const ShapeError&) {
        ++refused;
      }
  });
  CHECK(refused == kThreads / 2);
  CHECK(wrong == 0);
}

TEST_CASE("each thread traces for itself") {
  const Array x = array({1., 2., 3.});
  std::atomic<int> wrong = 0;
  together([&](int t) {
    const double k = t + 1;
    for (int round = 0; round < 10; ++round) {
      auto f = [&](Array v) { return sum(vmap([&](Array e) { return e * e * e * k; })(v)); };
      wrong += !tree::all_close(grad(f)(x), 3. * k * x * x, 1e-12);
      wrong += !tree::all_close(jit(vmap(grad([&](Array e) { return k * e * e; })))(x), 2. * k * x, 1e-12);
      wrong += !tree::all_close(scan([&](Array c, Array e) { return std::pair{c + k * e, c}; }, array({0.})[0], x).first,
                                array({6. * k})[0], 1e-12);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("maps over devices that several threads run at once") {
  const Array x = array({1., 2., 3., 4.});
  auto f = pmap([](Array v) { return v + psum(v, "i"); }, {.axis_name = "i", .devices = test::some_devices(4)});
  std::atomic<int> wrong = 0;
  together([&](int) {
    for (int round = 0; round < 10; ++round) wrong += !tree::all_close(f(x), x + 10., 1e-12);
  });
  CHECK(wrong == 0);
}

TEST_CASE("of several threads that donate one array, one has it and the others an error") {
  const auto f = jit([](Array x) { return 2. * x + 1.; }, {.donate_argnums = {0}});
  std::atomic<int> done = 0, refused = 0, wrong = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const Array x = full({64}, 3., float64) * 1.;
    together([&](int) {
      try {
        const Array y = f(x);
        ++done;
        wrong += !is(y, 7);
      } catch (const Error&) {
        ++refused;
      }
    });
  }
  CHECK(done == kRounds);
  CHECK(refused == (kThreads - 1) * kRounds);
  CHECK(wrong == 0);
}

TEST_CASE("a thread that reads an array while another donates it has its numbers, or an error") {
  constexpr std::int64_t kSize = 20000;
  const auto step = jit([](Array x) { return x + 1.; }, {.donate_argnums = {0}});
  const auto twice = jit([](Array x) { return x * 2.; });
  const Array first = full({kSize}, 0., float64);
  const std::vector<std::function<std::vector<double>(const Array&)>> reads{
      [](const Array& x) { return x.to_vector<double>(); },
      [&](const Array& x) { return twice(x).to_vector<double>(); },
      [](const Array& x) { return (x * 2.).to_vector<double>(); },
      [](const Array& x) { return vmap([](Array e) { return e * 2.; })(x).to_vector<double>(); },
      [](const Array& x) { return grad([](Array v) { return sum(v * v); })(x).to_vector<double>(); },
      [](const Array& x) { return device_put(x, devices()[0]).to_vector<double>(); },
      [](const Array& x) { return jit([&] { return x * 2.; })().to_vector<double>(); },
      [](const Array& x) { return concatenate({x, x * 1.}).to_vector<double>(); },
  };
  std::atomic<int> whole = 0, refused = 0, wrong = 0;
  step(first * 1.), twice(first);
  for (int round = 0; round < 320; ++round) {
    const Array x = first + 3.;
    const auto& read = reads[static_cast<std::size_t>(round) % reads.size()];
    test::together(3, [&](int t) {
      if (t == 0) {
        for (int pause = 0; pause < round; ++pause) std::atomic_signal_fence(std::memory_order_seq_cst);
        wrong += !is(step(x), 4);
        return;
      }
      try {
        for (int k = 0; k < 20; ++k) {
          const std::vector<double> v = read(x);
          wrong += (v[0] != 3. && v[0] != 6.) || std::count(v.begin(), v.end(), v[0]) != static_cast<std::ptrdiff_t>(v.size());
          ++whole;
        }
      } catch (const Error& e) {
        wrong += std::string(e.what()).find("donated") == std::string::npos;
        ++refused;
      }
    });
  }
  CHECK(whole > 0);
  CHECK(wrong == 0);
}

TEST_CASE("an array that a callback donates while a program reads it stays whole for the program") {
  const auto step = jit([](Array x) { return x + 1.; }, {.donate_argnums = {0}});
  const Array x = full({4000}, 3., float64) * 1.;
  const auto f = jit([&](Array v) {
    const Array given = pure_callback([&](Array) { return step(x)[0]; }, ShapeDtypeStruct{{}, float64}, v[0]);
    return v * given;
  });
  CHECK(is(f(x), 12));
  CHECK(is(f(x), 12));  // the program read it, so that the step had a copy
  CHECK(is(step(x), 4));
  CHECK_THROWS_AS(f(x), Error);
}

TEST_CASE("a donated array is given back where the call fails") {
  const auto f = jit(
      [](Array x) {
        return pure_callback([](Array) -> Array { throw std::runtime_error("not today"); }, ShapeDtypeStruct{{3}, float64}, x);
      },
      {.donate_argnums = {0}});
  const Array x = full({3}, 2., float64) * 1.;
  CHECK_THROWS_AS(f(x), std::runtime_error);
  CHECK(is(x, 2));
}

TEST_CASE("a donated array into which a call that fails has written is an error to read, and not other numbers") {
  const auto fail = [](Array x) {
    return pure_callback([](Array) -> Array { throw std::runtime_error("not today"); }, ShapeDtypeStruct{{}, float64}, x[0]);
  };
  const auto update = [&](Array x) {
    const Array y = x.at(array({0, 1})).set(77.);
    return y + fail(y);
  };
  const auto loop = [&](Array x) {
    return fori_loop(
        0, 5,
        [&](Array i, Array c) {
          return cond(i > 2, [&](Array v) { return v + fail(v); }, [&](Array v) { return v.at(i).set(-5.) * 2.; }, c);
        },
        x);
  };
  const auto told_before = [&](Array x) { return x + fail(x); };  // nothing is written yet
  for (const std::function<Array(Array)>& f : {std::function<Array(Array)>(update), {loop}, {told_before}}) {
    const auto step = jit(f, {.donate_argnums = {0}});
    int whole = 0, refused = 0;
    for (int k = 0; k < 3; ++k) {
      const Array x = full({1000}, 2., float64) * 1.;
      CHECK_THROWS_AS(step(x), std::runtime_error);
      try {
        whole += is(x, 2);
      } catch (const Error& e) {
        refused += test::has(e.what(), "donated");
      }
    }
    CHECK(whole + refused == 3);
    // Memory that is another array's too was never taken.
    const Array y = full({1000}, 2., float64) * 1., same = reshape(y, {10, 100});
    CHECK_THROWS_AS(step(y), std::runtime_error);
    CHECK(is(same, 2));
  }
}

TEST_CASE("a jitted function that calls itself for a smaller argument") {
  struct Halver {
    static Array total(const Array& x) {
      static auto jitted = jit([](Array v) { return total(v); });
      if (x.size() == 1) return x[0];
      const int half = static_cast<int>(x.size()) / 2;
      return jitted(x(slice(0, half))) + jitted(x(slice(half, none)));
    }
  };
  CHECK(Halver::total(arange(13, float64)).item<double>() == 78);
}
