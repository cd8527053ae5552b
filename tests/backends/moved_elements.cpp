// Kernels that only move elements: cut where what they copy changes, and with small groups of elements as one.
#include <doctest/doctest.h>

#include <string>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/messages.h"
#include "weft/backends/codegen/schedule/loop_partitioning.h"
#include "weft/backends/codegen/schedule/wide_moves.h"

using namespace weft;
using namespace weft::test;

namespace {

const char* const kModes[] = {"edge", "reflect", "symmetric", "wrap"};

Array picture(Shape shape, DType t, unsigned seed = 1) {
  const Array x = round(values(std::move(shape), seed) * 40.f);
  return t.is_unsigned() ? convert(abs(x), t) : convert(x, t);
}

/// How many times the text has the word.
int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("moved elements: paddings of images") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {uint8, int16, float32, float64, bool_, bfloat16, complex64})
      for (const int channels : {1, 2, 3, 4}) {
        CAPTURE(quality);
        CAPTURE(t.name());
        CAPTURE(channels);
        const Array x = picture({150, 170, channels}, t);
        for (const char* const mode : kModes) same([=](Xs a) { return pad(a[0], {{5, 7}, {9, 4}, {0, 0}}, mode); }, {x}, 0);
        same([](Xs a) { return roll(a[0], {17, 31}, {0, 1}); }, {x}, 0);
        same([](Xs a) { return pad(a[0], {{5, 7}, {9, 4}, {0, 0}}); }, {x}, 0);
        same([](Xs a) { return pad(flip(a[0], 1), {{0, 0}, {3, 3}, {1, 2}}, 1); }, {x}, 0);
        same([](Xs a) { return flip(a[0], {0, 1}); }, {x}, 0);
        same([](Xs a) { return rot90(a[0]); }, {x}, 0);
      }
  }
}

TEST_CASE("moved elements: matrices of few columns are transposed by squares that are as small") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {uint8, bool_, int16, bfloat16, float32, float64})
      for (const int columns : {5, 9, 16, 24, 33, 100}) {
        CAPTURE(quality);
        CAPTURE(t.name());
        CAPTURE(columns);
        const std::string schedule = same([](Xs a) { return transpose(a[0]); }, {picture({1003, columns}, t)}, 0, "schedule");
        if (columns >= 16) CHECK(has(schedule, "transpose a0"));
        same([](Xs a) { return flip(swapaxes(a[0], 1, 2), 1); }, {picture({3, 301, columns}, t)}, 0);
        if (t != bool_)
          same([](Xs a) { return transpose(a[0] + a[0]) - a[1]; }, {picture({301, columns}, t), picture({columns, 301}, t)}, 0);
      }
  }
}

TEST_CASE("moved elements: joined from parts of several arrays") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {uint8, float16, float32, int64}) {
      CAPTURE(quality);
      CAPTURE(t.name());
      const Array a = picture({160, 200, 3}, t, 1), b = picture({160, 200, 3}, t, 2), one = picture({160, 200, 1}, t, 3);
      same([](Xs x) { return concatenate({concatenate({x[0], x[1]}, 1), concatenate({flip(x[1], 0), flip(x[0], 1)}, 1)}, 0); }, {a, b}, 0);
      same([](Xs x) { return concatenate({x[0], x[2]}, -1); }, {a, b, one}, 0);
      same([](Xs x) { return concatenate({x[0], full_like(x[2], 77)}, -1); }, {a, b, one}, 0);
      same([](Xs x) { return stack({x[0], x[1], x[0]}, 1); }, {a, b}, 0);
      // Each result has parts of its own.
      same([](Xs x) { return Arrays{pad(x[0], {{2, 2}, {2, 2}, {0, 0}}, "edge"), roll(x[1], {3, 4}, {0, 1})}; }, {a, b}, 0);
      // What is chosen is read by others too, and computed with.
      same(
          [](Xs x) {
            const Array p = pad(x[0], {{1, 1}, {1, 1}, {0, 0}}, "reflect");
            return Arrays{p, p(slice(2, none), slice(1, -1)) - p(slice(0, -2), slice(1, -1))};
          },
          {a}, 0);
      same([](Xs x) { return reshape(transpose(reshape(x[0], {80, 2, 100, 2, 3}), {0, 2, 1, 3, 4}), {80, 100, 12}); }, {a}, 0);
    }
  }
}

