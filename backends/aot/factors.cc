// Factorisations that take a fixed number of steps: Cholesky's, LU with interchanges of rows, QR by reflections, and triangular systems.
// Inner loops go along rows.
#include "weft/aot.h"
#include "weft/backends/aot/matrices.h"
#include "weft/backends/aot/routines.h"

namespace {

using namespace weft::aot;

/// The lower factor, zeros above; false if the matrix is not positive definite.
template <class T>
bool cholesky(T* a, std::int64_t n, T* column) {
  for (std::int64_t k = 0; k < n; ++k) {
    const Real<T> head = real_of(a[k * n + k]);
    if (!(head > 0)) return false;
    const Real<T> root = std::sqrt(head);
    a[k * n + k] = T(root);
    for (std::int64_t i = k + 1; i < n; ++i) column[i] = conjugate(a[i * n + k] = a[i * n + k] / T(root));
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T weight = a[i * n + k];
      for (std::int64_t j = k + 1; j <= i; ++j) a[i * n + j] -= times(weight, column[j]);
    }
    for (std::int64_t j = k + 1; j < n; ++j) a[k * n + j] = T(0);
  }
  return true;
}

template <class T>
void lu(T* a, std::int64_t m, std::int64_t n, std::int32_t* pivots, std::int32_t* permutation) {
  const auto size = [](const T& v) {
    if constexpr (is_complex<T>)
      return std::fabs(v.real()) + std::fabs(v.imag());
    else
      return std::fabs(v);
  };
  for (std::int64_t i = 0; i < m; ++i) permutation[i] = static_cast<std::int32_t>(i);
  for (std::int64_t k = 0; k < (m < n ? m : n); ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < m; ++i)
      if (size(a[i * n + k]) > size(a[pivot * n + k])) pivot = i;
    pivots[k] = static_cast<std::int32_t>(pivot);
    if (pivot != k) {
      for (std::int64_t j = 0; j < n; ++j) {
        const T other = a[k * n + j];
        a[k * n + j] = a[pivot * n + j], a[pivot * n + j] = other;
      }
      const std::int32_t other = permutation[k];
      permutation[k] = permutation[pivot], permutation[pivot] = other;
    }
    const T head = a[k * n + k];
    for (std::int64_t i = k + 1; i < m; ++i) {
      if (head != T(0)) a[i * n + k] = a[i * n + k] / head;  // a column of zeros stays
      const T weight = a[i * n + k];
      for (std::int64_t j = k + 1; j < n; ++j) a[i * n + j] -= times(weight, a[k * n + j]);
    }
  }
}

/// b (rows x columns) becomes the solution; `a` is op(a), of which one triangle is read.
template <class T>
void solve(const T* a, std::int64_t n, bool lower, bool unit, bool left, T* b, std::int64_t rows, std::int64_t columns) {
  if (left) {
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t i = lower ? step : n - 1 - step;
      for (std::int64_t before = 0; before < step; ++before) {
        const std::int64_t k = lower ? before : n - 1 - before;
        const T weight = a[i * n + k];
        for (std::int64_t j = 0; j < columns; ++j) b[i * columns + j] -= times(weight, b[k * columns + j]);
      }
      if (!unit)
        for (std::int64_t j = 0; j < columns; ++j) b[i * columns + j] = b[i * columns + j] / a[i * n + i];
    }
    return;
  }
  // Of x op(a) = b each row is a system of its own: what is known of x is taken out of all that follows.
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const x = b + r * n;
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t k = lower ? n - 1 - step : step;
      if (!unit) x[k] = x[k] / a[k * n + k];
      for (std::int64_t j = lower ? 0 : k + 1; j < (lower ? k : n); ++j) x[j] -= times(x[k], a[k * n + j]);
    }
  }
}

}  // namespace

std::int32_t weft_aot_cholesky(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const FactorPlan*>(data);
  const std::int64_t n = plan.rows, size = n * n;
  return with_element(plan.element, [&]<class T>() -> std::int32_t {
    CBlock<T> column(n);
    if (!column) return WEFT_AOT_NO_MEMORY;
    for (std::int64_t i = 0; i < plan.count; ++i) {
      T* const out = static_cast<T*>(arrays[1]) + i * size;
      std::memcpy(out, static_cast<const T*>(arrays[0]) + i * size, static_cast<std::size_t>(size) * sizeof(T));
      if (cholesky(out, n, column.data())) continue;
      fill_nan(out, size);
      for (std::int64_t r = 0; r < n; ++r) fill(out + r * n + r + 1, n - r - 1, 0);
    }
    return WEFT_AOT_OK;
  });
}

std::int32_t weft_aot_lu(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const FactorPlan*>(data);
  const std::int64_t m = plan.rows, n = plan.columns, size = m * n, k = m < n ? m : n;
  return with_element(plan.element, [&]<class T>() -> std::int32_t {
    std::memcpy(arrays[1], arrays[0], static_cast<std::size_t>(plan.count * size) * sizeof(T));
    for (std::int64_t i = 0; i < plan.count; ++i)
      lu(static_cast<T*>(arrays[1]) + i * size, m, n, static_cast<std::int32_t*>(arrays[2]) + i * k,
         static_cast<std::int32_t*>(arrays[3]) + i * m);
    return WEFT_AOT_OK;
  });
}

std::int32_t weft_aot_triangular_solve(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const SolvePlan*>(data);
  const std::int64_t rows = plan.rows, columns = plan.columns, n = plan.left ? rows : columns;
  return with_element(plan.element, [&]<class T>() -> std::int32_t {
    CBlock<T> matrix(n * n);
    if (!matrix) return WEFT_AOT_NO_MEMORY;
    std::memcpy(arrays[2], arrays[1], static_cast<std::size_t>(plan.count * rows * columns) * sizeof(T));
    for (std::int64_t i = 0; i < plan.count; ++i) {
      const T* const a = static_cast<const T*>(arrays[0]) + i * n * n;
      for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
          const T v = plan.transpose ? a[c * n + r] : a[r * n + c];
          matrix[r * n + c] = plan.conjugate ? conjugate(v) : v;
        }
      solve(matrix.data(), n, (plan.lower != 0) != (plan.transpose != 0), plan.unit_diagonal != 0, plan.left != 0,
            static_cast<T*>(arrays[2]) + i * rows * columns, rows, columns);
    }
    return WEFT_AOT_OK;
  });
}

std::int32_t weft_aot_qr(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const FactorPlan*>(data);
  const std::int64_t m = plan.rows, n = plan.columns, k = m < n ? m : n, columns = plan.full ? m : k;
  return with_element(plan.element, [&]<class T>() -> std::int32_t {
    CBlock<T> a(m * n), taus(k), sums(m + n);
    if (!a || !taus || !sums) return WEFT_AOT_NO_MEMORY;
    for (std::int64_t i = 0; i < plan.count; ++i) {
      std::memcpy(a.data(), static_cast<const T*>(arrays[0]) + i * m * n, static_cast<std::size_t>(m * n) * sizeof(T));
      factor_by_reflections(a.data(), m, n, taus.data(), sums.data());
      T* const r = static_cast<T*>(arrays[plan.last ? 1 : 2]) + i * columns * n;
      for (std::int64_t row = 0; row < columns; ++row)
        for (std::int64_t c = 0; c < n; ++c) r[row * n + c] = row <= c && row < m ? a[row * n + c] : T(0);
      if (!plan.last) unitary_factor(a.data(), m, n, taus.data(), columns, static_cast<T*>(arrays[1]) + i * m * columns, sums.data());
    }
    return WEFT_AOT_OK;
  });
}
