#include "weft/backends/cpu/object_export.h"

#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <map>
#include <utility>

#include "weft/backends/codegen/emit/emit.h"
#include "weft/backends/codegen/math/rules.h"
#include "weft/backends/codegen/planner/dag.h"
#include "weft/backends/cpu/code_generator.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using llvm::BasicBlock;
using llvm::Value;

class ObjectWriter {
 public:
  ObjectWriter(const std::string& name, const KernelProgram& p, const std::vector<Schedule>& schedules)
      : name_(name), p_(p), schedules_(schedules), module_(new_module(context_, name + "_", CodeTier::optimized)), ir_(context_) {}

  std::string run(const std::vector<ObjectCall>& calls, ObjectConstants constants,
                  const std::function<const void*(const FixedPointer&)>& address) {
    // The code of the steps, and the constants that it reads.
    std::vector<llvm::Function*> functions;
    std::vector<std::vector<int>> tables;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      functions.push_back(nullptr);
      tables.emplace_back();
      const Step* s = calls[i].step;
      if (!s) continue;
      const std::string symbol = name_ + "_step" + std::to_string(i);
      if (s->kind == Step::Kind::control) {
        for (const FixedPointer& f : emit_control(*module_, p_, schedules_, p_, *s, processor().vectors, symbol)) {
          if (f.kind != FixedPointer::Kind::memory) refuse(f);
          tables.back().push_back(constants.add(address(f), f.program->buffers[static_cast<std::size_t>(f.number)].aval.bytes()));
        }
        functions.back() = module_->getFunction(symbol);
      } else {
        llvm::Function*& kernel = kernels_[s->number];
        if (!kernel) {
          emit_kernel(*module_, p_.kernels[static_cast<std::size_t>(s->number)], schedules_[static_cast<std::size_t>(s->number)],
                      processor().vectors, symbol);
          kernel = module_->getFunction(symbol);
        }
        functions.back() = kernel;
      }
    }
    for (llvm::Function& f : *module_)
      if (!f.isDeclaration()) f.setLinkage(llvm::Function::InternalLinkage);
    for (const std::string& bytes : constants.contents) {
      llvm::Constant* contents = llvm::ConstantDataArray::getString(context_, bytes, false);
      auto* global = new llvm::GlobalVariable(*module_, contents->getType(), true, llvm::GlobalValue::PrivateLinkage, contents, "constant");
      global->setAlignment(llvm::Align(64));
      data_.push_back(global);
    }
    write_entry(calls, functions, tables);
    define_library();
    verify(*module_);
    return generate(*module_, CodeTier::optimized);
  }

 private:
  [[noreturn]] void refuse(const FixedPointer& f) const {
    std::string what = "matrix product";
    if (f.kind == FixedPointer::Kind::opaque) {
      const Step& s = f.program->steps[static_cast<std::size_t>(f.number)];
      what = f.program->jaxpr.data().eqns[static_cast<std::size_t>(s.number)].op->name;
    }
    throw CompileError("export_object: a loop or branch of " + name_ + " holds a call of the library's " + what +
                       ", which no object file can hold");
  }

  void write_entry(const std::vector<ObjectCall>& calls, const std::vector<llvm::Function*>& functions,
                   const std::vector<std::vector<int>>& tables) {
    llvm::PointerType* pointer = ir_.getPtrTy();
    auto* entry = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), {pointer, pointer}, false),
                                         llvm::Function::ExternalLinkage, name_, *module_);
    ir_.SetInsertPoint(BasicBlock::Create(context_, "entry", entry));
    Value* arena = nullptr;
    if (p_.arena_bytes > 0)
      arena = ir_.CreateCall(
          module_->getOrInsertFunction("aligned_alloc", llvm::FunctionType::get(pointer, {ir_.getInt64Ty(), ir_.getInt64Ty()}, false)),
          {ir_.getInt64(64), ir_.getInt64(static_cast<std::uint64_t>((p_.arena_bytes + 63) / 64 * 64))});
    std::size_t most = 1;
    for (std::size_t i = 0; i < calls.size(); ++i) most = std::max({most, calls[i].args.size(), tables[i].size()});
    Value *args = ir_.CreateAlloca(llvm::ArrayType::get(pointer, most)), *table = ir_.CreateAlloca(llvm::ArrayType::get(pointer, most));
    const auto value = [&](const ObjectCall::Pointer& p) -> Value* {
      const auto index = static_cast<std::uint64_t>(p.index);
      switch (p.kind) {
        case ObjectCall::Pointer::Kind::arena: return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), arena, index);
        case ObjectCall::Pointer::Kind::constant: return data_[static_cast<std::size_t>(p.index)];
        default: break;
      }
      Value* array = entry->getArg(p.kind == ObjectCall::Pointer::Kind::input ? 0 : 1);
      return ir_.CreateLoad(pointer, ir_.CreateConstGEP1_64(pointer, array, index));
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const ObjectCall& c = calls[i];
      if (!c.step) {
        ir_.CreateMemCpy(value(c.args[0]), llvm::MaybeAlign(1), value(c.args[1]), llvm::MaybeAlign(1), static_cast<std::uint64_t>(c.bytes));
        continue;
      }
      for (std::size_t k = 0; k < c.args.size(); ++k) ir_.CreateStore(value(c.args[k]), ir_.CreateConstGEP1_64(pointer, args, k));
      if (c.step->kind == Step::Kind::control) {
        for (std::size_t k = 0; k < tables[i].size(); ++k)
          ir_.CreateStore(data_[static_cast<std::size_t>(tables[i][k])], ir_.CreateConstGEP1_64(pointer, table, k));
        ir_.CreateCall(functions[i], {args, table});
      } else {
        const auto blocks = schedules_[static_cast<std::size_t>(c.step->number)].num_blocks;
        ir_.CreateCall(functions[i], {args, ir_.getInt64(0), ir_.getInt64(static_cast<std::uint64_t>(blocks))});
      }
    }
    if (arena) ir_.CreateCall(module_->getOrInsertFunction("free", llvm::FunctionType::get(ir_.getVoidTy(), {pointer}, false)), {arena});
    ir_.CreateRetVoid();
  }

  /// A declared function that the code calls, made ready to be given a body.
  llvm::Function* called(const char* symbol) {
    llvm::Function* f = module_->getFunction(symbol);
    if (!f || !f->isDeclaration() || f->use_empty()) return nullptr;
    f->setLinkage(llvm::Function::InternalLinkage);
    ir_.SetInsertPoint(BasicBlock::Create(context_, "entry", f));
    return f;
  }

  /// What code calls the library for and can do without it: blocks of a kernel, one after the other; functions of the C library.
  void define_library() {
    if (llvm::Function* f = called("weft_run_blocks")) {
      auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
      ir_.CreateCall(type, f->getArg(0), {f->getArg(1), ir_.getInt64(0), f->getArg(2)});
      ir_.CreateRetVoid();
    }
    if (llvm::Function* f = called("weft_run_steps")) define_steps(f);
    if (llvm::Function* f = called("weft_library_lanes")) define_lanes(f);
    if (llvm::Function* f = called("weft_library_math")) define_math(f);
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
        throw CompileError("export_object: " + name_ + " computes " + std::string(name_of(function)) + ", which the C library has not");
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
      // In long double it has all digits that double has.
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
  const KernelProgram& p_;
  const std::vector<Schedule>& schedules_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> ir_;
  std::map<int, llvm::Function*> kernels_;
  std::vector<llvm::GlobalVariable*> data_;
};

}  // namespace

int ObjectConstants::add(const void* data, std::int64_t bytes) {
  contents.emplace_back(static_cast<const char*>(data), static_cast<std::size_t>(bytes));
  return static_cast<int>(contents.size()) - 1;
}

std::string object_file(const std::string& name, const KernelProgram& p, const std::vector<Schedule>& schedules,
                        const std::vector<ObjectCall>& calls, ObjectConstants constants,
                        const std::function<const void*(const FixedPointer&)>& address) {
  return ObjectWriter(name, p, schedules).run(calls, std::move(constants), address);
}

}  // namespace weft::detail
