#include "weft/backends/codegen/emit/vector_builder.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>

#include <algorithm>
#include <cmath>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/emit/constant_quotients.h"
#include "weft/backends/codegen/emit/word_conversions.h"
#include "weft/backends/codegen/math/math.h"
#include "weft/backends/codegen/math/sixteen_lanes.h"

namespace weft::detail {

using llvm::Value;

llvm::Type* VectorBuilder::type(DType t) const {
  if (t.is_bool()) return ir_.getInt1Ty();
  if (t == float32) return ir_.getFloatTy();
  if (t == float64) return ir_.getDoubleTy();
  return ir_.getIntNTy(static_cast<unsigned>(8 * t.itemsize()));
}
llvm::Type* VectorBuilder::memory_type(DType t) const { return t.is_bool() ? ir_.getInt8Ty() : type(t); }

int VectorBuilder::lanes_of(Value* v) {
  const auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return t ? static_cast<int>(t->getNumElements()) : 1;
}
Value* VectorBuilder::splat(Value* v, int lanes) {
  return lanes > 1 && lanes_of(v) == 1 ? ir_.CreateVectorSplat(static_cast<unsigned>(lanes), v) : v;
}
llvm::Type* VectorBuilder::with_lanes(llvm::Type* t, Value* like) const {
  const int n = lanes_of(like);
  return n > 1 ? llvm::FixedVectorType::get(t, static_cast<unsigned>(n)) : t;
}
Value* VectorBuilder::same(Value* like, double v) { return llvm::ConstantFP::get(like->getType(), v); }
Value* VectorBuilder::same(Value* like, std::uint64_t v) { return llvm::ConstantInt::get(like->getType(), v); }

Value* VectorBuilder::from_memory(Value* v, DType t) {
  return t.is_bool() ? ir_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}
Value* VectorBuilder::to_memory(Value* v, DType t) { return t.is_bool() ? ir_.CreateZExt(v, with_lanes(ir_.getInt8Ty(), v)) : v; }

KernelValue VectorBuilder::emit_constant(DType t, double floating, std::int64_t integer) {
  if (t == float16 || t == bfloat16) {
    llvm::APFloat f(floating);
    bool lossy = false;
    f.convert(t == float16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    return wrap(ir_.getInt16(static_cast<std::uint16_t>(f.bitcastToAPInt().getZExtValue())), t);
  }
  if (t.is_floating()) return wrap(llvm::ConstantFP::get(type(t), floating), t);
  return wrap(llvm::ConstantInt::get(type(t), static_cast<std::uint64_t>(integer)), t);
}

KernelValue VectorBuilder::emit_math(MathFunction f, std::span<const V> operands) {
  if (features_.lookups && operands[0].dtype == float32)
    if (Value* y = sixteen_lane_math(ir_, f, (*this)[operands[0]], often_small)) return wrap(y, float32);
  return expand_math(*this, f, operands);
}

KernelValue VectorBuilder::emit(ScalarOp op, DType result, std::span<const V> operands) {
  int lanes = 1;
  for (V v : operands) lanes = std::max(lanes, lanes_of((*this)[v]));
  Value* x[3] = {nullptr, nullptr, nullptr};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Value* v = (*this)[operands[i]];
    // A uniform condition selects whole vectors.
    x[i] = op == ScalarOp::select && i == 0 ? v : splat(v, lanes);
  }
  switch (op) {
    case ScalarOp::select: return wrap(ir_.CreateSelect(x[0], x[1], x[2]), result);
    case ScalarOp::convert: return wrap(convert_value(x[0], operands[0].dtype, result), result);
    case ScalarOp::bitcast: return wrap(ir_.CreateBitCast(x[0], with_lanes(type(result), x[0])), result);
    case ScalarOp::eq:
    case ScalarOp::ne:
    case ScalarOp::lt:
    case ScalarOp::le:
    case ScalarOp::gt:
    case ScalarOp::ge: return wrap(compare(op, operands[0].dtype, x[0], x[1]), bool_);
    default: return wrap(arithmetic(op, operands[0].dtype, x[0], x[1], x[2]), result);
  }
}

Value* VectorBuilder::compare(ScalarOp op, DType t, Value* a, Value* b) {
  using P = llvm::CmpInst::Predicate;
  const int k = static_cast<int>(op) - static_cast<int>(ScalarOp::eq);
  if (t.is_floating()) {
    constexpr P predicates[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
    return ir_.CreateFCmp(predicates[k], a, b);
  }
  constexpr P with_sign[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  constexpr P without[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return ir_.CreateICmp(t.is_signed() ? with_sign[k] : without[k], a, b);
}

/// A splat of a number that is not NaN, or null.
static const llvm::ConstantFP* number_of(Value* v) {
  const auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c && c->getType()->isVectorTy()) c = c->getSplatValue();
  const auto* f = llvm::dyn_cast_or_null<llvm::ConstantFP>(c);
  return f && !f->isNaN() ? f : nullptr;
}

/// The larger or smaller of two numbers, of zeros of both signs +0 or -0, by one instruction (AVX512DQ); null where none does that. Where
/// an operand is NaN, the other one.
Value* VectorBuilder::extremum_of_numbers(bool maximum, Value* a, Value* b) {
  llvm::Type* const t = a->getType();
  const bool singles = t == llvm::FixedVectorType::get(ir_.getFloatTy(), 16),
             doubles = t == llvm::FixedVectorType::get(ir_.getDoubleTy(), 8);
  if (!features_.lookups || !(singles || doubles)) return nullptr;
  constexpr unsigned smaller = 0, larger = 1, own_sign = 1 << 2, usual_rounding = 4;
  const auto instruction = singles ? llvm::Intrinsic::x86_avx512_mask_range_ps_512 : llvm::Intrinsic::x86_avx512_mask_range_pd_512;
  return ir_.CreateIntrinsic(instruction, {},
                             {a, b, ir_.getInt32((maximum ? larger : smaller) | own_sign), llvm::Constant::getNullValue(t),
                              llvm::Constant::getAllOnesValue(ir_.getIntNTy(singles ? 16 : 8)), ir_.getInt32(usual_rounding)});
}

/// NaN if either operand is; +0 is larger than -0. Three to five instructions on vectors; one or two where an operand is a known number.
Value* VectorBuilder::extremum(bool maximum, Value* a, Value* b) {
  if (number_of(b)) std::swap(a, b);
  if (const llvm::ConstantFP* number = number_of(a)) {
    // +0 and -0 compare equal: the select yields the constant for them where that is the zero that is wanted.
    if (number->isZero() && number->isNegative() != maximum)
      return ir_.CreateSelect(maximum ? ir_.CreateFCmpOGE(a, b) : ir_.CreateFCmpOLE(a, b), a, b);
    return ir_.CreateSelect(maximum ? ir_.CreateFCmpOGT(a, b) : ir_.CreateFCmpOLT(a, b), a, b);
  }
  if (Value* of_numbers = extremum_of_numbers(maximum, a, b))
    return ir_.CreateSelect(ir_.CreateFCmpUNO(a, b), ir_.CreateFAdd(a, b), of_numbers);
  Value* chosen = ir_.CreateSelect(maximum ? ir_.CreateFCmpOGT(a, b) : ir_.CreateFCmpOLT(a, b), a, b);
  if (lanes_of(a) > 1 && features_.gpu == VectorFeatures::Gpu::none) {
    // The processor's instruction gives the second of two zeros, and of a number and a NaN: the two orders differ in those cases only.
    Value* other = ir_.CreateSelect(maximum ? ir_.CreateFCmpOGT(b, a) : ir_.CreateFCmpOLT(b, a), b, a);
    Value* both = common_bits(maximum, chosen, other);
    if (!maximum) return both;  // a NaN's bits or a number's are a NaN
    Value* bits = ir_.CreateBitCast(both, with_lanes(ir_.getIntNTy(a->getType()->getScalarSizeInBits()), a));
    return ir_.CreateBitCast(ir_.CreateOr(bits, ir_.CreateSExt(ir_.CreateFCmpUNO(a, b), bits->getType())), a->getType());
  }
  chosen = ir_.CreateSelect(ir_.CreateFCmpUNO(a, a), a, chosen);
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(a, b), common_bits(maximum, a, b), chosen);
}

Value* VectorBuilder::common_bits(bool maximum, Value* a, Value* b) {
  llvm::Type* bits = with_lanes(ir_.getIntNTy(a->getType()->getScalarSizeInBits()), a);
  Value *x = ir_.CreateBitCast(a, bits), *y = ir_.CreateBitCast(b, bits);
  return ir_.CreateBitCast(maximum ? ir_.CreateAnd(x, y) : ir_.CreateOr(x, y), a->getType());
}

/// LLVM 19 takes a lane of a quotient for 0 where it knows both operands as 0, as they are in lanes that a masked load leaves out: the
/// selection that keeps 0 / 0 out of a reduction would be dropped. It doesn't look through a fence, which costs nothing.
static Value* fenced(llvm::IRBuilder<>& ir, Value* quotient, Value* a, Value* b) {
  const auto is_other_constant = [](Value* v) {
    const auto* c = llvm::dyn_cast<llvm::Constant>(v);
    const auto* one = c ? llvm::dyn_cast_or_null<llvm::ConstantFP>(c->getSplatValue()) : nullptr;
    return one && !one->isZero();
  };
  if (VectorBuilder::lanes_of(quotient) == 1 || is_other_constant(a) || is_other_constant(b)) return quotient;
  return ir.CreateArithmeticFence(quotient, quotient->getType());
}

/// Null where b is no constant that can be multiplied by instead.
Value* VectorBuilder::divide_by_constant(DType t, Value* a, Value* b) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(b);
  const auto* divisor = constant ? llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue()) : nullptr;
  if (!divisor || lanes_of(a) == 1 || features_.gpu != VectorFeatures::Gpu::none) return nullptr;
  const bool is_double = t == float64;
  const double c = is_double ? divisor->getValueAPF().convertToDouble() : static_cast<double>(divisor->getValueAPF().convertToFloat());
  const std::optional<InverseParts> inverse = inverse_by_parts(c, is_double);
  if (!inverse) return nullptr;
  if (inverse->second == 0) return ir_.CreateFMul(a, same(a, inverse->first));
  Value* second = ir_.CreateFMul(a, same(a, inverse->second));
  Value* usual = ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, same(a, inverse->first), second});
  // Of integers only 0 is smaller than 1.
  if (least_dividend(c, is_double) <= 1 && (llvm::isa<llvm::UIToFPInst>(a) || llvm::isa<llvm::SIToFPInst>(a))) return usual;
  Value* size = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  Value* tiny = ir_.CreateAnd(ir_.CreateFCmpOLT(size, same(a, least_dividend(c, is_double))), ir_.CreateFCmpONE(a, same(a, 0.0)));
  return unless_any(ir_, tiny, usual, [&] { return ir_.CreateFDiv(a, b); });
}

