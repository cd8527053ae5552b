// Functions of jax.numpy.linalg with the arguments that few programs give: of matrices that are Hermitian, or of which a triangle is read.
#include "weft/library/linalg/linalg_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg_operands.h"

namespace weft {

using detail::LocScope;

namespace {

Array adjoint_of(const Array& a) { return conj(swapaxes(a, -1, -2)); }

/// The Hermitian part; what is no matrix is left to the function that is called with it.
Arg hermitian_part(const Arg& a) {
  const Array x = detail::as_dtype(a.array(), detail::inexact_dtype(a.array().dtype()));
  const bool square = x.ndim() >= 2 && x.shape()[x.ndim() - 1] == x.shape()[x.ndim() - 2];
  return square ? Arg((x + adjoint_of(x)) * 0.5, a.where()) : Arg(x, a.where());
}
/// The Hermitian matrix with a triangle of a; the imaginary part of the diagonal is not read.
Array from_triangle_of(const Arg& a, bool lower) {
  const Array x = detail::as_dtype(a.array(), detail::inexact_dtype(a.array().dtype()));
  if (x.ndim() < 2 || x.shape()[x.ndim() - 1] != x.shape()[x.ndim() - 2]) return x;
  const Array beside = lower ? tril(x, -1) : triu(x, 1);
  const Array diagonal = x * eye(x.shape()[x.ndim() - 1], none, 0, x.dtype());
  return beside + adjoint_of(beside) + (x.dtype().is_complex() ? (diagonal + conj(diagonal)) * 0.5 : diagonal);
}

}  // namespace

Array detail::cholesky_of(const Arg& a, const linalg::CholeskyArguments& options) {
  LocScope scope(a.where());
  if (options.symmetrize_input) return linalg::cholesky(a, linalg::CholeskyOptions{.upper = options.upper});
  return linalg::cholesky(Arg(from_triangle_of(a, true), a.where()), linalg::CholeskyOptions{.upper = options.upper});
}
linalg::Svd detail::svd_of(const Arg& a, const linalg::SvdArguments& options) {
  LocScope scope(a.where());
  return linalg::svd(options.hermitian ? hermitian_part(a) : a,
                     linalg::SvdOptions{.full_matrices = options.full_matrices, .compute_uv = options.compute_uv});
}
Array detail::pinv_of(const Arg& a, const linalg::PinvArguments& options) {
  LocScope scope(a.where());
  if (options.rtol && options.rcond) throw Error("pinv: rtol and rcond are two names of one number; give one", effective_loc(a.where()));
  return linalg::pinv(options.hermitian ? hermitian_part(a) : a, linalg::PinvOptions{.rtol = options.rtol ? options.rtol : options.rcond});
}

namespace linalg {

namespace {

Arg triangle_read(const Arg& a, const EighOptions& options, const char* operation) {
  if (options.UPLO != "L" && options.UPLO != "U")
    throw Error(fmt::format("{}: unknown UPLO `{}`; available: L, U", operation, options.UPLO), weft::detail::effective_loc(a.where()));
  return options.symmetrize_input ? a : Arg(from_triangle_of(a, options.UPLO == "L"), a.where());
}

}  // namespace

Eigh eigh(Arg a, EighOptions options) {
  LocScope scope(a.where());
  return eigh(triangle_read(a, options, "eigh"));
}
Array eigvalsh(Arg a, EighOptions options) {
  LocScope scope(a.where());
  return eigvalsh(triangle_read(a, options, "eigvalsh"));
}
Array matrix_rank(Arg a, RankOptions options) {
  LocScope scope(a.where());
  const Arg of = options.hermitian ? hermitian_part(a) : a;
  if (!options.tol || a.array().ndim() < 2) return matrix_rank(of);
  return sum(convert(svdvals(of) > *options.tol, int32), -1);
}
Array cond(Arg a, NormOrder p) {
  LocScope scope(a.where());
  const bool by_values = !p.name() && (!p.p() || *p.p() == 2 || *p.p() == -2);
  if (by_values && (!p.p() || *p.p() == 2)) return cond(a);
  const Array x = weft::detail::matrix_operand(a, "cond");
  const int n = x.ndim();
  Array r;
  if (by_values) {
    const Array s = svdvals(x);
    r = s[{ellipsis, -1}] / s[{ellipsis, 0}];
  } else {
    if (x.shape()[n - 1] != x.shape()[n - 2])
      throw ShapeError(fmt::format("cond: {} is not square, which only p = none, 2 and -2 take", weft::detail::to_string(a.aval())),
                       weft::detail::effective_loc(a.where()));
    r = norm(x, p, {-2, -1}) * norm(inv(x), p, {-2, -1});
  }
  // A singular matrix has no inverse: its condition is infinite.
  return where(isnan(r) & ~any(isnan(x), {-2, -1}), std::numeric_limits<double>::infinity(), r);
}
Slogdet slogdet(Arg a, SlogdetOptions options) {
  if (options.method != "lu" && options.method != "qr")
    throw Error(fmt::format("slogdet: unknown method `{}`; available: lu, qr", options.method), weft::detail::effective_loc(a.where()));
  return slogdet(std::move(a));
}
Array tensorsolve(Arg a, Arg b, TensorsolveOptions options) {
  LocScope scope(a.where());
  if (options.axes.is_none()) return tensorsolve(std::move(a), std::move(b));
  // One after another to the end, as JAX does: the axes count in a.
  const std::vector<int> axes = weft::detail::resolve_axes(options.axes, a, "tensorsolve");
  std::vector<int> order;
  for (int d = 0; d < a.array().ndim(); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) order.push_back(d);
  order.insert(order.end(), axes.begin(), axes.end());
  return tensorsolve(Arg(transpose(a, order), a.where()), std::move(b));
}

}  // namespace linalg
}  // namespace weft
