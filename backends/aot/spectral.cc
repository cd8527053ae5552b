// Eigenvalues and singular values. A Hermitian matrix becomes a real tridiagonal one by reflections, and that diagonal by implicit QL steps
// (Golub and Van Loan, Matrix Computations, 8.3); singular vectors come of rotations that make the columns of a triangular factor
// orthogonal (one-sided Jacobi: Demmel and Veselic, 1992).
#include "weft/aot.h"
#include "weft/backends/aot/matrices.h"
#include "weft/backends/aot/routines.h"

namespace {

using namespace weft::aot;

/// Of the tridiagonal matrix with this diagonal and subdiagonal d becomes the eigenvalues; the n columns of z are rotated along. False if
/// it takes too long.
template <class T, class R>
bool diagonalize(R* d, R* e, std::int64_t n, T* z, std::int64_t rows) {
  constexpr R epsilon = std::numeric_limits<R>::epsilon();
  e[n - 1] = 0;
  for (std::int64_t low = 0; low < n; ++low) {
    for (int steps = 0;; ++steps) {
      std::int64_t m = low;
      while (m + 1 < n && std::fabs(e[m]) > epsilon * (std::fabs(d[m]) + std::fabs(d[m + 1])) &&
             std::fabs(e[m]) > std::numeric_limits<R>::min())
        ++m;
      if (m == low) break;
      if (steps == 60) return false;
      // A step with Wilkinson's shift from the block's end m to its beginning.
      R g = (d[low + 1] - d[low]) / (2 * e[low]);
      R r = std::hypot(g, R(1));
      g = d[m] - d[low] + e[low] / (g + std::copysign(r, g));
      R s = 1, c = 1, p = 0;
      bool split = false;
      for (std::int64_t i = m - 1; i >= low; --i) {
        const R f = s * e[i], b = c * e[i];
        r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p, e[m] = 0, split = true;
          break;
        }
        s = f / r, c = g / r, g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r, d[i + 1] = g + p, g = c * r - b;
        for (std::int64_t k = 0; k < rows; ++k) {
          T* const at = z + k * n + i;
          const T first = at[0], second = at[1];
          at[1] = s * first + c * second, at[0] = c * first - s * second;
        }
      }
      if (!split) d[low] -= p, e[low] = g, e[m] = 0;
    }
  }
  return true;
}

