// Joining, splitting, padding and rearranging whole arrays, as jax.numpy does: block, array_split, rot90, pad modes, lax.pad.
#pragma once
#include <array>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/functions/shaping.h"

namespace weft {

/// At least one, two or three dimensions: dimensions of size 1 are added as in NumPy, in front (atleast_3d adds a matrix's at the end).
Array atleast_1d(Arg x);
Array atleast_2d(Arg x);
Array atleast_3d(Arg x);
/// transpose(x, axes).
Array permute_dims(Arg x, Axis axes);
/// Swaps the last two axes.
Array matrix_transpose(Arg x);
/// The axis moved to stand before the axis that is at `start`.
Array rollaxis(Arg x, AxisNumber axis, AxisNumber start = 0);
/// All arrays broadcast to their common shape. Throws ShapeError if there is none.
std::vector<Array> broadcast_arrays(Args xs);
template <std::convertible_to<Arg>... More>
std::vector<Array> broadcast_arrays(Arg x, Arg y, More... more) {
  return broadcast_arrays({x, y, more...});
}
/// The shape that arrays of these shapes are broadcast to. Throws ShapeError if there is none.
Shape broadcast_shapes(const std::vector<Shape>& shapes, SourceLoc loc = SourceLoc::here());
/// The elements with x's dimension i as dimension `broadcast_dimensions[i]` of the shape (jax.lax.broadcast_in_dim).
Array broadcast_in_dim(Arg x, Shape shape, Axis broadcast_dimensions);

/// b after a along an axis, or both flattened.
Array append(Arg a, Arg b, std::optional<AxisNumber> axis = {});
/// Stacks arrays along a third axis.
Array dstack(Args xs, SourceLoc loc = SourceLoc::here());
/// Joins matrices, and vectors as columns, side by side.
Array column_stack(Args xs, SourceLoc loc = SourceLoc::here());
/// Rows of blocks put together: `block({{a, b}, {c, d}})`.
Array block(const std::vector<std::vector<Array>>& rows, SourceLoc loc = SourceLoc::here());
/// The slices along an axis.
std::vector<Array> unstack(Arg x, AxisNumber axis = 0);
/// Splits along an axis into pieces; the first ones are longer by one if the size is not divisible.
std::vector<Array> array_split(Arg x, Sections sections, AxisNumber axis = 0);
std::vector<Array> array_split(Arg x, detail::NoSections) = delete;
/// split along axis 1; for a vector along axis 0.
std::vector<Array> hsplit(Arg x, Sections sections);
/// split along axis 0.
std::vector<Array> vsplit(Arg x, Sections sections);

/// The columns, or the rows, from the last to the first.
Array fliplr(Arg x);
Array flipud(Arg x);
/// Rotates the array by k times 90 degrees in the plane of two axes, from the first towards the second.
Array rot90(Arg x, Int k = 1, std::pair<AxisNumber, AxisNumber> axes = {0, 1});
/// roll by a number that may be traced; without an axis, of the flattened array.
Array roll_by(Arg x, const Array& shift, std::optional<AxisNumber> axis = {});
Array roll(Arg x, const std::same_as<Array> auto& shift, std::optional<AxisNumber> axis = {}) { return roll_by(std::move(x), shift, axis); }
/// Options of repeat.
struct RepeatOptions {
  std::optional<Int> total_repeat_length = {};  ///< the size of the result along the axis
};
/// Element i as many times as `counts` says for it, along an axis or of the flattened array. Traced counts need `total_repeat_length`: a
/// longer result is cut off, a shorter one padded with the last element.
Array repeat_by(Arg x, const Array& counts, std::optional<AxisNumber> axis = {}, RepeatOptions options = {});
Array repeat(Arg x, const std::same_as<Array> auto& counts, std::optional<AxisNumber> axis = {}, RepeatOptions options = {}) {
  return repeat_by(std::move(x), counts, axis, options);
}

/// Options of pad.
struct PadOptions {
  std::string mode = "constant";  ///< "constant", "edge", "reflect", "symmetric", "wrap", "maximum", "minimum" or "mean"
  double constant_values = 0;     ///< of mode "constant"
};
/// How many values jax.lax.pad puts before, behind and between the elements, for each axis.
class PaddingConfig {
 public:
  PaddingConfig(std::initializer_list<std::array<Int, 3>> axes) : axes_(axes) {}
  PaddingConfig(std::vector<std::array<Int, 3>> axes) : axes_(std::move(axes)) {}
  const std::vector<std::array<Int, 3>>& axes() const { return axes_; }

 private:
  std::vector<std::array<Int, 3>> axes_;
};
/// Pads x by one of NumPy's modes. Throws Error for an unknown mode, ShapeError if a mode needs an element of an empty
/// axis.
Array pad(Arg x, PadWidth width, PadOptions options);
// A template takes const char* alone; 0, a null pointer, would convert to it: `pad(x, 2, 0)` pads with zeros.
template <std::same_as<const char*> Mode>
Array pad(Arg x, PadWidth width, Mode mode) {
  return pad(std::move(x), std::move(width), PadOptions{.mode = mode});
}
/// A matrix with the elements of the flattened x on its k-th diagonal.
Array diagflat(Arg x, Int k = 0);
/// Pads x with `value` before, after and between the elements: three numbers for each axis; the first two may be negative, to crop
/// (jax.lax.pad).
Array pad(Arg x, Arg value, const PaddingConfig& config);

}  // namespace weft
