// Elementwise functions and reductions, for nests of transforms.
#include <weft/weft.h>

#include <complex>

#include "functions.h"

namespace weft::test {

std::vector<NestedFunction> scalar_functions() {
  return {
      {"scalar: sin(x) exp(-x x)", {}, [](Array x) { return sin(x) * exp(-x * x); }},
      {"scalar: a polynomial by Horner's rule",
       {},
       [](Array x) {
         Array y = 1.0;
         for (double c : {0.5, -0.3, 0.2, 0.7}) y = y * x + c;
         return y;
       }},
      {"scalar: where, of two branches", {}, [](Array x) { return where(x > 0.1, x * x * x, sin(2. * x)); }},
      {"scalar: quotients, roots and powers", {}, [](Array x) { return pow(1.5 + x * x, 1.3) / sqrt(2. + x) + cbrt(x + 3.); }},
      {"scalar: complex numbers inside",
       {},
       [](Array x) { return real(exp(complex(0.1 * x, x))) + imag(complex(x, 2. * x) * complex(x, x * x)) + abs(complex(x, x + 2.)); }},
      {"scalar: special functions", {}, [](Array x) { return erf(x) + lgamma(x + 3.) + log1p(x * x) * tanh(x) + atan2(x, 2.); }},
      {"scalar: conversions to lower precision and integers", {}, [](Array x) { return x * convert(floor(x + 7.3), int32) + x * (x > 0); }},
  };
}

std::vector<NestedFunction> vector_functions() {
  const Array weights = array({0.3, -0.7, 1.1});
  return {
      {"vector: sum of tanh(x) x", {3}, [](Array x) { return sum(tanh(x) * x); }},
      {"vector: softmax", {3}, [](Array x) { return nn::softmax(2. * x); }},
      {"vector: log_softmax and logsumexp", {3}, [](Array x) { return nn::log_softmax(x) * logsumexp(x); }},
      {"vector: cumsum and cumprod", {3}, [](Array x) { return cumsum(sin(x)) + cumprod(x + 1.5); }},
      {"vector: cumulative logsumexp and maximum", {3}, [](Array x) { return cumlogsumexp(x) * cummax(x); }},
      {"vector: products and extrema", {3}, [](Array x) { return prod(x + 1.2) + max(x) * min(x) + x; }},
      {"vector: sorted and top_k", {3}, [](Array x) { return concatenate({sort(x * x) * arange(3, float64), top_k(x, 2).values}); }},
      {"vector: captured constants", {3}, [weights](Array x) { return exp(weights * x) + weights; }},
      {"vector: normalised", {3}, [weights](Array x) { return nn::layer_norm(x, weights, x); }},
      {"vector: argmax and one_hot", {3}, [](Array x) { return one_hot(argmax(x), 3, float64) * x * x; }},
      {"vector: variance and mean", {3}, [](Array x) { return (x - mean(x)) / sqrt(var(x) + 0.5); }},
  };
}

}  // namespace weft::test