/// a (n x n) becomes its eigenvectors, one a column. `work` has room for 3 n elements.
template <class T, class R>
bool eigh(T* a, std::int64_t n, bool lower, R* values, R* e, T* taus, T* work) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j)
      if (lower)
        a[j * n + i] = conjugate(a[i * n + j]);
      else
        a[i * n + j] = conjugate(a[j * n + i]);
    a[i * n + i] = T(real_of(a[i * n + i]));
  }
  if (!is_finite(a, n * n)) return false;
  // Reflections from both sides: of the rest b of the matrix b - v w^H - w v^H remains, where w = tau b v - (|tau|^2 v^H b v / 2) v.
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    const std::int64_t m = n - k - 1;
    T* const head = a + (k + 1) * n + k;
    const T tau = taus[k] = make_reflection(head, m, n);
    e[k] = real_of(*head);
    T *const v = work, *const w = work + n;
    v[0] = T(1);
    for (std::int64_t i = 1; i < m; ++i) v[i] = head[i * n];
    if (tau == T(0)) continue;
    T* const b = a + (k + 1) * n + k + 1;
    T inner(0);
    for (std::int64_t i = 0; i < m; ++i) {
      T sum(0);
      for (std::int64_t j = 0; j < m; ++j) sum += times(b[i * n + j], v[j]);
      w[i] = times(tau, sum);
      inner += times(conjugate(v[i]), w[i]);
    }
    const T half = times(conjugate(tau), inner) * T(R(0.5));
    for (std::int64_t i = 0; i < m; ++i) w[i] -= times(T(real_of(half)), v[i]);
    for (std::int64_t i = 0; i < m; ++i) {
      const T vi = v[i], wi = w[i];
      for (std::int64_t j = 0; j < m; ++j) b[i * n + j] -= times(wi, conjugate(v[j])) + times(vi, conjugate(w[j]));
    }
  }
  for (std::int64_t i = 0; i < n; ++i) values[i] = real_of(a[i * n + i]);
  // The product of the reflections, in a's own place: those of column k lie below row k + 1.
  for (std::int64_t k = n - 1; k-- > 0;)
    for (std::int64_t i = n - 1; i > k + 1; --i) a[i * n + k + 1] = a[i * n + k];
  for (std::int64_t i = 0; i < n; ++i) a[i] = a[i * n] = T(i == 0);
  for (std::int64_t k = n - 1; k-- > 0;) {
    // Column k + 1 holds v below its first element, at row k + 1; columns behind it are done.
    const std::int64_t m = n - k - 1;
    T *const v = work, *const sums = work + n;
    v[0] = T(1);
    for (std::int64_t i = 1; i < m; ++i) v[i] = a[(k + 1 + i) * n + k + 1];
    for (std::int64_t i = 0; i < m; ++i) a[(k + 1 + i) * n + k + 1] = T(i == 0);
    for (std::int64_t j = 1; j < m; ++j) a[(k + 1) * n + k + 1 + j] = T(0);
    reflect(a + (k + 1) * n + k + 1, m, m, n, v, 1, taus[k], sums);
  }
  if (!diagonalize(values, e, n, a, n)) return false;
  // Ascending.
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t least = i;
    for (std::int64_t j = i + 1; j < n; ++j)
      if (values[j] < values[least]) least = j;
    if (least == i) continue;
    const R other = values[i];
    values[i] = values[least], values[least] = other;
    for (std::int64_t k = 0; k < n; ++k) {
      const T element = a[k * n + i];
      a[k * n + i] = a[k * n + least], a[k * n + least] = element;
    }
  }
  return true;
}

/// x and y become c x - s conj(p) y and s p x + c y.
template <class T, class R>
void rotate(T* x, T* y, std::int64_t n, R c, R s, T phase) {
  const T forward = T(s) * phase, backward = T(s) * conjugate(phase);
  for (std::int64_t i = 0; i < n; ++i) {
    const T a = x[i], b = y[i];
    x[i] = T(c) * a - times(backward, b);
    y[i] = times(forward, a) + T(c) * b;
  }
}
template <class T>
T inner_product(const T* x, const T* y, std::int64_t n) {
  T sum(0);
  for (std::int64_t i = 0; i < n; ++i) sum += times(conjugate(x[i]), y[i]);
  return sum;
}

/// g holds n columns of m elements, one behind the other, and v the columns of an identity: columns of g become orthogonal, those of v go
/// along.
template <class T>
void orthogonalize(T* g, std::int64_t m, T* v, std::int64_t n) {
  using R = Real<T>;
  constexpr R epsilon = std::numeric_limits<R>::epsilon();
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool done = true;
    for (std::int64_t i = 0; i + 1 < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) {
        T *const x = g + i * m, *const y = g + j * m;
        const T product = inner_product(x, y, m);
        const R a = real_of(inner_product(x, x, m)), b = real_of(inner_product(y, y, m)), size = size_of(product);
        if (!(size > epsilon * std::sqrt(a) * std::sqrt(b)) || size < std::numeric_limits<R>::min()) continue;
        done = false;
        const T phase = product / T(size);
        const R tau = (b - a) / (2 * size), t = std::copysign(R(1), tau) / (std::fabs(tau) + std::hypot(R(1), tau));
        const R c = 1 / std::hypot(R(1), t), s = c * t;
        rotate(x, y, m, c, s, phase);
        rotate(v + i * n, v + j * n, n, c, s, phase);
      }
    if (done) return;
  }
}

