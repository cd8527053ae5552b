#include "weft/library/optim/further_losses.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/nn/nn.h"
#include "weft/library/optim/losses.h"

namespace weft::optim {

using detail::LocScope;

namespace {

/// Labels as rows of one 1 and zeros, of the scores' dtype.
Array one_hot_labels(const char* operation, const Array& scores, const Arg& labels) {
  if (!labels.array().dtype().is_integer())
    throw DTypeError(fmt::format("{}: the labels {} must be integers", operation, detail::to_string(labels.aval())),
                     detail::effective_loc(labels.where()));
  if (scores.ndim() == 0) throw ShapeError(fmt::format("{}: the scores are a scalar; they need an axis of classes", operation));
  return nn::one_hot(labels, scores.shape()[-1], scores.dtype());
}

}  // namespace

Array sigmoid_focal_loss(Arg logits, Arg labels, FocalOptions options) {
  LocScope scope(logits.where());
  const Array x = detail::to_inexact(logits), y = convert(labels, x.dtype());
  // The probability of the wrong class is a mixture where the label is one.
  const Array likely = nn::log_sigmoid(x), unlikely = nn::log_sigmoid(-x), greater = maximum(likely, unlikely);
  const Array one = y == 1, zero = y == 0, part = where(one | zero, 0.5, y);
  const Array mixed = greater + log((1 - part) * exp(likely - greater) + part * exp(unlikely - greater));
  const Array mixture = where(one, unlikely, where(zero, likely, mixed));
  const Array loss = sigmoid_binary_cross_entropy(x, y) * exp(options.gamma * mixture);
  return options.alpha ? Array((*options.alpha * y + (1 - *options.alpha) * (1 - y)) * loss) : loss;
}
Array generalized_kl_divergence(Arg log_predictions, Arg targets) {
  LocScope scope(log_predictions.where());
  return kl_divergence(log_predictions, targets) + sum(exp(log_predictions) - targets, -1);
}
Array poly_loss_cross_entropy(Arg logits, Arg labels, double epsilon) {
  LocScope scope(logits.where());
  const Array p = nn::softmax(detail::to_inexact(logits), -1);
  return softmax_cross_entropy(logits, labels) + epsilon * sum(labels * (1 - p), -1);
}
Array triplet_margin_loss(Arg anchors, Arg positives, Arg negatives, TripletOptions options) {
  LocScope scope(anchors.where());
  const Array x = detail::to_inexact(anchors);
  const auto distance = [&](const Arg& y) {
    return pow(sum(pow(abs(x - y), options.norm_degree), -1) + options.eps, 1 / options.norm_degree);
  };
  return maximum(distance(positives) - distance(negatives) + options.margin, 0);
}

Array perceptron_loss(Arg outputs, Arg targets) {
  LocScope scope(outputs.where());
  return maximum(0, -detail::to_inexact(outputs) * targets);
}
Array multiclass_hinge_loss(Arg scores, Arg labels) {
  LocScope scope(scores.where());
  const Array x = detail::to_inexact(scores), chosen = one_hot_labels("multiclass_hinge_loss", x, labels);
  return max(x + 1 - chosen, -1) - sum(x * chosen, -1);
}
Array multiclass_perceptron_loss(Arg scores, Arg labels) {
  LocScope scope(scores.where());
  const Array x = detail::to_inexact(scores), chosen = one_hot_labels("multiclass_perceptron_loss", x, labels);
  return max(x, -1) - sum(x * chosen, -1);
}
Array kl_divergence_with_log_targets(Arg log_predictions, Arg log_targets) {
  LocScope scope(log_predictions.where());
  const Array t = detail::to_inexact(log_targets);
  return sum(exp(t) * (t - log_predictions), -1);
}

namespace projections {

Array projection_non_negative(Arg x) {
  LocScope scope(x.where());
  return maximum(x, 0);
}
Array projection_box(Arg x, Arg lower, Arg upper) {
  LocScope scope(x.where());
  return minimum(maximum(x, lower), upper);
}
Array projection_simplex(Arg given, double scale) {
  LocScope scope(given.where());
  const Array x = detail::to_inexact(given) / scale, flat = ravel(x);
  // As many of the largest elements stay positive as are above what all of them then lose (J. Duchi et al., 2008).
  const Array sorted = flip(sort(flat)), count = arange(1, flat.size() + 1).astype(x.dtype()), loss = (cumsum(sorted) - 1) / count;
  const Array kept = sum(sorted > loss);
  return scale * maximum(x - sum(where(count == kept, loss, 0)), 0);
}
Array projection_l2_ball(Arg given, double scale) {
  LocScope scope(given.where());
  const Array x = detail::to_inexact(given);
  return x * (scale / sqrt(maximum(sum(square(abs(x))), scale * scale)));
}

}  // namespace projections

}  // namespace weft::optim
