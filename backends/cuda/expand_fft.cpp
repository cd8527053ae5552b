// Fourier transforms of lengths with small prime factors as matmuls with matrices of roots of one.
#include <cmath>
#include <complex>
#include <numbers>

#include "weft/backends/cuda/expand.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/movement.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kLargestFactor = 64;  // the largest matrix of roots that is multiplied by
constexpr std::int64_t kRadix = 16;          // small factors go together up to this

std::complex<double> root_of_one(std::int64_t numerator, std::int64_t n) {
  const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(numerator) / static_cast<long double>(n);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(-std::sin(angle))};
}

/// The rows x columns table of exp(-2 pi i row column / n).
Array roots(std::int64_t rows, std::int64_t columns, std::int64_t n, DType dtype) {
  std::vector<std::complex<double>> table;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) table.push_back(root_of_one(i * j % n, n));
  return array_of_elements(table.data(), complex128, rows * columns, {rows, columns}, dtype, {});
}

std::int64_t next_radix(std::int64_t n) {
  if (n <= kRadix) return n;
  std::int64_t radix = 1;
  for (std::int64_t factor = 2; n > 1 && factor <= kLargestFactor; ++factor)
    while (n % factor == 0) {
      if (radix * factor > std::max(kRadix, factor)) return radix;
      radix *= factor, n /= factor;
      if (radix >= kRadix) return radix;
    }
  return n > 1 ? (radix > 1 ? radix : n) : radix;
}

bool has_small_factors(std::int64_t n) {
  for (std::int64_t factor = 2; factor <= kLargestFactor; ++factor)
    while (n % factor == 0) n /= factor;
  return n == 1;
}

/// The forward transform of the last axis.
Array transformed(const Array& x, DType dtype) {
  const int last = x.ndim() - 1;
  const std::int64_t n = x.shape()[last];
  if (n == 1) return x;
  const std::int64_t r = next_radix(n), m = n / r;
  // Element m i + j as (i, j).
  const Array apart = reshape_to(x, x.shape().with(last, r).inserted(last + 1, m), {});
  // (k, ..., j): the matmul's free dimensions come behind.
  Array y = dot_product(roots(r, r, r, dtype), apart, {.contracting = {{{1}, {last}}}});
  y = move_axis(y, 0, last, {});
  if (m == 1) return reshape_to(y, x.shape(), {});
  y = y * broadcast_in_dim(roots(r, m, n, dtype), y.shape(), {last, last + 1}, {});
  // Result k + r l, from (k, l).
  return reshape_to(move_axis(transformed(y, dtype), last, last + 1, {}), x.shape(), {});
}

/// A transform along any axis; the inverse is the forward one of the conjugate, conjugated.
Array along(const Array& x, int axis, bool inverse) {
  const int last = x.ndim() - 1;
  Array y = move_axis(x, axis, last, {});
  if (inverse) y = conj(y);
  y = transformed(y, x.dtype());
  if (inverse) y = conj(y) * scalar_like(y, 1 / static_cast<double>(x.shape()[axis]));
  return move_axis(y, last, axis, {});
}

}  // namespace

bool has_fft_by_matmuls(const FftParams& p) {
  for (std::int64_t n : p.fft_lengths)
    if (n < 1 || !has_small_factors(n)) return false;
  return !p.fft_lengths.empty();
}

Array fft_by_matmuls(const FftParams& p, const Array& x) {
  const int rank = static_cast<int>(p.fft_lengths.size()), first = x.ndim() - rank, last = x.ndim() - 1;
  const std::int64_t n = p.fft_lengths.back();
  Array y = x;
  switch (p.fft_type) {
    case FftType::fft:
    case FftType::ifft:
      for (int d = last; d >= first; --d) y = along(y, d, p.fft_type == FftType::ifft);
      return y;
    case FftType::rfft:
      y = slice_axis(along(complex(y, fill_shape(scalar_like(y, 0), y.shape(), {})), last, false), last, 0, n / 2 + 1, {});
      for (int d = last - 1; d >= first; --d) y = along(y, d, false);
      return y;
    case FftType::irfft: {
      for (int d = first; d < last; ++d) y = along(y, d, true);
      // The other half is the conjugate of the first, backwards.
      if (const std::int64_t rest = n - y.shape()[last]; rest > 0) {
        const Array halves[] = {y, conj(reverse(slice_axis(y, last, 1, 1 + rest, {}), {last}, {}))};
        y = concatenate_along(halves, last, {});
      }
      return real(along(y, last, true));
    }
  }
  return y;
}

}  // namespace weft::detail