Value* VectorBuilder::arithmetic(ScalarOp op, DType t, Value* a, Value* b, Value* c) {
  const bool fp = t.is_floating();
  const auto unary = [&](llvm::Intrinsic::ID id) { return ir_.CreateUnaryIntrinsic(id, a); };
  switch (op) {
    case ScalarOp::add: return fp ? ir_.CreateFAdd(a, b) : ir_.CreateAdd(a, b);
    case ScalarOp::sub: return fp ? ir_.CreateFSub(a, b) : ir_.CreateSub(a, b);
    case ScalarOp::mul: return fp ? ir_.CreateFMul(a, b) : ir_.CreateMul(a, b);
    case ScalarOp::div:
      if (!fp) return divide_integers(t, false, a, b);
      if (Value* quotient = divide_by_constant(t, a, b)) return quotient;
      return fenced(ir_, ir_.CreateFDiv(a, b), a, b);
    case ScalarOp::rem:
      if (fp && features_.gpu != VectorFeatures::Gpu::none) return gpu_remainder(a, b);
      if (!fp) return divide_integers(t, true, a, b);
      if (Value* rest = remainder_by_quotient(a, b)) return fenced(ir_, rest, a, b);
      return fenced(ir_, ir_.CreateFRem(a, b), a, b);
    case ScalarOp::neg: return fp ? ir_.CreateFNeg(a) : ir_.CreateNeg(a);
    case ScalarOp::abs:
      if (fp) return unary(llvm::Intrinsic::fabs);
      return t.is_signed() ? ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, ir_.getFalse()) : a;
    case ScalarOp::min:
      if (fp) return extremum(false, a, b);
      return ir_.CreateBinaryIntrinsic(t.is_signed() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case ScalarOp::max:
      if (fp) return extremum(true, a, b);
      return ir_.CreateBinaryIntrinsic(t.is_signed() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case ScalarOp::fma: return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
    case ScalarOp::sqrt: return unary(llvm::Intrinsic::sqrt);
    case ScalarOp::floor: return unary(llvm::Intrinsic::floor);
    case ScalarOp::ceil: return unary(llvm::Intrinsic::ceil);
    case ScalarOp::round_even: return unary(llvm::Intrinsic::roundeven);
    case ScalarOp::trunc: return unary(llvm::Intrinsic::trunc);
    case ScalarOp::copysign: return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, b);
    case ScalarOp::bit_and: return ir_.CreateAnd(a, b);
    case ScalarOp::bit_or: return ir_.CreateOr(a, b);
    case ScalarOp::bit_xor: return ir_.CreateXor(a, b);
    case ScalarOp::bit_not: return ir_.CreateNot(a);
    case ScalarOp::shl: return ir_.CreateShl(a, b);
    case ScalarOp::shr_logical: return ir_.CreateLShr(a, b);
    case ScalarOp::shr_arithmetic: return ir_.CreateAShr(a, b);
    case ScalarOp::popcount: return unary(llvm::Intrinsic::ctpop);
    case ScalarOp::clz: return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, ir_.getFalse());
    default: return a;
  }
}

