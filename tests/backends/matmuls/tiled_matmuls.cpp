// Matmuls of float32 by register tiles.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/backends/agree.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/matmul.h"

using namespace weft;
using namespace weft::test;
using namespace weft::detail;

namespace {

struct Sizes {
  std::int64_t m, n, k;
};

/// Matrices as they lie or turned, with `gap` elements between their lines; the result's gaps must stay as they are.
void check_matmul(const Sizes& s, bool a_transposed, bool b_transposed, std::int64_t gap) {
  MatmulStep p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.a_row = a_transposed ? 1 : s.k + gap, p.a_col = a_transposed ? s.m + gap : 1;
  p.b_row = b_transposed ? 1 : s.n + gap, p.b_col = b_transposed ? s.k + gap : 1;
  p.out_row = s.n + gap, p.a_offset = gap, p.b_offset = 2 * gap;
  const std::unique_ptr<Matmul> matmul = make_tiled_matmul(p);
  CHECK((matmul != nullptr) == (native_vector_bytes() >= 64));
  if (!matmul) return;  // the processor has no registers for it
  // Whole numbers, so that sums are exact in any order. What is not read is not a number.
  const auto numbers = [](std::size_t count) { return std::vector<float>(count, std::nanf("")); };
  std::vector<float> a = numbers(static_cast<std::size_t>((s.m + gap) * (s.k + gap) + gap)),
                     b = numbers(static_cast<std::size_t>((s.k + gap) * (s.n + gap) + 2 * gap)),
                     out(static_cast<std::size_t>(s.m * p.out_row), -1.f);
  const auto at_a = [&](std::int64_t i, std::int64_t k) -> float& { return a[static_cast<std::size_t>(gap + i * p.a_row + k * p.a_col)]; };
  const auto at_b = [&](std::int64_t k, std::int64_t j) -> float& {
    return b[static_cast<std::size_t>(2 * gap + k * p.b_row + j * p.b_col)];
  };
  for (std::int64_t k = 0; k < s.k; ++k) {
    for (std::int64_t i = 0; i < s.m; ++i) at_a(i, k) = static_cast<float>((i * 7 + k * 5) % 11 - 5);
    for (std::int64_t j = 0; j < s.n; ++j) at_b(k, j) = static_cast<float>((k * 3 + j * 13) % 9 - 4);
  }
  matmul->run(a.data(), b.data(), out.data());
  int wrong = 0;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < p.out_row; ++j) {
      float sum = j < s.n ? 0 : -1;
      for (std::int64_t k = 0; k < s.k && j < s.n; ++k) sum += at_a(i, k) * at_b(k, j);
      wrong += out[static_cast<std::size_t>(i * p.out_row + j)] != sum;
    }
  CAPTURE(fmt::format("{} x {} x {}, transposed: {}, {}; gap {}", s.m, s.n, s.k, a_transposed, b_transposed, gap));
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("tiled matmuls: all layouts, whole and partial tiles, sums and columns in several blocks") {
  for (const Sizes& s : {Sizes{48, 32, 64},
                         {75, 96, 70},
                         {49, 64, 600},
                         {51, 512, 300},
                         {61, 33, 17},
                         {64, 16, 100},
                         {83, 47, 31},
                         {50, 1, 40},
                         {53, 97, 129},
                         {59, 20, 1030},
                         {52, 500, 513},
                         {300, 65, 90},
                         {130, 280, 70},
                         {60, 7000, 3},
                         {2000, 10, 20}})
    for (const bool a_transposed : {false, true})
      for (const bool b_transposed : {false, true})
        for (const std::int64_t gap : {0, 3}) check_matmul(s, a_transposed, b_transposed, gap);
}

TEST_CASE("tiled matmuls: in programs, with gradients") {
  const Arrays x = {values({190, 173}, 1), values({173, 210}, 2), values({3, 64, 600}, 3), values({600, 170}, 4)};
  for (const auto& f :
       {+[](Xs a) { return Arrays{matmul(a[0], a[1])}; }, +[](Xs a) { return Arrays{matmul(transpose(a[1]), transpose(a[0]))}; },
        +[](Xs a) { return Arrays{matmul(a[2], a[3]), matmul(a[0](slice(), slice(5, 173)), a[1](slice(5, none)))}; },
        +[](Xs a) { return Arrays{grad([&](const Array& w) { return sum(tanh(matmul(a[2], w) / 8.f)); })(a[3])}; }})
    CHECK(has(same(f, x, 1e-3), "matmul m="));
}
