#include "weft/library/random/random_draws.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/base/config.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/elementwise/arithmetic.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/trace/key_reuse.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

std::string list_of(std::initializer_list<Arg> parameters) {
  std::string out;
  for (const Arg& x : parameters) out += (out.empty() ? "" : ", ") + to_string(x.aval());
  return out;
}

Shape broadcast_all(std::initializer_list<Arg> parameters, const char* sampler, SourceLoc loc) {
  Shape all;
  for (const Arg& x : parameters) {
    const Shape& s = x.aval().shape;
    Shape joined = all.size() < s.size() ? s : all;
    for (int d = 1; d <= std::min(all.size(), s.size()); ++d) {
      const std::int64_t a = all[all.size() - d], b = s[s.size() - d];
      if (a != b && a != 1 && b != 1)
        throw ShapeError(fmt::format("{}: the parameter {} doesn't broadcast with those before it, of shape {}; the parameters are {}",
                                     sampler, to_string(x.aval()), to_string(all), list_of(parameters)),
                         loc);
      joined[joined.size() - d] = a == 1 ? b : a;
    }
    all = joined;
  }
  return all;
}

}  // namespace

Array sampling_key(const Arg& key, const char* sampler) {
  const Aval& aval = key.aval();
  const SourceLoc loc = effective_loc(key.where());
  if (!aval.dtype.is_key()) {
    const bool words = aval.dtype == uint32 && aval.ndim() > 0 && aval.shape.back() == 2;
    throw DTypeError(fmt::format("{}: {} is not a key; {}", sampler, to_string(aval),
                                 words ? "random::wrap_key_data makes keys of their words" : "make one with random::key(seed)"),
                     loc);
  }
  if (aval.ndim() != 0)
    throw ShapeError(fmt::format("{}: takes one key, not the {} of {}; map over them with vmap", sampler, aval.size(), to_string(aval)),
                     loc);
  if (config.debug_key_reuse) note_key_use(key.array(), sampler, loc);
  return key.array();
}

void check_floating(DType dtype, const char* sampler, SourceLoc loc) {
  if (!dtype.is_floating())
    throw DTypeError(fmt::format("{}: the samples can't be {}; they are of a floating dtype", sampler, dtype.name()), effective_loc(loc));
}

void check_shape_once(const OptionalShape& of_options, const OptionalShape& argument, const char* sampler, SourceLoc loc) {
  if (of_options.has_value() && (!argument.has_value() || of_options.value() != argument.value()))
    throw Error(fmt::format("{}: a shape is an argument and another one among the options; give it once", sampler), effective_loc(loc));
}
Shape sample_shape(const OptionalShape& asked, std::initializer_list<Arg> parameters, const char* sampler, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const Shape all = broadcast_all(parameters, sampler, loc);
  if (!asked.has_value()) return all;
  const Shape& shape = asked.value();
  for (std::int64_t n : shape)
    if (n < 0) throw ShapeError(fmt::format("{}: shape {} has a negative size", sampler, to_string(shape)), loc);
  for (const Arg& x : parameters) {
    const Shape& s = x.aval().shape;
    bool fits = s.size() <= shape.size();
    for (int d = 1; fits && d <= s.size(); ++d) fits = s[s.size() - d] == 1 || s[s.size() - d] == shape[shape.size() - d];
    if (!fits)
      throw ShapeError(fmt::format("{}: the parameter {} doesn't broadcast to the shape {} of the samples", sampler, to_string(x.aval()),
                                   to_string(shape)),
                       loc);
  }
  return shape;
}

Array parameter(const Arg& x, DType dtype) { return convert_element_type(x.array(), dtype, false, x.where()); }
Array parameter(const Arg& x, DType dtype, const Shape& shape) { return broadcast_trailing(parameter(x, dtype), shape, x.where()); }

Array sampled(const char* name, const Shape& shape, std::vector<Array> inputs, const std::function<Array(std::span<const Array>)>& body,
              SourceLoc loc) {
  constexpr std::int64_t kMany = 1 << 14;
  if (current_trace() || shape.num_elements() < kMany) return body(inputs);
  // Literals stay literals, so that they are constant-folded.
  std::vector<Array> operands;
  std::vector<Aval> avals;
  for (const Array& x : inputs)
    if (!as_literal(x)) operands.push_back(x), avals.push_back(x.aval());
  const Jaxpr program = trace_jaxpr({name, avals, {}}, [&](std::span<const Array> traced) {
    std::vector<Array> in = inputs;
    std::size_t next = 0;
    for (Array& x : in)
      if (!as_literal(x)) x = traced[next++];
    return std::vector<Array>{body(in)};
  });
  return bind_jit(name, program, {}, operands, loc)[0];
}

