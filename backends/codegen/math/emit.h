// Notation for writing expressions: operators over a KernelBuilder.
#pragma once
#include <initializer_list>
#include <span>

#include "weft/core/ir/kernel_builder.h"

namespace weft::detail {

/// A value with its builder, so that formulas read as formulas. Constants take the other operand's dtype.
struct Expr {
  KernelBuilder* b;
  KernelValue v;

  Expr constant(double c) const { return {b, b->constant(v.dtype, c)}; }
  Expr integer(std::int64_t c) const { return {b, b->integer(v.dtype, c)}; }
  bool is_double() const { return v.dtype == float64; }
  DType int_type() const { return is_double() ? int64 : int32; }
  Expr as_bits() const { return {b, b->bitcast(v, int_type())}; }
  Expr as_float() const { return {b, b->bitcast(v, v.dtype == int64 ? float64 : float32)}; }
  Expr to(DType dtype) const { return {b, b->convert(v, dtype)}; }

  friend Expr operator+(Expr x, Expr y) { return {x.b, x.b->add(x.v, y.v)}; }
  friend Expr operator-(Expr x, Expr y) { return {x.b, x.b->sub(x.v, y.v)}; }
  friend Expr operator*(Expr x, Expr y) { return {x.b, x.b->mul(x.v, y.v)}; }
  friend Expr operator/(Expr x, Expr y) { return {x.b, x.b->div(x.v, y.v)}; }
  friend Expr operator+(Expr x, double y) { return x + x.constant(y); }
  friend Expr operator-(Expr x, double y) { return x - x.constant(y); }
  friend Expr operator*(Expr x, double y) { return x * x.constant(y); }
  friend Expr operator/(Expr x, double y) { return x / x.constant(y); }
  friend Expr operator-(double x, Expr y) { return y.constant(x) - y; }
  friend Expr operator/(double x, Expr y) { return y.constant(x) / y; }
  friend Expr operator-(Expr x) { return {x.b, x.b->neg(x.v)}; }
  friend Expr operator<(Expr x, double y) { return {x.b, x.b->lt(x.v, x.constant(y).v)}; }
  friend Expr operator>(Expr x, double y) { return {x.b, x.b->gt(x.v, x.constant(y).v)}; }
  friend Expr operator<(Expr x, Expr y) { return {x.b, x.b->lt(x.v, y.v)}; }
  friend Expr operator>(Expr x, Expr y) { return {x.b, x.b->gt(x.v, y.v)}; }
  friend Expr operator==(Expr x, Expr y) { return {x.b, x.b->eq(x.v, y.v)}; }
  friend Expr operator!=(Expr x, Expr y) { return {x.b, x.b->ne(x.v, y.v)}; }
  friend Expr operator==(Expr x, double y) { return {x.b, x.b->eq(x.v, x.constant(y).v)}; }
  friend Expr operator&(Expr x, Expr y) { return {x.b, x.b->bit_and(x.v, y.v)}; }
  friend Expr operator|(Expr x, Expr y) { return {x.b, x.b->bit_or(x.v, y.v)}; }
  friend Expr operator^(Expr x, Expr y) { return {x.b, x.b->bit_xor(x.v, y.v)}; }
};

inline Expr fma(Expr x, Expr y, Expr z) { return {x.b, x.b->fma(x.v, y.v, z.v)}; }
inline Expr fma(Expr x, double y, Expr z) { return fma(x, x.constant(y), z); }
inline Expr fma(Expr x, Expr y, double z) { return fma(x, y, x.constant(z)); }
inline Expr select(Expr condition, Expr yes, Expr no) { return {yes.b, yes.b->select(condition.v, yes.v, no.v)}; }
inline Expr min(Expr x, Expr y) { return {x.b, x.b->min(x.v, y.v)}; }
inline Expr max(Expr x, Expr y) { return {x.b, x.b->max(x.v, y.v)}; }
inline Expr abs(Expr x) { return {x.b, x.b->abs(x.v)}; }
inline Expr sqrt(Expr x) { return {x.b, x.b->sqrt(x.v)}; }
inline Expr copysign(Expr magnitude, Expr sign) { return {magnitude.b, magnitude.b->copysign(magnitude.v, sign.v)}; }
inline Expr shl(Expr x, int n) { return {x.b, x.b->shl(x.v, x.integer(n).v)}; }
inline Expr sar(Expr x, int n) { return {x.b, x.b->shr_arithmetic(x.v, x.integer(n).v)}; }

/// Horner's rule with fused multiply-adds; coefficients lowest first.
inline Expr polynomial(Expr x, std::span<const double> c) {
  Expr p = x.constant(c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) p = fma(p, x, c[k]);
  return p;
}

}  // namespace weft::detail
