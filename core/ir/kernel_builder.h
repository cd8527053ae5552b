// The scalar expression language that elementwise primitives lower to. It knows nothing of vectors, threads or targets: the code generator
// walks an expression once for each vector (or thread); a test evaluates it element by element.
#pragma once
#include <span>

#include "weft/core/array/dtype.h"

namespace weft::detail {

/// Operations on real scalars of one dtype. float16 and bfloat16 never reach these: KernelBuilder computes them in float32 and rounds.
enum class ScalarOp {
  // arithmetic, floating or integer (integers wrap; division by zero is guarded by the primitives' lowering)
  add,
  sub,
  mul,
  div,
  rem,
  neg,
  abs,
  min,
  max,  // floating min and max give NaN if an operand is NaN
  fma,  // floating: a * b + c, rounded once
  sqrt,
  floor,
  ceil,
  round_even,
  trunc,
  copysign,
  // comparisons, giving bool; on NaN all false but ne
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  select,  // select(bool, if true, if false)
  // bits: bool or integer
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shl,
  shr_logical,
  shr_arithmetic,
  popcount,
  clz,
  convert,  // value conversion: to int truncates, out of range saturates, NaN gives 0; to bool is x != 0
  bitcast,  // same size
};

/// Mathematical functions; backends/codegen/math expands them into the operations above.
enum class MathFunction {
  exp,
  exp2,
  expm1,
  log,
  log1p,
  log2,
  tanh,
  logistic,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  atan2,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  pow,
  erf,
  erfc,
  erf_inv,
  lgamma,
  digamma,
  cbrt,
  rsqrt,
};

/// A node of an expression. A complex value is a pair of real nodes.
struct KernelValue {
  int id = -1;
  int imag = -1;  ///< the imaginary part's node, for a complex dtype
  DType dtype = float32;
};

class KernelBuilder {
 public:
  using V = KernelValue;
  virtual ~KernelBuilder() = default;

  /// A constant of the dtype. Floating constants are rounded to it; an integer dtype takes the 64-bit pattern's low bits.
  V constant(DType dtype, double value);
  V integer(DType dtype, std::int64_t value);

  V add(V a, V b);
  V sub(V a, V b);
  V mul(V a, V b);
  V div(V a, V b);
  V rem(V a, V b);  ///< C's fmod and %: the dividend's sign
  V neg(V a);
  V abs(V a);  ///< of a complex value: its modulus
  V min(V a, V b);
  V max(V a, V b);
  V fma(V a, V b, V c);
  V sqrt(V a);
  V floor(V a);
  V ceil(V a);
  V round_even(V a);
  V trunc(V a);
  V copysign(V magnitude, V sign);
  V eq(V a, V b);
  V ne(V a, V b);
  V lt(V a, V b);
  V le(V a, V b);
  V gt(V a, V b);
  V ge(V a, V b);
  V select(V condition, V if_true, V if_false);
  V bit_and(V a, V b);
  V bit_or(V a, V b);
  V bit_xor(V a, V b);
  V bit_not(V a);
  V shl(V a, V b);  ///< the shift count is less than the width; likewise below
  V shr_logical(V a, V b);
  V shr_arithmetic(V a, V b);
  V popcount(V a);
  V clz(V a);
  V convert(V a, DType to);
  V bitcast(V a, DType to);
  V real(V a);
  V imag(V a);
  V complex(V re, V im);
  /// A real function; float16 and bfloat16 are computed in float32.
  V math(MathFunction f, V a);
  V math(MathFunction f, V a, V b);
  /// Selects `fast` where the condition is false, and elsewhere calls the C library's function element by element: for rare or hard
  /// arguments. Cheap while the condition is false everywhere. The operands are of float32 or float64.
  virtual V call_where(V condition, MathFunction f, std::span<const V> operands, V fast) = 0;

 protected:
  /// What an implementation provides. Arithmetic is emitted for real dtypes other than float16 and bfloat16 only; conversions, selects and
  /// bit casts for all real dtypes.
  virtual V emit(ScalarOp op, DType result, std::span<const V> operands) = 0;
  virtual V emit_constant(DType dtype, double floating, std::int64_t integer) = 0;
  /// Usually expand_math (backends/codegen/math).
  virtual V emit_math(MathFunction f, std::span<const V> operands) = 0;

 private:
  V arithmetic(ScalarOp op, std::initializer_list<V> operands);
  V comparison(ScalarOp op, V a, V b);
};

}  // namespace weft::detail
