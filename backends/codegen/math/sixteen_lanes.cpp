// Each function is a short polynomial about the nearest of sixteen points, whose coefficients are looked up in registers (P. T. P. Tang,
// Table-driven implementation of the exponential function in IEEE floating-point arithmetic, ACM TOMS 15, 1989; the same for the logarithm,
// TOMS 16, 1990). Infinities, NaN, zeros and subnormal numbers need no selections: the instructions that take numbers apart and scale them
// do what is wanted.
#include "weft/backends/codegen/math/sixteen_lanes.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/math/constants.h"
#include "weft/backends/codegen/math/tables.h"

namespace weft::detail {
namespace {

using llvm::Value;
namespace id = llvm::Intrinsic;

class Sixteen {
 public:
  explicit Sixteen(llvm::IRBuilder<>& ir)
      : ir_(ir), floats_(llvm::FixedVectorType::get(ir.getFloatTy(), 16)), ints_(llvm::FixedVectorType::get(ir.getInt32Ty(), 16)) {}

  Value* exp(Value* x, bool often_small) {
    // x = n ln 2 + r, n a multiple of 1/16: adding 1.5 * 2^19 rounds to one, whose fraction then is in the low bits.
    const double magic = 0x1.8p19;
    Value* shifted = fma(x, number(constants::log2e_f64[0]), number(magic));
    Value* n = sub(shifted, number(magic));
    Value* r = fma(n, number(-constants::ln2_f32[1]), fma(n, number(-constants::ln2_f32[0]), x));
    // Where x is too large for a remainder, any small one will do: n decides. So it does where x is NaN.
    r = at_most_one(r);
    Value* two_to = lookup(tables::two_to_sixteenths, bits(shifted));
    Value* rest = fma(mul(r, r), fma(r, number(tables::exp_rest[1]), number(tables::exp_rest[0])), r);
    Value* y = fma(two_to, rest, two_to);
    return often_small ? scale_down(y, n) : scale_or_underflow(y, n);
  }

  /// 1 / (1 + e) with e = exp(-x) = 2^n u (1 + rest), both sides of the fraction divided by the power of two in e: neither overflows, and
  /// what rounding the sum loses is added with the rest.
  Value* logistic(Value* x) {
    const double magic = 0x1.8p19;
    // Beyond these the result is 1 or 0. The second operand comes out if either is NaN.
    Value* c = call(id::x86_avx512_min_ps_512, {number(104.5), ir_.CreateFNeg(x), rounding()});
    c = call(id::x86_avx512_max_ps_512, {number(-24), c, rounding()});
    Value* shifted = fma(c, number(constants::log2e_f64[0]), number(magic));
    Value* n = sub(shifted, number(magic));
    Value* r = fma(n, number(-constants::ln2_f32[1]), fma(n, number(-constants::ln2_f32[0]), c));
    Value* u = lookup(tables::two_to_sixteenths, bits(shifted));
    Value* rest = fma(mul(r, r), fma(r, number(tables::exp_rest[1]), number(tables::exp_rest[0])), r);
    // -n rounded up; what is less than 2^-40 makes no difference beside u.
    Value* up = sub(number(0.9375), n);
    Value* one = scale(number(1), call(id::x86_avx512_max_ps_512, {number(-40), up, rounding()}));
    Value *sum = add(one, u), *of_u = sub(sum, one);
    Value* lost = add(sub(one, sub(sum, of_u)), add(sub(u, of_u), lookup(tables::two_to_sixteenths_low, bits(shifted))));
    // Where the result is 0, nothing underflows on the way.
    Value* above = ir_.CreateSelect(ir_.CreateFCmpOGT(c, number(103.98)), number(0), number(1));
    return scale(ir_.CreateFDiv(above, add(sum, fma(u, rest, lost))), up);
  }

