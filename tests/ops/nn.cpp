// Neural networks' functions and norms: values against their formulas, derivatives against differences.
#include <limits>

#include "tests/ops/checks.h"

using namespace weft;
using namespace weft::test;

namespace {

/// f of each element of x.
template <class F>
std::vector<double> each(const Array& x, F f) {
  std::vector<double> v = x.to_vector<double>();
  for (double& e : v) e = f(e);
  return v;
}

}  // namespace

TEST_CASE("activations") {
  const Array x = array({-30., -4., -1.5, -.5, 0., .7, 2., 6.5, 40.}, float64);
  auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
  auto softplus = [](double v) { return std::max(v, 0.) + std::log1p(std::exp(-std::abs(v))); };
  CHECK(near(nn::relu(x), each(x, [](double v) { return std::max(v, 0.); })));
  CHECK(near(nn::relu6(x), each(x, [](double v) { return std::min(std::max(v, 0.), 6.); })));
  CHECK(near(nn::gelu(x),
             each(x, [](double v) { return .5 * v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.)) * (v + .044715 * v * v * v))); }), 1e-12));
  CHECK(near(nn::silu(x), each(x, [&](double v) { return v * logistic(v); }), 1e-12));
  CHECK(near(nn::elu(x, .5), each(x, [](double v) { return v > 0 ? v : .5 * std::expm1(v); }), 1e-12));
  CHECK(near(nn::celu(x, 2.), each(x, [](double v) { return v > 0 ? v : 2 * std::expm1(v / 2); }), 1e-12));
  CHECK(near(nn::selu(x), each(x, [](double v) { return 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * std::expm1(v)); }), 1e-12));
  CHECK(near(nn::leaky_relu(x), each(x, [](double v) { return v >= 0 ? v : .01 * v; }), 1e-12));
  CHECK(near(nn::softplus(x), each(x, softplus), 1e-12));
  CHECK(near(nn::log_sigmoid(x), each(x, [&](double v) { return -softplus(-v); }), 1e-12));
  CHECK(near(nn::soft_sign(x), each(x, [](double v) { return v / (1 + std::abs(v)); }), 1e-12));
  CHECK(near(nn::hard_tanh(x), each(x, [](double v) { return std::min(std::max(v, -1.), 1.); })));
  CHECK(near(nn::hard_silu(x), each(x, [](double v) { return v * std::min(std::max(v + 3, 0.), 6.) / 6; }), 1e-12));
  CHECK(near(nn::mish(x), each(x, [&](double v) { return v * std::tanh(softplus(v)); }), 1e-12));
  CHECK(near(nn::glu(array({1., 2., 3., -1.}, float64)), {logistic(3), 2 * logistic(-1)}, 1e-12));
  CHECK(near(nn::relu(array({-2, 3})), int32, {2}, {0, 3}));
  CHECK(nn::gelu(array({1, 2})).dtype() == float32);
  CHECK(std::isnan(nn::relu(array({std::nanf("")})).item<float>()));
}

TEST_CASE("derivatives of activations") {
  CHECK(near(vmap(grad([](Array v) { return nn::relu(v); }))(array({-1.f, 0.f, 1.f})), {0, 0, 1}));
  CHECK(near(vmap(grad([](Array v) { return nn::relu6(v); }))(array({-1.f, 0.f, 1.f, 6.f, 7.f})), {0, 0, 1, 0, 0}));
  const Array x = samples({3, 4});
  check_derivatives([](Array v) { return nn::gelu(v); }, x);
  check_derivatives([](Array v) { return nn::silu(v); }, x);
  check_derivatives([](Array v) { return nn::elu(v); }, x);
  check_derivatives([](Array v) { return nn::softplus(v); }, x);
  check_derivatives([](Array v) { return nn::mish(v); }, x);
  check_derivatives([](Array v) { return nn::glu(v, 1); }, x);
}

TEST_CASE("softmax") {
  const Array x = samples({3, 4}), e = exp(x);
  CHECK(close(nn::softmax(x), e / sum(e, -1, keepdims), 1e-12));
  CHECK(close(nn::softmax(x, 0), e / sum(e, 0, keepdims), 1e-12));
  CHECK(close(nn::softmax(x, none), e / sum(e), 1e-12));
  CHECK(close(nn::log_softmax(x), x - log(sum(e, -1, keepdims)), 1e-12));
  CHECK(near(nn::softmax(array({1000.f, 0.f, -1000.f})), {1, 0, 0}));
  CHECK(near(nn::log_softmax(array({1000.f, 0.f})), {0, -1000}));
  CHECK(nn::softmax(zeros({2, 0})).shape() == Shape{2, 0});
  check_derivatives([](Array v) { return nn::softmax(v); }, x);
  check_derivatives([](Array v) { return nn::log_softmax(v, 0); }, x);
  check_vmap([](Array v) { return nn::softmax(v); }, x);
}

TEST_CASE("normalisation and labels") {
  const Array x = samples({3, 4}), scale = samples({4}, 1), bias = samples({4}, 2);
  const Array normal = (x - mean(x, -1, keepdims)) / sqrt(var(x, -1, keepdims) + 1e-3);
  CHECK(close(nn::layer_norm(x, scale, bias, {.epsilon = 1e-3}), normal * scale + bias, 1e-12));
  CHECK(nn::layer_norm(ones({2, 4}, bfloat16), 1, 0).dtype() == bfloat16);
  CHECK(close(nn::standardize(x), (x - mean(x, -1, keepdims)) / sqrt(var(x, -1, keepdims) + 1e-5), 1e-9));
  check_derivatives([&](Array v) { return nn::layer_norm(v, scale, bias); }, x);
  check_vmap([&](Array v) { return nn::standardize(v); }, x);
  CHECK(near(nn::one_hot(array({1, 0, 5, -1}), 2), float32, {4, 2}, {0, 1, 1, 0, 0, 0, 0, 0}));
  CHECK(nn::one_hot(zeros({2, 3}, int8), 4, float16).shape() == Shape{2, 3, 4});
}

