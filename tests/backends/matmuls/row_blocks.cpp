// Matmuls in one kernel with what follows them row by row: several rows are computed at each point of the outer loops.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"

using namespace weft;
using namespace weft::test;

namespace {

/// A layer whose rows are normalised.
Array normalised(Xs x) {
  const Array h = matmul(x[0], x[1]), centred = h - mean(h, -1, keepdims);
  return centred * rsqrt(mean(square(centred), -1, keepdims) + 1e-3f) * x[2];
}
Array attention(Xs x) {
  const Array scores = einsum("bihd,bjhd->bhij", x[0], x[1]);
  return einsum("bhij,bjhd->bihd", nn::softmax(scores), x[2]);
}
Arrays layer(int rows, int k, int columns, DType t = float32) {
  return {astype(values({rows, k}, 1), t), astype(values({k, columns}, 2), t), astype(values({columns}, 3), t)};
}
/// Rows of a kernel whose outer loop has `points` points.
bool has_points(const std::string& kernels, int points) {
  return has(kernels, ("outer for i0 < " + std::to_string(points) + "\n").c_str());
}

}  // namespace

TEST_CASE("row blocks: rows of a block share each vector of the right operand") {
  CHECK(has_points(same(normalised, layer(256, 40, 100)), 32));
  CHECK(has_points(same(normalised, layer(300, 40, 100)), 75));
  CHECK(has_points(same(normalised, layer(133, 40, 100, float64), 1e-10), 19));
}

TEST_CASE("row blocks: single rows where the right operand is small, or the number of rows has no fitting divisor") {
  CHECK(has_points(same(normalised, layer(256, 10, 20)), 256));
  CHECK(has_points(same(normalised, layer(277, 40, 100)), 277));
}

TEST_CASE("row blocks: attention computes the scores of several rows at a time") {
  const Arrays x{values({2, 96, 3, 24}, 1), values({2, 128, 3, 24}, 2), values({2, 128, 3, 24}, 3)};
  CHECK(has(same(attention, x), "nest for i3 < 8 for i4 < 128 reduce"));
}

TEST_CASE("row blocks: bfloat16 and complex rows, several matmuls of one operand, results that are read later") {
  same(normalised, layer(64, 48, 80, bfloat16), .05);
  same([](Xs x) { return matmul(x[0], x[1]) / sum(abs(matmul(x[0], x[1])), -1, keepdims); },
       {complex(values({64, 32}, 1), values({64, 32}, 2)), complex(values({32, 64}, 3), values({32, 64}, 4))});
  same(
      [](Xs x) {
        const Array gate = nn::softmax(matmul(x[0], x[1])), value = matmul(x[0], x[2]);
        const Array h = gate * value;
        return Arrays{h / sum(h, -1, keepdims), gate, sum(value, 0)};
      },
      {values({128, 32}, 1), values({32, 64}, 2), values({32, 64}, 3)}, 1e-4);
}
