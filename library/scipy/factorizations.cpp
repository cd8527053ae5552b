#include "weft/library/scipy/factorizations.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <limits>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/host.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/lapack.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/callback.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg_operands.h"
#include "weft/transforms/autodiff/custom.h"
#include "weft/transforms/autodiff/jvp.h"
#include "weft/transforms/autodiff/linear_solve.h"
#include "weft/transforms/control/control_flow.h"

namespace weft::linalg {

using detail::LocScope;
using detail::matrix_operand;
using detail::square_matrix_operand;
using detail::to_string;

namespace {

using Arrays = std::span<const Array>;

[[noreturn]] void refuse(const Arg& x, const std::string& what) { throw ShapeError(what, detail::effective_loc(x.where())); }

int checked_trans(const char* name, const TransOptions& options, SourceLoc loc) {
  const std::int64_t trans = options.trans;
  if (trans < 0 || trans > 2) throw Error(fmt::format("{}: trans is {}; it is 0, 1 or 2", name, trans), detail::effective_loc(loc));
  return static_cast<int>(trans);
}
/// b as columns, and whether it was a vector.
std::pair<Array, bool> columns(const char* name, const Array& a, const Arg& b) {
  const Array& x = b.array();
  const bool vector = x.ndim() == 1;
  if (x.ndim() == 0 || x.shape()[x.ndim() - (vector ? 1 : 2)] != a.shape().back())
    refuse(b, fmt::format("{}: {} and {}: the right-hand side must have as many rows as the matrix", name, to_string(a.aval()),
                          to_string(x.aval())));
  return {vector ? expand_dims(x, 1) : x, vector};
}

/// A routine of LAPACK's that makes two matrices of each.
class TwoMatrices final : public detail::CallbackFunction {
 public:
  explicit TwoMatrices(bool schur_form) : schur_form_(schur_form) {}
  std::vector<Array> call(Arrays leaves) const override {
    const Array& a = leaves[0];
    if (a.dtype() == float32) return of<float>(a);
    if (a.dtype() == float64) return of<double>(a);
    if (a.dtype() == complex64) return of<std::complex<float>>(a);
    return of<std::complex<double>>(a);
  }

