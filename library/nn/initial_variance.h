// Initial weights of a variance: what initializers share whose inputs and outputs lie along the last axes, or along axes of one's own.
#pragma once
#include <string>

#include "weft/library/nn/nn_initializers.h"

namespace weft::detail {

using nn::initializers::Initializer;

struct VarianceWords {
  Initializer::Fan fan;
  Initializer::Kind kind;
};
/// What variance_scaling's mode and distribution mean. Throws Error for other words and for a scale that isn't above 0.
VarianceWords variance_words(double scale, const std::string& mode, const std::string& distribution, SourceLoc loc);
/// What the scale is divided by.
double fan_of(Initializer::Fan fan, double inputs, double outputs);
/// Numbers around 0 of this variance; of a kind that scales.
Array draw_of_variance(Initializer::Kind kind, double variance, const Arg& key, const Shape& shape, DType dtype);

}  // namespace weft::detail