/// Lanes of floats as integers: truncated, saturated, 0 for NaN. LLVM's intrinsic for that takes vectors to pieces.
static Value* saturated(llvm::IRBuilder<>& ir, Value* v, DType from, DType to, llvm::Type* target, bool by_halves) {
  const bool with_sign = to.is_signed();
  const int bits = 8 * to.itemsize() - with_sign, digits = from == float64 ? 53 : 24;
  const auto number = [&](double d) { return llvm::ConstantFP::get(v->getType(), d); };
  // The least and the greatest integer that the float can be.
  llvm::Constant* least = number(with_sign ? -std::ldexp(1., bits) : 0);
  llvm::Constant* most = number(std::ldexp(1., bits) - std::ldexp(1., std::max(bits - digits, 0)));
  Value* inside = ir.CreateSelect(ir.CreateFCmpOGT(v, least), v, least);
  inside = ir.CreateSelect(ir.CreateFCmpOLT(inside, most), inside, most);
  Value* i = by_halves ? floats_as_words(ir, inside) : with_sign ? ir.CreateFPToSI(inside, target) : ir.CreateFPToUI(inside, target);
  const auto width = static_cast<unsigned>(8 * to.itemsize());
  const llvm::APInt greatest = with_sign ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
  if (bits > digits) i = ir.CreateSelect(ir.CreateFCmpOGT(v, most), llvm::ConstantInt::get(target, greatest), i);
  return with_sign ? ir.CreateSelect(ir.CreateFCmpORD(v, v), i, llvm::Constant::getNullValue(target)) : i;
}

