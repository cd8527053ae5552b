#include "weft/backends/cpu/bit_permutations.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

namespace weft::detail {
namespace {

bool is_or(const llvm::Value* v) {
  const auto* i = llvm::dyn_cast<llvm::Instruction>(v);
  return i && i->getOpcode() == llvm::Instruction::Or;
}

/// The outermost of several joined parts.
bool is_root(const llvm::Instruction& i) {
  return is_or(&i) && i.getType()->getScalarSizeInBits() >= 16 && !(i.hasOneUse() && is_or(*i.user_begin()));
}

}  // namespace

void join_bit_permutations(llvm::Module& module) {
  for (llvm::Function& f : module) {
    llvm::SmallVector<llvm::WeakTrackingVH, 8> roots;
    for (llvm::Instruction& i : llvm::instructions(f))
      if (is_root(i)) roots.push_back(&i);
    for (const llvm::WeakTrackingVH& root : roots) {
      auto* const i = llvm::dyn_cast_or_null<llvm::Instruction>(root);
      llvm::SmallVector<llvm::Instruction*, 4> joined;
      if (!i || !llvm::recognizeBSwapOrBitReverseIdiom(i, /*MatchBSwaps=*/true, /*MatchBitReversals=*/true, joined)) continue;
      i->replaceAllUsesWith(joined.back());
      llvm::RecursivelyDeleteTriviallyDeadInstructions(i);
    }
  }
}

}  // namespace weft::detail
