// custom_jvp and custom_vjp.
#include <functional>
#include <map>
#include <string>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

// The rule says 10 instead of cos, so that its use shows.
auto ten = custom_jvp([](Array x) { return sin(x); },
                      [](auto primals, auto tangents) { return std::pair{sin(std::get<0>(primals)), 10 * std::get<0>(tangents)}; });

TEST_CASE("a jvp rule serves all derivatives") {
  CHECK(near(ten(1.f), {std::sin(1)}));
  CHECK(near(grad(ten)(1.f), {10}));
  CHECK(near(jvp(ten, std::tuple{1.f}, std::tuple{2.f}).second, {20}));
  CHECK(near(jit(grad(jit(ten)))(1.f), {10}));
  CHECK(near(vmap(grad(ten))(ones(2)), {10, 10}));
  CHECK(near(grad([](Array x) { return sum(vmap(ten)(x)); })(ones(2)), {10, 10}));
  CHECK(near(grad([](Array x) { return sum(jit(vmap(jit(ten)))(x)); })(ones(2)), {10, 10}));
  CHECK(near(grad(grad(ten))(1.f), {0}));
  CHECK(has(make_jaxpr(ten)(1.f).to_string(), "custom_jvp_call["));
}

TEST_CASE("a rule may call a jitted function of primals and tangents together") {
  auto rule =
      jit([](std::tuple<Array> x, std::tuple<Array> dx) { return std::pair{sin(std::get<0>(x)), 7 * std::get<0>(x) * std::get<0>(dx)}; });
  auto f = custom_jvp([](Array x) { return sin(x); }, [=](auto x, auto dx) { return rule(x, dx); });
  CHECK(near(grad(f)(2.f), {14}));
  CHECK(near(grad(grad(f))(2.f), {7}));
}

TEST_CASE("a vjp rule, with residuals, under the other transforms") {
  auto scaled = custom_vjp([](Array x, Array s) { return x * s; }, [](Array x, Array s) { return std::pair{x * s, std::tuple{x, s}}; },
                           [](auto res, Array ct) {
                             auto [x, s] = res;
                             return std::tuple{100 * s * ct, x * ct};
                           });
  CHECK(near(grad(scaled)(2.f, 3.f), {300}));
  CHECK(near(grad<1>(scaled)(2.f, 3.f), {2}));
  CHECK(near(jit(vmap(grad(scaled), {.in_axes = {0, none}}))(array({1.f, 2.f}), 3.f), {300, 300}));
  // Inside a mapped function, the shared argument's cotangents are summed.
  auto total = [&](Array x, Array s) { return sum(vmap(scaled, {.in_axes = {0, none}})(x, s)); };
  const auto [gx, gs] = grad<0, 1>(total)(array({1.f, 2.f}), 3.f);
  CHECK(near(gx, {300, 300}));
  CHECK(near(gs, {3}));
  CHECK(near(jacrev(scaled)(2.f, 3.f), {300}));
  CHECK(refuses<TracerError>([&] { jvp(scaled, std::tuple{1.f, 1.f}, std::tuple{1.f, 1.f}); }, {"custom_vjp", "reverse"}));
}

TEST_CASE("a vjp rule under forward mode over reverse mode: the rule itself is differentiated") {
  auto sine = custom_vjp([](Array x) { return sin(x); }, [](Array x) { return std::pair{sin(x), x}; },
                         [](Array x, Array ct) { return std::tuple{cos(x) * ct}; });
  const double second = -std::sin(1.);
  CHECK(near(jvp(grad(sine), std::tuple{1.f}, std::tuple{2.f}).second, {2 * second}));
  CHECK(near(grad(grad(sine))(1.f), {second}));
  CHECK(near(jit(jacfwd(jit(grad(jit(sine)))))(1.f), {second}));
  CHECK(near(hessian([=](Array x) { return sum(vmap(sine)(x)); })(array({1.f, 2.f})), {second, 0, 0, -std::sin(2.)}));
}

