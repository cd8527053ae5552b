// Functions of jax.scipy with the arguments that few programs give: each is another function, called with what these ask for.
#include "weft/library/scipy/scipy_arguments.h"

#include <fmt/format.h>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/joining.h"
#include "weft/library/jnp/names.h"
#include "weft/library/numpy/numpy.h"
#include "weft/transforms/autodiff/custom.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace {

[[noreturn]] void refuse_word(const Arg& x, const char* operation, const char* what, const std::string& word, const char* available) {
  throw Error(fmt::format("{}: unknown {} `{}`; available: {}", operation, what, word, available), detail::effective_loc(x.where()));
}

/// The middle of a full convolution, of one operand's size; of a correlation, which is that of reversed arrays, the later of two.
Array middle_of(const Array& full, const Shape& shape, bool later) {
  const std::int64_t i = (full.shape()[0] - shape[0] + later) / 2, j = (full.shape()[1] - shape[1] + later) / 2;
  return full(slice(i, i + shape[0]), slice(j, j + shape[1]));
}

}  // namespace

Array detail::convolve_beyond(const Arg& a, const Arg& b, const BoundaryOptions& o, bool correlated) {
  const LocScope scope(a.where());
  const char* name = correlated ? "correlate2d" : "convolve2d";
  if (o.mode != "full" && o.mode != "same" && o.mode != "valid") refuse_word(a, name, "mode", o.mode, "full, same, valid");
  if (o.boundary != "fill" && o.boundary != "wrap" && o.boundary != "symm")
    refuse_word(a, name, "boundary", o.boundary, "fill, wrap, symm");
  const Array kernel = correlated ? flip(conj(b)) : b.array();
  const Arg given(kernel, b.where());
  const bool zeros_around = o.boundary == "fill" && o.fillvalue == 0;
  if (zeros_around || o.mode == "valid" || a.array().ndim() != 2 || kernel.ndim() != 2)
    return correlated ? correlate2d(a, b, o.mode) : convolve2d(a, b, o.mode);
  const int rows = static_cast<int>(kernel.shape()[0]) - 1, columns = static_cast<int>(kernel.shape()[1]) - 1;
  const PadWidth width{{rows, rows}, {columns, columns}};
  const Array x = promoted_inexact({a.array(), kernel}, a.where())[0];
  const Array wide = o.boundary == "fill" ? pad(x, width, {.mode = "constant", .constant_values = o.fillvalue})
                                          : pad(x, width, {.mode = o.boundary == "wrap" ? "wrap" : "symmetric"});
  const Array full = convolve2d(Arg(wide, a.where()), given, "valid");
  return o.mode == "full" ? full : middle_of(full, a.array().shape(), correlated);
}

Array detail::convolve_by(const Arg& a, const Arg& b, const MethodOptions& o, bool correlated) {
  const LocScope scope(a.where());
  const char* name = correlated ? "correlate" : "convolve";
  if (o.method != "auto" && o.method != "direct" && o.method != "fft") refuse_word(a, name, "method", o.method, "auto, direct, fft");
  if (o.method != "fft") return correlated ? correlate(a, b, o.mode) : convolve(a, b, o.mode);
  const std::vector<Array> v = promoted_inexact({a.array(), b.array()}, a.where());
  return fftconvolve(Arg(v[0], a.where()), Arg(correlated ? flip(conj(v[1])) : v[1], b.where()), o.mode);
}
Array fftconvolve(Arg a, Arg b, FftconvolveOptions options) {
  return fftconvolve(std::move(a), std::move(b), options.mode, std::move(options.axes));
}

