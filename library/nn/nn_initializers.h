// Initial weights of neural networks.
#pragma once
#include <string>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft::nn {

/// Initial values of weights, as jax.nn.initializers: functions that make initializers, which are called with a key, a shape and a dtype.
/// The number of inputs of a layer is its weights' size along the axis before the last, that of its outputs the size along the last, each
/// times the sizes of all axes in front of these (a convolution's window); ShapeError for a shape of fewer than two axes.
namespace initializers {

/// Draws a layer's weights.
class Initializer {
 public:
  /// The weights, of this shape and dtype.
  Array operator()(Arg key, Shape shape, DType dtype = float32) const;

  /// For the library.
  enum class Kind {
    constant,
    normal,
    uniform,
    truncated_normal,
    scaled_normal,
    scaled_uniform,
    scaled_truncated_normal,
    orthogonal,
    delta_orthogonal
  };
  enum class Fan { in, out, average, geometric_average };
  constexpr Initializer(Kind kind, double scale, Fan fan = Fan::in, double lower = 0, double upper = 0, int column_axis = -1)
      : kind_(kind), fan_(fan), scale_(scale), lower_(lower), upper_(upper), column_axis_(column_axis) {}

 private:
  Kind kind_;
  Fan fan_;
  double scale_, lower_, upper_;
  int column_axis_;
};

/// All elements have this value.
Initializer constant(double value);
Initializer zeros();
Initializer ones();
/// In JAX these two are functions of a key: `nn.initializers.zeros(key, shape)`.
inline Array zeros(Arg key, Shape shape, DType dtype = float32) { return zeros()(std::move(key), std::move(shape), dtype); }
inline Array ones(Arg key, Shape shape, DType dtype = float32) { return ones()(std::move(key), std::move(shape), dtype); }
/// Normally distributed around 0.
Initializer normal(double stddev = 1e-2);
/// stddev times a normal number limited to [lower, upper].
Initializer truncated_normal(double stddev = 1e-2, double lower = -2, double upper = 2);
/// In [0, scale).
Initializer uniform(double scale = 1e-2);

/// Numbers around 0 whose variance is scale / n: n is the layer's number of inputs (mode "fan_in"), of outputs ("fan_out"), their mean
/// ("fan_avg") or geometric mean ("fan_geo_avg"). The distribution is "truncated_normal" (cut off at two standard deviations, and scaled to
/// have that variance afterwards), "normal" or "uniform". Throws Error for other words and for a scale that isn't above 0.
Initializer variance_scaling(double scale, const std::string& mode, const std::string& distribution, SourceLoc loc = SourceLoc::here());
/// A matrix with orthonormal rows or columns, whichever are fewer, times `scale`: columns lie along `column_axis`, rows along all the other
/// axes (A. Saxe et al. 2013). ShapeError for a shape of fewer than two axes.
Initializer orthogonal(double scale = 1, AxisNumber column_axis = -1);
/// A convolution's weights that are zero but in the middle of the window, and orthogonal there (L. Xiao et al. 2018). The shape has three
/// to five axes, the last not smaller than the one before it; ShapeError for others.
Initializer delta_orthogonal(double scale = 1, AxisNumber column_axis = -1);

/// Variance 2 / (inputs + outputs) (Glorot and Bengio 2010), 1 / inputs (LeCun et al. 1998), 2 / inputs (He et al. 2015); the normal ones
/// are cut off at two standard deviations, and scaled to have that variance afterwards.
Initializer glorot_normal();
Initializer glorot_uniform();
Initializer xavier_normal();
Initializer xavier_uniform();
Initializer lecun_normal();
Initializer lecun_uniform();
Initializer he_normal();
Initializer he_uniform();
Initializer kaiming_normal();
Initializer kaiming_uniform();

}  // namespace initializers
}  // namespace weft::nn
