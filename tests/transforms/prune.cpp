// What removing unused equations leaves of loops, branches and calls: only what the results depend on, with the same results.
#include <functional>

#include "checks.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/core/ir/rewrite.h"
#include "weft/frontends/stablehlo/stablehlo.h"
#include "weft/frontends/stablehlo/write.h"

using namespace weft;
using namespace weft::test;

namespace {

bool contains(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

/// The pruned program's text; checks that it is well formed and gives the same results, bit for bit.
std::string pruned(const char* text, const std::vector<Array>& args) {
  const Jaxpr whole = parse(text), part = detail::dce_program(whole);
  part.check();
  const std::vector<Array> expected = detail::eval_jaxpr(whole, args), given = detail::eval_jaxpr(part, args);
  CHECK(expected.size() == given.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(array_equal(expected[i], given[i]));
  return part.to_string();
}

const Array x4 = array({1.5f, -.5f, 2.f, .25f}), one = array(1.25f);

}  // namespace

TEST_CASE("a scan computes only the results that are read, and the carries that they depend on") {
  // The second carry and the second y depend on each other only.
  const std::string t = pruned(
      "{ lambda ; a:f32[] b:f32[] k:f32[] x:f32[4]. let c:f32[] d:f32[] y:f32[4] z:f32[4] = scan[jaxpr={ lambda ; k:f32[] a:f32[] b:f32[] "
      "x:f32[]. let e:f32[] = mul a x; f:f32[] = sin b; g:f32[] = add f k in (e, g, a, f) } length=4 num_carry=2 num_consts=1 "
      "reverse=False unroll=1] k a b x in (c, y) }",
      {one, one, one, x4});
  CHECK(!contains(t, "sin"));
  CHECK(has(t, "num_carry=1"));
  CHECK(has(t, "num_consts=0"));
  // A carry that nobody reads outside stays where one that is read depends on it, also a step later.
  const std::string u = pruned(
      "{ lambda ; a:f32[] b:f32[] x:f32[4]. let c:f32[] d:f32[] = scan[jaxpr={ lambda ; a:f32[] b:f32[] x:f32[]. let e:f32[] = add a b; "
      "f:f32[] = mul b x in (e, f) } length=4 num_carry=2 num_consts=0 reverse=False unroll=1] a b x in (c,) }",
      {one, one, x4});
  CHECK(has(u, "num_carry=2"));
}

TEST_CASE("carries that never change become constants of the loop, and results handed on are what they were") {
  for (const char* reverse : {"False", "True"}) {
    const std::string text =
        std::string(
            "{ lambda ; a:f32[] b:f32[] x:f32[4]. let c:f32[] d:f32[] y:f32[4] z:f32[4] w:f32[4] = scan[jaxpr={ lambda ; "
            "a:f32[] b:f32[] x:f32[]. let e:f32[] = mul a b; f:f32[] = add e x in (f, b, x, e, e) } length=4 "
            "num_carry=2 num_consts=0 unroll=1 reverse=") +
        reverse + "] a b x in (c, d, y, z, w) }";
    const std::string t = pruned(text.c_str(), {one, array(.5f), x4});
    CHECK(has(t, "num_carry=1"));
    CHECK(has(t, "num_consts=1"));
    CHECK(parse(t).eqns()[0].outputs.size() == 2);
  }
  // All of it is handed on: no loop is left.
  CHECK(parse(pruned("{ lambda ; b:f32[] x:f32[4]. let d:f32[] y:f32[4] = scan[jaxpr={ lambda ; b:f32[] x:f32[]. let  in (b, x) } length=4 "
                     "num_carry=1 num_consts=0 reverse=False unroll=1] b x in (d, y) }",
                     {one, x4}))
            .eqns()
            .empty());
}

TEST_CASE("a while loop keeps what its condition reads") {
  const std::string t = pruned(
      "{ lambda ; i:i32[] n:i32[] a:f32[] b:f32[] k:f32[]. let j:i32[] m:i32[] c:f32[] d:f32[] = while[body_jaxpr={ lambda ; k:f32[] "
      "i:i32[] "
      "n:i32[] a:f32[] b:f32[]. let j:i32[] = add i 1:i32[]; c:f32[] = mul a 2.0:f32[]; d:f32[] = mul b k in (j, n, c, d) } body_nconsts=1 "
      "cond_jaxpr={ lambda ; i:i32[] n:i32[] a:f32[] b:f32[]. let p:bool[] = lt i n in (p,) } cond_nconsts=0] k i n a b in (c,) }",
      {array(0), array(3), one, one, one});
  CHECK(has(t, "cond_nconsts=1"));  // n, which never changes
  CHECK(has(t, "body_nconsts=0"));
  CHECK(parse(t).eqns()[0].outputs.size() == 2);
}

TEST_CASE("a branch computes what is read in any of its programs") {
  const std::string t = pruned(
      "{ lambda ; i:i32[] a:f32[] b:f32[] k:f32[]. let c:f32[] d:f32[] e:f32[] = cond[branches=({ lambda ; a:f32[] b:f32[] k:f32[]. let "
      "c:f32[] = sin a; d:f32[] = exp k in (c, d, b) } { lambda ; a:f32[] b:f32[] k:f32[]. let c:f32[] = cos a in (c, k, b) })] i a b k in "
      "(c, e) }",
      {array(1), one, one, one});
  CHECK(!contains(t, "exp"));
  CHECK(parse(t).eqns()[0].outputs.size() == 1);
  CHECK(parse(t).eqns()[0].inputs.size() == 2);
}

TEST_CASE("calls inside loops are pruned as the loops are") {
  const std::string t = pruned(
      "{ lambda ; a:f32[] b:f32[] x:f32[4]. let c:f32[] d:f32[] = scan[jaxpr={ lambda ; a:f32[] b:f32[] x:f32[]. let e:f32[] f:f32[] = "
      "jit[name=step jaxpr={ lambda ; a:f32[] b:f32[] x:f32[]. let e:f32[] = mul a x; f:f32[] = sin b in (e, f) }] a b x in (e, f) } "
      "length=4 "
      "num_carry=2 num_consts=0 reverse=False unroll=1] a b x in (c,) }",
      {one, one, x4});
  CHECK(!contains(t, "sin"));
  CHECK(has(t, "num_carry=1"));
}

TEST_CASE("effects stay, with what they read") {
  int calls = 0;
  const auto f = [&](Array x) {
    const auto [last, ys] = scan(
        [&](Array c, Array x) {
          debug::callback([&](Array) { ++calls; }, c);
          return std::pair(c + x, c * 2.f);
        },
        Array(0.f), x);
    return sum(x);
  };
  const Jaxpr j = detail::dce_program(make_jaxpr(f)(x4));
  calls = 0;
  detail::eval_jaxpr(j, std::vector<Array>{x4});
  effects_barrier();
  CHECK(calls == 4);
}

TEST_CASE("residuals that a derivative doesn't read are not computed") {
  // The second carry and its derivative, with the cosine as its residual, are nothing that the result depends on.
  const auto f = [](Array a, Array x) {
    const auto [last, ys] =
        scan([](std::pair<Array, Array> c, Array x) { return std::pair(std::pair(c.first * x, sin(c.second) * x), c.second); },
             std::pair(a, a), x);
    return last.first;
  };
  CHECK(!contains(make_jaxpr(grad(f))(one, x4).to_string(), "cos"));
  CHECK(array_equal(jit(grad(f))(one, x4), grad(f)(one, x4)));
  // The linear program needs the residuals of both results; its transpose for the first result alone doesn't.
  const auto g = [](Array a, Array x) {
    const auto two = [](Array a, Array x) { return scan([](Array c, Array x) { return std::pair(c * x, sin(exp(x))); }, a, x); };
    return std::get<0>(vjp(two, a, x).second(std::pair(Array(1.f), zeros(4))));
  };
  CHECK(array_equal(jit(g)(one, x4), g(one, x4)));
}

TEST_CASE("what is the same in each step of a loop is computed once, before it") {
  const Array w = reshape(sin(arange(0, 64, 1, float32)), {8, 8}), x = cos(arange(0, 8, 1, float32));
  const auto steps = [](Array w, Array x) {
    return scan([&](Array c, None) { return std::pair(tanh(matmul(matmul(w, w), c) + sum(exp(w), 1)), none); }, x, none, {.length = 5})
        .first;
  };
  const auto until = [](Array w, Array x) {
    return while_loop([](Array c) { return c(0) < 2.f; }, [&](Array c) { return c + abs(matmul(matmul(w, w), c)) + .1f; }, x);
  };
  const auto nested = [](Array w, Array x) {
    return fori_loop(
        0, 3, [&](Array, Array c) { return fori_loop(0, 2, [&](Array, Array d) { return sin(matmul(matmul(w, w), d)); }, c); }, x);
  };
  const auto products_before_the_loop = [](const std::string& text) {
    const std::size_t loop = std::min(text.find("scan["), text.find("while["));
    std::size_t n = 0;
    for (std::size_t at = text.find("dot_general"); at < loop; at = text.find("dot_general", at + 1)) ++n;
    return n;
  };
  const auto check = [&](auto f) {
    const Jaxpr j = make_jaxpr(f)(w, x);
    CHECK(products_before_the_loop(j.to_string()) == 0);
    CHECK(products_before_the_loop(detail::simplify(j).to_string()) == 1);
    detail::simplify(j).check();
    CHECK(allclose(jit(f)(w, x), f(w, x), {.rtol = 1e-5, .atol = 1e-6}));
  };
  check(steps), check(until), check(nested);
}

TEST_CASE("what is cheap where it is read, or larger than what it is made of, stays in the loop") {
  const auto f = [](Array x, Array start) {
    return fori_loop(
        0, 3, [&](Array, Array c) { return c + broadcast_to(sum(c) * 2.f, {64}) + ravel(broadcast_to(reshape(x, {1, 8}), {8, 8})); },
        start);
  };
  const Array x = ones(8), start = ones(64);
  const std::string text = detail::simplify(make_jaxpr(f)(x, start)).to_string();
  CHECK(text.find("broadcast_in_dim") > std::min(text.find("scan["), text.find("while[")));
  CHECK(array_equal(jit(f)(x, start), f(x, start)));
}

TEST_CASE("a cond whose results are all operands goes away, with what only its index was computed of") {
  const std::string t = pruned(
      "{ lambda ; a:f32[] x:f32[4]. let p:bool[] = gt a 1.0:f32[] i:i32[] = convert_element_type[new_dtype=int32 weak_type=False] p "
      "y:f32[4] z:f32[] = cond[branches=({ lambda ; x:f32[4] a:f32[]. let b:f32[] = sin a in (x, b) } "
      "{ lambda ; x:f32[4] a:f32[]. let b:f32[] = cos a in (x, b) })] i x a w:f32[4] = add y 1.0:f32[] in (w,) }",
      {one, x4});
  CHECK_FALSE(contains(t, "gt"));
  CHECK_FALSE(contains(t, "cond"));
  const auto first = [](Array v) { return std::pair{v, sin(v)}; };
  const auto second = [](Array v) { return std::pair{v, cos(v)}; };
  const auto f = [=](Array p, Array x) { return 2.f * cond(p > 0, first, second, x).first; };
  CHECK(array_equal(jit(f)(one, x4), x4 * 2.f));
  CHECK(array_equal(vmap(jit(f))(x4, x4), x4 * 2.f));
}

TEST_CASE("factorisations of which one factor is read don't compute the other one") {
  struct Case {
    const char* mark;
    std::function<Array(const Array&)> of;
    bool is_square;
  };
  const std::vector<Case> cases{
      {"only_r=True", [](const Array& x) { return linalg::qr(x).r; }, false},
      {"only_r=True", [](const Array& x) { return linalg::qr(x, {.full_matrices = true}).r; }, false},
      {"only_values=True", [](const Array& x) { return linalg::eigvalsh(x); }, true},
  };
  for (const Case& c : cases)
    for (const DType t : {float32, float64, complex64, complex128})
      for (const Shape& s : {Shape{3, 3}, Shape{40, 40}, Shape{4, 13, 13}, Shape{20, 9}, Shape{2, 9, 20}, Shape{0, 3, 3}, Shape{3, 0}}) {
        if (c.is_square && s[-1] != s[-2]) continue;
        CAPTURE(c.mark);
        CAPTURE(t.name());
        CAPTURE(fmt::format("{}", s));
        const Array x = random::normal(random::key(3), s, t);
        const auto f = [&](const Array& a) { return c.of(a); };
        const Jaxpr whole = make_jaxpr(f)(x), part = detail::dce_program(whole);
        CHECK_FALSE(contains(whole.to_string(), c.mark));
        CHECK(contains(part.to_string(), c.mark));
        CHECK(parse(part.to_string()) == part);
        part.check();
        const auto evaluated = [&](const Jaxpr& j) {
          return [&j](const Array& a) { return detail::eval_jaxpr(j, std::vector<Array>{a})[0]; };
        };
        const auto near = [&](const Array& a, const Array& b) { CHECK(allclose(a, b, {.rtol = 1e-3, .atol = 1e-3}).item<bool>()); };
        const Array one = evaluated(whole)(x);
        near(evaluated(part)(x), one);
        near(jit(f)(x), one);
        near(vmap(evaluated(part))(stack({x, 2 * x}))[1], evaluated(whole)(2 * x));
        if (s.num_elements() == 0 || (s[-1] < 4 && s[-2] < 4)) continue;
        // Exported, as JAX's routines.

        near(detail::eval_jaxpr(parse_stablehlo(to_stablehlo(part)), std::vector<Array>{x})[0], one);
        // The derivative reads both factors again.
        if (contains(c.mark, "only_r") && s[-2] != s[-1]) continue;
        const Array d = cos(x);
        near(jvp(evaluated(part), std::tuple{x}, std::tuple{d}).second, jvp(evaluated(whole), std::tuple{x}, std::tuple{d}).second);
      }
}
