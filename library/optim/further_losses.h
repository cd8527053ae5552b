// Rarer losses, and projections onto sets (optax.losses, optax.projections).
#pragma once
#include <optional>

#include "weft/core/array/array.h"

namespace weft::optim {

/// Options of sigmoid_focal_loss.
struct FocalOptions {
  std::optional<double> alpha = {};  ///< the weight of label 1; that of label 0 is 1 - alpha. Absent: both 1
  double gamma = 2;                  ///< how much less well classified elements count
};
/// sigmoid_binary_cross_entropy, times the probability of the wrong class to the power gamma (T. Lin et al., 2017).
Array sigmoid_focal_loss(Arg logits, Arg labels, FocalOptions options = {});
/// kl_divergence plus sum(exp(log_predictions) - targets), which needs no sums of 1, along the last axis.
Array generalized_kl_divergence(Arg log_predictions, Arg targets);
/// softmax_cross_entropy plus epsilon times the sum of labels (1 - softmax(logits)), along the last axis (Z. Leng et al., 2022).
Array poly_loss_cross_entropy(Arg logits, Arg labels, double epsilon = 2);
/// Options of triplet_margin_loss.
struct TripletOptions {
  double norm_degree = 2;  ///< of the distance
  double margin = 1;       ///< by which the negatives are to be farther away
  double eps = 1e-6;       ///< added to the sums of powers
};
/// max(0, distance to positives - distance to negatives + margin), along the last axis (V. Balntas et al., 2016).
Array triplet_margin_loss(Arg anchors, Arg positives, Arg negatives, TripletOptions options = {});

/// max(0, -outputs targets), for targets -1 and 1.
Array perceptron_loss(Arg outputs, Arg targets);
/// The largest score, all but the label's raised by 1, less the label's score, along the last axis; labels are integers.
Array multiclass_hinge_loss(Arg scores, Arg labels);
/// The largest score less the label's, along the last axis; labels are integers.
Array multiclass_perceptron_loss(Arg scores, Arg labels);
/// sum(exp(log_targets) (log_targets - log_predictions)) along the last axis.
Array kl_divergence_with_log_targets(Arg log_predictions, Arg log_targets);

/// generalized_kl_divergence, by optax's other name.
Array convex_kl_divergence(Arg log_predictions, Arg targets);
/// Options of ctc_loss.
struct CtcOptions {
  Int blank_id = 0;           ///< the class that stands for no label
  double log_epsilon = -1e5;  ///< counts as log(0)
};
/// Connectionist temporal classification: -log of the probability that the frames of a sequence, with repeated classes as one and blanks
/// left out, give its labels (A. Graves et al., 2006). Logits are (batch, frames, classes), labels integers (batch, labels); paddings have
/// these shapes without the classes, and a 1 where there is no frame or no label any more. Shape: (batch,). Throws ShapeError for other
/// shapes, DTypeError for other labels.
Array ctc_loss(Arg logits, Arg logit_paddings, Arg labels, Arg label_paddings, CtcOptions options = {});

/// The nearest points of sets.
namespace projections {
/// Without negative elements.
Array projection_non_negative(Arg x);
/// With elements between two bounds.
Array projection_box(Arg x, Arg lower, Arg upper);
/// Without negative elements, and with the sum `scale`.
Array projection_simplex(Arg x, double scale = 1);
/// Of a Euclidean norm of `scale` at most.
Array projection_l2_ball(Arg x, double scale = 1);
}  // namespace projections

}  // namespace weft::optim
