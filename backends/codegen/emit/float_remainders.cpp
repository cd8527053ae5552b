// Remainders of vectors of floating numbers as C's fmod gives them: by a quotient that is cut to an integer and one multiply-add, which is
// exact. Lanes whose quotient has more digits than a number are left to the library.
#include <llvm/IR/Intrinsics.h>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/emit/vector_builder.h"

namespace weft::detail {

using llvm::Value;

/// Null where the processor has no fused multiply-add, and for single numbers.
///
/// For |a| / |b| < 2^p of numbers with p + 1 digits, the quotient, rounded and cut, is the integer wanted or, where rounding reached the
/// next one, larger by one. With either integer q the difference |a| - q |b| is a multiple of the last digit of b and not larger than |b|,
/// that is a number, so that the multiply-add gives it without rounding. It is negative if q is too large.
Value* VectorBuilder::remainder_by_quotient(Value* a, Value* b) {
  llvm::Type* const scalar = a->getType()->getScalarType();
  if (lanes_of(a) == 1 || !features_.fma || features_.gpu != VectorFeatures::Gpu::none) return nullptr;
  if (!scalar->isFloatTy() && !scalar->isDoubleTy()) return nullptr;
  llvm::Type* const t = a->getType();
  const bool is_double = scalar->isDoubleTy();
  llvm::Type* const integers = with_lanes(ir_.getIntNTy(is_double ? 64 : 32), a);
  const auto bits = [&](Value* x) { return ir_.CreateBitCast(x, integers); };
  Value* size = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  Value* divisor = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b);
  Value* quotient = ir_.CreateFDiv(size, divisor);
  // Neither comparison holds for NaN: numbers without a remainder are outside, too.
  Value* inside = ir_.CreateAnd(ir_.CreateFCmpOLT(quotient, llvm::ConstantFP::get(t, is_double ? 0x1p52 : 0x1p23)),
                                ir_.CreateFCmpOLT(divisor, llvm::ConstantFP::getInfinity(t)));
  Value* q = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient);
  Value* rest = ir_.CreateIntrinsic(llvm::Intrinsic::fma, {t}, {ir_.CreateFNeg(q), divisor, size});
  Value* too_large = ir_.CreateSExt(ir_.CreateFCmpOLT(rest, llvm::Constant::getNullValue(t)), integers);
  rest = ir_.CreateFAdd(rest, ir_.CreateBitCast(ir_.CreateAnd(too_large, bits(divisor)), t));
  Value* sign = ir_.CreateAnd(bits(a), llvm::ConstantInt::get(integers, llvm::APInt::getSignMask(is_double ? 64 : 32)));
  Value* usual = ir_.CreateBitCast(ir_.CreateOr(bits(rest), sign), t);
  return unless_any(ir_, ir_.CreateNot(inside), usual, [&] { return ir_.CreateFRem(a, b); });
}

}  // namespace weft::detail