TEST_CASE("rules and functions may capture arrays that outer transforms trace") {
  auto by_jvp = [](Array y) {
    auto f = custom_jvp([y](Array x) { return x * y; },
                        [y](auto x, auto dx) { return std::pair{std::get<0>(x) * y, 10 * y * std::get<0>(dx)}; });
    return grad(f)(2.f);
  };
  auto by_vjp = [](Array y) {
    auto f = custom_vjp([](Array x) { return x * 2; }, [](Array x) { return std::pair{x * 2, none}; },
                        [y](None, Array ct) { return std::tuple{10 * y * ct}; });
    return grad(f)(2.f);
  };
  CHECK(near(jit(by_jvp)(3.f), {30}));
  CHECK(near(jit(by_vjp)(3.f), {30}));
  CHECK(near(vmap(by_jvp)(array({3.f, 4.f})), {30, 40}));
  CHECK(near(vmap(by_vjp)(array({3.f, 4.f})), {30, 40}));
}

TEST_CASE("a rule may use what its function captured, when the trace that this belongs to is over") {
  // x^2 s for an s that the caller computes; the rule's derivative is 10 x s, and calls the function itself.
  auto caller = [](Array w) {
    const Array s = stop_gradient(exp(w));
    auto f = custom_jvp([=](Array x) { return x * x * s; }).defjvp([=](auto self, auto x, auto dx) {
      return std::pair{self(std::get<0>(x)), 10 * std::get<0>(x) * s * std::get<0>(dx)};
    });
    return sum(f(2 * w));
  };
  const double e = std::exp(.5);
  CHECK(near(grad(caller)(.5f), {20 * e}));
  CHECK(near(jacfwd(caller)(.5f), {20 * e}));
  CHECK(near(grad(jit(caller))(.5f), {20 * e}));
  CHECK(near(jit(grad(caller))(.5f), {20 * e}));
  CHECK(near(vmap(grad(caller))(array({.5f, 0.f})), {20 * e, 0}));
  CHECK(near(jit(grad([&](Array v) { return sum(vmap(caller)(v)); }))(array({.5f, 0.f})), {20 * e, 0}));
  // s is a constant to the first derivative only: 20 w e^w, and its derivative.
  for (auto second : {std::function<Array(Array)>(grad(grad(caller))), std::function<Array(Array)>(jacfwd(jit(grad(caller)))),
                      std::function<Array(Array)>(jit(jacfwd(jacfwd(caller))))})
    CHECK(near(second(.5f), {40 * e}));
  auto in_loop = [&](Array w) { return scan([&](Array c, Array x) { return std::pair{c + caller(w * x), none}; }, 0.f, ones(3)).first; };
  CHECK(near(grad(in_loop)(.5f), {60 * e}));
  CHECK(near(grad(checkpoint(in_loop))(.5f), {60 * e}));
}

TEST_CASE("a vjp rule may use what its function captured, in both of its functions") {
  // Rounds to multiples of a step that depends on the weights, as if it were the identity scaled by the step.
  auto rounded = [](Array w) {
    const Array step = stop_gradient(max(abs(w))) / 4;
    auto f = custom_vjp([=](Array x) { return round(x / step) * step; }, [=](Array x) { return std::pair{round(x / step) * step, x}; },
                        [=](Array x, Array ct) { return std::tuple{where(abs(x) < 4 * step, step * ct, 0)}; });
    return sum(f(w));
  };
  const Array w = array({.3f, -1.f, 2.f});
  CHECK(near(grad(rounded)(w), {.5, .5, 0}));
  CHECK(near(jit(grad(rounded))(w), {.5, .5, 0}));
  CHECK(near(grad(jit(rounded))(w), {.5, .5, 0}));
  CHECK(near(vmap(grad(rounded))(stack({w, 2 * w})), {.5, .5, 0, 1, 1, 0}));
  CHECK(near(grad([&](Array v) { return sum(vmap(rounded)(v)); })(stack({w, 2 * w})), {.5, .5, 0, 1, 1, 0}));
  CHECK(near(map(grad(rounded), stack({w, 2 * w})), {.5, .5, 0, 1, 1, 0}));
  const auto [value, pull] = vjp(rounded, w);
  CHECK(near(std::get<0>(pull(2.f)), {1, 1, 0}));
}