  Value* erf(Value* x) {
    const double magic = 0x1p21;
    Value* a = ir_.CreateUnaryIntrinsic(id::fabs, x);
    // From here on the result is 1 to the last place. The second operand comes out if either is NaN.
    a = call(id::x86_avx512_min_ps_512, {number(3.8745), a, rounding()});
    Value* shifted = add(a, number(magic));
    Value *at = bits(shifted), *r = sub(a, sub(shifted, number(magic)));
    const float* const rows[] = {tables::erf_4, tables::erf_3, tables::erf_2, tables::erf_1};
    Value* y = lookup(tables::erf_5, at);
    for (const float* row : rows) y = fma(y, r, lookup(row, at));
    // About 0 what is added last is r, which is exact.
    y = fma(y, r, ir_.CreateSelect(ir_.CreateFCmpOEQ(shifted, number(magic)), r, lookup(tables::erf_0, at)));
    return ir_.CreateBinaryIntrinsic(id::copysign, y, x);
  }

  Value* tanh(Value* x) {
    Value* a = ir_.CreateUnaryIntrinsic(id::fabs, x);
    // From here on the result is 1 to the last place. The second operand comes out if either is NaN.
    a = call(id::x86_avx512_min_ps_512, {number(9.02), a, rounding()});
    // Half octaves from 1/16 on; what is below belongs to the first. The low bits of 1/16 say which element is its own.
    constexpr int first = 6;
    Value* at = ir_.CreateLShr(ir_.CreateBinaryIntrinsic(id::smax, bits(a), integer(0x3d800000)), integer(22));
    Value* r = sub(a, lookup(tables::tanh_centers, at, first));
    const float* const rows[] = {tables::tanh_5, tables::tanh_4, tables::tanh_3, tables::tanh_2, tables::tanh_1, tables::tanh_0};
    Value* y = lookup(tables::tanh_6, at, first);
    for (const float* row : rows) y = fma(y, r, lookup(row, at, first));
    return ir_.CreateBinaryIntrinsic(id::copysign, y, x);
  }

  Value* log(Value* x) { return log_of(x, nullptr); }

  Value* log1p(Value* x) {
    Value *one = number(1), *u = add(x, one);
    // What rounding 1 + x lost.
    Value* larger = ir_.CreateFCmpOGT(x, one);
    Value* lost = ir_.CreateSelect(larger, add(sub(x, u), one), sub(x, sub(u, one)));
    Value* y = log_of(u, lost);
    y = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(HUGE_VAL)), x, y);
    return ir_.CreateBinaryIntrinsic(id::copysign, y, x);
  }

  SixteenDivisors divisors(Value* s) {
    Value* all = ir_.getInt16(0xffff);
    constexpr unsigned one_to_two = 0, sign_of_source = 0 << 2;
    Value* m = call(id::x86_avx512_mask_getmant_ps_512, {s, ir_.getInt32(one_to_two | sign_of_source), number(0), all, rounding()});
    Value* k = call(id::x86_avx512_mask_getexp_ps_512, {s, number(0), all, rounding()});
    return {ir_.CreateFNeg(k), m, ir_.CreateFDiv(number(1), m)};
  }
  /// By the product with the rounded inverse and one correction (P. Markstein, Computation of elementary functions on the IBM RISC
  /// System/6000 processor, 1990), both operands scaled by the power of two that the divisor has.
  Value* quotient(Value* x, const SixteenDivisors& s) {
    x = scale(x, s.down);
    Value* q = mul(x, s.inverse);
    return fma(fma(ir_.CreateFNeg(q), s.mantissa, x), s.inverse, q);
  }

