// The elementwise functions: promotion, corner values, conventions of derivatives, errors.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <weft/jnp.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <limits>

#include "tests/messages.h"
#include "weft/core/array/half.h"
#include "weft/core/ops/elementwise/special_functions.h"

using namespace weft;
using detail::promote_types;
using detail::WeakDType;
using test::has, test::message_of;

namespace {

Array doubles(const std::vector<double>& v) { return array(v); }
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kIntMin = std::numeric_limits<int>::min(), kIntMax = std::numeric_limits<int>::max();

bool near(const Array& x, const std::vector<double>& want, double tolerance = 1e-6) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i)
    same = (std::isnan(got[i]) && std::isnan(want[i])) || got[i] == want[i] ||
           std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  if (!same)
    for (std::size_t i = 0; i < got.size(); ++i) MESSAGE(got[i]);
  return same;
}
bool is(const Array& x, const std::vector<double>& want) { return near(x, want, 0); }
DType list_entry(int i) {
  constexpr DType kAll[] = {bool_, uint8,    uint16,  uint32,  uint64,  int8,      int16,     int32,
                            int64, bfloat16, float16, float32, float64, complex64, complex128};
  return kAll[i];
}

}  // namespace

TEST_CASE("promotion: the table of JAX 0.10 with 64-bit types") {
  // Of the types in list_entry's order.
  const int table[15][15] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},           {1, 1, 2, 3, 4, 6, 6, 7, 8, 9, 10, 11, 12, 13, 14},
      {2, 2, 2, 3, 4, 7, 7, 7, 8, 9, 10, 11, 12, 13, 14},           {3, 3, 3, 3, 4, 8, 8, 8, 8, 9, 10, 11, 12, 13, 14},
      {4, 4, 4, 4, 4, 12, 12, 12, 12, 9, 10, 11, 12, 13, 14},       {5, 6, 7, 8, 12, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
      {6, 6, 7, 8, 12, 6, 6, 7, 8, 9, 10, 11, 12, 13, 14},          {7, 7, 7, 8, 12, 7, 7, 7, 8, 9, 10, 11, 12, 13, 14},
      {8, 8, 8, 8, 12, 8, 8, 8, 8, 9, 10, 11, 12, 13, 14},          {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 11, 11, 12, 13, 14},
      {10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 10, 11, 12, 13, 14}, {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 12, 13, 14},
      {12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 14, 14}, {13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 14, 13, 14},
      {14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14}};
  for (int i = 0; i < 15; ++i)
    for (int k = 0; k < 15; ++k) CHECK(promote_types(list_entry(i), list_entry(k)).name() == list_entry(table[i][k]).name());
}

TEST_CASE("promotion: a number yields to an array, and keeps its kind") {
  // A choice between an array and a number has the array's dtype for good.
  CHECK((where(true, ones(2), 2.f) * ones(2).astype(bfloat16)).dtype() == float32);
  CHECK((where(true, 2.f, ones(2)) * ones(2).astype(bfloat16)).dtype() == float32);
  CHECK((where(true, Array(2.f), 3.f) * ones(2).astype(bfloat16)).dtype() == bfloat16);
  auto with = [](DType t, DType number) { return promote_types(WeakDType{t}, WeakDType{number, true}); };
  CHECK(with(int8, int32) == WeakDType{int8});
  CHECK(with(uint16, int32) == WeakDType{uint16});
  CHECK(with(bool_, int32) == WeakDType{int32, true});
  CHECK(with(int8, float32) == WeakDType{float32, true});
  CHECK(with(int64, float32) == WeakDType{float64, true});
  CHECK(with(float16, float32) == WeakDType{float16});
  CHECK(with(bfloat16, complex64) == WeakDType{complex64});
  CHECK(with(float64, complex64) == WeakDType{complex128});
  CHECK(with(bool_, bool_) == WeakDType{bool_});
  CHECK(promote_types({int32, true}, {float32, true}) == WeakDType{float32, true});
  CHECK((ones(2, int8) + 1).dtype() == int8);
  CHECK((ones(2, int8) + 1).aval().weak == false);
  CHECK((ones(2, int32) + 1.5).aval().weak == true);
  CHECK((ones(2, float32) * 2).dtype() == float32);
  CHECK((ones(2, int64) / 2).dtype() == float64);
  CHECK((ones(2, int32) / 2).dtype() == float32);
  CHECK(sin(ones(2, int16)).dtype() == float32);
  CHECK((ones(2, bool_) + ones(2, bool_)).dtype() == bool_);
  CHECK((true + Array(1)).dtype() == int32);
}

