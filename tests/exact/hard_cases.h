// Arguments at which functions of floating numbers go wrong first: where an implementation changes its formula, where results overflow or
// vanish, where arguments are as near as can be to a zero or a pole, powers of two and their neighbours, subnormal numbers, exact cases.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/ir/kernel_builder.h"

namespace weft::exact {

/// Of every kind some; `more` multiplies the number of those that are drawn (there are some thousand with 1). All are numbers of the dtype.
std::vector<double> hard_arguments(detail::MathFunction f, DType dtype, int more);
/// Pairs of operands, for pow and atan2.
std::vector<std::pair<double, double>> hard_pairs(detail::MathFunction f, DType dtype, int more);
/// Numbers whose parts are hard for functions of complex numbers: near 1, i, -1, branch cuts, the unit circle, the ends of the range.
std::vector<std::pair<double, double>> hard_complex(DType part, int more);

/// For each binade the numbers of the dtype that are nearest to multiples of pi/2.
std::vector<double> nearest_to_half_pi(DType dtype);

}  // namespace weft::exact