/// Columns of u (n of m elements each, one behind the other) from `known` on become orthonormal ones that complete the others.
template <class T>
void complete(T* u, std::int64_t m, std::int64_t n, std::int64_t known) {
  using R = Real<T>;
  std::int64_t unit = 0;
  for (std::int64_t k = known; k < n; ++k)
    for (bool found = false; !found && unit < m; ++unit) {
      T* const x = u + k * m;
      for (std::int64_t i = 0; i < m; ++i) x[i] = T(i == unit);
      for (int times_over = 0; times_over < 2; ++times_over)
        for (std::int64_t c = 0; c < k; ++c) {
          const T weight = inner_product(u + c * m, x, m);
          for (std::int64_t i = 0; i < m; ++i) x[i] -= times(weight, u[c * m + i]);
        }
      const R length = std::sqrt(real_of(inner_product(x, x, m)));
      found = length > R(0.5) / std::sqrt(static_cast<R>(m));
      if (found)
        for (std::int64_t i = 0; i < m; ++i) x[i] = x[i] / T(length);
    }
}

/// Memory for matrices m x n with m >= n.
template <class T>
struct SvdWork {
  SvdWork(std::int64_t m, std::int64_t n, std::int64_t wide)
      : a(m * n), q(m * wide), taus(n), sums(m + n), g(n * n), v(n * n), values(n), order(n) {}
  bool ready() const { return a && q && taus && sums && g && v && values && order; }
  CBlock<T> a, q, taus, sums, g, v;
  CBlock<Real<T>> values;
  CBlock<std::int64_t> order;
};

/// Of w.a (m x n, m >= n): `left(i, k)` is where element i of the k-th left vector goes, of `wide` ones, `right(k, j)` where that of the
/// right one goes, conjugated.
template <class T, class Left, class Right>
void svd(SvdWork<T>& w, std::int64_t m, std::int64_t n, std::int64_t wide, bool vectors, Real<T>* s, Left left, Right right) {
  using R = Real<T>;
  // Numbers whose squares are neither too large nor too small.
  R largest = 0;
  for (std::int64_t i = 0; i < m * n; ++i) largest = std::fmax(largest, size_of(w.a[i]));
  const R scale = largest > 0 ? largest : R(1);
  for (std::int64_t i = 0; i < m * n; ++i) w.a[i] = w.a[i] / T(scale);
  factor_by_reflections(w.a.data(), m, n, w.taus.data(), w.sums.data());
  for (std::int64_t c = 0; c < n; ++c)
    for (std::int64_t r = 0; r < n; ++r) w.g[c * n + r] = r <= c ? w.a[r * n + c] : T(0), w.v[c * n + r] = T(r == c);
  orthogonalize(w.g.data(), n, w.v.data(), n);
  for (std::int64_t k = 0; k < n; ++k) {
    w.values[k] = std::sqrt(real_of(inner_product(w.g.data() + k * n, w.g.data() + k * n, n)));
    w.order[k] = k;
  }
  for (std::int64_t k = 1; k < n; ++k)
    for (std::int64_t i = k; i > 0 && w.values[w.order[i - 1]] < w.values[w.order[i]]; --i) {
      const std::int64_t other = w.order[i];
      w.order[i] = w.order[i - 1], w.order[i - 1] = other;
    }
  for (std::int64_t k = 0; k < n; ++k) s[k] = w.values[w.order[k]] * scale;
  if (!vectors) return;
  unitary_factor(w.a.data(), m, n, w.taus.data(), wide, w.q.data(), w.sums.data());
  // In order; w.a has room for the columns, and its own contents are used up.
  CBlock<T>& u = w.a;
  std::int64_t known = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t from = w.order[k];
    const R value = w.values[from];
    if (value > std::numeric_limits<R>::min() && value > w.values[w.order[0]] * std::numeric_limits<R>::epsilon() * R(0.01)) known = k + 1;
    for (std::int64_t i = 0; i < n; ++i) u[k * n + i] = known == k + 1 ? w.g[from * n + i] / T(value) : T(0);
    for (std::int64_t j = 0; j < n; ++j) right(k, j) = conjugate(w.v[from * n + j]);
  }
  complete(u.data(), n, n, known);
  for (std::int64_t i = 0; i < m; ++i) {
    const T* const row = w.q.data() + i * wide;
    for (std::int64_t k = 0; k < wide; ++k) {
      T sum(0);
      for (std::int64_t j = 0; j < n && k < n; ++j) sum += times(row[j], u[k * n + j]);
      left(i, k) = k < n ? sum : row[k];
    }
  }
}

}  // namespace

