#include "weft/backends/codegen/gpu/gpu_threads.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace weft::detail {

using llvm::Value;

Value* GpuThreads::call(const char* name, llvm::Type* result, llvm::ArrayRef<Value*> args) {
  std::vector<llvm::Type*> types;
  for (Value* a : args) types.push_back(a->getType());
  return ir_.CreateCall(module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)), args);
}

Value* GpuThreads::thread() {
  return target_.emulated ? call("weft_emulated_thread", ir_.getInt32Ty(), {})
                          : ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
}
Value* GpuThreads::block() {
  return target_.emulated ? call("weft_emulated_block", ir_.getInt32Ty(), {})
                          : ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}, {});
}
Value* GpuThreads::num_blocks() {
  return target_.emulated ? call("weft_emulated_num_blocks", ir_.getInt32Ty(), {})
                          : ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, {}, {});
}
void GpuThreads::sync_block() {
  if (target_.emulated)
    call("weft_emulated_sync_block", ir_.getVoidTy(), {});
  else
    ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}
void GpuThreads::sync_warp() {
  if (target_.emulated)
    call("weft_emulated_sync_warp", ir_.getVoidTy(), {});
  else
    ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {ir_.getInt32(~0u)});
}

Value* GpuThreads::exchange32(Exchange kind, Value* v, Value* lane) {
  if (target_.emulated) return call("weft_emulated_exchange", ir_.getInt32Ty(), {v, ir_.getInt32(static_cast<unsigned>(kind)), lane});
  switch (kind) {
    case Exchange::across:
      return ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {}, {ir_.getInt32(~0u), v, lane, ir_.getInt32(31)});
    case Exchange::up:
      return ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_up_i32, {}, {ir_.getInt32(~0u), v, lane, ir_.getInt32(0)});
    case Exchange::from:
      return ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {}, {ir_.getInt32(~0u), v, lane, ir_.getInt32(31)});
  }
  return v;
}

Value* GpuThreads::exchange(Exchange kind, Value* v, Value* lane) {
  llvm::Type* type = v->getType();
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
  Value* whole = ir_.CreateBitCast(v, ir_.getIntNTy(bits));
  if (bits <= 32) {
    Value* moved = exchange32(kind, ir_.CreateZExt(whole, ir_.getInt32Ty()), lane);
    return ir_.CreateBitCast(ir_.CreateTrunc(moved, ir_.getIntNTy(bits)), type);
  }
  Value* low = exchange32(kind, ir_.CreateTrunc(whole, ir_.getInt32Ty()), lane);
  Value* high = exchange32(kind, ir_.CreateTrunc(ir_.CreateLShr(whole, ir_.getInt64(32)), ir_.getInt32Ty()), lane);
  Value* joined =
      ir_.CreateOr(ir_.CreateZExt(low, ir_.getInt64Ty()), ir_.CreateShl(ir_.CreateZExt(high, ir_.getInt64Ty()), ir_.getInt64(32)));
  return ir_.CreateBitCast(joined, type);
}

Value* GpuThreads::alike(Value* v) {
  if (target_.emulated) return call("weft_emulated_alike", ir_.getInt32Ty(), {v});
  return ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_match_any_sync_i32, {}, {ir_.getInt32(~0u), v});
}

Value* GpuThreads::shared(llvm::Type* element, std::uint64_t count, const std::string& name) {
  // Emulated, a block's threads run on one thread of the host.
  llvm::Type* type = llvm::ArrayType::get(element, count);
  auto* memory = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type), name,
                                          nullptr, llvm::GlobalValue::NotThreadLocal, target_.emulated ? 0 : 3);
  memory->setAlignment(llvm::Align(16));
  return memory;
}

}  // namespace weft::detail
