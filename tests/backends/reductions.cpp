// Compiled reductions of every kind, dtype and size against what they must be: each begins with a value that changes nothing, also in lanes
// that the last vector hasn't got.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/messages.h"
#include "tools/modes.h"
#include "weft/backends/cpu/jit.h"
#include "weft/core/ops/reduce/reduce.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr int kSizes[] = {1, 3, 7, 16, 17, 33, 65, 1000, 70000};

/// The least or greatest value there is.
Array extreme(DType t, bool least) {
  if (t.is_floating()) return convert(array(least ? -INFINITY : INFINITY), t);
  if (t.is_bool()) return array(!least);
  const int bits = 8 * t.itemsize();
  if (!t.is_signed()) return convert(least ? array(0, uint64) : array(~0ull >> (64 - bits), uint64), t);
  const auto lowest = std::numeric_limits<std::int64_t>::min() >> (64 - bits);
  return convert(array(least ? lowest : ~lowest, int64), t);
}

/// Over all elements, down the columns and along the rows.
template <class F>
void check_reduction(F f, const Array& element, const Array& wanted, int n) {
  const auto equal = [&](const Array& got) {
    CHECK(got.dtype() == wanted.dtype());
    CHECK(all(got == wanted).item<bool>());
  };
  equal(jit([&](const Array& x) { return f(x, 0); })(full({n}, element)));
  equal(jit([&](const Array& x) { return f(x, 0); })(full({n, 5}, element)));
  equal(jit([&](const Array& x) { return f(x, 1); })(full({3, n}, element)));
}

const auto maximum_of = [](const Array& x, int axis) { return max(x, axis); };
const auto minimum_of = [](const Array& x, int axis) { return min(x, axis); };

}  // namespace

TEST_CASE("reductions of the least and greatest values there are give those") {
  for (DType t : {int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32, float64})
    for (int n : kSizes) {
      const std::string name(t.name());
      CAPTURE(name);
      CAPTURE(n);
      check_reduction(maximum_of, extreme(t, true), extreme(t, true), n);
      check_reduction(minimum_of, extreme(t, false), extreme(t, false), n);
      check_reduction([](const Array& x, int axis) { return prod(x, axis); }, convert(array(1), t), prod(convert(ones(1), t)), n);
    }
}

TEST_CASE("the extremum of a row with a NaN at any place is NaN, and of no other row") {
  for (const DType t : {float32, float64, bfloat16})
    for (const int n : {5, 16, 33, 130, 200}) {
      const Array at = arange(0, n + 1), numbers = convert(arange(0, n) % 7 - 3, t);
      const Array rows = where(expand_dims(at, 1) == arange(0, n), convert(array(std::nanf("")), t), numbers);
      for (const bool least : {false, true}) {
        const std::string program = same([&](Xs v) { return least ? min(v[0], 1) : max(v[0], 1); }, {rows}, 0, "tiers");
        if (n >= 130) CHECK(program.find("interpreted") == std::string::npos);
      }
      const Array nans = jit([](const Array& x) { return isnan(max(x, 1)); })(rows);
      CHECK(all(nans == (at < n)).item<bool>());
    }
}

TEST_CASE("reductions of booleans, all true or all false") {
  for (int n : kSizes)
    for (const bool v : {false, true}) {
      CAPTURE(n);
      const Array b = array(v);
      check_reduction([](const Array& x, int axis) { return all(x, axis); }, b, b, n);
      check_reduction([](const Array& x, int axis) { return any(x, axis); }, b, b, n);
      check_reduction(maximum_of, b, b, n);
      check_reduction(minimum_of, b, b, n);
    }
}

TEST_CASE("reductions to a position: the first of equal ones, NaN before all numbers") {
  const auto positions = jit([](const Array& x) { return std::tuple{argmax(x, 0), argmin(x, 0), argmax(x), argmin(x)}; });
  for (DType t : {int8, uint8, int32, uint64, float16, float32, float64})
    for (int n : {5, 17, 33, 1000, 70000}) {
      const std::string name(t.name());
      CAPTURE(name);
      CAPTURE(n);
      const auto check = [&](const Array& x, int largest, int least) {
        for (const Array& y : {x, stack({x, x, x}, 1)}) {
          const auto [high, low, first_high, first_low] = positions(y);
          CHECK(all(high == largest).item<bool>());
          CHECK(all(low == least).item<bool>());
          const int lanes = y.ndim() == 2 ? 3 : 1;
          CHECK(first_high.item<int>() == largest * lanes);
          CHECK(first_low.item<int>() == least * lanes);
        }
      };
      for (const bool least : {true, false}) check(full({n}, extreme(t, least)), 0, 0);
      const int late = n - 2;
      const Array one = full({n}, convert(array(1), t));
      check(one.at({array({late, n - 1})}).set(2), late, 0);
      check(one.at({array({late, n - 1})}).set(0), 0, late);
      if (!t.is_floating()) continue;
      const Array nan = convert(array(NAN), t);
      check(one.at({array({late, n - 1})}).set(nan), late, late);
      check(one.at(3).set(extreme(t, false)).at(late).set(extreme(t, true)).at(n - 1).set(nan), n - 1, n - 1);
      check(full({n}, nan), 0, 0);
    }
}

