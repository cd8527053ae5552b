// Matmuls that libraries compute: of float64 and complex numbers by BLAS.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"
#include "tests/messages.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/packed/packed_matmul.h"

using namespace weft;
using namespace weft::test;

namespace {

Array numbers(Shape shape, unsigned seed, DType t) {
  const Array x = convert(values(shape, seed), t.is_complex() ? t.real_part() : t);
  return t.is_complex() ? complex(x, convert(values(shape, seed + 100), t.real_part())) : x;
}
bool by_library(const std::string& kernels) { return has(kernels, "matmul m="); }

}  // namespace

TEST_CASE("library matmuls: complex matrices in rows, in columns, as slices, in batches") {
  for (const DType t : {complex64, complex128}) {
    CAPTURE(t.name());
    const double tolerance = t == complex64 ? 1e-4 : 1e-12;
    const Arrays x = {numbers({180, 170}, 1, t), numbers({170, 190}, 2, t), numbers({180, 190}, 3, t)};
    for (const auto& f : {+[](Xs a) { return Arrays{matmul(a[0], a[1])}; }, +[](Xs a) { return Arrays{matmul(transpose(a[0]), a[2])}; },
                          +[](Xs a) { return Arrays{matmul(a[2], transpose(a[1]))}; },
                          +[](Xs a) { return Arrays{matmul(transpose(a[1]), transpose(a[0]))}; },
                          +[](Xs a) { return Arrays{matmul(conj(transpose(a[0])), a[2])}; },
                          +[](Xs a) { return Arrays{sin(matmul(a[0](slice(3, none)), a[1])) + 1.f}; },
                          +[](Xs a) { return Arrays{matmul(a[0], a[1](slice(), slice(5, 180)))}; },
                          +[](Xs a) { return Arrays{grad([&](const Array& b) { return real(sum(matmul(a[0], b))); })(a[1])}; }})
      CHECK(by_library(same(f, x, tolerance)));
  }
  const Arrays many = {numbers({3, 170, 165}, 1, complex64), numbers({3, 165, 171}, 2, complex64)};
  CHECK(by_library(same([](Xs a) { return Arrays{matmul(a[0], a[1])}; }, many, 1e-4)));
  CHECK(by_library(same([](Xs a) { return Arrays{einsum("bij,bjk->ibk", a[0], a[1])}; }, many, 1e-4)));
  CHECK(by_library(same([](Xs a) { return Arrays{matmul(a[0], a[1][0])}; }, many, 1e-4)));
  CHECK(by_library(same(
      [](Xs a) { return Arrays{vmap([](const Array& l, const Array& r) { return matmul(l, r); }, {.in_axes = {0, none}})(a[0], a[1][1])}; },
      many, 1e-4)));
}

TEST_CASE("library matmuls: float64 but for small matrices") {
  const Arrays small = {numbers({100, 110}, 1, float64), numbers({110, 105}, 2, float64)},
               some = {numbers({200, 220}, 3, float64), numbers({220, 256}, 4, float64)},
               large = {numbers({310, 320}, 1, float64), numbers({320, 305}, 2, float64)};
  const auto multiply = [](Xs a) { return Arrays{matmul(a[0], a[1])}; };
  CHECK_FALSE(by_library(same(multiply, small, 1e-12)));
  same(multiply, some, 1e-12);  // by the library where kernels have few registers
  const bool plain = by_library(same(multiply, large, 1e-12));
  const bool transposed = by_library(same([](Xs a) { return Arrays{matmul(transpose(a[1]), transpose(a[0]))}; }, large, 1e-12));
  if (detail::native_vector_bytes() >= 32) {
    CHECK(plain);
    CHECK(transposed);
  }
}

TEST_CASE("library matmuls: few rows or columns of 16-bit floats, and of what is read in order, are kernels") {
  struct One {
    DType t;
    Shape a, b;
    bool transposed, in_tiles;
  };
  for (const One& c : std::vector<One>{{bfloat16, {8, 300}, {300, 200}, false, false},
                                       {bfloat16, {8, 300}, {200, 300}, true, false},
                                       {bfloat16, {100, 300}, {300, 200}, false, true},
                                       {bfloat16, {8, 1000}, {1000, 700}, false, true},
                                       {bfloat16, {8, 1000}, {700, 1000}, true, false},
                                       {float32, {8, 1000}, {700, 1000}, true, false},
                                       {float32, {8, 1000}, {1000, 700}, false, true},
                                       {float32, {900, 1000}, {1000, 9}, false, false},
                                       {float64, {900, 1000}, {1000, 16}, false, false}}) {
    CAPTURE(c.t.name());
    CAPTURE(detail::to_string(c.a));
    CAPTURE(detail::to_string(c.b));
    const auto f = [&](Xs a) { return Arrays{matmul(a[0], c.transposed ? transpose(a[1]) : a[1])}; };
    const bool library = by_library(same(f, {numbers(c.a, 1, c.t), numbers(c.b, 2, c.t)},
                                         c.t == float64   ? 1e-11
                                         : c.t == float32 ? 1e-4
                                                          : 0.02));
    const bool measured = c.t == bfloat16 ? detail::converts_packed(c.t, c.t, c.t) : detail::native_vector_bytes() >= 32;
    if (measured) CHECK(library == c.in_tiles);
  }
}

TEST_CASE("library matmuls: overlapping rows are computed without BLAS") {
  // Windows of a signal as a matrix: each row is the one before, one element on.
  const Arrays x = {numbers({400}, 1, complex64), numbers({200, 180}, 2, complex64)};
  const auto f = [](Xs a) {
    const Array rows = expand_dims(arange(200), 1), columns = expand_dims(arange(200), 0);
    return Arrays{matmul(a[0](rows + columns), a[1])};
  };
  same(f, x, 1e-4);
  // All rows, or all columns, are one; they go backwards; or every other one is left out.
  for (const DType t : {complex64, complex128}) {
    const double tolerance = t == complex64 ? 1e-4 : 1e-12;
    const Arrays y = {numbers({1, 170}, 1, t), numbers({170, 190}, 2, t), numbers({180, 1}, 3, t), numbers({180, 340}, 4, t)};
    for (const auto& g : {+[](Xs a) { return Arrays{matmul(broadcast_to(a[0], {180, 170}), a[1])}; },
                          +[](Xs a) { return Arrays{matmul(broadcast_to(a[2], {180, 170}), a[1])}; },
                          +[](Xs a) { return Arrays{matmul(transpose(a[1]), transpose(broadcast_to(a[0], {180, 170})))}; },
                          +[](Xs a) { return Arrays{matmul(flip(a[3](slice(), slice(0, 170)), 0), a[1])}; },
                          +[](Xs a) { return Arrays{matmul(flip(a[3](slice(), slice(0, 170)), 1), a[1])}; },
                          +[](Xs a) { return Arrays{matmul(a[3](slice(), slice(0, 340, 2)), a[1])}; },
                          +[](Xs a) { return Arrays{matmul(a[3](slice(0, 180), slice(3, 173)), flip(a[1], 1))}; }})
      same(g, y, tolerance);
  }
}
