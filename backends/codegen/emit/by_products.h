// Quotients and square roots of vectors by multiply-adds, from the processor's approximation of an inverse or an inverse root. They have
// the bits of a division or a root. Includes LLVM: only for emitters.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// For each node, whether its quotient or root is computed by multiply-adds: as many of a kernel as make it wait less for the processor's
/// divider.
std::vector<char> nodes_by_products(const Kernel& k, const Schedule& s, const VectorFeatures& features);

/// Of vectors of 64 bytes of float32 or float64.
llvm::Value* quotient_by_products(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b);
llvm::Value* root_by_products(llvm::IRBuilder<>& ir, llvm::Value* x);
llvm::Value* inverse_root_by_products(llvm::IRBuilder<>& ir, llvm::Value* x);

}  // namespace weft::detail
