// Loop-invariant code motion: what is computed before a loop that may have no steps ends, and calls nothing of the user's.
#include "checks.h"

using namespace weft;
using namespace weft::test;

namespace {

/// Counts the steps up to n and adds what `part` gives to the second value in each.
template <class F>
Array repeated(const Array& n, F part) {
  return while_loop([=](const auto& c) { return c.first < n; }, [=](const auto& c) { return std::pair{c.first + 1, c.second + part()}; },
                    std::pair{Array(0), Array(0.f)})
      .second;
}

}  // namespace

TEST_CASE("a loop without steps doesn't run the loops inside of it") {
  // For ever where a is 1.
  auto f = jit([](Array n, Array a) {
    return repeated(n, [=] { return while_loop([=](Array s) { return s < a; }, [](Array s) { return s * 1.f; }, Array(0.f)); });
  });
  CHECK(f(0, 1.f).item<float>() == 0);
  CHECK(f(3, 0.f).item<float>() == 0);
  // Below two loops of which only the inner one has none.
  auto g = jit([](Array n, Array a) {
    return fori_loop(
        0, 3,
        [=](Array, Array c) {
          return c + repeated(n, [=] { return while_loop([=](Array s) { return s < a; }, [](Array s) { return s * 1.f; }, Array(0.f)); });
        },
        Array(0.f));
  });
  CHECK(g(0, 1.f).item<float>() == 0);
}

TEST_CASE("a loop without steps calls nothing of the user's, however deep it stands") {
  int calls = 0;
  const auto refuse = [&](Array) -> Array {
    ++calls;
    throw Error("called");
  };
  const auto call = [&](Array x) { return pure_callback(refuse, ShapeDtypeStruct{{}, float32}, x); };
  auto f = jit([&](Array n, Array x) {
    return repeated(n, [&] { return scan([&](Array s, Array y) { return std::pair{s + call(y), none}; }, Array(0.f), x).first; });
  });
  CHECK(f(0, ones(3)).item<float>() == 0);
  auto g = jit([&](Array n, Array x) {
    return repeated(n, [&] { return cond(x > 0, [&](Array y) { return call(y); }, [](Array y) { return y; }, x); });
  });
  CHECK(g(0, 1.f).item<float>() == 0);
  CHECK(calls == 0);
  CHECK_THROWS_AS(g(1, 1.f).item<float>(), Error);
  CHECK(calls == 1);
}

TEST_CASE("what no step changes is still computed before the loop") {
  const std::string text = jit([](Array n, Array a) {
                             return while_loop([=](const auto& c) { return c.first < n; },
                                               [=](const auto& c) { return std::pair{c.first + 1, matmul(matmul(a, a), c.second)}; },
                                               std::pair{Array(0), ones({8, 8})})
                                 .second;
                           })
                               .lower(3, ones({8, 8}))
                               .compile()
                               .as_text("jaxpr");
  const std::size_t loop = text.find("while["), product = text.find("dot_general[");
  CHECK(product < loop);
  CHECK(text.find("dot_general[", loop) != std::string::npos);
}

TEST_CASE("a loop with neither carry nor inputs of its own, all of which is the same in each step") {
  const auto f = [](Array a) {
    return scan([=](std::tuple<> c, None) { return std::pair{c, sin(matmul(a, a))}; }, std::tuple<>(), none, {.length = 3}).second;
  };
  const Array a = reshape(arange(4.f), {2, 2}), want = stack({sin(matmul(a, a)), sin(matmul(a, a)), sin(matmul(a, a))});
  CHECK(allclose(jit(f)(a), want).item<bool>());
  CHECK(allclose(f(a), want).item<bool>());
  CHECK(
      allclose(jit(grad([&](Array x) { return sum(f(x)); }))(a), grad([](Array x) { return 3 * sum(sin(matmul(x, x))); })(a)).item<bool>());
}

namespace {

/// The scan of the optimised program, its body included, and what stands before it.
std::pair<std::string, std::string> before_and_loop(const std::string& text) {
  const std::size_t loop = text.find("scan[");
  REQUIRE(loop != std::string::npos);
  return {text.substr(0, loop), text.substr(loop)};
}

}  // namespace

TEST_CASE("expensive functions of what no step changes are computed before the loop, also those within calls") {
  const Array a = linspace(-1.f, 2.f, 60).reshape({20, 3}), x = linspace(0.f, 1.f, 60).reshape({20, 3});
  const auto damped = [](Array c, Array r) { return c * exp(-abs(r)) + roll(c, 1); };
  const auto plain = [=](Array r, Array c) { return fori_loop(0, 5, [=](Array, Array s) { return damped(s, r); }, c); };
  const auto called = [=](Array r, Array c) {
    const auto step = jit(damped);
    return fori_loop(0, 5, [=](Array, Array s) { return step(s, r); }, c);
  };
  const Array want = jit([=](Array r, Array c) {
    for (int i = 0; i < 5; ++i) c = damped(c, r);
    return c;
  })(a, x);
  for (const std::string& text : {jit(plain).lower(a, x).compile().as_text("jaxpr"), jit(called).lower(a, x).compile().as_text("jaxpr")}) {
    const auto [before, loop] = before_and_loop(text);
    CHECK(has(before, "= exp "));
    CHECK(loop.find("= exp ") == std::string::npos);
  }
  CHECK(array_equal(jit(plain)(a, x), want).item<bool>());
  CHECK(array_equal(jit(called)(a, x), want).item<bool>());
}

TEST_CASE("what is as fast to compute as to read stays in the loop") {
  const Array row = linspace(0.f, 1.f, 500), x = zeros({500, 500});
  // A matrix of differences is 500 times as large as what it is computed from.
  const auto differences = [](Array r, Array c) {
    return fori_loop(0, 5, [=](Array, Array s) { return s + roll(s, 1) * (expand_dims(r, 0) - expand_dims(r, 1)); }, c);
  };
  // Its operand is read in each step anyway.
  const auto negative = [](Array r, Array c) { return fori_loop(0, 5, [=](Array, Array s) { return (s + r) * roll(s, 1) - -r; }, c); };
  CHECK(has(before_and_loop(jit(differences).lower(row, x).compile().as_text("jaxpr")).second, "= sub "));
  CHECK(has(before_and_loop(jit(negative).lower(row, row).compile().as_text("jaxpr")).second, "= neg "));
  // Each point is computed on its own, with what it needs in registers for all steps.
  const auto pointwise = [](Array r, Array c) { return fori_loop(0, 5, [=](Array, Array s) { return s * s + exp(r); }, c); };
  CHECK(has(before_and_loop(jit(pointwise).lower(row, row).compile().as_text("jaxpr")).second, "= exp "));
}
