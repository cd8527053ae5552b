// The identity of a reduction and one step of it, the same on every target.
#pragma once
#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

/// The identity of the reduction; for argmax and argmin, that of their values.
llvm::Value* reduction_identity(const VectorBuilder& builder, const Reduction& r);

/// One step of the reduction, of scalars or vectors.
llvm::Value* combine(VectorBuilder& builder, const Reduction& r, llvm::Value* a, llvm::Value* b);

/// One step of a reduction of two values. An argmax or argmin takes (v, p) if v is more extreme, or the first NaN; `ties`: also if it is
/// equal and stands further in front.
void combine_two(VectorBuilder& builder, const Reduction& r, DType index, llvm::Value*& value, llvm::Value*& position, llvm::Value* v,
                 llvm::Value* p, bool ties);

}  // namespace weft::detail