 private:
  template <class T>
  std::vector<Array> of(const Array& a) const {
    const auto n = static_cast<std::size_t>(a.shape().back()), area = n * n, total = static_cast<std::size_t>(a.size());
    std::vector<T> forms(total), bases(total);
    detail::read_elements(a, a.dtype(), forms.data(), schur_form_ ? "schur" : "hessenberg", {});
    for (std::size_t at = 0; at < total; at += area) {
      T *form = forms.data() + at, *basis = bases.data() + at;
      if (schur_form_ ? schur<T>(form, n, basis) : hessenberg<T>(form, n, basis)) continue;
      std::fill_n(form, area, T(std::numeric_limits<detail::lapack::Real<T>>::quiet_NaN()));
      std::copy_n(form, area, basis);
    }
    return {detail::make_concrete(a.aval(), forms.data()), detail::make_concrete(a.aval(), bases.data())};
  }
  template <class T>
  static bool schur(T* form, std::size_t n, T* basis) {
    std::vector<detail::lapack::Complex<T>> values(n);
    if (!detail::lapack::schur(form, static_cast<int>(n), values.data(), basis)) return false;
    return true;
  }
  template <class T>
  static bool hessenberg(T* form, std::size_t n, T* basis) {
    std::vector<T> taus(n);
    if (!detail::lapack::hessenberg(form, static_cast<int>(n), taus.data())) return false;
    // The product of the reflections 1 - tau v v^H, the last one applied first; v is 0 up to row k, 1 in row k + 1.
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) basis[i * n + j] = i == j ? T(1) : T(0);
    for (std::size_t k = n < 2 ? 0 : n - 1; k-- > 0;) {
      std::vector<T> v(n);
      for (std::size_t i = k + 1; i < n; ++i) v[i] = i == k + 1 ? T(1) : form[i * n + k];
      for (std::size_t j = 0; j < n; ++j) {
        T dot(0);
        for (std::size_t i = k + 1; i < n; ++i) dot += conjugated(v[i]) * basis[i * n + j];
        for (std::size_t i = k + 1; i < n; ++i) basis[i * n + j] -= taus[k] * v[i] * dot;
      }
    }
    for (std::size_t i = 2; i < n; ++i)
      for (std::size_t j = 0; j + 1 < i; ++j) form[i * n + j] = T(0);
    return true;
  }
  template <class T>
  static T conjugated(const T& x) {
    if constexpr (std::is_floating_point_v<T>)
      return x;
    else
      return std::conj(x);
  }
  const bool schur_form_;
};

std::vector<Array> two_matrices(const Array& a, bool schur_form, SourceLoc loc) {
  // One function each, so that equal programs are equal.
  static const auto& schur_function =
      detail::process_wide<detail::Ref<const detail::CallbackFunction>>(detail::make_ref<TwoMatrices>(true));
  static const auto& hessenberg_function =
      detail::process_wide<detail::Ref<const detail::CallbackFunction>>(detail::make_ref<TwoMatrices>(false));
  detail::PureCallbackParams p{
      {schur_form ? "schur" : "hessenberg", schur_form ? schur_function : hessenberg_function, loc}, {}, {{a.aval(), a.aval()}}};
  p.vmap_method = "expand_dims";
  return detail::bind_pure_callback(std::move(p), std::span(&a, 1), loc);
}

DType complex_of(DType d) { return d.real_part() == float64 ? complex128 : complex64; }

/// The square root of upper triangular matrices, by columns from the left and in each from the diagonal upwards (A. Bjorck,
/// S. Hammarling, A Schur method for the square root of a matrix, 1983).
Array root_of_triangle(const Array& t) {
  const std::int64_t n = t.shape().back();
  const Array d = sqrt(diagonal(t));
  const Array start = expand_dims(d, -1) * eye(n, n, 0, t.dtype());
  const Array rows = arange(n, int32);
  return fori_loop(
      0, n,
      [&](const Array& j, const Array& u) {
        return fori_loop(
            0, j,
            [&](const Array& k, const Array& v) {
              const Array i = j - 1 - k;
              const Array row = take(v, i, -2, {.mode = "clip"}), column = take(v, j, -1, {.mode = "clip"});
              const Array inner = sum(where((rows > i) & (rows < j), row * column, 0), -1);
              const auto at = [&](const Array& x) { return take(x, j, -1, {.mode = "clip"}); };
              const Array rest = at(take(t, i, -2, {.mode = "clip"})) - inner;
              const Array total = take(d, i, -1, {.mode = "clip"}) + at(d);
              return v.at(ellipsis, i, j).set(where(rest == 0, 0, rest / total));
            },
            u);
      },
      start);
}

/// The y with t y + y s = f for upper triangular t and s, a column after the other.
Array sylvester_of_triangles(const Array& t, const Array& s, const Array& f) {
  const std::int64_t m = t.shape().back(), n = s.shape().back();
  const Array one = eye(m, m, 0, t.dtype()), before = arange(n, int32);
  return fori_loop(
      0, n,
      [&](const Array& k, const Array& y) {
        const Array weights = where(before < k, take(s, k, -1, {.mode = "clip"}), 0);
        const Array rest = take(f, k, -1, {.mode = "clip"}) - squeeze(matmul(y, expand_dims(weights, -1)), -1);
        const Array shift = take(diagonal(s), k, -1, {.mode = "clip"});
        const Array column = triangular_solve(t + expand_dims(shift, {-1, -2}) * one, expand_dims(rest, -1));
        return y.at(ellipsis, k).set(squeeze(column, -1));
      },
      zeros_like(f));
}
Array sylvester_solution(const Array& a, const Array& b, const Array& c) {
  const DType dtype = c.dtype(), wide = complex_of(dtype);
  const Schur p = schur(convert(a, wide), "complex"), q = schur(convert(b, wide), "complex");
  const Array f = matmul(matmul(detail::adjoint(p.z), convert(c, wide)), q.z);
  const Array x = matmul(matmul(p.z, sylvester_of_triangles(p.t, q.t, f)), detail::adjoint(q.z));
  return dtype.is_complex() ? x : convert(real(x), dtype);
}

}  // namespace

