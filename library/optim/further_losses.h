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
