// Derivatives of selections in programs that are read: what is not taken has none, also where its formula's derivative is infinite.
#include <cmath>

#include "tests/stablehlo/run.h"
#include "tools/modes.h"

using namespace weft;

namespace {

/// near(x) where |x| < 1, far(x) elsewhere, for four numbers.
std::string selection(const std::string& near, const std::string& far) {
  return R"(func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %a = stablehlo.abs %x : tensor<4xf32>
)" + near +
         far +
         R"(
  %p = stablehlo.compare LT, %a, %one, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %0 = stablehlo.select %p, %near, %far : tensor<4xi1>, tensor<4xf32>
  return %0 : tensor<4xf32>
})";
}

const char* const kTwice = "%near = stablehlo.multiply %x, %two : tensor<4xf32>\n";

std::vector<float> gradient(const Jaxpr& program, const Array& x) {
  const auto f = [&](const Array& v) { return sum(program(v)[0]); };
  const std::vector<float> out = grad(f)(x).to_vector<float>();
  CHECK(jit(grad(f))(x).to_vector<float>() == out);
  CHECK(vmap(grad([&](const Array& v) { return sum(program(v)[0]); }))(stack({x, x}))[1].to_vector<float>() == out);
  CHECK(jvp(f, x, ones_like(x)).second.item<float>() == doctest::Approx(sum(grad(f)(x)).item<float>()));
  return out;
}

const Array& points() {
  static const Array x = array({0.f, 1e-25f, 2.f, -4.f});
  return x;
}

}  // namespace

TEST_CASE("derivatives of a selection are those of the formula that is taken") {
  const Jaxpr program = parse_stablehlo(selection(kTwice, R"(%s = stablehlo.multiply %x, %x : tensor<4xf32>
  %far = stablehlo.divide %one, %s : tensor<4xf32>)"));
  program.check();
  CHECK(program(points())[0].to_vector<float>() == std::vector<float>{0, 2e-25f, 0.25f, 0.0625f});
  CHECK(gradient(program, points()) == std::vector<float>{2, 2, -0.25f, 0.03125f});
  const auto f = [&](const Array& v) { return sum(program(v)[0]); };
  const Array second = jit(grad([&](const Array& v) { return sum(grad(f)(v)); }))(points());
  CHECK(tools::difference(second, array({0.f, 0.f, 0.375f, 6.f / 256}), nullptr, {1e-6, 0, false}) == "");
}

TEST_CASE("derivatives of selections within selections, whose formulas share what they are computed from") {
  // log where x is above 1, sqrt where it is below -1, of the same difference; of neither elsewhere, where both are NaN.
  const Jaxpr program = parse_stablehlo(selection(kTwice, R"(%m = stablehlo.subtract %a, %one : tensor<4xf32>
  %q = stablehlo.compare GT, %x, %one, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %l = stablehlo.log %m : tensor<4xf32>
  %r = stablehlo.sqrt %m : tensor<4xf32>
  %i = stablehlo.select %q, %l, %r : tensor<4xi1>, tensor<4xf32>
  %far = stablehlo.multiply %i, %two : tensor<4xf32>)"));
  CHECK(gradient(program, array({0.f, 0.5f, 3.f, -5.f})) == std::vector<float>{2, 2, 1, -0.5f});
}

TEST_CASE("derivatives where a case is infinite by a constant factor, and where what is taken is NaN") {
  const std::string infinity = "%inf = stablehlo.constant dense<0x7F800000> : tensor<4xf32>\n";
  const Jaxpr factor = parse_stablehlo(selection(kTwice, infinity + "%far = stablehlo.multiply %x, %inf : tensor<4xf32>"));
  CHECK(gradient(factor, array({0.f, 0.5f, -0.5f, 0.f})) == std::vector<float>{2, 2, 2, 2});
  // Products may overflow: x^8 at 1e10, where it is not taken.
  const Jaxpr power = parse_stablehlo(selection(R"(%b = stablehlo.multiply %x, %x : tensor<4xf32>
  %c = stablehlo.multiply %b, %b : tensor<4xf32>
  %near = stablehlo.multiply %c, %c : tensor<4xf32>
)",
                                                "%far = stablehlo.multiply %x, %two : tensor<4xf32>"));
  CHECK(gradient(power, array({0.f, 0.5f, 1e10f, -1e10f})) == std::vector<float>{0, 0.0625f, 2, 2});
  // 1 / x at its pole, where the program gives NaN: no derivative of 0.
  const Jaxpr pole = parse_stablehlo(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %p = stablehlo.compare EQ, %x, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %d = stablehlo.divide %one, %x : tensor<f32>
  %0 = stablehlo.select %p, %nan, %d : tensor<i1>, tensor<f32>
  return %0 : tensor<f32>
})");
  CHECK(std::isnan(grad([&](const Array& v) { return pole(v)[0]; })(array(0.f)).item<float>()));
}

