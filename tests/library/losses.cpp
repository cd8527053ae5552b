// Losses and their gradients beside those of optax 0.2.8.
#include <doctest/doctest.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <string>
#include <vector>

#include "tests/messages.h"

using namespace weft;
using test::refuses;

namespace {
const Array labels = array({2, 0});
struct Row {
  const char* name;
  Array (*loss)(Array, Array);
  std::vector<float> values, gradient;
};
}  // namespace

TEST_CASE("losses: values and gradients, eagerly, compiled and mapped") {
  const Array x = array({{0.5f, -1.f, 2.f}, {3.f, 0.25f, -0.75f}}), y = array({{0.2f, 0.3f, 0.5f}, {1.f, 0.f, 0.f}});
  const Row rows[] = {
      {"squared_error(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::squared_error(x, y); },
       {0.090000004, 1.6899998, 2.25, 4, 0.0625, 0.5625},
       {0.60000002, -2.5999999, 3, 4, 0.5, -1.5}},
      {"l2_loss(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::l2_loss(x, y); },
       {0.045000002, 0.84499991, 1.125, 2, 0.03125, 0.28125},
       {0.30000001, -1.3, 1.5, 2, 0.25, -0.75}},
      {"huber_loss(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::huber_loss(x, y); },
       {0.045000002, 0.79999995, 1, 1.5, 0.03125, 0.28125},
       {0.30000001, -1, 1, 1, 0.25, -0.75}},
      {"huber_loss(x, y, 0.5)",
       [](Array x, Array y) { return static_cast<void>(y), optim::huber_loss(x, y, 0.5); },
       {0.045000002, 0.52499998, 0.625, 0.875, 0.03125, 0.25},
       {0.30000001, -0.5, 0.5, 0.5, 0.25, -0.5}},
      {"log_cosh(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::log_cosh(x, y); },
       {0.044340849, 0.67849743, 0.85544014, 1.3250027, 0.030929804, 0.25826609},
       {0.29131255, -0.86172318, 0.90514827, 0.96402764, 0.24491867, -0.635149}},
      {"hinge_loss(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::hinge_loss(x, y); },
       {0.89999998, 1.3, 0, 0, 1, 1},
       {-0.2, -0.30000001, -0.25, -0, -0, -0}},
      {"sigmoid_binary_cross_entropy(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::sigmoid_binary_cross_entropy(x, y); },
       {0.87407696, 0.6132617, 1.1269281, 0.048587352, 0.82593942, 0.38687101},
       {0.42245933, -0.031058595, 0.38079706, -0.047425874, 0.56217653, 0.32082132}},
      {"softmax_cross_entropy(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::softmax_cross_entropy(x, y); },
       {1.4413114, 0.083831474},
       {-0.024709608, -0.26088744, 0.28559703, -0.080413759, 0.058787178, 0.021626595}},
      {"softmax_cross_entropy_with_integer_labels(x, labels)",
       [](Array x, Array y) { return static_cast<void>(y), optim::softmax_cross_entropy_with_integer_labels(x, labels); },
       {0.24131131, 0.083831549},
       {0.17529039, 0.039112572, -0.21440297, -0.080413759, 0.058787178, 0.021626595}},
      {"kl_divergence(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::kl_divergence(x, y); },
       {-1.829653, -3},
       {-0.2, -0.30000001, -0.5, -1, -0, -0}},
      {"cosine_similarity(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::cosine_similarity(x, y); },
       {0.56639385, 0.96698761},
       {0.087656185, 0.32028225, 0.13822706, 0.020930499, -0.025116559, 0.075349674}},
      {"cosine_distance(x, y)",
       [](Array x, Array y) { return static_cast<void>(y), optim::cosine_distance(x, y); },
       {0.43360615, 0.03301239},
       {-0.087656185, -0.32028225, -0.13822706, -0.020930499, 0.025116559, -0.075349674}},
      {"smooth_labels(x, 0.1)",
       [](Array x, Array y) { return static_cast<void>(y), optim::smooth_labels(x, 0.1); },
       {0.48333332, -0.86666662, 1.8333333, 2.7333331, 0.25833333, -0.64166659},
       {0.89999998, 0.89999998, 0.89999998, 0.89999998, 0.89999998, 0.89999998}},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    const auto f = row.loss;
    const Array want = array(row.values);
    const auto near = [](const Array& a, const Array& b) { return allclose(ravel(a), b, 1e-5, 1e-6).item<bool>(); };
    CHECK(near(f(x, y), want));
    CHECK(near(jit(f)(x, y), want));
    CHECK(near(vmap(f)(stack({2 * x, x}), stack({y, y}))(1), want));
    CHECK(near(jit(vmap(f))(stack({2 * x, x}), stack({y, y}))(1), want));
    CHECK(near(grad([=](Array v) { return sum(f(v, y)); })(x), array(row.gradient)));
    const Scope stepwise = disable_jit();
    CHECK(near(jit(f)(x, y), want));
  }
}