TEST_CASE("a rule may return what its function captured as it is") {
  // The derivative is k; the captured k is a residual, a cotangent, a result, and one of two results.
  using Function = std::function<Array(Array, Array)>;
  const std::vector<Function> all{
      [](Array k, Array x) {
        return custom_vjp([=](Array y) { return k * k * k * y; }, [=](Array y) { return std::pair{k * k * k * y, k}; },
                          [](Array r, Array ct) { return std::tuple{r * ct}; })(x);
      },
      [](Array k, Array x) {
        return custom_vjp([=](Array y) { return k * k * k * y; }, [=](Array y) { return std::pair{k * k * k * y, y}; },
                          [=](Array, Array) { return std::tuple{k}; })(x);
      },
      [](Array k, Array x) {
        return custom_jvp([=](Array y) { return k + 0 * y; }, [=](auto, auto dy) { return std::pair{k, k * std::get<0>(dy)}; })(x);
      },
      [](Array k, Array x) {
        return custom_vjp([=](Array y) { return std::pair{k + 0, k * y}; }, [=](Array y) { return std::pair{std::pair{k, k * y}, k}; },
                          [](Array r, std::pair<Array, Array> ct) { return std::tuple{r * ct.second}; })(x)
            .second;
      },
  };
  for (const Function& f : all) {
    auto by_x = [&](Array k) { return grad([&](Array x) { return f(k, x); })(2.f); };
    CHECK(near(by_x(3.f), {3}));
    CHECK(near(jit(by_x)(3.f), {3}));
    CHECK(near(vmap(by_x)(array({3.f, 4.f})), {3, 4}));
    CHECK(near(jit(vmap(by_x))(array({3.f, 4.f})), {3, 4}));
    CHECK(near(map(by_x, array({3.f, 4.f})), {3, 4}));
    CHECK(near(scan([&](Array c, Array k) { return std::pair{c + by_x(k), none}; }, 0.f, array({3.f, 4.f})).first, {7}));
  }
}

