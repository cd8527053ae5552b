// Real and complex arithmetic in 200 bits, by MPFR and MPC: what results of mathematical functions and their tables are held against.
#pragma once
#include <mpc.h>
#include <mpfr.h>

#include <span>

#include "weft/core/ir/kernel_builder.h"

namespace weft::exact {

constexpr mpfr_prec_t kBits = 200;

/// A real number.
class Number {
 public:
  Number(double v = 0) { mpfr_init2(v_, kBits), mpfr_set_d(v_, v, MPFR_RNDN); }  // NOLINT: doubles are numbers
  Number(const Number& other) { mpfr_init2(v_, kBits), mpfr_set(v_, other.v_, MPFR_RNDN); }
  Number& operator=(const Number& other) { return mpfr_set(v_, other.v_, MPFR_RNDN), *this; }
  ~Number() { mpfr_clear(v_); }

  mpfr_ptr get() { return v_; }
  mpfr_srcptr get() const { return v_; }
  double value() const { return mpfr_get_d(v_, MPFR_RNDN); }
  bool is_nan() const { return mpfr_nan_p(v_); }
  bool is_zero() const { return mpfr_zero_p(v_); }
  bool is_infinite() const { return mpfr_inf_p(v_); }

  Number& operator+=(const Number& b) { return mpfr_add(v_, v_, b.v_, MPFR_RNDN), *this; }
  Number& operator-=(const Number& b) { return mpfr_sub(v_, v_, b.v_, MPFR_RNDN), *this; }
  Number& operator*=(const Number& b) { return mpfr_mul(v_, v_, b.v_, MPFR_RNDN), *this; }
  Number& operator/=(const Number& b) { return mpfr_div(v_, v_, b.v_, MPFR_RNDN), *this; }
  friend Number operator+(Number a, const Number& b) { return a += b; }
  friend Number operator-(Number a, const Number& b) { return a -= b; }
  friend Number operator*(Number a, const Number& b) { return a *= b; }
  friend Number operator/(Number a, const Number& b) { return a /= b; }
  friend Number operator-(Number a) { return mpfr_neg(a.v_, a.v_, MPFR_RNDN), a; }
  friend bool operator<(const Number& a, const Number& b) { return mpfr_less_p(a.v_, b.v_); }
  friend bool operator>(const Number& a, const Number& b) { return b < a; }
  friend bool operator==(const Number& a, const Number& b) { return mpfr_equal_p(a.v_, b.v_); }

 private:
  mpfr_t v_;
};

Number abs(Number x);
Number sqrt(Number x);
/// x to the nearest number of so many significant bits.
Number rounded(const Number& x, int bits);
Number scaled(Number x, long power_of_two);
Number pi();
Number erf_inv(const Number& x);
Number loggamma(Number x);
/// c_0 + c_1 x + ...
Number polynomial(std::span<const double> c, const Number& x);

/// What the function is of one operand, or two.
Number evaluate(detail::MathFunction f, const Number& x, const Number& y = 0);

/// The distance of `got`, a float32 or a float64, from the true value, in units in the last place of that value in its dtype: rounded at
/// most a half. Numbers below the smallest normal one count in its units. NaN, infinities and overflow agree or are 1e9 units apart; the
/// largest number is one unit from overflow.
double ulps(DType dtype, double got, const Number& want);

/// A complex number.
struct Complex {
  Number re, im;
};
enum class ComplexFunction {
  exp,
  log,
  log1p,
  expm1,
  sin,
  cos,
  tan,
  sinh,
  cosh,
  tanh,
  asin,
  acos,
  atan,
  asinh,
  acosh,
  atanh,
  sqrt,
  rsqrt,
  pow,
  div,
  mul,
  square,
  logistic
};
Complex evaluate(ComplexFunction f, const Complex& x, const Complex& y = {});
/// The distance of two complex numbers in units in the last place of the true one's modulus, in the dtype of the parts.
double ulps(DType part, double got_re, double got_im, const Complex& want);

}  // namespace weft::exact
