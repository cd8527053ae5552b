// The functions of one operand that the hard cases are tried on, and how near their results must be.
#pragma once
#include <weft/weft.h>

#include "weft/core/ir/kernel_builder.h"

namespace weft::exact {

using detail::MathFunction;

/// A function as the user calls it.
struct Function {
  MathFunction f;
  const char* name;
  Array (*function)(const Array&);
  double limit = 2;  ///< units in the last place, in compiled code and in the interpreter
};
#define WEFT_ROW(name) {MathFunction::name, #name, [](const Array& x) { return weft::name(x); }}
inline const Function kFunctions[] = {
    WEFT_ROW(exp),
    WEFT_ROW(exp2),
    WEFT_ROW(expm1),
    WEFT_ROW(log),
    WEFT_ROW(log1p),
    WEFT_ROW(log2),
    WEFT_ROW(tanh),
    WEFT_ROW(sin),
    WEFT_ROW(cos),
    WEFT_ROW(tan),
    WEFT_ROW(asin),
    WEFT_ROW(acos),
    WEFT_ROW(atan),
    WEFT_ROW(sinh),
    WEFT_ROW(cosh),
    WEFT_ROW(asinh),
    WEFT_ROW(acosh),
    WEFT_ROW(atanh),
    WEFT_ROW(erf),
    WEFT_ROW(erfc),
    WEFT_ROW(erf_inv),
    WEFT_ROW(cbrt),
    WEFT_ROW(rsqrt),
    {MathFunction::logistic, "logistic", [](const Array& x) { return sigmoid(x); }},
    {MathFunction::lgamma, "lgamma", [](const Array& x) { return lgamma(x); }, 4},
    {MathFunction::digamma, "digamma", [](const Array& x) { return digamma(x); }, 4},
};
#undef WEFT_ROW

/// Whether the function's result at x is promised to `limit` units.
inline bool is_promised(MathFunction f, double x) {
  // At its pole from the left and from the right digamma is NaN; next to its zeros at negative numbers only its absolute accuracy is kept.
  if (f == MathFunction::digamma) return x > 0;
  // 1 / sqrt(-0) is that of IEEE 754.
  return !(f == MathFunction::rsqrt && x == 0);
}

}  // namespace weft::exact
