// Small programs on which the CPU backend must do as the interpreter does.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <limits>

#include "tests/backends/code_from.h"
#include "tools/programs.h"

using namespace weft;

namespace {

using Arrays = std::vector<Array>;

/// What differs, or an empty text.
std::string difference(const std::string& text, const std::vector<Array>& inputs, double tolerance = 1e-6) {
  const Jaxpr j = parse("{ lambda ; " + text + " }");
  const std::vector<Array> want = tools::run_on("interp", "f", j, inputs), got = tools::run_on("cpu", "f", j, inputs);
  for (std::size_t k = 0; k < want.size(); ++k)
    if (std::string wrong = tools::difference(got[k], want[k], nullptr, {tolerance, tolerance, false}); !wrong.empty()) return wrong;
  return {};
}

std::string scatter(const std::string& op, const std::string& window_dims) {
  return op + "[dimension_numbers=ScatterDimensionNumbers(update_window_dims=" + window_dims +
         ", inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
         "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False]";
}

}  // namespace

TEST_CASE("a scatter whose index is the same for all updates combines all of them") {
  const Array at = array(std::vector<int>{1});
  for (const char* op : {"scatter-add", "scatter-mul", "scatter-min", "scatter-max"})
    for (const DType t : {float32, bfloat16, int8, complex64}) {
      if (t.is_complex() && op[8] == 'm' && op[9] != 'u') continue;
      const std::string d(t.short_name());
      CAPTURE(op);
      CAPTURE(d);
      const std::string same = "i:i32[1] a:" + d + "[2] u:" + d +
                               "[3]. let j:i32[3,1] = broadcast_in_dim[broadcast_dimensions=(1,)] i; b:" + d +
                               "[2] = " + scatter(op, "()") + " a j u in (b,)";
      CHECK(difference(same, {at, convert(array({5, 2}), t), convert(array({3, -4, 2}), t)}, 0.02) == "");
      const std::string rows = "i:i32[1] a:" + d + "[2,3] u:" + d +
                               "[3,3]. let j:i32[3,1] = broadcast_in_dim[broadcast_dimensions=(1,)] i; b:" + d +
                               "[2,3] = " + scatter(op, "(1,)") + " a j u in (b,)";
      CHECK(difference(rows, {at, convert(array({{5, 2, 1}, {2, 2, 2}}), t), convert(array({{3, -4, 2}, {1, 2, 3}, {-2, 3, 9}}), t)},
                       0.02) == "");
    }
}

TEST_CASE("a sum down the columns beside another result: what is left of the columns reads its own factors") {
  // Four columns of the sum are computed together, in vectors of rows; the last row is on its own.
  const Array a = reshape(arange(0, 289, 1, float64), {17, 17}), b = arange(0, 17, 1, float64);
  CHECK(
      difference("a:f64[17,17] b:f64[1,17] c:f64[1,17] d:f64[17,17]. let e:f64[17,17] = sub d c; f:f64[17,17] = mul a b; g:f64[17] = "
                 "reduce_sum[axes=(0,)] f; h:f64[1,17] = reshape[new_sizes=(1, 17)] g; i:f64[17] = reduce_sum[axes=(0,)] h; j:f64[17,17] = "
                 "broadcast_in_dim[broadcast_dimensions=(1,)] i; k:f64[17,17] = add_any a j; l:f64[17,17] = mul d k in (e, l)",
                 {a, reshape(b, {1, 17}), reshape(2. * b, {1, 17}), a + 3.}, 1e-12) == "");
}

TEST_CASE("a reduction of quotients: lanes that the last vector hasn't got are not part of it") {
  for (const DType t : {float32, float64, int32})
    for (const int n : {1, 2, 3, 5, 7, 8, 9, 10, 12, 17, 18, 20, 31, 33, 34, 65, 129}) {
      const std::string d = std::string(t.short_name()) + "[" + std::to_string(n) + "]", s = std::string(t.short_name()) + "[]";
      CAPTURE(d);
      const Array a = arange(1, n + 1, 1, t), b = arange(2, n + 2, 1, t);
      for (const char* op : {"div", "rem"})
        for (const char* reduction : {"reduce_sum", "reduce_max", "reduce_prod"}) {
          const std::string quotient = "a:" + d + " b:" + d + ". let c:" + d + " = " + op + " a b; ";
          const std::string reduced = "e:" + s + " = " + reduction + "[axes=(0,)] ";
          CHECK(difference(quotient + reduced + "c in (e,)", {a, b}) == "");
          CHECK(difference(quotient + "f:" + d + " = mul c c; g:" + d + " = mul f b; " + reduced + "g in (e, f)", {a, b}) == "");
        }
    }
}