TEST_CASE("half: every number of 16 bits survives float32, and roundings are to nearest even") {
  for (unsigned b = 0; b < 0x10000; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const float f = detail::Float16::from_bits(bits), g = detail::BFloat16::from_bits(bits);
    if (!std::isnan(f)) CHECK_UNARY(detail::Float16(f).bits == bits);
    if (!std::isnan(g)) CHECK_UNARY(detail::BFloat16(g).bits == bits);
    if (std::isnan(f)) CHECK_UNARY(std::isnan(static_cast<float>(detail::Float16(f))));
  }
  CHECK(detail::Float16(65519).bits == 0x7bff);
  CHECK(detail::Float16(65520).bits == 0x7c00);
  CHECK(detail::Float16(0x1p-25).bits == 0);
  CHECK(detail::Float16(0x1.000001p-25).bits == 1);
  CHECK(detail::Float16(1 + 0x1p-11).bits == 0x3c00);
  CHECK(detail::Float16(1 + 3 * 0x1p-11).bits == 0x3c02);
  CHECK(detail::Float16(-0.).bits == 0x8000);
  CHECK(detail::BFloat16(1 + 0x1p-8 + 0x1p-40).bits == 0x3f81);
}

TEST_CASE("integers: division and remainder") {
  const Array x = array({7, -7, 7, -7, 0, 1, -1, kIntMax, kIntMin, 100, 5, 0, kIntMin}),
              y = array({3, 3, -3, -3, 5, 7, 7, 2, 3, -1, 0, 0, -1});
  CHECK(is(div(x, y), {2, -2, -2, 2, 0, 0, 0, 1073741823, -715827882, -100, -1, -1, kIntMin}));
  CHECK(is(rem(x, y), {1, -1, 1, -1, 0, 1, -1, 1, -2, 0, 5, 0, 0}));
  CHECK(is(floor_divide(x, y), {2, -3, -3, 2, 0, 0, -1, 1073741823, -715827883, -100, -2, -1, kIntMin}));
  CHECK(is(x % y, {1, 2, -2, -1, 0, 1, 6, 1, 1, 0, 0, 0, 0}));
  CHECK(is(div(array({200, 7}, uint8), array({0, 2}, uint8)), {255, 3}));
  CHECK(is(array({5.5, -5.5, 5.5, 1., -1.}) % array({2., 2., -2., 0., kInf}), {1.5, .5, -.5, kNan, kInf}));
  CHECK(is(floor_divide(array({5.5, -5.5, 1., -1., 0.}), array({2., 2., 0., 0., 0.})), {2, -3, kInf, -kInf, kNan}));
}

