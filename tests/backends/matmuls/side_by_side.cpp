// Small matrices that are decomposed side by side in the lanes of vectors: what comes of them, whatever lies beside them, on any number of
// threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/lcg.h"
#include "weft/core/base/lapack.h"
#include "weft/runtime/host/thread_pool.h"

using namespace weft::detail;

namespace {

template <class T>
using Numbers = std::vector<T>;

template <class T>
Numbers<T> numbers(std::int64_t count, std::uint64_t state, double scale = 1) {
  weft::test::Lcg random{state};
  Numbers<T> x(static_cast<std::size_t>(count));
  for (T& v : x) v = random.entry<T>(scale);
  return x;
}

/// A matrix among others.
template <class T>
struct View {
  const T* data;
  int rows, columns;
  std::complex<double> operator()(int i, int j) const { return std::complex<double>(data[i * columns + j]); }
};
template <class T>
View<T> view(const Numbers<T>& all, std::int64_t k, int rows, int columns) {
  return {all.data() + k * rows * columns, rows, columns};
}
/// The largest difference between a b and c, of which `element(i, j)` is one.
template <class A, class B, class C>
double difference(int rows, int inner, int columns, A&& a, B&& b, C&& c) {
  double worst = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      std::complex<double> sum = 0;
      for (int k = 0; k < inner; ++k) sum += a(i, k) * b(k, j);
      worst = std::max(worst, std::abs(sum - c(i, j)));
    }
  return worst;
}
std::complex<double> identity(int i, int j) { return i == j ? 1. : 0.; }
template <class T>
auto adjoint(const View<T>& a) {
  return [a](int i, int j) { return std::conj(a(j, i)); };
}
/// 1 means that nothing but rounding happened.
template <class T>
double tolerance(int n) {
  return 30 * (n + 2) * static_cast<double>(std::numeric_limits<lapack::Real<T>>::epsilon());
}

/// What f writes to `results`, which has the same bits on one thread.
template <class T, class F>
void by_threads(std::vector<Numbers<T>*> results, F&& f) {
  f();
  std::vector<Numbers<T>> several;
  for (const Numbers<T>* r : results) several.push_back(*r);
  {
    const SerialScope scope;
    f();
  }
  for (std::size_t k = 0; k < results.size(); ++k)
    CHECK(std::memcmp(several[k].data(), results[k]->data(), several[k].size() * sizeof(T)) == 0);
}

constexpr int kCounts[] = {1, 2, 3, 6, 16, 45};

template <class T>
void check_cholesky(int count, int n) {
  const std::int64_t size = std::int64_t{n} * n;
  Numbers<T> a = numbers<T>(count * size, 3), l;
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < n; ++i) a[static_cast<std::size_t>(k * size + i * (n + 1))] = T(static_cast<lapack::Real<T>>(2 * n));
  if (count > 2) a[static_cast<std::size_t>(2 * size)] = T(-1);
  std::vector<std::uint8_t> good(static_cast<std::size_t>(count));
  by_threads<T>({&l}, [&] {
    l = a;
    lapack::cholesky_of_each(l.data(), count, n, good.data());
    for (int k = 0; k < count; ++k)
      if (good[static_cast<std::size_t>(k)] == 0) std::fill_n(l.data() + k * size, size, T(0));
  });
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    CHECK((good[static_cast<std::size_t>(k)] != 0) == (k != 2));
    if (k == 2) continue;
    const View<T> f = view(l, k, n, n), of = view(a, k, n, n);
    const auto lower = [&](int i, int j) { return i < j ? 0. : f(i, j); };
    const auto upper = [&](int i, int j) { return std::conj(lower(j, i)); };
    const auto hermitian = [&](int i, int j) { return i >= j ? of(i, j) : std::conj(of(j, i)); };
    CHECK(difference(n, n, n, lower, upper, hermitian) < n * tolerance<T>(n));
  }
}

