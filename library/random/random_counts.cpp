// Samplers of counts of events.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/ops/random/random.h"
#include "weft/library/random/random_draws.h"

namespace weft::random {

using namespace weft::detail;

namespace {

/// Runs body while the condition holds. What both close over, in `constants`, is handed to each in front of the carry.
using Step = std::vector<Array> (*)(std::span<const Array> constants, std::span<const Array> carry, const Shape& shape, SourceLoc loc);
std::vector<Array> repeat_while(const char* what, Step condition, Step body, const std::vector<Array>& constants,
                                const std::vector<Array>& carry, const Shape& shape, SourceLoc loc) {
  std::vector<Array> all = constants;
  append(all, constants);
  append(all, carry);
  const std::vector<Aval> inputs = avals_of(concat(constants, carry));
  const std::size_t n = constants.size();
  auto traced = [&](Step step) {
    return make_program(what, inputs, [&](std::span<const Array> in) { return step(in.first(n), in.subspan(n), shape, loc); });
  };
  const int count = static_cast<int>(n);
  return bind_all<While>({traced(body), count, traced(condition), count}, all, loc);
}

Array scalar(DType dtype, long long value) { return make_literal(Number(value), dtype); }

/// Factors uniform in (0, 1) until their product is below exp(-lam) (D. Knuth, Seminumerical Algorithms, 3.4.1).
Array poisson_by_products(const Array& key, const Array& lam, const Shape& shape, DType dtype, SourceLoc loc) {
  const Step go_on = [](std::span<const Array> c, std::span<const Array> carry, const Shape&, SourceLoc) {
    return std::vector{any(carry[2] > -c[0])};
  };
  const Step body = [](std::span<const Array> c, std::span<const Array> carry, const Shape& s, SourceLoc where_from) {
    const std::vector<Array> keys = split_key(carry[1], 2, where_from);
    const Array k = where(carry[2] > -c[0], carry[0] + scalar(carry[0].dtype(), 1), carry[0]);
    return std::vector{k, keys[0], carry[2] + log(draw_uniform(keys[1], s, float32, 0, 1, where_from))};
  };
  const std::vector<Array> start{fill_shape(scalar(dtype, 0), shape, loc), key, fill_shape(constant_of(float32, 0), shape, loc)};
  return repeat_while("poisson", go_on, body, {lam}, start, shape, loc)[0] - scalar(dtype, 1);
}

/// Transformed rejection (W. Hoermann, The Transformed Rejection Method for Generating Poisson Random Variables, 1993).
Array poisson_by_rejection(const Array& key, const Array& lam, const Shape& shape, DType dtype, SourceLoc loc) {
  const Array b = 0.931 + 2.53 * sqrt(lam), a = -0.059 + 0.02483 * b;
  const std::vector<Array> constants{lam, log(lam), a, b, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)};
  const Step go_on = [](std::span<const Array>, std::span<const Array> carry, const Shape&, SourceLoc) {
    return std::vector{any(~carry[1])};
  };
  const Step body = [](std::span<const Array> c, std::span<const Array> carry, const Shape& s, SourceLoc where_from) {
    const Array &rate = c[0], &log_rate = c[1], &slope = c[2], &width = c[3], &inverse_alpha = c[4], &v_limit = c[5];
    const std::vector<Array> keys = split_key(carry[2], 3, where_from);
    const Array u = draw_uniform(keys[1], s, float32, 0, 1, where_from) - 0.5, v = draw_uniform(keys[2], s, float32, 0, 1, where_from);
    const Array distance = 0.5 - abs(u);
    const Array k = floor((2 * slope / distance + width) * u + rate + 0.43);
    const Array density = log(v * inverse_alpha / (slope / (distance * distance) + width));
    const Array target = -rate + k * log_rate - lgamma(k + 1);
    const Array at_once = (distance >= 0.07) & (v <= v_limit), never = (k < 0) | ((distance < 0.013) & (v > distance));
    const Array accept = at_once | (~never & (density <= target));
    return std::vector{where(accept, k, carry[0]), carry[1] | accept, keys[0]};
  };
  const std::vector<Array> start{fill_shape(constant_of(float32, -1), shape, loc),
                                 fill_shape(make_literal(Number(false), bool_), shape, loc), key};
  return convert(repeat_while("poisson", go_on, body, constants, start, shape, loc)[0], dtype);
}

/// log(k!) minus Stirling's first terms, for k = 0, 1, ..., 9.
Array stirling_remainders(DType dtype) {
  const StandardFloats floats;
  std::vector<double> values;
  double log_factorial = 0;
  for (int k = 0; k < 10; ++k) {
    if (k > 0) log_factorial += std::log(k);
    values.push_back(log_factorial - (0.5 * std::log(2 * std::numbers::pi) + (k + 0.5) * std::log(k + 1.) - (k + 1)));
  }
  return convert(array(values, Shape{10}), dtype);
}
/// The same for any k: by the table, or by the series' next terms.
Array stirling_remainder(const Array& k, const Array& table) {
  const Array small = clip(k, 0, 9), next = small + 1, square = next * next;
  const Array series = (1. / 12 - (1. / 360 - 1. / 1260 / square) / square) / next;
  return where(k <= 9, take(table, convert(floor(where(isnan(small), 0., small)), int32), 0), series);
}

/// Counts geometric waiting times until they exceed n (L. Devroye, Non-Uniform Random Variate Generation, X.4).
Array binomial_by_waiting(const Array& key, const Array& n, const Array& p, const Shape& shape, SourceLoc loc) {
  const Step go_on = [](std::span<const Array> c, std::span<const Array> carry, const Shape&, SourceLoc) {
    return std::vector{any(carry[1] <= c[0])};
  };
  const Step body = [](std::span<const Array> c, std::span<const Array> carry, const Shape& s, SourceLoc where_from) {
    const std::vector<Array> keys = split_key(carry[2], 2, where_from);
    const Array waits = where(carry[1] <= c[0], carry[0] + 1, carry[0]);
    const Array u = draw_uniform(keys[0], s, c[1].dtype(), 0, 1, where_from);
    return std::vector{waits, carry[1] + ceil(log(u) / c[1]), keys[1]};
  };
  const Array zero = fill_shape(constant_of(p.dtype(), 0), shape, loc);
  return repeat_while("binomial", go_on, body, {n, log1p(-p)}, {zero, zero, key}, shape, loc)[0] - 1;
}

/// Transformed rejection with squeeze (W. Hoermann, The Generation of Binomial Random Variates, 1993).
Array binomial_by_rejection(const Array& key, const Array& n, const Array& p, const Shape& shape, SourceLoc loc) {
  const Array deviation = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const Array odds = p / (1 - p), mode = floor((n + 1) * p), table = stirling_remainders(p.dtype());
  const std::vector<Array> constants{n,
                                     a,
                                     b,
                                     n * p + 0.5,
                                     0.92 - 4.2 / b,
                                     (2.83 + 5.1 / b) * deviation,
                                     odds,
                                     mode,
                                     table,
                                     stirling_remainder(mode, table) + stirling_remainder(n - mode, table)};
  const Step go_on = [](std::span<const Array>, std::span<const Array> carry, const Shape&, SourceLoc) {
    return std::vector{any(~carry[1])};
  };
  const Step body = [](std::span<const Array> c, std::span<const Array> carry, const Shape& s, SourceLoc where_from) {
    const Array &trials = c[0], &slope = c[1], &width = c[2], &centre = c[3], &v_limit = c[4], &alpha = c[5], &r = c[6], &peak = c[7],
                &tails = c[8];
    const std::vector<Array> keys = split_key(carry[2], 3, where_from);
    const Array u = draw_uniform(keys[1], s, trials.dtype(), 0, 1, where_from) - 0.5,
                v = draw_uniform(keys[2], s, trials.dtype(), 0, 1, where_from);
    const Array distance = 0.5 - abs(u);
    const Array k = floor((2 * slope / distance + width) * u + centre);
    const Array density = log(v * alpha / (slope / (distance * distance) + width));
    const Array target = (peak + 0.5) * log((peak + 1) / (r * (trials - peak + 1))) +
                         (trials + 1) * log((trials - peak + 1) / (trials - k + 1)) + (k + 0.5) * log(r * (trials - k + 1) / (k + 1)) +
                         c[9] - stirling_remainder(k, tails) - stirling_remainder(trials - k, tails);
    const Array at_once = (distance >= 0.07) & (v <= v_limit), outside = (k < 0) | (k > trials);
    const Array accept = at_once | (~outside & (density <= target));
    return std::vector{where(accept, k, carry[0]), carry[1] | accept, keys[0]};
  };
  const std::vector<Array> start{fill_shape(constant_of(p.dtype(), -1), shape, loc),
                                 fill_shape(make_literal(Number(false), bool_), shape, loc), key};
  return repeat_while("binomial", go_on, body, constants, start, shape, loc)[0];
}

/// In the dtype of p.
Array draw_binomial(const Array& key, const Array& trials, const Array& p, const Shape& shape, SourceLoc loc) {
  const DType dtype = p.dtype();
  const Array one = constant_of(dtype, 1), nan = constant_of(dtype, std::numeric_limits<double>::quiet_NaN());
  // The rarer outcome is counted. Both methods run; each is given harmless parameters where the other is used.
  const Array rare = p < 0.5, q = where(rare, p, one - p), bad_p = isnan(q) | (q < 0), bad_n = isnan(trials) | (trials < 0);
  const Array chance = where(bad_p, constant_of(dtype, 0.01), q), n = floor(trials);
  const Array endless = isinf(n), few = bad_n | endless | (trials * chance <= 10);
  const Array counts =
      where(few, binomial_by_waiting(key, where(few & ~endless, n, constant_of(dtype, 0)), chance, shape, loc),
            binomial_by_rejection(key, where(few, constant_of(dtype, 1e4), n), where(few, constant_of(dtype, 0.5), chance), shape, loc));
  const Array r = where(bad_p | bad_n, nan, where(endless, n, counts));
  return where(rare | bad_n | bad_p | endless, r, n - r);
}

}  // namespace