Array constant_of(DType dtype, double value) { return make_literal(Number(value), dtype); }
int mantissa_bits(DType dtype) { return dtype == float64 ? 52 : dtype == float32 ? 23 : dtype == float16 ? 10 : 7; }
double machine_epsilon(DType dtype) { return std::ldexp(1., -mantissa_bits(dtype)); }
double smallest_normal(DType dtype) { return dtype == float64 ? 0x1p-1022 : dtype == float16 ? 0x1p-14 : 0x1p-126; }

namespace {

/// In [0, 1): random bits as the mantissa of a number in [1, 2), less 1.
Array draw_fraction(const Array& key, const Shape& shape, DType dtype, SourceLoc loc) {
  const int width = 8 * dtype.itemsize(), mantissa = mantissa_bits(dtype);
  const DType integer = width == 16 ? uint16 : width == 32 ? uint32 : uint64;
  const int drawn = mantissa < 8 ? 8 : width;
  Array bits = random_bits(key, drawn, shape, loc);
  if (drawn != width) bits = convert(bits, integer);
  const Array one = constant_of(dtype, 1);
  Literal bits_of_one{Aval{{}, integer, false}, as_literal(one)->bits};
  bits = shift_right_logical(bits, make_literal(Number(drawn - mantissa), integer)) | make_literal(bits_of_one.aval, bits_of_one.bits);
  return bitcast_convert(bits, dtype) - one;
}
double value_of(const Array& x) {
  double v = 0;
  read_elements(x, float64, &v, "uniform", {});
  return v;
}

}  // namespace

Array draw_uniform(const Array& key, const Shape& shape, DType dtype, const Array& minval, const Array& maxval, SourceLoc loc) {
  const Array fraction = draw_fraction(key, shape, dtype, loc);
  Array width;
  if (as_literal(minval) && as_literal(maxval)) {
    const double low = value_of(minval), high = value_of(maxval);
    if (low == 0 && high == 1) return fraction;
    width = constant_of(dtype, standard([&] { return high - low; }));
  } else {
    width = maxval - minval;
  }
  // XLA contracts JAX's product and sum to a fused multiply-add, except for 16-bit floats.
  if (dtype.itemsize() < 4) return maximum(minval, fraction * width + minval);
  return maximum(minval, mul_add(fraction, width, minval, loc));
}
Array draw_uniform(const Array& key, const Shape& shape, DType dtype, double minval, double maxval, SourceLoc loc) {
  return draw_uniform(key, shape, dtype, constant_of(dtype, minval), constant_of(dtype, maxval), loc);
}

Array draw_normal(const Array& key, const Shape& shape, DType dtype, SourceLoc loc) {
  const double above_minus_one = machine_epsilon(dtype) / 2 - 1;
  return constant_of(dtype, std::sqrt(2.)) * erf_inv(draw_uniform(key, shape, dtype, above_minus_one, 1, loc));
}

Array draw_exponential(const Array& key, const Shape& shape, DType dtype, SourceLoc loc) {
  return -log1p(-draw_uniform(key, shape, dtype, 0, 1, loc));
}

Array draw_gumbel(const Array& key, const Shape& shape, DType dtype, SourceLoc loc) {
  return -log(-log(draw_uniform(key, shape, dtype, smallest_normal(dtype), 1, loc)));
}

// Sorts by random words, repeatedly, so that equal words don't matter: once the words have 3 log2(size) bits in total, the order is uniform
// with high probability (as in JAX).
Array shuffle(const Array& key, const Array& x, int axis, SourceLoc loc) {
  const double size = std::max(1., static_cast<double>(x.size()));
  const int rounds = static_cast<int>(std::ceil(3 * std::log(size) / std::log(4294967295.)));
  Array state = key, shuffled = x;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Array> keys = split_key(state, 2, loc);
    const Array operands[] = {random_bits(keys[1], 32, x.shape(), loc), shuffled};
    state = keys[0];
    shuffled = bind_all<Sort>({axis, true, 1}, operands, loc)[1];
  }
  return shuffled;
}

std::vector<Array> split_key(const Array& key, int n, SourceLoc loc) {
  const Array keys = random_split(key, Shape(n), loc);
  std::vector<Array> out;
  for (int i = 0; i < n; ++i) out.push_back(squeeze_axes(slice_axis(keys, 0, i, i + 1, loc), {0}, loc));
  return out;
}

}  // namespace weft::detail
