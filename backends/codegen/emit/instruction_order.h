// The order of instructions in emitted code. Includes LLVM: only for emitters.
#pragma once
#include <llvm/IR/BasicBlock.h>

namespace weft::detail {

/// List scheduling: interleaves independent chains of operations that follow one another, so that one executes while another
/// waits for its operands. Processors look only about a hundred instructions ahead, and code generators keep the given
/// order.
void interleave_chains(llvm::BasicBlock& block);

}  // namespace weft::detail
