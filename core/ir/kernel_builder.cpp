#include "weft/core/ir/kernel_builder.h"

#include <array>
#include <limits>
#include <string>

#include "weft/core/array/half.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using V = KernelValue;
bool is_small_float(DType t) { return t == float16 || t == bfloat16; }
V part(V a, bool imaginary) { return {imaginary ? a.imag : a.id, -1, a.dtype.real_part()}; }
V pair(V re, V im) { return {re.id, im.id, re.dtype == float64 ? complex128 : complex64}; }
double rounded_to(DType t, double v) {
  if (t == float16) return Float16(v);
  if (t == bfloat16) return BFloat16(v);
  return t.real_part() == float32 ? static_cast<double>(static_cast<float>(v)) : v;
}
void require_real(V a, const char* what) {
  if (a.dtype.is_complex()) throw Error(std::string("kernel builder: ") + what + " has no formula for complex operands");
}

}  // namespace

V KernelBuilder::constant(DType dtype, double value) {
  if (dtype.is_complex()) return pair(constant(dtype.real_part(), value), constant(dtype.real_part(), 0));
  if (dtype.is_bool()) return emit_constant(dtype, value != 0, value != 0);
  if (!dtype.is_floating())
    return integer(dtype, dtype == uint64 && value >= 0x1p63 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value))
                                                             : static_cast<std::int64_t>(value));
  return emit_constant(dtype, rounded_to(dtype, value), 0);
}
V KernelBuilder::integer(DType dtype, std::int64_t value) {
  if (dtype.is_inexact()) return constant(dtype, static_cast<double>(value));
  if (dtype.is_bool()) return emit_constant(dtype, static_cast<double>(value), value != 0);
  // Unused high bits are extended, so that equal constants compare equal.
  if (const int unused = 64 - 8 * static_cast<int>(dtype.itemsize()); unused > 0) {
    const std::uint64_t top = static_cast<std::uint64_t>(value) << unused;
    value = dtype.is_unsigned() ? static_cast<std::int64_t>(top >> unused) : static_cast<std::int64_t>(top) >> unused;
  }
  return emit_constant(dtype, static_cast<double>(value), value);
}

V KernelBuilder::arithmetic(ScalarOp op, std::initializer_list<V> operands) {
  std::array<V, 3> wide;
  std::size_t n = 0;
  const DType dtype = operands.begin()->dtype;
  for (V v : operands) {
    require_real(v, "an arithmetic operation");
    wide[n++] = is_small_float(dtype) ? convert(v, float32) : v;
  }
  const V result = emit(op, wide[0].dtype, std::span<const V>(wide.data(), n));
  return is_small_float(dtype) ? convert(result, dtype) : result;
}
V KernelBuilder::comparison(ScalarOp op, V a, V b) {
  require_real(a, "a comparison");
  const std::array<V, 2> operands = is_small_float(a.dtype) ? std::array{convert(a, float32), convert(b, float32)} : std::array{a, b};
  return emit(op, bool_, operands);
}

V KernelBuilder::add(V a, V b) {
  if (a.dtype.is_complex()) return pair(add(real(a), real(b)), add(imag(a), imag(b)));
  return arithmetic(ScalarOp::add, {a, b});
}
V KernelBuilder::sub(V a, V b) {
  if (a.dtype.is_complex()) return pair(sub(real(a), real(b)), sub(imag(a), imag(b)));
  return arithmetic(ScalarOp::sub, {a, b});
}
V KernelBuilder::mul(V a, V b) {
  if (!a.dtype.is_complex()) return arithmetic(ScalarOp::mul, {a, b});
  const V ar = real(a), ai = imag(a), br = real(b), bi = imag(b);
  return pair(sub(mul(ar, br), mul(ai, bi)), add(mul(ar, bi), mul(ai, br)));
}
namespace {
/// A complex quotient where an operand is infinite or the divisor 0, as C's (ISO C, annex G), C++'s and JAX's; `quotient` elsewhere.
V infinite_quotient(KernelBuilder& k, V a, V b, V quotient) {
  const V ar = k.real(a), ai = k.imag(a), br = k.real(b), bi = k.imag(b), re = k.real(quotient), im = k.imag(quotient);
  const V zero = k.constant(ar.dtype, 0), one = k.constant(ar.dtype, 1),
          infinity = k.constant(ar.dtype, std::numeric_limits<double>::infinity());
  const auto infinite = [&](V x) { return k.eq(k.abs(x), infinity); };
  const auto finite = [&](V x) { return k.lt(k.abs(x), infinity); };
  const auto unit = [&](V x) { return k.copysign(k.select(infinite(x), one, zero), x); };
  const auto times = [&](V scale, V xr, V xi, V yr, V yi) {
    return k.complex(k.mul(scale, k.add(k.mul(xr, yr), k.mul(xi, yi))), k.mul(scale, k.sub(k.mul(xi, yr), k.mul(xr, yi))));
  };
  const V a_infinite = k.bit_or(infinite(ar), infinite(ai)), b_infinite = k.bit_or(infinite(br), infinite(bi));
  const V a_finite = k.bit_and(finite(ar), finite(ai)), b_finite = k.bit_and(finite(br), finite(bi));
  const V b_zero = k.bit_and(k.eq(br, zero), k.eq(bi, zero)), undefined = k.bit_and(k.ne(re, re), k.ne(im, im));
  const V over_zero = k.copysign(infinity, br);
  V r = k.select(k.bit_and(undefined, k.bit_and(a_infinite, b_finite)), times(infinity, unit(ar), unit(ai), br, bi), quotient);
  r = k.select(k.bit_and(b_infinite, a_finite), times(zero, ar, ai, unit(br), unit(bi)), r);
  return k.select(b_zero, k.complex(k.mul(over_zero, ar), k.mul(over_zero, ai)), r);
}
}  // namespace

