#include "weft/core/ops/elementwise/bitcast.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

DType unsigned_of_size(int bytes) { return bytes == 1 ? uint8 : bytes == 2 ? uint16 : bytes == 4 ? uint32 : uint64; }
bool is_number(DType t) { return t.is_integer() || t.is_floating(); }

/// Converts through unsigned integers, lowest part first (little-endian).
Array between_sizes(const Array& x, DType dtype) {
  const int from = x.dtype().itemsize(), to = dtype.itemsize(), small = std::min(from, to), count = std::max(from, to) / small;
  const Array bits = bitcast_elements(x, unsigned_of_size(from), {});
  if (to < from) {
    const Array amount = iota(bits.dtype(), Shape{count}, 0) * (8 * small);
    return bitcast_elements(convert(shift_right_logical(expand_dims(bits, bits.ndim()), amount), unsigned_of_size(to)), dtype, {});
  }
  const Array amount = iota(unsigned_of_size(to), Shape{count}, 0) * (8 * small);
  return bitcast_elements(reduce_sum(convert(bits, unsigned_of_size(to)) << amount, {x.ndim() - 1}, {}), dtype, {});
}

struct BitcastBetweenSizes {
  static constexpr std::string_view name = "bitcast_convert_parts",
                                    doc = "The same bits as a dtype of another size; the parts of an element are along the last dimension.";
  static constexpr Kind kind = Kind::call;
  static constexpr int num_operands = 1;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = BitcastParams;
  static Aval abstract_eval(const OpContext& c) {
    const Aval& x = c.in[0];
    const DType to = c.get<Params>().new_dtype;
    if (!is_number(x.dtype) || !is_number(to) || x.dtype.itemsize() == to.itemsize())
      c.fail<DTypeError>("can't give " + std::string(to.name()), "both are integer or floating dtypes, of different sizes");
    const int from = x.dtype.itemsize(), count = std::max(from, to.itemsize()) / std::min(from, to.itemsize());
    if (to.itemsize() < from) return {x.shape.inserted(x.ndim(), count), to, false};
    if (x.ndim() == 0 || x.shape.back() != count)
      c.fail<ShapeError>(fmt::format("can't give {}", to.name()), fmt::format("it takes a last dimension of size {}", count));
    return {x.shape.erased(x.ndim() - 1), to, false};
  }
  static Jaxpr call_body(const ParamsBase& params, std::span<const Aval> in) {
    return trace_jaxpr({std::string(name), {in.begin(), in.end()}, {}}, [&](std::span<const Array> args) {
      return std::vector<Array>{between_sizes(args[0], params_as<Params>(params).new_dtype)};
    });
  }
  static BatchResult batch(const BatchContext& c) {
    // Under a named vmap the batching rule is called even if no operand is mapped, as for calls that may contain collectives.
    if (c.dims[0] == kNotMapped) return {bind_primitive(c.op, c.params, std::vector{c.in[0]}, c.loc), {kNotMapped}};
    return {bind_primitive(c.op, c.params, std::vector{move_batch_dim(c.in[0], c.dims[0], 0, c.loc)}, c.loc), {0}};
  }
};

const TextRule<BitcastBetweenSizes> bitcast_text([] { return TextTraits{.name = kBitcastName}; });

}  // namespace

const Primitive& bitcast_between_sizes() { return primitive_of<BitcastBetweenSizes>; }

PrimitiveList bitcast_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<BitcastBetweenSizes>};
  return list;
}

}  // namespace weft::detail

namespace weft {

using namespace detail;

Array bitcast_convert(Arg x, DType dtype) {
  const LocScope scope(x.where());
  const Array v = x.array();
  if (v.dtype().itemsize() == dtype.itemsize() || !is_number(v.dtype()) || !is_number(dtype)) return bitcast_elements(v, dtype, x.where());
  return bind_one<BitcastBetweenSizes>({.new_dtype = dtype}, {v}, x.where());
}

}  // namespace weft