std::int32_t weft_aot_eigh(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const FactorPlan*>(data);
  const std::int64_t n = plan.rows, size = n * n;
  if (n == 0) return WEFT_AOT_OK;
  return with_element(plan.element, [&]<class T>() -> std::int32_t {
    using R = Real<T>;
    CBlock<R> e(n);
    CBlock<T> taus(n), work(3 * n), copy(plan.last ? size : 0);
    if (!e || !taus || !work || !copy) return WEFT_AOT_NO_MEMORY;
    for (std::int64_t i = 0; i < plan.count; ++i) {
      T* const vectors = plan.last ? copy.data() : static_cast<T*>(arrays[1]) + i * size;
      R* const values = static_cast<R*>(arrays[plan.last ? 1 : 2]) + i * n;
      std::memcpy(vectors, static_cast<const T*>(arrays[0]) + i * size, static_cast<std::size_t>(size) * sizeof(T));
      if (!eigh(vectors, n, plan.flag != 0, values, e.data(), taus.data(), work.data())) fill_nan(vectors, size), fill_nan(values, n);
    }
    return WEFT_AOT_OK;
  });
}

std::int32_t weft_aot_svd(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const FactorPlan*>(data);
  const std::int64_t rows = plan.rows, columns = plan.columns;
  const bool wide_matrix = rows < columns, vectors = plan.flag != 0;
  const std::int64_t m = wide_matrix ? columns : rows, n = wide_matrix ? rows : columns, wide = plan.full ? m : n;
  // u has as many columns as the matrix has rows, or n; and vh the same for its columns.
  const std::int64_t u_columns = wide_matrix ? n : wide, vh_rows = wide_matrix ? wide : n;
  return with_element(plan.element, [&]<class T>() -> std::int32_t {
    using R = Real<T>;
    SvdWork<T> work(m, n, wide);
    if (!work.ready()) return WEFT_AOT_NO_MEMORY;
    for (std::int64_t i = 0; i < plan.count; ++i) {
      const T* const a = static_cast<const T*>(arrays[0]) + i * rows * columns;
      R* const s = static_cast<R*>(arrays[1]) + i * n;
      T* const u = vectors ? static_cast<T*>(arrays[2]) + i * rows * u_columns : nullptr;
      T* const vh = vectors ? static_cast<T*>(arrays[3]) + i * vh_rows * columns : nullptr;
      if (!is_finite(a, rows * columns)) {
        fill_nan(s, n);
        if (vectors) fill_nan(u, rows * u_columns), fill_nan(vh, vh_rows * columns);
        continue;
      }
      // A wide matrix is the conjugate transpose of a tall one: its vectors change sides.
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t c = 0; c < n; ++c) work.a[r * n + c] = wide_matrix ? conjugate(a[c * columns + r]) : a[r * columns + c];
      if (!wide_matrix) {
        svd(
            work, m, n, wide, vectors, s, [&](std::int64_t r, std::int64_t k) -> T& { return u[r * u_columns + k]; },
            [&](std::int64_t k, std::int64_t c) -> T& { return vh[k * columns + c]; });
        continue;
      }
      svd(
          work, m, n, wide, vectors, s, [&](std::int64_t r, std::int64_t k) -> T& { return vh[k * columns + r]; },
          [&](std::int64_t k, std::int64_t c) -> T& { return u[c * u_columns + k]; });
      if (vectors) {
        for (std::int64_t k = 0; k < vh_rows * columns; ++k) vh[k] = conjugate(vh[k]);
        for (std::int64_t k = 0; k < rows * u_columns; ++k) u[k] = conjugate(u[k]);
      }
    }
    return WEFT_AOT_OK;
  });
}
