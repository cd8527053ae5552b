// Matmuls in kernels whose second operand is transposed.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"
#include "weft/backends/cpu/jit.h"

using namespace weft;
using namespace weft::test;

TEST_CASE("matmuls of transposed operands: the second operand of short sums is read in order") {
  const Arrays rows = {values({4, 40, 32}, 1), values({4, 48, 32}, 2)}, long_rows = {values({4, 40, 300}, 1), values({4, 48, 300}, 2)};
  for (const auto& f : {+[](Xs x) { return Arrays{einsum("bij,bkj->bik", x[0], x[1])}; },
                        +[](Xs x) { return Arrays{matmul(x[0], transpose(x[1], {0, 2, 1}))}; }}) {
    // Its rows are laid across lanes once, before all rows of the first operand are multiplied with them.
    CHECK(has(same(f, rows), " scratch, 32 read, 32 written"));
    CHECK_FALSE(has(same(f, long_rows), " scratch"));
    // Sums of middle length, if many share what is transposed and rows of results fill vectors.
    CHECK(has(same(f, {values({4, 40, 105}, 1), values({4, 48, 105}, 2)}), "kernel1"));
    CHECK_FALSE(has(same(f, {values({4, 20, 105}, 1), values({4, 48, 105}, 2)}), "kernel1"));
    CHECK_FALSE(has(same(f, {values({4, 40, 105}, 1), values({4, 17, 105}, 2)}), "kernel1"));
  }
  same([](Xs x) { return Arrays{nn::softmax(matmul(x[0], transpose(x[1], {0, 2, 1})) / 4.f, -1)}; }, rows);
  const Array heads = values({2, 40, 3 * 64}, 3);
  const auto attention = [](Xs x) {
    const std::vector<Array> parts = split(x[0], 3, -1);
    const auto by_head = [](const Array& a) { return transpose(reshape(a, {2, 40, 2, 32}), {0, 2, 1, 3}); };
    const Array q = by_head(parts[0]), k = by_head(parts[1]), v = by_head(parts[2]);
    return Arrays{matmul(nn::softmax(matmul(q, transpose(k, {0, 1, 3, 2})), -1), v)};
  };
  same(attention, {heads});
  const auto gradient = [&](Xs x) { return Arrays{grad([&](const Array& y) { return sum(sin(attention({y})[0])); })(x[0])}; };
  same(gradient, {heads}, 1e-4);
}

TEST_CASE("matmuls of transposed operands: rows that do not fill vectors are stored, too, where many sums share them") {
  const auto times_transposed = [](Xs x) { return Arrays{einsum("ijk,lk->ijl", x[0], x[1])}; };
  const Array few = values({2, 100, 8}, 1), many = values({3, 200, 8}, 1), square = values({8, 8}, 2);
  CHECK(has(same(times_transposed, {many, square}), " scratch"));
  CHECK_FALSE(has(same(times_transposed, {many, values({3, 8}, 2)}), " scratch"));
  const auto blocks = [](Xs x) { return Arrays{einsum("iajb,ua,vb->ijuv", x[0], x[1], x[1])}; };
  CHECK(has(same(blocks, {values({20, 8, 15, 8}, 1), square}), " scratch, 64 read, 64 written"));
  // Layers of networks whose rows go through an expensive function and another layer have a row a lane.
  const auto network = [](Xs x) {
    const Array first = tanh(matmul(x[0], transpose(x[1]))), second = tanh(matmul(first, transpose(x[2])));
    return Arrays{matmul(second, transpose(x[3]))};
  };
  const std::string of_few = same(times_transposed, {few, square}),
                    of_short_sums = same(times_transposed, {values({3, 200, 4}, 1), values({12, 4}, 2)}),
                    layers = same(network, {values({400, 10}, 1), values({12, 10}, 2), values({12, 12}, 3), values({1, 12}, 4)});
  if (detail::native_vector_bytes() < 64) return;  // these rows fill shorter vectors
  CHECK_FALSE(has(of_few, " scratch"));
  CHECK_FALSE(has(of_short_sums, " scratch"));
  CHECK_FALSE(has(layers, "f32[144] scratch"));
}

TEST_CASE("matmuls of transposed operands: of all types, in any order of the dimensions, with long and short sums") {
  for (const DType t : {float64, float16, bfloat16, int32, uint8, complex64})
    for (const std::int64_t k : {1, 7, 33, 300}) {
      CAPTURE(t.name());
      CAPTURE(k);
      const Arrays x = {convert(values({3, 9, k}, 1) * 4.f, t), convert(values({17, k, 3}, 2) * 4.f, t)};
      const double tolerance = t == bfloat16 ? 0.1 : t == float16 ? 1e-2 : 1e-4;
      same([](Xs a) { return Arrays{einsum("bij,kjb->bik", a[0], a[1])}; }, x, tolerance);
      same([](Xs a) { return Arrays{einsum("bij,kjb->bki", a[0], a[1])}; }, x, tolerance);
      same([](Xs a) { return Arrays{einsum("bij,kjb->ik", a[0], a[1])}; }, x, tolerance);
    }
}
