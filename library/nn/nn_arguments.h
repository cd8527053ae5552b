// Arguments of jax.nn's functions that few programs need: attention to parts of the sequences, initial weights whose inputs and outputs lie
// along axes of one's own.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/optional_shape.h"
#include "weft/library/nn/nn.h"
#include "weft/library/nn/nn_initializers.h"

namespace weft::nn {
struct AttentionArguments;
}  // namespace weft::nn
namespace weft::detail {
Array attention_to_parts(Arg q, Arg k, Arg v, nn::AttentionArguments arguments);
}  // namespace weft::detail

namespace weft::nn {

/// How many positions to the left and to the right of its own a position sees; one number for both.
class WindowSize {
 public:
  WindowSize(weft::detail::WholeNumber auto both) : left_(both), right_(both) {}
  WindowSize(Int left, Int right) : left_(left), right_(right) {}
  std::int64_t left() const { return left_; }
  std::int64_t right() const { return right_; }

 private:
  std::int64_t left_, right_;
};
/// The arguments of dot_product_attention by name, in JAX's order.
struct AttentionArguments {
  detail::NamedFields named = detail::NamedFields();
  std::optional<Array> bias = {};                    ///< as of AttentionOptions
  std::optional<Array> mask = {};                    ///< as of AttentionOptions
  std::optional<double> scale = {};                  ///< as of AttentionOptions
  bool is_causal = false;                            ///< as of AttentionOptions
  std::optional<Array> query_seq_lengths = {};       ///< of each q of the batch, integers: positions behind it give 0
  std::optional<Array> key_value_seq_lengths = {};   ///< of each k of the batch: positions behind it are not seen
  std::optional<WindowSize> local_window_size = {};  ///< how far a position sees
};
/// Attention to parts of the sequences: `dot_product_attention(q, k, v, {.key_value_seq_lengths = lengths})`. A position that sees nothing
/// gives the mean of v, as in JAX. Throws ShapeError for lengths that are not one for each of the batch, DTypeError for others than
/// integers.
Array dot_product_attention(Arg q, Arg k, Arg v, AttentionArguments arguments, weft::detail::Nothing auto...) {
  return weft::detail::attention_to_parts(std::move(q), std::move(k), std::move(v), std::move(arguments));
}

namespace initializers {

/// Where the inputs and outputs of a layer lie in its weights.
struct FanAxes {
  detail::NamedFields named = detail::NamedFields();
  Axis in_axis = -2;                    ///< the axes of the inputs
  Axis out_axis = -1;                   ///< the axes of the outputs
  std::optional<Axis> batch_axis = {};  ///< axes along which layers are stacked; the others are a convolution's window
  DType dtype = float32;                ///< of the weights where the call names none
};
/// An initializer whose axes are given.
class FanInitializer {
 public:
  FanInitializer(double scale, std::string mode, std::string distribution, FanAxes axes, SourceLoc loc);
  /// The weights, of this shape and dtype. Throws AxisError for an axis that the shape hasn't got.
  Array operator()(Arg key, Shape shape, std::optional<DType> dtype = {}) const;

 private:
  double scale_;
  std::string mode_, distribution_;
  FanAxes axes_;
};
/// variance_scaling with axes: `variance_scaling(1, "fan_in", "normal", {.in_axis = {0, 1}, .out_axis = 2})`.
FanInitializer variance_scaling(double scale, const std::string& mode, const std::string& distribution, FanAxes axes,
                                SourceLoc loc = SourceLoc::here());
/// The initializers of variance_scaling with axes: `he_normal({.in_axis = 0, .out_axis = 1})`.
FanInitializer glorot_normal(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer glorot_uniform(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer xavier_normal(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer xavier_uniform(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer lecun_normal(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer lecun_uniform(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer he_normal(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer he_uniform(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer kaiming_normal(FanAxes axes, SourceLoc loc = SourceLoc::here());
FanInitializer kaiming_uniform(FanAxes axes, SourceLoc loc = SourceLoc::here());

}  // namespace initializers
}  // namespace weft::nn