TEST_CASE("integers: shifts, bits, powers, wrapping") {
  const Array s = array({0, 1, 31, 32, 40, -1});
  CHECK(is(array({5, 5, 5, 5, 5, 5}) << s, {5, 10, kIntMin, 0, 0, 0}));
  CHECK(is(array({-8, -8, -8, -8, -8, -8}) >> s, {-8, -4, -1, -1, -1, -1}));
  CHECK(is(shift_right_logical(array({-8, -8, -8, -8, -8, -8}), s), {-8, 2147483644, 1, 0, 0, 0}));
  CHECK(is(array({255}, uint8) >> 4, {15}));
  CHECK(is(~array({0, -1}), {-1, 0}));
  CHECK(is(~array({true, false}), {0, 1}));
  CHECK(is(population_count(array({-1, 5}, int8)), {8, 2}));
  CHECK(is(clz(array({1, 0}, uint16)), {15, 16}));
  CHECK(is(pow(array({2, 3, -2, 0, 0}), array({10, 4, 3, 0, 5})), {1024, 81, -8, 1, 0}));
  CHECK(is(pow(array({3, -3}), 3), {27, -27}));
  CHECK(is(abs(array({kIntMin, -3})), {static_cast<double>(kIntMin), 3}));
  CHECK(is(array({kIntMax}) + 1, {kIntMin}));
  CHECK(is(-array({1}, uint8), {255}));
  CHECK(is(sign(array({-5, 0, 9})), {-1, 0, 1}));
  CHECK(is(square(array({true})), {1}));
}

TEST_CASE("floats: rounding, signs, extrema, tests") {
  const Array x = doubles({-2.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, kInf, kNan});
  CHECK(is(round(x), {-2, 0, 0, 2, 2, 0, kInf, kNan}));
  CHECK(is(round_away(x), {-3, -1, 1, 2, 3, 0, kInf, kNan}));
  CHECK(is(trunc(x), {-2, 0, 0, 1, 2, 0, kInf, kNan}));
  CHECK(is(floor(x), {-3, -1, 0, 1, 2, 0, kInf, kNan}));
  CHECK(is(ceil(x), {-2, 0, 1, 2, 3, 1, kInf, kNan}));
  CHECK(is(signbit(doubles({-0., 0., -1., kInf})), {1, 0, 1, 0}));
  CHECK(is(signbit(sign(doubles({-0., 0., -3.}))), {1, 0, 1}));
  CHECK(is(maximum(doubles({1., kNan, 3.}), doubles({2., 1., kNan})), {2, kNan, kNan}));
  CHECK(is(minimum(doubles({1., kNan, 3.}), doubles({2., 1., kNan})), {1, kNan, kNan}));
  CHECK(is(clip(doubles({-3., .5, 3., kNan}), -1, 1), {-1, .5, 1, kNan}));
  CHECK(is(clip(array({1, 5}), 2), {2, 5}));
  CHECK(is(clamp(0., doubles({-3., .5, 3., kNan}), 1.), {0, .5, 1, kNan}));
  CHECK(is(isnan(x), {0, 0, 0, 0, 0, 0, 0, 1}));
  CHECK(is(isinf(x), {0, 0, 0, 0, 0, 0, 1, 0}));
  CHECK(is(isfinite(x), {1, 1, 1, 1, 1, 1, 0, 0}));
  CHECK(is(isfinite(array({1, 2})), {1, 1}));
  CHECK(is(copysign(doubles({1., -2.}), doubles({-0., 3.})), {-1, 2}));
  CHECK(is(hypot(doubles({3., kInf, 0., 1e200}), doubles({4., kNan, 0., 1e200})), {5, kInf, 0, 1e200 * std::sqrt(2.)}));
  CHECK(near(logaddexp(doubles({0., -kInf, kInf, 1000., kNan}), doubles({0., -kInf, 1., 1000., 1.})),
             {std::log(2), -kInf, kInf, 1000 + std::log(2), kNan}, 1e-15));
  const double one = nextafter(doubles({1.}), 2).item<double>();
  CHECK(one == 1 + 0x1p-52);
  CHECK(is(nextafter(array({0.f, 1.f}), array({-1.f, 0.f})), {-0x1p-149, 1 - 0x1p-24}));
}

