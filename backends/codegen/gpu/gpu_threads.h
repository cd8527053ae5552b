// GPU intrinsics as LLVM IR: thread and block numbers, barriers, warp shuffles, shared memory. Includes LLVM: only for emitters.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>

#include "weft/backends/codegen/gpu/gpu_emit.h"

namespace weft::detail {

class GpuThreads {
 public:
  GpuThreads(llvm::IRBuilder<>& ir, llvm::Module& module, const GpuTarget& target) : ir_(ir), module_(module), target_(target) {}

  llvm::Value* thread();  ///< within its block
  llvm::Value* block();
  llvm::Value* num_blocks();
  void sync_block();
  void sync_warp();
  /// Butterfly: with the lane whose number differs in the given bits; up: from a lower lane at this distance; from a given lane.
  enum class Exchange { across, up, from };
  /// The value of another lane of the warp; of any type up to 64 bits.
  llvm::Value* exchange(Exchange kind, llvm::Value* v, llvm::Value* lane);
  /// Which lanes of the warp have the same value, of 32 bits: a bit for each.
  llvm::Value* alike(llvm::Value* v);
  /// Memory that the block's threads share.
  llvm::Value* shared(llvm::Type* element, std::uint64_t count, const std::string& name);
  unsigned global_space() const { return target_.emulated ? 0 : 1; }
  bool emulated() const { return target_.emulated; }

 private:
  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args);
  llvm::Value* exchange32(Exchange kind, llvm::Value* v, llvm::Value* lane);

  llvm::IRBuilder<>& ir_;
  llvm::Module& module_;
  const GpuTarget target_;
};

}  // namespace weft::detail