TEST_CASE("attention") {
  const Array q = samples({2, 5, 4, 3}), k = samples({2, 6, 4, 3}, 1), v = samples({2, 6, 4, 3}, 2);
  const Array scores = einsum("btnh,bsnh->bnts", q, k) / std::sqrt(3.);
  CHECK(close(nn::dot_product_attention(q, k, v), einsum("bnts,bsnh->btnh", nn::softmax(scores), v), 1e-9));
  const Array seen = nn::softmax(where(tril(ones({5, 6}, bool_)), scores, -std::numeric_limits<double>::infinity()));
  CHECK(close(nn::dot_product_attention(q, k, v, {.is_causal = true}), einsum("bnts,bsnh->btnh", seen, v), 1e-9));
  CHECK(close(nn::dot_product_attention(q, k, v, {.scale = .2}), einsum("bnts,bsnh->btnh", nn::softmax(scores * (.2 * std::sqrt(3.))), v),
              1e-9));
  {
    // A bias for every head, and a mask for every batch: the same as -inf added.
    const Array bias = samples({1, 4, 5, 6}, 9), mask = samples({2, 1, 1, 6}, 8) > -.3;
    const Array hidden = nn::softmax(scores + bias + where(mask, 0, -std::numeric_limits<double>::infinity()));
    CHECK(close(nn::dot_product_attention(q, k, v, {.bias = bias, .mask = mask}), einsum("bnts,bsnh->btnh", hidden, v), 1e-9));
    CHECK(close(nn::dot_product_attention(q[1], k[1], v[1], {.bias = bias[0], .mask = mask[1]}),
                nn::dot_product_attention(q, k, v, {.bias = bias, .mask = mask})[1], 1e-12));
    CHECK(close(nn::dot_product_attention(q, k, v, {.mask = tril(ones({1, 1, 5, 6}, bool_))}),
                nn::dot_product_attention(q, k, v, {.is_causal = true}), 1e-12));
    check_derivatives([&](Array x) { return nn::dot_product_attention(q, k, v, {.bias = x, .mask = mask}); }, bias);
    CHECK(has(message_of<ShapeError>([&] { nn::dot_product_attention(q, k, v, {.mask = mask(0)(0)}); }), {"mask"}));
    CHECK(has(message_of<ShapeError>([&] { nn::dot_product_attention(q, k, v, {.bias = ones({1, 3, 5, 6})}); }), {"(2, 4, 5, 6)"}));
    CHECK_THROWS_AS(nn::dot_product_attention(q, k, v, {.mask = bias}), DTypeError);
  }
  CHECK(close(nn::dot_product_attention(q[1], k[1], v[1]), nn::dot_product_attention(q, k, v)[1], 1e-12));
  const Array few = k(slice(), slice(), slice(0, 2)), fewer = v(slice(), slice(), slice(0, 2));  // each head serves two of q's
  CHECK(close(nn::dot_product_attention(q, few, fewer), nn::dot_product_attention(q, repeat(few, 2, 2), repeat(fewer, 2, 2)), 1e-12));
  const Array shared = samples({4, 1, 6}, 5);
  CHECK(close(nn::dot_product_attention(q[0], few[0], fewer[0], {.bias = shared}),
              nn::dot_product_attention(q[0], repeat(few, 2, 2)[0], repeat(fewer, 2, 2)[0], {.bias = shared}), 1e-12));
  CHECK(nn::dot_product_attention(convert(q, bfloat16), convert(k, bfloat16), convert(v, bfloat16)).dtype() == bfloat16);
  check_derivatives([&](Array x) { return nn::dot_product_attention(x, k, v, {.is_causal = true}); }, q);
  check_derivatives([&](Array x) { return nn::dot_product_attention(q, x, v); }, k);
  CHECK(has(message_of<ShapeError>([&] { nn::dot_product_attention(q, samples({2, 6, 3, 3}), samples({2, 6, 3, 3})); }),
            {"dot_product_attention", "f64[2,5,4,3]", "f64[2,6,3,3]", "heads", "nn.cpp"}));
  CHECK(has(message_of<AxisError>([&] { nn::softmax(q, 4); }), {"softmax", "4", "f64[2,5,4,3]"}));
}

TEST_CASE("norms") {
  const Array x = array({{3.f, 4.f}, {6.f, 8.f}});
  CHECK(near(linalg::norm(x), float32, {}, {std::sqrt(125.)}));
  CHECK(near(linalg::norm(x, none, 1), float32, {2}, {5, 10}));
  CHECK(near(linalg::norm(x, none, {0, 1}), float32, {}, {std::sqrt(125.)}));
  CHECK(near(linalg::norm(array({3, 4})), float32, {}, {5}));
  check_derivatives([](Array v) { return linalg::norm(v, none, 0); }, samples({3, 2}));
  CHECK(has(message_of<AxisError>([&] { linalg::norm(ones({2, 2, 2}), none, {0, 1, 2}); }), {"norm", "3", "f32[2,2,2]"}));
}
