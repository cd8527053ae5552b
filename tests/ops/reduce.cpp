// Reductions, positions of extrema, running reductions.
#include "tests/ops/checks.h"

#include <complex>
#include <limits>

#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/trace/trace.h"

using namespace weft;
using namespace weft::test;

namespace {
const double inf = std::numeric_limits<double>::infinity(), nan_ = std::numeric_limits<double>::quiet_NaN();
}

TEST_CASE("sums and products") {
  const Array x = array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  CHECK(near(sum(x), float32, {}, {21}));
  CHECK(near(sum(x, 0), float32, {3}, {5, 7, 9}));
  CHECK(near(sum(x, -1), float32, {2}, {6, 15}));
  CHECK(near(sum(x, {0, 1}), float32, {}, {21}));
  CHECK(near(sum(x, -1, keepdims), float32, {2, 1}, {6, 15}));
  CHECK(near(sum(x, Axis(std::vector<int>{})), float32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(near(sum(3.f), float32, {}, {3}));
  CHECK(near(prod(x, 0), float32, {3}, {4, 10, 18}));
  CHECK(near(sum(x, 0, {.where = array({{true, false, true}, {false, false, true}})}), float32, {3}, {1, 0, 9}));
  CHECK(near(prod(x, 1, {.where = array({true, false, true})}), float32, {2}, {3, 24}));
  CHECK(near(mean(x, 1), float32, {2}, {2, 5}));
  CHECK(near(mean(x, 0, {.keepdims = true, .where = array({{true}, {false}})}), float32, {1, 3}, {1, 2, 3}));
  CHECK(near(var(x, 1), float32, {2}, {2. / 3, 2. / 3}));
  CHECK(near(var(x, 0, {.keepdims = true, .ddof = 1}), float32, {1, 3}, {4.5, 4.5, 4.5}));
  CHECK(near(var(x, 1, {.where = array({true, false, true})}), float32, {2}, {1, 1}));
  CHECK(near(std_(x, 1, {.ddof = 1}), float32, {2}, {1, 1}));
  CHECK(near(var(x, 0, {.ddof = 2}), float32, {3}, {nan_, nan_, nan_}));
}

TEST_CASE("a variance of too few elements is NaN with a tangent of zeros and a gradient of 0 / n, as jax.numpy's") {
  auto of_nothing = [](Array x) { return var(x, 1); };
  auto of_one = [](Array x) { return var(x, 1, {.ddof = 1}); };
  const Array nothing = zeros({3, 0}), one = ones({3, 1});
  const auto check = [&] {
    const auto [value, tangent] = jit([=](Array x) { return jvp(of_nothing, std::tuple{x}, std::tuple{x}); })(nothing);
    CHECK(near(value, float32, {3}, {nan_, nan_, nan_}));
    CHECK(near(tangent, float32, {3}, {0, 0, 0}));
    const auto [value_of_one, tangent_of_one] = jit([=](Array x) { return jvp(of_one, std::tuple{x}, std::tuple{x}); })(one);
    CHECK(near(value_of_one, float32, {3}, {nan_, nan_, nan_}));
    CHECK(near(tangent_of_one, float32, {3}, {0, 0, 0}));
    CHECK(near(jit(grad([=](Array x) { return sum(of_one(x)); }))(one), float32, {3, 1}, {nan_, nan_, nan_}));
    CHECK(near(jit(grad([=](Array x) { return sum(var(x, 1, {.ddof = 2})); }))(one), float32, {3, 1}, {0, 0, 0}));
    CHECK(near(vmap(grad([](Array x) { return var(x, {.ddof = 1}); }))(one), float32, {3, 1}, {nan_, nan_, nan_}));
  };
  check();
  const Scope eager = disable_jit();
  check();
}

TEST_CASE("dtypes of sums") {
  CHECK(near(sum(array({true, true, false})), int32, {}, {2}));
  CHECK(near(sum(array({100, 100}, int8)), int32, {}, {200}));
  CHECK(near(sum(array({200, 200}, uint8)), uint32, {}, {400}));
  CHECK(near(sum(array({200, 200}, uint8), none, {.dtype = uint8}), uint8, {}, {144}));
  CHECK(sum(array({1}, int64)).dtype() == int64);
  CHECK(near(mean(array({1, 2})), float32, {}, {1.5}));
  CHECK(near(sum(array({1, 2}), none, {.dtype = float64}), float64, {}, {3}));
  CHECK(near(detail::reduce_sum(array({100, 100}, int8), {0}), int8, {}, {-56}));
  CHECK(sum(array({std::complex<float>(1, 2), std::complex<float>(3, -1)})).item<std::complex<float>>() == std::complex<float>(4, 1));
  CHECK(near(var(array({std::complex<float>(1, 2), std::complex<float>(3, -2)})), float32, {}, {5}));
  const Array many = full({4096}, 1.f, bfloat16);  // adding in bfloat16 would stop at 256
  CHECK(near(sum(many), bfloat16, {}, {4096}));
  CHECK(near(detail::reduce_sum(many, {0}), bfloat16, {}, {4096}));
  CHECK(near(mean(full({3000}, 30.f, float16)), float16, {}, {30}));
  CHECK(near(sum(full({200000}, .1f)), float32, {}, {20000}, 2e-5));
}

TEST_CASE("extrema and truth") {
  const Array x = array({{1.f, 7.f, 3.f}, {4.f, -5.f, 6.f}});
  CHECK(near(max(x), float32, {}, {7}));
  CHECK(near(max(x, 0), float32, {3}, {4, 7, 6}));
  CHECK(near(min(x, 1, keepdims), float32, {2, 1}, {1, -5}));
  CHECK(near(max(array({1.f, std::nanf(""), 3.f})), {nan_}));
  CHECK(near(min(array({std::nanf(""), 1.f})), {nan_}));
  CHECK(near(max(array({1, 200}, uint8)), uint8, {}, {200}));
  CHECK(near(max(array({false, true})), bool_, {}, {1}));
  CHECK(near(max(x, 1, {.where = array({true, false, true})}), float32, {2}, {3, 6}));
  CHECK(near(min(array({-3, -7}, int8), none, {.where = array({true, false})}), int8, {}, {-3}));
  CHECK(near(any(x < 0, 1), bool_, {2}, {0, 1}));
  CHECK(near(all(x > 0, 1), bool_, {2}, {1, 0}));
  CHECK(near(any(array({0, 2})), bool_, {}, {1}));
  CHECK(near(all(array({0., 2.})), bool_, {}, {0}));
  CHECK(near(detail::reduce_xor(array({5, 3, 1}), {0}), int32, {}, {7}));
  CHECK(near(detail::reduce_and(array({{7, 5}, {13, 4}}), {1}), int32, {2}, {5, 4}));
  CHECK(near(detail::reduce_or(array({{1, 4}, {8, 2}}), {0, 1}), int32, {}, {15}));
}

TEST_CASE("positions of extrema") {
  const Array x = array({{1., 3., 3., 2.}, {nan_, 1., 5., 0.}, {-inf, -inf, -inf, -inf}, {0., -0., 0., -0.}}, float32);
  CHECK(near(argmax(x, 1), int32, {4}, {1, 0, 0, 0}));
  CHECK(near(argmin(x, 1), int32, {4}, {0, 0, 0, 0}));
  CHECK(near(argmax(x, 0), int32, {4}, {1, 0, 1, 0}));
  CHECK(near(argmax(x), int32, {}, {4}));
  CHECK(near(argmax(x, 1, keepdims), int32, {4, 1}, {1, 0, 0, 0}));
  CHECK(near(argmin(x, -1, {.dtype = int64}), int64, {4}, {0, 0, 0, 0}));
  CHECK(near(argmax(array({false, true, true})), int32, {}, {1}));
}

TEST_CASE("logsumexp") {
  const Array x = array({{1000., 1001., 999.}, {-inf, -inf, -inf}, {inf, 1., 2.}}, float32);
  CHECK(near(logsumexp(x, 1), float32, {3}, {1001 + std::log(1 + std::exp(-1.) + std::exp(-2.)), -inf, inf}));
  CHECK(near(logsumexp(array({1, 2}), none, keepdims), float32, {1}, {std::log(std::exp(1) + std::exp(2))}));
  CHECK(near(logsumexp(x, 1, {.where = array({true, false, false})}), float32, {3}, {1000, -inf, inf}));
  CHECK(near(grad([](Array v) { return logsumexp(v); })(array({0., -inf, 1.}, float32)),
             {1 / (1 + std::exp(1)), 0, std::exp(1) / (1 + std::exp(1))}));
}

TEST_CASE("reducing nothing") {
  const Array x = zeros({2, 0});
  CHECK(near(sum(x, 0), float32, {0}, {}));
  CHECK(near(sum(x, 1), float32, {2}, {0, 0}));
  CHECK(near(prod(x, 1), float32, {2}, {1, 1}));
  CHECK(near(mean(x, 1), float32, {2}, {nan_, nan_}));
  CHECK(near(all(x > 0), bool_, {}, {1}));
  CHECK(near(any(x > 0), bool_, {}, {0}));
  CHECK(near(max(x, 0), float32, {0}, {}));
  CHECK(near(logsumexp(x, 0), float32, {0}, {}));
  CHECK(near(logsumexp(x, 1), float32, {2}, {-inf, -inf}));
  CHECK(near(detail::reduce_max(x, {1}), float32, {2}, {-inf, -inf}));
  CHECK(has(message_of<ShapeError>([&] { max(x); }), {"max", "f32[2,0]", "reduce.cpp"}));
  CHECK(has(message_of<ShapeError>([&] { argmin(x, 1); }), {"argmin", "f32[2,0]"}));
}

TEST_CASE("running reductions") {
  const Array x = array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  CHECK(near(cumsum(x, 0), {1, 2, 3, 5, 7, 9}));
  CHECK(near(cumsum(x), float32, {6}, {1, 3, 6, 10, 15, 21}));
  CHECK(near(cumprod(x), float32, {6}, {1, 2, 6, 24, 120, 720}));
  CHECK(near(cumsum(x, 1), {1, 3, 6, 4, 9, 15}));
  CHECK(near(cumprod(x, -1), {1, 2, 6, 4, 20, 120}));
  CHECK(near(cummax(array({3, 1, 5})), int32, {3}, {3, 3, 5}));
  CHECK(near(cummin(array({3.f, std::nanf(""), 5.f})), {3, nan_, nan_}));
  CHECK(near(cumlogsumexp(array({-inf, 0., 1000.}, float32)), {-inf, 0, 1000}));
  CHECK(near(cumsum(array({true, false, true})), int32, {3}, {1, 1, 2}));
  CHECK(near(detail::cumulative_sum(x, 1, true), {6, 5, 3, 15, 11, 6}));
  CHECK(near(detail::cumulative_min(array({3, 1, 5}), 0, true), {1, 1, 5}));
  CHECK(near(cumsum(zeros({0})), float32, {0}, {}));
}

TEST_CASE("derivatives of reductions") {
  const Array x = samples({3, 4, 2});
  check_derivatives([](Array v) { return sum(v * v, {0, 2}); }, x);
  check_derivatives([](Array v) { return prod(v, 1); }, x);
  check_derivatives([](Array v) { return prod(v, {0, 2}); }, x);
  check_derivatives([](Array v) { return max(v * v, 0); }, x);
  check_derivatives([](Array v) { return min(v * v, {1, 2}, keepdims); }, x);
  check_derivatives([](Array v) { return mean(v * v, 1); }, x);
  check_derivatives([](Array v) { return var(v, {0, 1}); }, x);
  check_derivatives([](Array v) { return std_(v, 1, {.ddof = 1}); }, x);
  check_derivatives([](Array v) { return logsumexp(v, 1); }, x);
  for (int n : {1, 2, 3, 4, 5, 7, 8}) {
    const Array z = samples({2, n}, n);
    check_derivatives([](Array v) { return cumsum(v * v, 1); }, z);
    check_derivatives([](Array v) { return cumprod(v, 1); }, z);
    check_derivatives([](Array v) { return cummax(v * v, 1); }, z);
    check_derivatives([](Array v) { return cumlogsumexp(v, 1); }, z);
    check_derivatives([](Array v) { return detail::cumulative_prod(v, 1, true); }, z);
    check_derivatives([](Array v) { return prod(v, 1); }, z);
  }
}

TEST_CASE("derivatives at ties and zeros") {
  auto gradient = [](auto f, const std::vector<double>& x) { return grad(f)(array(x, {static_cast<int>(x.size())}, float32)); };
  auto product = [](Array v) { return prod(v); };
  CHECK(near(gradient(product, {2, 0, 3}), {0, 6, 0}));
  CHECK(near(gradient(product, {2, 0, 0}), {0, 0, 0}));
  CHECK(near(hessian(product)(array({2.f, 0.f, 3.f})), {0, 3, 0, 3, 0, 2, 0, 2, 0}));
  CHECK(near(gradient([](Array v) { return max(v); }, {1, 3, 3, 3}), {0, 1. / 3, 1. / 3, 1. / 3}));
  CHECK(near(gradient([](Array v) { return min(v); }, {1, 1, 2}), {.5, .5, 0}));
  CHECK(near(gradient([](Array v) { return cumprod(v)(-1); }, {2, 0, 3}), {0, 6, 0}));
  CHECK(near(gradient([](Array v) { return cummax(v)(-1); }, {2, 1, 2}), {.5, 0, .5}));
  CHECK(near(gradient([](Array v) { return sum(cumlogsumexp(v)); }, {-inf, 0, 0}), {1, 1.5, .5}));
  CHECK(near(gradient([](Array v) { return sum(v, none, {.where = v > 0}); }, {-1, 2}), {0, 1}));
}

TEST_CASE("vmap of reductions") {
  const Array x = samples({3, 4, 2});
  check_vmap([](Array v) { return sum(v, 0); }, x);
  check_vmap([](Array v) { return prod(v, 1, keepdims); }, x);
  check_vmap([](Array v) { return max(v); }, x);
  check_vmap([](Array v) { return argmin(v, 1); }, x);
  check_vmap([](Array v) { return argmax(v); }, x);
  check_vmap([](Array v) { return any(v > .5, 0); }, x);
  check_vmap([](Array v) { return cumsum(v, 1); }, x);
  check_vmap([](Array v) { return cummax(v, 0); }, x);
  check_vmap([](Array v) { return var(v, 0); }, x);
  check_vmap([](Array v) { return grad([](Array w) { return sum(prod(w, 0)); })(v); }, x);
}

TEST_CASE("mistakes in reductions") {
  const Array a = ones({3, 4});
  CHECK(has(message_of<AxisError>([&] { sum(a, 2); }), {"sum", "2", "f32[3,4]", "reduce.cpp"}));
  CHECK(has(message_of<AxisError>([&] { max(a, {0, -2}); }), {"max", "twice", "f32[3,4]"}));
  CHECK(has(message_of<AxisError>([&] { cumsum(a, -3); }), {"cumsum", "-3", "f32[3,4]"}));
  CHECK(has(message_of<AxisError>([&] { argmax(a, {0, 1}); }), {"argmax", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { sum(a, 0, {.where = ones({5}) > 0}); }), {"sum", "bool[5]", "f32[3,4]"}));
  CHECK(has(message_of<DTypeError>([&] { sum(a, 0, {.where = ones({4})}); }), {"sum", "f32[4]", "bool"}));
  CHECK(has(message_of<DTypeError>([&] { max(convert(a, complex64)); }), {"max", "c64[3,4]"}));
  CHECK(has(message_of<Error>([&] { max(a, 0, {.dtype = float64}); }), {"max", "dtype"}));
  CHECK(has(message_of<DTypeError>([&] { detail::reduce_sum(a > 0, {0}); }), {"reduce_sum", "bool[3,4]"}));
  CHECK(has(message_of<AxisError>([&] { detail::reduce_max(a, {0, 0}); }), {"reduce_max", "twice"}));
}

TEST_CASE("the text of reductions") {
  const Jaxpr j = detail::trace_jaxpr({"test", {{{3, 4}, float32}}, {}},
                                      [](std::span<const Array> x) { return std::vector{sum(x[0], 1), argmax(x[0], 0), cumsum(x[0], 1)}; });
  CHECK(has(j.to_string(),
            {"f32[3] = reduce_sum[axes=(1,)", "i32[4] = argmax[axes=(0,) index_dtype=int32]", "cumsum[axis=1 reverse=False]"}));
  CHECK(parse(j.to_string()) == j);
}
