// Bytes and bits that are put into reverse order by shifts, masks and `or`, as programs of integers write it.
#pragma once
#include <llvm/IR/Module.h>

namespace weft::detail {

/// Replaces such expressions by one operation each, for which processors have an instruction or two.
void join_bit_permutations(llvm::Module& module);

}  // namespace weft::detail