template <class T>
void check_lu(int count, int m, int n) {
  const int steps = std::min(m, n);
  Numbers<T> a = numbers<T>(std::int64_t{count} * m * n, 5), f;
  // A column of zeros, and equal rows, of which the first is the pivot.
  if (count > 2)
    for (int i = 0; i < m; ++i) a[static_cast<std::size_t>(2 * m * n + i * n)] = T(0);
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(count * steps));
  by_threads<T>({&f}, [&] {
    f = a;
    lapack::lu_of_each(f.data(), count, m, n, pivots.data());
  });
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const View<T> lu = view(f, k, m, n), of = view(a, k, m, n);
    std::vector<int> row(static_cast<std::size_t>(m));
    for (int i = 0; i < m; ++i) row[static_cast<std::size_t>(i)] = i;
    for (int i = 0; i < steps; ++i) {
      const int other = pivots[static_cast<std::size_t>(k * steps + i)];
      REQUIRE(other >= i);
      REQUIRE(other < m);
      std::swap(row[static_cast<std::size_t>(i)], row[static_cast<std::size_t>(other)]);
    }
    const auto lower = [&](int i, int j) { return i > j ? lu(i, j) : identity(i, j); };
    const auto upper = [&](int i, int j) { return i <= j ? lu(i, j) : 0.; };
    CHECK(difference(m, steps, n, lower, upper, [&](int i, int j) { return of(row[static_cast<std::size_t>(i)], j); }) < tolerance<T>(n));
    double largest = 0;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < i && j < steps; ++j) largest = std::max(largest, std::abs(lower(i, j)));
    CHECK(largest < 1.5);
  }
}

template <class T>
void check_solve(int count, int n, int others) {
  for (int form = 0; form < 32; ++form) {
    const lapack::TriangularForm f{(form & 1) != 0, (form & 2) != 0, (form & 4) != 0, (form & 8) != 0};
    const bool conjugated = (form & 16) != 0;
    const int rows = f.left_side ? n : others, columns = f.left_side ? others : n;
    Numbers<T> a = numbers<T>(std::int64_t{count} * n * n, 7, 1. / n), x;
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < n; ++i) a[static_cast<std::size_t>(k * n * n + i * (n + 1))] += T(2);
    const Numbers<T> b = numbers<T>(std::int64_t{count} * n * others, 8);
    by_threads<T>({&x}, [&] {
      x = b;
      lapack::triangular_solve_of_each(a.data(), x.data(), count, rows, columns, f, conjugated);
    });
    for (int k = 0; k < count; k += 4) {
      const View<T> matrix = view(a, k, n, n), solution = view(x, k, rows, columns);
      const auto triangle = [&](int i, int j) -> std::complex<double> {
        if (i == j && f.unit_diagonal) return 1.;
        return (f.lower ? i >= j : i <= j) ? (conjugated ? std::conj(matrix(i, j)) : matrix(i, j)) : 0.;
      };
      const auto op = [&](int i, int j) { return f.transpose ? triangle(j, i) : triangle(i, j); };
      const View<T> want = view(b, k, rows, columns);
      CAPTURE(form);
      if (f.left_side)
        CHECK(difference(n, n, others, op, solution, want) < tolerance<T>(n));
      else
        CHECK(difference(others, n, n, solution, op, want) < tolerance<T>(n));
    }
  }
}

template <class T>
void check_qr(int count, int m, int n, bool full, double scale) {
  const int columns = full ? m : std::min(m, n);
  Numbers<T> a = numbers<T>(std::int64_t{count} * m * n, 11, scale), q(static_cast<std::size_t>(count * m * columns)),
             r(static_cast<std::size_t>(count * columns * n)), only_r = r;
  by_threads<T>({&q, &r}, [&] { lapack::qr_of_each(a.data(), count, m, n, columns, q.data(), r.data()); });
  lapack::qr_of_each(a.data(), count, m, n, columns, static_cast<T*>(nullptr), only_r.data());
  CHECK(std::memcmp(r.data(), only_r.data(), r.size() * sizeof(T)) == 0);
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const View<T> of = view(a, k, m, n), left = view(q, k, m, columns), right = view(r, k, columns, n);
    CHECK(difference(m, columns, n, left, right, of) < scale * tolerance<T>(n));
    CHECK(difference(columns, m, columns, adjoint(left), left, identity) < tolerance<T>(n));
    for (int i = 0; i < columns; ++i)
      for (int j = 0; j < std::min(i, n); ++j) CHECK(right(i, j) == 0.);
  }
}

