// Matrix products, factorizations and indexing, for nests of transforms.
#include <weft/weft.h>

#include "functions.h"

namespace weft::test {

std::vector<NestedFunction> matrix_functions() {
  const Array w = array({{0.2, -0.4}, {0.9, 0.1}, {-0.5, 0.6}});
  return {
      {"matrix: matmul with a constant", {2, 3}, [w](Array x) { return tanh(matmul(x, w)); }},
      {"matrix: matmul with itself", {2, 2}, [](Array x) { return matmul(matmul(x, transpose(x)), sin(x)); }},
      {"matrix: einsum", {2, 2}, [](Array x) { return einsum("ij,jk,ki->", x, x, cos(x)); }},
      {"matrix: outer products and dot", {3}, [](Array x) { return matmul(outer(x, sin(x)), x) * dot(x, x); }},
      {"matrix: attention",
       {2, 2},
       [](Array x) {
         const Array q = reshape(x, {1, 2, 1, 2});
         return nn::dot_product_attention(q, 0.5 * q, sin(q), {.is_causal = true});
       }},
      {"matrix: reshape, transpose, broadcast",
       {2, 2},
       [](Array x) { return broadcast_to(reshape(transpose(x), {4}), {3, 4}) * expand_dims(sum(x), 0); }},
      {"matrix: slices, reverse, pad, concatenate",
       {2, 3},
       [](Array x) { return pad(concatenate({x(slice(), slice(0, 3, 2)), flip(x, 1)}, 1), {{1, 0}, {0, 2}}) * 2.; }},
      {"matrix: split, stack, roll, tile, repeat",
       {2, 2},
       [](Array x) {
         const std::vector<Array> parts = split(x, 2, 1);
         return tile(roll(stack({parts[1], sin(parts[0])}), 1, 0), {1, 2, 1}) + sum(repeat(x, 2, 0));
       }},
      {"matrix: reductions along axes",
       {2, 2},
       [](Array x) { return sum(exp(x), 0) * mean(x, 1) + max(x, 0, keepdims) + prod(x, {0, 1}); }},
      {"matrix: triangular parts and eye", {2, 2}, [](Array x) { return matmul(tril(x), triu(x) + eye(2, {}, 0, float64)); }},
  };
}

std::vector<NestedFunction> indexing_functions() {
  const Array at = array({2, 0, 2});
  return {
      {"indexing: gather by constant positions", {3}, [at](Array x) { return sin(x)(at) * x; }},
      {"indexing: gather by computed positions", {3}, [](Array x) { return take(x * x, argsort(x)) + x(argmax(x)); }},
      {"indexing: scatter_add with repeated positions", {3}, [at](Array x) { return zeros(4, float64).at(at).add(x * x) * 2.; }},
      {"indexing: set and multiply", {3}, [](Array x) { return x.at(1).set(sin(x(0))).at(slice(0, 2)).multiply(x(2)); }},
      {"indexing: minimum and maximum at positions",
       {3},
       [at](Array x) { return (0.1 * x).at(at(slice(0, 2))).max(x(slice(1, none)) * x(0)); }},
      {"indexing: dynamic_slice and dynamic_update_slice",
       {3},
       [](Array x) {
         const Array i = argmin(x);
         return dynamic_update_slice(cos(x), dynamic_slice(x, {i}, {2}) * x(0), {i});
       }},
      {"indexing: take_along_axis", {2, 2}, [](Array x) { return take_along_axis(x * x, array({{1, 0}, {0, 0}}), 1); }},
  };
}

}  // namespace weft::test
