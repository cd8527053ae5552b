// Functions that apply transforms themselves, for nests of transforms.
#include <weft/weft.h>

#include "functions.h"

namespace weft::test {

namespace {

Array inner_grad(const Array& x) {
  return grad([&](Array y) { return sum(sin(y) * x * y); })(x * 2.);
}
Array inner_vmap(const Array& x) {
  return vmap([&](Array y) { return x * y + sum(x); })(sin(x));
}
Array inner_jit(const Array& x) {
  const Array y = x * x;
  return jit([&](Array v) { return v * y + sin(x); })(cos(x));
}
Array inner_jvp(const Array& x) {
  return jvp([&](Array y) { return y * y * x; }, std::tuple{sin(x)}, std::tuple{x}).second;
}
Array inner_vjp(const Array& x) {
  const auto [y, pull] = vjp([&](Array v) { return exp(v * x); }, x);
  return std::get<0>(pull(sin(y)));
}
Array inner_linearize(const Array& x) {
  const auto [y, push] = linearize([](Array v) { return sin(v) * v; }, x);
  return push(x) + push(y);
}
Array inner_jacobians(const Array& x) {
  return matmul(jacfwd([](Array v) { return v * sum(v * v); })(x), x) + sum(jacrev([&](Array v) { return sin(v * x); })(x), 0);
}
Array inner_hessian(const Array& x) {
  return matmul(hessian([](Array v) { return sum(v * v * v) * v(0); })(x), x);
}
Array mapped_collectives(const Array& x) {
  auto centred = [](Array v) { return v - pmean(v, "i") + v * psum(v * v, "i") + convert(axis_index("i"), float64); };
  return vmap(centred, {.axis_name = "i"})(x);
}
Array gathered(const Array& x) {
  return vmap([](Array v) { return sum(all_gather(sin(v), "i") * v) + pmax(v, "i") * v; }, {.axis_name = "i"})(x);
}
Array checkpointed(const Array& x) {
  return checkpoint([&](Array v) { return sin(sin(v) * x) * v; })(x);
}
Array cubed_by_custom_jvp(const Array& x) {
  auto rule = [](std::tuple<Array> p, std::tuple<Array> t) {
    const Array v = std::get<0>(p);
    return std::pair{v * v * v, 3. * v * v * std::get<0>(t)};
  };
  return custom_jvp([](Array v) { return v * v * v; }, rule)(sin(x));
}
Array cubed_by_custom_vjp(const Array& x) {
  auto forward = [](Array v) { return std::pair{v * v * v, v}; };
  auto backward = [](Array v, Array ct) { return std::tuple{3. * v * v * ct}; };
  return custom_vjp([](Array v) { return v * v * v; }, forward, backward)(sin(x));
}
Array cubed(const Array& x) { return sin(x) * sin(x) * sin(x); }
Array transposed(const Array& x) {
  return std::get<0>(linear_transpose([&](Array v) { return cumsum(v) * x; }, x)(sin(x)));
}

}  // namespace

std::vector<NestedFunction> transforming_functions() {
  std::vector<NestedFunction> all = {
      {"transform: grad of a closure", {2}, inner_grad},
      {"transform: vmap of a closure", {2}, inner_vmap},
      {"transform: jit of a closure", {2}, inner_jit},
      {"transform: jvp of a closure", {2}, inner_jvp},
      {"transform: vjp of a closure", {2}, inner_vjp},
      {"transform: linearize", {2}, inner_linearize},
      {"transform: linear_transpose", {2}, transposed},
      {"transform: jacfwd and jacrev", {2}, inner_jacobians},
      {"transform: hessian", {2}, inner_hessian},
      {"transform: psum, pmean and axis_index of vmap", {2}, mapped_collectives},
      {"transform: all_gather and pmax of vmap", {2}, gathered},
      {"transform: checkpoint", {2}, checkpointed},
      {"transform: custom_jvp", {2}, cubed_by_custom_jvp},
      {"transform: custom_vjp", {2}, cubed_by_custom_vjp, cubed, false},
      {"transform: stop_gradient", {2}, [](Array x) { return x * stop_gradient(x) + stop_gradient(sin(x)); }, {}, true, false},
  };
  return all;
}

}  // namespace weft::test