TEST_CASE("reductions to a position of any integer type: the first of equal ones") {
  for (const DType t : {uint8, int16, uint16, int32, uint32, int64, uint64})
    for (const int n : {5, 33, 100, 250, 3000}) {
      if (t == uint8 && n > 250) continue;
      CAPTURE(t.name());
      CAPTURE(n);
      const auto positions = [&](int axis) {
        return [t, axis](Xs x) { return Arrays{detail::arg_max(x[0], axis, t), detail::arg_min(x[0], axis, t)}; };
      };
      for (const DType elements : {int8, float32, float64}) {
        // Each number several times, so that lanes, rows and pieces end with equal ones.
        const Array x = convert(floor(values({n}, 3) * 2), elements);
        same(positions(0), {x});
        same(positions(0), {stack({x, flip(x, 0), roll(x, 7)}, 1)});
        same(positions(1), {stack({x, flip(x, 0), roll(x, 7)}, 0)});
      }
    }
}

TEST_CASE("reductions: short rows that are read again are taken several at a time, each as if alone") {
  const auto normal = [](const Array& x) {
    const Array from_mean = x - mean(x, -1, keepdims);
    return from_mean * rsqrt(mean(square(from_mean), -1, keepdims) + 1e-5);
  };
  for (const DType t : {float32, float64, bfloat16})
    for (const int width : {3, 16, 24, 48, 64, 65, 96, 128, 300})
      for (const int rows : {1, 7, 8, 13, 130}) {
        CAPTURE(t.name());
        CAPTURE(width);
        CAPTURE(rows);
        const Array x = convert(values({rows, width}, 4), t);
        const double near = t == bfloat16 ? 2e-2 : 1e-5;
        const std::string schedule = same([&](Xs a) { return Arrays{normal(a[0]), nn::softmax(a[0], -1)}; }, {x}, near, "schedule");
        if (detail::native_vector_bytes() >= 64 && t == float32 && rows == 130 && width >= 16 && width <= 128)
          CHECK(has(schedule, width <= 64 ? "unroll i0 by 4" : "unroll i0 by 2"));
        if (rows > 1 && rows < 20) {
          const auto both = jit([&](const Array& a) { return std::tuple(normal(a), nn::softmax(a, -1)); });
          const auto [normed, shares] = both(x);
          for (int r = 0; r < rows; ++r) {
            const auto [one_normed, one_shares] = both(x[slice(r, r + 1)]);
            CHECK(tools::difference(normed[slice(r, r + 1)], one_normed, nullptr, {0, 0}) == "");
            CHECK(tools::difference(shares[slice(r, r + 1)], one_shares, nullptr, {0, 0}) == "");
          }
        }
      }
}

// A reduction of several elements begins with zero, and one element is taken as it is, as in JAX.
TEST_CASE("reductions: many rows are reduced whole, few long ones in pieces") {
  const auto in_pieces = [](const Shape& shape, const Axis& axes) {
    const auto reduced = [&](Xs x) { return Arrays{sum(x[0], axes), max(x[0], axes)}; };
    return has(same(reduced, {values(shape, 1)}, 1e-4), "scratch") || has(same(reduced, {values(shape, 1)}, 1e-4), "kernel1");
  };
  CHECK_FALSE(in_pieces({512, 300}, {1}));
  CHECK_FALSE(in_pieces({64, 5001}, {1}));
  CHECK_FALSE(in_pieces({100, 30, 40}, {1, 2}));
  CHECK(in_pieces({2, 100000}, {1}));
  CHECK(in_pieces({5000, 100}, {0}));
  CHECK(in_pieces({200, 100, 30}, {0, 2}));
  // Columns, of a matrix that is taken for its transpose.
  const auto columns = [](Xs x) { return sum(square(transpose(x[0]) - 1), 1); };
  CHECK(has(same(columns, {values({2000, 100}, 3)}, 1e-4), "scratch"));
  const auto softmax = [](Xs x) { return nn::softmax(x[0], -1); };
  CHECK_FALSE(has(same(softmax, {values({100, 2000}, 2)}), "kernel1"));
}