LuFactor lu_factor(Arg a) {
  LocScope scope(a.where());
  const detail::LuFactors f = detail::lu_factors(square_matrix_operand(a, "lu_factor"), a.where());
  return {f.lu, f.pivots, f.permutation};
}
Array lu_solve(const LuFactor& factor, Arg b, TransOptions options) {
  LocScope scope(b.where());
  const int trans = checked_trans("lu_solve", options, b.where());
  const Array lu = square_matrix_operand(Arg(factor.lu, b.where()), "lu_solve");
  const auto [y, vector] = columns("lu_solve", lu, b);
  const auto step = [&](const Array& x, bool lower) {
    return triangular_solve(lu, Arg(x, b.where()),
                            {.lower = lower, .transpose_a = trans != 0, .unit_diagonal = lower, .conjugate_a = trans == 2});
  };
  const auto rows = [&](const Array& x, const Array& order) {
    if (order.ndim() == 1) return take(x, order, -2, {.mode = "clip"});
    return take_along_axis(x, expand_dims(order, -1), -2);
  };
  const Array x =
      trans == 0 ? step(step(rows(y, factor.permutation), true), false) : rows(step(step(y, false), true), argsort(factor.permutation));
  return vector ? squeeze(x, -1) : x;
}
Array solve_triangular(Arg a, Arg b, TransOptions options) {
  LocScope scope(a.where());
  const int trans = checked_trans("solve_triangular", options, a.where());
  const Array m = square_matrix_operand(a, "solve_triangular");
  const auto [y, vector] = columns("solve_triangular", m, b);
  const Array x = triangular_solve(
      Arg(m, a.where()), Arg(y, b.where()),
      {.lower = options.lower, .transpose_a = trans != 0, .unit_diagonal = options.unit_diagonal, .conjugate_a = trans == 2});
  return vector ? squeeze(x, -1) : x;
}

Schur schur(Arg a, TextArg form) {
  LocScope scope(a.where());
  const std::string& output = form.str();
  if (output != "real" && output != "complex")
    throw Error(fmt::format("schur: unknown output `{}`; available: real, complex", output), detail::effective_loc(a.where()));
  Array x = square_matrix_operand(a, "schur");
  if (output == "complex") x = convert(x, complex_of(x.dtype()));
  if (x.size() == 0) return {x, x};
  const std::vector<Array> r = two_matrices(x, true, a.where());
  return {r[0], r[1]};
}
Hessenberg hessenberg(Arg a) {
  LocScope scope(a.where());
  const Array x = square_matrix_operand(a, "hessenberg");
  if (x.size() == 0) return {x, x};
  const std::vector<Array> r = two_matrices(x, false, a.where());
  return {r[0], r[1]};
}
Array sqrtm(Arg a) {
  LocScope scope(a.where());
  const SourceLoc loc = a.where();
  const Array given = square_matrix_operand(a, "sqrtm"), x = convert(given, complex_of(given.dtype()));
  if (x.size() == 0) return x;
  const auto root = [loc](const Array& m) {
    const Schur s = schur(Arg(m, loc), "complex");
    return matmul(matmul(s.z, root_of_triangle(s.t)), detail::adjoint(s.z));
  };
  // x x = a: x dx + dx x = da.
  return custom_jvp(root, [](const auto& self, std::tuple<Array> at, std::tuple<Array> along) -> std::pair<Array, Array> {
    const Array y = self(std::get<0>(at));
    return {y, solve_sylvester(y, y, std::get<0>(along))};
  })(x);
}
Polar polar(Arg a, TextArg where) {
  LocScope scope(a.where());
  const std::string& side = where.str();
  if (side != "right" && side != "left")
    throw Error(fmt::format("polar: unknown side `{}`; available: right, left", side), detail::effective_loc(a.where()));
  const Array x = matrix_operand(a, "polar");
  const Svd d = svd(Arg(x, a.where()), {.full_matrices = false});
  const Array s = convert(expand_dims(d.s, -1), x.dtype());
  const Array u = matmul(d.u, d.vh);
  if (side == "right") return {u, matmul(detail::adjoint(d.vh), s * d.vh)};
  return {u, matmul(d.u, s * detail::adjoint(d.u))};
}
Array solve_sylvester(Arg a, Arg b, Arg c) {
  LocScope scope(a.where());
  const SourceLoc loc = a.where();
  const std::vector<Array> v = detail::promoted(
      {square_matrix_operand(a, "solve_sylvester"), square_matrix_operand(b, "solve_sylvester"), matrix_operand(c, "solve_sylvester")},
      loc);
  const Array &x = v[0], &y = v[1], &z = v[2];
  if (x.shape().back() != z.shape()[-2] || y.shape().back() != z.shape().back() || x.ndim() != z.ndim() || y.ndim() != z.ndim())
    refuse(a, fmt::format("solve_sylvester: {}, {} and {} must be (m, m), (n, n) and (m, n), with the same batch dimensions",
                          to_string(a.aval()), to_string(b.aval()), to_string(c.aval())));
  if (z.size() == 0) return z;
  const auto matvec = [=](const Array& w) { return matmul(x, w) + matmul(w, y); };
  return custom_linear_solve(
      matvec, z, [=](const auto&, const Array& w) { return sylvester_solution(x, y, w); },
      [=](const auto&, const Array& w) { return sylvester_solution(detail::transposed(x), detail::transposed(y), w); }, loc);
}
Array expm_frechet(Arg a, Arg e) {
  LocScope scope(a.where());
  const std::vector<Array> v =
      detail::promoted({square_matrix_operand(a, "expm_frechet"), square_matrix_operand(e, "expm_frechet")}, a.where());
  if (v[0].shape() != v[1].shape())
    refuse(a, fmt::format("expm_frechet: {} and {} must have the same shape", to_string(a.aval()), to_string(e.aval())));
  return jvp([](const Array& x) { return expm(x); }, std::tuple{v[0]}, std::tuple{v[1]}).second;
}

