// Lanes that are loaded from places of their own.
#include <llvm/IR/IntrinsicInst.h>

#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/emit/lane_order.h"

namespace weft::detail {

using llvm::Value;

Value* KernelEmitter::load_gathered(const LaneLoad& l, const Copy& copy) {
  llvm::Type* const element = l.type->getElementType();
  Value* pointers = nullptr;
  if (l.at.indices) {
    fetch_gathered(l.arg, k_.dag[l.id].operands[0], copy);
    pointers = ir_.CreateGEP(element, args_[static_cast<std::size_t>(l.arg)], l.at.indices);
  } else {
    Value* const first = l.at.odd ? ir_.CreateGEP(element, l.at.pointer, i64(1)) : l.at.pointer;
    Value* const stride = llvm::ConstantInt::get(index_type(), static_cast<std::uint64_t>(l.at.stride));
    pointers = ir_.CreateGEP(element, first, ir_.CreateMul(lane_numbers(), builder_.splat(stride, lanes_)));
  }
  Value* const all = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(ir_.getInt1Ty(), static_cast<unsigned>(lanes_)));
  return ir_.CreateMaskedGather(l.type, pointers, l.align, l.mask ? l.mask : all, llvm::Constant::getNullValue(l.type));
}

/// Takes a gather whose result is only stored apart: an element goes from memory to memory through a register of its own, which keeps fewer
/// of the processor's units busy than putting vectors together does.
bool KernelEmitter::store_gathered(const Store& s, Value* to, Value* v) {
  auto* const gather = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  if (!gather || gather->getIntrinsicID() != llvm::Intrinsic::masked_gather || !gather->use_empty() ||
      gather->getParent() != ir_.GetInsertBlock() || (k_.dag[s.position].dims & ~k_.dag[s.value].dims) != 0)
    return false;
  const auto* mask = llvm::dyn_cast<llvm::Constant>(gather->getArgOperand(2));
  auto* const places = llvm::dyn_cast<llvm::GetElementPtrInst>(gather->getArgOperand(0));
  if (!mask || !mask->isAllOnesValue() || !places || places->getNumIndices() != 1) return false;
  llvm::Type* const element = places->getSourceElementType();
  Value* const indices = places->getOperand(1);
  if (element->getPrimitiveSizeInBits() < 32 || VectorBuilder::lanes_of(indices) != lanes_) return false;
  // Processors store more registers of integers than of other numbers at a time.
  llvm::Type* const integer = ir_.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits()));
  const llvm::Align align = element_align(k_.args[static_cast<std::size_t>(s.arg)].dtype);
  for (int lane = 0; lane < lanes_; ++lane) {
    Value* const from = ir_.CreateGEP(element, places->getPointerOperand(), lane_of_indices(indices, lane));
    ir_.CreateAlignedStore(ir_.CreateAlignedLoad(integer, from, align), ir_.CreateGEP(element, to, i64(lane)), align);
  }
  // Another store may have taken the same one.
  if (llvm::Instruction* const taken = gather; !contains(taken_apart_, taken)) taken_apart_.push_back(taken);
  return true;
}

/// As i64. Two of 32 bits are taken out of a vector at once.
Value* KernelEmitter::lane_of_indices(Value* indices, int lane) {
  if (auto* const known = llvm::dyn_cast<llvm::Constant>(indices))
    return i64(llvm::cast<llvm::ConstantInt>(known->getAggregateElement(static_cast<unsigned>(lane)))->getSExtValue());
  if (wide_index_) return ir_.CreateExtractElement(indices, static_cast<std::uint64_t>(lane));
  auto* const pairs = llvm::FixedVectorType::get(ir_.getInt64Ty(), static_cast<unsigned>(lanes_ / 2));
  Value* const both = ir_.CreateExtractElement(ir_.CreateBitCast(indices, pairs), static_cast<std::uint64_t>(lane / 2));
  return lane % 2 == 1 ? ir_.CreateAShr(both, 32) : ir_.CreateSExt(ir_.CreateTrunc(both, ir_.getInt32Ty()), ir_.getInt64Ty());
}

void KernelEmitter::remove_unused_gathers() {
  for (llvm::Instruction* gather : taken_apart_) {
    if (!gather->use_empty()) continue;
    auto* const places = llvm::cast<llvm::Instruction>(gather->getOperand(0));
    gather->eraseFromParent();
    if (places->use_empty()) places->eraseFromParent();
  }
  taken_apart_.clear();
}

}  // namespace weft::detail
