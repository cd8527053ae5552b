// The order of instructions in emitted code. Includes LLVM: only for emitters.
#pragma once
#include <llvm/IR/BasicBlock.h>

namespace weft::detail {

/// Mixes chains of operations that stand one after the other, so that one is at work while the next waits: the order in which a processor
/// would begin them that looks farther ahead than real ones do. These see about a hundred instructions, and code generators leave the order
/// as it is.
void interleave_chains(llvm::BasicBlock& block);

}  // namespace weft::detail
