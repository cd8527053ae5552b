// Linear systems and what is made of them: solve, inv, det, slogdet.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/linalg/linear_solve.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/linalg/linalg_operands.h"

namespace weft {

using detail::LocScope;
using detail::matrix_operand;
using detail::square_matrix_operand;

namespace detail {
namespace {

/// x with P L U x = b, or its transpose.
Array lu_solve(const Array& lu, const Array& permutation, const Array& b, bool transpose, SourceLoc loc) {
  const TriangularSolveParams l{.left_side = true, .lower = true, .transpose_a = transpose, .unit_diagonal = true},
      u{.left_side = true, .transpose_a = transpose};
  if (!transpose) return solve_triangular(lu, solve_triangular(lu, permute_rows(b, permutation, loc), l, loc), u, loc);
  return permute_rows(solve_triangular(lu, solve_triangular(lu, b, u, loc), l, loc), argsort(permutation), loc);
}

/// The solution for matrices with equal leading dimensions. One factorisation serves the solution and its derivatives.
Array solve_matrices(const Array& a, const Array& b, SourceLoc loc) {
  const LuFactors f = lu_factors(stop_gradient_of(a, loc), loc);
  using Arrays = std::span<const Array>;
  auto program = [&](std::vector<Array> captured, auto body) {
    TraceRequest request{"solve", {}, {}};
    for (const Array& x : captured) request.inputs.push_back(x.aval());
    request.inputs.push_back(b.aval());
    return LinearMap{trace_jaxpr(request, [&](Arrays in) { return std::vector<Array>{body(in)}; }), std::move(captured)};
  };
  const LinearMap matvec = program({a}, [](Arrays in) { return matmul(in[0], in[1]); });
  const LinearMap vecmat = program({a}, [](Arrays in) { return matmul(transposed(in[0]), in[1]); });
  const LinearMap solve = program({f.lu, f.permutation}, [&](Arrays in) { return lu_solve(in[0], in[1], in[2], false, loc); });
  const LinearMap back = program({f.lu, f.permutation}, [&](Arrays in) { return lu_solve(in[0], in[1], in[2], true, loc); });
  return linear_solve(matvec, solve, &vecmat, &back, std::span(&b, 1), loc)[0];
}

/// The leading dimensions of two operands' matrices, broadcast together.
Shape common_leading(const char* operation, const Arg& a, const Arg& b, const Shape& x, const Shape& y) {
  const int n = std::max(x.size(), y.size());
  Shape out;
  for (int i = 0; i < n - 2; ++i) {
    const int j = i - (n - x.size()), k = i - (n - y.size());
    const std::int64_t p = j < 0 ? 1 : x[j], q = k < 0 ? 1 : y[k];
    if (p != q && p != 1 && q != 1)
      throw ShapeError(fmt::format("{}: sizes {} and {} of leading dimensions of {} and {} don't go together; they must be equal, or 1",
                                   operation, p, q, to_string(a.aval()), to_string(b.aval())),
                       effective_loc(a.where()));
    out.push_back(p == 1 ? q : p);
  }
  return out;
}
Array with_leading(const Array& x, Shape leading) {
  leading.push_back(x.shape()[x.ndim() - 2]);
  leading.push_back(x.shape().back());
  return x.shape() == leading ? x : broadcast_to(x, leading);
}

/// A function of matrices with a rule, bound as custom_jvp.
std::vector<Array> with_rule(const std::string& name, const Array& a, const Ref<const JvpRule>& rule, std::vector<Array> (*f)(const Array&),
                             SourceLoc loc) {
  const Jaxpr j = trace_jaxpr({name, {a.aval()}, {}}, [&](std::span<const Array> in) { return f(in[0]); });
  return bind_custom_jvp(name, j, {name, rule}, std::span(&a, 1), loc);
}

/// -1 where the number of rows that were interchanged is odd, else 1.
Array sign_of_interchanges(const Array& pivots, DType dtype) {
  const Array moved = sum(pivots != arange(pivots.shape().back(), int32), -1);
  return as_dtype(1 - 2 * (moved % 2), dtype);
}

std::vector<Array> slogdet_by_lu(const Array& a) {
  const LuFactors f = lu_factors(a, {});
  const Array d = diagonal_of(f.lu, {}), singular = any(d == 0, -1), size = abs(d);
  const Array direction = prod(a.dtype().is_complex() ? d / as_dtype(size, a.dtype()) : sign(d), -1);
  const Array s = where(singular, 0, direction * sign_of_interchanges(f.pivots, a.dtype()));
  return {s, where(singular, -std::numeric_limits<double>::infinity(), sum(log(size), -1))};
}

/// d log|det a| = tr(a^-1 da).
struct SlogdetRule final : JvpRule {
  std::vector<Array> apply(std::span<const Array> x, std::span<const Array> dx, SourceLoc loc) const override {
    const linalg::Slogdet y = linalg::slogdet(Arg(x[0], loc));
    const Array t = trace_of(linalg::solve(Arg(x[0], loc), dx[0]), loc);
    if (!t.dtype().is_complex()) return {y.sign, y.logabsdet, zeros_of(y.sign.aval(), loc), t};
    return {y.sign, y.logabsdet, (t - as_dtype(real(t), t.dtype())) * y.sign, real(t)};
  }
};

std::vector<Array> det_by_lu(const Array& a) {
  const LuFactors f = lu_factors(a, {});
  return {prod(diagonal_of(f.lu, {}), -1) * sign_of_interchanges(f.pivots, a.dtype())};
}

/// d det a = tr(adj(a) da). adj(a) da = det(a) a^-1 da without dividing by the last pivot, which alone is 0 for a matrix of rank n - 1; for
/// lower ranks it is 0 (jax.numpy.linalg.det).
struct DetRule final : JvpRule {
  std::vector<Array> apply(std::span<const Array> in, std::span<const Array> tangents, SourceLoc loc) const override {
    const Array &a = in[0], &da = tangents[0];
    const std::int64_t n = a.shape().back();
    const LuFactors f = lu_factors(a, loc);
    const Array d = diagonal_of(f.lu, loc);
    const Array products = cumprod(d, d.ndim() - 1) * expand_dims(sign_of_interchanges(f.pivots, a.dtype()), -1);
    const Array whole = products(ellipsis, -1), but_last = products(ellipsis, -2);
    // U with the reciprocal of the other pivots' product in place of its last one.
    const Array last = detail::as_dtype(arange(n, int32) == n - 1, bool_);
    const Array corner = last & expand_dims(last, 1);
    const Array lu = where(corner, expand_dims(1. / but_last, {-1, -2}), f.lu);
    const Array deficient = expand_dims(but_last == 0, {-1, -2});
    Array x = where(deficient, 0, permute_rows(da, f.permutation, loc));
    x = solve_triangular(lu, x, {.left_side = true, .lower = true, .unit_diagonal = true}, loc);
    x = where(expand_dims(last, 1), x, x * expand_dims(whole, {-1, -2}));
    x = solve_triangular(where(deficient, identity_like(lu, n), lu), x, {.left_side = true}, loc);
    return {whole, trace_of(x, loc)};
  }
};

}  // namespace
}  // namespace detail

namespace linalg {

Array solve(Arg a, Arg b) {
  LocScope scope(a.where());
  const SourceLoc loc = a.where();
  const Array p = square_matrix_operand(a, "solve");
  const bool vector = b.array().ndim() == 1;
  if (b.array().ndim() == 0 || b.array().shape()[b.array().ndim() - (vector ? 1 : 2)] != p.shape().back())
    throw ShapeError(fmt::format("solve: {} and {}: the right-hand side must have as many rows as the matrix", detail::to_string(a.aval()),
                                 detail::to_string(b.aval())),
                     detail::effective_loc(loc));
  const Array q = detail::as_dtype(b.array(), detail::inexact_dtype(b.array().dtype()));
  const DType dtype = promote_types(p.dtype(), q.dtype());
  const Array x = detail::as_dtype(p, dtype), columns = detail::as_dtype(vector ? expand_dims(q, 1) : q, dtype);
  if (x.ndim() == 2 && columns.ndim() > 2) {  // one matrix for all: more columns
    const Array moved = moveaxis(columns, -2, 0);
    const Array y = detail::solve_matrices(
        x, detail::reshape_to(moved, {moved.shape()[0], moved.size() / std::max<std::int64_t>(1, moved.shape()[0])}, loc), loc);
    return moveaxis(detail::reshape_to(y, moved.shape(), loc), 0, -2);
  }
  const Shape leading = detail::common_leading("solve", a, b, x.shape(), columns.shape());
  const Array right = detail::with_leading(columns, leading);
  const Array y = right.size() == 0 ? right : detail::solve_matrices(detail::with_leading(x, leading), right, loc);
  return vector ? squeeze(y, -1) : y;
}

Array solve(Arg a, Arg b, SolveOptions options) {
  if (options.assume_a == "pos") return cho_solve(cho_factor(std::move(a), options.lower), std::move(b));
  if (options.assume_a != "gen" && options.assume_a != "sym" && options.assume_a != "her")
    throw Error(fmt::format("solve: unknown assume_a `{}`; available: gen, sym, her, pos", options.assume_a),
                detail::effective_loc(a.where()));
  return solve(std::move(a), std::move(b));
}

Array triangular_solve(Arg a, Arg b, TriangularOptions options) {
  LocScope scope(a.where());
  const Array p = square_matrix_operand(a, "triangular_solve");
  const bool vector = b.array().ndim() == p.ndim() - 1 && b.array().ndim() > 0;
  const Array wide = vector ? expand_dims(b.array(), options.left_side ? -1 : -2) : b.array();
  const Array q = matrix_operand(Arg(wide, b.where()), "triangular_solve");
  const DType dtype = promote_types(p.dtype(), q.dtype());
  const Shape leading = detail::common_leading("triangular_solve", a, b, p.shape(), q.shape());
  const Array x = detail::solve_triangular(
      detail::with_leading(detail::as_dtype(p, dtype), leading), detail::with_leading(detail::as_dtype(q, dtype), leading),
      {options.conjugate_a, options.left_side, options.lower, options.transpose_a, options.unit_diagonal}, a.where());
  return vector ? squeeze(x, options.left_side ? -1 : -2) : x;
}

ChoFactor cho_factor(Arg a, bool lower) {
  LocScope scope(a.where());
  const Array x = square_matrix_operand(a, "cho_factor");
  if (lower) return {detail::cholesky_factor(x, a.where()), true};
  return {detail::adjoint(detail::cholesky_factor(detail::adjoint(x), a.where())), false};
}
Array cho_solve(const ChoFactor& factor, Arg b) {
  LocScope scope(b.where());
  const Arg c(factor.c, b.where());
  const Array p = square_matrix_operand(c, "cho_solve");
  const bool vector = b.array().ndim() == 1;
  if (b.array().ndim() == 0 || b.array().shape()[b.array().ndim() - (vector ? 1 : 2)] != p.shape().back())
    throw ShapeError(fmt::format("cho_solve: {} and {}: the right-hand side must have as many rows as the factor",
                                 detail::to_string(c.aval()), detail::to_string(b.aval())),
                     detail::effective_loc(b.where()));
  const auto step = [&](const Array& y, bool adjoint) {
    return triangular_solve(p, Arg(y, b.where()), {.lower = factor.lower, .transpose_a = adjoint, .conjugate_a = adjoint});
  };
  const Array y = step(step(vector ? expand_dims(b.array(), 1) : b.array(), !factor.lower), factor.lower);
  return vector ? squeeze(y, -1) : y;
}

Array inv(Arg a) {
  LocScope scope(a.where());
  const Array x = square_matrix_operand(a, "inv");
  if (x.size() == 0) return x;
  return solve(Arg(x, a.where()), broadcast_to(detail::identity_like(x, x.shape().back()), x.shape()));
}

Array det(Arg a) {
  LocScope scope(a.where());
  const Array x = square_matrix_operand(a, "det");
  auto at = [&](int i, int j) { return x(ellipsis, i, j); };
  switch (x.shape().back()) {
    case 0: return ones(Shape(x.shape().begin(), x.shape().end() - 2), x.dtype());
    case 1: return at(0, 0);
    case 2: return at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
    case 3:
      return at(0, 0) * at(1, 1) * at(2, 2) + at(0, 1) * at(1, 2) * at(2, 0) + at(0, 2) * at(1, 0) * at(2, 1) -
             at(0, 2) * at(1, 1) * at(2, 0) - at(0, 0) * at(1, 2) * at(2, 1) - at(0, 1) * at(1, 0) * at(2, 2);
    default: {
      static const auto& rule = detail::process_wide<detail::Ref<const detail::JvpRule>>(detail::make_ref<detail::DetRule>());
      return detail::with_rule("det", x, rule, detail::det_by_lu, a.where())[0];
    }
  }
}

Slogdet slogdet(Arg a) {
  LocScope scope(a.where());
  static const auto& rule = detail::process_wide<detail::Ref<const detail::JvpRule>>(detail::make_ref<detail::SlogdetRule>());
  const std::vector<Array> r = detail::with_rule("slogdet", square_matrix_operand(a, "slogdet"), rule, detail::slogdet_by_lu, a.where());
  return {r[0], r[1]};
}

}  // namespace linalg
}  // namespace weft
