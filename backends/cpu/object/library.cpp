// Calls of the library that exported code does without: the blocks of a kernel run one after the other, and functions of the C library.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include "weft/backends/codegen/math/math.h"
#include "weft/backends/codegen/math/rules.h"
#include "weft/backends/cpu/object/writer.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using llvm::BasicBlock;
using llvm::Value;

class LibraryWriter {
 public:
  LibraryWriter(llvm::Module& module, const std::string& name)
      : name_(name), context_(module.getContext()), module_(&module), ir_(context_) {}

  void run() {
    if (llvm::Function* f = called("weft_run_opaque")) define_opaque(f);
    if (llvm::Function* f = called("weft_run_blocks")) {
      auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
      ir_.CreateCall(type, f->getArg(0), {f->getArg(1), ir_.getInt64(0), f->getArg(2)});
      ir_.CreateRetVoid();
    }
    if (llvm::Function* f = called("weft_run_steps")) define_steps(f);
    if (llvm::Function* f = called("weft_library_lanes")) define_lanes(f);
    if (llvm::Function* f = called("weft_library_math")) define_math(f);
  }

 private:
  /// A declared function that the code calls, prepared for a body.
  llvm::Function* called(const char* symbol) {
    llvm::Function* f = module_->getFunction(symbol);
    if (!f || !f->isDeclaration() || f->use_empty()) return nullptr;
    f->setLinkage(llvm::Function::InternalLinkage);
    ir_.SetInsertPoint(BasicBlock::Create(context_, "entry", f));
    return f;
  }

  /// Calls the routine of a record (routine, plan) with the plan and the buffers.
  void define_opaque(llvm::Function* f) {
    Value *pointer = f->getArg(0), *routine = ir_.CreateLoad(ir_.getPtrTy(), pointer),
          *plan = ir_.CreateLoad(ir_.getPtrTy(), ir_.CreateConstGEP1_64(ir_.getPtrTy(), pointer, 1));
    auto* type = llvm::FunctionType::get(ir_.getInt32Ty(), {ir_.getPtrTy(), ir_.getPtrTy()}, false);
    ir_.CreateRet(ir_.CreateCall(type, routine, {plan, f->getArg(1)}));
  }

  /// Runs all blocks of each iteration, with its pointers: those of the first one, of odd ones, of even ones.
  void define_steps(llvm::Function* f) {
    // (function, pointers, pointers each, blocks, radius, tile, iterations)
    BasicBlock *entry = ir_.GetInsertBlock(), *loop = BasicBlock::Create(context_, "loop", f),
               *end = BasicBlock::Create(context_, "end", f);
    ir_.CreateBr(loop);
    ir_.SetInsertPoint(loop);
    llvm::PHINode* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    i->addIncoming(ir_.getInt64(0), entry);
    Value* which = ir_.CreateSub(ir_.getInt64(2), ir_.CreateAnd(i, ir_.getInt64(1)));
    which = ir_.CreateSelect(ir_.CreateICmpEQ(i, ir_.getInt64(0)), ir_.getInt64(0), which);
    Value* pointers = ir_.CreateGEP(ir_.getPtrTy(), f->getArg(1), ir_.CreateMul(which, f->getArg(2)));
    auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
    ir_.CreateCall(type, f->getArg(0), {pointers, ir_.getInt64(0), f->getArg(3)});
    Value* following = ir_.CreateAdd(i, ir_.getInt64(1));
    i->addIncoming(following, loop);
    ir_.CreateCondBr(ir_.CreateICmpULT(following, f->getArg(6)), loop, end);
    ir_.SetInsertPoint(end);
    ir_.CreateRetVoid();
  }

