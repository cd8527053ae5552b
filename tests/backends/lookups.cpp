// Lanes that read a short row by computed indices: up to four registers hold the row, longer ones are gathered from memory.
#include <doctest/doctest.h>

#include <tuple>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/messages.h"
#include "weft/library/jnp/joining.h"

using namespace weft;
using namespace weft::test;

namespace {

/// Numbers in [low, high), an odd count so that a last vector is not full.
Array places(std::int64_t low, std::int64_t high, DType t, int seed = 1) {
  return astype(random::randint(random::key(seed), {1003}, static_cast<int>(low), static_cast<int>(high)), t);
}
Array row_of(std::int64_t n, DType t) { return astype(arange(n) % 120 - (t.is_unsigned() || t == bool_ ? 0 : 60), t); }

}  // namespace

TEST_CASE("lookups: rows of each dtype, around the borders of registers") {
  const CodeFrom code("optimized");
  for (const DType t : {bool_, int8, uint8, int16, uint32, int64, float16, bfloat16, float32, float64, complex64, complex128}) {
    const std::int64_t width = 64 / t.itemsize();
    for (const std::int64_t n :
         {std::int64_t{1}, std::int64_t{2}, width - 1, width, width + 1, 2 * width, 2 * width + 1, 3 * width, 4 * width, 4 * width + 1}) {
      if (n < 1) continue;
      CAPTURE(t.name());
      CAPTURE(n);
      const Array row = row_of(n, t);
      same([](Xs x) { return x[0][x[1]]; }, {row, places(0, n, int32)}, 0);
      // From the end, beyond both ends, and in the modes of take.
      same([](Xs x) { return x[0][x[1]]; }, {row, places(-n - 3, n + 3, int64)}, 0);
      same(
          [](Xs x) {
            return Arrays{take(x[0], x[1], {.mode = "fill"}), take(x[0], x[1], {.mode = "clip"}), take(x[0], x[1], {.mode = "wrap"})};
          },
          {row, places(-2 * n - 1, 2 * n + 1, int16)}, 0);
    }
  }
}

TEST_CASE("lookups: positions of few bits, all of whose values are in the row") {
  const CodeFrom code("optimized");
  for (const DType t : {uint8, int16, float32}) {
    const Array row = row_of(256, t);
    same([](Xs x) { return x[0][x[1]]; }, {row, places(0, 256, uint8)}, 0);
    same([](Xs x) { return x[0][x[1]] + x[0][255 - x[1]]; }, {row, places(0, 256, uint8)}, 0);
    same([](Xs x) { return x[0][astype(x[1], int32) + 128]; }, {row, places(-128, 128, int8)}, 0);
  }
}

TEST_CASE("lookups: rows that loops go through, computed ones, several in one kernel, and reductions") {
  const CodeFrom code("optimized");
  const Array table = values({7, 5}, 1), at = places(0, 5, int32), other = places(0, 7, int32, 2);
  const std::string code_of_row = same([](Xs x) { return x[0](3)[x[1]] * 2; }, {table, at}, 0, "asm");
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    CHECK(has(code_of_row, "vperm"));
    CHECK(!has(code_of_row, "vgather"));
  }
#endif
  same([](Xs x) { return take(x[0], x[1], 1); }, {table, at}, 0);
  same([](Xs x) { return take(x[0], x[1], 0); }, {table, other}, 0);
  same([](Xs x) { return x[0](x[2], x[1]); }, {table, at, other}, 0);
  same([](Xs x) { return x[0](x[2], x[1]) * x[0](x[1], x[1]) - x[0](3, x[1]); }, {table, at, other}, 0);
  same([](Xs x) { return sum(x[0](slice(), x[1]), 0); }, {table, at});
  same([](Xs x) { return sum(x[0](x[2](slice(0, 50), newaxis), x[1](newaxis, slice())), 1); }, {table, at, other});
  // Of one row, indices in several ranges.
  same([](Xs x) { return x[0](0)[minimum(x[1], 3)] - x[0](0)[x[1]] * x[0](0)[maximum(x[1], 2)] + x[0](0)[x[1] - 4]; }, {table, at}, 0);
  for (const int apart : {1, 2, 3})
    same(
        [&](Xs x) {
          const Array spread = pad(x[0](1), 7.f, {{0, 0, apart}}), doubled = pad(x[0](1) * 2.f, 0.f, {{0, 0, apart}});
          const Array left = spread(slice(0, -2)), right = spread(slice(2, none));
          return where(left <= right, doubled(slice(0, -2)), doubled(slice(2, none)));
        },
        {table}, 0);
  // The row is computed by the program: in memory of its own, or in a loop's carry.
  same([](Xs x) { return cumsum(x[0](2))[x[1]]; }, {table, at});
  same([](Xs x) { return scan([&](Array c, Array k) { return std::pair{c.at(k % 5).add(1.f), sum(c[x[1]])}; }, x[0](1), x[2]).second; },
       {table, at, other});
  same([](Xs x) { return vmap([](Array row, Array i) { return row[i]; })(x[0], x[1]); },
       {table, reshape(places(0, 5, int32)(slice(0, 994)), {7, 142})}, 0);
  // Updated in place by the kernel that reads it.
  same([](Xs x) { return x[0](0).at(x[1](slice(0, 3))).add(x[0](0)[x[1](slice(3, 6))]); }, {table, at});
}

