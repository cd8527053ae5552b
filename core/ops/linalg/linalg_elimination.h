// Elimination written out, for small matrices whose factors or solutions aren't finite. Libraries lose a NaN at some places and make one at
// others (a column isn't divided by a pivot that compares with nothing, a product with the inverse stands for a quotient); here it goes
// where the formulas take it, as in compiled code.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/core/array/storage.h"

namespace weft::detail {

/// Up to this many rows and columns. Beyond, the library's results stay.
constexpr int kWrittenOut = 64;

template <class T>
bool all_finite(const T* x, std::int64_t n) {
  if constexpr (is_complex_storage<T>)
    return std::all_of(x, x + n, [](const T& v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); });
  else
    return std::all_of(x, x + n, [](T v) { return std::isfinite(v); });
}

/// x - a b.
template <class T>
T minus_product(const T& x, const T& a, const T& b) {
  if constexpr (is_complex_storage<T>)
    return x - a * b;
  else
    return std::fma(-a, b, x);
}

/// Doolittle's factorisation with interchanges of rows, as LAPACK's getf2.
template <class T>
void eliminate(T* a, int rows, int columns, std::int32_t* pivots) {
  const auto row = [&](int i) { return a + static_cast<std::ptrdiff_t>(i) * columns; };
  const auto size = [](const T& v) {
    if constexpr (is_complex_storage<T>)
      return std::abs(v.real()) + std::abs(v.imag());
    else
      return std::abs(v);
  };
  for (int k = 0; k < std::min(rows, columns); ++k) {
    int pivot = k;
    for (int i = k + 1; i < rows; ++i)
      if (size(row(i)[k]) > size(row(pivot)[k])) pivot = i;
    pivots[k] = pivot;
    if (pivot != k) std::swap_ranges(row(k), row(k) + columns, row(pivot));
    const T head = row(k)[k];
    for (int i = k + 1; i < rows; ++i) {
      if (head != T(0)) row(i)[k] /= head;  // a column of zeros stays
      for (int c = k + 1; c < columns; ++c) row(i)[c] = minus_product(row(i)[c], row(i)[k], row(k)[c]);
    }
  }
}

/// The lower factor of a Hermitian matrix, in its lower triangle; false if a diagonal element is not positive.
template <class T>
bool factor_hermitian(T* a, int n) {
  const auto at = [&](int i, int k) -> T& { return a[static_cast<std::ptrdiff_t>(i) * n + k]; };
  for (int k = 0; k < n; ++k)
    for (int i = k; i < n; ++i) {
      T v = at(i, k);
      for (int c = 0; c < k; ++c) {
        if constexpr (is_complex_storage<T>)
          v -= at(i, c) * std::conj(at(k, c));
        else
          v = std::fma(-at(i, c), at(k, c), v);
      }
      if (i > k)
        at(i, k) = v / at(k, k);
      else if (!(std::real(v) > 0))
        return false;
      else
        at(k, k) = std::sqrt(std::real(v));
    }
  return true;
}

/// b becomes the solution of a triangular system with n equations: element(i, k) gives the matrix's, x(i, c) the place of the solution's.
template <class T, class Element, class X>
void substitute(int n, int others, bool forward, bool unit_diagonal, Element element, X x) {
  for (int step = 0; step < n; ++step) {
    const int i = forward ? step : n - 1 - step;
    for (int c = 0; c < others; ++c) {
      T v = x(i, c);
      for (int before = 0; before < step; ++before) {
        const int k = forward ? before : n - 1 - before;
        v = minus_product(v, element(i, k), x(k, c));
      }
      x(i, c) = unit_diagonal ? v : v / element(i, i);
    }
  }
}

}  // namespace weft::detail
