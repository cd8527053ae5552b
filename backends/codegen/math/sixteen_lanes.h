// float32 functions for processors with registers of sixteen of them and lookups in such registers (AVX-512). Includes LLVM: only for
// emitters.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "weft/core/ir/kernel_builder.h"

namespace weft::detail {

/// f of a float or a vector of them, or null for functions that have no such form. Values of any number of lanes are computed in vectors of
/// sixteen, so that results don't depend on it. Exponentials branch where a result is subnormal, which
/// would take long; `often_small`: they spend a few instructions on all lanes instead. The results have the same bits either way.
llvm::Value* sixteen_lane_math(llvm::IRBuilder<>& ir, MathFunction f, llvm::Value* x, bool often_small = false);

/// Precomputed values for quotients by the same sixteen divisors.
struct SixteenDivisors {
  llvm::Value *down = nullptr, *mantissa = nullptr, *inverse = nullptr;
};
SixteenDivisors sixteen_lane_divisors(llvm::IRBuilder<>& ir, llvm::Value* s);
/// x / s for 0 <= x <= s, rounded once where it is at least 2^-100, elsewhere at most one unit in the last place away; NaN and infinities
/// as the quotient has them.
llvm::Value* sixteen_lane_quotient(llvm::IRBuilder<>& ir, llvm::Value* x, const SixteenDivisors& s);

}  // namespace weft::detail
