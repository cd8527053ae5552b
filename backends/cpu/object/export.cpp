#include "weft/backends/cpu/object/export.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>

#include <algorithm>

#include "weft/backends/cpu/object/writer.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr std::uint32_t kBadPointer = 2;  // WEFT_AOT_BAD_POINTER

/// A processor, and the number of its level among those of x86-64.
struct LeveledProcessor {
  Processor processor;
  int level = 0;
};
bool is_level(std::string_view name) { return name.starts_with("x86-64"); }

/// Each once, those with less first.
std::vector<LeveledProcessor> targets_of(const std::vector<std::string>& names) {
  if (names.empty()) throw CompileError("export_object: no target is named; `native` is this machine's processor");
  std::vector<std::string> all = names;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<LeveledProcessor> targets;
  for (const std::string& name : all)
    targets.push_back({processor_named(name), !is_level(name) ? 0 : name.size() == 6 ? 1 : name.back() - '0'});
  if (all.size() > 1)
    for (const std::string& name : all)
      if (!is_level(name))
        throw CompileError("export_object: one file can be for several levels of x86-64 (`x86-64`, `x86-64-v2`, ...), but not for `" +
                           name + "` beside others; write a file for it alone");
  return targets;
}

/// Writes the code of all entries, for all processors, and functions that choose.
class FileWriter {
 public:
  FileWriter(const ObjectRequest& request, const std::vector<LeveledProcessor>& targets)
      : request_(request),
        targets_(targets),
        module_(new_module(context_, request.name, targets[0].processor)),
        ir_(context_),
        constants_(request.name) {}

  std::string run() {
    for (const ObjectRequest::Entry& e : request_.entries) {
      std::vector<std::string> symbols;
      for (const LeveledProcessor& t : targets_) symbols.push_back(add_code(e, t));
      write_entry(e, symbols);
    }
    for (const std::string& symbol : inner_) module_->getFunction(symbol)->setLinkage(llvm::GlobalValue::InternalLinkage);
    constants_.define(*module_);
    verify(*module_);
    return generate(*module_, targets_[0].processor);
  }

 private:
  /// The program for one processor, as a function of the file.
  std::string add_code(const ObjectRequest::Entry& e, const LeveledProcessor& t) {
    const std::string symbol = e.name + "_for_" + (t.level == 0 ? std::string("one") : "v" + std::to_string(t.level));
    ModuleOwner part = new_module(context_, symbol, t.processor);
    llvm::Function* const code = write_program(*part, request_.name, symbol, e.program, t.processor, constants_);
    define_library(*part, request_.name);
    for (llvm::Function& f : *part) {
      if (f.isDeclaration()) continue;
      f.setLinkage(llvm::GlobalValue::InternalLinkage);
      if (targets_.size() == 1) continue;
      f.addFnAttr("target-cpu", t.processor.cpu);
      f.addFnAttr("target-features", t.processor.features);
    }
    code->setLinkage(llvm::GlobalValue::ExternalLinkage);
    code->setVisibility(llvm::GlobalValue::HiddenVisibility);
    inner_.push_back(symbol);
    verify(*part);
    // The linker gives functions of equal names others, as each is for its own module alone.
    if (llvm::Linker::linkModules(*module_, std::unique_ptr<llvm::Module>(part.release())))
      throw CompileError("export_object: internal error: parts of " + request_.name + " don't fit together");
    return symbol;
  }

  void write_entry(const ObjectRequest::Entry& e, const std::vector<std::string>& symbols) {
    llvm::PointerType* pointer = ir_.getPtrTy();
    auto* const entry = llvm::Function::Create(llvm::FunctionType::get(ir_.getInt32Ty(), {pointer, pointer}, false),
                                               llvm::Function::ExternalLinkage, e.name, *module_);
    entry->setDoesNotThrow();
    const auto block = [&](const char* name) { return BasicBlock::Create(context_, name, entry); };
    ir_.SetInsertPoint(block("entry"));
    guard(entry, 0, e.program.data().input_avals());
    guard(entry, 1, e.program.data().output_avals());
    Value* level = nullptr;
    for (std::size_t i = targets_.size(); i-- > 0;) {
      if (i > 0) {
        if (!level)
          level = ir_.CreateCall(module_->getOrInsertFunction("weft_aot_level", llvm::FunctionType::get(ir_.getInt32Ty(), false)));
        BasicBlock *own = block("level"), *others = block("others");
        ir_.CreateCondBr(ir_.CreateICmpSGE(level, ir_.getInt32(static_cast<unsigned>(targets_[i].level))), own, others);
        ir_.SetInsertPoint(own);
        call(entry, symbols[i]);
        ir_.SetInsertPoint(others);
      } else {
        call(entry, symbols[0]);
      }
    }
  }
  void call(llvm::Function* entry, const std::string& symbol) {
    ir_.CreateRet(ir_.CreateCall(module_->getFunction(symbol), {entry->getArg(0), entry->getArg(1)}));
  }

  /// Refuses arrays that are null, or not aligned to their elements.
  void guard(llvm::Function* entry, unsigned list, std::span<const Aval> avals) {
    Value* good = nullptr;
    for (std::size_t i = 0; i < avals.size(); ++i) {
      if (avals[i].size() == 0) continue;
      const DType t = avals[i].dtype;
      const auto alignment = static_cast<std::uint64_t>(t.is_complex() ? t.itemsize() / 2 : t.itemsize());
      Value* const address = ir_.CreatePtrToInt(
          ir_.CreateLoad(ir_.getPtrTy(), ir_.CreateConstGEP1_64(ir_.getPtrTy(), entry->getArg(list), i)), ir_.getInt64Ty());
      Value* own = ir_.CreateAnd(ir_.CreateICmpNE(address, ir_.getInt64(0)),
                                 ir_.CreateICmpEQ(ir_.CreateAnd(address, ir_.getInt64(alignment - 1)), ir_.getInt64(0)));
      good = good ? ir_.CreateAnd(good, own) : own;
    }
    if (!good) return;
    BasicBlock *bad = BasicBlock::Create(context_, "bad", entry), *next = BasicBlock::Create(context_, "good", entry);
    ir_.CreateCondBr(good, next, bad);
    ir_.SetInsertPoint(bad);
    ir_.CreateRet(ir_.getInt32(kBadPointer));
    ir_.SetInsertPoint(next);
  }

  const ObjectRequest& request_;
  const std::vector<LeveledProcessor>& targets_;
  ContextOwner context_;
  ModuleOwner module_;
  llvm::IRBuilder<> ir_;
  ObjectConstants constants_;
  std::vector<std::string> inner_;
};

}  // namespace

Object export_object(const ObjectRequest& request) {
  const std::vector<LeveledProcessor> targets = targets_of(request.targets);
  std::string words;
  for (const std::string& t : request.targets) words += (words.empty() ? "" : ", ") + t;
  return {FileWriter(request, targets).run(), object_header(request, words)};
}

}  // namespace weft::detail
