// Cholesky and LU in blocks, and triangular solves in strips: by several threads and by one, with LAPACK beside.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/lcg.h"
#include "weft/backends/cpu/factors/blocked.h"
#include "weft/runtime/host/thread_pool.h"

using namespace weft::detail;

namespace {

template <class T>
std::vector<T> numbers(int rows, int columns, std::uint64_t state) {
  weft::test::Lcg random{state};
  std::vector<T> x(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (T& v : x) v = random.entry<T>();
  return x;
}
template <class T>
T conjugate(const T& v) {
  if constexpr (std::is_floating_point_v<T>)
    return v;
  else
    return std::conj(v);
}
template <class T>
double tolerance(int n) {
  return 40 * n * static_cast<double>(std::numeric_limits<lapack::Real<T>>::epsilon());
}
std::size_t position(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}

/// What f makes of x by the pool's threads, which is the same, bit by bit, on one thread.
template <class T, class F>
std::vector<T> by_threads(const std::vector<T>& x, F&& f) {
  std::vector<T> several = x, one = x;
  f(several);
  {
    const SerialScope scope;
    f(one);
  }
  CHECK(std::memcmp(several.data(), one.data(), x.size() * sizeof(T)) == 0);
  return several;
}

template <class T>
void check_cholesky(int n) {
  const std::vector<T> g = numbers<T>(n, n, 5);
  std::vector<T> a(g.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      T sum = i == j ? T(static_cast<lapack::Real<T>>(n)) : T(0);
      for (int k = 0; k < n; k += 8) sum += g[position(i, n, k)] * conjugate(g[position(j, n, k)]);
      a[position(i, n, j)] = sum;
      if (i != j) a[position(j, n, i)] = T(1000);  // which is not read
    }
  bool good = true;
  const std::vector<T> l = by_threads(a, [&](std::vector<T>& x) { good = good && lapack::cholesky(x.data(), n); });
  CHECK(good);
  double worst = 0;
  for (int i = 0; i < n; i += 3)
    for (int j = 0; j <= i; j += 2) {
      T sum(0);
      for (int k = 0; k <= j; ++k) sum += l[position(i, n, k)] * conjugate(l[position(j, n, k)]);
      worst = std::max(worst, static_cast<double>(std::abs(sum - a[position(i, n, j)])) / n);
    }
  CAPTURE(n);
  CHECK(worst < tolerance<T>(n));
  a[position(n - 2, n, n - 2)] = T(-1);
  CHECK(!lapack::cholesky(a.data(), n));
}

template <class T>
void check_lu(int m, int n) {
  const std::vector<T> a = numbers<T>(m, n, 9);
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(std::min(m, n)));
  bool good = true;
  const std::vector<T> f = by_threads(a, [&](std::vector<T>& x) { good = good && lapack::lu(x.data(), m, n, pivots.data()); });
  CHECK(good);
  std::vector<int> row(static_cast<std::size_t>(m));
  for (int i = 0; i < m; ++i) row[static_cast<std::size_t>(i)] = i;
  for (std::size_t i = 0; i < pivots.size(); ++i) std::swap(row[i], row[static_cast<std::size_t>(pivots[i])]);
  double worst = 0, largest = 0;
  for (int i = 0; i < m; i += 2)
    for (int j = 0; j < n; j += 3) {
      T sum = i <= j ? f[position(i, n, j)] : T(0);
      for (int k = 0; k < i && k <= j && k < n; ++k) sum += f[position(i, n, k)] * f[position(k, n, j)];
      worst = std::max(worst, static_cast<double>(std::abs(sum - a[position(row[static_cast<std::size_t>(i)], n, j)])));
      if (i > j) largest = std::max(largest, static_cast<double>(std::abs(f[position(i, n, j)])));
    }
  CAPTURE(m);
  CAPTURE(n);
  CHECK(worst < tolerance<T>(n));
  CHECK(largest <= 1.5);  // of each column the largest element, by |re| + |im|, is the pivot
}

template <class T>
void check_solve(int m, int n) {
  for (int form = 0; form < 16; ++form) {
    const lapack::TriangularForm f{(form & 1) != 0, (form & 2) != 0, (form & 4) != 0, (form & 8) != 0};
    const int order = f.left_side ? m : n;
    std::vector<T> a = numbers<T>(order, order, 3);
    for (T& v : a) v = v / static_cast<lapack::Real<T>>(order);
    for (int i = 0; i < order; ++i) a[position(i, order, i)] += T(2);
    const std::vector<T> b = numbers<T>(m, n, 4);
    const std::vector<T> x = by_threads(b, [&](std::vector<T>& y) { lapack::triangular_solve(a.data(), y.data(), m, n, f); });
    const auto element = [&](int i, int j) {
      if (f.transpose) std::swap(i, j);
      if (i == j) return f.unit_diagonal ? T(1) : a[position(i, order, i)];
      return (i > j) == f.lower ? a[position(i, order, j)] : T(0);
    };
    double worst = 0;
    for (int i = 0; i < m; i += 5)
      for (int j = 0; j < n; j += 7) {
        T sum(0);
        for (int k = 0; k < order; ++k) sum += f.left_side ? element(i, k) * x[position(k, n, j)] : x[position(i, n, k)] * element(k, j);
        worst = std::max(worst, static_cast<double>(std::abs(sum - b[position(i, n, j)])));
      }
    CAPTURE(form);
    CHECK(worst < tolerance<T>(order));
  }
}

template <class T>
void check_all() {
  for (const int n : {191, 192, 193, 256, 330}) check_cholesky<T>(n);
  check_lu<T>(200, 200), check_lu<T>(320, 257), check_lu<T>(193, 401), check_lu<T>(40, 60);
  check_solve<T>(130, 211), check_solve<T>(1, 97), check_solve<T>(200, 1);
}

}  // namespace

TEST_CASE_TEMPLATE("factors: in blocks by several threads", T, float, double, std::complex<float>, std::complex<double>) { check_all<T>(); }
