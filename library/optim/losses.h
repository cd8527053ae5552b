// Losses (optax.losses), element by element or row by row: take the mean of them.
#pragma once
#include <optional>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft::optim {

/// (predictions - targets)^2; without targets predictions^2.
Array squared_error(Arg predictions, Arg targets = 0);
/// (predictions - targets)^2 / 2; without targets predictions^2 / 2.
Array l2_loss(Arg predictions, Arg targets = 0);
/// l2_loss for differences up to delta, delta (|difference| - delta / 2) beyond.
Array huber_loss(Arg predictions, Arg targets, double delta = 1);
/// delta of huber_loss by name.
struct HuberOptions {
  detail::NamedFields named = detail::NamedFields();
  double delta = 1;  ///< as an argument
};
inline Array huber_loss(Arg predictions, Arg targets, HuberOptions o) { return huber_loss(predictions, targets, o.delta); }
/// log(cosh(predictions - targets)), without overflow.
Array log_cosh(Arg predictions, Arg targets);
/// max(0, 1 - predictions targets), for targets -1 and 1.
Array hinge_loss(Arg predictions, Arg targets);
/// -log of the probability of 0 or 1 (or of a mixture) under the probability sigmoid(logits) of 1.
Array sigmoid_binary_cross_entropy(Arg logits, Arg labels);
/// -sum(labels log_softmax(logits)) along an axis; labels are probabilities.
Array softmax_cross_entropy(Arg logits, Arg labels, AxisNumber axis = -1);
/// -log_softmax(logits) of the label along the last axis; labels are integers, one for each row. A label out of range gives NaN. Throws
/// DTypeError for other labels, ShapeError where their shape is not that of the rows.
Array softmax_cross_entropy_with_integer_labels(Arg logits, Arg labels);
/// sum(targets (log(targets) - log_predictions)) along the last axis, 0 log(0) being 0.
Array kl_divergence(Arg log_predictions, Arg targets);
/// The cosine of the angle between vectors along the last axis; norms count as epsilon at least.
Array cosine_similarity(Arg predictions, Arg targets, double epsilon = 0);
/// 1 - cosine_similarity.
Array cosine_distance(Arg predictions, Arg targets, double epsilon = 0);
/// (1 - alpha) labels + alpha / n, for n classes along the last axis.
Array smooth_labels(Arg labels, double alpha);

}  // namespace weft::optim