Value* VectorBuilder::convert_value(Value* v, DType from, DType to) {
  if (from == to) return v;
  if (to.is_bool()) {
    if (from == float16 || from == bfloat16)
      return ir_.CreateICmpNE(ir_.CreateShl(v, same(v, std::uint64_t{1})), same(v, std::uint64_t{0}));
    return from.is_floating() ? ir_.CreateFCmpUNE(v, same(v, 0.0)) : ir_.CreateICmpNE(v, same(v, std::uint64_t{0}));
  }
  llvm::Type* target = with_lanes(type(to), v);
  if (from.is_bool() && to.is_floating()) {  // one masked move, where a conversion of masks takes three instructions
    llvm::Constant* one = to == float16    ? llvm::ConstantInt::get(target, 0x3c00)
                          : to == bfloat16 ? llvm::ConstantInt::get(target, 0x3f80)
                                           : llvm::ConstantFP::get(target, 1);
    return ir_.CreateSelect(v, one, llvm::Constant::getNullValue(target));
  }
  if (from == float16) return convert_value(half_to_float(v), float32, to);
  if (from == bfloat16) return convert_value(bfloat_to_float(v), float32, to);
  if (to == float16 || to == bfloat16) {
    // Rounded once: what float32 cannot hold goes through a float32 rounded to odd.
    const bool wide = from == float64 || (!from.is_floating() && from.itemsize() >= 4);
    Value* f = wide ? double_to_odd_float(convert_value(v, from, float64)) : convert_value(v, from, float32);
    return to == float16 ? float_to_half(f) : float_to_bfloat(f);
  }
  if (from.is_floating()) {
    if (to.is_floating()) return to == float64 ? ir_.CreateFPExt(v, target) : ir_.CreateFPTrunc(v, target);
    if (lanes_of(v) > 1 && features_.gpu == VectorFeatures::Gpu::none)
      return saturated(ir_, v, from, to, target, to.itemsize() == 8 && converts_by_halves(features_, lanes_of(v)));
    return ir_.CreateIntrinsic(to.is_signed() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat, {target, v->getType()}, {v});
  }
  // Numbers of 32 bits that were widened, LLVM converts as these.
  if (to == float64 && from.itemsize() == 8 && converts_by_halves(features_, lanes_of(v)) &&
      llvm::ComputeNumSignBits(v, module_.getDataLayout()) <= 32)
    return words_as_doubles(ir_, v, from.is_signed());
  if (to.is_floating()) return from.is_signed() ? ir_.CreateSIToFP(v, target) : ir_.CreateUIToFP(v, target);
  return from.is_signed() ? ir_.CreateSExtOrTrunc(v, target) : ir_.CreateZExtOrTrunc(v, target);
}

