// Contractions: dot_general, matmul, tensordot, einsum.
#include <complex>
#include <functional>
#include <map>

#include "tests/ops/checks.h"
#include "weft/core/trace/trace.h"

using namespace weft;
using namespace weft::test;

namespace {

/// einsum by loops over all indices.
std::vector<double> by_loops(const std::string& equation, const std::vector<Array>& operands) {
  std::vector<std::string> terms(1);
  const std::size_t arrow = equation.find("->");
  for (char c : equation.substr(0, arrow)) c == ',' ? terms.emplace_back() : terms.back() += c, void();
  const std::string out = equation.substr(arrow + 2);
  std::map<char, std::int64_t> sizes;
  std::string letters = out;
  for (std::size_t k = 0; k < terms.size(); ++k)
    for (std::size_t i = 0; i < terms[k].size(); ++i) {
      sizes[terms[k][i]] = std::max(sizes[terms[k][i]], operands[k].shape()[static_cast<int>(i)]);
      if (letters.find(terms[k][i]) == std::string::npos) letters += terms[k][i];
    }
  std::vector<std::vector<double>> values;
  for (const Array& x : operands) values.push_back(x.to_vector<double>());
  std::int64_t size = 1;
  for (char c : out) size *= sizes[c];
  std::vector<double> result(static_cast<std::size_t>(size));
  std::map<char, std::int64_t> at;
  std::function<void(std::size_t)> loop = [&](std::size_t level) {
    if (level < letters.size()) {
      for (at[letters[level]] = 0; at[letters[level]] < sizes[letters[level]]; ++at[letters[level]]) loop(level + 1);
      return;
    }
    double product = 1;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      std::int64_t position = 0;
      for (std::size_t i = 0; i < terms[k].size(); ++i) {
        const std::int64_t n = operands[k].shape()[static_cast<int>(i)];
        position = position * n + (n == 1 ? 0 : at[terms[k][i]]);
      }
      product *= values[k][static_cast<std::size_t>(position)];
    }
    std::int64_t position = 0;
    for (char c : out) position = position * sizes[c] + at[c];
    result[static_cast<std::size_t>(position)] += product;
  };
  loop(0);
  return result;
}

}  // namespace

TEST_CASE("matmul as NumPy's") {
  const Array x = samples({2, 3, 4}), y = samples({2, 4, 5}, 1), v = samples({4}, 2), w = samples({3}, 3);
  CHECK(near(matmul(x, y), float64, {2, 3, 5}, by_loops("bij,bjk->bik", {x, y})));
  CHECK(near(matmul(x[0], y), float64, {2, 3, 5}, by_loops("ij,bjk->bik", {x[0], y})));
  CHECK(near(matmul(x, y[0]), float64, {2, 3, 5}, by_loops("bij,jk->bik", {x, y[0]})));
  CHECK(near(matmul(x, v), float64, {2, 3}, by_loops("bij,j->bi", {x, v})));
  CHECK(near(matmul(w, x), float64, {2, 4}, by_loops("i,bij->bj", {w, x})));
  CHECK(near(matmul(v, v), float64, {}, by_loops("i,i->", {v, v})));
  const Array p = samples({2, 1, 3, 4}, 4), q = samples({5, 4, 2}, 5);
  CHECK(near(matmul(p, q), float64, {2, 5, 3, 2}, by_loops("aoij,bjk->abik", {p, q})));
  CHECK(near(matmul(samples({1, 3, 4}, 6), y), float64, {2, 3, 5}, by_loops("aij,bjk->bik", {samples({1, 3, 4}, 6), y})));
  CHECK(near(matmul(zeros({3, 0}), zeros({0, 2})), float32, {3, 2}, {0, 0, 0, 0, 0, 0}));
  CHECK(near(matmul(array({{1, 2}, {3, 4}}), array({{true}, {true}})), int32, {2, 1}, {3, 7}));
  CHECK(matmul(ones({2, 2}, bfloat16), ones({2, 2})).dtype() == float32);
  CHECK(near(matmul(ones({1, 4096}, bfloat16), ones({4096, 1}, bfloat16)), bfloat16, {1, 1}, {4096}));
}

