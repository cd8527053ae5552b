// Products with vectors whose matrices are too large for the caches.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"

using namespace weft;
using namespace weft::test;

namespace {

/// 64 pieces of the rows are summed by rows, then the pieces.
bool by_rows(const std::string& kernels) { return has(kernels, ":f32[64,1000]"); }

/// Small integers, whose sums are exact.
Array integers(Shape shape, unsigned seed) { return round(values(shape, seed) * 4.f); }

}  // namespace

TEST_CASE("matrix times vector: sums down columns read rows in order, also of what was transposed") {
  const Arrays x = {integers({8000, 1000}, 1), integers({8000}, 2)};
  CHECK(by_rows(same([](Xs a) { return matmul(a[1], a[0]); }, x, 0)));
  CHECK(by_rows(same([](Xs a) { return matmul(transpose(a[0]), a[1]); }, x, 0)));
  CHECK(by_rows(
      same([](Xs a) { return grad([&](const Array& v) { return sum(square(matmul(a[0], v))); })(a[1]); }, {x[0], integers({1000}, 3)}, 0)));
  // Sums along rows, and those of few elements, are what they were.
  CHECK_FALSE(by_rows(same([](Xs a) { return matmul(a[0], a[1]); }, {values({8000, 1000}, 1), values({1000}, 2)})));
  CHECK_FALSE(by_rows(same([](Xs a) { return matmul(a[1], a[0]); }, {values({80, 100}, 1), values({80}, 2)})));
}

TEST_CASE("matrix times vector: long sums of few results are divided") {
  CHECK(has(same([](Xs a) { return dot(a[0], a[1]); }, {integers({600000}, 1), integers({600000}, 2)}, 0), "kernel1"));
  CHECK(has(same([](Xs a) { return matmul(a[0], a[1]); }, {integers({10, 60000}, 1), integers({60000}, 2)}, 0), "kernel1"));
}

TEST_CASE("matrix times vector: of all types, in any order of the dimensions") {
  const struct {
    const char* form;
    Shape a, b;
  } cases[] = {{"bij,ib->bj", {7, 500, 300}, {500, 7}},     {"ibj,bi->jb", {500, 7, 300}, {7, 500}},
               {"ijk,ji->k", {100, 70, 150}, {70, 100}},    {"ij,ij->", {1000, 1050}, {1000, 1050}},
               {"ij,ki->jk", {2000, 530}, {1, 2000}},       {"ki,ij->jk", {1, 2000}, {2000, 530}},
               {"bijc,bi->bcj", {3, 350, 50, 20}, {3, 350}}};
  for (const DType t : {float32, float64, bfloat16, float16, int32, complex64})
    for (const auto& [form, a, b] : cases) {
      CAPTURE(t.name());
      CAPTURE(form);
      same([form = form](Xs x) { return einsum(form, x[0], x[1]); }, {convert(integers(a, 1) * 4.f, t), convert(integers(b, 2) * 4.f, t)},
           0);
    }
}