/// `kind`: 0 any matrix, 1 one of low rank, 2 with multiple eigenvalues, 3 graded.
template <class R>
Numbers<R> matrices(int count, int m, int n, int kind, double scale) {
  Numbers<R> a = numbers<R>(std::int64_t{count} * m * n, 13, scale);
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        R& x = a[static_cast<std::size_t>((k * m + i) * n + j)];
        if (kind == 1) x = static_cast<R>(scale * (i + 1) * (j + 2) / 10.);
        if (kind == 2) x = static_cast<R>(i == j ? scale * (1 + i % 2) : 0.);
        if (kind == 3) x = static_cast<R>(x * std::pow(10., -2. * (i + j)));
      }
  return a;
}

template <class R>
void check_eigh(int count, int n, int kind, double scale) {
  Numbers<R> a = matrices<R>(count, n, n, kind, scale), v(a.size()), w(static_cast<std::size_t>(count * n)), only = w;
  for (const bool lower : {true, false}) {
    by_threads<R>({&v, &w}, [&] { lapack::eigh_of_each(a.data(), count, n, lower, w.data(), v.data()); });
    lapack::eigh_of_each(a.data(), count, n, lower, only.data(), static_cast<R*>(nullptr));
    for (int k = 0; k < count; ++k) {
      CAPTURE(k);
      const View<R> of = view(a, k, n, n), vectors = view(v, k, n, n), values = view(w, k, 1, n), alone = view(only, k, 1, n);
      const auto symmetric = [&](int i, int j) { return (lower ? i >= j : i <= j) ? of(i, j) : of(j, i); };
      CHECK(difference(
                n, n, n, [&](int i, int j) { return vectors(i, j) * values(0, j); }, adjoint(vectors), symmetric) <
            scale * (n + 2) * tolerance<R>(n));
      CHECK(difference(n, n, n, adjoint(vectors), vectors, identity) < tolerance<R>(n));
      for (int i = 0; i < n; ++i) {
        CHECK(std::abs(values(0, i) - alone(0, i)) <= scale * (n + 2) * tolerance<R>(n));
        if (i > 0) CHECK(values(0, i - 1).real() <= values(0, i).real());
      }
    }
  }
}

template <class R>
void check_hermitian(int count, int n, double scale) {
  using T = std::complex<R>;
  Numbers<T> a = numbers<T>(std::int64_t{count} * n * n, 19, scale), v(a.size());
  if (count > 2) std::fill_n(a.begin() + 2 * n * n, n * n, T(0));
  Numbers<R> w(static_cast<std::size_t>(count * n)), only = w;
  for (const bool lower : {true, false}) {
    by_threads<T>({&v}, [&] { lapack::eigh_of_each(a.data(), count, n, lower, w.data(), v.data()); });
    lapack::eigh_of_each(a.data(), count, n, lower, only.data(), static_cast<T*>(nullptr));
    for (int k = 0; k < count; ++k) {
      CAPTURE(k);
      const View<T> of = view(a, k, n, n), vectors = view(v, k, n, n);
      const View<R> values = view(w, k, 1, n), alone = view(only, k, 1, n);
      const auto hermitian = [&](int i, int j) -> std::complex<double> {
        return i == j ? of(i, i).real() : (lower ? i > j : i < j) ? of(i, j) : std::conj(of(j, i));
      };
      CHECK(difference(
                n, n, n, [&](int i, int j) { return vectors(i, j) * values(0, j); }, adjoint(vectors), hermitian) <
            scale * (n + 2) * tolerance<T>(n));
      CHECK(difference(n, n, n, adjoint(vectors), vectors, identity) < tolerance<T>(n));
      for (int i = 0; i < n; ++i) {
        CHECK(std::abs(values(0, i) - alone(0, i)) <= scale * (n + 2) * tolerance<T>(n));
        if (i > 0) CHECK(values(0, i - 1).real() <= values(0, i).real());
      }
    }
  }
}

