// Attention whose scores are too many to be stored: in blocks of rows and columns, against the formula in float64.
#include <cstdlib>
#include <limits>

#include "tests/ops/checks.h"
#include "weft/core/ops/contraction/attention.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

struct Case {
  const char* what;
  Shape q, k;  ///< (B, T, N, H), (B, S, K, H)
  nn::AttentionOptions options = {};
};

/// softmax(q k^T) v, everything written out.
Array formula(const Array& q, const Array& k, const Array& v, const nn::AttentionOptions& o) {
  const auto each = static_cast<int>(q.shape()[2] / k.shape()[2]);
  const Array keys = repeat(k, each, 2), values = repeat(v, each, 2);
  Array scores = einsum("btnh,bsnh->bnts", q, keys) / std::sqrt(static_cast<double>(q.shape()[3]));
  if (o.bias) scores = scores + *o.bias;
  if (o.mask) scores = where(*o.mask, scores, -1e300);
  if (o.is_causal) scores = where(tril(ones({q.shape()[1], k.shape()[1]}, bool_)), scores, -1e300);
  return einsum("bnts,bsnh->btnh", nn::softmax(scores), values);
}

/// Scores of more than kLongAttention bytes, by sizes that no block divides.
std::vector<Case> cases() {
  const std::int64_t t = 1301, s = 1203;
  const Array mask = samples({1, 1, t, s}, 5) > -.5;
  return {{"plain", {1, t, 2, 4}, {1, s, 2, 4}},
          {"causal", {1, t, 2, 4}, {1, t, 2, 4}, {.is_causal = true}},
          {"causal, more rows than columns", {1, t, 2, 4}, {1, s, 2, 4}, {.is_causal = true}},
          {"grouped heads", {1, t, 4, 3}, {1, 703, 2, 3}, {.is_causal = true}},
          {"batches", {4, 600, 2, 3}, {4, 701, 2, 3}},
          {"a bias of each head", {1, t, 2, 4}, {1, s, 2, 4}, {.bias = samples({1, 2, t, s}, 4)}},
          {"a bias of the columns", {2, t, 1, 4}, {2, s, 1, 4}, {.bias = samples({2, 1, 1, s}, 4)}},
          // Row 7 sees nothing: it is the mean of all values.
          {"a mask", {1, t, 2, 4}, {1, s, 2, 4}, {.mask = mask & (expand_dims(arange(t), 1) != 7)}},
          {"a mask, causal", {1, t, 2, 4}, {1, s, 2, 4}, {.is_causal = true, .mask = mask}},
          {"a bias of -inf",
           {1, t, 2, 4},
           {1, s, 2, 4},
           {.bias = where(expand_dims(arange(s), 0) < 600, kLowest, zeros({1, 1, t, s}, float64))}}};
}

struct Operands {
  Array q, k, v;
  explicit Operands(const Case& c) : q(samples(c.q, 1)), k(samples(c.k, 2)), v(samples(c.k, 3)) {}
};

/// The derivative of attention of any length computes the scores again.
struct KeepsNoScores {
  KeepsNoScores() { setenv("WEFT_ATTENTION_KEPT_MB", "0", 1); }
  ~KeepsNoScores() { unsetenv("WEFT_ATTENTION_KEPT_MB"); }
};

bool in_blocks(const std::string& text) { return text.find("while") != std::string::npos; }

}  // namespace

TEST_CASE("long attention: values, jitted and at once") {
  for (const Case& c : cases()) {
    CAPTURE(c.what);
    const Operands o(c);
    const auto f = [&](Array q, Array k, Array v) { return nn::dot_product_attention(q, k, v, c.options); };
    const Array want = formula(o.q, o.k, o.v, c.options), got = jit(f)(o.q, o.k, o.v);
    CHECK(max(abs(got - want)).item<double>() < 1e-12);
    CHECK(max(abs(f(o.q, o.k, o.v) - want)).item<double>() < 1e-12);
    CHECK(in_blocks(jit(f).lower(o.q, o.k, o.v).compile().as_text("jaxpr")));
  }
}

TEST_CASE("long attention: gradients") {
  const KeepsNoScores recomputed;
  for (const Case& c : cases()) {
    CAPTURE(c.what);
    const Operands o(c);
    const Array weight = samples(c.q, 6);
    const auto loss = [&](auto f) {
      return [&, f](Array q, Array k, Array v, Array bias) {
        nn::AttentionOptions options = c.options;
        if (options.bias) options.bias = bias;
        return sum(weight * sin(f(q, k, v, options)));
      };
    };
    const auto attention = [](Array q, Array k, Array v, const nn::AttentionOptions& options) {
      return nn::dot_product_attention(q, k, v, options);
    };
    const Array bias = c.options.bias ? *c.options.bias : zeros({1}, float64);
    const auto got = jit(grad<0, 1, 2, 3>(loss(attention)))(o.q, o.k, o.v, bias),
               want = jit(grad<0, 1, 2, 3>(loss(formula)))(o.q, o.k, o.v, bias);
    const auto distance = [](const Array& a, const Array& b) { return max(abs(a - b)).item<double>(); };
    CHECK(distance(std::get<0>(got), std::get<0>(want)) < 1e-11);
    CHECK(distance(std::get<1>(got), std::get<1>(want)) < 1e-11);
    CHECK(distance(std::get<2>(got), std::get<2>(want)) < 1e-11);
    CHECK(distance(std::get<3>(got), std::get<3>(want)) < 1e-11);
  }
}