 private:
  /// log(x + low).
  Value* log_of(Value* x, Value* low) {
    Value* all = ir_.getInt16(0xffff);
    // The mantissa of a negative number is NaN here; the exponent of zero -infinity, and of infinity infinity.
    constexpr unsigned one_to_two = 0, negative_is_nan = 2 << 2;
    Value* m = call(id::x86_avx512_mask_getmant_ps_512, {x, ir_.getInt32(one_to_two | negative_is_nan), number(0), all, rounding()});
    Value* k = call(id::x86_avx512_mask_getexp_ps_512, {x, number(0), all, rounding()});
    Value* at = ir_.CreateLShr(bits(m), integer(19));
    Value* inverse = lookup(tables::inverses, at);
    Value* r = fma(m, inverse, number(-1));
    if (low) {
      // 2^-k; where that is not a number, `low` is 0 or makes no difference.
      Value* power = ir_.CreateSub(integer(254 << 23), ir_.CreateAnd(bits(x), integer(0x7f800000)));
      r = fma(mul(low, ir_.CreateBitCast(power, floats_)), inverse, r);
    }
    Value* p = number(tables::log_rest[4]);
    for (int i = 3; i >= 0; --i) p = fma(p, r, number(tables::log_rest[i]));
    Value* sum = fma(k, number(constants::ln2), lookup(tables::logarithms, at));
    // The square of what log1p is given may underflow.
    return add(sum, low ? fma(mul(r, p), r, r) : fma(mul(r, r), p, r));
  }

  Value* number(double v) { return llvm::ConstantFP::get(floats_, v); }
  Value* integer(std::uint64_t v) { return llvm::ConstantInt::get(ints_, v); }
  Value* rounding() { return ir_.getInt32(4); }  // as it is set
  Value* call(id::ID what, llvm::ArrayRef<Value*> operands) { return ir_.CreateIntrinsic(what, {}, operands); }
  Value* add(Value* a, Value* b) { return ir_.CreateFAdd(a, b); }
  Value* sub(Value* a, Value* b) { return ir_.CreateFSub(a, b); }
  Value* mul(Value* a, Value* b) { return ir_.CreateFMul(a, b); }
  Value* fma(Value* a, Value* b, Value* c) { return ir_.CreateIntrinsic(id::fma, {floats_}, {a, b, c}); }
  Value* bits(Value* v) { return ir_.CreateBitCast(v, ints_); }
  /// The row's element that the low four bits say, of which `first` stands for the first.
  Value* lookup(const float* row, Value* at, int first = 0) {
    float rotated[16];
    std::rotate_copy(row, row + (16 - first) % 16, row + 16, rotated);
    return call(id::x86_avx512_permvar_sf_512, {llvm::ConstantDataVector::get(ir_.getContext(), llvm::ArrayRef<float>(rotated, 16)), at});
  }
  /// v 2^n, n rounded down, rounded once.
  Value* scale(Value* v, Value* n) { return call(id::x86_avx512_mask_scalef_ps_512, {v, n, number(0), ir_.getInt16(0xffff), rounding()}); }
  /// The same of a v about 1. What underflows takes a hundred cycles and more: where that rounds to 0 nothing is computed, and where a
  /// lane would be subnormal, all go another way.
  Value* scale_or_underflow(Value* v, Value* n) {
    Value* above_0 = ir_.CreateFCmpUGE(n, number(-150));
    Value* small = ir_.CreateBitCast(ir_.CreateAnd(ir_.CreateFCmpOLT(n, number(-126)), above_0), ir_.getInt16Ty());
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* after = cut_block(ir_);
    const auto block = [&](const char* name) { return llvm::BasicBlock::Create(ir_.getContext(), name, before->getParent(), after); };
    llvm::BasicBlock *usual = block("usual"), *rare = block("underflow");
    ir_.SetInsertPoint(before);
    ir_.CreateCondBr(ir_.CreateICmpNE(small, ir_.getInt16(0)), rare, usual, llvm::MDBuilder(ir_.getContext()).createBranchWeights(1, 1000));
    ir_.SetInsertPoint(usual);
    Value* scaled = ir_.CreateSelect(above_0, scale(v, n), number(0));
    ir_.CreateBr(after);
    ir_.SetInsertPoint(rare);
    Value* careful = scale_down(v, n);
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after, after->begin());
    Value* result = either(ir_, {scaled}, usual, {careful}, rare)[0];
    move_to_end(ir_, after);
    return result;
  }
  /// The same where subnormal results take no longer either: they are rounded as sums with a number of the exponent whose last place is
  /// theirs, and are what the sum's mantissa counts.
  Value* scale_down(Value* v, Value* n) {
    constexpr double up = 64, unit = 0x1p-62;  // 2^-126 as much larger
    n = call(id::x86_avx512_max_ps_512, {number(-180), n, rounding()});
    Value* small = ir_.CreateFCmpOLT(n, number(-126));
    v = scale(v, ir_.CreateSelect(small, add(n, number(up)), n));
    v = bits(ir_.CreateSelect(small, add(v, number(unit)), v));
    return ir_.CreateBitCast(ir_.CreateSelect(small, ir_.CreateSub(v, bits(number(unit))), v), floats_);
  }
  /// v, or 1 with its sign where that is nearer to 0; 1 for NaN.
  Value* at_most_one(Value* v) {
    constexpr unsigned smaller_magnitude = 2, sign_of_first = 0 << 2;
    return call(id::x86_avx512_mask_range_ps_512,
                {v, number(1), ir_.getInt32(smaller_magnitude | sign_of_first), number(0), ir_.getInt16(0xffff), rounding()});
  }

  llvm::IRBuilder<>& ir_;
  llvm::FixedVectorType *floats_, *ints_;
};

}  // namespace