// Both methods are run where lam is small and large; each is given a harmless lam where the other is used.
Array poisson(Arg key, Arg lam, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  if (!dtype.is_integer())
    throw DTypeError(fmt::format("poisson: the samples can't be {}; they are of an integer dtype", dtype.name()), effective_loc(loc));
  const Shape shape = sample_shape(asked, {lam}, "poisson", loc);
  const Array k = sampling_key(key, "poisson"), rate = parameter(lam, float32, shape);
  const Array few = isnan(rate) | (rate < 10);
  const Array counts = where(few, poisson_by_products(k, where(few, rate, constant_of(float32, 0)), shape, dtype, loc),
                             poisson_by_rejection(k, where(few, constant_of(float32, 1e5), rate), shape, dtype, loc));
  return where(rate == 0, scalar(dtype, 0), counts);
}

Array binomial(Arg key, Arg n, Arg p, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "binomial", loc);
  const Shape shape = sample_shape(asked, {n, p}, "binomial", loc);
  const Array chance = to_inexact(p);
  return convert(draw_binomial(sampling_key(key, "binomial"), parameter(n, chance.dtype(), shape), parameter(chance, chance.dtype(), shape),
                               shape, loc),
                 dtype);
}

// The outcomes one after another, each out of the trials that are left.
Array multinomial(Arg key, Arg n, Arg p, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "multinomial", loc);
  const Shape& s = p.aval().shape;
  if (s.empty())
    throw ShapeError("multinomial: p is one number; it holds the outcomes' probabilities along its last axis", effective_loc(loc));
  const Shape shape = asked.has_value() ? asked.value() : s, rest(shape.begin(), shape.end() - (shape.empty() ? 0 : 1));
  const DType part = promote_types(to_inexact(p).dtype(), to_inexact(n).dtype());
  const Array chances = moveaxis(parameter(p, part, sample_shape(shape, {p}, "multinomial", loc)), -1, 0);
  const Array trials = parameter(n, part, sample_shape(rest, {n}, "multinomial", loc));
  const Array left = flip(cumsum(flip(chances, 0), 0), 0), ratios = clip(chances / where(left == 0, constant_of(part, 1), left), 0, 1);
  const std::int64_t outcomes = shape.back();
  const Array keys = random_split(sampling_key(key, "multinomial"), Shape(outcomes), loc);
  const Aval of_trials{rest, part}, of_key{Shape{}, keys.dtype()};
  const Jaxpr one = make_program("multinomial", {of_trials, of_trials, of_key}, [&](std::span<const Array> in) {
    const Array count = draw_binomial(in[2], in[0], in[1], rest, loc);
    return std::vector{in[0] - count, count};
  });
  const Array counts = bind_scan({one, outcomes, 1, 0, false, 1}, std::vector{trials, ratios, keys}, loc)[1];
  return convert(moveaxis(counts, 0, -1), dtype);
}

}  // namespace weft::random
