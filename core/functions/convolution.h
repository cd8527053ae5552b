// The user's convolutions and the padding of windows.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/base/function_ref.h"

namespace weft {

/// Padding of a window operation: "VALID" (none), "SAME" (so that there are ceil(size / stride) windows, the odd position behind),
/// "SAME_LOWER" (the odd position before), or the number of positions before and after each dimension; negative numbers cut off.
class Padding {
 public:
  Padding(const char* name);
  Padding(const std::string& name) : name_(name) {}
  Padding(std::initializer_list<std::pair<Int, Int>> per_axis) : widths_(per_axis.begin(), per_axis.end()) {}
  template <detail::WholeNumber A, detail::WholeNumber B>
  Padding(const std::vector<std::pair<A, B>>& per_axis, SourceLoc loc = SourceLoc::here()) {
    for (const auto& [before, after] : per_axis) widths_.emplace_back(Int(before, loc), Int(after, loc));
  }
  /// Empty where numbers are given.
  const std::string& name() const { return name_; }
  const std::vector<std::pair<std::int64_t, std::int64_t>>& widths() const { return widths_; }

 private:
  std::string name_;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths_;
};

/// The meaning of each dimension, one letter each: N the batch, C features, O and I the kernel's output and input features; any other
/// letter is a spatial dimension and occurs in all three. The default ones stand for batch or outputs first, then features, for any number
/// of dimensions.
struct ConvDimensionNumbers {
  std::string lhs = "NCHW";  ///< of x
  std::string rhs = "OIHW";  ///< of the kernel
  std::string out = "NCHW";  ///< of the result
  friend bool operator==(const ConvDimensionNumbers&, const ConvDimensionNumbers&) = default;
};
/// Options of conv_general_dilated.
struct ConvOptions {
  Shape lhs_dilation = {}, rhs_dilation = {};        ///< one for each spatial dimension: n - 1 holes between neighbours
  ConvDimensionNumbers dimension_numbers = {};       ///< what each dimension is
  Int feature_group_count = 1;                       ///< groups of features that are convolved each with its own outputs
  Int batch_group_count = 1;                         ///< groups of the batch that are convolved each with its own outputs
  std::optional<DType> preferred_element_type = {};  ///< of the sums and the result; absent: the operands' common dtype
};
/// jax.lax.conv_general_dilated: for each output position and output feature the sum of products of the kernel and the window of x there
/// (the kernel is not reversed). Operands of different dtypes are promoted. Sizes that don't fit are a ShapeError.
Array conv_general_dilated(Arg x, Arg kernel, Shape window_strides, Padding padding, ConvOptions options = {});
/// conv_general_dilated of (batch, features, spatial ...) and (outputs, features, spatial ...), without options.
Array conv(Arg x, Arg kernel, Shape window_strides, Padding padding);

/// Options of conv_transpose.
struct ConvTransposeOptions {
  Shape rhs_dilation = {};                                            ///< one for each spatial dimension of the kernel
  ConvDimensionNumbers dimension_numbers = {"NHWC", "HWIO", "NHWC"};  ///< the default: features last, for up to 3 spatial dimensions
  bool transpose_kernel = false;  ///< the kernel is reversed, its features are swapped: the gradient of conv in its operand
};
/// jax.lax.conv_transpose: a convolution of x with holes, `strides` times as large with "SAME".
Array conv_transpose(Arg x, Arg kernel, Shape strides, Padding padding, ConvTransposeOptions options = {});

/// The convolution of two vectors, as numpy.convolve: mode is "full", "same" or "valid".
Array convolve(Arg a, Arg v, TextArg mode = "full");
/// The cross-correlation of two vectors, v conjugated and not reversed, as numpy.correlate; the default mode is "valid".
Array correlate(Arg a, Arg v, TextArg mode = "valid");
/// Options of convolve, correlate, convolve2d and correlate2d.
struct ModeOption {
  detail::NamedFields named = detail::NamedFields();
  std::optional<std::string> mode = {};  ///< "full", "same" or "valid"; absent: the function's default
};
Array convolve(Arg a, Arg v, ModeOption options);
Array correlate(Arg a, Arg v, ModeOption options);

struct PoolOptions {
  Shape strides = {};         ///< of each spatial dimension; empty: 1
  Padding padding = "VALID";  ///< of the spatial dimensions
};
/// The maximum over windows of the spatial dimensions of (batch, spatial ..., features); the batch may be missing (flax.linen.max_pool).
Array max_pool(Arg x, Shape window, PoolOptions options = {});
/// The minimum over windows, as max_pool.
Array min_pool(Arg x, Shape window, PoolOptions options = {});
/// The mean over windows, as max_pool; padding counts as zeros.
Array avg_pool(Arg x, Shape window, PoolOptions options = {});
/// The same with strides and padding one after the other: `max_pool(x, {2, 2}, {2, 2})`.
Array max_pool(Arg x, Shape window, Shape strides, Padding padding = "VALID");
Array min_pool(Arg x, Shape window, Shape strides, Padding padding = "VALID");
Array avg_pool(Arg x, Shape window, Shape strides, Padding padding = "VALID");

/// Options of reduce_window.
struct ReduceWindowOptions {
  Shape base_dilation = {};    ///< for each dimension: n - 1 holes between neighbours of x
  Shape window_dilation = {};  ///< the same between the window's elements
};
namespace detail {
using Combine = FunctionRef<std::vector<Array>(const std::vector<Array>& a, const std::vector<Array>& b)>;
std::vector<Array> reduce_window_with(const std::vector<Arg>& xs, const std::vector<Arg>& init, Combine combine, const Shape& window,
                                      const Shape& strides, const Padding& padding, const ReduceWindowOptions& options);
std::vector<Array> reduce_with(const std::vector<Arg>& xs, const std::vector<Arg>& init, Combine combine, const Axis& dimensions);
}  // namespace detail

/// jax.lax.reduce_window: the elements under each window combined by `computation`, an associative function of two arrays, together with
/// `init`, its neutral element; window and strides have an entry for each dimension. Padding counts as `init`.
template <class F>
Array reduce_window(Arg x, Arg init, F computation, Shape window, Shape strides, Padding padding, ReduceWindowOptions options = {}) {
  auto combine = [&](const std::vector<Array>& a, const std::vector<Array>& b) { return std::vector<Array>{computation(a[0], b[0])}; };
  return detail::reduce_window_with({x}, {init}, combine, window, strides, padding, options)[0];
}
/// jax.lax.reduce: the elements along the dimensions combined by `computation`, an associative and commutative function of two arrays.
template <class F>
Array reduce(Arg x, Arg init, F computation, Axis dimensions) {
  auto combine = [&](const std::vector<Array>& a, const std::vector<Array>& b) { return std::vector<Array>{computation(a[0], b[0])}; };
  return detail::reduce_with({x}, {init}, combine, dimensions)[0];
}
/// A reduction of several arrays together: `computation` takes two lists, each with one value of each array, and returns such a list.
template <class F>
std::vector<Array> reduce(Args xs, Args init, F computation, Axis dimensions) {
  return detail::reduce_with(xs.args(), init.args(), computation, dimensions);
}

}  // namespace weft