SixteenDivisors sixteen_lane_divisors(llvm::IRBuilder<>& ir, Value* s) { return Sixteen(ir).divisors(s); }
Value* sixteen_lane_quotient(llvm::IRBuilder<>& ir, Value* x, const SixteenDivisors& s) { return Sixteen(ir).quotient(x, s); }

Value* sixteen_lane_math(llvm::IRBuilder<>& ir, MathFunction f, Value* x, bool often_small) {
  const auto emit = [&](Value* v) -> Value* {
    Sixteen s(ir);
    switch (f) {
      case MathFunction::exp: return s.exp(v, often_small);
      case MathFunction::erf: return s.erf(v);
      case MathFunction::tanh: return s.tanh(v);
      case MathFunction::log: return s.log(v);
      case MathFunction::log1p: return s.log1p(v);
      case MathFunction::logistic: return s.logistic(v);
      default: return nullptr;
    }
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const int lanes = vector ? static_cast<int>(vector->getNumElements()) : 1;
  if (lanes == 16) return emit(x);
  if (!vector) {
    Value* y =
        emit(ir.CreateInsertElement(llvm::Constant::getNullValue(llvm::FixedVectorType::get(x->getType(), 16)), x, std::uint64_t{0}));
    return y ? ir.CreateExtractElement(y, std::uint64_t{0}) : nullptr;
  }
  // Pieces of sixteen lanes, the last filled up with what it has.
  std::vector<int> lane(16);
  Value* all = nullptr;
  for (int begin = 0; begin < lanes; begin += 16) {
    const int here = std::min(16, lanes - begin);
    for (int i = 0; i < 16; ++i) lane[static_cast<std::size_t>(i)] = begin + i % here;
    Value* y = emit(ir.CreateShuffleVector(x, lane));
    if (!y) return nullptr;
    // Both operands of a shuffle have the same type: the piece in a vector of all lanes first.
    std::vector<int> place(static_cast<std::size_t>(lanes), -1);
    for (int i = 0; i < here; ++i) place[static_cast<std::size_t>(begin + i)] = i;
    Value* spread = ir.CreateShuffleVector(y, place);
    for (int i = 0; i < lanes; ++i) place[static_cast<std::size_t>(i)] = i < begin ? i : i < begin + here ? lanes + i : -1;
    all = all ? ir.CreateShuffleVector(all, spread, place) : spread;
  }
  return all;
}

}  // namespace weft::detail