  /// Calls weft_library_math for each lane whose bit is set.
  void define_lanes(llvm::Function* f) {
    // (function, bytes, lanes, where, x, y, result)
    llvm::Type *one = ir_.getFloatTy(), *two = ir_.getDoubleTy();
    const llvm::FunctionCallee math =
        module_->getOrInsertFunction("weft_library_math", llvm::FunctionType::get(two, {ir_.getInt32Ty(), two, two}, false));
    BasicBlock* entry = ir_.GetInsertBlock();
    const auto block = [&](const char* name) { return BasicBlock::Create(context_, name, f); };
    BasicBlock *loop = block("loop"), *wanted = block("wanted"), *narrow = block("narrow"), *wide = block("wide"), *next = block("next"),
               *end = block("end");
    ir_.CreateBr(loop);
    ir_.SetInsertPoint(loop);
    llvm::PHINode* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    i->addIncoming(ir_.getInt64(0), entry);
    ir_.CreateCondBr(ir_.CreateTrunc(ir_.CreateLShr(f->getArg(3), i), ir_.getInt1Ty()), wanted, next);
    ir_.SetInsertPoint(wanted);
    ir_.CreateCondBr(ir_.CreateICmpEQ(f->getArg(1), ir_.getInt32(4)), narrow, wide);
    for (llvm::Type* t : {one, two}) {
      ir_.SetInsertPoint(t == one ? narrow : wide);
      const auto at = [&](unsigned arg) { return ir_.CreateGEP(t, f->getArg(arg), i); };
      const auto load = [&](unsigned arg) { return ir_.CreateFPCast(ir_.CreateLoad(t, at(arg)), two); };
      ir_.CreateStore(ir_.CreateFPCast(ir_.CreateCall(math, {f->getArg(0), load(4), load(5)}), t), at(6));
      ir_.CreateBr(next);
    }
    ir_.SetInsertPoint(next);
    Value* following = ir_.CreateAdd(i, ir_.getInt64(1));
    i->addIncoming(following, next);
    ir_.CreateCondBr(ir_.CreateICmpULT(following, ir_.CreateZExt(f->getArg(2), ir_.getInt64Ty())), loop, end);
    ir_.SetInsertPoint(end);
    ir_.CreateRetVoid();
    require_known_functions(f);
  }

  /// The functions that are called are known, as callers name them by constants.
  void require_known_functions(llvm::Function* f) {
    for (const llvm::User* u : f->users()) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(u);
      const auto* number = call ? llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0)) : nullptr;
      if (!number) continue;
      const auto function = static_cast<MathFunction>(number->getZExtValue());
      if (!math_rule(function).c_name)
        throw CompileError("export_object: " + name_ + " computes " + std::string(name_of(function)) + ", which the C library lacks");
    }
  }

  void define_math(llvm::Function* f) {
    require_known_functions(f);
    // long double.
    llvm::Type* t =
        llvm::Triple(module_->getTargetTriple()).isX86() ? llvm::Type::getX86_FP80Ty(context_) : llvm::Type::getFP128Ty(context_);
    Value* x = f->getArg(1);
    BasicBlock* other = BasicBlock::Create(context_, "other", f);
    llvm::SwitchInst* choice = ir_.CreateSwitch(f->getArg(0), other);
    for (const MathRule* rule : functions_of_c()) {
      // Its long double result has all digits of a double.
      const std::string symbol = rule->c_name + std::string("l");
      BasicBlock* b = BasicBlock::Create(context_, "function", f);
      choice->addCase(ir_.getInt32(static_cast<unsigned>(rule->function)), b);
      ir_.SetInsertPoint(b);
      Value* y = ir_.CreateCall(module_->getOrInsertFunction(symbol, llvm::FunctionType::get(t, {t}, false)), {ir_.CreateFPExt(x, t)});
      ir_.CreateRet(ir_.CreateFPTrunc(y, ir_.getDoubleTy()));
    }
    ir_.SetInsertPoint(other);
    ir_.CreateRet(x);
  }

  const std::string name_;
  llvm::LLVMContext& context_;
  llvm::Module* const module_;
  llvm::IRBuilder<> ir_;
};

}  // namespace

void define_library(llvm::Module& module, const std::string& name) { LibraryWriter(module, name).run(); }

}  // namespace weft::detail