TEST_CASE("moved elements: what a donated argument's memory is written with") {
  const auto around = jit([](const Array& x) { return roll(x, {40, 30}, {0, 1}); }, {.donate_argnums = {0}});
  const Array x = picture({300, 400}, float32), want = roll(x, {40, 30}, {0, 1});
  CHECK(all(around(copy(x)) == want).item<bool>());
  const auto turn = [](Array, Array y) { return roll(y, {1, 2}, {0, 1}); };
  const auto rolled = jit([&](const Array& y) { return fori_loop(0, 5, turn, y); });
  CHECK(all(rolled(x) == roll(x, {5, 10}, {0, 1})).item<bool>());
}

TEST_CASE("moved elements: large parts are copied without conditions") {
  const auto conditions = [](auto f, const Arrays& x) { return count(same(f, x, 0), "bool"); };
  const Array x = picture({150, 170, 3}, uint8);
  for (const char* const mode : kModes) {
    CAPTURE(mode);
    CHECK(conditions([=](Xs a) { return pad(a[0], {{5, 7}, {9, 4}, {0, 0}}, mode); }, {x}) == 0);
  }
  // Elements of one byte take as long as others, so that fewer bytes are many.
  CHECK(conditions([](Xs a) { return pad(a[0], {{2, 2}, {2, 2}, {0, 0}}, "edge"); }, {picture({90, 100, 3}, uint8)}) == 0);
  CHECK(conditions([](Xs a) { return roll(a[0], {17, 31}, {0, 1}); }, {x}) == 0);
  CHECK(conditions([](Xs a) { return concatenate({a[0], flip(a[0], 1)}, 0); }, {x}) == 0);
  // Stencils of what is padded, too.
  const auto blurred = [](Xs a) {
    const Array p = pad(a[0], {{1, 1}, {1, 1}}, "edge");
    return p(slice(0, -2), slice(1, -1)) + p(slice(2, none), slice(1, -1)) + p(slice(1, -1), slice(0, -2)) +
           p(slice(1, -1), slice(2, none));
  };
  CHECK(conditions(blurred, {picture({300, 400}, float32)}) == 0);
  // Small results stay one kernel.
  CHECK(count(same([](Xs a) { return pad(a[0], {{5, 7}, {9, 4}, {0, 0}}, "edge"); }, {picture({9, 9, 3}, uint8)}, 0), "outer") <= 2);
}

TEST_CASE("moved elements: what a filter of many taps reads is moved once, without conditions") {
  const auto filtered = [](Xs a) {
    const Array p = pad(a[0], {{2, 2}, {2, 2}, {0, 0}}, "reflect");
    Array sum = zeros_like(a[0]);
    for (int i = 0; i < 5; ++i) {
      const Array rows = p(slice(i, i + 150));
      Array of_row = zeros_like(a[0]);
      for (int j = 0; j < 5; ++j) of_row = of_row + rows(slice(), slice(j, j + 170)) * static_cast<float>(1 + j * (4 - j));
      sum = sum + of_row * static_cast<float>(1 + i * (4 - i));
    }
    return sum;
  };
  for (const int channels : {1, 3}) {
    CAPTURE(channels);
    const std::string kernels = same(filtered, {picture({150, 170, channels}, float32)}, 0);
    CHECK(count(kernels, "bool") == 0);
    CHECK(count(kernels, "scratch") == 0);
    CHECK(count(kernels, "temp") > 0);
  }
}

