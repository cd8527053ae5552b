// Quotients and remainders of integer vectors, for which processors have no instruction: by products with reciprocals of known divisors,
// else by quotients of floating-point numbers.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/DivisionByConstantInfo.h>
#include <llvm/Support/KnownBits.h>

#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/codegen/emit/word_conversions.h"

namespace weft::detail {

using llvm::Value;

/// The same number in all lanes; null if they differ or are not known.
static const llvm::APInt* known_divisor(Value* b) {
  const auto* all = llvm::dyn_cast<llvm::Constant>(b);
  const auto* one = all ? llvm::dyn_cast_or_null<llvm::ConstantInt>(all->getSplatValue()) : nullptr;
  return one && !one->isZero() ? &one->getValue() : nullptr;
}

/// The instruction of x86 that gives the upper halves of products of this many 16-bit integers; 0 where none does.
static llvm::Intrinsic::ID word_product(bool is_signed, int lanes) {
  namespace id = llvm::Intrinsic;
  switch (lanes) {
    case 8: return is_signed ? id::x86_sse2_pmulh_w : id::x86_sse2_pmulhu_w;
    case 16: return is_signed ? id::x86_avx2_pmulh_w : id::x86_avx2_pmulhu_w;
    case 32: return is_signed ? id::x86_avx512_pmulh_w_512 : id::x86_avx512_pmulhu_w_512;
    default: return id::not_intrinsic;
  }
}

/// The upper halves of the products of integers with a factor. By name where an instruction gives them: LLVM joins the shift by half of the
/// bits with those that follow, and then finds the instruction no more.
Value* VectorBuilder::upper_half(bool is_signed, Value* a, const llvm::APInt& factor) {
  const unsigned bits = factor.getBitWidth();
  const bool in_register = features_.word_products && bits == 16 && 2 * lanes_of(a) <= features_.vector_bytes;
  if (const llvm::Intrinsic::ID one = word_product(is_signed, lanes_of(a)); in_register && one != llvm::Intrinsic::not_intrinsic)
    return ir_.CreateIntrinsic(one, {}, {a, llvm::ConstantInt::get(a->getType(), factor)});
  if (bits == 64) return upper_half_of_words(is_signed, a, factor);
  llvm::Type* const wide = with_lanes(ir_.getIntNTy(2 * bits), a);
  Value* f = llvm::ConstantInt::get(wide, is_signed ? factor.sext(2 * bits) : factor.zext(2 * bits));
  Value* product = ir_.CreateMul(is_signed ? ir_.CreateSExt(a, wide) : ir_.CreateZExt(a, wide), f);
  return ir_.CreateTrunc(ir_.CreateLShr(product, llvm::ConstantInt::get(wide, bits)), a->getType());
}

/// The same of 64-bit integers, from the four products of their halves: no vector instruction gives products of 128 bits.
Value* VectorBuilder::upper_half_of_words(bool is_signed, Value* a, const llvm::APInt& factor) {
  Value *const mask = same(a, std::uint64_t{0xffffffff}), *const half = same(a, std::uint64_t{32});
  Value* low_factor = same(a, factor.getLoBits(32).getZExtValue());
  Value* high_factor = same(a, factor.lshr(32).getZExtValue());
  Value *low = ir_.CreateAnd(a, mask), *high = ir_.CreateLShr(a, half);
  Value* first = ir_.CreateAdd(ir_.CreateMul(high, low_factor), ir_.CreateLShr(ir_.CreateMul(low, low_factor), half));
  Value* second = ir_.CreateAdd(ir_.CreateMul(low, high_factor), ir_.CreateAnd(first, mask));
  Value* upper = ir_.CreateAdd(ir_.CreateMul(high, high_factor), ir_.CreateAdd(ir_.CreateLShr(first, half), ir_.CreateLShr(second, half)));
  if (!is_signed) return upper;
  // A negative factor counted for 2^64 more than it is.
  if (factor.isNegative()) upper = ir_.CreateSub(upper, a);
  Value* negative = ir_.CreateAShr(a, same(a, std::uint64_t{63}));
  return ir_.CreateSub(upper, ir_.CreateAnd(negative, llvm::ConstantInt::get(a->getType(), factor)));
}

/// Unsigned bytes divided two by two, in the halves of 16-bit integers: x / d is the upper half of x * ceil(2^16 / d), as the error of
/// that factor, below d, times x is below 2^16. Of the upper byte, which stands for 256 x, the quotient is the upper byte of that.
Value* VectorBuilder::divide_bytes(Value* a, std::uint64_t divisor) {
  Value* pairs = ir_.CreateBitCast(a, llvm::FixedVectorType::get(ir_.getInt16Ty(), static_cast<unsigned>(lanes_of(a) / 2)));
  const llvm::APInt factor(16, (65535 + divisor) / divisor);
  Value* const upper = same(pairs, std::uint64_t{0xff00});
  Value* first = upper_half(false, ir_.CreateAnd(pairs, same(pairs, std::uint64_t{0xff})), factor);
  Value* second = upper_half(false, ir_.CreateAnd(pairs, upper), factor);
  return ir_.CreateBitCast(ir_.CreateOr(first, ir_.CreateAnd(second, upper)), a->getType());
}

/// By the upper half of a product with a scaled reciprocal: Granlund, Montgomery, "Division by invariant integers using multiplication"
/// (1994).
Value* VectorBuilder::divide_by_known(bool is_signed, Value* a, const llvm::APInt& divisor) {
  llvm::Type* const narrow = a->getType();
  const unsigned bits = divisor.getBitWidth();
  const auto number = [&](const llvm::APInt& v) { return llvm::ConstantInt::get(narrow, v); };
  const auto shift = [&](unsigned n) { return llvm::ConstantInt::get(narrow, n); };
  const bool by_pairs = bits == 8 && lanes_of(a) % 16 == 0;
  if (divisor.isOne()) return a;
  if (is_signed) {
    if (divisor.isAllOnes()) return ir_.CreateNeg(a);
    if (by_pairs) {  // of moduli
      Value* sign = ir_.CreateAShr(a, shift(bits - 1));
      const auto with_sign = [&](Value* v) { return ir_.CreateSub(ir_.CreateXor(v, sign), sign); };
      Value* q = with_sign(divide_by_known(false, with_sign(a), divisor.abs()));
      return divisor.isNegative() ? ir_.CreateNeg(q) : q;
    }
    if (divisor.abs().isPowerOf2()) return divide_by_power(a, divisor);
    const auto by = llvm::SignedDivisionByConstantInfo::get(divisor);
    Value* q = upper_half(true, a, by.Magic);
    if (divisor.isStrictlyPositive() && by.Magic.isNegative()) q = ir_.CreateAdd(q, a);
    if (divisor.isNegative() && by.Magic.isStrictlyPositive()) q = ir_.CreateSub(q, a);
    q = ir_.CreateAShr(q, shift(by.ShiftAmount));
    return ir_.CreateAdd(q, ir_.CreateLShr(q, shift(bits - 1)));
  }
  if (divisor.isPowerOf2()) return ir_.CreateLShr(a, shift(divisor.logBase2()));
  if (by_pairs) return divide_bytes(a, divisor.getZExtValue());
  const llvm::KnownBits known = llvm::computeKnownBits(a, module_.getDataLayout());
  const auto by = llvm::UnsignedDivisionByConstantInfo::get(divisor, std::min(known.countMinLeadingZeros(), divisor.countl_zero()));
  Value* q = upper_half(false, ir_.CreateLShr(a, shift(by.PreShift)), by.Magic);
  if (by.IsAdd) q = ir_.CreateAdd(ir_.CreateLShr(ir_.CreateSub(a, q), number(llvm::APInt(bits, 1))), q);
  return ir_.CreateLShr(q, shift(by.PostShift));
}

/// Small multiples of d > 2 taken from |r| < 2^16 until none is left: the quotient is the upper half of a product of 64 bits, for which and
/// for whose product with d there are instructions.
VectorBuilder::Quotient VectorBuilder::divide_rest(bool is_signed, Value* r, std::uint64_t d) {
  Value* const half = same(r, std::uint64_t{32});
  const auto lower = [&](Value* v) {
    return is_signed ? ir_.CreateAShr(ir_.CreateShl(v, half), half) : ir_.CreateAnd(v, same(r, std::uint64_t{0xffffffff}));
  };
  Value* product = ir_.CreateMul(lower(r), same(r, ((std::uint64_t{1} << 32) + d - 1) / d));
  Value* q = is_signed ? ir_.CreateAShr(product, half) : ir_.CreateLShr(product, half);
  if (is_signed) q = ir_.CreateSub(q, ir_.CreateAShr(r, same(r, std::uint64_t{63})));
  return {q, ir_.CreateSub(r, ir_.CreateMul(lower(q), same(r, d)))};
}

/// 64-bit integers by float64, which has 53 of the digits: a quotient that errs towards 0 leaves a remainder with the sign of `a`, which is
/// at most 2^15 larger than it should be, and is divided again.
VectorBuilder::Quotient VectorBuilder::divide_words(bool is_signed, Value* a, Value* b) {
  llvm::Type* const floating = with_lanes(ir_.getDoubleTy(), a);
  const auto to_float = [&](Value* v) { return is_signed ? ir_.CreateSIToFP(v, floating) : ir_.CreateUIToFP(v, floating); };
  const auto to_integer = [&](Value* v) { return is_signed ? ir_.CreateFPToSI(v, a->getType()) : ir_.CreateFPToUI(v, a->getType()); };
  // The roundings of both operands, of the inverse and of the product are less than 2^-50 together.
  constexpr double towards_zero = 1 - 0x1p-50;
  const llvm::APInt* known = known_divisor(b);
  Value* inverse = known ? same(to_float(a), towards_zero / (is_signed ? known->signedRoundToDouble() : known->roundToDouble()))
                         : ir_.CreateFDiv(llvm::ConstantFP::get(floating, towards_zero), to_float(b));
  Value* q = to_integer(ir_.CreateFMul(to_float(a), inverse));
  Value* r = ir_.CreateSub(a, ir_.CreateMul(q, b));
  const std::uint64_t modulus = !known ? 0 : is_signed ? known->abs().getZExtValue() : known->getZExtValue();
  if (known && modulus < 1 << 15) {
    const Quotient rest = divide_rest(is_signed, r, modulus);
    const bool negative = is_signed && known->isNegative();
    return {negative ? ir_.CreateSub(q, rest.quotient) : ir_.CreateAdd(q, rest.quotient), rest.remainder};
  }
  if (!known) {
    Value* more = to_integer(ir_.CreateFMul(to_float(r), inverse));
    q = ir_.CreateAdd(q, more);
    r = ir_.CreateSub(r, ir_.CreateMul(more, b));
  }
  if (!is_signed) {
    Value* left = ir_.CreateICmpUGE(r, b);
    return {ir_.CreateSelect(left, ir_.CreateAdd(q, same(a, std::uint64_t{1})), q), ir_.CreateSelect(left, ir_.CreateSub(r, b), r)};
  }
  const auto size = [&](Value* v) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, ir_.getFalse()); };
  const auto sign = [&](Value* v) { return ir_.CreateAShr(v, same(a, std::uint64_t{63})); };
  Value *const divisor = size(b), *const sign_of_a = sign(a);
  Value* left = ir_.CreateICmpUGE(size(r), divisor);
  Value* taken = ir_.CreateSub(ir_.CreateXor(divisor, sign_of_a), sign_of_a);
  Value* one = ir_.CreateOr(sign(ir_.CreateXor(a, b)), same(a, std::uint64_t{1}));
  return {ir_.CreateSelect(left, ir_.CreateAdd(q, one), q), ir_.CreateSelect(left, ir_.CreateSub(r, taken), r)};
}