TEST_CASE("the scores of attention are kept for the derivative where they take little memory") {
  const auto f = [](Array q) { return sum(nn::dot_product_attention(q, q, q)); };
  const auto text = [&] { return jit(grad(f)).lower(ones({1, 1301, 4, 4})).compile().as_text("jaxpr"); };
  CHECK(!in_blocks(text()));
  const KeepsNoScores recomputed;
  CHECK(in_blocks(text()));
}

TEST_CASE("long attention takes memory in proportion to its length") {
  const KeepsNoScores recomputed;
  const auto f = [](Array q) { return sum(nn::dot_product_attention(q, q, q, {.is_causal = true})); };
  const auto temp = [&](std::int64_t n) { return jit(grad(f)).lower(ones({1, n, 4, 16})).compile().memory_analysis().temp_size_in_bytes; };
  const std::int64_t of_4k = temp(4096), of_8k = temp(8192);
  CHECK(of_8k < 3 * of_4k);
  CHECK(of_8k < std::int64_t{4} * 8192 * 8192 * 4 / 8);  // the scores are 1 GB
}

TEST_CASE("long attention under vmap, in a loop, and its second derivative") {
  const KeepsNoScores recomputed;
  const Array q = samples({2, 1301, 2, 4}, 1), k = samples({2, 1301, 2, 4}, 2), v = samples({2, 1301, 2, 4}, 3);
  const auto f = [](Array a, Array b, Array c) { return nn::dot_product_attention(a, b, c, {.is_causal = true}); };
  const auto one = [](Array a, Array b, Array c) {
    return formula(expand_dims(a, 0), expand_dims(b, 0), expand_dims(c, 0), {.is_causal = true})[0];
  };
  const auto difference = [](const Array& a, const Array& b) { return max(abs(a - b)).item<double>(); };
  CHECK(difference(jit(vmap(f))(q, k, v), jit(vmap(one))(q, k, v)) < 1e-12);
  CHECK(in_blocks(jit(vmap(f)).lower(q, k, v).compile().as_text("jaxpr")));
  CHECK(difference(jit(vmap(f, {.in_axes = {0, none, none}}))(q, k[0], v[0]), jit(vmap(one, {.in_axes = {0, none, none}}))(q, k[0], v[0])) <
        1e-12);
  const auto loss = [](auto g) { return [g](Array a, Array b, Array c) { return sum(sin(g(a, b, c))); }; };
  CHECK(difference(jit(vmap(grad<1>(loss(f))))(q, k, v), jit(vmap(grad<1>(loss(one))))(q, k, v)) < 1e-11);
  const Array bias = samples({1, 2, 1301, 1301}, 4);
  const auto biased = [&](auto g) { return [&, g](Array a, Array b) { return sum(sin(g(a, b))); }; };
  const auto with_bias = [](Array a, Array b) { return nn::dot_product_attention(a, a, a, {.bias = b}); };
  const auto plain_bias = [](Array a, Array b) { return formula(expand_dims(a, 0), expand_dims(a, 0), expand_dims(a, 0), {.bias = b})[0]; };
  CHECK(difference(jit(vmap(grad<1>(biased(with_bias)), {.in_axes = {0, none}}))(q, bias),
                   jit(vmap(grad<1>(biased(plain_bias)), {.in_axes = {0, none}}))(q, bias)) < 1e-11);
  // Twice, one after the other.
  const auto layers = [](auto g) {
    return [g](Array a, Array b) { return fori_loop(0, 2, [&](Array, Array x) { return g(x, b, b) + x; }, a); };
  };
  CHECK(difference(jit(layers(f))(q[0], k[0]), jit(layers(one))(q[0], k[0])) < 1e-12);
  const Array t = samples(q[0].shape(), 7);
  const auto along = [&](auto g) {
    return [&, g](Array a) { return jvp(grad(loss(g)), std::tuple{a, k[0], v[0]}, std::tuple{t, t, t}).second; };
  };
  CHECK(difference(jit(along(f))(q[0]), jit(along(one))(q[0])) < 1e-10);
  const auto twice = [&](auto g) { return grad([&, g](Array a) { return sum(t * grad(loss(g))(a, k[0], v[0])); }); };
  CHECK(difference(jit(twice(f))(q[0]), jit(twice(one))(q[0])) < 1e-10);
}

TEST_CASE("long attention of 16-bit floats is computed in float32") {
  for (const DType dtype : {bfloat16, float16}) {
    const Array q = samples({1, 2048, 2, 8}, 1, dtype), k = samples({1, 2048, 2, 8}, 2, dtype), v = samples({1, 2048, 2, 8}, 3, dtype);
    const auto f = [](Array a, Array b, Array c) { return nn::dot_product_attention(a, b, c); };
    const Array got = jit(f)(q, k, v);
    CHECK(got.dtype() == dtype);
    const Array want = formula(convert(q, float64), convert(k, float64), convert(v, float64), {});
    CHECK(max(abs(convert(got, float64) - want)).item<double>() < (dtype == bfloat16 ? 1e-3 : 1e-4));
    CHECK(grad([&](Array a) { return sum(f(a, k, v)); })(q).dtype() == dtype);
  }
}

TEST_CASE("attention is a composite, whose text is read back") {
  const Jaxpr j = make_jaxpr([](Array q) { return nn::dot_product_attention(q, q, q, {.is_causal = true}); })(ones({1, 4, 2, 3}));
  CHECK(j.eqns()[0].primitive() == "composite");
  CHECK(has(j.to_string(), "name=weft.dot_product_attention"));
  CHECK(parse(j.to_string()).to_string() == j.to_string());
}