TEST_CASE("powers: corner values as C's pow, integer exponents by multiplication") {
  const Array x = doubles({kNan, 1., -2., -2., 0., -0., -8.}), y = doubles({0., kNan, 0.5, 3., -1., -1., 1. / 3});
  CHECK(is(pow(x, y), {1, 1, kNan, -8, kInf, -kInf, kNan}));
  CHECK(is(pow(doubles({3., -2., 0.}), -2), {1. / 9, .25, kInf}));
  CHECK(pow(array({3.f}), 2.f).dtype() == float32);
  CHECK(is(pow(array({-2.f, 2.f, -1.f}), array({3, -2, 16777217})), {-8, .25, -1}));
  CHECK(near(cbrt(doubles({-27., 8.})), {-3, 2}));
}

TEST_CASE("special functions") {
  for (double x : {-0.999999999, -0.7, -0.3, 1e-12, 0.1, 0.5, 0.69, 0.71, 0.9, 0.99999, 1 - 1e-15}) {
    CAPTURE(x);
    const double y = detail::erf_inv(x);
    CHECK(std::abs(x > 0.5 ? std::erfc(y) / (1 - x) - 1 : std::erf(y) / x - 1) < 1e-13);
  }
  CHECK(is(erf_inv(doubles({-1., 1., 2., 0.})), {-kInf, kInf, kNan, 0}));
  CHECK(near(digamma(doubles({1., 0.5, -0.5, 10.})), {-0.57721566490153286, -1.9635100260214235, 0.03648997397857652, 2.2517525890667211},
             1e-14));
  // Around its zero the terms cancel.
  for (const auto& [x, want] : {std::pair(1.454339119793363, -0.0070809085692162126), {1.4753014301759582, 0.013145312457406943}})
    CHECK(std::abs(digamma(array(x, float64)).item<double>() / want - 1) < 1e-15);
  CHECK(near(polygamma(1, doubles({1., 2.5, -0.5})), {1.6449340668482264, 0.49035775610023486, 8.9348022005446793}, 1e-14));
  CHECK(near(polygamma(doubles({2., 3.}), 1), {-2.4041138063191886, 6.4939394022668291}, 1e-14));
  CHECK(is(lgamma(doubles({0., -1., kInf})), {kInf, kInf, kInf}));
}

TEST_CASE("complex numbers") {
  using C = std::complex<float>;
  const Array z = complex(array({3.f, -1.f}), array({4.f, 0.f}));
  CHECK(z.dtype() == complex64);
  CHECK(is(abs(z), {5, 1}));
  CHECK(abs(z).dtype() == float32);
  CHECK(is(real(conj(z)), {3, -1}));
  CHECK(is(imag(conj(z)), {-4, 0}));
  CHECK(is(imag(ones(2)), {0, 0}));
  CHECK((z * C(0, 1)).to_vector<C>() == std::vector<C>{{-4, 3}, {0, -1}});
  CHECK(is(z == z, {1, 1}));
  CHECK(is(isfinite(z / 0), {0, 0}));
  CHECK(real(maximum(z, C(3, 5))).to_vector<float>() == std::vector<float>{3, 3});
  CHECK(imag(maximum(z, C(3, 5))).to_vector<float>() == std::vector<float>{5, 5});
  CHECK(has(message_of<DTypeError>([&] { (void)(z < z); }), {"lt", "c64[2]"}));
  CHECK(near(real(sqrt(z)), {2, 0}));
  CHECK(near(imag(sqrt(z)), {1, 1}));
  const auto of_real = grad([](Array w) { return sum(square(abs(w)) + real(w * w)); })(z);
  CHECK(near(real(of_real), {12, -4}));
  CHECK(near(imag(of_real), {0, 0}));
}