Array tridiagonal_solve(Arg dl, Arg d, Arg du, Arg b) {
  LocScope scope(d.where());
  const std::vector<Array> v = detail::promoted_inexact({dl.array(), d.array(), du.array(), b.array()}, d.where());
  const Array& rhs = v[3];
  const Shape& shape = v[1].shape();
  if (shape.empty() || v[0].shape() != shape || v[2].shape() != shape || rhs.ndim() != shape.size() + 1 ||
      Shape(rhs.shape().begin(), rhs.shape().end() - 1) != shape)
    refuse(d, fmt::format("tridiagonal_solve: the diagonals {}, {} and {} and the right-hand sides {} must be (..., m) and (..., m, n)",
                          to_string(dl.aval()), to_string(d.aval()), to_string(du.aval()), to_string(b.aval())));
  const std::int64_t m = shape.back();
  if (rhs.size() == 0) return rhs;
  // Row i holds the coefficients of x[i - 1], x[i] and x[i + 1].
  struct Row {
    Array first, second, third, rhs;
  };
  const Array inside = arange(m, int32);
  const auto in_front = [](const Array& x, int axis) { return moveaxis(x, axis, 0); };
  const Array low = in_front(where(inside > 0, v[0], 0), -1), middle = in_front(v[1], -1),
              high = in_front(where(inside < m - 1, v[2], 0), -1);
  const Array right = in_front(rhs, -2), nothing = zeros_like(middle(0));
  const auto rest = slice(1, none);
  // Either the row kept so far or the next one becomes row i of the upper triangle, whichever has the larger pivot.
  const auto [last, above] = scan(
      [](const Row& kept, const Row& next) {
        const Array swap = abs(kept.first) < abs(next.first);
        const Array pivot = where(swap, next.first, kept.first), other = where(swap, kept.first, next.first), factor = other / pivot;
        const Row row{pivot, where(swap, next.second, kept.second), where(swap, next.third, kept.third),
                      where(expand_dims(swap, -1), next.rhs, kept.rhs)};
        const Array second = where(swap, kept.second, next.second), third = where(swap, kept.third, next.third);
        const Array side = where(expand_dims(swap, -1), kept.rhs, next.rhs);
        return std::pair{
            Row{second - factor * row.second, third - factor * row.third, zeros_like(third), side - expand_dims(factor, -1) * row.rhs},
            row};
      },
      Row{middle(0), high(0), nothing, right(0)}, Row{low(rest), middle(rest), high(rest), right(rest)}, {}, d.where());
  struct Behind {
    Array next, after;
  };
  const Array end = last.rhs / expand_dims(last.first, -1);
  const auto [unused, xs] = scan(
      [](const Behind& s, const Row& r) {
        const Array x = (r.rhs - expand_dims(r.second, -1) * s.next - expand_dims(r.third, -1) * s.after) / expand_dims(r.first, -1);
        return std::pair{Behind{x, s.next}, x};
      },
      Behind{end, zeros_like(end)}, above, {.reverse = true}, d.where());
  return moveaxis(concatenate({xs, expand_dims(end, 0)}), 0, -2);
}
Eigh eigh_tridiagonal(Arg d, Arg e) {
  LocScope scope(d.where());
  const std::vector<Array> v = detail::promoted_inexact({d.array(), e.array()}, d.where());
  const std::int64_t n = v[0].size();
  if (v[0].ndim() != 1 || v[1].ndim() != 1 || v[1].size() != std::max<std::int64_t>(n - 1, 0))
    refuse(d,
           fmt::format("eigh_tridiagonal: {} and {} must be vectors, the second shorter by one", to_string(d.aval()), to_string(e.aval())));
  const auto on_diagonal = [&](const Array& x, int k) {
    const Array before = zeros({std::max(0, -k)}, x.dtype()), behind = zeros({std::max(0, k)}, x.dtype());
    return expand_dims(concatenate({before, x, behind}), 1) * eye(n, n, k, x.dtype());
  };
  Array a = on_diagonal(v[0], 0);
  if (n > 1) a = a + on_diagonal(v[1], 1) + on_diagonal(conj(v[1]), -1);
  return eigh(a);
}