TEST_CASE("dot, outer, vdot, tensordot") {
  const Array x = samples({2, 3, 4}), y = samples({5, 4, 6}, 1), v = samples({4}, 2);
  CHECK(near(dot(x, y), float64, {2, 3, 5, 6}, by_loops("abj,cjd->abcd", {x, y})));
  CHECK(near(dot(x, v), float64, {2, 3}, by_loops("abj,j->ab", {x, v})));
  CHECK(close(dot(2., v), 2 * v));
  CHECK(near(outer(v, samples({2}, 3)), float64, {4, 2}, by_loops("i,j->ij", {v, samples({2}, 3)})));
  CHECK(near(vdot(x, x), float64, {}, by_loops("abc,abc->", {x, x})));
  using C = std::complex<float>;
  CHECK(vdot(array({C(0, 1), C(2, 0)}), array({C(0, 1), C(1, 1)})).item<C>() == C(3, 2));
  CHECK(near(tensordot(x, y, {{{2}, {1}}}), float64, {2, 3, 5, 6}, by_loops("abj,cjd->abcd", {x, y})));
  CHECK(near(tensordot(x, samples({3, 4, 2}, 4)), float64, {2, 2}, by_loops("abc,bcd->ad", {x, samples({3, 4, 2}, 4)})));
  CHECK(near(tensordot(v, v, 0), float64, {4, 4}, by_loops("i,j->ij", {v, v})));
  CHECK(
      near(tensordot(x, samples({4, 2, 5}, 5), {{{-1, 0}, {0, 1}}}), float64, {3, 5}, by_loops("abc,cad->bd", {x, samples({4, 2, 5}, 5)})));
}

TEST_CASE("dot_general") {
  const Array x = samples({2, 3, 4, 5}), y = samples({5, 2, 3, 6}, 1);
  CHECK(near(dot_general(x, y, {.contracting = {{{1, 3}, {2, 0}}}, .batch = {{{0}, {1}}}}), float64, {2, 4, 6},
             by_loops("bijk,kbil->bjl", {x, y})));
  CHECK(
      near(dot_general(ones({2, 3}, bfloat16), ones({3, 2}, bfloat16), {.contracting = {{{1}, {0}}}}, {.preferred_element_type = float32}),
           float32, {2, 2}, {3, 3, 3, 3}));
  CHECK(near(dot_general(array({1, 2}), array({3, 4}), {.contracting = {{{0}, {0}}}}, {.preferred_element_type = float32}), float32, {},
             {11}));
  const Array product = dot_general(samples({2, 3, 4}), samples({2, 4, 5}, 1), {.batch = {{{0}, {0}}}});
  CHECK(near(product, float64, {2, 3, 4, 4, 5}, by_loops("bij,bkl->bijkl", {samples({2, 3, 4}), samples({2, 4, 5}, 1)})));
}

TEST_CASE("einsum against loops") {
  const std::map<char, std::int64_t> sizes{{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}, {'l', 2}, {'m', 3}};
  for (const std::string equation :
       {"ij,jk->ik", "bij,bjk->bik", "ij->ji",  "ii->i",    "ii->",        "ij->",           "ij->j",           "iij->j",  "iji->ij",
        "iii->i",    "ij,ij->ij",    "ij,ij->", "i,j->ij",  "ij,kl->ikjl", "bij,bjk,kl->bl", "ij,jk,kl,lm->im", "ij,j->i", "bi,bj,bk->ijk",
        "ii,ij->j",  "bij,ij,j->b",  "ij,->ji", "i,i,i->i", "abc,cad->bd", "kji,ijk->",      "bhij,bhkj->hbik"}) {
    CAPTURE(equation);
    std::vector<Array> operands;
    std::string term;
    auto add = [&] {
      Shape shape;
      for (char c : term) shape.push_back(sizes.count(c) ? sizes.at(c) : 2);
      operands.push_back(samples(shape, static_cast<int>(operands.size())));
      term.clear();
    };
    for (char c : equation.substr(0, equation.find('-'))) c == ',' ? add() : (term += c, void());
    add();
    const auto& o = operands;
    const Array result = o.size() == 1   ? einsum(equation, o[0])
                         : o.size() == 2 ? einsum(equation, o[0], o[1])
                         : o.size() == 3 ? einsum(equation, o[0], o[1], o[2])
                                         : einsum(equation, o[0], o[1], o[2], o[3]);
    CHECK(near(result, by_loops(equation, operands)));
  }
}