TEST_CASE("around an empty array there is padding, whatever the empty one is made of") {
  const Array none = zeros({2, 0}), fill = full({}, 7.f);
  const std::string pad = " c:f32[2,3] = pad[padding_config=((0, 0, 0), (1, 2, 0))] b f in (c,)";
  CHECK(difference("a:f32[2,0] f:f32[]. let b:f32[2,0] = tile[reps=(1, 3)] a;" + pad, {none, fill}) == "");
  CHECK(difference("a:f32[2,0] f:f32[]. let b:f32[2,0] = rev[dimensions=(1,)] a;" + pad, {none, fill}) == "");
  CHECK(difference("a:f32[0,4] f:f32[]. let b:f32[2,0] = reshape[new_sizes=(2, 0)] a;" + pad, {zeros({0, 4}), fill}) == "");
  CHECK(
      difference(
          "a:f32[0,4] f:f32[]. let g:f32[4,0] = transpose[permutation=(1, 0)] a; h:f32[2,0] = slice[limit_indices=(3, 0) start_indices=(1, "
          "0) strides=None] g; b:f32[2,0] = exp h;" +
              pad,
          {zeros({0, 4}), fill}) == "");
}

TEST_CASE("a complex product of infinities is computed by its formula, as JAX does") {
  const double inf = std::numeric_limits<double>::infinity();
  const Array z = complex(array({-inf, inf, 1.}, float32), array({0.75, inf, -2.}, float32));
  CHECK(difference("a:c64[3]. let b:c64[3] = mul a (0.5+0j):c64[]; c:c64[3] = mul b (0.5+0j):c64[]; d:c64[3] = mul a a in (b, c, d)",
                   {z}) == "");
  const Jaxpr half = parse("{ lambda ; a:c64[3]. let b:c64[3] = mul a (0.5+0j):c64[] in (b,) }");
  const auto v = half(z)[0].to_vector<std::complex<double>>();
  CHECK(v[0].real() == -inf);
  CHECK(std::isnan(v[0].imag()));
  CHECK(v[2] == std::complex<double>(0.5, -1));
}

TEST_CASE("complex quotients of infinities and zeros are C's, products follow the formula, as in JAX") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  std::vector<std::complex<float>> parts;
  for (const float re : {0.f, -0.f, 1.f, -2.f, inf, -inf, nan})
    for (const float im : {0.f, -0.f, 1.f, -2.f, inf, -inf, nan}) parts.emplace_back(re, im);
  const auto n = static_cast<std::int64_t>(parts.size());
  const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (const DType t : {complex64, complex128}) {
    const Array x = convert(array(parts, {n}), t), column = reshape(x, {n, 1}), row = reshape(x, {1, n});
    const auto run = [&](const char* backend, const std::string& op, const Arrays& in) {
      std::string text = "{ lambda ; a:c64[49,1] b:c64[1,49]. let c:c64[49,49] = " + op + " a b in (c,) }";
      if (t == complex128)
        for (std::size_t at; (at = text.find("c64")) != std::string::npos;) text.replace(at, 3, "c128");
      return tools::run_on(backend, "f", parse(text), in)[0].to_vector<std::complex<float>>();
    };
    const std::string dot =
        "dot_general[dimension_numbers=(([1], [0]), ([], [])) out_sharding=None precision=None preferred_element_type=None]";
    for (const char* backend : {"interp", "cpu"}) {
      const auto quotients = run(backend, "div", {column, row}), products = run(backend, "mul", {column, row}),
                 dots = run(backend, dot, {column, row});
      int wrong_quotients = 0, wrong_products = 0, wrong_dots = 0;
      for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::size_t k = 0; k < parts.size(); ++k) {
          const std::complex<double> a = parts[i], b = parts[k], q = a / b;
          const std::complex<double> p(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
          const auto is = [&](std::complex<float> got, std::complex<double> want) {
            return same(got.real(), static_cast<float>(want.real())) && same(got.imag(), static_cast<float>(want.imag()));
          };
          const std::size_t at = i * parts.size() + k;
          wrong_quotients += !is(quotients[at], q), wrong_products += !is(products[at], p), wrong_dots += !is(dots[at], p);
        }
      CAPTURE(backend);
      CHECK(wrong_quotients == 0);
      CHECK(wrong_products == 0);
      CHECK(wrong_dots == 0);
    }
  }
}

