// Operations that move elements without computing with them: their parameters, and functions that apply them, for use in rules.
// Unlike the public functions of core/functions/shaping.h these take non-negative axes and do nothing where there is nothing to do.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct BroadcastInDimParams {
  std::vector<int> broadcast_dimensions;  ///< for each operand dimension, the result's; strictly increasing
  Shape shape;                            ///< of the result
  friend bool operator==(const BroadcastInDimParams&, const BroadcastInDimParams&) = default;
};
struct ReshapeParams {
  std::optional<std::vector<int>> dimensions;  ///< the order in which the operand's dimensions are read; absent: as they are
  Shape new_sizes;
  friend bool operator==(const ReshapeParams&, const ReshapeParams&) = default;
};
struct TransposeParams {
  std::vector<int> permutation;  ///< for each result dimension, the operand's
  friend bool operator==(const TransposeParams&, const TransposeParams&) = default;
};
struct SqueezeParams {
  std::vector<int> dimensions;
  friend bool operator==(const SqueezeParams&, const SqueezeParams&) = default;
};
struct SliceParams {
  std::vector<std::int64_t> limit_indices, start_indices;
  std::optional<std::vector<std::int64_t>> strides;  ///< absent: all 1
  friend bool operator==(const SliceParams&, const SliceParams&) = default;
};
struct RevParams {
  std::vector<int> dimensions;
  friend bool operator==(const RevParams&, const RevParams&) = default;
};
struct TileParams {
  std::vector<std::int64_t> reps;  ///< for each dimension
  friend bool operator==(const TileParams&, const TileParams&) = default;
};
struct SplitParams {
  int axis = 0;
  std::vector<std::int64_t> sizes;
  friend bool operator==(const SplitParams&, const SplitParams&) = default;
};
/// Of stack and unstack: the dimension that the operands become, or that becomes the results.
struct StackParams {
  int axis = 0;
  friend bool operator==(const StackParams&, const StackParams&) = default;
};
struct ConcatenateParams {
  int dimension = 0;
  friend bool operator==(const ConcatenateParams&, const ConcatenateParams&) = default;
};
/// What pad does to one dimension: fill values before, after (negative: elements are cut off) and between neighbours.
struct PadDim {
  std::int64_t low = 0, high = 0, interior = 0;
  friend bool operator==(const PadDim&, const PadDim&) = default;
};
using PaddingConfig = std::vector<PadDim>;
std::string print_param(const PaddingConfig& v);
void read_param(ParamReader& r, PaddingConfig& v);
struct PadParams {
  PaddingConfig padding_config;
  friend bool operator==(const PadParams&, const PadParams&) = default;
};
struct IotaParams {
  int dimension = 0;
  DType dtype = int32;
  Shape shape;
  friend bool operator==(const IotaParams&, const IotaParams&) = default;
};

Array broadcast_in_dim(const Array& x, const Shape& shape, const std::vector<int>& broadcast_dimensions, SourceLoc loc);
/// A scalar, or an array that fits at the end of `shape` as in NumPy, to that shape.
Array broadcast_trailing(const Array& x, const Shape& shape, SourceLoc loc);
Array reshape_to(const Array& x, const Shape& shape, SourceLoc loc);
Array permute(const Array& x, const std::vector<int>& permutation, SourceLoc loc);
/// Axis `from` comes to be at `to`, the others keep their order.
Array move_axis(const Array& x, int from, int to, SourceLoc loc);
Array squeeze_axes(const Array& x, const std::vector<int>& axes, SourceLoc loc);
/// With dimensions of size 1 that are at `axes` in the result, which are increasing.
Array insert_axes(const Array& x, const std::vector<int>& axes, SourceLoc loc);
Array slice_range(const Array& x, const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& limit,
                  const std::vector<std::int64_t>& strides, SourceLoc loc);
/// Positions [begin, end) of one axis.
Array slice_axis(const Array& x, int axis, std::int64_t begin, std::int64_t end, SourceLoc loc);
Array reverse(const Array& x, const std::vector<int>& axes, SourceLoc loc);
Array pad_with(const Array& x, const Array& fill, const PaddingConfig& config, SourceLoc loc);
Array concatenate_along(std::span<const Array> xs, int axis, SourceLoc loc);
Array stack_along(std::span<const Array> xs, int axis, SourceLoc loc);
std::vector<Array> split_along(const Array& x, const std::vector<std::int64_t>& sizes, int axis, SourceLoc loc);
std::vector<Array> unstack_along(const Array& x, int axis, SourceLoc loc);
Array tile_by(const Array& x, const std::vector<std::int64_t>& reps, SourceLoc loc);
Array iota_array(DType dtype, const Shape& shape, int dimension, SourceLoc loc);
/// All elements equal to a scalar.
Array fill_shape(const Array& scalar, const Shape& shape, SourceLoc loc);

/// Whether a movement (not a reshape) keeps the elements' row-major order: all of them, each once or repeated.
bool keeps_order(const Movement& m, const Shape& in, const Shape& out);
/// The permutation that the equation's one movement is; nothing if it is another one.
std::optional<std::vector<int>> permutation_of(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out);

}  // namespace weft::detail
