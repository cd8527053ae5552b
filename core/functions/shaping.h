// The user's functions that move elements.
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft {

// Functions that move elements without computing with them. Negative axes count from the end; an axis that is not there is an AxisError.

/// The same elements in row-major order. One size may be -1, and is inferred. Throws ShapeError if the numbers of elements differ.
Array reshape(Arg x, Shape shape);
/// The axes in the given order, or reversed. Throws AxisError unless each axis is named once.
Array transpose(Arg x, Axis permutation);
inline Array transpose(Arg x) { return transpose(std::move(x), none); }
/// x with two axes interchanged.
Array swapaxes(Arg x, AxisNumber a, AxisNumber b);
/// x with the axes `source` moved to the positions `destination`; the other axes keep their order.
Array moveaxis(Arg x, Axis source, Axis destination);
/// x without the given axes, or without all axes of size 1. Throws ShapeError if one has another size.
Array squeeze(Arg x, Axis axis);
inline Array squeeze(Arg x) { return squeeze(std::move(x), none); }
/// x with axes of size 1 inserted at the positions `axis` of the result.
Array expand_dims(Arg x, Axis axis);
/// x flattened to one dimension, in row-major order.
Array ravel(Arg x);
/// x broadcast to a shape as in NumPy: elements are repeated along leading dimensions that x lacks and where its size is 1.
Array broadcast_to(Arg x, Shape shape);
/// The arrays joined along an axis; their sizes may differ in that axis only. dtypes are promoted.
Array concatenate(Args xs, AxisNumber axis = 0, SourceLoc loc = SourceLoc::here());
/// The arrays joined along a new axis; all have one shape. dtypes are promoted.
Array stack(Args xs, AxisNumber axis = 0, SourceLoc loc = SourceLoc::here());

#define WEFT_ARRAYS_IN_BRACES(name)                                                         \
  template <std::same_as<Array> A, class... More>                                           \
  Array name(const A&, const Array&, const More&...) {                                      \
    static_assert(!sizeof(A), "weft: the arrays stand in braces: " #name "({x, y}, axis)"); \
    return {};                                                                              \
  }
WEFT_ARRAYS_IN_BRACES(concatenate)
WEFT_ARRAYS_IN_BRACES(stack)
#undef WEFT_ARRAYS_IN_BRACES

/// The parameter of split: a number of equal sections, or the indices at which to cut.
class Sections {
 public:
  template <detail::WholeNumber T>
  Sections(T n, SourceLoc loc = SourceLoc::here()) : count_(Int(n, loc)) {}
  Sections(std::initializer_list<Int> at) : cuts_(at.begin(), at.end()) {}
  template <detail::WholeNumbers R>
  Sections(const R& at, SourceLoc loc = SourceLoc::here()) : cuts_(detail::whole_numbers(at, loc)) {}
  /// The number of equal sections, absent where indices are given.
  std::optional<std::int64_t> count() const { return count_; }
  const std::vector<std::int64_t>& cuts() const { return cuts_; }

 private:
  std::optional<std::int64_t> count_;
  std::vector<std::int64_t> cuts_;
};
namespace detail {
/// What g++ would take for sections: `split(x, {.axis = 1})` doesn't say where to cut.
struct NoSections {
  NamedFields named = NamedFields();
  AxisNumber axis = 0;
};
}  // namespace detail
/// Consecutive pieces along an axis. Throws ShapeError if the axis can't be cut into that many equal sections.
std::vector<Array> split(Arg x, Sections sections, AxisNumber axis = 0);
std::vector<Array> split(Arg x, detail::NoSections) = delete;

/// The number of values to add before and after each axis: one number for all, one pair for all axes, or a pair for each axis.
class PadWidth {
 public:
  template <detail::WholeNumber T>
  PadWidth(T every, SourceLoc loc = SourceLoc::here()) : widths_{{Int(every, loc), Int(every, loc)}} {}
  PadWidth(Int before, Int after) : widths_{{before, after}} {}
  PadWidth(std::initializer_list<std::pair<Int, Int>> per_axis) : widths_(per_axis.begin(), per_axis.end()) {}
  template <detail::WholeNumber A, detail::WholeNumber B>
  PadWidth(const std::vector<std::pair<A, B>>& per_axis, SourceLoc loc = SourceLoc::here()) {
    for (const auto& [before, after] : per_axis) widths_.emplace_back(Int(before, loc), Int(after, loc));
  }
  /// Before and after each axis; a single pair stands for all axes.
  const std::vector<std::pair<std::int64_t, std::int64_t>>& widths() const { return widths_; }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> widths_;
};
/// x with `value` (converted to x's dtype) around the elements, as jnp.pad's mode "constant".
Array pad(Arg x, PadWidth width, Arg value = 0);
/// x reversed along the axes.
Array flip(Arg x, Axis axis);
inline Array flip(Arg x) { return flip(std::move(x), none); }
/// x with each element moved by `shift` positions, the last ones to the front. `shift` has one number for each axis, or one for all.
/// Without an axis the flattened array is rolled.
Array roll(Arg x, Shape shift, Axis axis = none);
/// x with each element repeated n times in a row along an axis; without an axis, the flattened array.
Array repeat(Arg x, Int n, std::optional<AxisNumber> axis = {});
/// The whole array repeated along each axis; whichever of x and reps has fewer dimensions is given leading ones of 1.
Array tile(Arg x, Shape reps);

}  // namespace weft
