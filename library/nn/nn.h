// Activations, normalisation and attention of neural networks.
#pragma once
#include <optional>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/optional_shape.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"

namespace weft {

/// Functions for neural networks, with jax.nn's formulas and derivatives.
namespace nn {

// Those that stand in jax.nn and flax.linen as well.
using weft::avg_pool, weft::logsumexp, weft::max_pool, weft::min_pool, weft::tanh;

// Activations, element by element.

/// max(x, 0), with derivative 0 at 0.
Array relu(Arg x);
/// min(max(x, 0), 6), with derivative 0 at 0 and at 6.
Array relu6(Arg x);
/// x times the normal distribution function, by the approximation with tanh (Hendrycks and Gimpel, arXiv:1606.08415).
Array gelu(Arg x);
/// Options of gelu.
struct GeluOptions {
  bool approximate = true;  ///< by tanh; else by the error function, x * ndtr(x)
};
Array gelu(Arg x, GeluOptions options);
Array gelu(Arg x, std::same_as<bool> auto approximate) { return gelu(std::move(x), GeluOptions{approximate}); }
/// x * sigmoid(x).
Array silu(Arg x);
/// The same.
Array swish(Arg x);
/// alpha of elu and celu by name.
struct AlphaOption {
  detail::NamedFields named = detail::NamedFields();
  Arg alpha = 1.;  ///< as an argument
};
/// x where it is positive, else alpha * (exp(x) - 1).
Array elu(Arg x, Arg alpha);
Array elu(Arg x, AlphaOption options, detail::Nothing auto...) { return elu(std::move(x), options.alpha); }
inline Array elu(Arg x) { return elu(std::move(x), 1.); }
/// x where it is positive, else alpha * (exp(x / alpha) - 1).
Array celu(Arg x, Arg alpha);
Array celu(Arg x, AlphaOption options, detail::Nothing auto...) { return celu(std::move(x), options.alpha); }
inline Array celu(Arg x) { return celu(std::move(x), 1.); }
/// elu scaled to keep mean and variance (Klambauer et al., arXiv:1706.02515).
Array selu(Arg x);
/// x where it isn't negative, else negative_slope * x.
Array leaky_relu(Arg x, Arg negative_slope);
/// negative_slope of leaky_relu by name.
struct NegativeSlopeOption {
  detail::NamedFields named = detail::NamedFields();
  Arg negative_slope = .01;  ///< as an argument
};
Array leaky_relu(Arg x, NegativeSlopeOption options, detail::Nothing auto...) { return leaky_relu(std::move(x), options.negative_slope); }
inline Array leaky_relu(Arg x) { return leaky_relu(std::move(x), .01); }
/// log(1 + exp(x)).
Array softplus(Arg x);
/// x / (1 + abs(x)).
Array soft_sign(Arg x);
/// 1 / (1 + exp(-x)).
Array sigmoid(Arg x);
/// log(sigmoid(x)).
Array log_sigmoid(Arg x);
/// x limited to [-1, 1].
Array hard_tanh(Arg x);
/// relu6(x + 3) / 6.
Array hard_sigmoid(Arg x);
/// x * hard_sigmoid(x).
Array hard_silu(Arg x);
/// x * tanh(softplus(x)).
Array mish(Arg x);
/// The first half of an axis times the sigmoid of the second.
Array glu(Arg x, AxisNumber axis);
Array glu(Arg x, AxisOption options, detail::Nothing auto...) { return glu(std::move(x), options.axis); }
inline Array glu(Arg x) { return glu(std::move(x), -1); }

// Normalisation.

/// Options of softmax and log_softmax.
struct SoftmaxOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = std::vector<int>();   ///< over which, where no axis is an argument: one, several or, by none, all; absent: the last one
  std::optional<Array> where = {};  ///< bools: other elements take no part, and their result is 0, of log_softmax -infinity
};
/// exp(x) / sum(exp(x)) over the axes, without overflow.
Array softmax(Arg x, Axis axis, SoftmaxOptions options = {});
Array softmax(Arg x, SoftmaxOptions options);
inline Array softmax(Arg x) { return softmax(std::move(x), -1); }
/// log(softmax(x)), without loss where it is small.
Array log_softmax(Arg x, Axis axis, SoftmaxOptions options = {});
Array log_softmax(Arg x, SoftmaxOptions options);
inline Array log_softmax(Arg x) { return log_softmax(std::move(x), -1); }
/// Options of standardize.
struct StandardizeOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = -1;                      ///< over which, where no axis is an argument
  std::optional<Array> mean = {};      ///< instead of x's, as a reduction that keeps its dimensions gives it
  std::optional<Array> variance = {};  ///< the same
  double epsilon = 1e-5;               ///< added to the variance
  std::optional<Array> where = {};     ///< bools: other elements take no part in mean and variance
};
/// x less its mean, divided by sqrt(variance + epsilon), over the axes.
Array standardize(Arg x, Axis axis);
Array standardize(Arg x, StandardizeOptions options);
inline Array standardize(Arg x) { return standardize(std::move(x), -1); }
/// Options of layer_norm.
struct LayerNormOptions {
  double epsilon = 1e-5;  ///< added to the variance, so that a constant row gives bias
};
/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis. 16-bit floats are normalised in float32.
Array layer_norm(Arg x, Arg scale, Arg bias, LayerNormOptions options = {});

/// 1 where the last dimension's position equals x, else 0: shape x.shape() + (num_classes). A value out of range gives zeros.
Array one_hot(Arg x, Int num_classes, DType dtype = float32);
/// Options of one_hot.
struct OneHotOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<Int> num_classes = {};  ///< how many, where it is no argument
  DType dtype = float32;                ///< of the result
  AxisNumber axis = -1;                 ///< the position of the classes in the result's shape
};
Array one_hot(Arg x, Int num_classes, OneHotOptions options);
Array one_hot(Arg x, OneHotOptions options);

struct AttentionOptions {
  bool is_causal = false;            ///< position t of q sees positions 0 to t of k
  std::optional<double> scale = {};  ///< multiplies the scores q k^T; absent: 1 / sqrt(H)
  std::optional<Array> bias = {};    ///< added to the scaled scores; of shape (B, N, T, S), without B if q is; sizes of 1 broadcast
  std::optional<Array> mask = {};    ///< bools of such a shape: position t sees position s only where it is true
};
/// softmax(scale * q k^T) v for each head: q is (B, T, N, H), k and v are (B, S, K, H), or all without B; N is a multiple of K, and each
/// head of k serves N / K neighbouring ones of q. The result has q's shape. As jax.nn.dot_product_attention.
Array dot_product_attention(Arg q, Arg k, Arg v, AttentionOptions options = {});

}  // namespace nn
}  // namespace weft