TEST_CASE("derivatives of selections in loops, and of what a branch takes from around it") {
  const Jaxpr loop = parse_stablehlo(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %by = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %z, %s = %x) : tensor<i32>, tensor<f32>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %q = stablehlo.compare GT, %s, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.log %s : tensor<f32>
    %d = stablehlo.multiply %s, %two : tensor<f32>
    %t = stablehlo.select %q, %l, %d : tensor<i1>, tensor<f32>
    %k = stablehlo.add %i, %by : tensor<i32>
    stablehlo.return %k, %t : tensor<i32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
})");
  const auto f = [&](const Array& v) { return loop(v)[0]; };
  CHECK(jit(grad(f))(array(0.f)).item<float>() == 4);
  const Jaxpr branch = parse_stablehlo(R"(func.func @main(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.case"(%i) ({
    %q = stablehlo.compare GT, %x, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.sqrt %x : tensor<f32>
    %t = stablehlo.select %q, %l, %x : tensor<i1>, tensor<f32>
    stablehlo.return %t : tensor<f32>
  }, {
    stablehlo.return %zero : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
})");
  CHECK(jit(grad([&](const Array& v) { return branch(array(0), v)[0]; }))(array(0.f)).item<float>() == 1);
}

TEST_CASE("derivatives of the modulus of a difference where its terms are equal: none beside their maximum") {
  const auto at_zero = [](const std::string& max_of) {
    const Jaxpr program = parse_stablehlo(R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %other = stablehlo.constant dense<0.0> : tensor<2xf32>
  %two = stablehlo.constant dense<2.0> : tensor<2xf32>
  %m = stablehlo.maximum )" + max_of + R"( : tensor<2xf32>
  %d = stablehlo.subtract %x, %zero : tensor<2xf32>
  %a = stablehlo.abs %d : tensor<2xf32>
  %n = stablehlo.negate %a : tensor<2xf32>
  %e = stablehlo.exponential %n : tensor<2xf32>
  %l = stablehlo.log_plus_one %e : tensor<2xf32>
  %0 = stablehlo.add %m, %l : tensor<2xf32>
  return %0 : tensor<2xf32>
})");
    program.check();
    return grad([&](const Array& v) { return sum(program(v)[0]); })(array({0.f, 3.f}))[0].item<float>();
  };
  CHECK(at_zero("%x, %other") == 0.5f);  // of log(1 + exp(x))
  CHECK(at_zero("%other, %x") == 0.5f);
  CHECK(at_zero("%x, %two") == -0.5f);  // of the modulus from above 0, as in JAX
}

TEST_CASE("derivatives of functions that are written out under their names in chlo are those of the functions") {
  const Jaxpr program = parse_stablehlo(R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.composite "chlo.asinh" %x {decomposition = @asinh, version = 1 : i32} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @asinh(%x: tensor<3xf32>) -> tensor<3xf32> {
  %s = stablehlo.sign %x : tensor<3xf32>
  %a = stablehlo.abs %x : tensor<3xf32>
  %l = stablehlo.log_plus_one %a : tensor<3xf32>
  %0 = stablehlo.multiply %s, %l : tensor<3xf32>
  return %0 : tensor<3xf32>
})");
  CHECK(gradient(program, array({0.f, 0.f, 0.f})) == std::vector<float>{1, 1, 1});
}

TEST_CASE("selections whose formulas have finite derivatives are read as they are written") {
  const std::string text = fmt::format("{}", parse_stablehlo(selection(kTwice, R"(%h = stablehlo.divide %x, %two : tensor<4xf32>
  %far = stablehlo.maximum %h, %one : tensor<4xf32>)")));
  CAPTURE(text);
  CHECK(text.find("stop_gradient") == std::string::npos);
}
