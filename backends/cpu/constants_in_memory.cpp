#include "weft/backends/cpu/constants_in_memory.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace weft::detail {
namespace {

constexpr unsigned kRegisterBits = 256;
constexpr std::size_t kRegistersForConstants = 10;  ///< of 16: so many constants stay in registers throughout a loop
constexpr std::size_t kMostUses = 4;                ///< one broadcast serves more uses as well

/// Whether the operand may be in memory.
bool reads_memory(const llvm::Use& use) {
  const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
  if (intrinsic) return intrinsic->getIntrinsicID() == llvm::Intrinsic::fma && use.getOperandNo() < 3;
  switch (user->getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FMul: return true;
    case llvm::Instruction::FSub: return use.getOperandNo() == 1;
    default: return false;
  }
}

}  // namespace

void keep_constants_in_memory(llvm::Module& module) {
  for (llvm::Function& f : module)
    for (llvm::BasicBlock& block : f) {
      llvm::MapVector<llvm::Constant*, llvm::SmallVector<llvm::Use*, 4>> uses;
      for (llvm::Instruction& i : block)
        for (llvm::Use& use : i.operands())
          if (auto* c = llvm::dyn_cast<llvm::Constant>(use.get());
              c && c->getType()->isFPOrFPVectorTy() && c->getType()->getPrimitiveSizeInBits() == kRegisterBits && !c->isNullValue() &&
              llvm::isa_and_nonnull<llvm::ConstantFP>(c->getSplatValue()))
            uses[c].push_back(&use);
      if (uses.size() <= kRegistersForConstants) continue;
      for (auto& [constant, places] : uses) {
        if (places.size() > kMostUses) continue;
        for (llvm::Use* use : places) {
          if (!reads_memory(*use)) continue;
          // Each use has a copy of its own: a load that several instructions share is an instruction.
          auto* copy = new llvm::GlobalVariable(module, constant->getType(), true, llvm::GlobalValue::PrivateLinkage, constant, "constant");
          copy->setExternallyInitialized(true);  // or the load would become the constant
          copy->setAlignment(llvm::Align(kRegisterBits / 8));
          llvm::IRBuilder<> ir(llvm::cast<llvm::Instruction>(use->getUser()));
          llvm::LoadInst* load = ir.CreateAlignedLoad(constant->getType(), copy, llvm::Align(kRegisterBits / 8));
          load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module.getContext(), {}));
          use->set(load);
        }
      }
    }
}

}  // namespace weft::detail
