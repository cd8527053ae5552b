// The identity of a reduction and one step of it, the same on every target.
#include "weft/backends/codegen/emit/reduce_values.h"

#include <array>

#include "weft/core/errors/error.h"

namespace weft::detail {

llvm::Value* reduction_identity(const VectorBuilder& builder, const Reduction& r) {
  llvm::Type* t = builder.type(r.dtype);
  const bool maximum = r.kind == Reduction::Kind::arg_max || (r.kind == Reduction::Kind::reduce && r.combiner == Combiner::max);
  const bool minimum = r.kind == Reduction::Kind::arg_min || (r.kind == Reduction::Kind::reduce && r.combiner == Combiner::min);
  if (maximum || minimum) {
    if (r.dtype.is_floating()) return llvm::ConstantFP::getInfinity(t, maximum);
    const unsigned bits = t->getIntegerBitWidth();
    if (r.dtype.is_signed())
      return llvm::ConstantInt::get(t, maximum ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits));
    return llvm::ConstantInt::get(t, maximum ? llvm::APInt::getZero(bits) : llvm::APInt::getAllOnes(bits));
  }
  switch (r.combiner) {
    case Combiner::prod: return r.dtype.is_floating() ? llvm::ConstantFP::get(t, 1) : llvm::ConstantInt::get(t, 1);
    case Combiner::logical_and: return llvm::Constant::getAllOnesValue(t);
    default: return llvm::Constant::getNullValue(t);
  }
}

llvm::Value* combine(VectorBuilder& builder, const Reduction& r, llvm::Value* a, llvm::Value* b) {
  const auto apply = [&](ScalarOp op) { return builder.op(op, r.dtype, std::array{builder.wrap(a, r.dtype), builder.wrap(b, r.dtype)}); };
  switch (r.combiner) {
    case Combiner::sum: return apply(ScalarOp::add);
    case Combiner::prod: return apply(ScalarOp::mul);
    case Combiner::max: return apply(ScalarOp::max);
    case Combiner::min: return apply(ScalarOp::min);
    case Combiner::logical_and: return apply(ScalarOp::bit_and);
    case Combiner::logical_or: return apply(ScalarOp::bit_or);
    case Combiner::bit_xor: return apply(ScalarOp::bit_xor);
    case Combiner::logsumexp: break;
  }
  throw CompileError("codegen: internal error: no such reduction");
}

void combine_two(VectorBuilder& builder, const Reduction& r, DType index, llvm::Value*& value, llvm::Value*& position, llvm::Value* v,
                 llvm::Value* p, bool ties) {
  using llvm::Value;
  llvm::IRBuilder<>& ir = builder.ir();
  if (r.kind == Reduction::Kind::complex_product) {
    const KernelValue a = builder.wrap(value, r.dtype), b = builder.wrap(position, r.dtype), c = builder.wrap(v, r.dtype),
                      d = builder.wrap(p, r.dtype);
    const KernelValue re = builder.sub(builder.mul(a, c), builder.mul(b, d)), im = builder.add(builder.mul(a, d), builder.mul(b, c));
    value = builder[re], position = builder[im];
    return;
  }
  const bool maximum = r.kind == Reduction::Kind::arg_max;
  Value *better = nullptr, *equal = nullptr;
  if (r.dtype.is_floating()) {
    Value *nan = ir.CreateFCmpUNO(v, v), *had_nan = ir.CreateFCmpUNO(value, value);
    // Unordered comparisons hold for NaN: v wins if it is NaN and the old value is not.
    better = ir.CreateAnd(maximum ? ir.CreateFCmpUGT(v, value) : ir.CreateFCmpULT(v, value), ir.CreateNot(had_nan));
    equal = ir.CreateOr(ir.CreateFCmpOEQ(v, value), ir.CreateAnd(nan, had_nan));
  } else {
    const bool with_sign = r.dtype.is_signed();
    better = maximum ? (with_sign ? ir.CreateICmpSGT(v, value) : ir.CreateICmpUGT(v, value))
                     : (with_sign ? ir.CreateICmpSLT(v, value) : ir.CreateICmpULT(v, value));
    equal = ir.CreateICmpEQ(v, value);
  }
  if (ties)
    better = ir.CreateOr(better, ir.CreateAnd(equal, index.is_signed() ? ir.CreateICmpSLT(p, position) : ir.CreateICmpULT(p, position)));
  value = ir.CreateSelect(better, v, value);
  position = ir.CreateSelect(better, p, position);
}

}  // namespace weft::detail
