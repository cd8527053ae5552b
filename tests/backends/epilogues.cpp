// Which activations a GPU's library applies to a product: those that it computes itself, and no others that look like them.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <array>
#include <cmath>
#include <numbers>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/cuda/ptx.h"

using namespace weft;

namespace {

using Activation = detail::ProductStep::Activation;

/// The activation that is planned for f(matmul(x, w)).
template <class F>
Activation planned(F f, DType dtype) {
  const ShapeDtypeStruct square{{256, 256}, dtype};
  const Jaxpr j = make_jaxpr([&](Array x, Array w) { return f(matmul(x, w)); })(square, square);
  detail::TargetTraits t = detail::gpu_traits();
  t.relu_epilogues = true;
  const detail::KernelProgram p = detail::form_program(detail::simplify(j, t.expansion), t, {});
  REQUIRE(p.products.size() == 1);
  return p.products[0].activation;
}

/// The next number of the dtype, up or down.
double next(double v, DType dtype, bool up) {
  const double unit = std::ldexp(1., std::ilogb(v) - (dtype == float16 ? 10 : 7));
  const double here = convert(convert(array(v, float64), dtype), float64).item<double>();
  return up ? here + unit : here - unit;
}

}  // namespace

TEST_CASE("an activation is gelu by its very constants, and by no others near them") {
  const std::array<double, 4> gelu = {.044715, std::sqrt(2 / std::numbers::pi), 1, .5};
  const auto with = [](std::array<double, 4> c, int power) {
    return [=](const Array& v) { return v * (c[3] * (c[2] + tanh(c[1] * (v + c[0] * integer_pow(v, power))))); };
  };
  for (const DType t : {float16, bfloat16}) {
    CAPTURE(t.name());
    CHECK(planned([](const Array& v) { return nn::gelu(v); }, t) == Activation::gelu);
    CHECK(planned(with(gelu, 3), t) == Activation::gelu);
    CHECK(planned(with(gelu, 2), t) == Activation::none);
    for (std::size_t k = 0; k < gelu.size(); ++k)
      for (const bool up : {true, false}) {
        CAPTURE(k);
        std::array<double, 4> other = gelu;
        other[k] = next(gelu[k], t, up);
        CHECK(planned(with(other, 3), t) == Activation::none);
      }
  }
}

TEST_CASE("an activation is relu if its bound is zero") {
  for (const DType t : {float16, bfloat16, float32}) {
    CAPTURE(t.name());
    CHECK(planned([](const Array& v) { return nn::relu(v); }, t) == Activation::relu);
    CHECK(planned([](const Array& v) { return maximum(v, 0); }, t) == Activation::relu);
    CHECK(planned([](const Array& v) { return maximum(v, 1e-7f); }, t) == Activation::none);
    CHECK(planned([](const Array& v) { return where(v <= 1e-7f, 0, v); }, t) == Activation::none);
    CHECK(planned([](const Array& v) { return where(v < 0, 0, v); }, t) == Activation::none);
  }
}