Value* VectorBuilder::half_to_float(Value* v) {
  llvm::Type* f = with_lanes(ir_.getFloatTy(), v);
  if (features_.half_conversions) return ir_.CreateFPExt(ir_.CreateBitCast(v, with_lanes(ir_.getHalfTy(), v)), f);
  llvm::Type* i = with_lanes(ir_.getInt32Ty(), v);
  Value* bits = ir_.CreateZExt(v, i);
  Value* sign = ir_.CreateShl(ir_.CreateAnd(bits, same(bits, std::uint64_t{0x8000})), same(bits, std::uint64_t{16}));
  Value* rest = ir_.CreateShl(ir_.CreateAnd(bits, same(bits, std::uint64_t{0x7fff})), same(bits, std::uint64_t{13}));
  // Scaling by 2^112 moves the exponent and makes subnormals normal; infinities and NaN are put right.
  Value* scaled = ir_.CreateBitCast(ir_.CreateFMul(ir_.CreateBitCast(rest, f), llvm::ConstantFP::get(f, 0x1p112)), i);
  Value* special = ir_.CreateICmpUGE(rest, same(rest, std::uint64_t{0x7c00} << 13));
  Value* magnitude = ir_.CreateSelect(special, ir_.CreateOr(rest, same(rest, std::uint64_t{0x7f800000})), scaled);
  return ir_.CreateBitCast(ir_.CreateOr(sign, magnitude), f);
}

