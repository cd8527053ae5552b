// Training steps.
#include "networks.h"

using namespace weft;

namespace bench {
namespace {

using Cnn = std::vector<Dense>;  // kernels and biases of two convolutions, then a dense layer

Array cnn_loss(const Cnn& p, Array x, const Array& classes) {
  for (std::size_t k = 0; k < 2; ++k) {
    x = conv_general_dilated(x, p[k].first, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}) + p[k].second;
    x = max_pool(nn::relu(x), {2, 2}, {.strides = {2, 2}});
  }
  return cross_entropy(matmul(reshape(x, {x.shape()[0], -1}), p[2].first) + p[2].second, classes);
}

Array rnn_loss(const std::tuple<Array, Array, Array>& p, const Array& xs) {
  const auto& [wx, wh, b] = p;
  auto step = [&](const Array& h, const Array& x) {
    const Array next = tanh(matmul(x, wx) + matmul(h, wh) + b);
    return std::pair{next, next};
  };
  const Array ys = scan(step, zeros({xs.shape()[1], wh.shape()[0]}), xs).second;
  return mean(ys * ys);
}

auto mlp_step() {
  return jit([](const Mlp& p, const Array& x, const Array& y) {
    const auto [value, gradient] = value_and_grad(mlp_loss)(p, x, y);
    return std::pair{sgd(p, gradient, .1f), value};
  });
}

}  // namespace

void training_workloads(const Options& o) {
  workload(
      o, "mlp_step_b256", [] { return std::tuple{mlp_params({64, 256, 256, 10}), fill({256, 64}), class_labels(256, 10)}; }, mlp_step());
  workload(o, "mlp_step_b1", [] { return std::tuple{mlp_params({64, 32, 10}), fill({1, 64}), class_labels(1, 10)}; }, mlp_step());
  workload(
      o, "per_example_grads_b256", [] { return std::tuple{mlp_params({64, 128, 10}), fill({256, 64}), class_labels(256, 10)}; },
      jit([](const Mlp& p, const Array& x, const Array& y) {
        auto one = [](const Mlp& q, Array image, Array label) { return mlp_loss(q, expand_dims(image, 0), expand_dims(label, 0)); };
        return vmap(grad(one), {.in_axes = {none, 0, 0}})(p, x, y);
      }));
  workload(
      o, "gpt_step_4x128_b8_t64", [] { return std::tuple{gpt::gpt_params(4, 128, 96, 64), gpt::tokens(8, 64, 96)}; },
      jit([](const gpt::Gpt& p, const Array& t) {
        const auto [value, gradient] = value_and_grad([](const gpt::Gpt& q, const Array& text) { return gpt::gpt_loss(q, text); })(p, t);
        return std::pair{sgd(p, gradient, .1f), value};
      }));
  workload(
      o, "cnn_step_b64_28x28",
      [] {
        const Cnn p{{fill({3, 3, 1, 16}, .6), zeros(16)},
                    {fill({3, 3, 16, 32}, .2, 0, 1), zeros(32)},
                    {fill({7 * 7 * 32, 10}, .05, 0, 2), zeros(10)}};
        return std::tuple{p, fill({64, 28, 28, 1}, 1, 0, 3), class_labels(64, 10)};
      },
      jit([](const Cnn& p, const Array& x, const Array& y) {
        const auto [value, gradient] = value_and_grad(cnn_loss)(p, x, y);
        return std::pair{sgd(p, gradient, .1f), value};
      }));
  workload(
      o, "rnn_grad_t256_h128_b32",
      [] {
        const std::tuple p{fill({32, 128}, .3), fill({128, 128}, .2, 0, 1), fill(128, .1, 0, 2)};
        return std::tuple{p, fill({256, 32, 32}, 1, 0, 3)};
      },
      jit([](const std::tuple<Array, Array, Array>& p, const Array& xs) { return value_and_grad(rnn_loss)(p, xs); }));
}

}  // namespace bench
