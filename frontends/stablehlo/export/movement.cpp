// Operations that move elements.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/export/spelling.h"

namespace weft::detail::mlir {
namespace {

/// The line of an operation of one result in a pretty form: `NAME operands, rest : types`.
Name pretty(ExportCall& c, std::string_view name, const Names& in, const std::string& rest, const Aval& out) {
  std::string operands;
  for (const Name& x : in) operands += (operands.empty() ? " " : ", ") + x.text;
  return c.block.line(
      fmt::format("{}{}{}{} : {}", name, operands, in.empty() || rest.empty() ? " " : ", ", rest, function_type(in, std::span(&out, 1))),
      std::span(&out, 1))[0];
}

const Spelling broadcast_spelling("broadcast_in_dim", [](ExportCall& c) -> Names {
  if (c.in[0].aval.shape == c.out[0].shape) return {c.in[0]};
  return {pretty(c, "stablehlo.broadcast_in_dim", c.in, "dims = [" + list_text(c.get<BroadcastInDimParams>().broadcast_dimensions) + "]",
                 c.out[0])};
});

Name transposed(ExportCall& c, const Name& x, const std::vector<int>& permutation) {
  Shape shape;
  for (const int d : permutation) shape.push_back(x.aval.shape[d]);
  return pretty(c, "stablehlo.transpose", {x}, "dims = [" + list_text(permutation) + "]", {shape, x.aval.dtype});
}
const Spelling transpose_spelling("transpose",
                                  [](ExportCall& c) -> Names { return {transposed(c, c.in[0], c.get<TransposeParams>().permutation)}; });
const Spelling reshape_spelling("reshape", [](ExportCall& c) -> Names {
  const auto& order = c.get<ReshapeParams>().dimensions;
  return {c.block.reshape(order ? transposed(c, c.in[0], *order) : c.in[0], c.out[0].shape)};
});
const Spelling squeeze_spelling("squeeze", [](ExportCall& c) -> Names { return {c.block.reshape(c.in[0], c.out[0].shape)}; });

Name slice(ExportCall& c, const Name& x, const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& limit,
           const std::vector<std::int64_t>& strides, const Aval& out) {
  std::string ranges;
  for (std::size_t d = 0; d < start.size(); ++d) {
    ranges += fmt::format("{}{}:{}", d ? ", " : "", start[d], limit[d]);
    if (strides[d] != 1) ranges += fmt::format(":{}", strides[d]);
  }
  return c.block.line(fmt::format("stablehlo.slice {} [{}] : {}", x.text, ranges, function_type({x}, std::span(&out, 1))),
                      std::span(&out, 1))[0];
}
const Spelling slice_spelling("slice", [](ExportCall& c) -> Names {
  const auto& p = c.get<SliceParams>();
  return {slice(c, c.in[0], p.start_indices, p.limit_indices, p.strides.value_or(std::vector<std::int64_t>(p.start_indices.size(), 1)),
                c.out[0])};
});
/// Positions [begin, end) along one dimension.
Name part_of(ExportCall& c, const Name& x, int axis, std::int64_t begin, std::int64_t end) {
  const Shape& shape = x.aval.shape;
  std::vector<std::int64_t> start(static_cast<std::size_t>(shape.size()), 0), limit(shape.begin(), shape.end()), strides(start.size(), 1);
  start[static_cast<std::size_t>(axis)] = begin, limit[static_cast<std::size_t>(axis)] = end;
  return slice(c, x, start, limit, strides, {shape.with(axis, end - begin), x.aval.dtype});
}
const Spelling split_spelling("split", [](ExportCall& c) -> Names {
  const auto& p = c.get<SplitParams>();
  Names parts;
  std::int64_t begin = 0;
  for (const std::int64_t n : p.sizes) parts.push_back(part_of(c, c.in[0], p.axis, begin, begin + n)), begin += n;
  return parts;
});
const Spelling unstack_spelling("unstack", [](ExportCall& c) -> Names {
  const int axis = c.get<StackParams>().axis;
  Names parts;
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    parts.push_back(c.block.reshape(part_of(c, c.in[0], axis, at, at + 1), c.out[i].shape));
  }
  return parts;
});

Name concatenated(ExportCall& c, const Names& xs, int dimension) {
  return pretty(c, "stablehlo.concatenate", xs, fmt::format("dim = {}", dimension), c.out[0]);
}
const Spelling concatenate_spelling("concatenate",
                                    [](ExportCall& c) -> Names { return {concatenated(c, c.in, c.get<ConcatenateParams>().dimension)}; });
const Spelling stack_spelling("stack", [](ExportCall& c) -> Names {
  const int axis = c.get<StackParams>().axis;
  Names rows;
  for (const Name& x : c.in) rows.push_back(c.block.reshape(x, x.aval.shape.inserted(axis, 1)));
  return {concatenated(c, rows, axis)};
});

const Spelling rev_spelling("rev", [](ExportCall& c) -> Names {
  return {pretty(c, "stablehlo.reverse", c.in, "dims = [" + list_text(c.get<RevParams>().dimensions) + "]", c.out[0])};
});

/// Each dimension behind a new one, along which it is repeated.
const Spelling tile_spelling("tile", [](ExportCall& c) -> Names {
  const auto& reps = c.get<TileParams>().reps;
  const Name& x = c.in[0];
  Shape apart;
  std::vector<int> dims;
  for (int d = 0; d < x.aval.ndim(); ++d) {
    apart.push_back(reps[static_cast<std::size_t>(d)]);
    dims.push_back(apart.size());
    apart.push_back(x.aval.shape[d]);
  }
  return {c.block.reshape(pretty(c, "stablehlo.broadcast_in_dim", {x}, "dims = [" + list_text(dims) + "]", {apart, x.aval.dtype}),
                          c.out[0].shape)};
});

const Spelling pad_spelling("pad", [](ExportCall& c) -> Names {
  std::vector<std::int64_t> low, high, interior;
  for (const PadDim& d : c.get<PadParams>().padding_config) low.push_back(d.low), high.push_back(d.high), interior.push_back(d.interior);
  return {pretty(c, "stablehlo.pad", c.in,
                 fmt::format("low = [{}], high = [{}], interior = [{}]", list_text(low), list_text(high), list_text(interior)), c.out[0])};
});

const Spelling iota_spelling("iota", [](ExportCall& c) -> Names {
  return {c.block.line(fmt::format("stablehlo.iota dim = {} : {}", c.get<IotaParams>().dimension, type_text(c.out[0])), c.out)[0]};
});

/// Positions, which are scalars of one dtype.
Names positions(ExportCall& c, std::size_t first) {
  Names all;
  DType wide = int32;
  for (std::size_t i = first; i < c.in.size(); ++i) wide = i == first ? c.in[i].aval.dtype : promote_types(wide, c.in[i].aval.dtype);
  if (!wide.is_integer()) wide = int64;
  for (std::size_t i = first; i < c.in.size(); ++i) all.push_back(converted(c, c.in[i], wide));
  return all;
}
const Spelling dynamic_slice_spelling("dynamic_slice", [](ExportCall& c) -> Names {
  Names operands{c.in[0]};
  for (Name& n : positions(c, 1)) operands.push_back(std::move(n));
  const Shape& sizes = c.get<DynamicSlice::Params>().slice_sizes;
  return {pretty(c, "stablehlo.dynamic_slice", operands, "sizes = [" + list_text(std::span(sizes.begin(), sizes.end())) + "]", c.out[0])};
});
const Spelling dynamic_update_slice_spelling("dynamic_update_slice", [](ExportCall& c) -> Names {
  Names operands{c.in[0], c.in[1]};
  for (Name& n : positions(c, 2)) operands.push_back(std::move(n));
  return {pretty(c, "stablehlo.dynamic_update_slice", operands, "", c.out[0])};
});

}  // namespace
}  // namespace weft::detail::mlir