namespace {
/// Powers of 2 that scale an operand of a quotient away from the ends of the type's range.
struct QuotientScale {
  V factor, inverse;
  QuotientScale(KernelBuilder& k, V z) {
    const V re = k.abs(k.real(z)), im = k.abs(k.imag(z)), size = k.max(re, im);
    const bool wide = size.dtype == float64;
    const auto number = [&](double v) { return k.constant(size.dtype, v); };
    const double up = wide ? 0x1p120 : 0x1p48;
    const V is_large = k.gt(size, number(wide ? 0x1p1020 : 0x1p124)), is_small = k.lt(size, number(wide ? 0x1p-900 : 0x1p-70));
    const auto choose = [&](double if_large, double if_small) {
      return k.select(is_large, number(if_large), k.select(is_small, number(if_small), number(1)));
    };
    factor = choose(0x1p-4, up), inverse = choose(0x1p4, 1 / up);
  }
};
}  // namespace

V KernelBuilder::div(V a, V b) {
  if (!a.dtype.is_complex()) return arithmetic(ScalarOp::div, {a, b});
  // Smith, Algorithm 116: Complex division, 1962, which divides by the divisor's larger part so that squares don't overflow; scaled before,
  // as sums overflow too and small ratios lose their places (Baudin and Smith, A robust complex division in Scilab, 2012).
  const QuotientScale of_a(*this, a), of_b(*this, b);
  const V ar = mul(real(a), of_a.factor), ai = mul(imag(a), of_a.factor), br = mul(real(b), of_b.factor), bi = mul(imag(b), of_b.factor);
  const V real_is_larger = ge(abs(br), abs(bi));
  const V large = select(real_is_larger, br, bi), small = select(real_is_larger, bi, br);
  const V x = select(real_is_larger, ar, ai), y = select(real_is_larger, ai, ar);
  const V zero = constant(br.dtype, 0);
  const V ratio = select(eq(large, zero), zero, div(small, large)), scale = add(large, mul(small, ratio));
  const V scaled_back = mul(of_b.factor, of_a.inverse);
  const V re = mul(div(add(x, mul(y, ratio)), scale), scaled_back), im = mul(div(sub(y, mul(x, ratio)), scale), scaled_back);
  return infinite_quotient(*this, a, b, pair(re, select(real_is_larger, im, neg(im))));
}

V KernelBuilder::rem(V a, V b) { return arithmetic(ScalarOp::rem, {a, b}); }
V KernelBuilder::neg(V a) {
  if (a.dtype.is_complex()) return pair(neg(real(a)), neg(imag(a)));
  return arithmetic(ScalarOp::neg, {a});
}
V KernelBuilder::abs(V a) {
  if (a.dtype.is_unsigned() || a.dtype.is_bool()) return a;
  if (!a.dtype.is_complex()) return arithmetic(ScalarOp::abs, {a});
  const V re = abs(real(a)), im = abs(imag(a)), large = max(re, im), small = min(re, im);
  const V zero = constant(re.dtype, 0), one = constant(re.dtype, 1), infinity = constant(re.dtype, std::numeric_limits<double>::infinity());
  const V ratio = div(small, select(eq(large, zero), one, large));
  const V modulus = mul(large, sqrt(fma(ratio, ratio, one)));
  return select(bit_or(eq(re, infinity), eq(im, infinity)), infinity, modulus);
}
V KernelBuilder::min(V a, V b) { return a.dtype.is_bool() ? bit_and(a, b) : arithmetic(ScalarOp::min, {a, b}); }
V KernelBuilder::max(V a, V b) { return a.dtype.is_bool() ? bit_or(a, b) : arithmetic(ScalarOp::max, {a, b}); }
V KernelBuilder::fma(V a, V b, V c) {
  if (a.dtype.is_complex() || !a.dtype.is_floating()) return add(mul(a, b), c);
  return arithmetic(ScalarOp::fma, {a, b, c});
}
V KernelBuilder::sqrt(V a) { return arithmetic(ScalarOp::sqrt, {a}); }
V KernelBuilder::floor(V a) { return arithmetic(ScalarOp::floor, {a}); }
V KernelBuilder::ceil(V a) { return arithmetic(ScalarOp::ceil, {a}); }
V KernelBuilder::round_even(V a) { return arithmetic(ScalarOp::round_even, {a}); }
V KernelBuilder::trunc(V a) { return arithmetic(ScalarOp::trunc, {a}); }
V KernelBuilder::copysign(V magnitude, V sign) { return arithmetic(ScalarOp::copysign, {magnitude, sign}); }

