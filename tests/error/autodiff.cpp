// Errors of derivatives.
#include "refused.h"

using namespace weft;

namespace {

std::string line(int n) { return "autodiff.cpp:" + std::to_string(n); }

auto doubled = [](Array x) { return x * 2; };
auto as_integer = [](Array x) { return convert(sum(x), int32); };
constexpr int kBodies = __LINE__;
auto looped = [](Array x) { return while_loop([](Array c) { return c < 10; }, [](Array c) { return c * 2; }, x); };
std::vector<Array> twice(Array x) { return {x, x}; }
auto forward = [](Array x) { return std::pair{sum(x), x}; };
auto wrong_shape = [](Array, Array ct) { return std::tuple{ct}; };
auto summed = [](Array x) { return sum(x); };

}  // namespace

REFUSED(grad_of_vector_output, ShapeError, grad(doubled)(ones(3)), "grad", "scalar", "f32[3]")
REFUSED(grad_wrt_integer, DTypeError, grad(doubled)(3), "grad", "i32[]", "allow_int")
REFUSED(grad_of_integer_output, DTypeError, grad(as_integer)(ones(3)), "grad", "i32[]")
REFUSED(jvp_tangent_shape, ShapeError, jvp(doubled, std::tuple{ones(3)}, std::tuple{ones(4)}), "jvp", "f32[3]", "f32[4]")
REFUSED(vjp_cotangent_structure, PytreeError, vjp(twice, ones(2)).second({ones(2)}), "vjp", "2", "1")
REFUSED(custom_vjp_wrong_cotangent_shape, ShapeError, grad(custom_vjp(summed, forward, wrong_shape))(ones(3)), "bwd", "f32[]", "f32[3]",
        "array 0 of the arguments")

static const test::Covers covers_while("reverse_mode_while_loop");
TEST_CASE("reverse_mode_while_loop") {
  test::refused(typeid(TracerError), "reverse_mode_while_loop", [] { grad(looped)(1.f); },
                {"while_loop", "reverse-mode", "scan", "max_steps", line(kBodies + 1)});
}

TEST_CASE("vjp_cotangent_shape") {
  test::refused(typeid(ShapeError), "vjp_cotangent_shape", [] { vjp(doubled, ones(2)).second(ones(3)); }, {"vjp", "f32[2]", "f32[3]"});
}
TEST_CASE("pmax has a derivative, unlike in JAX") {
  const Array gradients = vmap(grad([](Array x) { return pmax(x, "i"); }), {.axis_name = "i"})(array({1.f, 3.f, 2.f}));
  CHECK(gradients.shape() == Shape{3});
}