/// The float16 that a value was widened from, or is; null if there is none.
static Value* as_half(Value* v, llvm::Type* half) {
  if (const auto* widened = llvm::dyn_cast<llvm::FPExtInst>(v)) return widened->getSrcTy() == half ? widened->getOperand(0) : nullptr;
  const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  const auto* one = constant ? llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue()) : nullptr;
  if (!one) return nullptr;
  llvm::APFloat number = one->getValueAPF();
  bool lossy = false;
  number.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return lossy ? nullptr : llvm::ConstantFP::get(half, number);
}

/// Arithmetic of two float16 in float32, whose result is rounded, has the bits of arithmetic in float16: 24 digits are two more than twice
/// 11 (Figueroa, "When is double rounding innocuous?", 1995). Null if the value is something else.
Value* VectorBuilder::half_arithmetic(Value* v) {
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(v);
  if (!operation || !features_.half_arithmetic || lanes_of(v) == 1) return nullptr;
  llvm::Type* half = with_lanes(ir_.getHalfTy(), v);
  Value *const a = as_half(operation->getOperand(0), half), *const b = as_half(operation->getOperand(1), half);
  if (!a || !b || operation->getOpcode() == llvm::Instruction::FRem) return nullptr;
  return ir_.CreateBitCast(ir_.CreateBinOp(operation->getOpcode(), a, b), with_lanes(ir_.getInt16Ty(), v));
}

Value* VectorBuilder::float_to_half(Value* v) {
  if (Value* result = half_arithmetic(v)) return result;
  llvm::Type* small = with_lanes(ir_.getInt16Ty(), v);
  if (features_.half_conversions) return ir_.CreateBitCast(ir_.CreateFPTrunc(v, with_lanes(ir_.getHalfTy(), v)), small);
  llvm::Type* i = with_lanes(ir_.getInt32Ty(), v);
  Value* bits = ir_.CreateBitCast(v, i);
  Value* sign = ir_.CreateAnd(ir_.CreateLShr(bits, same(bits, std::uint64_t{16})), same(bits, std::uint64_t{0x8000}));
  Value* rest = ir_.CreateAnd(bits, same(bits, std::uint64_t{0x7fffffff}));
  // Normal results: round to nearest even at bit 13, then rebase the exponent.
  Value* odd = ir_.CreateAnd(ir_.CreateLShr(rest, same(rest, std::uint64_t{13})), same(rest, std::uint64_t{1}));
  Value* rounded = ir_.CreateAdd(ir_.CreateAdd(rest, same(rest, std::uint64_t{0xfff})), odd);
  Value* normal = ir_.CreateLShr(ir_.CreateSub(rounded, same(rest, std::uint64_t{112} << 23)), same(rest, std::uint64_t{13}));
  // Subnormal ones: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
  Value* shifted = ir_.CreateBitCast(ir_.CreateFAdd(ir_.CreateBitCast(rest, v->getType()), same(v, 0.5)), i);
  Value* tiny = ir_.CreateSub(shifted, same(rest, std::uint64_t{0x3f000000}));
  Value* magnitude = ir_.CreateSelect(ir_.CreateICmpULT(rest, same(rest, std::uint64_t{0x38800000})), tiny, normal);
  magnitude =
      ir_.CreateSelect(ir_.CreateICmpUGE(rest, same(rest, std::uint64_t{0x477ff000})), same(rest, std::uint64_t{0x7c00}), magnitude);
  magnitude =
      ir_.CreateSelect(ir_.CreateICmpUGT(rest, same(rest, std::uint64_t{0x7f800000})), same(rest, std::uint64_t{0x7e00}), magnitude);
  return ir_.CreateTrunc(ir_.CreateOr(sign, magnitude), small);
}

