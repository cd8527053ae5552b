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
    p.blocks.push_back({fill({d, 4 * d}, s, 0, q + 2), zeros(4 * d), zeros(d), ones(d), zeros(d), ones(d), fill({4 * d, d}, s / 2, 0, q + 3), zeros(d),
                        fill({d, d}, s, 0, q + 1), fill({d, 3 * d}, s, 0, q)});
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

auto mlp_step() {
  return jit([](const Mlp& p, const Array& x, const Array& y) {
    const auto [value, slope] = value_and_grad(mlp_loss)(p, x, y);
    return std::pair{sgd(p, slope, .1f), value};
  });
}

}  // namespace

void training_workloads(const Options& o) {
  workload(o, "mlp_step_b256", [] { return std::tuple{mlp_params({64, 256, 256, 10}), fill({256, 64}), class_labels(256, 10)}; }, mlp_step());
  workload(o, "mlp_step_b1", [] { return std::tuple{mlp_params({64, 32, 10}), fill({1, 64}), class_labels(1, 10)}; }, mlp_step());
  workload(o, "per_example_grads_b256", [] { return std::tuple{mlp_params({64, 128, 10}), fill({256, 64}), class_labels(256, 10)}; },
           jit([](const Mlp& p, const Array& x, const Array& y) {
             auto one = [](const Mlp& q, Array image, Array label) { return mlp_loss(q, expand_dims(image, 0), expand_dims(label, 0)); };
             return vmap(grad(one), {.in_axes = {none, 0, 0}})(p, x, y);
           }));
  workload(o, "gpt_step_4x128_b8_t64", [] { return std::tuple{gpt_params(4, 128, 96, 64), tokens(8, 64, 96)}; },
           jit([](const Gpt& p, const Array& t) {
             const auto [value, slope] = value_and_grad(gpt_loss)(p, t);
             return std::pair{sgd(p, slope, .1f), value};
           }));
}

}  // namespace bench
