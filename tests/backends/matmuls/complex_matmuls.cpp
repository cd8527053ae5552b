// Matmuls of complex numbers, which run as matmuls of real ones.
#include <doctest/doctest.h>

#include <complex>
#include <limits>
#include <vector>

#include "tests/backends/agree.h"
#include "tests/lcg.h"
#include "weft/backends/cpu/packed/packed_matmul.h"

using namespace weft;
using namespace weft::test;
using namespace weft::detail;

namespace {

struct Sizes {
  std::int64_t m, n, k;
};

template <class R>
void check(DType dtype) {
  using T = std::complex<R>;
  test::Lcg random{5};
  // The last is multiplied in several pieces of its columns.
  for (const Sizes& s : {Sizes{1, 1, 1}, Sizes{5, 7, 3}, Sizes{33, 65, 40}, Sizes{64, 64, 64}, Sizes{9, 700, 2100}})
    for (const int layout : {0, 1, 2, 3})
      for (const bool batched : {false, true}) {
        if (s.k > 1000 && (batched || layout > 0)) continue;
        const bool a_columns = layout & 1, b_columns = layout & 2;
        MatmulStep p;
        p.dtype = p.right_dtype = p.out_dtype = dtype;
        p.m = s.m, p.n = s.n, p.k = s.k, p.out_row = s.n + 2, p.a_offset = 3, p.b_offset = 2;
        p.a_row = a_columns ? 1 : s.k + 1, p.a_col = a_columns ? s.m + 1 : 1;
        p.b_row = b_columns ? 1 : s.n + 3, p.b_col = b_columns ? s.k + 3 : 1;
        const std::int64_t a_size = (s.m + 1) * (s.k + 1), b_size = (s.n + 3) * (s.k + 3), out_size = s.m * p.out_row;
        // The left matrices of a batch of three, one right matrix for all.
        if (batched) p.batch = {{3, a_size, 0, out_size}};
        std::vector<T> a(static_cast<std::size_t>(3 * a_size + 3)), b(static_cast<std::size_t>(b_size + 2));
        for (T& x : a) x = random.entry<T>();
        for (T& x : b) x = random.entry<T>();
        std::vector<T> out(static_cast<std::size_t>(3 * out_size), T(77));
        make_complex_matmul(p)->run(a.data(), b.data(), out.data());
        double worst = 0;
        for (std::int64_t l = 0; l < (batched ? 3 : 1); ++l)
          for (std::int64_t i = 0; i < s.m; ++i)
            for (std::int64_t j = 0; j < p.out_row; ++j) {
              const T got = out[static_cast<std::size_t>(l * out_size + i * p.out_row + j)];
              if (j >= s.n) {
                CHECK(got == T(77));
                continue;
              }
              std::complex<double> want = 0;
              for (std::int64_t q = 0; q < s.k; ++q)
                want += std::complex<double>(a[static_cast<std::size_t>(3 + l * a_size + i * p.a_row + q * p.a_col)]) *
                        std::complex<double>(b[static_cast<std::size_t>(2 + q * p.b_row + j * p.b_col)]);
              worst = std::max(worst, std::abs(std::complex<double>(got) - want));
            }
        CAPTURE(s.m);
        CAPTURE(layout);
        CHECK(worst <= 4 * static_cast<double>(std::numeric_limits<R>::epsilon()) * static_cast<double>(s.k));
      }
}

}  // namespace

TEST_CASE("complex matmuls in all layouts and batches agree with the sums of products") {
  if (!has_complex_matmul(complex64)) return;
  check<float>(complex64);
  check<double>(complex128);
}

TEST_CASE("complex matmuls of programs agree with the interpreter") {
  const Array x = complex(reshape(sin(arange(200. * 210)), {200, 210}), reshape(cos(arange(200. * 210)), {200, 210}));
  same([](Xs a) { return Arrays{matmul(a[0], transpose(a[0])), matmul(conj(transpose(a[0])), a[0])}; }, {x}, 1e-4);
}
