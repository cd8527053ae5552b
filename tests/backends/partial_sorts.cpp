// Sorted arrays of which few elements are read.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/backends/agree.h"
#include "weft/core/ops/movement/sort.h"

using namespace weft;
using namespace weft::test;

namespace {

/// Few different numbers, so that many are equal, with those that order by more than their size.
Array with_ties(Shape shape, unsigned seed, DType t) {
  const Array some = round(values(std::move(shape), seed) * 5.f);
  if (!t.is_floating()) return astype(t.is_unsigned() ? abs(some) : some, t);
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  return astype(where(some == 1.f, -nan, where(some == 2.f, nan, where(some == -1.f, -0.f, where(some == -2.f, -infinity, some)))), t);
}

template <class F>
bool sorts(F f, const Array& x) {
  return has(same(f, {x}, 0, "jaxpr"), "= sort[");
}

}  // namespace

TEST_CASE("partial sorts: the first and the last of sorted elements, bits and positions") {
  for (const DType t : {float32, float64, float16, bfloat16, int8, uint8, int16, uint16, int32, uint32, int64, uint64}) {
    CAPTURE(t.name());
    for (const std::int64_t n : {301, 1700}) {
      const Array x = with_ties({n}, 3, t);
      CHECK_FALSE(sorts([](Xs a) { return Arrays{sort(a[0])(slice(none, 7)), argsort(a[0])(slice(none, 3))}; }, x));
      CHECK_FALSE(sorts([](Xs a) { return Arrays{sort(a[0])(slice(-9, none)), argsort(a[0])(slice(-2, none))}; }, x));
      CHECK_FALSE(sorts([](Xs a) { return Arrays{sort(a[0])(0), argsort(a[0])(4), argsort(a[0])(2)}; }, x));
      CHECK_FALSE(sorts([](Xs a) { return Arrays{flip(sort(a[0]))(slice(none, 5)), flip(argsort(a[0]))(slice(none, 6, 2))}; }, x));
      CHECK_FALSE(sorts([](Xs a) { return Arrays{flip(sort(a[0]))(slice(-5, none)), flip(argsort(a[0]))(slice(-3, none))}; }, x));
    }
  }
}

TEST_CASE("partial sorts: along any dimension, of batches, with several results") {
  for (const DType t : {float32, int32}) {
    const Array x = with_ties({5, 290, 3}, 1, t);
    CHECK_FALSE(
        sorts([](Xs a) { return Arrays{sort(a[0], 1)(slice(), slice(none, 4), slice(1, none)), argsort(a[0], 1)(2, slice(3, 9))}; }, x));
    CHECK_FALSE(sorts(
        [](Xs a) {
          return vmap([](const Array& lines) { return argsort(lines)(slice(), slice(-4, none)); }, {.in_axes = 2, .out_axes = 1})(a[0]);
        },
        x));
    CHECK_FALSE(sorts(
        [](Xs a) {
          const std::vector<Array> all =
              detail::bind_all<detail::Sort>({1, true, 1}, Arrays{a[0], a[0] * 2, broadcast_to(arange(3), {5, 290, 3})}, {});
          return Arrays{all[1](slice(), slice(285, 289)), all[2](slice(), slice(281, none, 3))};
        },
        x));
  }
}

TEST_CASE("partial sorts: what is read of much, or otherwise than by slices, is sorted") {
  const Array x = with_ties({300}, 2, float32);
  CHECK(sorts([](Xs a) { return Arrays{sort(a[0])(slice(none, 100))}; }, x));
  CHECK(sorts([](Xs a) { return Arrays{sort(a[0])(slice(140, 160))}; }, x));
  CHECK(sorts([](Xs a) { return Arrays{sort(a[0])(slice(none, 3)), sort(a[0])(slice(-3, none))}; }, x));
  CHECK(sorts([](Xs a) { return Arrays{sort(a[0]), sort(a[0])(slice(none, 3))}; }, x));
  CHECK(sorts([](Xs a) { return Arrays{sort(a[0])(slice(none, 3)), sum(sort(a[0])(slice(none, 3)) * sort(a[0])(299))}; }, x));
  CHECK(sorts(
      [](Xs a) {
        const std::vector<Array> all = detail::bind_all<detail::Sort>({0, true, 2}, Arrays{round(a[0]), a[0]}, {});
        return Arrays{all[1](slice(none, 3))};
      },
      x));
}

TEST_CASE("partial sorts: the largest of many short lines are sorted side by side") {
  for (const DType t : {float32, float16, int8, uint16, int32}) {
    CAPTURE(t.name());
    for (const std::int64_t n : {2, 9, 33, 64, 77, 100, 127}) {
      const Array x = with_ties({37, n}, 4, t);
      const auto largest = [&](int k) {
        return [k](Xs a) {
          const TopK found = top_k(a[0], k);
          return Arrays{found.values, found.indices};
        };
      };
      // Up to four are found one after the other, few of longer lines by passing over the others.
      const auto few = static_cast<int>(std::max<std::int64_t>(n / 15, std::min<std::int64_t>(n / 2, 4)));
      CHECK(!sorts(largest(few), x));
      CHECK(sorts(largest(few + 1), x));
      if (few + 2 <= n) CHECK(sorts(largest(few + 2), x));
    }
  }
}

TEST_CASE(
    "partial sorts: up to four of the least or largest are found one after the other, also among equal ones of which there is none less") {
  for (const DType t : {float32, float64, float16, int8, uint8, int16, int32, uint32, int64}) {
    CAPTURE(t.name());
    for (const std::int64_t n : {2, 5, 8, 33, 64, 300}) {
      Array x = with_ties({37, n}, 4, t);
      if (t.is_integer()) x = where(x < 1, t.is_unsigned() ? zeros_like(x) : bitwise_not(zeros_like(x)) << (8 * t.itemsize() - 1), x);
      for (int k = 1; k <= 4 && 2 * k <= n; ++k) {
        CAPTURE(k);
        const auto found = [k](int axis, const Array& a) {
          return Arrays{top_k(moveaxis(a, axis, -1), k).values, top_k(moveaxis(a, axis, -1), k).indices};
        };
        CHECK_FALSE(sorts([&](Xs a) { return found(1, a[0]); }, x));
        CHECK_FALSE(sorts([&](Xs a) { return found(0, a[0]); }, transpose(x)));
        CHECK_FALSE(sorts([k](Xs a) { return Arrays{sort(a[0])(slice(), slice(none, k)), argsort(a[0])(slice(), slice(-k, none))}; }, x));
      }
    }
  }
}

TEST_CASE("partial sorts: in loops, and their gradients") {
  const Array x = values({400}, 5);
  same([](Xs a) { return Arrays{fori_loop(0, 3, [](const Array&, const Array& c) { return c + sum(sort(c)(slice(none, 9))); }, a[0])}; },
       {x});
  same([](Xs a) { return Arrays{grad([](const Array& c) { return sum(sort(c)(slice(-9, none)) * arange(9)); })(a[0])}; }, {x}, 0);
}