Array vector_norm(Arg x, VectorNormOptions options) {
  LocScope scope(x.where());
  const std::vector<int> axes = detail::resolve_axes(options.axis, x, "vector_norm");
  std::vector<int> back;
  for (int i = static_cast<int>(axes.size()); i > 0; --i) back.push_back(-i);
  const Array moved = axes.empty() ? x.array() : moveaxis(x, axes, back);
  Shape shape(moved.shape().begin(), moved.shape().end() - static_cast<int>(axes.size()));
  std::int64_t together = 1;
  for (int axis : axes) together *= x.array().shape()[axis];
  shape.push_back(together);
  const Array r = norm(Arg(reshape(moved, shape), x.where()), options.ord, -1);
  return options.keepdims ? expand_dims(r, axes) : r;
}
Array matrix_norm(Arg x, MatrixNormOptions options) { return norm(std::move(x), options.ord, {-2, -1}, options.keepdims); }
Array tensorsolve(Arg a, Arg b) {
  LocScope scope(a.where());
  const Shape &p = a.array().shape(), &q = b.array().shape();
  const std::int64_t n = b.array().size();
  if (p.size() < q.size() || Shape(p.begin(), p.begin() + q.size()) != q || a.array().size() != n * n)
    refuse(a, fmt::format("tensorsolve: the first dimensions of {} must be those of {}, and the others have as many elements",
                          to_string(a.aval()), to_string(b.aval())));
  return reshape(solve(Arg(reshape(a, {n, n}), a.where()), Arg(ravel(b), b.where())), Shape(p.begin() + q.size(), p.end()));
}
Array tensorinv(Arg a, Int first) {
  LocScope scope(a.where());
  const Shape& p = a.array().shape();
  const std::int64_t ind = first;
  if (ind < 1 || ind > p.size())
    throw Error(fmt::format("tensorinv: ind is {}; {} takes 1 to {}", ind, to_string(a.aval()), p.size()),
                detail::effective_loc(a.where()));
  const Shape to(p.begin(), p.begin() + ind), from(p.begin() + ind, p.end());
  if (to.num_elements() != from.num_elements())
    refuse(a, fmt::format("tensorinv: the first {} dimensions of {} and the others must have as many elements", ind, to_string(a.aval())));
  Shape out = from;
  for (std::int64_t d : to) out.push_back(d);
  return reshape(inv(Arg(reshape(a, {to.num_elements(), from.num_elements()}), a.where())), out);
}

}  // namespace weft::linalg
