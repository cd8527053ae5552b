// Samplers of distributions with parameters.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/ops/random/random.h"
#include "weft/library/nn/nn.h"
#include "weft/library/random/random_draws.h"

namespace weft::random {

using namespace weft::detail;

Array truncated_normal(Arg key, Arg lower, Arg upper, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "truncated_normal", loc);
  const Shape shape = sample_shape(asked, {lower, upper}, "truncated_normal", loc);
  const Array root2 = constant_of(dtype, std::sqrt(2.)), infinity = constant_of(dtype, std::numeric_limits<double>::infinity());
  return sampled(
      "_truncated_normal", shape, {sampling_key(key, "truncated_normal"), parameter(lower, dtype), parameter(upper, dtype)},
      [&](std::span<const Array> in) {
        const Array &low = in[1], &high = in[2];
        const Array u = draw_uniform(in[0], shape, dtype, erf(low / root2), erf(high / root2), loc);
        // Rounding must not lead out of the open interval.
        const Array first = nextafter(stop_gradient_of(low), infinity), last = nextafter(stop_gradient_of(high), -infinity);
        return minimum(last, maximum(first, root2 * erf_inv(u)));
      },
      loc);
}

namespace {
Array draw_gamma(const Array& key, const Arg& a, const Shape& shape, DType dtype, bool log_space, SourceLoc loc) {
  return random_gamma(key, parameter(a, dtype, shape), log_space, loc);
}
Array gamma_sampler(const char* name, const Arg& key, const Arg& a, const OptionalShape& asked, DType dtype, bool log_space) {
  const LocScope scope(key.where());
  check_floating(dtype, name, key.where());
  const Shape shape = sample_shape(asked, {a}, name, key.where());
  return draw_gamma(sampling_key(key, name), a, shape, dtype, log_space, key.where());
}
}  // namespace

Array gamma(Arg key, Arg a, OptionalShape shape, DType dtype) { return gamma_sampler("gamma", key, a, shape, dtype, false); }
Array loggamma(Arg key, Arg a, OptionalShape shape, DType dtype) { return gamma_sampler("loggamma", key, a, shape, dtype, true); }

Array beta(Arg key, Arg a, Arg b, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "beta", loc);
  const Shape shape = sample_shape(asked, {a, b}, "beta", loc);
  const std::vector<Array> keys = split_key(sampling_key(key, "beta"), 2, loc);
  // The ratio of one gamma variate to the sum of two, in logarithms so that small ones don't vanish.
  const Array log_a = draw_gamma(keys[0], a, shape, dtype, true, loc), log_b = draw_gamma(keys[1], b, shape, dtype, true, loc);
  const Array larger = maximum(log_a, log_b);
  const Array scaled_a = exp(log_a - larger), scaled_b = exp(log_b - larger);
  return scaled_a / (scaled_a + scaled_b);
}

Array dirichlet(Arg key, Arg alpha, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "dirichlet", loc);
  const Shape& s = alpha.aval().shape;
  if (s.empty()) throw ShapeError(fmt::format("dirichlet: alpha is {}; it needs an axis", to_string(alpha.aval())), effective_loc(loc));
  const Arg batch(Array(ShapeDtypeStruct{s.erased(s.size() - 1), dtype}), loc);
  const Shape shape = sample_shape(asked, {batch}, "dirichlet", loc);
  const Array k = sampling_key(key, "dirichlet");
  return nn::softmax(draw_gamma(k, alpha, shape.inserted(shape.size(), s.back()), dtype, true, loc), -1);
}

Array chisquare(Arg key, Arg df, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "chisquare", loc);
  const Shape shape = sample_shape(asked, {df}, "chisquare", loc);
  const Array half = parameter(df, dtype) / constant_of(dtype, 2);
  return exp(draw_gamma(sampling_key(key, "chisquare"), half, shape, dtype, true, loc)) * constant_of(dtype, 2);
}

Array t(Arg key, Arg df, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "t", loc);
  const Shape shape = sample_shape(asked, {df}, "t", loc);
  const std::vector<Array> keys = split_key(sampling_key(key, "t"), 2, loc);
  const Array half = parameter(df, dtype) / constant_of(dtype, 2);
  return draw_normal(keys[0], shape, dtype, loc) * sqrt(half / draw_gamma(keys[1], half, shape, dtype, false, loc));
}

Array pareto(Arg key, Arg b, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "pareto", loc);
  const Shape shape = sample_shape(asked, {b}, "pareto", loc);
  return exp(draw_exponential(sampling_key(key, "pareto"), shape, dtype, loc) / parameter(b, dtype));
}

Array lognormal(Arg key, Arg sigma, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "lognormal", loc);
  const Shape shape = sample_shape(asked, {sigma}, "lognormal", loc);
  return exp(draw_normal(sampling_key(key, "lognormal"), shape, dtype, loc) * parameter(sigma, dtype));
}

Array weibull_min(Arg key, Arg scale, Arg concentration, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "weibull_min", loc);
  sample_shape(shape, {scale, concentration}, "weibull_min", loc);
  const Array u = draw_uniform(sampling_key(key, "weibull_min"), shape, dtype, 0, 1, loc);
  return pow(-log1p(-u), 1. / parameter(concentration, dtype)) * parameter(scale, dtype);
}

Array rayleigh(Arg key, Arg scale, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "rayleigh", loc);
  const Shape shape = sample_shape(asked, {scale}, "rayleigh", loc);
  const Array u = draw_uniform(sampling_key(key, "rayleigh"), shape, dtype, 0, 1, loc);
  return parameter(scale, dtype) * sqrt(log(u) * constant_of(dtype, -2));
}

Array triangular(Arg key, Arg left, Arg mode, Arg right, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "triangular", loc);
  const Shape shape = sample_shape(asked, {left, mode, right}, "triangular", loc);
  const Array a = parameter(left, dtype), b = parameter(right, dtype), m = parameter(mode, dtype);
  const Array u = draw_uniform(sampling_key(key, "triangular"), shape, dtype, 0, 1, loc);
  // The distribution function's inverse, left and right of the peak.
  return where(u < (m - a) / (b - a), a + sqrt(u * (b - a) * (m - a)), b - sqrt((1 - u) * (b - a) * (b - m)));
}

Array geometric(Arg key, Arg p, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  const Shape shape = sample_shape(asked, {p}, "geometric", loc);
  const Array probability = to_inexact(p);
  const Array u = draw_uniform(sampling_key(key, "geometric"), shape, probability.dtype(), 0, 1, loc);
  return convert(floor(log(where(u == 0, constant_of(u.dtype(), 1), u)) / log1p(-probability)) + 1, dtype);
}

}  // namespace weft::random