TEST_CASE("losses: large logits, labels out of range, what is refused") {
  const Array large = array({{1000.f, -1000.f}});
  CHECK(optim::softmax_cross_entropy_with_integer_labels(large, array({1}))(0).item<float>() == 2000);
  CHECK(optim::sigmoid_binary_cross_entropy(array(-1000.f), array(1)).item<float>() == 1000);
  CHECK(optim::log_cosh(array(1000.f), array(0.f)).item<float>() == doctest::Approx(1000 - 0.6931472));
  CHECK(isnan(optim::softmax_cross_entropy_with_integer_labels(large, array({2})))(0).item<bool>());
  CHECK_THROWS_AS(optim::softmax_cross_entropy_with_integer_labels(large, array({1.f})), DTypeError);
  CHECK_THROWS_AS(optim::softmax_cross_entropy_with_integer_labels(large, array({1, 0})), ShapeError);
}

TEST_CASE("losses of scores with one right class") {
  const Array scores = array({{1.f, 0.5f, 3.f}, {2.f, -1.f, 0.f}}), labels = array({0, 0});
  const auto near = [](const Array& a, const Array& b) { return a.shape() == b.shape() && allclose(a, b, 1e-6).item<bool>(); };
  CHECK(near(optim::multiclass_hinge_loss(scores, labels), array({3.f, 0.f})));
  CHECK(near(optim::multiclass_perceptron_loss(scores, labels), array({2.f, 0.f})));
  CHECK(near(grad([&](Array s) { return sum(optim::multiclass_hinge_loss(s, labels)); })(scores),
             array({{-1.f, 0.f, 1.f}, {0.f, 0.f, 0.f}})));
  CHECK(near(optim::perceptron_loss(array({2.f, -1.f, 3.f}), array({1, 1, -1})), array({0.f, 1.f, 3.f})));
  const Array p = array({0.2f, 0.8f}), q = array({0.75f, 0.25f});
  CHECK(near(optim::kl_divergence_with_log_targets(log(p), log(q)), optim::kl_divergence(log(p), q)));
  CHECK_THROWS_AS(optim::multiclass_hinge_loss(scores, scores), DTypeError);
}

TEST_CASE("ctc_loss beside optax's: padded frames and labels, repeated labels, none at all; eagerly, compiled and mapped") {
  const Array logits = (reshape(arange(72) * 7 % 11, {3, 6, 4}) / 3.0).astype(float32), labels = array({{1, 2, 3}, {2, 2, 0}, {3, 0, 0}});
  const Array frames = array({{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 1, 1}}, float32);
  const Array padded = array({{0, 0, 0}, {0, 0, 1}, {0, 1, 1}}, float32);
  const auto loss = [&](Array x) { return optim::ctc_loss(x, frames, labels, padded); };
  const auto close = [](const Array& a, const Array& b) { return allclose(a, b, {.rtol = 1e-5, .atol = 1e-6}).item<bool>(); };
  const Array wanted = array({5.1328983f, 3.9081883f, 6.7890773f});
  CHECK(close(loss(logits), wanted));
  CHECK(close(jit(loss)(logits), wanted));
  CHECK(close(vmap(loss)(stack({logits, logits})), stack({wanted, wanted})));
  const Array gradient = grad([&](Array x) { return sum(loss(x)); })(logits);
  CHECK(close(gradient(1, 0), array({-0.22754018f, 0.69927496f, -0.5203228f, 0.04858804f})));
  CHECK(close(gradient(1, 4), array({-0.08251218f, 0.05610347f, -0.12609637f, 0.15250506f})));
  CHECK(close(gradient(1, 5), zeros(4)));
  CHECK(close(optim::ctc_loss(logits, frames, array({{1, 2, 0}, {2, 2, 3}, {0, 1, 1}}), padded, {.blank_id = 3}),
              array({3.9744105f, 4.7881446f, 6.7818704f})));
  CHECK(close(optim::ctc_loss(logits, frames, labels, ones({3, 3})), array({12.933335f, 7.2207937f, 8.476538f})));
  CHECK(close(optim::ctc_loss(logits, frames, zeros({3, 0}, int32), zeros({3, 0})), array({12.933335f, 7.2207937f, 8.476538f})));
  CHECK(close(optim::convex_kl_divergence(log(array({0.2f, 0.3f, 0.4f})), array({0.1f, 0.5f, 0.4f})), 0.08609807f));
  CHECK(refuses<ShapeError>([&] { optim::ctc_loss(logits, frames, labels, ones(3)); },
                            {"ctc_loss", "f32[3,6,4]", "f32[3]", "(batch, labels)"}));
  CHECK(refuses<DTypeError>([&] { optim::ctc_loss(logits, frames, padded, padded); }, {"ctc_loss", "f32[3,3]", "integers"}));
}