TEST_CASE("rules that make arrays of their own, inside loops and branches") {
  // The rules' derivative is 10, 20, 30 instead of 1, 1, 1.
  const std::vector<float> slopes{10, 20, 30};
  auto by_jvp = custom_jvp([](Array x) { return x + 1; },
                           [=](auto x, auto dx) { return std::pair{std::get<0>(x) + 1, array(slopes) * std::get<0>(dx)}; });
  auto by_vjp = custom_vjp([](Array x) { return x + 1; }, [](Array x) { return std::pair{x + array({1.f, 1.f, 1.f}), std::tuple{}}; },
                           [=](std::tuple<>, Array ct) { return std::tuple{array(slopes) * ct}; });
  auto check = [&](auto f, bool forward) {
    using Function = std::function<Array(Array)>;
    const std::map<std::string, Function> all = {
        {"scan", [=](Array x) { return scan([=](Array c, auto) { return std::pair{f(c), c}; }, x, none, {.length = 1}).first; }},
        {"outputs of scan", [=](Array x) { return scan([=](Array c, Array v) { return std::pair{c, f(v)}; }, 0.f, x[newaxis]).second[0]; }},
        {"fori_loop", [=](Array x) { return fori_loop(0, 1, [=](Array, Array c) { return f(c); }, x); }},
        {"while_loop",
         [=](Array x) {
           auto [i, y] = while_loop([](std::pair<Array, Array> c) { return c.first < 1; },
                                    [=](std::pair<Array, Array> c) { return std::pair{c.first + 1, f(c.second)}; }, std::pair{Array(0), x},
                                    {.max_steps = 3});
           return y;
         }},
        {"cond", [=](Array x) { return cond(sum(x) > 0, f, [](Array y) { return y * 2; }, x); }},
        {"cond twice", [=](Array x) { return cond(sum(x) > 0, f, [=](Array y) { return f(f(y)); }, x); }},
        {"switch", [=](Array x) { return switch_(1, std::vector<Function>{[](Array y) { return y; }, f, f}, x); }},
        {"map", [=](Array x) { return weft::map(f, x[newaxis])[0]; }},
        {"jit", [=](Array x) { return jit(f)(x); }},
        {"checkpoint", [=](Array x) { return checkpoint(f)(x); }},
        {"a scan of cond",
         [=](Array x) {
           auto step = [=](Array c, auto) { return std::pair{cond(sum(c) > 0, f, [](Array y) { return y * 2; }, c), none}; };
           return scan(step, x, none, {.length = 1}).first;
         }},
    };
    const Array x = array({1.f, 2.f, 3.f});
    for (const auto& [name, g] : all) {
      CAPTURE(name);
      CHECK(near(g(x), {2, 3, 4}));
      auto total = [g = g](Array v) { return sum(g(v)); };
      CHECK(near(grad(total)(x), {10, 20, 30}));
      CHECK(near(jit(grad(total))(x), {10, 20, 30}));
      CHECK(near(vmap(grad(total))(stack({x, x})), {10, 20, 30, 10, 20, 30}));
      CHECK(near(grad([&](Array v) { return sum(vmap(g)(v)); })(stack({x, x})), {10, 20, 30, 10, 20, 30}));
      for (const Jaxpr& j : {make_jaxpr(grad(total))(x), make_jaxpr(vmap(grad(total)))(stack({x, x}))}) j.check();
      if (!forward) continue;
      CHECK(near(jvp(g, std::tuple{x}, std::tuple{ones(3)}).second, {10, 20, 30}));
      CHECK(near(jit(jacfwd(total))(x), {10, 20, 30}));
      CHECK(near(jvp(vmap(g), std::tuple{stack({x, x})}, std::tuple{ones({2, 3})}).second, {10, 20, 30, 10, 20, 30}));
      make_jaxpr([&](Array v) { return jvp(g, std::tuple{v}, std::tuple{v}).second; })(x).check();
    }
  };
  check(by_jvp, true);
  check(by_vjp, false);
}

TEST_CASE("what custom rules refuse") {
  auto bad = custom_vjp([](Array x) { return sum(x); }, [](Array x) { return std::pair{sum(x), none}; },
                        [](None, Array ct) { return std::tuple{ct}; });
  CHECK(refuses<ShapeError>([&] { grad(bad)(ones(3)); }, {"bwd", "f32[]", "f32[3]"}));
  auto captures = [](Array y) {
    return custom_jvp([y](Array x) { return x * y; }, [y](auto, auto dx) { return std::pair{y, std::get<0>(dx)}; })(2.f);
  };
  CHECK(refuses<TracerError>([&] { grad(captures)(1.f); }, {"custom_jvp", "captures"}));
}

Array layers(Array x) { return sum(sin(sin(checkpoint_name(sin(x), "first")))); }
int count(const Jaxpr& j, const std::string& name) {
  int n = 0;
  const std::string text = j.to_string();
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) ++n;
  return n;
}

