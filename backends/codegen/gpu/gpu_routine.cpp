#include "weft/backends/codegen/gpu/gpu_routine.h"

#include <llvm/IR/Module.h>

namespace weft::detail {

void GpuRoutine::begin(const std::string& name, int threads, unsigned pointers, unsigned count, const std::vector<unsigned>& read) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::PointerType* pointer = llvm::PointerType::get(context, threads_.global_space());
  const auto type_of = [&](unsigned i) { return i < pointers ? static_cast<llvm::Type*>(pointer) : i64_; };
  std::vector<llvm::Type*> types;
  if (threads_.emulated())
    types.push_back(pointer);
  else
    for (unsigned i = 0; i < count; ++i) types.push_back(type_of(i));
  function_ = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), types, false), llvm::Function::ExternalLinkage,
                                     prefix_ + name, module_);
  function_->setDoesNotThrow();
  ir_.SetInsertPoint(block("entry"));
  given_.clear();
  for (unsigned i = 0; i < count; ++i) {
    if (!threads_.emulated()) {
      given_.push_back(function_->getArg(i));
      continue;
    }
    Value* slot = ir_.CreateLoad(pointer, ir_.CreateConstGEP1_64(pointer, function_->getArg(0), i));
    Value* given = ir_.CreateLoad(pointer, slot);
    given_.push_back(i < pointers ? given : ir_.CreatePtrToInt(given, i64_));
  }
  if (!threads_.emulated()) {
    function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    const auto annotate = [&](const char* what, std::uint32_t value) {
      module_.getOrInsertNamedMetadata("nvvm.annotations")
          ->addOperand(llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(function_), llvm::MDString::get(context, what),
                                                   llvm::ConstantAsMetadata::get(ir_.getInt32(value))}));
    };
    annotate("kernel", 1);
    annotate("maxntidx", static_cast<std::uint32_t>(threads));
    for (unsigned i = 0; i < pointers; ++i) function_->addParamAttr(i, llvm::Attribute::NoAlias);
    for (unsigned i : read) function_->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  thread_ = threads_.thread();
  block_ = wide(threads_.block());
}

void GpuRoutine::either(Value* condition, const std::function<void()>& yes, const std::function<void()>& no) {
  llvm::BasicBlock *a = block("then"), *after = block("after"), *b = no ? block("else") : after;
  ir_.CreateCondBr(condition, a, b);
  ir_.SetInsertPoint(a);
  yes();
  ir_.CreateBr(after);
  if (no) {
    ir_.SetInsertPoint(b);
    no();
    ir_.CreateBr(after);
  }
  ir_.SetInsertPoint(after);
}

void GpuRoutine::loop(Value* end, const std::function<void(Value*)>& body) {
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *head = block("head"), *inside = block("loop"), *after = block("after");
  ir_.CreateBr(head);
  ir_.SetInsertPoint(head);
  llvm::PHINode* i = ir_.CreatePHI(i64_, 2);
  i->addIncoming(i64(0), before);
  ir_.CreateCondBr(ir_.CreateICmpULT(i, end), inside, after);
  ir_.SetInsertPoint(inside);
  body(i);
  i->addIncoming(ir_.CreateAdd(i, i64(1)), ir_.GetInsertBlock());
  ir_.CreateBr(head);
  ir_.SetInsertPoint(after);
}

}  // namespace weft::detail
