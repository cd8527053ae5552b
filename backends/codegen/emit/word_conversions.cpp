#include "weft/backends/codegen/emit/word_conversions.h"

#include <llvm/IR/Intrinsics.h>

#include <cstdint>

namespace weft::detail {
namespace {

using llvm::Value;

constexpr std::uint64_t kLowHalf = 0xffffffff;
constexpr double kUnits = 0x1p52;          // to 2^52 + n for n < 2^32: n is in the low bits
constexpr double kSignedUnits = 0x1.8p52;  // the same for |n| < 2^51: the low bits are those of n

llvm::Type* with_lanes_of(Value* v, llvm::Type* t) {
  return llvm::FixedVectorType::get(t, llvm::cast<llvm::FixedVectorType>(v->getType()));
}

}  // namespace

bool converts_by_halves(const VectorFeatures& features, int lanes) {
  constexpr int avx2 = 32;  // bytes of a vector
  return lanes > 1 && features.gpu == VectorFeatures::Gpu::none && features.vector_bytes == avx2 && !features.word_conversions;
}

Value* words_as_doubles(llvm::IRBuilder<>& ir, Value* words, bool is_signed) {
  llvm::Type *integers = words->getType(), *doubles = with_lanes_of(words, ir.getDoubleTy());
  const auto bits = [&](std::uint64_t n) { return llvm::ConstantInt::get(integers, n); };
  const auto number = [&](double n) { return llvm::ConstantFP::get(doubles, n); };
  // 2^52 + the lower half, and 2^84 + 2^32 times the upper one, which is moved by 2^31 where it has a sign. Only the last sum rounds.
  Value* low = ir.CreateBitCast(ir.CreateOr(ir.CreateAnd(words, bits(kLowHalf)), bits(std::uint64_t{0x433} << 52)), doubles);
  const std::uint64_t exponent = std::uint64_t{0x453} << 52, sign = is_signed ? std::uint64_t{1} << 31 : 0;
  Value* high = ir.CreateBitCast(ir.CreateXor(ir.CreateLShr(words, bits(32)), bits(exponent | sign)), doubles);
  return ir.CreateFAdd(ir.CreateFSub(high, number(0x1p84 + (is_signed ? 0x1p63 : 0) + kUnits)), low);
}

Value* floats_as_words(llvm::IRBuilder<>& ir, Value* floats) {
  llvm::Type* integers = with_lanes_of(floats, ir.getInt64Ty());
  Value* doubles = ir.CreateFPExt(floats, with_lanes_of(floats, ir.getDoubleTy()));
  const auto bits = [&](std::uint64_t n) { return llvm::ConstantInt::get(integers, n); };
  const auto number = [&](double n) { return llvm::ConstantFP::get(doubles->getType(), n); };
  Value* whole = ir.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, doubles);
  // Both halves are exact; the upper one has the sign.
  Value* high = ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, ir.CreateFMul(whole, number(0x1p-32)));
  Value* low = ir.CreateFSub(whole, ir.CreateFMul(high, number(0x1p32)));
  Value* upper = ir.CreateShl(ir.CreateBitCast(ir.CreateFAdd(high, number(kSignedUnits)), integers), bits(32));
  Value* lower = ir.CreateAnd(ir.CreateBitCast(ir.CreateFAdd(low, number(kUnits)), integers), bits(kLowHalf));
  return ir.CreateOr(upper, lower);
}

Value* doubles_as_half_words(llvm::IRBuilder<>& ir, Value* doubles) {
  llvm::Type* integers = with_lanes_of(doubles, ir.getInt64Ty());
  Value* whole = ir.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, doubles);
  Value* sum = ir.CreateFAdd(whole, llvm::ConstantFP::get(doubles->getType(), kSignedUnits));
  return ir.CreateTrunc(ir.CreateBitCast(sum, integers), with_lanes_of(doubles, ir.getInt32Ty()));
}

}  // namespace weft::detail
