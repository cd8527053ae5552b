// The networks that several workloads train.
#pragma once
#include <cmath>

#include "harness.h"

namespace bench {

using Dense = std::pair<weft::Array, weft::Array>;  // weights, bias
using Mlp = std::vector<Dense>;

inline Mlp mlp_params(const std::vector<int>& sizes, unsigned seed = 1) {
  Mlp p;
  for (std::size_t k = 0; k + 1 < sizes.size(); ++k)
    p.emplace_back(fill({sizes[k], sizes[k + 1]}, 2 / std::sqrt(sizes[k]), 0, seed + 2 * static_cast<unsigned>(k)),
                   fill(sizes[k + 1], .1, 0, seed + 2 * static_cast<unsigned>(k) + 1));
  return p;
}

/// Mean cross-entropy of scores against classes.
inline weft::Array cross_entropy(const weft::Array& scores, const weft::Array& classes) {
  using namespace weft;
  return mean(logsumexp(scores, -1) - take_along_axis(scores, expand_dims(classes, 1), 1)(slice(), 0));
}

inline weft::Array mlp_loss(const Mlp& p, weft::Array x, const weft::Array& classes) {
  for (std::size_t k = 0; k + 1 < p.size(); ++k) x = weft::tanh(weft::matmul(x, p[k].first) + p[k].second);
  return cross_entropy(weft::matmul(x, p.back().first) + p.back().second, classes);
}

namespace gpt {

using namespace weft;

struct Block {
  Array fc, fc_b, ln1_b, ln1_g, ln2_b, ln2_g, out, out_b, proj, qkv;  // in the order of their names, as the peers' checksums
};
struct Gpt {
  std::vector<Block> blocks;
  Array lnf_b, lnf_g, wpe, wte;
};

inline Gpt gpt_params(int layers, int d, int vocabulary, int t, unsigned seed = 7) {
  const double s = 1 / std::sqrt(d);
  Gpt p{{}, zeros(d), ones(d), fill({t, d}, s, 0, seed + 1), fill({vocabulary, d}, s, 0, seed)};
  for (int l = 0; l < layers; ++l) {
    const unsigned q = seed + 10 + 10 * static_cast<unsigned>(l);
    p.blocks.push_back({fill({d, 4 * d}, s, 0, q + 2), zeros(4 * d), zeros(d), ones(d), zeros(d), ones(d),
                        fill({4 * d, d}, s / 2, 0, q + 3), zeros(d), fill({d, d}, s, 0, q + 1), fill({d, 3 * d}, s, 0, q)});
  }
  return p;
}

/// The same without values.
inline Gpt shapes(int layers, int d, int vocabulary, int t) {
  const auto of = [](Shape s) { return Array(ShapeDtypeStruct{std::move(s), float32}); };
  Gpt p{{}, of({d}), of({d}), of({t, d}), of({vocabulary, d})};
  for (int l = 0; l < layers; ++l)
    p.blocks.push_back(
        {of({d, 4 * d}), of({4 * d}), of({d}), of({d}), of({d}), of({d}), of({4 * d, d}), of({d}), of({d, d}), of({d, 3 * d})});
  return p;
}

inline Array layer_norm(const Array& x, const Array& g, const Array& b) {
  const Array m = mean(x, -1, keepdims), v = mean(square(x - m), -1, keepdims);
  return (x - m) * rsqrt(v + 1e-5f) * g + b;
}

/// `compute`: the dtype of products and of what lies between them; means, softmax and loss are in float32.
inline Array gpt_loss(const Gpt& p, const Array& tokens, int heads = 4, DType compute = float32) {
  const auto low = [&](const Array& a) { return a.dtype() == compute ? a : convert(a, compute); };
  const auto high = [&](const Array& a) { return a.dtype() == float32 ? a : convert(a, float32); };
  const auto norm = [&](const Array& a, const Array& g, const Array& b) { return low(layer_norm(high(a), g, b)); };
  const std::int64_t batch = tokens.shape()[0], t = tokens.shape()[1], d = p.wte.shape()[1];
  Array x = low(p.wte)(tokens) + low(p.wpe(slice(t)));
  const Array mask = tril(ones({t, t}, bool_));
  for (const Block& b : p.blocks) {
    const std::vector<Array> qkv = split(matmul(norm(x, b.ln1_g, b.ln1_b), low(b.qkv)), 3, -1);
    auto by_head = [&](const Array& a) { return transpose(reshape(a, {batch, t, heads, d / heads}), {0, 2, 1, 3}); };
    const Array q = by_head(qkv[0]), k = by_head(qkv[1]), v = by_head(qkv[2]);
    const Array s = where(mask, high(matmul(q, transpose(k, {0, 1, 3, 2}))) / std::sqrt(static_cast<float>(d / heads)), -1e9f);
    const Array a = reshape(transpose(matmul(low(nn::softmax(s, -1)), v), {0, 2, 1, 3}), {batch, t, d});
    x = x + matmul(a, low(b.proj));
    const Array h = norm(x, b.ln2_g, b.ln2_b);
    x = x + matmul(nn::gelu(matmul(h, low(b.fc)) + low(b.fc_b)), low(b.out)) + low(b.out_b);
  }
  const Array scores = high(matmul(norm(x, p.lnf_g, p.lnf_b), transpose(low(p.wte))));
  return cross_entropy(reshape(scores(slice(), slice(none, -1)), {-1, scores.shape()[2]}), reshape(tokens(slice(), slice(1, none)), {-1}));
}

inline Array tokens(int b, int t, int vocabulary) {
  std::vector<int> v;
  for (long long i = 0; i < static_cast<long long>(b) * t; ++i) v.push_back(static_cast<int>(i * 31 % vocabulary));
  return array(v, {b, t});
}

}  // namespace gpt

template <class Params>
Params sgd(const Params& p, const Params& g, float rate) {
  return weft::tree::map([rate](weft::Array a, weft::Array b) { return a - rate * b; }, p, g);
}

}  // namespace bench
