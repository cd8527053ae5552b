// Mathematical functions as expressions: range reduction and a polynomial in the scalar operations, so that every target and vector width
// shares one definition.
#pragma once
#include <span>

#include "weft/core/ir/kernel_builder.h"

namespace weft::detail {

/// f of float32 or float64 operands. Coefficients come from scripts/derive-polynomials; rare cases (huge arguments of sin, zeros of
/// float64's lgamma at negative numbers) call library_math by KernelBuilder::call_where.
KernelValue expand_math(KernelBuilder& b, MathFunction f, std::span<const KernelValue> operands);

/// f computed by the C library in float64 (y is the second operand of atan2 and pow). Compiled code calls it by the symbol
/// `weft_library_math(int f, double x, double y)`.
double library_math(MathFunction f, double x, double y);

}  // namespace weft::detail

extern "C" double weft_library_math(int function, double x, double y);
