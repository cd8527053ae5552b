// Keys, and the samplers without parameters.
#include "weft/library/random/random.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/trace/trace.h"
#include "weft/library/random/random_draws.h"

namespace weft {
namespace detail {

void split_key_into(const Arg& key, int n, Array* keys) {
  const LocScope scope(key.where());
  const std::vector<Array> all = split_key(sampling_key(key, "split"), n, key.where());
  for (int i = 0; i < n; ++i) keys[i] = all[static_cast<std::size_t>(i)];
}

}  // namespace detail

namespace random {

using namespace weft::detail;

namespace {
void check_keys(const Arg& keys, const char* function) {
  if (!keys.aval().dtype.is_key())
    throw DTypeError(fmt::format("{}: {} is not a key; make one with random::key(seed)", function, to_string(keys.aval())),
                     effective_loc(keys.where()));
}
}  // namespace

Array key(std::uint64_t seed, SourceLoc loc) {
  // Small seeds, negative ones among them, are int32 as in JAX.
  const auto value = static_cast<std::int64_t>(seed);
  const bool small = value == static_cast<std::int32_t>(value);
  return random_seed(make_literal(small ? Number(value) : Number(seed), small ? int32 : uint64), loc);
}
Array key(const Array& seed, SourceLoc loc) {
  if (!seed.dtype().is_integer())
    throw DTypeError(fmt::format("key: the seed is {}, not an integer", to_string(seed.aval())), effective_loc(loc));
  return random_seed(seed, loc);
}

Array key_data(Arg key) {
  check_keys(key, "key_data");
  return random_unwrap(key.array(), key.where());
}
Array wrap_key_data(Arg data) {
  const Aval& aval = data.aval();
  if (aval.dtype != uint32)
    throw DTypeError(fmt::format("wrap_key_data: {} is not a key's words, which are uint32", to_string(aval)), effective_loc(data.where()));
  if (aval.ndim() == 0 || aval.shape.back() != 2)
    throw ShapeError(fmt::format("wrap_key_data: {} is not an array of keys' words: its last axis must have size 2", to_string(aval)),
                     effective_loc(data.where()));
  return random_wrap(data.array(), data.where());
}

Array split(Arg key, Shape n) { return random_split(sampling_key(key, "split"), n, key.where()); }

Array clone(Arg key) {
  check_keys(key, "clone");
  return key.array();
}

Array fold_in(Arg key, Arg data) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_keys(key, "fold_in");
  if (key.aval().ndim() != 0 || data.aval().ndim() != 0)
    throw ShapeError(fmt::format("fold_in: takes one key and one number, not {} and {}; map over them with vmap", to_string(key.aval()),
                                 to_string(data.aval())),
                     effective_loc(loc));
  if (!data.aval().dtype.is_integer())
    throw DTypeError(fmt::format("fold_in: the data is {}, not an integer", to_string(data.aval())), effective_loc(loc));
  return random_fold_in(key.array(), convert_element_type(data.array(), uint32, false, loc), loc);
}

Array bits(Arg key, Shape shape, DType dtype) {
  if (!dtype.is_unsigned())
    throw DTypeError(fmt::format("bits: the dtype can't be {}; it is an unsigned one", dtype.name()), effective_loc(key.where()));
  return random_bits(sampling_key(key, "bits"), 8 * dtype.itemsize(), shape, key.where());
}

Array uniform(Arg key, Shape shape, UniformOptions o) {
  check_shape_once(o.shape, shape, "uniform", key.where());
  return uniform(std::move(key), std::move(shape), o.dtype, std::move(o.minval), std::move(o.maxval));
}
Array uniform(Arg key, Shape shape, DType dtype, Arg minval, Arg maxval) {
  const LocScope scope(key.where());
  check_floating(dtype, "uniform", key.where());
  sample_shape(shape, {minval, maxval}, "uniform", key.where());
  const SourceLoc loc = key.where();
  return sampled(
      "_uniform", shape, {sampling_key(key, "uniform"), parameter(minval, dtype), parameter(maxval, dtype)},
      [&](std::span<const Array> in) { return draw_uniform(in[0], shape, dtype, in[1], in[2], loc); }, loc);
}

Array normal(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  if (!dtype.is_complex()) {
    check_floating(dtype, "normal", loc);
    return sampled(
        "_normal", shape, {sampling_key(key, "normal")}, [&](std::span<const Array> in) { return draw_normal(in[0], shape, dtype, loc); },
        loc);
  }
  const std::vector<Array> keys = split_key(sampling_key(key, "normal"), 2, loc);
  const DType part = dtype.real_part();
  const Array re = draw_normal(keys[0], shape, part, loc), im = draw_normal(keys[1], shape, part, loc);
  const Array root2 = constant_of(part, std::sqrt(2.));
  return complex(re / root2, im / root2);
}

Array exponential(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "exponential", loc);
  return sampled(
      "_exponential", shape, {sampling_key(key, "exponential")},
      [&](std::span<const Array> in) { return draw_exponential(in[0], shape, dtype, loc); }, loc);
}
Array gumbel(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  check_floating(dtype, "gumbel", loc);
  return sampled(
      "_gumbel", shape, {sampling_key(key, "gumbel")}, [&](std::span<const Array> in) { return draw_gumbel(in[0], shape, dtype, loc); },
      loc);
}
Array laplace(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "laplace", key.where());
  const Array u = draw_uniform(sampling_key(key, "laplace"), shape, dtype, machine_epsilon(dtype) / 2 - 1, 1, key.where());
  return sign(u) * log1p(-abs(u));
}
Array logistic(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "logistic", key.where());
  const Array u = draw_uniform(sampling_key(key, "logistic"), shape, dtype, smallest_normal(dtype), 1, key.where());
  return log(u) - log1p(-u);
}
Array cauchy(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "cauchy", key.where());
  const Array u = draw_uniform(sampling_key(key, "cauchy"), shape, dtype, machine_epsilon(dtype), 1, key.where());
  return tan(constant_of(dtype, std::numbers::pi) * (u - constant_of(dtype, 0.5)));
}
Array rademacher(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  if (dtype.is_bool() || dtype.is_unsigned() || dtype.is_key())
    throw DTypeError(fmt::format("rademacher: -1 is not a {}; the dtype must be a signed one", dtype.name()), effective_loc(key.where()));
  const Array u = draw_uniform(sampling_key(key, "rademacher"), shape, float32, 0, 1, key.where());
  return 2 * convert(u < 0.5f, dtype) - 1;
}

}  // namespace random
}  // namespace weft