TEST_CASE("checkpoint: a compiled gradient needs less memory, and is the same") {
  const Array w = .1f * random::normal(random::key(0), {32, 32}), x = random::normal(random::key(1), {1024, 32});
  auto block = [&](Array a) {
    for (int i = 0; i < 6; ++i) a = tanh(matmul(a, w));
    return a;
  };
  auto gradient = [](auto f) { return jit(grad([=](Array a) { return sum(f(f(f(f(a))))); })); };
  const auto kept = gradient(block).lower(x).compile(), recomputed = gradient(checkpoint(block)).lower(x).compile();
  const auto saved = gradient(checkpoint(block, {.policy = policies::everything_saveable})).lower(x).compile();
  CHECK(tree::all_close(kept(x), recomputed(x), 1e-4));
  CHECK(kept.memory_analysis().temp_size_in_bytes > 2 * recomputed.memory_analysis().temp_size_in_bytes);
  CHECK(saved.memory_analysis().temp_size_in_bytes > 2 * recomputed.memory_analysis().temp_size_in_bytes);
}

TEST_CASE("checkpoint: the same derivatives, more operations, less to keep") {
  const Array x = array({.3f, .6f});
  const Array want = grad(layers)(x);
  for (const CheckpointPolicy& policy :
       {policies::nothing_saveable, policies::everything_saveable, policies::dots_saveable, policies::save_only_these_names({"first"})}) {
    auto f = checkpoint(layers, {.policy = policy});
    CHECK(tree::all_close(grad(f)(x), want));
    CHECK(tree::all_close(jit(grad(f))(x), want));
    CHECK(tree::all_close(vmap(grad(f))(stack({x, x}))[1], want));
    CHECK(tree::all_close(hessian(f)(x), hessian(layers)(x)));
  }
  auto sines = [&](const CheckpointPolicy& p) { return count(make_jaxpr(value_and_grad(checkpoint(layers, {.policy = p})))(x), "= sin "); };
  CHECK(sines(policies::nothing_saveable) > sines(policies::save_only_these_names({"first"})));
  CHECK(sines(policies::save_only_these_names({"first"})) > sines(policies::everything_saveable));
}

TEST_CASE("checkpoint: policies by names") {
  // Where a value is saved, the sines before it need not be computed again for the derivative.
  auto f = [](Array x) { return sum(sin(checkpoint_name(sin(checkpoint_name(sin(sin(x)), "first")), "second"))); };
  const Array x = array({.3f, .6f}), want = grad(f)(x);
  auto sines = [&](const CheckpointPolicy& p) {
    auto g = checkpoint(f, {.policy = p});
    CHECK(tree::all_close(grad(g)(x), want));
    CHECK(tree::all_close(jit(vmap(grad(g)))(stack({x, x}))[1], want));
    const Jaxpr j = make_jaxpr(g)(x);
    CHECK(parse(j.to_string()) == j);
    return count(make_jaxpr(value_and_grad(g))(x), "= sin ");
  };
  using namespace policies;
  const int all = sines(everything_saveable), none_saved = sines(nothing_saveable), first = sines(save_only_these_names({"first"})),
            second = sines(save_only_these_names({"second"}));
  CHECK(all == 4);
  CHECK(none_saved > second);
  CHECK(sines(save_only_these_names({"first", "second"})) < first);
  CHECK(sines(save_any_names_but_these({"second"})) == first);
  CHECK(sines(save_any_names_but_these({"first"})) == second);
  CHECK(sines(save_any_names_but_these({"first", "second"})) == none_saved);
  CHECK(sines(save_from_both_policies(save_only_these_names({"first"}), dots_saveable)) == first);
  CHECK(sines(save_from_both_policies(save_only_these_names({"first"}), save_only_these_names({"second"}))) ==
        sines(save_only_these_names({"first", "second"})));
  CHECK(sines(save_from_both_policies(save_only_these_names({"first"}), everything_saveable)) == all);
  CHECK(sines(save_anything_except_these_names({})) == all);
  CHECK(sines(save_anything_except_these_names({"first"})) == all);  // the cosine of the value is saved, the value isn't needed
  CHECK(sines(checkpoint_dots) == none_saved);
  auto products = [&](const CheckpointPolicy& p) {
    auto g = checkpoint([](Array v) { return sum(checkpoint_name(sin(v), "first") * v); }, {.policy = p});
    return count(make_jaxpr(value_and_grad(g))(x), "= sin ");
  };
  CHECK(products(everything_saveable) == 1);
  CHECK(products(save_anything_except_these_names({"second"})) == 1);
  CHECK(products(save_anything_except_these_names({"first"})) == 2);
  // As JAX prints them.
  auto read = [](const std::string& policy) {
    return parse(
               "{ lambda ; a:f32[]. let b:f32[] = remat2[differentiated=False jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) } "
               "policy=" +
               policy + " prevent_cse=True] a in (b,) }")
        .to_string();
  };
  CHECK(has(read("SaveOnlyTheseNames(saveable_names=frozenset({'a', 'b'}))"), "save_only_these_names('a', 'b')"));
  CHECK(has(read("SaveAnyNamesButThese(names=frozenset({'a'}))"), "save_any_names_but_these('a',)"));
  CHECK(has(read("DotsSaveable(only_if_no_batch_dims=True)"), "dots_with_no_batch_dims_saveable"));
  CHECK(has(read("<function everything_saveable at 0x7f0000000000>"), "everything_saveable"));
  CHECK(has(read("None"), "policy=None"));
  CHECK(refuses<Error>([&] { read("<function save_from_both_policies.<locals>.policy at 0x7f0000000000>"); },
                       {"policy", "save_from_both_policies"}));
}

