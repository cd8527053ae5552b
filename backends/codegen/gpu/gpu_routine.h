// The building blocks of hand-written GPU kernels. Includes LLVM: only for emitters.
#pragma once
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <vector>

#include "weft/backends/codegen/gpu/gpu_threads.h"

namespace weft::detail {

class GpuRoutine {
 public:
  GpuRoutine(llvm::Module& module, const GpuTarget& target, const std::string& prefix)
      : module_(module), ir_(module.getContext()), threads_(ir_, module, target), prefix_(prefix) {}

 protected:
  using Value = llvm::Value;

  /// Opens the kernel `name`. The first `pointers` of `count` parameters are pointers to different memory, of which `read` are only read;
  /// the others have 64 bits.
  void begin(const std::string& name, int threads, unsigned pointers, unsigned count, const std::vector<unsigned>& read);

  Value* i32(std::int64_t v) { return ir_.getInt32(static_cast<std::uint32_t>(v)); }
  Value* i64(std::int64_t v) { return ir_.getInt64(static_cast<std::uint64_t>(v)); }
  Value* wide(Value* v) { return ir_.CreateZExt(v, i64_); }
  Value* at(llvm::Type* element, Value* memory, Value* i) { return ir_.CreateGEP(element, memory, i->getType() == i64_ ? i : wide(i)); }
  Value* load(llvm::Type* t, Value* p) { return ir_.CreateAlignedLoad(t, p, llvm::Align(t->getPrimitiveSizeInBits() / 8)); }
  void store(Value* v, Value* p) { ir_.CreateAlignedStore(v, p, llvm::Align(v->getType()->getPrimitiveSizeInBits() / 8)); }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(module_.getContext(), name, function_); }
  void when(Value* condition, const std::function<void()>& body) { either(condition, body, {}); }
  void either(Value* condition, const std::function<void()>& yes, const std::function<void()>& no);
  /// A loop over 0, 1, ..., end - 1, in 64 bits.
  void loop(Value* end, const std::function<void(Value*)>& body);

  llvm::Module& module_;
  llvm::IRBuilder<> ir_;
  GpuThreads threads_;
  const std::string prefix_;
  llvm::Type *i32_ = ir_.getInt32Ty(), *i64_ = ir_.getInt64Ty();
  llvm::Function* function_ = nullptr;
  std::vector<Value*> given_;                   // the parameters
  Value *thread_ = nullptr, *block_ = nullptr;  // their numbers, of 32 and of 64 bits
};

}  // namespace weft::detail
