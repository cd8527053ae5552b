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

template <class Params>
Params sgd(const Params& p, const Params& g, float rate) {
  return weft::tree::map([rate](weft::Array a, weft::Array b) { return a - rate * b; }, p, g);
}

}  // namespace bench