V KernelBuilder::eq(V a, V b) {
  if (a.dtype.is_complex()) return bit_and(eq(real(a), real(b)), eq(imag(a), imag(b)));
  return comparison(ScalarOp::eq, a, b);
}
V KernelBuilder::ne(V a, V b) {
  if (a.dtype.is_complex()) return bit_or(ne(real(a), real(b)), ne(imag(a), imag(b)));
  return comparison(ScalarOp::ne, a, b);
}
V KernelBuilder::lt(V a, V b) { return comparison(ScalarOp::lt, a, b); }
V KernelBuilder::le(V a, V b) { return comparison(ScalarOp::le, a, b); }
V KernelBuilder::gt(V a, V b) { return comparison(ScalarOp::gt, a, b); }
V KernelBuilder::ge(V a, V b) { return comparison(ScalarOp::ge, a, b); }
V KernelBuilder::select(V condition, V if_true, V if_false) {
  if (if_true.dtype.is_complex())
    return pair(select(condition, real(if_true), real(if_false)), select(condition, imag(if_true), imag(if_false)));
  return emit(ScalarOp::select, if_true.dtype, std::array{condition, if_true, if_false});
}

V KernelBuilder::bit_and(V a, V b) { return emit(ScalarOp::bit_and, a.dtype, std::array{a, b}); }
V KernelBuilder::bit_or(V a, V b) { return emit(ScalarOp::bit_or, a.dtype, std::array{a, b}); }
V KernelBuilder::bit_xor(V a, V b) { return emit(ScalarOp::bit_xor, a.dtype, std::array{a, b}); }
V KernelBuilder::bit_not(V a) { return emit(ScalarOp::bit_not, a.dtype, std::array{a}); }
V KernelBuilder::shl(V a, V b) { return emit(ScalarOp::shl, a.dtype, std::array{a, b}); }
V KernelBuilder::shr_logical(V a, V b) { return emit(ScalarOp::shr_logical, a.dtype, std::array{a, b}); }
V KernelBuilder::shr_arithmetic(V a, V b) { return emit(ScalarOp::shr_arithmetic, a.dtype, std::array{a, b}); }
V KernelBuilder::popcount(V a) { return emit(ScalarOp::popcount, a.dtype, std::array{a}); }
V KernelBuilder::clz(V a) { return emit(ScalarOp::clz, a.dtype, std::array{a}); }

V KernelBuilder::convert(V a, DType to) {
  if (a.dtype == to) return a;
  if (a.dtype.is_complex() && to.is_bool()) {
    const V zero = constant(a.dtype.real_part(), 0);
    return bit_or(ne(real(a), zero), ne(imag(a), zero));
  }
  if (to.is_complex()) return pair(convert(real(a), to.real_part()), convert(imag(a), to.real_part()));
  const V source = real(a);
  return source.dtype == to ? source : emit(ScalarOp::convert, to, std::array{source});
}
V KernelBuilder::bitcast(V a, DType to) {
  require_real(a, "a bit cast");
  return a.dtype == to ? a : emit(ScalarOp::bitcast, to, std::array{a});
}
V KernelBuilder::real(V a) { return a.dtype.is_complex() ? part(a, false) : a; }
V KernelBuilder::imag(V a) { return a.dtype.is_complex() ? part(a, true) : constant(a.dtype, 0); }
V KernelBuilder::complex(V re, V im) { return pair(re, im); }

V KernelBuilder::math(MathFunction f, V a) {
  require_real(a, "a function");
  if (is_small_float(a.dtype)) return convert(emit_math(f, std::array{convert(a, float32)}), a.dtype);
  return emit_math(f, std::array{a});
}
V KernelBuilder::math(MathFunction f, V a, V b) {
  require_real(a, "a function");
  if (is_small_float(a.dtype)) return convert(emit_math(f, std::array{convert(a, float32), convert(b, float32)}), a.dtype);
  return emit_math(f, std::array{a, b});
}

}  // namespace weft::detail