Value* VectorBuilder::bfloat_to_float(Value* v) {
  Value* bits = ir_.CreateZExt(v, with_lanes(ir_.getInt32Ty(), v));
  return ir_.CreateBitCast(ir_.CreateShl(bits, same(bits, std::uint64_t{16})), with_lanes(ir_.getFloatTy(), v));
}

/// Whether the value, if it is a NaN, has one whose bits that bfloat16 lacks are 0, so that rounding it carries nothing into its exponent:
/// the result of arithmetic with operands that were bfloat16. It has an operand's bits, or those of the NaN that the processor makes.
static bool has_bfloat_nan(Value* v, const llvm::DataLayout& layout) {
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(v);
  if (!operation) return false;
  return std::all_of(operation->op_begin(), operation->op_end(), [&](Value* operand) {
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(operand)) {
      const auto* one = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue());
      return one && !one->isNaN();
    }
    const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(operand);
    if (!cast || !cast->getSrcTy()->isIntOrIntVectorTy(32)) return false;
    return llvm::computeKnownBits(cast->getOperand(0), layout).countMinTrailingZeros() >= 16;
  });
}

Value* VectorBuilder::float_to_bfloat(Value* v) {
  if (features_.bfloat_rounding) return rounded_by_nvidia(v);
  Value* bits = ir_.CreateBitCast(v, with_lanes(ir_.getInt32Ty(), v));
  const auto plus = [&](std::uint64_t n) { return ir_.CreateAdd(bits, same(bits, n)); };
  // To even at bit 16. Two sums and a selection: without shifts, of which vectors have fewer units than of sums.
  Value* odd = ir_.CreateICmpNE(ir_.CreateAnd(bits, same(bits, std::uint64_t{0x10000})), same(bits, std::uint64_t{0}));
  Value* rounded = ir_.CreateSelect(odd, plus(0x8000), plus(0x7fff));
  Value* whole = rounded;
  if (!has_bfloat_nan(v, module_.getDataLayout())) {
    Value* quiet = ir_.CreateOr(bits, same(bits, std::uint64_t{0x400000}));
    whole = ir_.CreateSelect(ir_.CreateFCmpUNO(v, v), quiet, rounded);
  }
  return ir_.CreateTrunc(ir_.CreateLShr(whole, same(whole, std::uint64_t{16})), with_lanes(ir_.getInt16Ty(), v));
}

/// By the instructions of sm_80 and later, one for two lanes.
Value* VectorBuilder::rounded_by_nvidia(Value* v) {
  const int lanes = lanes_of(v);
  if (lanes == 1) return ir_.CreateBitCast(ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_f2bf16_rn, {}, {v}), ir_.getInt16Ty());
  Value* out = llvm::PoisonValue::get(with_lanes(ir_.getInt16Ty(), v));
  llvm::Type* two = llvm::FixedVectorType::get(ir_.getInt16Ty(), 2);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(lanes); i += 2) {
    // The first operand becomes the upper half.
    Value* pair =
        ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {}, {ir_.CreateExtractElement(v, i + 1), ir_.CreateExtractElement(v, i)});
    pair = ir_.CreateBitCast(pair, two);
    for (std::uint64_t k = 0; k < 2; ++k) out = ir_.CreateInsertElement(out, ir_.CreateExtractElement(pair, k), i + k);
  }
  return out;
}

/// The float32 towards zero, its last bit set where that isn't exact: rounding it again gives what rounding the float64 at once would.
Value* VectorBuilder::double_to_odd_float(Value* v) {
  llvm::Type* i = with_lanes(ir_.getInt32Ty(), v);
  Value* nearest = ir_.CreateFPTrunc(v, with_lanes(ir_.getFloatTy(), v));
  Value* back = ir_.CreateFPExt(nearest, v->getType());
  Value* inexact = ir_.CreateFCmpONE(back, v);
  Value* beyond =
      ir_.CreateFCmpOGT(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v));
  Value* bits = ir_.CreateBitCast(nearest, i);
  bits = ir_.CreateSub(bits, ir_.CreateZExt(beyond, i));
  bits = ir_.CreateOr(bits, ir_.CreateZExt(inexact, i));
  return ir_.CreateBitCast(bits, with_lanes(ir_.getFloatTy(), v));
}