TEST_CASE("einsum without a result, with ellipsis, with broadcasting") {
  const Array x = samples({2, 3, 4}), y = samples({4, 5}, 1), m = samples({3, 3}, 2);
  CHECK(near(einsum("...j,jk", x, y), float64, {2, 3, 5}, by_loops("abj,jk->abk", {x, y})));
  CHECK(near(einsum(" i j , j k ", x[0], y), float64, {3, 5}, by_loops("ij,jk->ik", {x[0], y})));
  CHECK(near(einsum("ba", m), float64, {3, 3}, transpose(m).to_vector<double>()));
  CHECK(near(einsum("ii", m), float64, {}, by_loops("ii->", {m})));
  CHECK(near(einsum("...ii->...i", stack({m, 2 * m})), float64, {2, 3}, by_loops("bii->bi", {stack({m, 2 * m})})));
  CHECK(near(einsum("...ij,...jk->...ik", x, samples({1, 4, 2}, 3)), float64, {2, 3, 2},
             by_loops("bij,cjk->bik", {x, samples({1, 4, 2}, 3)})));
  CHECK(near(einsum("i...,j->...ij", x[0], samples({2}, 4)), float64, {4, 3, 2}, by_loops("ia,j->aij", {x[0], samples({2}, 4)})));
  CHECK(near(einsum("ij,ij->ij", samples({3, 1}, 5), m), float64, {3, 3}, by_loops("io,ij->ij", {samples({3, 1}, 5), m})));
  CHECK(near(einsum(",i->i", 2.f, array({1.f, 2.f})), float32, {2}, {2, 4}));
  CHECK(near(einsum("ij,j->i", array({{1, 2}, {3, 4}}), array({true, true})), int32, {2}, {3, 7}));
}

TEST_CASE("derivatives of contractions") {
  const Array x = samples({2, 3, 4}), y = samples({2, 4, 5}, 1), z = samples({4, 3, 2}, 2);
  check_derivatives([&](Array v) { return matmul(sin(v), y); }, x);
  check_derivatives([&](Array v) { return matmul(x, v * v); }, y);
  check_derivatives<1>([&](Array v) { return dot_general(v, z, {.contracting = {{{1, 2}, {1, 0}}}, .batch = {{{0}, {2}}}}); }, x);
  check_derivatives<1>([&](Array v) { return dot_general(z, v, {.contracting = {{{1, 0}, {1, 2}}}, .batch = {{{2}, {0}}}}); }, x);
  check_derivatives<1>([&](Array v) { return dot_general(z, v, {.contracting = {{{0, 2}, {2, 0}}}}); }, x);
  check_derivatives([&](Array v) { return matmul(v, transpose(v, {0, 2, 1})); }, x);
  check_derivatives([&](Array v) { return einsum("bii->bi", v); }, samples({2, 3, 3}));
  check_derivatives([&](Array v) { return einsum("bij,bjk,kl->bl", v, y, samples({5, 3}, 3)); }, x);
  check_derivatives([&](Array v) { return einsum("bij,bij->b", v, v); }, x);
  const Array low = samples({3, 4}, 4, bfloat16);
  CHECK(grad([&](Array v) { return sum(dot_general(v, low, {.contracting = {{{1}, {1}}}}, {.preferred_element_type = float32})); })(low)
            .dtype() == bfloat16);
}