TEST_CASE("reductions of quotients by or of a zero that is known, over sizes that leave lanes without an element") {
  for (int n : {7, 9, 10, 17, 33, 65}) {
    for (const std::string& t : {std::string("f32"), std::string("f64")}) {
      const std::string v = t + "[" + std::to_string(n) + "]";
      const Array x = linspace(1., 2., n, t == "f32" ? float32 : float64);
      for (const char* reduction : {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"})
        for (const std::string& quotient :
             {"div 0.0:" + t + "[] a", "div -0.0:" + t + "[] a", "div a 0.0:" + t + "[]", "rem 0.0:" + t + "[] a", "rem a 0.0:" + t + "[]",
              "div 2.0:" + t + "[] a", "div a 2.0:" + t + "[]"}) {
          CAPTURE(quotient);
          CAPTURE(reduction);
          CHECK(difference("a:" + v + ". let b:" + v + " = " + quotient + "; c:" + t + "[] = " + reduction +
                               "[axes=(0,) out_sharding=None] b in (c,) ",
                           Arrays{x}, 1e-5) == "");
        }
    }
  }
}

TEST_CASE("lu of a matrix with a NaN: it goes where elimination takes it, as in JAX") {
  const double nan = std::nan("");
  const Jaxpr j = parse("{ lambda ; a:f64[3,2,2]. let b:f64[3,2,2] c:i32[3,2] d:i32[3,2] = lu a in (b, d) }");
  const Array a = reshape(array(std::vector<double>{0, nan, 1, 2, 0, 1, nan, 2, 1, nan, 3, 2}), {3, 2, 2});
  for (const char* backend : {"interp", "cpu"}) {
    CAPTURE(backend);
    const std::vector<Array> r = tools::run_on(backend, "f", j, {a});
    CHECK(where(isnan(r[0]), -9, r[0]).to_vector<double>() == std::vector<double>{1, 2, 0, -9, 0, 1, -9, -9, 3, 2, 1. / 3, -9});
    CHECK(r[1].to_vector<int>() == std::vector<int>{1, 0, 0, 1, 1, 0});
  }
}

TEST_CASE("what a kernel keeps of a dimension whose fast part is an outer loop has room for all of it") {
  const Array parts = reshape(linspace(-1., 2., 2 * 4 * 33, float64), {2, 4, 33}), a = complex(parts, 1. - parts),
              c = complex(2. + parts, parts);
  const Array e = linspace(1., -1., 132, float64);
  CHECK(difference(
            "a:c128[2,4,33] c:c128[2,4,33] e:f64[132]. let "
            "f:c128[2,4,33] = div a c; g:f64[2,4,33] = real f; h:f64[4,33,2] = transpose[permutation=(1, 2, 0)] g; "
            "i:f64[132,2] = reshape[new_sizes=(132, 2)] h; "
            "j:f64[132,1] = slice[limit_indices=(132, 2) start_indices=(0, 1) strides=(1, 2)] i; "
            "k:f64[132,1] = slice[limit_indices=(132, 2) start_indices=(0, 0) strides=(1, 2)] i; "
            "l:f64[132] = reshape[new_sizes=(132,)] k; m:f64[132] = reshape[new_sizes=(132,)] j; n:f64[132] = max l m; "
            "q:f64[132] = max e n; r:f64[4,33] = reshape[new_sizes=(4, 33)] q; s:bf16[4,33] = convert_element_type[new_dtype=bfloat16] r; "
            "t:f64[132] = reshape[new_sizes=(132,)] r; "
            "u:f64[99] = slice[limit_indices=(99,) start_indices=(0,)] t; v:f64[3,33] = reshape[new_sizes=(3, 33)] u; "
            "w:f64[3,33] = tanh v; x:bf16[3,33] = convert_element_type[new_dtype=bfloat16] w; y:bf16[1,33] = slice[limit_indices=(1, 33) "
            "start_indices=(0, 0)] x in (r, s, y) ",
            Arrays{a, c, e}, 1e-12) == "");
}

TEST_CASE("a product that sums nothing keeps the sign of its zero") {
  const std::string dimensions = "dimension_numbers=(([], []), ([], [])) out_sharding=None precision=None preferred_element_type=None";
  const Jaxpr j = parse("{ lambda ; a:f32[1] b:f32[3]. let c:f32[1,3] = dot_general[" + dimensions + "] a b in (c,) }");
  const Array a = zeros({1}), b = array({1.f, -1.f, -0.f});
  for (const char* backend : {"interp", "cpu"}) {
    CAPTURE(backend);
    const std::vector<float> c = tools::run_on(backend, "f", j, {a, b})[0].to_vector<float>();
    CHECK(c == std::vector<float>{0, 0, 0});
    CHECK(!std::signbit(c[0]));
    CHECK(std::signbit(c[1]));
    CHECK(std::signbit(c[2]));
  }
}

TEST_CASE("records that are read in a loop and outside of it are loaded in each") {
  // With and without a condition, which only the former's loop decides.
  const std::string padded = " = pad[padding_config=((0, 1, 0), (0, 0, 0), (0, 0, 0))] ", last = " = transpose[permutation=(1, 2, 0)] ";
  const std::string program =
      "a:c64[4,3,2] b:c64[4,3,1] c:c64[4,3,2] d:c64[4,3,2]. let e:c64[4,3,1,2] = reshape[new_sizes=(4, 3, 1, 2)] d; _:c64[4,3,1] "
      "f:c64[4,3,1] = unstack[axis=3] e; g:c64[1,4,3] = transpose[permutation=(2, 0, 1)] f; h:c64[2,4,3]" +
      padded + "g 0j:c64[]; i:c64[4,3,2]" + last +
      "h; j:c64[4,3,2] = add_any d i; k:c64[4,3,2] = add_any a j; l:c64[2,4,3] = transpose[permutation=(2, 0, 1)] k; m:c64[1,4,3] = "
      "slice[limit_indices=(2, 4, 3) start_indices=(1, 0, 0) strides=None] l; n:c64[4,3,1]" +
      last +
      "m; o:c64[4,3,1] = mul b n; p:c64[4,3,1,2] = stack[axis=3] o o; q:c64[4,3,2] = reshape[new_sizes=(4, 3, 2)] p; r:c64[4,3,2] = "
      "add_any "
      "c q; s:c64[4,3,1,2] = reshape[new_sizes=(4, 3, 1, 2)] r; t:c64[4,3,1] _:c64[4,3,1] = unstack[axis=3] s; u:c64[1,4,3] = "
      "transpose[permutation=(2, 0, 1)] t; v:c64[2,4,3]" +
      padded + "u 0j:c64[]; w:c64[4,3,2]" + last +
      "v; x:c64[4,3,2] = add_any j w; y:bf16[4,3,2] = convert_element_type[new_dtype=bfloat16 weak_type=False] x in (y,)";
  const auto numbers = [](const Shape& shape, int seed) {
    return complex(random::normal(random::key(seed), shape), random::normal(random::key(seed + 9), shape));
  };
  for (const char* const least : {"", "baseline", "optimized"}) {
    const test::CodeFrom code(least);
    CAPTURE(std::string(least));
    CHECK(difference(program, {numbers({4, 3, 2}, 1), numbers({4, 3, 1}, 2), numbers({4, 3, 2}, 3), numbers({4, 3, 2}, 4)}, 0.02) == "");
  }
}