template <class R>
void check_svd(int count, int m, int n, int kind, double scale, bool full = false) {
  const int less = std::min(m, n), columns = full ? m : less, rows = full ? n : less;
  Numbers<R> a = matrices<R>(count, m, n, kind, scale), u(static_cast<std::size_t>(count * m * columns)),
             vh(static_cast<std::size_t>(count * rows * n)), s(static_cast<std::size_t>(count * less)), only = s;
  by_threads<R>({&u, &vh, &s}, [&] { lapack::svd_of_each(a.data(), count, m, n, full, s.data(), u.data(), vh.data()); });
  lapack::svd_of_each(a.data(), count, m, n, false, only.data(), static_cast<R*>(nullptr), static_cast<R*>(nullptr));
  const double norm = scale * (m + n);
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const View<R> of = view(a, k, m, n), left = view(u, k, m, columns), right = view(vh, k, rows, n), values = view(s, k, 1, less),
                  alone = view(only, k, 1, less);
    CHECK(difference(m, less, n, [&](int i, int j) { return left(i, j) * values(0, j); }, right, of) < norm * tolerance<R>(n));
    CHECK(difference(columns, m, columns, adjoint(left), left, identity) < tolerance<R>(m));
    CHECK(difference(rows, n, rows, right, adjoint(right), identity) < tolerance<R>(n));
    for (int i = 0; i < less; ++i) {
      CHECK(std::abs(values(0, i) - alone(0, i)) <= norm * tolerance<R>(n));
      CHECK(values(0, i).real() >= 0);
      if (i > 0) CHECK(values(0, i - 1).real() >= values(0, i).real());
    }
  }
}

template <class T>
void check_eliminations() {
  for (const int count : kCounts)
    for (const int n : {1, 2, 3, 7, 12, 13, 32, 33}) {
      CAPTURE(count);
      CAPTURE(n);
      check_cholesky<T>(count, n);
      check_lu<T>(count, n, n);
      if (count != 16) check_solve<T>(count, n, n % 5 + 1);
      check_qr<T>(count, n, n, false, 1);
    }
  check_lu<T>(20, 9, 4), check_lu<T>(20, 4, 9);
  check_solve<T>(20, 4, 35);
  for (const double scale : {1., 1e-30, 1e30}) {
    check_qr<T>(20, 12, 5, false, scale), check_qr<T>(20, 12, 5, true, scale), check_qr<T>(20, 5, 12, false, scale);
    check_qr<T>(1, 3, 1, true, scale), check_qr<T>(20, 1, 3, false, scale);
  }
}

template <class R>
void check_spectra() {
  for (const int count : kCounts)
    for (const int n : {1, 2, 3, 4, 7, 9, 10, 12, 14, 16, 20, 24, 25}) {
      CAPTURE(count);
      CAPTURE(n);
      check_eigh<R>(count, n, 0, 1);
      check_svd<R>(count, n, n, 0, 1);
    }
  for (int kind = 0; kind < 4; ++kind)
    for (const double scale : {1., 1e-30, 1e30}) {
      CAPTURE(kind);
      CAPTURE(scale);
      check_eigh<R>(20, 6, kind, scale), check_eigh<R>(1, 5, kind, scale);
      check_svd<R>(20, 6, 6, kind, scale), check_svd<R>(20, 9, 4, kind, scale), check_svd<R>(3, 4, 9, kind, scale);
    }
  for (int kind = 0; kind < 4; ++kind) {
    check_svd<R>(20, 8, 9, kind, 1, true), check_svd<R>(1, 9, 8, kind, 1, true);
    check_svd<R>(20, 4, 2, kind, 1, true), check_svd<R>(3, 7, 3, kind, 1, true);
  }
  check_svd<R>(20, 60, 8, 0, 1), check_svd<R>(20, 3, 70, 1, 1);
}

}  // namespace

TEST_CASE("Cholesky's, LU and QR factorisations and triangular systems of many small matrices") {
  check_eliminations<float>(), check_eliminations<double>();
  check_eliminations<std::complex<float>>(), check_eliminations<std::complex<double>>();
}

TEST_CASE("eigenvalues and singular values of many small matrices") { check_spectra<float>(), check_spectra<double>(); }