SignedLogsumexp logsumexp_with_sign(Arg x, LogsumexpOptions o) {
  const LocScope scope(x.where());
  Array a = detail::to_inexact(x);
  const DType dtype = o.b ? promote_types(a.dtype(), o.b->dtype()) : a.dtype();
  Array factors = detail::as_wide(o.b ? detail::as_dtype(*o.b, dtype) : ones({}, dtype));
  a = detail::as_wide(a);
  if (o.where) factors = where(*o.where, factors, 0);
  const Shape shape = broadcast_shapes({a.shape(), factors.shape()}, x.where());
  a = broadcast_to(a, shape), factors = broadcast_to(factors, shape);
  // Shifted by the greatest exponent of those that count, so that none overflows.
  const Array counted = where(factors == 0, -std::numeric_limits<double>::infinity(), a);
  const Array top = max(counted, o.axis, {.keepdims = true, .initial = -std::numeric_limits<double>::infinity()});
  const Array shift = stop_gradient(where(isfinite(top), top, 0));
  const Array total = sum(factors * exp(counted - shift), o.axis, {.keepdims = o.keepdims});
  const Array back = o.keepdims ? shift : reshape(shift, total.shape());
  return {detail::as_dtype(log(abs(total)) + back, dtype.is_complex() ? dtype.real_part() : dtype), detail::as_dtype(sign(total), dtype)};
}

Array detail::dct_of_type(const Arg& x, const fft::DctOptions& o, bool inverse) {
  const std::int64_t type = o.type;
  if (type != 2)
    throw Error(fmt::format("{}: the type is {}; only 2 is available", inverse ? "idct" : "dct", type), effective_loc(x.where()));
  const fft::FftOptions options{.n = o.n, .axis = o.axis, .norm = o.norm};
  return inverse ? fft::idct(x, options) : fft::dct(x, options);
}

namespace linalg {

Schur schur(Arg a, SchurOptions options) { return schur(std::move(a), options.output); }
Polar polar(Arg a, PolarOptions options) {
  if (options.method != "svd" && options.method != "qdwh") refuse_word(a, "polar", "method", options.method, "svd, qdwh");
  return polar(std::move(a), options.side);
}
Array eigvalsh_tridiagonal(Arg d, Arg e, TridiagonalOptions options) {
  const LocScope scope(d.where());
  if (options.select != "a" && options.select != "i") refuse_word(d, "eigvalsh_tridiagonal", "select", options.select, "a, i");
  const Array all = eigh_tridiagonal(d, e).eigenvalues;
  if (options.select == "a") return all;
  const std::int64_t n = all.shape()[-1];
  const std::int64_t first = options.select_range ? std::int64_t{options.select_range->first} : -1;
  const std::int64_t last = options.select_range ? std::int64_t{options.select_range->second} : -1;
  if (first < 0 || last < first || last >= n)
    throw Error(
        fmt::format("eigvalsh_tridiagonal: select_range is ({}, {}); it must name two of the eigenvalues 0 to {}", first, last, n - 1),
        weft::detail::effective_loc(d.where()));
  return all(ellipsis, slice(first, last + 1));
}

}  // namespace linalg

namespace stats {

Array rankdata(Arg x, RankOptions options) {
  if (options.nan_policy != "propagate") refuse_word(x, "rankdata", "nan_policy", options.nan_policy, "propagate");
  return rankdata(std::move(x), options.method, options.axis);
}

}  // namespace stats

Array detail::sem_of(const Arg& x, const stats::NanSemOptions& o) {
  const LocScope scope(x.where());
  if (o.nan_policy != "propagate" && o.nan_policy != "omit") refuse_word(x, "sem", "nan_policy", o.nan_policy, "propagate, omit");
  if (o.nan_policy == "propagate") return stats::sem(x, {.axis = o.axis, .ddof = o.ddof, .keepdims = o.keepdims});
  const Array v = to_inexact(x);
  const Axis axis = o.axis ? Axis(*o.axis) : Axis(none);
  const Array there = ~isnan(v), n = sum(convert(there, wide_dtype(v.dtype())), axis, {.keepdims = o.keepdims});
  const Array deviation = std_(as_wide(v), axis, {.keepdims = o.keepdims, .ddof = o.ddof, .where = there});
  return as_dtype(deviation / sqrt(n), v.dtype());
}

}  // namespace weft
