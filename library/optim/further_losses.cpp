#include "weft/library/optim/further_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/nn/nn.h"
#include "weft/library/optim/losses.h"
#include "weft/transforms/control/control_flow.h"

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

Array convex_kl_divergence(Arg log_predictions, Arg targets) { return generalized_kl_divergence(log_predictions, targets); }

Array ctc_loss(Arg logits, Arg logit_paddings, Arg labels, Arg label_paddings, CtcOptions options) {
  LocScope scope(logits.where());
  const SourceLoc loc = detail::effective_loc(logits.where());
  const Shape frames = logit_paddings.aval().shape, wanted = labels.aval().shape, given = logits.aval().shape;
  if (given.size() != 3 || frames != Shape{given[0], given[1]} || wanted.size() != 2 || wanted[0] != given[0] ||
      label_paddings.aval().shape != wanted)
    throw ShapeError(fmt::format("ctc_loss: logits {}, their paddings {}, labels {}, their paddings {}; they are (batch, frames, classes), "
                                 "(batch, frames), (batch, labels) and (batch, labels)",
                                 detail::to_string(logits.aval()), detail::to_string(logit_paddings.aval()),
                                 detail::to_string(labels.aval()), detail::to_string(label_paddings.aval())),
                     loc);
  if (!labels.array().dtype().is_integer())
    throw DTypeError(fmt::format("ctc_loss: the labels {} must be integers", detail::to_string(labels.aval())), loc);
  // The states of a sequence are its labels with a blank before, between and behind them.
  const std::int64_t batch = given[0], states = 2 * wanted[1] + 1;
  const Array classes =
      full({batch, states}, std::int64_t(options.blank_id), labels.array().dtype()).at(slice(), slice(1, none, 2)).set(labels);
  const Array scores = nn::log_softmax(detail::to_inexact(logits), -1),
              impossible = full({batch, states}, options.log_epsilon, scores.dtype());
  const Array by_state = take_along_axis(scores, broadcast_to(expand_dims(classes, 1), {batch, given[1], states}), 2);
  const auto shifted = [&](const Array& x, std::int64_t by) {
    return concatenate({impossible(slice(), slice(0, std::min(by, states))), x(slice(), slice(0, std::max<std::int64_t>(states - by, 0)))},
                       1);
  };
  // A blank between two labels may be left out where they differ.
  const Array position = arange(states), before = concatenate({classes(slice(), slice(0, std::min<std::int64_t>(2, states))),
                                                               classes(slice(), slice(0, std::max<std::int64_t>(states - 2, 0)))},
                                                              1);
  const Array skips = (position % 2 == 1) & (position > 1) & (classes != before);
  const auto step = [&](const Array& alpha, const std::pair<Array, Array>& frame) {
    const auto& [score, padding] = frame;
    const Array from = logaddexp(logaddexp(alpha, shifted(alpha, 1)), where(skips, shifted(alpha, 2), options.log_epsilon));
    return std::pair{where(expand_dims(padding, 1) > 0, alpha, from + score), none};
  };
  const Array start = impossible.at(slice(), 0).set(0);
  const Array alpha = scan(step, start, std::pair{swapaxes(by_state, 0, 1), transpose(logit_paddings)}).first;
  const Array last = 2 * (wanted[1] - sum(label_paddings.array() > 0, 1)), at = expand_dims(last, 1);
  const auto ending = [&](const Array& i) { return squeeze(take_along_axis(alpha, i, 1), 1); };
  return -logaddexp(ending(at), where(last > 0, ending(maximum(at - 1, 0)), options.log_epsilon));
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
  const Array exact = detail::to_inexact(given), x = detail::as_wide(exact) / scale, flat = ravel(x);
  // As many of the largest elements stay positive as are above what all of them then lose (J. Duchi et al., 2008).
  const Array sorted = flip(sort(flat)), count = arange(1, flat.size() + 1).astype(x.dtype()), loss = (cumsum(sorted) - 1) / count;
  const Array kept = sum(sorted > loss);
  return detail::as_dtype(scale * maximum(x - sum(where(count == kept, loss, 0)), 0), exact.dtype());
}
Array projection_l2_ball(Arg given, double scale) {
  LocScope scope(given.where());
  const Array x = detail::to_inexact(given);
  const Array length = sqrt(maximum(sum(square(abs(detail::as_wide(x)))), scale * scale));
  return x * detail::as_dtype(scale / length, x.dtype().real_part());
}

}  // namespace projections

}  // namespace weft::optim
