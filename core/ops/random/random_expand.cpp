// The primitives on keys, written out in elementwise primitives.
#include "weft/core/ops/random/random_expand.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/ops/random/random_params.h"
#include "weft/core/ops/random/threefry.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

/// The two words of many keys or blocks.
struct WordArrays {
  Array a, b;
};

WordArrays words_of(const Array& keys) {
  const Array both = bitcast_convert(keys, uint64);
  return {convert(both, uint32), convert(shift_right_logical(both, 32), uint32)};
}
Array keys_of(const WordArrays& w) { return bitcast_convert(convert(w.a, uint64) | (convert(w.b, uint64) << 32), key_dtype); }

WordArrays cipher(const WordArrays& key, WordArrays counter) {
  threefry(key.a, key.b, key.a ^ key.b ^ Array(kThreefryParity), counter.a, counter.b,
           [](const Array& v, int n) { return (v << n) | shift_right_logical(v, 32 - n); });
  return counter;
}

/// x with `count` further dimensions of size 1 behind its own.
Array with_trailing(const Array& x, int count) {
  std::vector<int> axes;
  for (int i = 0; i < count; ++i) axes.push_back(x.ndim() + i);
  return x.ndim() == 0 ? x : insert_axes(x, axes, {});
}

/// 0, 1, ... over a shape in row-major order as two words, behind `leading` dimensions of size 1. Counted by dimension, so that a loop over
/// the shape needs no division.
WordArrays counters(const Shape& shape, int leading) {
  Shape full(std::vector<std::int64_t>(static_cast<std::size_t>(leading), 1));
  for (std::int64_t n : shape) full.push_back(n);
  const bool wide = shape.num_elements() > std::int64_t{1} << 32;
  const DType dtype = wide ? uint64 : uint32;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  Array sum = make_literal(Number(0), dtype);
  for (int d = 0; d < shape.size(); ++d) {
    const Array along = iota_array(dtype, full, leading + d, {});
    const std::int64_t stride = strides[static_cast<std::size_t>(d)];
    const Array part = stride == 1 ? along : along * make_literal(Number(stride), dtype);
    sum = d == 0 ? part : sum + part;
  }
  if (!wide) return {make_literal(Number(0), uint32), sum};
  return {convert(shift_right_logical(sum, 32), uint32), convert(sum, uint32)};
}

/// The blocks of each key, of the given shape.
WordArrays blocks(const Array& keys, const Shape& shape) {
  const WordArrays words = words_of(with_trailing(keys, shape.size()));
  return cipher(words, counters(shape, keys.ndim()));
}

}  // namespace

Array expand_seed(const ParamsBase&, std::span<const Array> in) {
  const Array& x = in[0];
  if (x.dtype().itemsize() < 8) return keys_of({make_literal(Number(0), uint32), convert(x, uint32)});
  return keys_of({convert(shift_right_logical(x, 32), uint32), convert(x, uint32)});
}
Array expand_wrap(const ParamsBase&, std::span<const Array> in) {
  const Array& x = in[0];
  const int last = x.ndim() - 1;
  const auto word = [&](int k) { return squeeze_axes(slice_axis(x, last, k, k + 1, {}), {last}, {}); };
  return keys_of({word(0), word(1)});
}
Array expand_unwrap(const ParamsBase&, std::span<const Array> in) {
  const Array& x = in[0];
  const Shape two = Shape(std::vector<std::int64_t>(static_cast<std::size_t>(x.ndim()), 1)).inserted(x.ndim(), 2);
  const Array shift = iota_array(uint64, two, x.ndim(), {}) * 32;
  return convert(shift_right_logical(bitcast_convert(with_trailing(x, 1), uint64), shift), uint32);
}
Array expand_fold_in(const ParamsBase&, std::span<const Array> in) {
  return keys_of(cipher(words_of(in[0]), {make_literal(Number(0), uint32), in[1]}));
}
Array expand_split(const ParamsBase& params, std::span<const Array> in) {
  return keys_of(blocks(in[0], params_as<SplitKeyParams>(params).shape));
}
Array expand_bits(const ParamsBase& params, std::span<const Array> in) {
  const BitsParams& p = params_as<BitsParams>(params);
  const WordArrays b = blocks(in[0], p.shape);
  if (p.bit_width == 64) return (convert(b.a, uint64) << 32) | convert(b.b, uint64);
  return p.bit_width == 32 ? b.a ^ b.b : convert(b.a ^ b.b, p.bit_width == 8 ? uint8 : uint16);
}

Jaxpr expand_random(const Eqn& eqn, std::span<const Aval> in) {
  const LocScope scope(eqn.loc);
  const Aval want = infer(*eqn.op, *eqn.params, in, eqn.loc)[0];
  return trace_jaxpr({std::string(eqn.op->name), {in.begin(), in.end()}, {}}, [&](std::span<const Array> operands) {
    const Array out = find_rule<RandomExpansionTransform>(*eqn.op)(*eqn.params, operands);
    return std::vector<Array>{out.shape() == want.shape ? out : broadcast_trailing(out, want.shape, eqn.loc)};
  });
}

}  // namespace weft::detail
