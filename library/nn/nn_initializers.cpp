#include "weft/library/nn/nn_initializers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/nn/initial_variance.h"
#include "weft/library/random/random_draws.h"

namespace weft::detail {

VarianceWords variance_words(double scale, const std::string& mode, const std::string& distribution, SourceLoc loc) {
  // Not `scale <= 0`, which a NaN is not.
  if (!(scale > 0)) throw Error(fmt::format("variance_scaling: a scale of {}; it must be above 0", scale), effective_loc(loc));
  const auto one_of = [&]<class T>(const char* what, const std::string& word, std::initializer_list<std::pair<const char*, T>> known) {
    std::string all;
    for (const auto& [name, value] : known) {
      if (name == word) return value;
      all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
    }
    throw Error(fmt::format("variance_scaling: unknown {} `{}`; available: {}", what, word, all), effective_loc(loc));
  };
  const Initializer::Fan fan = one_of.operator()<Initializer::Fan>("mode", mode,
                                                                   {{"fan_in", Initializer::Fan::in},
                                                                    {"fan_out", Initializer::Fan::out},
                                                                    {"fan_avg", Initializer::Fan::average},
                                                                    {"fan_geo_avg", Initializer::Fan::geometric_average}});
  const Initializer::Kind kind = one_of.operator()<Initializer::Kind>("distribution", distribution,
                                                                      {{"truncated_normal", Initializer::Kind::scaled_truncated_normal},
                                                                       {"normal", Initializer::Kind::scaled_normal},
                                                                       {"uniform", Initializer::Kind::scaled_uniform}});
  return {fan, kind};
}
double fan_of(Initializer::Fan fan, double inputs, double outputs) {
  switch (fan) {
    case Initializer::Fan::in: return inputs;
    case Initializer::Fan::out: return outputs;
    case Initializer::Fan::average: return (inputs + outputs) / 2;
    case Initializer::Fan::geometric_average: return std::sqrt(inputs * outputs);
  }
  return inputs;
}
Array draw_of_variance(Initializer::Kind kind, double variance_wanted, const Arg& key, const Shape& shape, DType dtype) {
  // What JAX divides the standard deviation by: that of the standard normal distribution limited to (-2, 2).
  constexpr double kTruncatedDeviation = .87962566103423978;
  const Array variance = constant_of(dtype, variance_wanted);
  if (kind == Initializer::Kind::scaled_normal) return random::normal(key, shape, dtype) * sqrt(variance);
  if (kind == Initializer::Kind::scaled_uniform) return random::uniform(key, shape, dtype, -1) * sqrt(3 * variance);
  return random::truncated_normal(key, -2, 2, shape, dtype) * (sqrt(variance) / constant_of(dtype, kTruncatedDeviation));
}

}  // namespace weft::detail

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
  return fan_of(fan, window * static_cast<double>(shape[shape.size() - 2]), window * static_cast<double>(shape.back()));
}

/// Orthonormal rows or columns, the columns along an axis. The signs are those that make the distribution uniform (F. Mezzadri 2007).
Array orthonormal(const Arg& key, const Shape& shape, DType dtype, int column_axis, SourceLoc loc) {
  if (shape.size() < 2)
    throw ShapeError(fmt::format("orthogonal: weights of shape {} have no rows and columns; they need two axes", to_string(shape)),
                     effective_loc(loc));
  const int axis = normalize_axis(column_axis, shape.size(), "orthogonal", Aval(shape, dtype), effective_loc(loc));
  const std::int64_t columns = shape[axis], rows = columns == 0 ? 0 : shape.num_elements() / columns;
  const linalg::Qr qr = linalg::qr(random::normal(key, {std::max(rows, columns), std::min(rows, columns)}, dtype));
  Array q = qr.q * sign(linalg::diagonal(qr.r));
  if (columns < rows) q = transpose(q);
  Shape split{columns};
  for (int d = 0; d < shape.size(); ++d)
    if (d != axis) split.push_back(shape[d]);
  return moveaxis(reshape(q, split), 0, axis);
}

/// The same in the middle of a convolution's window.
Array orthonormal_in_the_middle(const Arg& key, const Shape& shape, DType dtype, int column_axis, SourceLoc loc) {
  const int rank = shape.size();
  if (rank < 3 || rank > 5 || shape[rank - 1] < shape[rank - 2])
    throw ShapeError(fmt::format("delta_orthogonal: weights of shape {}; they need three to five axes, the last not smaller than the one "
                                 "before it",
                                 to_string(shape)),
                     effective_loc(loc));
  const Array square = orthonormal(key, {shape[rank - 1], shape[rank - 1]}, dtype, column_axis, loc);
  Array w = square[slice(shape[rank - 2])];
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
  for (int d = 0; d < rank - 2; ++d) {
    w = expand_dims(w, 0);
    const std::int64_t before = (shape[d] - 1) / 2;
    padding.emplace_back(before, shape[d] - 1 - before);
  }
  padding.resize(static_cast<std::size_t>(rank));
  return pad(w, padding);
}

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
    case Kind::orthogonal: return orthonormal(key, shape, dtype, column_axis_, loc) * number(scale_);
    case Kind::delta_orthogonal: return orthonormal_in_the_middle(key, shape, dtype, column_axis_, loc) * number(scale_);
    default: break;
  }
  return draw_of_variance(kind_, standard([&] { return scale_ / count(fan_, shape, loc); }), key, shape, dtype);
}

using Kind = Initializer::Kind;
using Fan = Initializer::Fan;

Initializer constant(double value) { return {Kind::constant, value}; }
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer normal(double stddev) { return {Kind::normal, stddev}; }
Initializer truncated_normal(double stddev, double lower, double upper) { return {Kind::truncated_normal, stddev, Fan::in, lower, upper}; }
Initializer uniform(double scale) { return {Kind::uniform, scale}; }

Initializer variance_scaling(double scale, const std::string& mode, const std::string& distribution, SourceLoc loc) {
  const VarianceWords words = variance_words(scale, mode, distribution, loc);
  return {words.kind, scale, words.fan};
}
Initializer orthogonal(double scale, AxisNumber column_axis) { return {Kind::orthogonal, scale, Fan::in, 0, 0, column_axis}; }
Initializer delta_orthogonal(double scale, AxisNumber column_axis) { return {Kind::delta_orthogonal, scale, Fan::in, 0, 0, column_axis}; }

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