KernelValue VectorBuilder::call_where(V condition, MathFunction f, std::span<const V> operands, V fast) {
  if (features_.gpu != VectorFeatures::Gpu::none) return gpu_call_where(condition, f, operands, fast);
  Value* where = (*this)[condition];
  int lanes = std::max(lanes_of(where), lanes_of((*this)[fast]));
  for (V v : operands) lanes = std::max(lanes, lanes_of((*this)[v]));
  where = splat(where, lanes);
  Value* usual = splat((*this)[fast], lanes);
  llvm::Function* function = ir_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = module_.getContext();

  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* after = cut_block(ir_);
  llvm::BasicBlock* slow = llvm::BasicBlock::Create(context, "library", function, after);

  ir_.SetInsertPoint(before);
  Value* bits = lanes > 1 ? ir_.CreateBitCast(where, ir_.getIntNTy(static_cast<unsigned>(lanes))) : where;
  ir_.CreateCondBr(ir_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), slow, after,
                   llvm::MDBuilder(context).createBranchWeights(1, 1000));

  // The lanes go through memory, to one helper for all widths.
  ir_.SetInsertPoint(slow);
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  const auto spill = [&](Value* v) {
    llvm::AllocaInst* slot = at_entry.CreateAlloca(v->getType());
    slot->setAlignment(llvm::Align(64));
    ir_.CreateAlignedStore(v, slot, llvm::Align(64));
    return slot;
  };
  Value* result = spill(usual);
  Value* x = spill(splat((*this)[operands[0]], lanes));
  Value* y = operands.size() > 1 ? spill(splat((*this)[operands[1]], lanes)) : x;
  llvm::PointerType* pointer = llvm::PointerType::get(context, 0);
  llvm::FunctionCallee helper = module_.getOrInsertFunction(
      "weft_library_lanes",
      llvm::FunctionType::get(ir_.getVoidTy(),
                              {ir_.getInt32Ty(), ir_.getInt32Ty(), ir_.getInt32Ty(), ir_.getInt64Ty(), pointer, pointer, pointer}, false));
  ir_.CreateCall(helper, {ir_.getInt32(static_cast<unsigned>(f)), ir_.getInt32(static_cast<unsigned>(fast.dtype.itemsize())),
                          ir_.getInt32(static_cast<unsigned>(lanes)), ir_.CreateZExt(bits, ir_.getInt64Ty()), x, y, result});
  Value* loaded = ir_.CreateAlignedLoad(usual->getType(), result, llvm::Align(64));
  ir_.CreateBr(after);

  ir_.SetInsertPoint(after, after->begin());
  llvm::PHINode* phi = ir_.CreatePHI(usual->getType(), 2);
  phi->addIncoming(usual, before);
  phi->addIncoming(loaded, slow);
  move_to_end(ir_, after);
  return wrap(phi, fast.dtype);
}

}  // namespace weft::detail

extern "C" void weft_library_lanes(int function, int bytes, int lanes, std::uint64_t where, const void* x, const void* y, void* result) {
  for (int i = 0; i < lanes; ++i) {
    if (!(where >> i & 1)) continue;
    if (bytes == 4)
      static_cast<float*>(result)[i] = static_cast<float>(weft_library_math(function, static_cast<double>(static_cast<const float*>(x)[i]),
                                                                            static_cast<double>(static_cast<const float*>(y)[i])));
    else
      static_cast<double*>(result)[i] = weft_library_math(function, static_cast<const double*>(x)[i], static_cast<const double*>(y)[i]);
  }
}