TEST_CASE("conversions of values and of bits") {
  CHECK(is(convert(array({1.9, -1.9, 300., -300., kNan, kInf}), int8), {1, -1, 127, -128, 0, 127}));
  CHECK(is(convert(array({300, -1}), uint8), {44, 255}));
  CHECK(is(convert(array({0.5, 0., kNan}), bool_), {1, 0, 1}));
  CHECK(is(convert(complex(1.f, 2.f), float32), {1}));
  CHECK(is(bitcast_convert(array({1.f, -0.f}), uint32), {0x3f800000, 2147483648.}));
  const Array parts = bitcast_convert(array({0x0102030405060708LL}, int64), uint16);
  CHECK(parts.shape() == Shape{1, 4});
  CHECK(is(parts, {0x0708, 0x0506, 0x0304, 0x0102}));
  CHECK(is(bitcast_convert(parts, int64), {static_cast<double>(0x0102030405060708LL)}));
  CHECK(is(reduce_precision(array({1.f + 0x1p-8f, 1.f + 0x1p-7f, 1e6f, 1e-6f, 65519.f}), 5, 10), {1 + 0x1p-8, 1 + 0x1p-7, kInf, 0, 65504}));
  CHECK(is(where(array({true, false}), array({1, 2}), 0.5), {1, .5}));
  CHECK(is(select_n(array({0, 1, 2, 5, -1}), 10, 20, 30), {10, 20, 30, 30, 10}));
  CHECK(is(where(array({1, 0}), array({{1, 2}, {3, 4}}), 0), {1, 0, 3, 0}));
  CHECK(is(logical_and(array({0, 2}), array({1., 3.})), {0, 1}));
  CHECK(is(logical_xor(true, array({1, 0})), {0, 1}));
  CHECK(is(logical_not(array({0., kNan})), {1, 0}));
}

TEST_CASE("derivatives: conventions where they are not defined") {
  auto derivative_of = [](auto f, float x) { return grad([&](Array v) { return f(v); })(x).template item<double>(); };
  CHECK(derivative_of([](Array x) { return abs(x); }, 0) == 1);
  CHECK(derivative_of([](Array x) { return maximum(x, 1); }, 1) == 0.5);
  CHECK(derivative_of([](Array x) { return minimum(1, x); }, 1) == 0.5);
  CHECK(derivative_of([](Array x) { return sqrt(x); }, 0) == kInf);
  CHECK(derivative_of([](Array x) { return pow(x, 0.f); }, 0) == 0);
  CHECK(derivative_of([](Array x) { return pow(x, 2); }, 0) == 0);
  CHECK(derivative_of([](Array x) { return pow(x, 0); }, 0) == 0);
  CHECK(derivative_of([](Array x) { return pow(0.f, x); }, 2) == 0);
  CHECK(derivative_of([](Array x) { return pow(x, array(1)); }, 0) == 1);
  CHECK(derivative_of([](Array x) { return clip(x, -1, 1); }, 1) == 0.5);
  CHECK(derivative_of([](Array x) { return clamp(0, x, 1); }, 2) == 0);
  CHECK(derivative_of([](Array x) { return sign(x) + round(x) + floor(x); }, 0.5) == 0);
  CHECK(derivative_of([](Array x) { return where(x > 0, x, 0); }, 0) == 0);
  CHECK(derivative_of([](Array x) { return logaddexp(x, x); }, 3) == doctest::Approx(1));
  CHECK(derivative_of([](Array x) { return logaddexp(x, -kInf); }, 3) == doctest::Approx(1));
  CHECK(derivative_of([](Array x) { return hypot(x, x); }, 0) == 1);
}

