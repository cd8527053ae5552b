// Further functions of jax.nn.
#pragma once
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/functions/reductions.h"

namespace weft::nn {

/// x * hard_sigmoid(x): hard_silu by its other name.
Array hard_swish(Arg x);
/// (x + sqrt(x^2 + b)) / 2, a smooth max(x, 0).
Array squareplus(Arg x, Arg b);
inline Array squareplus(Arg x) { return squareplus(std::move(x), 4); }
/// 0 up to -1, x from 1 on, (x + 1)^2 / 4 between: a softplus with zeros.
Array sparse_plus(Arg x);
/// The derivative of sparse_plus: 0 up to -1, 1 from 1 on, (x + 1) / 2 between.
Array sparse_sigmoid(Arg x);
/// log(1 - exp(-x)) of positive x, without loss near 0 and where it is large.
Array log1mexp(Arg x);
/// log(mean(exp(x))) over the axes, without overflow.
Array logmeanexp(Arg x, Axis axis, ReduceOptions options = {});
inline Array logmeanexp(Arg x, ReduceOptions options) { return logmeanexp(std::move(x), none, std::move(options)); }
inline Array logmeanexp(Arg x) { return logmeanexp(std::move(x), none); }

}  // namespace weft::nn
