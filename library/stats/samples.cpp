#include "weft/library/stats/samples.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/numpy/argument_axis.h"
#include "weft/library/numpy/numpy.h"
#include "weft/transforms/maps/vmap.h"

namespace weft::stats {

using detail::axis_of;
using detail::LocScope;
using detail::to_string;

namespace {

/// The ranks of a vector's elements, counted from 1.
Array ranks(const Array& x, const std::string& method) {
  if (method == "ordinal") return argsort(argsort(x)) + 1;
  const Array sorted = sort(x), before = searchsorted(sorted, x);
  if (method == "min") return before + 1;
  if (method == "dense") {
    const Array first = concatenate({zeros({1}, int32), convert(sorted(slice(1, none)) != sorted(slice(none, -1)), int32)});
    return cumsum(first, 0)(before) + 1;
  }
  const Array through = searchsorted(sorted, x, {.side = "right"});
  return method == "max" ? through : (before + through + 1) / 2.;
}
Mode mode_of(const Array& x) {
  const Array sorted = sort(x);
  const Array counts = searchsorted(sorted, sorted, {.side = "right"}) - searchsorted(sorted, sorted);
  return {sorted(argmax(counts)), max(counts)};
}

}  // namespace

Array rankdata(Arg x, TextArg how, std::optional<AxisNumber> along) {
  LocScope scope(x.where());
  const std::string& method = how.str();
  if (method != "average" && method != "min" && method != "max" && method != "dense" && method != "ordinal")
    throw Error(fmt::format("rankdata: unknown method `{}`; available: average, min, max, dense, ordinal", method),
                detail::effective_loc(x.where()));
  const int axis = along ? axis_of(x, *along, "rankdata") : 0;
  const Array rows = along ? moveaxis(x, axis, -1) : ravel(x);
  const std::int64_t n = rows.shape().back();
  const DType dtype = rows.dtype() == float64 ? float64 : float32;
  if (rows.size() == 0) return zeros(along ? x.array().shape() : rows.shape(), dtype);
  const Array out = vmap([&](const Array& row) {
    const Array r = convert(ranks(row, method), dtype);
    return row.dtype().is_inexact() ? where(any(isnan(row)), std::numeric_limits<double>::quiet_NaN(), r) : r;
  })(reshape(rows, {-1, n}));
  return along ? moveaxis(reshape(out, rows.shape()), -1, axis) : reshape(out, rows.shape());
}
Mode mode(Arg x, ModeOptions options) {
  LocScope scope(x.where());
  const int axis = options.axis ? axis_of(x, *options.axis, "mode") : 0;
  const Array rows = options.axis ? moveaxis(x, axis, -1) : ravel(x);
  if (rows.size() == 0) throw ShapeError(fmt::format("mode: {} has no elements", to_string(x.aval())), detail::effective_loc(x.where()));
  const auto [values, counts] = vmap([](const Array& row) {
    const Mode m = mode_of(row);
    return std::pair{m.mode, m.count};
  })(reshape(rows, {-1, rows.shape().back()}));
  const auto placed = [&](const Array& v) {
    const Array r = reshape(v, Shape(rows.shape().begin(), rows.shape().end() - 1));
    if (!options.keepdims) return r;
    if (options.axis) return expand_dims(r, axis);
    return reshape(r, Shape(std::vector<std::int64_t>(static_cast<std::size_t>(x.array().ndim()), 1)));
  };
  return {placed(values), placed(counts)};
}
Array sem(Arg x, SemOptions options) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x);
  const Axis axis = options.axis ? Axis(axis_of(x, *options.axis, "sem")) : Axis(none);
  const std::int64_t n = options.axis ? v.shape()[axis_of(x, *options.axis, "sem")] : v.size();
  return std_(v, axis, {.keepdims = options.keepdims, .ddof = options.ddof}) / std::sqrt(static_cast<double>(n));
}

GaussianKde::GaussianKde(Arg samples, const KdeOptions& options) {
  LocScope scope(samples.where());
  const SourceLoc loc = detail::effective_loc(samples.where());
  samples_ = detail::to_inexact(samples);
  if (samples_.ndim() == 1) samples_ = expand_dims(samples_, 0);
  if (samples_.ndim() != 2 || samples_.shape()[1] < 2 || samples_.dtype().is_complex())
    throw ShapeError(
        fmt::format("gaussian_kde: {} must be a real matrix with a column for each of two or more samples", to_string(samples.aval())),
        loc);
  const std::int64_t d = samples_.shape()[0], n = samples_.shape()[1];
  Array weights = options.weights ? convert(Arg(*options.weights, loc), samples_.dtype()) : ones({n}, samples_.dtype());
  if (weights.shape() != Shape(n))
    throw ShapeError(fmt::format("gaussian_kde: the weights {} must be a vector of {}", to_string(weights.aval()), n), loc);
  weights = weights / sum(weights);
  const Array together = sum(square(weights)), effective = 1 / together;
  const double dimensions = static_cast<double>(d);
  Array width;
  if (options.bandwidth)
    width = convert(Array(*options.bandwidth), samples_.dtype());
  else if (options.bw_method == "scott")
    width = pow(effective, -1 / (dimensions + 4));
  else if (options.bw_method == "silverman")
    width = pow(effective * (dimensions + 2) / 4, -1 / (dimensions + 4));
  else
    throw Error(fmt::format("gaussian_kde: unknown bw_method `{}`; available: scott, silverman, or a bandwidth", options.bw_method), loc);
  const Array centered = samples_ - matmul(samples_, expand_dims(weights, 1));
  covariance_ = matmul(centered * weights, transpose(centered)) / (1 - together) * square(width);
  factor_ = linalg::cholesky(covariance_);
  log_weights_ = log(weights);
}
Array GaussianKde::logpdf(Arg points) const {
  LocScope scope(points.where());
  const std::int64_t d = samples_.shape()[0];
  Array p = convert(detail::to_inexact(points), samples_.dtype());
  if (p.ndim() < 2) p = d == 1 ? reshape(p, {1, -1}) : reshape(p, {-1, 1});
  if (p.ndim() != 2 || p.shape()[0] != d)
    throw ShapeError(fmt::format("gaussian_kde: the points {} must be columns of {} variables", to_string(points.aval()), d),
                     detail::effective_loc(points.where()));
  const auto whitened = [&](const Array& x) { return linalg::triangular_solve(factor_, x, {.lower = true}); };
  const Array differences = expand_dims(whitened(p), -1) - expand_dims(whitened(samples_), 1);
  const Array log_norm = sum(log(linalg::diagonal(factor_))) + static_cast<double>(d) / 2 * std::log(2 * std::numbers::pi);
  return logsumexp(log_weights_ - sum(square(differences), 0) / 2, -1) - log_norm;
}
Array GaussianKde::operator()(Arg points) const {
  LocScope scope(points.where());
  return exp(logpdf(points));
}
GaussianKde gaussian_kde(Arg samples, KdeOptions options) { return {std::move(samples), options}; }

}  // namespace weft::stats
