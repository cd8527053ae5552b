// Samplers of integers, and of elements of given arrays.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/trace/trace.h"
#include "weft/library/numpy/host_numbers.h"
#include "weft/library/random/random_draws.h"

namespace weft::random {

using namespace weft::detail;

namespace {

__extension__ typedef __int128 Wide;  // holds every integer of 64 bits, signed or not

Wide lowest(DType t) { return t.is_unsigned() ? 0 : -(Wide{1} << (8 * t.itemsize() - 1)); }
Wide highest(DType t) { return (Wide{1} << (8 * t.itemsize() - (t.is_unsigned() ? 0 : 1))) - 1; }
Array literal_of(Wide v, DType t) {
  return t == uint64 ? make_literal(Number(static_cast<unsigned long long>(v)), t) : make_literal(Number(static_cast<long long>(v)), t);
}
/// As convert makes int64 of floats: towards 0, the nearest it has, 0 for NaN.
Wide whole_number(double x) {
  if (std::isnan(x)) return 0;
  return static_cast<Wide>(std::clamp(x, -0x1p63, 0x1p63)) - (x >= 0x1p63 ? 1 : 0);
}
std::optional<Wide> known_integer(const Array& x) {
  const LiteralArray* literal = as_literal(x);
  if (!literal || x.dtype().is_complex()) return {};
  const Number n = number_of(*literal);
  if (n.kind == Number::Kind::floating) return whole_number(n.real);
  return n.kind == Number::Kind::unsigned_integer ? Wide{static_cast<unsigned long long>(n.integer)} : Wide{n.integer};
}

/// The integers of x that the dtype has, others replaced by the nearest.
Array clipped(const Array& x, DType dtype) {
  const Wide low = std::max(lowest(dtype), lowest(x.dtype())), high = std::min(highest(dtype), highest(x.dtype()));
  return convert(minimum(literal_of(high, x.dtype()), maximum(literal_of(low, x.dtype()), x)), dtype);
}

/// What an offset is reduced by.
struct Span {
  Array minval;
  Array size;        ///< of the unsigned dtype; 0 stands for all its values
  Array multiplier;  ///< 2^bits modulo the size
};
Span known_span(Wide low, Wide high, DType dtype, DType wide) {
  const bool beyond = high > highest(dtype);
  low = std::clamp(low, lowest(dtype), highest(dtype)), high = std::clamp(high, lowest(dtype), highest(dtype));
  const Wide modulus = Wide{1} << (8 * wide.itemsize()), half = Wide{1} << (4 * wide.itemsize());
  const Wide size = (high <= low ? 1 : high - low + (beyond ? 1 : 0)) % modulus;
  auto rem = [](Wide x, Wide y) { return y == 0 ? x : x % y; };
  const Wide m = rem(half, size);
  return {literal_of(low, dtype), literal_of(size, wide), literal_of(rem(m * m % modulus, size), wide)};
}
Span span_of(const Array& low, const Array& high, DType dtype, DType wide) {
  const Array beyond = high > clipped(literal_of(highest(dtype), dtype), high.dtype());
  const Array minval = clipped(low, dtype), maxval = clipped(high, dtype);
  const Array one = make_literal(Number(1), wide);
  Array size = where(maxval <= minval, one, convert(maxval - minval, wide));
  size = where(beyond & (maxval > minval), size + one, size);
  const Array m = rem(make_literal(Number(std::int64_t{1} << (4 * wide.itemsize())), wide), size);
  return {minval, size, rem(m * m, size)};
}

/// Integers of the dtype from two words each, so that the remainder is biased by no more than 1 / 2^bits.
Array draw_integers(const Array& key, const Shape& shape, const Array& low, const Array& high, DType dtype, SourceLoc loc) {
  const DType wide = dtype.itemsize() == 8 ? uint64 : uint32;
  const auto known_low = known_integer(low), known_high = known_integer(high);
  const Span span = known_low && known_high ? known_span(*known_low, *known_high, dtype, wide) : span_of(low, high, dtype, wide);
  const std::vector<Array> keys = split_key(key, 2, loc);
  const int width = 8 * wide.itemsize();
  const Array upper = random_bits(keys[0], width, shape, loc), lower = random_bits(keys[1], width, shape, loc);
  const Array offset = rem(rem(upper, span.size) * span.multiplier + rem(lower, span.size), span.size);
  return span.minval + convert(offset, dtype);
}

/// The bounds of randint as integers, which may lie outside of what is drawn.
Array integer_bound(const Arg& x) {
  const DType t = x.aval().dtype;
  return t.is_integer() || as_literal(x.array()) ? x.array() : convert(x, int64);
}

/// A number of things, if the array is one integer.
std::int64_t count_of(const Arg& x, const char* sampler) {
  const SourceLoc loc = effective_loc(x.where());
  if (!x.aval().dtype.is_integer())
    throw DTypeError(fmt::format("{}: {} is neither an integer nor an array with an axis", sampler, to_string(x.aval())), loc);
  const Array value = concrete_or_empty(x.array());
  if (value.is_empty_handle())
    throw ConcretizationError(fmt::format("{}: the integer {} is traced, but it determines the result's shape and must be a constant",
                                          sampler, to_string(x.aval())),
                              loc);
  return value.item<std::int64_t>(loc);
}

Array draw_permutation(const Array& key, const Arg& x, int axis, bool independent, SourceLoc loc) {
  if (x.aval().ndim() == 0) {
    const std::int64_t n = count_of(x, "permutation");
    return shuffle(key, iota_array(x.aval().dtype, Shape(std::max<std::int64_t>(n, 0)), 0, loc), 0, loc);
  }
  if (independent || x.aval().ndim() == 1) return shuffle(key, x.array(), axis, loc);
  const std::int64_t n = x.aval().shape[axis];
  return take(x, shuffle(key, iota_array(position_dtype(n), Shape(n), 0, loc), 0, loc), axis);
}

}  // namespace

Array bernoulli(Arg key, Arg p, OptionalShape shape) {
  const LocScope scope(key.where());
  if (!p.aval().dtype.is_floating())
    throw DTypeError(fmt::format("bernoulli: the probability is {}, not a float", to_string(p.aval())), effective_loc(p.where()));
  const Shape all = sample_shape(shape, {p}, "bernoulli", key.where());
  return sampled(
      "_bernoulli", all, {sampling_key(key, "bernoulli"), p.array()},
      [&](std::span<const Array> in) { return draw_uniform(in[0], all, in[1].dtype(), 0, 1, key.where()) < in[1]; }, key.where());
}

Array randint(Arg key, Shape shape, RandintOptions o) {
  check_shape_once(o.shape, shape, "randint", key.where());
  return randint(std::move(key), std::move(shape), std::move(o.minval), std::move(o.maxval), o.dtype);
}
Array randint(Arg key, Shape shape, Arg minval, Arg maxval, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  if (!dtype.is_integer())
    throw DTypeError(fmt::format("randint: the samples can't be {}; they are of an integer dtype", dtype.name()), effective_loc(loc));
  sample_shape(shape, {minval, maxval}, "randint", loc);
  const Array k = sampling_key(key, "randint"), low = integer_bound(minval), high = integer_bound(maxval);
  if (dtype.itemsize() >= 4)
    return sampled(
        "_randint", shape, {k, low, high}, [&](std::span<const Array> in) { return draw_integers(in[0], shape, in[1], in[2], dtype, loc); },
        loc);
  // Narrow integers are drawn as int32, where one beyond the highest is a bound like any other.
  auto bound = [&](const Array& x, Wide highest_bound) {
    if (const auto known = known_integer(x)) return literal_of(std::clamp(*known, lowest(dtype), highest_bound), int32);
    return minimum(literal_of(highest_bound, int32), maximum(literal_of(lowest(dtype), int32), saturated(x, int32, loc)));
  };
  return convert(draw_integers(k, shape, bound(low, highest(dtype)), bound(high, highest(dtype) + 1), int32, loc), dtype);
}

Array permutation(Arg key, Arg x, AxisNumber axis, bool independent) {
  const LocScope scope(key.where());
  const int at = x.aval().ndim() == 0 ? 0 : normalize_axis(axis, x.aval().ndim(), "permutation", x.aval(), x.where());
  return draw_permutation(sampling_key(key, "permutation"), x, at, independent, key.where());
}

Array choice(Arg key, Arg a, Shape shape, bool replace, std::optional<Array> p, AxisNumber axis) {
  return choice(std::move(key), std::move(a), std::move(shape), {.replace = replace, .p = std::move(p), .axis = axis});
}
Array choice(Arg key, Arg a, Shape shape, ChoiceOptions options) {
  const LocScope scope(key.where());
  check_shape_once(options.shape, shape, "choice", key.where());
  const SourceLoc loc = key.where();
  const bool numbers = a.aval().ndim() == 0;
  const int axis = numbers ? 0 : normalize_axis(options.axis, a.aval().ndim(), "choice", a.aval(), a.where());
  const std::int64_t n = numbers ? count_of(a, "choice") : a.aval().shape[axis], draws = shape.num_elements();
  Shape out = shape;
  if (!numbers) {
    out = {};
    for (int d = 0; d < axis; ++d) out.push_back(a.aval().shape[d]);
    for (std::int64_t size : shape) out.push_back(size);
    for (int d = axis + 1; d < a.aval().ndim(); ++d) out.push_back(a.aval().shape[d]);
  }
  if (draws > 0 && n <= 0)
    throw ShapeError(fmt::format("choice: {} has no elements to choose from", to_string(a.aval())), effective_loc(loc));
  if (!options.replace && draws > n)
    throw ShapeError(fmt::format("choice: {} draws without replacement from {}", draws, counted(n, "element")), effective_loc(loc));
  const Array k = sampling_key(key, "choice");
  const DType index = numbers ? a.aval().dtype : position_dtype(n);
  if (draws == 0) return fill_shape(make_literal(Number(0), a.aval().dtype), out, loc);
  Array positions;
  if (!options.p) {
    if (!options.replace) {
      const Array all = draw_permutation(k, a, axis, false, loc);
      return reshape(slice_axis(all, axis, 0, draws, loc), out);
    }
    positions = draw_integers(k, shape, literal_of(0, index), literal_of(n, index), index, loc);
  } else {
    const Array p = to_inexact(Arg(*options.p, loc));
    if (p.ndim() != 1 || p.shape()[0] != n)
      throw ShapeError(fmt::format("choice: the probabilities {} must be one for each of the {} elements", to_string(p.aval()), n),
                       effective_loc(loc));
    if (options.replace) {
      const Array sums = cumsum(p);
      const Array r = sums[-1] * (1 - draw_uniform(k, shape, p.dtype(), 0, 1, loc));
      positions = searchsorted(sums, r);
    } else {
      // The largest of log p + Gumbel noise are draws without replacement.
      positions = reshape(top_k(draw_gumbel(k, Shape(n), p.dtype(), loc) + log(p), draws).indices, shape);
    }
    positions = convert(positions, index);
  }
  return numbers ? positions : reshape(take(a, positions, axis), out);
}

Array categorical(Arg key, Arg logits, AxisNumber axis, OptionalShape shape) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  const Array x = to_inexact(logits);
  check_floating(x.dtype(), "categorical", loc);
  const int at = normalize_axis(axis, x.ndim(), "categorical", x.aval(), loc);
  const Shape batch = x.shape().erased(at);
  const Shape all = sample_shape(shape, {Arg(Array(ShapeDtypeStruct{batch, x.dtype()}), loc)}, "categorical", loc);
  const int prefix = all.size() - batch.size();
  const Shape noise = all.inserted(prefix + at, x.shape()[at]);
  return argmax(draw_gumbel(sampling_key(key, "categorical"), noise, x.dtype(), loc) + x, prefix + at);
}

}  // namespace weft::random
