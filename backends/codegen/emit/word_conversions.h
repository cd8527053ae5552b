// Vectors of 64-bit integers to and from float64 for processors whose instructions convert single ones: by halves of 32 bits, which lie in
// the mantissas of large numbers as they are. Includes LLVM: only for emitters.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "weft/backends/codegen/emit/vector_builder.h"

namespace weft::detail {

/// Whether such processors run the code.
bool converts_by_halves(const VectorFeatures& features, int lanes);

/// As float64, rounded once.
llvm::Value* words_as_doubles(llvm::IRBuilder<>& ir, llvm::Value* words, bool is_signed);
/// float32 or float64 numbers rounded towards 0, which are in the range of int64 or of uint64; others give any integer.
llvm::Value* floats_as_words(llvm::IRBuilder<>& ir, llvm::Value* floats);
/// The low 32 bits of the integers that float64 numbers of a magnitude below 2^51 are when rounded towards 0.
llvm::Value* doubles_as_half_words(llvm::IRBuilder<>& ir, llvm::Value* doubles);

}  // namespace weft::detail