TEST_CASE("moved elements: transposes of which an axis goes backwards are done by squares") {
  const CodeFrom code("optimized");
  const auto rotated = [](int times) { return [=](Xs a) { return rot90(a[0], times); }; };
  const auto mirrored = [](Xs a) { return flip(transpose(a[0]), {0, 1}) + transpose(flip(a[0], 0)); };
  for (const DType t : {uint8, int16, float32, float64, bool_, bfloat16, complex64}) {
    CAPTURE(t.name());
    for (const Shape& shape : {Shape{150, 170}, Shape{131, 97}}) {
      const Array x = picture(shape, t);
      for (const int times : {1, 3}) CHECK(has(same(rotated(times), {x}, 0, "schedule"), "transpose a0"));
      same(mirrored, {x}, 0);
    }
    same(rotated(1), {picture({150, 170, 4}, t)}, 0);
  }
  // What is reduced backwards, too.
  const auto highest = [](Xs a) { return max(cumsum(a[0], {.axis = 1, .reverse = true}), 1); };
  CHECK(has(same(highest, {values({300, 100}, 1)}, 1e-4, "schedule"), "transpose a0"));
}

TEST_CASE("moved elements: transposed pixels are moved by tiles, so that each line of the cache is read once") {
  const CodeFrom code("optimized");
  const auto rotated = [](Xs a) { return rot90(a[0]); };
  const auto transposed = [](Xs a) { return swapaxes(a[0], 0, 1); };
  for (const DType t : {uint8, float16, float32}) {
    CAPTURE(t.name());
    // 256 bytes of a row by 32 rows.
    const std::string along = "split i0 by " + std::to_string(256 / (3 * t.itemsize()));
    for (const Shape& shape : {Shape{480, 640, 3}, Shape{131, 447, 3}}) {
      const Array x = picture(shape, t);
      CHECK(has(same(rotated, {x}, 0, "schedule"), {along, "split i1 by 32"}));
      CHECK(has(same(transposed, {x}, 0, "schedule"), {along, "split i1 by 32"}));
    }
    // Few rows stay in the cache without.
    CHECK_FALSE(has(same(transposed, {picture({40, 640, 3}, t)}, 0, "schedule"), {along, "split i1 by 32"}));
  }
}

TEST_CASE("moved elements: pixels of four bytes are words, and none is fetched on its own") {
  const CodeFrom code("optimized");
  const Array four = picture({160, 192, 4}, uint8), three = picture({160, 192, 3}, uint8);
  const auto flipped = [](Xs a) { return flip(a[0], 1); };
  CHECK(count(same(flipped, {four}, 0), "u32") > 0);
  CHECK(count(same(flipped, {three}, 0, "llvm"), "masked.gather") == 0);
  const auto with_alpha = [](Xs a) { return concatenate({a[0], full({160, 192, 1}, 255, {.dtype = uint8})}, -1); };
  CHECK(count(same(with_alpha, {three}, 0, "llvm"), "masked.gather") == 0);
}

TEST_CASE("moved elements: sums along the rows and columns of images are one product each") {
  const Array x = picture({60, 70, 3}, float32), rows = values({60, 400}, 2), columns = values({70, 400}, 3);
  const auto along = [](int axis) { return [=](Xs a) { return tensordot(a[1], a[0], {{0}, {axis}}); }; };
  CHECK(count(same(along(0), {x, rows}, 1e-3), "batch") == 0);
  CHECK(count(same(along(1), {x, columns}, 1e-3), "batch") == 0);
  CHECK(count(same([](Xs a) { return tensordot(a[0], a[1], {{1}, {0}}); }, {x, columns}, 1e-3), "batch") == 0);
}

TEST_CASE("moved elements: a kernel whose copies were all to where they are has nothing to move") {
  detail::Kernel k;
  k.args.push_back({float32, 6});
  k.outer.push_back(k.dag.add_dim(6));
  k.limits.emplace_back();
  k.nests.emplace_back();
  detail::widen_moves(k);
  CHECK(k.nests[0].stores.empty());
  CHECK(detail::partition_loops(k, std::vector<detail::BufferId>(1), 0).size() == 1);
}
