#include "weft/library/linalg/linalg.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg_operands.h"

namespace weft {

namespace detail {

Array matrix_operand(const Arg& a, const char* operation) {
  if (a.array().ndim() < 2)
    throw ShapeError(fmt::format("{}: {} is not a matrix; it needs two dimensions or more", operation, to_string(a.aval())),
                     effective_loc(a.where()));
  return as_dtype(a.array(), inexact_dtype(a.array().dtype()));
}
Array square_matrix_operand(const Arg& a, const char* operation) {
  const Array x = matrix_operand(a, operation);
  if (x.shape().back() != x.shape()[x.ndim() - 2])
    throw ShapeError(fmt::format("{}: {} is not square; the last two dimensions must be equal", operation, to_string(a.aval())),
                     effective_loc(a.where()));
  return x;
}
double epsilon_of(DType dtype) {
  return dtype.real_part() == float64 ? std::numeric_limits<double>::epsilon() : double{std::numeric_limits<float>::epsilon()};
}
Array symmetrized(const Array& x) { return (x + adjoint(x)) / 2.; }

}  // namespace detail

namespace linalg {

using detail::LocScope;
using detail::matrix_operand;
using detail::square_matrix_operand;

Array cholesky(Arg a, CholeskyOptions options) {
  LocScope scope(a.where());
  const Array x = square_matrix_operand(a, "cholesky");
  const Array l = tril(detail::cholesky_factor(detail::symmetrized(x), a.where()));
  return options.upper ? detail::adjoint(l) : l;
}

Qr qr(Arg a, QrOptions options) {
  LocScope scope(a.where());
  const std::string& mode = options.mode;
  if (!(mode.empty() || mode == "reduced" || mode == "complete" || mode == "r") ||
      (options.full_matrices && !mode.empty() && mode != "complete"))
    throw Error(
        fmt::format("qr: mode is '{}'{}; available: reduced, complete, r", mode, options.full_matrices ? " beside full_matrices" : ""),
        detail::effective_loc(a.where()));
  const auto r = detail::qr_of(matrix_operand(a, "qr"), {options.full_matrices || mode == "complete"}, a.where());
  return {mode == "r" ? Array() : r[0], r[1]};
}

Lu lu(Arg a) {
  LocScope scope(a.where());
  const Array x = matrix_operand(a, "lu");
  const detail::LuFactors f = detail::lu_factors(x, a.where());
  const std::int64_t m = x.shape()[x.ndim() - 2], n = x.shape().back(), k = std::min(m, n);
  const Array rows = detail::iota_array(int32, {m, 1}, 0, a.where());
  const Array p = expand_dims(f.permutation, -2) == rows;
  const Array l = tril(detail::slice_axis(f.lu, x.ndim() - 1, 0, k, a.where()), -1) + eye(m, k, 0, x.dtype());
  return {detail::as_dtype(p, x.dtype().real_part()), l, triu(detail::slice_axis(f.lu, x.ndim() - 2, 0, k, a.where()))};
}

Eigh eigh(Arg a) {
  LocScope scope(a.where());
  const detail::Eigen r = detail::eigh_of(detail::symmetrized(square_matrix_operand(a, "eigh")), a.where());
  return {r.values, r.vectors};
}
Array eigvalsh(Arg a) { return eigh(a).eigenvalues; }

Svd svd(Arg a, SvdOptions options) {
  LocScope scope(a.where());
  if (!options.compute_uv) return {Array(), svdvals(a), Array()};
  const auto r = detail::svd_of(matrix_operand(a, "svd"), {true, options.full_matrices}, a.where());
  return {r[1], r[0], r[2]};
}
Array svdvals(Arg a) {
  LocScope scope(a.where());
  return detail::svd_of(matrix_operand(a, "svdvals"), {false, false}, a.where())[0];
}

Array matrix_rank(Arg a) {
  LocScope scope(a.where());
  const Array s = svdvals(Arg(matrix_operand(a, "matrix_rank"), a.where()));
  const double size = static_cast<double>(std::max(a.array().shape().back(), a.array().shape()[a.array().ndim() - 2]));
  if (s.shape().back() == 0) return zeros(Shape(s.shape().begin(), s.shape().end() - 1), int32);
  return sum(s > max(s, -1, keepdims) * (size * detail::epsilon_of(s.dtype())), -1);
}
Array cond(Arg a) {
  LocScope scope(a.where());
  const Array s = svdvals(Arg(matrix_operand(a, "cond"), a.where()));
  return s(ellipsis, 0) / s(ellipsis, -1);
}

Array diagonal(Arg a) {
  LocScope scope(a.where());
  if (a.array().ndim() < 2) matrix_operand(a, "diagonal");
  return detail::diagonal_of(a.array(), a.where());
}
Array trace(Arg a) {
  LocScope scope(a.where());
  return sum(diagonal(a), -1);
}

namespace {

[[noreturn]] void unknown_order(const Arg& a, const NormOrder& ord, const char* what) {
  throw Error(fmt::format("norm: {} of {} has no order {}", what, detail::to_string(a.aval()),
                          ord.name() ? ord.name() : fmt::format("{}", *ord.p())),
              detail::effective_loc(a.where()));
}

/// The largest or smallest of values that are not negative; of none, the largest is 0.
Array extremum(const Array& x, Axis axis, bool largest, bool keep) {
  const ReduceOptions options{.keepdims = keep};
  if (!largest) return min(x, axis, options);
  return x.size() == 0 ? sum(x, axis, options) : max(x, axis, options);
}

Array vector_norm(const Arg& a, const Array& x, const Axis& axis, const NormOrder& ord, bool keep) {
  const ReduceOptions options{.keepdims = keep};
  if (ord.name()) unknown_order(a, ord, "a vector");
  const double p = *ord.p();
  if (std::isinf(p)) return extremum(abs(x), axis, p > 0, keep);
  if (p == 0) return sum(detail::as_dtype(x != 0, x.dtype().real_part()), axis, options);
  if (p == 1) return sum(abs(x), axis, options);
  return pow(sum(pow(abs(x), p), axis, options), 1 / p);
}

Array matrix_norm(const Arg& a, const Array& x, const std::vector<int>& axes, const NormOrder& ord, bool keep) {
  const std::vector<int> moved{x.ndim() - 2, x.ndim() - 1};
  const bool nuclear = ord.name() && std::string_view(ord.name()) == "nuc";
  const double p = ord.p().value_or(0), size = std::abs(p);
  Array r;
  if (std::isinf(p) || size == 1) {
    // Sums over one axis, then the extremum over the other.
    const int summed = size == 1 ? axes[0] : axes[1], other = size == 1 ? axes[1] : axes[0];
    r = extremum(sum(abs(x), summed, keepdims), other, p > 0, true);
    return keep ? r : squeeze(r, Axis(axes));
  }
  if (!nuclear && size != 2) unknown_order(a, ord, "a matrix");
  const Array s = svdvals(moveaxis(x, Axis(axes), Axis(moved)));
  r = nuclear ? sum(s, -1) : extremum(s, -1, p > 0, false);
  if (!keep) return r;
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return detail::insert_axes(r, sorted, a.where());
}

}  // namespace

Array norm(Arg a, NormOrder ord, Axis axis, bool keepdims) {
  return norm(std::move(a), NormOptions{.ord = ord, .axis = std::move(axis), .keepdims = keepdims});
}
Array norm(Arg a, NormOrder ord, NormOptions options) {
  if (options.ord.p() || options.ord.name())
    throw Error("norm: ord is an argument and among the options; give it once", detail::effective_loc(a.where()));
  options.ord = ord;
  return norm(std::move(a), std::move(options));
}
Array norm(Arg a, NormOptions options) {
  LocScope scope(a.where());
  const std::vector<int> axes = detail::resolve_axes(options.axis, a, "norm");
  const bool chosen = options.ord.p() || (options.ord.name() && std::string_view(options.ord.name()) != "fro");
  const bool frobenius = options.ord.name() && !chosen;
  if ((!options.axis.is_none() && (axes.size() > 2 || axes.empty())) || ((chosen || frobenius) && axes.size() != 1 && axes.size() != 2))
    throw AxisError(fmt::format("norm: {} axes of {} are named; name one for vectors, two for matrices, or none for all elements",
                                axes.size(), detail::to_string(a.aval())),
                    detail::effective_loc(a.where()));
  if (frobenius && axes.size() == 1) unknown_order(a, options.ord, "a vector");
  const DType dtype = detail::inexact_dtype(a.array().dtype());
  const Array x = detail::as_wide(detail::as_dtype(a.array(), dtype));
  const auto length = [&] {
    if (!chosen || (axes.size() == 1 && options.ord.p() == 2.))
      return sqrt(sum(x.dtype().is_complex() ? real(x * conj(x)) : x * x, options.axis, {.keepdims = options.keepdims}));
    return axes.size() == 1 ? vector_norm(a, x, Axis(axes), options.ord, options.keepdims)
                            : matrix_norm(a, x, axes, options.ord, options.keepdims);
  };
  return detail::as_dtype(length(), dtype.real_part());
}

}  // namespace linalg
}  // namespace weft
