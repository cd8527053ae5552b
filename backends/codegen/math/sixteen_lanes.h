// float32 functions for processors with registers of sixteen of them and lookups in such registers (AVX-512). Includes LLVM: only for
// emitters.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "core/kernel_builder.h"

namespace weft::detail {

/// f of a float or a vector of them, or null for functions that have no such form. Values of any number of lanes are computed in vectors of
/// sixteen, so that results don't depend on it.
llvm::Value* sixteen_lane_math(llvm::IRBuilder<>& ir, MathFunction f, llvm::Value* x);

}  // namespace weft::detail