TEST_CASE("vmap of contractions") {
  const Array x = samples({3, 2, 4}), y = samples({2, 3}, 1);
  check_vmap([](Array v) { return matmul(v, transpose(v)); }, x);
  check_vmap([&](Array v) { return einsum("ij,kl->ljki", v, y); }, x);
  check_vmap([&](Array v) { return tensordot(y, v, 0); }, x);
  check_vmap([](Array v) { return dot_general(v, v, {.contracting = {{{1}, {1}}}, .batch = {{{0}, {0}}}}); }, x);
  for (int a : {0, 1, 2}) {
    const Array mapped = moveaxis(samples({5, 3, 4}, 2), 0, a), other = samples({5, 4, 2}, 3);
    auto f = [](Array p, Array q) { return matmul(p, q); };
    CHECK(close(vmap(f, {.in_axes = {a, 0}})(mapped, other), matmul(moveaxis(mapped, a, 0), other)));
    CHECK(close(vmap(f, {.in_axes = {a, none}})(mapped, other[0]), matmul(moveaxis(mapped, a, 0), other[0])));
    CHECK(close(vmap(f, {.in_axes = {none, a}})(y, mapped), matmul(y, moveaxis(mapped, a, 0))));
  }
}

TEST_CASE("mistakes in contractions") {
  const Array a = ones({3, 4}), b = ones({3, 5});
  CHECK(has(message_of<ShapeError>([&] { matmul(a, b); }), {"matmul", "f32[3,4]", "f32[3,5]", "dot.cpp"}));
  CHECK(has(message_of<ShapeError>([&] { matmul(a, 2.f); }), {"matmul", "f32[3,4]", "f32[]"}));
  CHECK(has(message_of<ShapeError>([&] { matmul(ones({2, 3, 4}), ones({3, 4, 5})); }), {"matmul", "f32[2,3,4]", "f32[3,4,5]"}));
  CHECK(has(message_of<ShapeError>([&] { dot(a, ones(3)); }), {"dot", "f32[3,4]", "f32[3]"}));
  CHECK(has(message_of<ShapeError>([&] { vdot(a, b); }), {"vdot", "12", "15"}));
  CHECK(has(message_of<AxisError>([&] { tensordot(a, b, {{{2}, {0}}}); }), {"tensordot", "2", "f32[3,4]"}));
  CHECK(has(message_of<AxisError>([&] { tensordot(a, b, 3); }), {"tensordot", "3", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { einsum("ij,jk->ik", a, b); }), {"einsum", "j", "f32[3,4]", "f32[3,5]", "dot.cpp"}));
  CHECK(has(message_of<ShapeError>([&] { einsum("ijk->i", a); }), {"einsum", "3", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { einsum("ij->ik", a); }), {"einsum", "'k'"}));
  CHECK(has(message_of<ShapeError>([&] { einsum("ij,jk", a); }), {"einsum", "2", "1"}));
  CHECK(has(message_of<Error>([&] { einsum("i1->i", a); }), {"einsum", "'1'"}));
  CHECK(has(
      message_of<ShapeError>([&] { dot_general(ones({2, 3, 4}), ones({5, 4, 6}), {.contracting = {{{2}, {1}}}, .batch = {{{0}, {0}}}}); }),
      {"dot_general", "batch", "f32[2,3,4]", "f32[5,4,6]"}));
  CHECK(has(message_of<AxisError>([&] { dot_general(a, b, {.contracting = {{{2}, {0}}}}); }), {"dot_general", "2", "f32[3,4]"}));
  CHECK(has(message_of<DTypeError>([&] { dot_general(a, a, {.contracting = {{{0}, {0}}}}, {.preferred_element_type = int32}); }),
            {"dot_general", "int32"}));
}

TEST_CASE("the text of contractions") {
  const Jaxpr j = detail::trace_jaxpr({"test", {{{2, 3, 4}, float32}, {{2, 4, 5}, float32}}, {}},
                                      [](std::span<const Array> x) { return std::vector{matmul(x[0], x[1])}; });
  CHECK(has(j.to_string(), {"dimension_numbers=(([2], [1]), ([0], [0]))", "preferred_element_type=float32"}));
  CHECK(parse(j.to_string()) == j);
}
