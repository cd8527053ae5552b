// Functions of complex numbers by formulas on their parts, for elementwise lowering. Infinities, zeros and NaN give what annex G of ISO C
// says, signs that it leaves open included as glibc has them.
#pragma once
#include "weft/core/ir/kernel_builder.h"

namespace weft::detail {

KernelValue complex_exp(KernelBuilder& b, KernelValue z);
KernelValue complex_expm1(KernelBuilder& b, KernelValue z);
KernelValue complex_logistic(KernelBuilder& b, KernelValue z);
/// The principal branch: log of the modulus, and the angle.
KernelValue complex_log(KernelBuilder& b, KernelValue z);
KernelValue complex_log1p(KernelBuilder& b, KernelValue z);
/// Without cancellation: the real part by the product of sum and difference.
KernelValue complex_square(KernelBuilder& b, KernelValue z);
/// x to the y: 1 where y is 0; NaN where x is 0 and y's real part is not positive.
KernelValue complex_pow(KernelBuilder& b, KernelValue x, KernelValue y);
/// The root with a real part that is not negative.
KernelValue complex_sqrt(KernelBuilder& b, KernelValue z);
KernelValue complex_sin(KernelBuilder& b, KernelValue z);
KernelValue complex_cos(KernelBuilder& b, KernelValue z);
KernelValue complex_sinh(KernelBuilder& b, KernelValue z);
KernelValue complex_cosh(KernelBuilder& b, KernelValue z);
KernelValue complex_tanh(KernelBuilder& b, KernelValue z);
/// i z and z / i.
KernelValue times_i(KernelBuilder& b, KernelValue z);
KernelValue over_i(KernelBuilder& b, KernelValue z);

}  // namespace weft::detail
