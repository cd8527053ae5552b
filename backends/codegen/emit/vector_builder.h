// The scalar operations as LLVM IR, for single values or vectors of a fixed number of lanes. Includes LLVM: only for emitters.
//
// In registers bool is i1, float16 and bfloat16 are i16 (their bits), other types are themselves. In memory bool is i8.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "weft/core/ir/kernel_builder.h"

namespace weft::detail {

/// The features of a processor on which the emitted code depends.
struct VectorFeatures {
  int vector_bytes = 16;
  bool masked_memory = false;     ///< masked loads and stores of all element sizes
  bool fast_gathers = false;      ///< of words of 32 bits: faster than as many loads of an element each
  unsigned gathered_lanes = 16;   ///< of 32 bits, from which on a gather is faster than single loads: it costs as much for fewer lanes
  bool half_conversions = false;  ///< float16 <-> float32
  bool half_arithmetic = false;   ///< on float16 (AVX512_FP16)
  bool fma = false;
  bool word_products = false;     ///< upper halves of products of 16-bit integers (x86)
  bool word_conversions = false;  ///< vectors of 64-bit integers <-> float64 (AVX512DQ)
  bool lookups = false;           ///< registers of sixteen float32, and lookups in them (AVX-512)
  bool byte_shuffles = false;     ///< one instruction picks bytes from two registers, as `lookups` does 16-bit words (AVX-512 VBMI)
  /// Cycles from one instruction on a vector of 64 bytes to the next, where the processor approximates inverses and roots of such vectors
  /// (AVX-512). 0: it does not, or code is not worth it.
  struct Division {
    double quotient_f32 = 0, quotient_f64 = 0, root_f32 = 0, root_f64 = 0, multiply_add = 0;
  } division;
  bool bfloat_rounding = false;  ///< float32 -> bfloat16 (NVIDIA, sm_80 or newer)
  /// Code for a GPU, or for the host that emulates it in a test: no calls of the host's libraries, and plain integer division.
  enum class Gpu { none, nvidia, emulated } gpu = Gpu::none;

  /// Whether one instruction picks elements of so many bytes from two of the widest registers.
  bool wide_shuffles(int bytes) const { return bytes == 1 ? byte_shuffles : lookups; }
};

class VectorBuilder final : public KernelBuilder {
 public:
  VectorBuilder(llvm::IRBuilder<>& ir, llvm::Module& module, const VectorFeatures& features)
      : ir_(ir), module_(module), features_(features) {}

  llvm::IRBuilder<>& ir() { return ir_; }
  /// The type of a value of the dtype in registers, or in memory.
  llvm::Type* type(DType t) const;
  llvm::Type* memory_type(DType t) const;
  static int lanes_of(llvm::Value* v);
  llvm::Value* splat(llvm::Value* v, int lanes);
  /// Conversions between a value's forms in registers and in memory.
  llvm::Value* from_memory(llvm::Value* v, DType t);
  llvm::Value* to_memory(llvm::Value* v, DType t);

  V wrap(llvm::Value* v, DType t) {
    values_.push_back(v);
    return {static_cast<int>(values_.size()) - 1, -1, t};
  }
  llvm::Value* operator[](V v) const { return values_[static_cast<std::size_t>(v.id)]; }

  llvm::Value* op(ScalarOp o, DType result, std::span<const V> operands) { return (*this)[emit(o, result, operands)]; }
  llvm::Value* math_op(MathFunction f, std::span<const V> operands) { return (*this)[emit_math(f, operands)]; }
  /// The extremum of equal numbers: zeros of both signs are equal, and +0 is larger than -0.
  llvm::Value* common_bits(bool maximum, llvm::Value* a, llvm::Value* b);
  llvm::Value* constant_value(DType t, double floating, std::int64_t integer) { return (*this)[emit_constant(t, floating, integer)]; }

  V call_where(V condition, MathFunction f, std::span<const V> operands, V fast) override;

  bool often_small = false;  ///< exponentials are expected to have subnormal results

 protected:
  V emit(ScalarOp op, DType result, std::span<const V> operands) override;
  V emit_constant(DType dtype, double floating, std::int64_t integer) override;
  V emit_math(MathFunction f, std::span<const V> operands) override;

 private:
  llvm::Value* arithmetic(ScalarOp op, DType t, llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* compare(ScalarOp op, DType t, llvm::Value* a, llvm::Value* b);
  llvm::Value* convert_value(llvm::Value* v, DType from, DType to);
  llvm::Value* extremum(bool maximum, llvm::Value* a, llvm::Value* b);
  llvm::Value* extremum_of_numbers(bool maximum, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide_by_constant(DType t, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide_integers(DType t, bool remainder, llvm::Value* a, llvm::Value* b);
  struct Quotient {
    llvm::Value *quotient, *remainder;
  };
  Quotient divide_words(bool is_signed, llvm::Value* a, llvm::Value* b);
  Quotient divide_rest(bool is_signed, llvm::Value* r, std::uint64_t d);
  llvm::Value* divide_by_power(llvm::Value* a, const llvm::APInt& divisor);
  llvm::Value* divide_by_known(bool is_signed, llvm::Value* a, const llvm::APInt& divisor);
  llvm::Value* divide_bytes(llvm::Value* a, std::uint64_t divisor);
  llvm::Value* upper_half(bool is_signed, llvm::Value* a, const llvm::APInt& factor);
  llvm::Value* upper_half_of_words(bool is_signed, llvm::Value* a, const llvm::APInt& factor);
  llvm::Value* half_to_float(llvm::Value* v);
  llvm::Value* half_arithmetic(llvm::Value* v);
  llvm::Value* float_to_half(llvm::Value* v);
  llvm::Value* bfloat_to_float(llvm::Value* v);
  llvm::Value* float_to_bfloat(llvm::Value* v);
  llvm::Value* rounded_by_nvidia(llvm::Value* v);
  llvm::Value* double_to_odd_float(llvm::Value* v);
  // gpu_math.cpp
  V gpu_call_where(V condition, MathFunction f, std::span<const V> operands, V fast);
  llvm::Value* gpu_function(MathFunction f, DType t, std::span<llvm::Value* const> operands);
  llvm::Value* gpu_remainder(llvm::Value* a, llvm::Value* b);
  llvm::Value* remainder_by_quotient(llvm::Value* a, llvm::Value* b);
  llvm::Type* with_lanes(llvm::Type* t, llvm::Value* like) const;
  llvm::Value* same(llvm::Value* like, double v);
  llvm::Value* same(llvm::Value* like, std::uint64_t v);

  llvm::IRBuilder<>& ir_;
  llvm::Module& module_;
  const VectorFeatures features_;
  std::vector<llvm::Value*> values_;
};

}  // namespace weft::detail