TEST_CASE("derivatives of logit and entr at the ends of their domains are the limits") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto derivative_of = [](Array (*f)(Arg), float x) { return grad([f](Array v) { return f(v); })(x).item<float>(); };
  const auto push = [](Array (*f)(Arg), float x) {
    return jvp([f](Array v) { return f(v); }, std::tuple{x}, std::tuple{1.f}).second.item<float>();
  };
  CHECK(derivative_of(logit, 0.f) == inf);
  CHECK(derivative_of(logit, 1.f) == inf);
  CHECK(push(logit, 1.f) == inf);
  CHECK(derivative_of(logit, .25f) == doctest::Approx(16. / 3));
  CHECK(derivative_of(entr, 0.f) == inf);
  CHECK(push(entr, 0.f) == inf);
  CHECK(derivative_of(entr, 1.f) == -1.f);
  CHECK(std::isnan(derivative_of(entr, -1.f)));
  CHECK(grad(grad([](Array v) { return entr(v); }))(.5f).item<float>() == -2.f);
  CHECK(jit(vmap(grad([](Array v) { return logit(v); })))(array({0.f, .5f}))(1).item<float>() == 4.f);
}

TEST_CASE("logaddexp is smooth where its operands are equal: higher derivatives in all orders of modes") {
  auto softplus = [](Array x) { return logaddexp(x, 0.); };
  for (const double at : {0., 1., -2.}) {
    const double s = 1 / (1 + std::exp(-at)), second = s * (1 - s), third = second * (1 - 2 * s);
    CHECK(jacfwd(grad(softplus))(at).item<double>() == doctest::Approx(second).epsilon(1e-6));
    CHECK(grad(grad(softplus))(at).item<double>() == doctest::Approx(second).epsilon(1e-6));
    CHECK(grad(jacfwd(softplus))(at).item<double>() == doctest::Approx(second).epsilon(1e-6));
    CHECK(jacfwd(jacfwd(softplus))(at).item<double>() == doctest::Approx(second).epsilon(1e-6));
    CHECK(vmap(jit(grad(jit(grad(softplus)))))(full({2}, at))(1).item<double>() == doctest::Approx(second).epsilon(1e-6));
    CHECK(grad(grad(jacfwd(softplus)))(at).item<double>() == doctest::Approx(third).epsilon(1e-6));
  }
  const Jaxpr text = parse(fmt::format("{}", make_jaxpr(softplus)(0.f)));
  CHECK(grad(grad([&](Array x) { return text(x)[0]; }))(0.f).item<double>() == doctest::Approx(.25));
}

TEST_CASE("derivatives of numbers that were broadcast") {
  CHECK(grad([](Array x) { return sum(x * ones(3)); })(2.f).item<double>() == 3);
}

TEST_CASE("errors name the operation, the types and the line") {
  const Array a = ones({3, 4}), b = ones({3, 5}), i = ones({3, 4}, int32);
  CHECK(has(message_of<ShapeError>([&] { (void)(a + b); }), {"add", "f32[3,4]", "f32[3,5]", "elementwise.cpp:"}));
  CHECK(has(message_of<ShapeError>([&] { (void)(a * ones(3)); }), {"mul", "f32[3,4]", "f32[3]"}));
  CHECK(has(message_of<ShapeError>([&] { (void)where(ones({3, 1}, bool_), a, b); }), {"where", "f32[3,4]", "f32[3,5]"}));
  CHECK(has(message_of<DTypeError>([&] { (void)select_n(ones(3), 1, 2); }), {"select_n", "float32", "int32"}));
  CHECK(has(message_of<DTypeError>([&] { (void)(a & a); }), {"and", "f32[3,4]", "bool or integer"}));
  CHECK(has(message_of<DTypeError>([&] { (void)(ones(2, bool_) - ones(2, bool_)); }), {"sub", "bool[2]"}));
  CHECK(has(message_of<DTypeError>([&] { (void)(ones(2, uint8) + 300); }), {"add", "300", "uint8"}));
  CHECK(has(message_of<DTypeError>([&] { (void)pow(i, -1); }), {"integer_pow", "i32[3,4]", "negative"}));
  CHECK(has(message_of<DTypeError>([&] { (void)erf(complex(1.f, 1.f)); }), {"erf", "c64[]"}));
  CHECK(has(message_of<DTypeError>([&] { (void)bitcast_convert(a, bool_); }), {"bitcast_convert_type", "f32[3,4]"}));
}