TEST_CASE("eigenvalues of many small complex matrices") {
  for (const int count : kCounts)
    for (const int n : {1, 2, 3, 5, 7, 8, 9, 10, 13, 16, 17})
      for (const double scale : {1., 1e-30, 1e30}) {
        CAPTURE(count);
        CAPTURE(n);
        check_hermitian<float>(count, n, scale), check_hermitian<double>(count, n, scale);
      }
}

TEST_CASE("a small matrix has the same bits beside any others, and only those that are not finite have NaN") {
  const auto each = [&]<class R>(R) {
    for (const int n : {2, 5, 9}) {
      const int size = n * n, count = 33;
      Numbers<R> a = numbers<R>(count * size, 17), v(a.size()), w(static_cast<std::size_t>(count * n)), u(a.size()), vh(a.size()), s(w),
                 q(a.size()), r(a.size());
      a[static_cast<std::size_t>(7 * size)] = std::numeric_limits<R>::infinity();
      a[static_cast<std::size_t>(9 * size + size - 1)] = std::numeric_limits<R>::quiet_NaN();
      lapack::eigh_of_each(a.data(), count, n, true, w.data(), v.data());
      lapack::svd_of_each(a.data(), count, n, n, true, s.data(), u.data(), vh.data());
      lapack::qr_of_each(a.data(), count, n, n, n, q.data(), r.data());
      for (int k = 0; k < count; ++k) {
        const std::size_t at = static_cast<std::size_t>(k * size);
        Numbers<R> one(static_cast<std::size_t>(size)), other(one), values(static_cast<std::size_t>(n));
        const auto same = [&](const Numbers<R>& all, const Numbers<R>& alone) {
          return std::memcmp(all.data() + static_cast<std::size_t>(k) * alone.size(), alone.data(), alone.size() * sizeof(R)) == 0;
        };
        const bool finite = k != 7 && k != 9;
        CHECK(std::isfinite(w[static_cast<std::size_t>(k * n)]) == finite);
        CHECK(std::isfinite(u[at]) == finite);
        CHECK(std::isfinite(s[static_cast<std::size_t>(k * n)]) == finite);
        if (!finite) continue;
        lapack::eigh_of_each(a.data() + at, 1, n, true, values.data(), one.data());
        CHECK(same(w, values));
        CHECK(same(v, one));
        lapack::svd_of_each(a.data() + at, 1, n, n, true, values.data(), one.data(), other.data());
        CHECK(same(s, values));
        CHECK(same(u, one));
        CHECK(same(vh, other));
        lapack::qr_of_each(a.data() + at, 1, n, n, n, one.data(), other.data());
        CHECK(same(q, one));
        CHECK(same(r, other));
      }
    }
  };
  each(float()), each(double());
  const Numbers<std::complex<double>> a = numbers<std::complex<double>>(33 * 16, 23);
  Numbers<std::complex<double>> v(a.size()), one(16);
  Numbers<double> w(33 * 4), values(4);
  lapack::eigh_of_each(a.data(), 33, 4, true, w.data(), v.data());
  for (std::size_t k = 0; k < 33; ++k) {
    lapack::eigh_of_each(a.data() + 16 * k, 1, 4, true, values.data(), one.data());
    CHECK(std::memcmp(w.data() + 4 * k, values.data(), 4 * sizeof(double)) == 0);
    CHECK(std::memcmp(v.data() + 16 * k, one.data(), 16 * sizeof(one[0])) == 0);
  }
}

TEST_CASE("columns much shorter than others keep their directions in q") {
  // The squares of the second column underflow beside those of the first.
  for (const int count : {1, 16}) {
    Numbers<float> a, q(static_cast<std::size_t>(count * 4)), r(q.size());
    for (int k = 0; k < count; ++k)
      for (const float x : {1.f, 3e-25f, 0.f, 4e-25f}) a.push_back(x);
    lapack::qr_of_each(a.data(), count, 2, 2, 2, q.data(), r.data());
    for (int k = 0; k < count; ++k) CHECK(std::fabs(r[static_cast<std::size_t>(4 * k + 3)]) == doctest::Approx(4e-25f));
  }
}