TEST_CASE("the sum of one negative zero is that, and of more is zero, in every mode") {
  const tools::Function f = [](std::span<const Array> xs) { return tools::Arrays{sum(xs[0], 1), sum(xs[1], 0), cumsum(xs[0], 1)}; };
  for (DType t : {float32, float64, float16, bfloat16, complex64})
    for (int n : {1, 2, 3, 4, 5, 17}) {
      const std::vector<tools::Arrays> lanes(2, {-zeros({3, n}, t), -zeros({n, 3}, t)});
      for (const tools::Mode& mode : tools::modes())
        for (const tools::Arrays& results : mode.run(f, lanes))
          for (const Array& r : results) {
            CAPTURE(mode.name);
            CAPTURE(t.name());
            CAPTURE(n);
            const Array parts = t.is_complex() ? concatenate({real(r), imag(r)}) : r;
            CHECK((n == 1 ? all(signbit(parts)) : !any(signbit(parts))).item<bool>());
          }
    }
}

// As IEEE 754's maximum and minimum, and as in JAX.
TEST_CASE("reductions: what is cumulated along rows and then reduced takes rows side by side") {
  const auto drawdown = [](Xs x) {
    const Array path = cumsum(x[0], 1);
    return max(cummax(path, 1) - path, 1);
  };
  const auto largest = [](Xs x) { return max(cumprod(x[0] + 1.f, 1) * x[1], 1); };
  for (const DType t : {float32, float64, int32})
    for (const std::int64_t rows : {1, 7, 16, 37, 300})
      for (const std::int64_t columns : {3, 16, 17, 64, 101}) {
        CAPTURE(t.name());
        CAPTURE(rows);
        CAPTURE(columns);
        same(drawdown, {samples({rows, columns}, 1, t)}, 1e-4);
        same(largest, {samples({rows, columns}, 1, t) / 50, samples({columns}, 2, float32)}, 1e-4);
        same([](Xs x) { return mean(square(cumsum(transpose(x[0]), 1)), 1); }, {samples({columns, rows}, 1, t)}, 1e-4);
      }
  CHECK(same(drawdown, {values({300, 100}, 1)}, 1e-4, "schedule").find("transpose a0") != std::string::npos);
}

TEST_CASE("of zeros of both signs the maximum is +0 and the minimum -0, in every mode and kind of code") {
  const tools::Function maxima = [](std::span<const Array> xs) {
    const Array &x = xs[0], &y = xs[1];
    return tools::Arrays{maximum(x, y),
                         maximum(x, 0.),
                         maximum(-0., x),
                         max(x, 1),
                         max(x, 0),
                         max(concatenate({x, y})),
                         cummax(x, 1),
                         cummax(x, 0, {.reverse = true}),
                         clip(x, y, INFINITY),
                         x.at(array({0, 1, 1})).max(y[array({0, 1, 2})])};
  };
  const tools::Function minima = [](std::span<const Array> xs) {
    const Array &x = xs[0], &y = xs[1];
    return tools::Arrays{minimum(x, y),
                         minimum(x, -0.),
                         minimum(0., x),
                         min(x, 1),
                         min(x, 0),
                         min(concatenate({x, y})),
                         cummin(x, 1),
                         cummin(x, 0, {.reverse = true}),
                         clip(x, -INFINITY, y),
                         x.at(array({0, 1, 1})).min(y[array({0, 1, 2})])};
  };
  for (const char* code : {"", "baseline", "optimized"}) {
    const CodeFrom from(code);
    for (const DType t : {float32, float64, float16, bfloat16})
      for (const int n : {2, 5, 40, 300}) {
        // Rows of one sign, and rows with one element of the other sign.
        const Array at = arange(0, n), first = stack({at < 0, at >= 0, at == n - 1, at != n / 2});
        const Array second = stack({at % 2 == 0, at >= 0, at < 0, at == 0});
        const auto zeros_of = [&](const Array& negative) { return where(negative, convert(array(-0.), t), convert(array(0.), t)); };
        const std::vector<tools::Arrays> lanes(2, {zeros_of(first), zeros_of(second)});
        // The sign bit of a maximum is the minimum of the sign bits.
        const tools::Arrays signs{convert(first, int32), convert(second, int32)};
        const auto check = [&](const tools::Function& f, const tools::Arrays& wanted) {
          for (const tools::Mode& mode : tools::modes())
            for (const tools::Arrays& results : mode.run(f, lanes))
              for (std::size_t i = 0; i < results.size(); ++i) {
                CAPTURE(mode.name);
                CAPTURE(code);
                CAPTURE(t.name());
                CAPTURE(n);
                CAPTURE(i);
                CHECK(array_equal(signbit(results[i]), wanted[i] != 0));
              }
        };
        const Array &a = signs[0], &b = signs[1], few = b[array({0, 1, 2})];
        check(maxima, {minimum(a, b), zeros_like(a), a, min(a, 1), min(a, 0), min(concatenate({a, b})), cummin(a, 1),
                       cummin(a, 0, {.reverse = true}), minimum(a, b), a.at(array({0, 1, 1})).min(few)});
        check(minima, {maximum(a, b), ones_like(a), a, max(a, 1), max(a, 0), max(concatenate({a, b})), cummax(a, 1),
                       cummax(a, 0, {.reverse = true}), maximum(a, b), a.at(array({0, 1, 1})).max(few)});
      }
  }
}
