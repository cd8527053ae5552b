// Gather and scatter as XLA has them, below NumPy's indexing.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft {

/// How a gather's operands fit together (XLA's Gather). The last dimension of the indices holds, for each window, its start along the
/// dimensions of `start_index_map`. `offset_dims` are the result's dimensions that the windows span; its others are the indices'. The
/// window's dimensions in `collapsed_slice_dims` have size 1 and are dropped. `operand_batching_dims` run along with
/// `start_indices_batching_dims`.
struct GatherDimensionNumbers {
  std::vector<int> offset_dims = {}, collapsed_slice_dims = {}, start_index_map = {}, operand_batching_dims = {},
                   start_indices_batching_dims = {};
  friend bool operator==(const GatherDimensionNumbers&, const GatherDimensionNumbers&) = default;
};
/// The same for a scatter, whose updates are laid out as the gather's result: `update_window_dims` are its offset_dims,
/// `inserted_window_dims` its collapsed_slice_dims, `scatter_dims_to_operand_dims` its start_index_map.
struct ScatterDimensionNumbers {
  std::vector<int> update_window_dims = {}, inserted_window_dims = {}, scatter_dims_to_operand_dims = {}, operand_batching_dims = {},
                   scatter_indices_batching_dims = {};
  friend bool operator==(const ScatterDimensionNumbers&, const ScatterDimensionNumbers&) = default;
};

/// What happens where an index is out of bounds (the `mode` of jax.numpy's `at[...]` and take).
struct IndexOptions {
  std::string mode = {};  ///< "fill" reads fill_value, "drop" leaves out an update (the same mode), "clip" takes the nearest position,
                          ///< "wrap" (take only) counts on from the other end, "promise_in_bounds" says that there is no such index
  std::optional<double> fill_value = {};  ///< read in mode "fill"; absent: NaN, the lowest integer, the highest unsigned one
};

/// The elements of x at an index, to be read, or replaced in a copy: result of `x.at(...)`. The value is converted to x's dtype, which must
/// be of its kind (a float is not an update of an int array: DTypeError), and broadcast to the indexed shape (ShapeError if it can't be).
/// Positions that are repeated are updated repeatedly; positions out of bounds are not updated.
class AtIndex {
#define WEFT_UPDATE [[nodiscard("weft: an array is a value and stays as it is: write x = x.at(i).set(v), x = x.at(i).add(v), ...")]]
 public:
  AtIndex(const Array& x, std::vector<Index> indices, SourceLoc loc) : x_(x), indices_(std::move(indices)), loc_(loc) {}
  WEFT_UPDATE Array set(Arg v, IndexOptions options = {}) const;
  WEFT_UPDATE Array add(Arg v, IndexOptions options = {}) const;
  WEFT_UPDATE Array subtract(Arg v, IndexOptions options = {}) const;
  WEFT_UPDATE Array multiply(Arg v, IndexOptions options = {}) const;
  WEFT_UPDATE Array mul(Arg v, IndexOptions options = {}) const { return multiply(std::move(v), std::move(options)); }
  /// True division: the result is floating.
  WEFT_UPDATE Array divide(Arg v, IndexOptions options = {}) const;
  /// The elements to the power v, of x's dtype.
  WEFT_UPDATE Array power(Arg v, IndexOptions options = {}) const;
  WEFT_UPDATE Array min(Arg v, IndexOptions options = {}) const;
  WEFT_UPDATE Array max(Arg v, IndexOptions options = {}) const;
  /// The elements f(x[i]), where f is a function of an array and elementwise.
  WEFT_UPDATE Array apply(const auto& f, IndexOptions options = {}) const { return set(f(get(options)), options); }
  /// The same as indexing x; the options say what is read out of bounds.
  Array get(IndexOptions options = {}) const;
#undef WEFT_UPDATE

 private:
  Array x_;
  std::vector<Index> indices_;
  SourceLoc loc_;
};

/// The elements (rows, ...) at `indices` along an axis, or of x flattened where the axis is `{}`. Negative indices count from the end;
/// where an index is out of bounds the result is NaN (for integers the lowest, for unsigned the highest value), as jnp.take. Shape: x's
/// with the axis replaced by the indices' shape. Throws AxisError, DTypeError where the indices are not integers.
Array take(Arg x, Arg indices, std::optional<AxisNumber> axis = {}, IndexOptions options = {});
/// Options of take and take_along_axis: the axis and the fields of IndexOptions.
struct TakeOptions {
  std::optional<AxisNumber> axis = {};    ///< along which; absent: take flattens x, take_along_axis takes the last one
  std::string mode = {};                  ///< as IndexOptions::mode
  std::optional<double> fill_value = {};  ///< as IndexOptions::fill_value
};
// A template, so that {} is an axis.
template <std::same_as<TakeOptions> O = TakeOptions>
Array take(Arg x, Arg indices, O o) {
  return take(std::move(x), std::move(indices), o.axis, {std::move(o.mode), o.fill_value});
}
/// One element for each index, along an axis, by `none` of the flattened x; the other dimensions are those of x and of the indices,
/// broadcast together. Out of bounds as take.
Array take_along_axis(Arg x, Arg indices, AxisNumber axis = -1, IndexOptions options = {});
Array take_along_axis(Arg x, Arg indices, None axis);
inline Array take_along_axis(Arg x, Arg i, TakeOptions o) { return take_along_axis(x, i, o.axis.value_or(-1), {o.mode, o.fill_value}); }
/// lax.gather: windows of `slice_sizes` at the given starts; NaN (see take) where a window is not wholly inside, or what the options say.
Array gather(Arg x, Arg start_indices, GatherDimensionNumbers dimension_numbers, Shape slice_sizes, IndexOptions options = {});
/// lax.scatter: x with windows replaced by the updates; windows that are not wholly inside are left out, or moved inside (mode "clip").
Array scatter(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers, IndexOptions options = {});
/// lax.scatter_add: x with the updates added.
Array scatter_add(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers, IndexOptions options = {});
/// The window of the given sizes that begins at `start`, one scalar for each dimension; a negative start counts from the end. The window is
/// moved to be inside x, as lax.dynamic_slice does.
Array dynamic_slice(Arg x, Args start, Shape sizes);
/// x with the window that begins at `start` replaced by `update`, of x's dtype and rank; moved to be inside x.
Array dynamic_update_slice(Arg x, Arg update, Args start);
/// A new last axis of size `num_classes` with a one at the position that x gives, zeros elsewhere; all zeros where x is out of range.
Array one_hot(Arg x, Int num_classes, DType dtype = float32);

}  // namespace weft
