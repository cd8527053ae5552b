// Which activations a GPU's library applies to a product: those that it computes itself, and no others that look like them.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <numbers>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/cuda/ptx.h"

using namespace weft;

namespace {

using Activation = detail::MatmulStep::Activation;

/// The activation that is planned for f(matmul(x, w)).
template <class F>
Activation planned(F f, DType dtype) {
  const ShapeDtypeStruct square{{256, 256}, dtype};
  const Jaxpr j = make_jaxpr([&](Array x, Array w) { return f(matmul(x, w)); })(square, square);
  detail::TargetTraits t = detail::gpu_traits();
  t.relu_epilogues = true;
  const detail::KernelProgram p = detail::form_program(detail::simplify_with_names(j, t.expansion), t, {});
  REQUIRE(p.matmuls.size() == 1);
  return p.matmuls[0].activation;
}

}  // namespace

TEST_CASE("an activation is gelu by its name, not by its formula") {
  const auto formula = [](const Array& v) {
    return v * (.5 * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (v + .044715 * integer_pow(v, 3)))));
  };
  for (const DType t : {float16, bfloat16}) {
    CAPTURE(t.name());
    CHECK(planned([](const Array& v) { return nn::gelu(v); }, t) == Activation::gelu);
    CHECK(planned(formula, t) == Activation::none);
    // A name of somebody else's, whatever is in it.
    CHECK(planned(composite(formula, "my.gelu"), t) == Activation::none);
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
