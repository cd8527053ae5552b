// Functions that kernels of the host leave to the C library, for GPUs: expressions of weft's own where they exist, else NVIDIA's libdevice,
// which is linked into the module before code generation.
#include <llvm/IR/Module.h>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/codegen/math/functions.h"
#include "weft/backends/codegen/math/math.h"
#include "weft/backends/codegen/math/rules.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

using llvm::Value;

/// The function for one element.
Value* VectorBuilder::gpu_function(MathFunction f, DType t, std::span<Value* const> operands) {
  if (t == float32 && (f == MathFunction::sin || f == MathFunction::cos || f == MathFunction::tan))
    return (*this)[math::circular_of_huge_f32(f, {this, wrap(operands[0], t)}).v];
  if (features_.gpu == VectorFeatures::Gpu::emulated) {
    llvm::Type* d = ir_.getDoubleTy();
    const llvm::FunctionCallee library =
        module_.getOrInsertFunction("weft_library_math", llvm::FunctionType::get(d, {ir_.getInt32Ty(), d, d}, false));
    Value* x = ir_.CreateFPExt(operands[0], d);
    Value* y = operands.size() > 1 ? ir_.CreateFPExt(operands[1], d) : x;
    Value* result = ir_.CreateCall(library, {ir_.getInt32(static_cast<unsigned>(f)), x, y});
    return ir_.CreateFPTrunc(result, operands[0]->getType());
  }
  const char* const name = math_rule(f).c_name;
  if (!name) throw CompileError("codegen: internal error: a function without an implementation for GPUs");
  const std::vector<llvm::Type*> types(operands.size(), operands[0]->getType());
  const llvm::FunctionCallee function =
      module_.getOrInsertFunction(std::string("__nv_") + name, llvm::FunctionType::get(operands[0]->getType(), types, false));
  return ir_.CreateCall(function, llvm::ArrayRef<Value*>(operands.data(), operands.size()));
}

KernelValue VectorBuilder::gpu_call_where(V condition, MathFunction f, std::span<const V> operands, V fast) {
  if (f == MathFunction::lgamma) return fast;  // which lacks digits next to zeros only
  Value* where = (*this)[condition];
  int lanes = std::max(lanes_of(where), lanes_of((*this)[fast]));
  for (V v : operands) lanes = std::max(lanes, lanes_of((*this)[v]));
  where = splat(where, lanes);
  Value* result = splat((*this)[fast], lanes);
  llvm::Function* function = ir_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = module_.getContext();
  for (int i = 0; i < lanes; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const auto element = [&](Value* v) { return lanes_of(v) > 1 ? ir_.CreateExtractElement(v, at) : v; };
    std::vector<Value*> xs;
    for (V v : operands) xs.push_back(element((*this)[v]));
    Value* condition_here = element(where);
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition_here); known && known->isOne()) {
      Value* y = gpu_function(f, fast.dtype, xs);
      result = lanes > 1 ? ir_.CreateInsertElement(result, y, at) : y;
      continue;
    }
    Value* usual = element(result);
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* after = cut_block(ir_);
    llvm::BasicBlock* slow = llvm::BasicBlock::Create(context, "rare", function, after);
    ir_.SetInsertPoint(before);
    ir_.CreateCondBr(condition_here, slow, after);
    ir_.SetInsertPoint(slow);
    Value* y = gpu_function(f, fast.dtype, xs);
    llvm::BasicBlock* end = ir_.GetInsertBlock();
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after, after->begin());
    llvm::PHINode* phi = ir_.CreatePHI(usual->getType(), 2);
    phi->addIncoming(usual, before);
    phi->addIncoming(y, end);
    move_to_end(ir_, after);
    result = lanes > 1 ? ir_.CreateInsertElement(result, phi, at) : phi;
  }
  return wrap(result, fast.dtype);
}

/// C's fmod, by a function of the module: subtracts multiples of the divisor, times powers of two, each exactly.
Value* VectorBuilder::gpu_remainder(Value* a, Value* b) {
  llvm::Type* t = a->getType()->getScalarType();
  const bool narrow = t->isFloatTy();
  llvm::LLVMContext& context = module_.getContext();
  const std::string name = narrow ? "weft_fmod_f32" : "weft_fmod_f64";
  llvm::Function* f = module_.getFunction(name);
  if (!f) {
    f = llvm::Function::Create(llvm::FunctionType::get(t, {t, t}, false), llvm::Function::InternalLinkage, name, module_);
    f->setDoesNotThrow();
    const auto block = [&](const char* label) { return llvm::BasicBlock::Create(context, label, f); };
    llvm::BasicBlock *entry = block("entry"), *check = block("check"), *scale = block("scale"), *larger = block("larger"),
                     *subtract = block("subtract"), *done = block("done"), *invalid = block("invalid");
    llvm::IRBuilder<> ir(entry);
    const auto c = [&](double v) { return llvm::ConstantFP::get(t, v); };
    Value* x = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, f->getArg(0));
    Value* y = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, f->getArg(1));
    Value* valid = ir.CreateAnd(ir.CreateFCmpOLT(x, llvm::ConstantFP::getInfinity(t)), ir.CreateFCmpOGT(y, c(0)));
    ir.CreateCondBr(valid, check, invalid);
    ir.SetInsertPoint(check);
    llvm::PHINode* rest = ir.CreatePHI(t, 2);
    rest->addIncoming(x, entry);
    ir.CreateCondBr(ir.CreateFCmpOGE(rest, y), scale, done);
    ir.SetInsertPoint(scale);
    llvm::PHINode* divisor = ir.CreatePHI(t, 2);
    divisor->addIncoming(y, check);
    Value* bigger = ir.CreateFMul(divisor, c(narrow ? 0x1p20 : 0x1p40));
    ir.CreateCondBr(ir.CreateFCmpOLE(bigger, rest), larger, subtract);
    ir.SetInsertPoint(larger);
    divisor->addIncoming(bigger, larger);
    ir.CreateBr(scale);
    ir.SetInsertPoint(subtract);
    Value* q = ir.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, ir.CreateFDiv(rest, divisor));
    Value* left = ir.CreateIntrinsic(llvm::Intrinsic::fma, {t}, {ir.CreateFNeg(q), divisor, rest});
    left = ir.CreateSelect(ir.CreateFCmpOLT(left, c(0)), ir.CreateFAdd(left, divisor), left);
    rest->addIncoming(left, subtract);
    ir.CreateBr(check);
    ir.SetInsertPoint(done);
    ir.CreateRet(ir.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rest, f->getArg(0)));
    ir.SetInsertPoint(invalid);
    ir.CreateRet(llvm::ConstantFP::getNaN(t));
  }
  const int lanes = std::max(lanes_of(a), lanes_of(b));
  if (lanes == 1) return ir_.CreateCall(f, {a, b});
  Value* result = llvm::PoisonValue::get(a->getType());
  for (int i = 0; i < lanes; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    result = ir_.CreateInsertElement(result, ir_.CreateCall(f, {ir_.CreateExtractElement(a, at), ir_.CreateExtractElement(b, at)}), at);
  }
  return result;
}

}  // namespace weft::detail