TEST_CASE("checkpoint: what a loop keeps for its derivative falls to its carry") {
  auto layer = [](Array x) { return sin(sin(sin(sin(x)))); };
  auto bytes = [](auto l) {
    auto f = [=](Array x) { return sum(scan([=](Array c, None) { return std::pair{l(c), none}; }, x, none, {.length = 20}).first); };
    return jit(grad(f)).lower(ones(10000)).compile().memory_analysis().temp_size_in_bytes;
  };
  const auto all = bytes(layer), some = bytes(checkpoint(layer));
  CHECK(all > 3 * some);
  CHECK(some < 30 * 4 * 10000);  // one array for each step, and a few more
}

}  // namespace

TEST_CASE("the cotangents of two arguments may be a pair") {
  const auto product =
      custom_vjp([](Array a, Array b) { return a * b; }, [](Array a, Array b) { return std::pair{a * b, std::pair{a, b}}; },
                 [](std::pair<Array, Array> r, Array ct) { return std::pair{3 * ct * r.second, ct * r.first}; });
  const auto [da, db] = grad<0, 1>([&](Array a, Array b) { return sum(product(a, b)); })(full({2}, 2.f), full({2}, 5.f));
  CHECK(near(da, {15, 15}));
  CHECK(near(db, {2, 2}));
}

TEST_CASE("what a rule returns may be a tuple of two") {
  const auto sine = [](Array x) { return sin(x); };
  const auto rule = [](auto x, auto dx) { return std::tuple{sin(std::get<0>(x)), 3 * std::get<0>(dx)}; };
  CHECK(near(grad(custom_jvp(sine, rule))(1.f), {3}));
  const auto forward = [](Array x) { return std::tuple{sin(x), x}; };
  const auto backward = [](Array x, Array ct) { return std::tuple{5 * x * ct}; };
  CHECK(near(grad(custom_vjp(sine, forward, backward))(2.f), {10}));
}
TEST_CASE("none in place of a cotangent is a zero, of numbers, arrays and structs") {
  struct Pair {
    Array a;
    std::vector<Array> b;
  };
  auto f = custom_vjp([](const Pair& p, Array x, Array s) { return p.a * x * s; },
                      [](const Pair& p, Array x, Array s) { return std::pair{p.a * x * s, std::pair{p, s}}; },
                      [](auto res, Array ct) { return std::tuple{none, res.first.a * res.second * ct, none}; });
  auto loss = [&](const Pair& p, Array x, Array s) { return sum(f(p, x, s)) + sum(p.b[1]); };
  const Pair p{2.f, {ones(2), ones(3)}};
  const auto [dp, dx, ds] = jit(grad<0, 1, 2>(loss))(p, ones(2), 3.f);
  CHECK(near(dp.a, {0}));
  CHECK(near(dp.b[0], {0, 0}));
  CHECK(near(dp.b[1], {1, 1, 1}));
  CHECK(near(dx, {6, 6}));
  CHECK(near(ds, {0}));
  CHECK(near(vmap(grad<1>(loss), {none, 0, none})(p, ones({2, 2}), 3.f), {6, 6, 6, 6}));
  auto two = custom_vjp([](Array x, Array y) { return x * y; }, [](Array x, Array y) { return std::pair{x * y, y}; },
                        [](Array y, Array ct) { return std::pair{y * ct, none}; });
  CHECK(near(grad<1>(two)(2.f, 3.f), {0}));
  auto empty = custom_vjp([](Array x, Array y) { return x * y; }, [](Array x, Array y) { return std::pair{x * y, none}; },
                          [](None, Array) { return std::tuple{none, Array()}; });
  CHECK(has(message_of<Error>([&] { grad(empty)(1.f, 2.f); }), {"custom_vjp: bwd", "result 1", "holds nothing"}));
}

