// How folds begin and go on, the same on every target.
#pragma once
#include "backends/codegen/kernel.h"
#include "backends/codegen/vector_builder.h"

namespace weft::detail {

/// What changes nothing when it is combined with a value: the fold of no elements. For argmax and argmin that of their values.
llvm::Value* fold_identity(const VectorBuilder& builder, const Reduction& r);

/// One step of the fold, of scalars or vectors.
llvm::Value* fold_combine(VectorBuilder& builder, const Reduction& r, llvm::Value* a, llvm::Value* b);

}  // namespace weft::detail
