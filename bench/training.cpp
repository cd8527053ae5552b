// Training steps.
#include "networks.h"

using namespace weft;

namespace bench {
namespace {

struct Block {
  Array fc, fc_b, ln1_b, ln1_g, ln2_b, ln2_g, out, out_b, proj, qkv;  // in the order of their names, as the peers' checksums
};
struct Gpt {
  std::vector<Block> blocks;
  Array lnf_b, lnf_g, wpe, wte;
};

Gpt gpt_params(int layers, int d, int vocabulary, int t, unsigned seed = 7) {
  const double s = 1 / std::sqrt(d);
  Gpt p{{}, zeros(d), ones(d), fill({t, d}, s, 0, seed + 1), fill({vocabulary, d}, s, 0, seed)};
  for (int l = 0; l < layers; ++l) {
    const unsigned q = seed + 10 + 10 * static_cast<unsigned>(l);
    p.blocks.push_back({fill({d, 4 * d}, s, 0, q + 2), zeros(4 * d), zeros(d), ones(d), zeros(d), ones(d),
                        fill({4 * d, d}, s / 2, 0, q + 3), zeros(d), fill({d, d}, s, 0, q + 1), fill({d, 3 * d}, s, 0, q)});
  }
  return p;
}

Array layer_norm(const Array& x, const Array& g, const Array& b) {
  const Array m = mean(x, -1, keepdims), v = mean(square(x - m), -1, keepdims);
  return (x - m) * rsqrt(v + 1e-5f) * g + b;
}

Array gpt_loss(const Gpt& p, const Array& tokens) {
  const int heads = 4;
  const std::int64_t batch = tokens.shape()[0], t = tokens.shape()[1], d = p.wte.shape()[1];
  Array x = p.wte(tokens) + p.wpe(slice(t));
  const Array mask = tril(ones({t, t}, bool_));
  for (const Block& b : p.blocks) {
    const std::vector<Array> qkv = split(matmul(layer_norm(x, b.ln1_g, b.ln1_b), b.qkv), 3, -1);
    auto by_head = [&](const Array& a) { return transpose(reshape(a, {batch, t, heads, d / heads}), {0, 2, 1, 3}); };
    const Array q = by_head(qkv[0]), k = by_head(qkv[1]), v = by_head(qkv[2]);
    const Array s = where(mask, matmul(q, transpose(k, {0, 1, 3, 2})) / std::sqrt(static_cast<float>(d / heads)), -1e9f);
    const Array a = reshape(transpose(matmul(nn::softmax(s, -1), v), {0, 2, 1, 3}), {batch, t, d});
    x = x + matmul(a, b.proj);
    const Array h = layer_norm(x, b.ln2_g, b.ln2_b);
    x = x + matmul(nn::gelu(matmul(h, b.fc) + b.fc_b), b.out) + b.out_b;
  }
  const Array scores = matmul(layer_norm(x, p.lnf_g, p.lnf_b), transpose(p.wte));
  return cross_entropy(reshape(scores(slice(), slice(none, -1)), {-1, scores.shape()[2]}), reshape(tokens(slice(), slice(1, none)), {-1}));
}

Array tokens(int b, int t, int vocabulary) {
  std::vector<int> v;
  for (long long i = 0; i < static_cast<long long>(b) * t; ++i) v.push_back(static_cast<int>(i * 31 % vocabulary));
  return array(v, {b, t});
}

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
    const auto [value, slope] = value_and_grad(mlp_loss)(p, x, y);
    return std::pair{sgd(p, slope, .1f), value};
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
      o, "gpt_step_4x128_b8_t64", [] { return std::tuple{gpt_params(4, 128, 96, 64), tokens(8, 64, 96)}; },
      jit([](const Gpt& p, const Array& t) {
        const auto [value, slope] = value_and_grad(gpt_loss)(p, t);
        return std::pair{sgd(p, slope, .1f), value};
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
        const auto [value, slope] = value_and_grad(cnn_loss)(p, x, y);
        return std::pair{sgd(p, slope, .1f), value};
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