/// Rounded towards 0: what is negative is larger by the divisor less one before it is shifted.
Value* VectorBuilder::divide_by_power(Value* a, const llvm::APInt& divisor) {
  const unsigned bits = divisor.getBitWidth(), digits = divisor.abs().logBase2();
  const auto shift = [&](unsigned n) { return llvm::ConstantInt::get(a->getType(), n); };
  Value* rest = ir_.CreateLShr(ir_.CreateAShr(a, shift(bits - 1)), shift(bits - digits));
  Value* q = ir_.CreateAShr(ir_.CreateAdd(a, rest), shift(digits));
  return divisor.isNegative() ? ir_.CreateNeg(q) : q;
}

/// Integers of up to 32 bits have exact quotients in float64, which divides whole vectors.
Value* VectorBuilder::divide_integers(DType t, bool remainder, Value* a, Value* b) {
  const bool is_signed = t.is_signed(), by_power = known_divisor(b) && known_divisor(b)->abs().isPowerOf2();
  if (t.itemsize() == 8 && lanes_of(a) > 1 && features_.word_conversions && !by_power) {
    const Quotient words = divide_words(is_signed, a, b);
    return remainder ? words.remainder : words.quotient;
  }
  if (const llvm::APInt* divisor = known_divisor(b); divisor && lanes_of(a) > 1) {
    Value* quotient = divide_by_known(is_signed, a, *divisor);
    return remainder ? ir_.CreateSub(a, ir_.CreateMul(quotient, b)) : quotient;
  }
  if (lanes_of(a) == 1 || t.itemsize() == 8 || features_.gpu != VectorFeatures::Gpu::none) {
    if (remainder) return is_signed ? ir_.CreateSRem(a, b) : ir_.CreateURem(a, b);
    return is_signed ? ir_.CreateSDiv(a, b) : ir_.CreateUDiv(a, b);
  }
  llvm::Type* floating = with_lanes(t.itemsize() == 4 ? ir_.getDoubleTy() : ir_.getFloatTy(), a);
  Value* x = is_signed ? ir_.CreateSIToFP(a, floating) : ir_.CreateUIToFP(a, floating);
  Value* y = is_signed ? ir_.CreateSIToFP(b, floating) : ir_.CreateUIToFP(b, floating);
  // Wide enough for the one quotient that overflows, -2^31 / -1, which wraps around.
  llvm::Type* wide = with_lanes(t.itemsize() == 4 ? ir_.getInt64Ty() : ir_.getInt32Ty(), a);
  Value* floating_quotient = ir_.CreateFDiv(x, y);
  Value* quotient = t.itemsize() == 4 && converts_by_halves(features_, lanes_of(a))
                        ? doubles_as_half_words(ir_, floating_quotient)
                        : ir_.CreateTrunc(ir_.CreateFPToSI(floating_quotient, wide), a->getType());
  return remainder ? ir_.CreateSub(a, ir_.CreateMul(quotient, b)) : quotient;
}

}  // namespace weft::detail
