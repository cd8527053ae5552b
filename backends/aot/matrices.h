// Shared code of the archive's matrix routines: dtypes, complex numbers, Householder reflections. Matrices are row-major.
#pragma once
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "weft/backends/aot/plans.h"
#include "weft/core/ops/linalg/fourier_plan.h"

namespace weft::aot {

using weft::detail::CBlock;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<std::complex<T>> = true;

/// Complex multiplication without std::complex's checks for infinities.
template <class T>
T times(T a, T b) {
  return a * b;
}
template <class T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class T>
T conjugate(T a) {
  return a;
}
template <class T>
std::complex<T> conjugate(std::complex<T> a) {
  return {a.real(), -a.imag()};
}
template <class T>
Real<T> square_of(T a) {
  if constexpr (is_complex<T>)
    return a.real() * a.real() + a.imag() * a.imag();
  else
    return a * a;
}
template <class T>
Real<T> size_of(T a) {
  if constexpr (is_complex<T>)
    return std::hypot(a.real(), a.imag());
  else
    return std::fabs(a);
}
template <class T>
Real<T> real_of(T a) {
  if constexpr (is_complex<T>)
    return a.real();
  else
    return a;
}
template <class T>
bool is_finite(const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!(size_of(x[i]) <= std::numeric_limits<Real<T>>::max())) return false;
  return true;
}
template <class T>
void fill(T* x, std::int64_t n, Real<T> v) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = T(v);
}
template <class T>
void fill_nan(T* x, std::int64_t n) {
  fill(x, n, std::numeric_limits<Real<T>>::quiet_NaN());
}

/// Calls f.operator()<T>() with the type of the elements.
template <class F>
auto with_element(Element e, F&& f) {
  switch (e) {
    case Element::float32: return f.template operator()<float>();
    case Element::float64: return f.template operator()<double>();
    case Element::complex64: return f.template operator()<std::complex<float>>();
    default: return f.template operator()<std::complex<double>>();
  }
}

/// The reflection I - tau v v^H whose conjugate transpose takes x, n elements `stride` apart, to (beta, 0, ...) with a real beta. v's first
/// element is 1, the others take x's place, and x[0] becomes beta.
template <class T>
T make_reflection(T* x, std::int64_t n, std::int64_t stride) {
  using R = Real<T>;
  R largest = 0;
  for (std::int64_t i = 1; i < n; ++i) largest = std::fmax(largest, size_of(x[i * stride]));
  R rest = 0;
  if (largest > 0) {
    for (std::int64_t i = 1; i < n; ++i) rest += square_of(x[i * stride] / T(largest));
    rest = largest * std::sqrt(rest);
  }
  const T alpha = x[0];
  if constexpr (is_complex<T>) {
    if (rest == 0 && alpha.imag() == 0) return T(0);
  } else {
    if (rest == 0) return T(0);
  }
  const R beta = -std::copysign(std::hypot(size_of(alpha), rest), real_of(alpha));
  const T scale = T(1) / (alpha - T(beta));
  for (std::int64_t i = 1; i < n; ++i) x[i * stride] = times(x[i * stride], scale);
  x[0] = T(beta);
  if constexpr (is_complex<T>)
    return {(beta - alpha.real()) / beta, -alpha.imag() / beta};
  else
    return (beta - alpha) / beta;
}

/// (I - tau v v^H) a for rows of a, `columns` elements each, `row` elements apart. v[0] is 1, its others are `stride` apart. `sums` has
/// room for a row.
template <class T>
void reflect(T* a, std::int64_t rows, std::int64_t columns, std::int64_t row, const T* v, std::int64_t stride, T tau, T* sums) {
  if (tau == T(0)) return;
  for (std::int64_t j = 0; j < columns; ++j) sums[j] = a[j];
  for (std::int64_t i = 1; i < rows; ++i) {
    const T weight = conjugate(v[i * stride]);
    for (std::int64_t j = 0; j < columns; ++j) sums[j] += times(weight, a[i * row + j]);
  }
  for (std::int64_t j = 0; j < columns; ++j) a[j] -= times(tau, sums[j]);
  for (std::int64_t i = 1; i < rows; ++i) {
    const T weight = times(tau, v[i * stride]);
    for (std::int64_t j = 0; j < columns; ++j) a[i * row + j] -= times(weight, sums[j]);
  }
}

/// a (m x n) becomes R above the diagonal and reflections below it; there are min(m, n) in `taus`. `sums` has room for a row.
template <class T>
void factor_by_reflections(T* a, std::int64_t m, std::int64_t n, T* taus, T* sums) {
  const std::int64_t k = m < n ? m : n;
  for (std::int64_t i = 0; i < k; ++i) {
    T* const head = a + i * n + i;
    taus[i] = make_reflection(head, m - i, n);
    const T beta = *head;
    *head = T(1);
    reflect(head + 1, m - i, n - i - 1, n, head, n, conjugate(taus[i]), sums);
    *head = beta;
  }
}
/// The first `columns` columns of the product of those reflections: q (m x columns).
template <class T>
void unitary_factor(const T* a, std::int64_t m, std::int64_t n, const T* taus, std::int64_t columns, T* q, T* sums) {
  const std::int64_t k = m < n ? m : n;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < columns; ++j) q[i * columns + j] = T(i == j);
  for (std::int64_t i = k; i-- > 0;) reflect(q + i * columns + i, m - i, columns - i, columns, a + i * n + i, n, taus[i], sums);
}

}  // namespace weft::aot
