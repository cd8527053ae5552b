// Masks of attention from lengths and windows; variances of initial weights from axes.
#include "weft/library/nn/nn_arguments.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/library/nn/initial_variance.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace {

/// Lengths, one for each of the batch, as (batch, 1, 1, 1).
Array lengths_of(const Array& lengths, std::int64_t batch, const char* name, SourceLoc loc) {
  if (!lengths.dtype().is_integer())
    throw DTypeError(fmt::format("dot_product_attention: {} are {}; they must be integers", name, to_string(lengths.aval())),
                     detail::effective_loc(loc));
  if (lengths.shape() != Shape{batch})
    throw ShapeError(fmt::format("dot_product_attention: {} are {}; they must be {}, one for each of the batch", name,
                                 to_string(lengths.aval()), to_string(Shape{batch})),
                     detail::effective_loc(loc));
  return reshape(lengths, {batch, 1, 1, 1});
}

}  // namespace

Array detail::attention_to_parts(Arg q, Arg k, Arg v, nn::AttentionArguments arguments) {
  const SourceLoc loc = q.where();
  LocScope scope(loc);
  const int rank = q.array().ndim();
  std::optional<Array> mask = arguments.mask, there;
  // Shapes that can't be are left to the function itself.
  if ((rank == 3 || rank == 4) && k.array().ndim() == rank) {
    const std::int64_t batch = rank == 4 ? q.array().shape()[0] : 1, t = q.array().shape()[rank - 3], s = k.array().shape()[rank - 3];
    const Array at = reshape(arange(t), {1, 1, t, 1}), seen = reshape(arange(s), {1, 1, 1, s});
    const auto restrict_to = [&](const Array& here) { mask = mask ? *mask & here : here; };
    if (const auto& lengths = arguments.key_value_seq_lengths)
      restrict_to(seen < lengths_of(*lengths, batch, "key_value_seq_lengths", loc));
    if (const auto& window = arguments.local_window_size) restrict_to((at <= seen + window->left()) & (at >= seen - window->right()));
    if (mask && rank == 3 && mask->ndim() == 4) mask = squeeze(*mask, 0);
    if (const auto& lengths = arguments.query_seq_lengths) {
      there = reshape(arange(t), {1, t, 1, 1}) < lengths_of(*lengths, batch, "query_seq_lengths", loc);
      if (rank == 3) there = squeeze(*there, 0);
    }
  }
  const Array out = nn::dot_product_attention(
      q, k, v, nn::AttentionOptions{.is_causal = arguments.is_causal, .scale = arguments.scale, .bias = arguments.bias, .mask = mask});
  return there ? where(*there, out, 0) : out;
}

namespace nn::initializers {

namespace {

double product_along(const Axis& axes, const Shape& shape, SourceLoc loc) {
  double n = 1;
  for (int axis : axes.axes())
    n *= static_cast<double>(
        shape[weft::detail::normalize_axis(axis, shape.size(), "variance_scaling", weft::detail::Aval(shape, float32), loc)]);
  return n;
}

}  // namespace

FanInitializer::FanInitializer(double scale, std::string mode, std::string distribution, FanAxes axes, SourceLoc loc)
    : scale_(scale), mode_(std::move(mode)), distribution_(std::move(distribution)), axes_(std::move(axes)) {
  weft::detail::variance_words(scale_, mode_, distribution_, loc);
}
Array FanInitializer::operator()(Arg key, Shape shape, std::optional<DType> dtype) const {
  const SourceLoc loc = key.where();
  LocScope scope(loc);
  const double in = product_along(axes_.in_axis, shape, loc), out = product_along(axes_.out_axis, shape, loc);
  const double batch = axes_.batch_axis ? product_along(*axes_.batch_axis, shape, loc) : 1;
  const double window = shape.num_elements() == 0 ? 0 : static_cast<double>(shape.num_elements()) / (in * out * batch);
  const weft::detail::VarianceWords words = weft::detail::variance_words(scale_, mode_, distribution_, loc);
  const double variance = weft::detail::standard([&] { return scale_ / weft::detail::fan_of(words.fan, in * window, out * window); });
  return weft::detail::draw_of_variance(words.kind, variance, key, shape, dtype.value_or(axes_.dtype));
}

FanInitializer variance_scaling(double scale, const std::string& mode, const std::string& distribution, FanAxes axes, SourceLoc loc) {
  return FanInitializer(scale, mode, distribution, std::move(axes), loc);
}
FanInitializer glorot_normal(FanAxes axes, SourceLoc loc) { return {1, "fan_avg", "truncated_normal", std::move(axes), loc}; }
FanInitializer glorot_uniform(FanAxes axes, SourceLoc loc) { return {1, "fan_avg", "uniform", std::move(axes), loc}; }
FanInitializer xavier_normal(FanAxes axes, SourceLoc loc) { return glorot_normal(std::move(axes), loc); }
FanInitializer xavier_uniform(FanAxes axes, SourceLoc loc) { return glorot_uniform(std::move(axes), loc); }
FanInitializer lecun_normal(FanAxes axes, SourceLoc loc) { return {1, "fan_in", "truncated_normal", std::move(axes), loc}; }
FanInitializer lecun_uniform(FanAxes axes, SourceLoc loc) { return {1, "fan_in", "uniform", std::move(axes), loc}; }
FanInitializer he_normal(FanAxes axes, SourceLoc loc) { return {2, "fan_in", "truncated_normal", std::move(axes), loc}; }
FanInitializer he_uniform(FanAxes axes, SourceLoc loc) { return {2, "fan_in", "uniform", std::move(axes), loc}; }
FanInitializer kaiming_normal(FanAxes axes, SourceLoc loc) { return he_normal(std::move(axes), loc); }
FanInitializer kaiming_uniform(FanAxes axes, SourceLoc loc) { return he_uniform(std::move(axes), loc); }

}  // namespace nn::initializers
}  // namespace weft
