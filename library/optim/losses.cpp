#include "weft/library/optim/losses.h"

#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/nn/nn.h"
#include "weft/library/numpy/numpy.h"

namespace weft::optim {

using detail::LocScope;

namespace {

/// The norm along the last axis, whose derivative at 0 is 0.
Array row_norm(const Array& x, double epsilon) {
  const Array squares = sum(square(abs(detail::as_wide(x))), -1, {.keepdims = true}), positive = squares > 0;
  return detail::as_dtype(maximum(where(positive, sqrt(where(positive, squares, 1)), 0), epsilon), x.dtype().real_part());
}

}  // namespace

Array squared_error(Arg predictions, Arg targets) {
  LocScope scope(predictions.where());
  return square(detail::to_inexact(predictions) - targets);
}
Array l2_loss(Arg predictions, Arg targets) {
  LocScope scope(predictions.where());
  return 0.5 * square(detail::to_inexact(predictions) - targets);
}
Array huber_loss(Arg predictions, Arg targets, double delta) {
  LocScope scope(predictions.where());
  const Array size = abs(detail::to_inexact(predictions) - targets), near = minimum(size, delta);
  return 0.5 * square(near) + delta * (size - near);
}
Array log_cosh(Arg predictions, Arg targets) {
  LocScope scope(predictions.where());
  const Array difference = detail::to_inexact(predictions) - targets;
  return logaddexp(difference, -difference) - std::numbers::ln2;
}
Array hinge_loss(Arg predictions, Arg targets) {
  LocScope scope(predictions.where());
  return maximum(0, 1 - detail::to_inexact(predictions) * targets);
}
Array sigmoid_binary_cross_entropy(Arg logits, Arg labels) {
  LocScope scope(logits.where());
  const Array x = detail::to_inexact(logits), y = labels.array().astype(x.dtype());
  return -y * nn::log_sigmoid(x) - (1 - y) * nn::log_sigmoid(-x);
}
Array softmax_cross_entropy(Arg logits, Arg labels, AxisNumber axis) {
  LocScope scope(logits.where());
  return -sum(labels * nn::log_softmax(detail::to_inexact(logits), axis), axis);
}
Array softmax_cross_entropy_with_integer_labels(Arg logits, Arg labels) {
  LocScope scope(logits.where());
  const Array x = detail::to_inexact(logits), &y = labels.array();
  if (!y.dtype().is_integer())
    throw DTypeError(fmt::format("softmax_cross_entropy_with_integer_labels: the labels are {}; of probabilities use softmax_cross_entropy",
                                 detail::to_string(y.aval())),
                     detail::effective_loc(logits.where()));
  if (x.ndim() == 0 || y.shape() != x.shape().erased(x.ndim() - 1))
    throw ShapeError(
        fmt::format("softmax_cross_entropy_with_integer_labels: logits {} and labels {}; there must be one label for each row of logits",
                    detail::to_string(x.aval()), detail::to_string(y.aval())),
        detail::effective_loc(logits.where()));
  const std::int64_t classes = x.shape()[x.ndim() - 1];
  const Array known = (y >= 0) & (y < classes), at = expand_dims(where(known, y, 0), -1);
  const Array chosen = squeeze(take_along_axis(nn::log_softmax(x, -1), at, -1), -1);
  return where(known, -chosen, std::numeric_limits<double>::quiet_NaN());
}
Array kl_divergence(Arg log_predictions, Arg targets) {
  LocScope scope(log_predictions.where());
  const Array p = detail::to_inexact(targets), some = p > 0;
  return sum(p * (where(some, log(where(some, p, 1)), 0) - log_predictions), -1);
}
Array cosine_similarity(Arg predictions, Arg targets, double epsilon) {
  LocScope scope(predictions.where());
  const Array x = detail::to_inexact(predictions), y = detail::to_inexact(targets);
  return sum(x / row_norm(x, epsilon) * (y / row_norm(y, epsilon)), -1);
}
Array cosine_distance(Arg predictions, Arg targets, double epsilon) {
  return 1 - cosine_similarity(std::move(predictions), std::move(targets), epsilon);
}
Array smooth_labels(Arg labels, double alpha) {
  LocScope scope(labels.where());
  const Array y = detail::to_inexact(labels);
  if (y.ndim() == 0)
    throw ShapeError("smooth_labels: the labels have no axis; they are probabilities along the last one",
                     detail::effective_loc(labels.where()));
  return (1 - alpha) * y + alpha / static_cast<double>(y.shape()[y.ndim() - 1]);
}

}  // namespace weft::optim
