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

}  // namespace weft::detail