TEST_CASE("gathered elements that are only stored are moved one by one, others in vectors") {
  const CodeFrom code("optimized");
  const Array at = places(-3000, 3000, int32), far = places(-3000, 3000, int64, 3);
  for (const DType t : {int32, uint32, int64, float32, float64, complex64, bfloat16, uint8}) {
    CAPTURE(t.name());
    const Array table = row_of(3000, t);
    same([](Xs x) { return x[0][x[1]]; }, {table, at}, 0);
    same([](Xs x) { return x[0][x[1]]; }, {table, far}, 0);
    same([](Xs x) { return x[0](x[1](newaxis, slice(), newaxis) + arange(3)(slice(), newaxis, newaxis)); }, {table, at}, 0);
    // Stored more often than gathered, and gathered for sums that a later loop of the kernel takes.
    same([](Xs x) { return broadcast_to(x[0][x[1](slice(0, 64))](newaxis, slice()), {20, 64}); }, {table, at}, 0);
    same([](Xs x) { return Arrays{x[0][x[1]], cumsum(x[0][x[1]])}; }, {table, at}, t == float32 ? 1e-5 : 0);
    same([](Xs x) { return Arrays{x[0][x[1]], x[0][x[1]] + x[0][x[1]]}; }, {table, at}, 0);
    // Two stores of one gather.
    same([](Xs x) { return concatenate({x[0][x[1]], x[0][x[1]]}); }, {table, at}, 0);
    same([](Xs x) { return Arrays{x[0][x[1]], x[0][x[1]].at(5).set(1)}; }, {table, at}, 0);
    same([](Xs x) { return Arrays{x[0](slice(0, none, 9)), x[0](slice(0, none, 9)).at(5).set(1)}; }, {table}, 0);
  }
  const auto toeplitz = [](Xs x) { return x[0][abs(arange(320)(newaxis, slice()) - arange(320)(slice(), newaxis))]; };
  CHECK(!has(same(toeplitz, {values({320}, 1)}, 0, "schedule"), "unroll"));
  CHECK(has(same([&](Xs x) { return toeplitz(x) + 1; }, {values({320}, 1)}, 0, "schedule"), "unroll"));
#ifdef __x86_64__
  CHECK(!has(same(toeplitz, {values({320}, 1)}, 0, "asm"), "vgather"));
#endif
}

TEST_CASE("gathered elements: positions that lie in memory are read from there") {
  const CodeFrom code("optimized");
  for (const DType t : {uint8, int16, float32, float64, bool_, complex64}) {
    CAPTURE(t.name());
    const Array table = row_of(300, t);
    for (const DType at : {uint8, int8, uint16, int32, uint64}) {
      CAPTURE(at.name());
      const Array x = places(0, 100, at);
      same([](Xs a) { return take(a[0], a[1], {.mode = "fill"}); }, {table, x}, 0);
      same([](Xs a) { return a[0](slice(0, 256))[a[1]]; }, {table, x}, 0);
      same([](Xs a) { return a[0][astype(a[1], int32) + 40] == a[0][2 * astype(a[1], int32)]; }, {table, x}, 0);
    }
    // What is written to the positions' memory before the elements are stored is not a position.
    const Array x = places(0, 256, uint8);
    const auto f = [](Array row, Array positions) { return std::tuple(positions * 7 + 1, row[positions], row(slice(20, 276))[positions]); };
    const auto [other, first, second] = f(table, x);
    const auto [a, b, c] = jit(f, {.donate_argnums = {1}})(table, x + 0);
    CHECK(array_equal(a, other));
    CHECK(array_equal(b, first));
    CHECK(array_equal(c, second));
  }
}
