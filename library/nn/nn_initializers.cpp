#include "weft/library/nn/nn_initializers.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/array/constructors.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/trace/trace.h"
#include "weft/library/random/random_draws.h"

namespace weft::nn::initializers {

using namespace weft::detail;

namespace {

double count(Initializer::Fan fan, const Shape& shape, SourceLoc loc) {
  if (shape.size() < 2)
    throw ShapeError(
        fmt::format("initializer: weights of shape {} have no axes of inputs and of outputs; they need two axes", to_string(shape)),
        effective_loc(loc));
  double window = 1;
  for (int d = 0; d < shape.size() - 2; ++d) window *= static_cast<double>(shape[d]);
  const double in = window * static_cast<double>(shape[shape.size() - 2]), out = window * static_cast<double>(shape.back());
  return fan == Initializer::Fan::in ? in : fan == Initializer::Fan::out ? out : (in + out) / 2;
}

/// What JAX divides the standard deviation by: that of the standard normal distribution limited to (-2, 2).
constexpr double kTruncatedDeviation = .87962566103423978;

}  // namespace

Array Initializer::operator()(Arg key, Shape shape, DType dtype) const {
  const LocScope scope(key.where());
  const SourceLoc loc = key.where();
  auto number = [&](double v) { return constant_of(dtype, v); };
  switch (kind_) {
    case Kind::constant: return full(shape, Arg(scale_, loc), dtype);
    case Kind::normal: return random::normal(key, shape, dtype) * number(scale_);
    case Kind::uniform: return random::uniform(key, shape, dtype) * number(scale_);
    case Kind::truncated_normal: return random::truncated_normal(key, lower_, upper_, shape, dtype) * number(scale_);
    default: break;
  }
  const Array variance = number(standard([&] { return scale_ / count(fan_, shape, loc); }));
  if (kind_ == Kind::scaled_normal) return random::normal(key, shape, dtype) * sqrt(variance);
  if (kind_ == Kind::scaled_uniform) return random::uniform(key, shape, dtype, -1) * sqrt(3 * variance);
  return random::truncated_normal(key, -2, 2, shape, dtype) * (sqrt(variance) / number(kTruncatedDeviation));
}

using Kind = Initializer::Kind;
using Fan = Initializer::Fan;

Initializer constant(double value) { return {Kind::constant, value}; }
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer normal(double stddev) { return {Kind::normal, stddev}; }
Initializer truncated_normal(double stddev, double lower, double upper) { return {Kind::truncated_normal, stddev, Fan::in, lower, upper}; }
Initializer uniform(double scale) { return {Kind::uniform, scale}; }

Initializer glorot_normal() { return {Kind::scaled_truncated_normal, 1, Fan::average}; }
Initializer glorot_uniform() { return {Kind::scaled_uniform, 1, Fan::average}; }
Initializer xavier_normal() { return glorot_normal(); }
Initializer xavier_uniform() { return glorot_uniform(); }
Initializer lecun_normal() { return {Kind::scaled_truncated_normal, 1, Fan::in}; }
Initializer lecun_uniform() { return {Kind::scaled_uniform, 1, Fan::in}; }
Initializer he_normal() { return {Kind::scaled_truncated_normal, 2, Fan::in}; }
Initializer he_uniform() { return {Kind::scaled_uniform, 2, Fan::in}; }
Initializer kaiming_normal() { return he_normal(); }
Initializer kaiming_uniform() { return he_uniform(); }

}  // namespace weft::nn::initializers
