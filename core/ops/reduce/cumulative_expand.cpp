#include "weft/core/ops/reduce/cumulative_expand.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/reduce/reduction_identity.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kLong = 1 << 18;                     // elements of all
constexpr std::int64_t kFewest = 1 << 12, kMost = 1 << 16;  // elements of a chunk
constexpr std::int64_t kBeside = 16;                        // rows that are short enough of neighbours to be cut

Array reduced(Combiner c, const Array& x, int axis) {
  switch (c) {
    case Combiner::prod: return reduce_prod(x, {axis});
    case Combiner::max: return reduce_max(x, {axis});
    case Combiner::min: return reduce_min(x, {axis});
    default: return reduce_sum(x, {axis});
  }
}
Array running(Combiner c, const Array& x, int axis, bool reverse) {
  switch (c) {
    case Combiner::prod: return cumulative_prod(x, axis, reverse);
    case Combiner::max: return cumulative_max(x, axis, reverse);
    case Combiner::min: return cumulative_min(x, axis, reverse);
    default: return cumulative_sum(x, axis, reverse);
  }
}

/// The largest divisor of the length within the limits; 0 if there is none.
std::int64_t chunk_of(std::int64_t length) {
  for (std::int64_t chunk = kMost; chunk >= kFewest; --chunk)
    if (length % chunk == 0) return chunk;
  return 0;
}

}  // namespace

std::optional<Jaxpr> expand_cumulative(const Eqn& eqn, std::span<const Aval> in) {
  const DType dtype = in[0].dtype;
  if (!eqn.op->combiner || *eqn.op->combiner == Combiner::logsumexp || dtype.is_bool() || dtype.is_complex()) return {};
  const Combiner c = *eqn.op->combiner;
  if (c != Combiner::sum && c != Combiner::prod && c != Combiner::max && c != Combiner::min) return {};
  const auto& [axis, reverse] = params_as<CumulativeParams>(*eqn.params);
  const std::int64_t length = in[0].shape[axis];
  if (in[0].size() < kLong || in[0].size() > kBeside * length) return {};
  const std::int64_t chunk = chunk_of(length);
  if (chunk == 0 || chunk == length) return {};
  const LocScope scope(eqn.loc);
  return trace_jaxpr({std::string(eqn.op->name), {in.begin(), in.end()}, {}}, [&](std::span<const Array> x) {
    const bool half = dtype == float16 || dtype == bfloat16;  // rounded once
    const Array from = half ? convert(x[0], float32) : x[0];
    Shape split;
    PaddingConfig shift;
    for (int d = 0; d < in[0].ndim(); ++d) {
      split.push_back(d == axis ? length / chunk : in[0].shape[d]);
      shift.push_back(d != axis ? PadDim{} : reverse ? PadDim{-1, 1, 0} : PadDim{1, -1, 0});
      if (d == axis) split.push_back(chunk);
    }
    const Array chunks = reshape_to(from, split, {});
    const Array before = pad_with(running(c, reduced(c, chunks, axis + 1), axis, reverse), identity_of(c, from.dtype()), shift, {});
    std::vector<int> kept;  // dimensions but that within chunks
    for (int d = 0; d < split.size(); ++d)
      if (d != axis + 1) kept.push_back(d);
    // Each chunk starts from the total of the chunks before it.
    const Array first = iota_array(int32, split, axis + 1, {}) == make_literal(Number(reverse ? chunk - 1 : 0), int32);
    const Array begun = where(first, combine_arrays(c, broadcast_in_dim(before, split, kept, {}), chunks), chunks);
    const Array all = running(c, begun, axis + 1, reverse);
    return std::vector<Array>{convert(reshape_to(all, in[0].shape, {}), dtype)};
  });
}

}  // namespace weft::detail