TEST_CASE("rules of forward derivatives, one for each argument") {
  // sin(x) * y + w: derivatives 10 and sin(x), and none of w.
  auto f = custom_jvp([](Array x, Array y, Array w) { return sin(x) * y + w; })
               .defjvps([](Array t, Array, Array, Array, Array) { return 10 * t; },
                        [](Array t, Array ans, Array, Array y, Array w) { return (ans - w) / y * t; }, none);
  CHECK(near(jvp(f, std::tuple{1.f, 2.f, 3.f}, std::tuple{1.f, 0.f, 5.f}).second, {10}));
  const auto [dx, dy, dw] = grad<0, 1, 2>(f)(1.f, 2.f, 3.f);
  CHECK(near(stack({dx, dy, dw}), {10, std::sin(1), 0}));
  CHECK(near(grad<1>(grad<1>(f))(1.f, 2.f, 3.f), {0}));  // ans is f's result, so its own rules apply
  CHECK(near(vmap(grad<1>(f), {.in_axes = {0, none, none}})(array({1.f, 2.f}), 2.f, 3.f), {std::sin(1), std::sin(2)}));
  CHECK(near(jit(grad<0>(f))(1.f, 2.f, 3.f), {10}));
  const auto constant = custom_jvp([](Array x) { return std::pair{x, 2 * x}; }).defjvps(none);
  CHECK(near(grad([&](Array x) { return constant(x).second; })(3.f), {0}));
  const auto both =
      custom_jvp([](Array x) { return std::pair{x, 2 * x}; }).defjvps([](Array t, auto, Array) { return std::pair{3 * t, 4 * t}; });
  CHECK(near(grad([&](Array x) { return both(x).first + both(x).second; })(3.f), {7}));
  const auto wrong = custom_jvp([](Array x) { return sum(x); }).defjvps([](Array t, Array, Array) { return t; });
  CHECK(has(message_of<ShapeError>([&] { grad(wrong)(ones(2)); }), {"defjvps", "f32[2]", "f32[]"}));
}

TEST_CASE("one argument and its tangent, of any structure") {
  struct Layer {
    Array w, b;
  };
  const auto f = [](Layer p) { return p.w * p.w + p.b; };
  const auto [y, dy] = jvp(f, Layer{array(2.f), array(1.f)}, Layer{array(1.f), array(3.f)});
  CHECK(near(y, {5}));
  CHECK(near(dy, {7}));
  const auto norm = [](std::map<std::string, Array> p) { return p.at("a") * p.at("b"); };
  const std::map<std::string, Array> at{{"a", array(2.f)}, {"b", array(3.f)}};
  CHECK(near(jvp(norm, at, at).second, {12}));
}
