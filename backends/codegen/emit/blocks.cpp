#include "weft/backends/codegen/emit/blocks.h"

#include <llvm/IR/MDBuilder.h>

#include "weft/core/errors/error.h"

namespace weft::detail {

using llvm::Value;

Value* expression(VectorBuilder& builder, const Dag& dag, NodeId n, llvm::function_ref<Value*(NodeId)> operand) {
  const Node& node = dag[n];
  llvm::IRBuilder<>& ir = builder.ir();
  if (node.kind == NodeKind::op || node.kind == NodeKind::math) {
    std::vector<KernelValue> operands;
    for (NodeId o : node.operands)
      if (o >= 0) operands.push_back(builder.wrap(operand(o), dag[o].dtype));
    return node.kind == NodeKind::op ? builder.op(node.op, node.dtype, operands) : builder.math_op(node.function, operands);
  }
  Value* v = operand(node.operands[0]);
  const auto number = [&] { return llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(node.integer)); };
  switch (node.kind) {
    case NodeKind::index_div: return ir.CreateUDiv(v, number());
    case NodeKind::index_mod: return ir.CreateURem(v, number());
    case NodeKind::index_below: return ir.CreateICmpULT(v, number());
    case NodeKind::index_value: {
      llvm::Type* t = builder.type(node.dtype);
      if (const int lanes = VectorBuilder::lanes_of(v); lanes > 1) t = llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
      if (node.dtype.is_bool()) return ir.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
      return node.dtype.is_floating() ? ir.CreateSIToFP(v, t) : ir.CreateSExtOrTrunc(v, t);
    }
    default: throw CompileError("codegen: internal error: a node that is not an operation on other nodes");
  }
}

Value* emit_before(llvm::IRBuilder<>& ir, llvm::Instruction* place, llvm::function_ref<Value*()> f) {
  // The insertion point is saved as an instruction if there is one, since code emitted in between may split its block.
  llvm::BasicBlock* block = ir.GetInsertBlock();
  llvm::Instruction* before = ir.GetInsertPoint() == block->end() ? nullptr : &*ir.GetInsertPoint();
  ir.SetInsertPoint(place);
  Value* v = f();
  if (before)
    ir.SetInsertPoint(before);
  else
    ir.SetInsertPoint(block);
  return v;
}

llvm::BasicBlock* cut_block(llvm::IRBuilder<>& ir) {
  llvm::BasicBlock* before = ir.GetInsertBlock();
  llvm::Instruction* marker = ir.CreateUnreachable();
  llvm::BasicBlock* after = before->splitBasicBlock(marker, "after");
  marker->eraseFromParent();
  before->getTerminator()->eraseFromParent();
  return after;
}

void move_to_end(llvm::IRBuilder<>& ir, llvm::BasicBlock* block) {
  if (llvm::Instruction* end = block->getTerminator())
    ir.SetInsertPoint(end);
  else
    ir.SetInsertPoint(block);
}

std::vector<Value*> either(llvm::IRBuilder<>& ir, const std::vector<Value*>& a, llvm::BasicBlock* from_a, const std::vector<Value*>& b,
                           llvm::BasicBlock* from_b) {
  std::vector<Value*> merged;
  for (std::size_t i = 0; i < b.size(); ++i) {
    llvm::PHINode* phi = ir.CreatePHI(b[i]->getType(), 2);
    phi->addIncoming(a[i], from_a);
    phi->addIncoming(b[i], from_b);
    merged.push_back(phi);
  }
  return merged;
}

std::vector<Value*> run_where(llvm::IRBuilder<>& ir, const char* label, Value* condition, const std::vector<Value*>& carried,
                              llvm::function_ref<std::vector<Value*>(llvm::Instruction*)> body) {
  llvm::Function* function = ir.GetInsertBlock()->getParent();
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(ir.getContext(), label, function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(ir.getContext(), "next", function);
  const auto* const known = llvm::dyn_cast<llvm::ConstantInt>(condition);
  const bool always = known && known->isOne();
  llvm::Instruction* entry = always ? ir.CreateBr(inside) : ir.CreateCondBr(condition, inside, after);
  ir.SetInsertPoint(inside);
  std::vector<Value*> results = body(entry);
  llvm::BasicBlock* last = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  return always ? results : either(ir, carried, entry->getParent(), results, last);
}

Value* unless_any(llvm::IRBuilder<>& ir, Value* outside, Value* usual, llvm::function_ref<Value*()> otherwise) {
  llvm::BasicBlock* before = ir.GetInsertBlock();
  llvm::BasicBlock* after = cut_block(ir);
  llvm::BasicBlock* rare = llvm::BasicBlock::Create(ir.getContext(), "outside", before->getParent(), after);
  ir.SetInsertPoint(before);
  const int lanes = VectorBuilder::lanes_of(outside);
  Value* bits = lanes > 1 ? ir.CreateBitCast(outside, ir.getIntNTy(static_cast<unsigned>(lanes))) : outside;
  ir.CreateCondBr(ir.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), rare, after,
                  llvm::MDBuilder(ir.getContext()).createBranchWeights(1, 1000));
  ir.SetInsertPoint(rare);
  Value* other = otherwise();
  llvm::BasicBlock* end = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after, after->begin());
  Value* result = either(ir, {usual}, before, {other}, end)[0];
  move_to_end(ir, after);
  return result;
}

RepeatLoop::RepeatLoop(llvm::IRBuilder<>& ir, llvm::Type* index) : ir_(ir) {
  llvm::Function* const function = ir.GetInsertBlock()->getParent();
  inside_ = llvm::BasicBlock::Create(ir.getContext(), "repeat", function);
  after_ = llvm::BasicBlock::Create(ir.getContext(), "done", function);
  entry_ = ir.CreateBr(inside_);
  ir.SetInsertPoint(inside_);
  iteration_ = ir.CreatePHI(index, 2);
  iteration_->addIncoming(llvm::ConstantInt::get(index, 0), entry_->getParent());
}

llvm::PHINode* RepeatLoop::carry(Value* start) {
  llvm::PHINode* const phi = ir_.CreatePHI(start->getType(), 2);
  phi->addIncoming(start, entry_->getParent());
  carried_.push_back(phi);
  return phi;
}

void RepeatLoop::go_on_where(Value* condition) {
  llvm::BasicBlock* const body = llvm::BasicBlock::Create(ir_.getContext(), "again", inside_->getParent());
  ir_.CreateCondBr(condition, body, after_);
  ir_.SetInsertPoint(body);
  has_condition_ = true;
}

void RepeatLoop::end(llvm::ArrayRef<Value*> next, std::int64_t steps) {
  llvm::Type* const index = iteration_->getType();
  Value* const step = ir_.CreateAdd(iteration_, llvm::ConstantInt::get(index, 1));
  llvm::BasicBlock* const last = ir_.GetInsertBlock();
  iteration_->addIncoming(step, last);
  for (std::size_t i = 0; i < carried_.size(); ++i) carried_[i]->addIncoming(next[i], last);
  if (has_condition_)
    ir_.CreateBr(inside_);
  else
    ir_.CreateCondBr(ir_.CreateICmpSLT(step, llvm::ConstantInt::get(index, static_cast<std::uint64_t>(steps))), inside_, after_);
  ir_.SetInsertPoint(after_);
}

}  // namespace weft::detail
