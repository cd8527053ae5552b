// Control flow and expressions that the emitters of all targets share. Includes LLVM: only for emitters.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>

#include <vector>

#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

/// The value of a node that is an operation on others, whose values `operand` gives. Loads, positions and locals are up to the target.
llvm::Value* expression(VectorBuilder& builder, const Dag& dag, NodeId n, llvm::function_ref<llvm::Value*(NodeId)> operand);

/// Runs f with the insertion point in front of the instruction, then restores it.
llvm::Value* emit_before(llvm::IRBuilder<>& ir, llvm::Instruction* place, llvm::function_ref<llvm::Value*()> f);

/// Cuts the current block at its end: values may be emitted before code that is already there. Gives the second part, which has that code;
/// the first one is left without a terminator.
llvm::BasicBlock* cut_block(llvm::IRBuilder<>& ir);
/// Moves the insertion point to the end of a block, in front of its terminator if it has one.
void move_to_end(llvm::IRBuilder<>& ir, llvm::BasicBlock* block);

/// Phi nodes that select the values of the block that ran.
std::vector<llvm::Value*> either(llvm::IRBuilder<>& ir, const std::vector<llvm::Value*>& a, llvm::BasicBlock* from_a,
                                 const std::vector<llvm::Value*>& b, llvm::BasicBlock* from_b);
/// A block that runs on a condition; where it does not, `carried` is the result. `body` gets the branch into it, in front of which goes
/// what is computed outside.
std::vector<llvm::Value*> run_where(llvm::IRBuilder<>& ir, const char* label, llvm::Value* condition,
                                    const std::vector<llvm::Value*>& carried,
                                    llvm::function_ref<std::vector<llvm::Value*>(llvm::Instruction* entry)> body);
/// `usual`; where any lane of `outside` is set, which is rare, what `otherwise` emits.
llvm::Value* unless_any(llvm::IRBuilder<>& ir, llvm::Value* outside, llvm::Value* usual, llvm::function_ref<llvm::Value*()> otherwise);

/// A loop within one point of a kernel, whose carried values are registers. Made, it is entered; after end(), code goes on behind it.
class RepeatLoop {
 public:
  RepeatLoop(llvm::IRBuilder<>& ir, llvm::Type* index);
  /// The branch into the loop, in front of which goes what is computed outside.
  llvm::Instruction* entry() const { return entry_; }
  /// The number of the step.
  llvm::PHINode* iteration() const { return iteration_; }
  /// A value that is carried from step to step.
  llvm::PHINode* carry(llvm::Value* start);
  /// Leaves the loop where the condition is false, with the values of the step's begin.
  void go_on_where(llvm::Value* condition);
  /// The carried values of the next step, in the order of carry(). Without go_on_where, `steps` is the number of steps.
  void end(llvm::ArrayRef<llvm::Value*> next, std::int64_t steps);

 private:
  llvm::IRBuilder<>& ir_;
  llvm::BasicBlock *inside_, *after_;
  llvm::Instruction* entry_;
  llvm::PHINode* iteration_;
  std::vector<llvm::PHINode*> carried_;
  bool has_condition_ = false;
};

}  // namespace weft::detail
