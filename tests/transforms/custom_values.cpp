// Rules of custom_jvp and custom_vjp that need more than their program holds: values to branch on in C++, and traced values that the rule
// captured and its function didn't.
#include <functional>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

/// A function of x and of k, which only its rule captures, with k as its derivative by x; captured in one of three places.
using Captured = std::function<Array(Array, Array)>;
const Captured in_jvp = [](Array x, Array k) {
  return custom_jvp([](Array a) { return sin(a); }, [k](auto a, auto d) { return std::pair{sin(std::get<0>(a)), k * std::get<0>(d)}; })(x);
};
const Captured in_fwd = [](Array x, Array k) {
  return custom_vjp([](Array a) { return sin(a); }, [k](Array a) { return std::pair{sin(a), k}; },
                    [](Array kept, Array ct) { return std::tuple{kept * ct}; })(x);
};
const Captured in_bwd = [](Array x, Array k) {
  return custom_vjp([](Array a) { return sin(a); }, [](Array a) { return std::pair{sin(a), none}; },
                    [k](None, Array ct) { return std::tuple{k * ct}; })(x);
};

TEST_CASE("a rule may capture a traced value that its function doesn't") {
  for (const Captured& f : {in_jvp, in_fwd, in_bwd}) {
    CHECK(near(grad(f)(1.f, 3.f), {3}));
    CHECK(near(jit(grad(f))(1.f, 3.f), {3}));
    CHECK(near(grad(jit(f))(1.f, 3.f), {3}));
    CHECK(near(grad(checkpoint(f))(1.f, 3.f), {3}));
    CHECK(near(vmap(grad(f), {.in_axes = {none, 0}})(1.f, arange(3.f)), {0, 1, 2}));
    CHECK(near(grad([&](Array x) { return sum(vmap(f, {.in_axes = {none, 0}})(x, arange(3.f))); })(1.f), {3}));
    CHECK(near(pmap(grad(f))(ones(2), array({3.f, 4.f})), {3, 4}));
    // The function doesn't depend on k; its derivative does.
    const auto [by_x, by_k] = grad<0, 1>(f)(1.f, 3.f);
    CHECK(near(by_x, {3}));
    CHECK(near(by_k, {0}));
    CHECK(near(grad<1>(grad(f))(1.f, 3.f), {1}));
    auto in_scan = [&](Array x) { return scan([&](Array c, Array k) { return std::pair{c + f(x, k), none}; }, 0.f, arange(4.f)).first; };
    CHECK(near(grad(in_scan)(1.f), {6}));
    auto in_cond = [&](Array x, Array k) { return cond(k > 0, [&](Array y) { return f(y, k * k); }, [](Array y) { return y; }, x); };
    CHECK(near(vmap(grad(in_cond), {.in_axes = {none, 0}})(1.f, array({2.f, -1.f})), {4, 1}));
  }
  CHECK(near(jvp([](Array x) { return in_jvp(x, 2 * x); }, std::tuple{1.f}, std::tuple{3.f}).second, {6}));
  CHECK(near(jacfwd([](Array x) { return in_jvp(x, 2 * x); })(1.f), {2}));
}

TEST_CASE("a rule that calls its own function may capture") {
  auto f = [](Array x, Array k) {
    return custom_jvp([](Array a) { return exp(a); },
                      [k](auto self, auto a, auto d) {
                        const Array y = self(std::get<0>(a));
                        return std::pair{y, k * y * std::get<0>(d)};
                      })(x);
  };
  CHECK(near(grad(f)(0.f, 3.f), {3}));
  CHECK(near(grad(grad(f))(0.f, 3.f), {9}));
}

TEST_CASE("rules may branch in C++ where values are known") {
  auto forward = custom_jvp([](Array x) { return x > 0 ? sin(x) : cos(x); },
                            [](auto x, auto d) {
                              const auto [a] = x;
                              return a > 0 ? std::pair{sin(a), 2 * std::get<0>(d)} : std::pair{cos(a), 3 * std::get<0>(d)};
                            });
  auto in_fwd = custom_vjp([](Array x) { return x > 0 ? sin(x) : cos(x); },
                           [](Array x) { return x > 0 ? std::pair{sin(x), Array(2.f)} : std::pair{cos(x), Array(3.f)}; },
                           [](Array by, Array ct) { return std::tuple{by * ct}; });
  auto in_bwd = custom_vjp([](Array x) { return x > 0 ? sin(x) : cos(x); }, [](Array x) { return std::pair{x > 0 ? sin(x) : cos(x), x}; },
                           [](Array x, Array ct) { return std::tuple{x > 0 ? 2 * ct : 3 * ct}; });
  for (const auto& [x, want] : {std::pair{1.f, 2.}, std::pair{-1.f, 3.}}) {
    CHECK(near(jvp(forward, std::tuple{x}, std::tuple{1.f}).second, {want}));
    CHECK(near(jacfwd(forward)(x), {want}));
    CHECK(near(linearize(forward, x).second(1.f), {want}));
    CHECK(near(grad(forward)(x), {want}));
    CHECK(near(grad(in_fwd)(x), {want}));
    CHECK(near(grad(in_bwd)(x), {want}));
    CHECK(near(jacrev(in_bwd)(x), {want}));
    CHECK(near(std::get<0>(vjp(in_bwd, x).second(1.f)), {want}));
    CHECK(near(grad([&](Array y) { return in_bwd(2 * y) * 5; })(x), {10 * want}));
    // The first derivative is a constant on each side.
    CHECK(near(grad(grad(in_bwd))(x), {0}));
  }
  CHECK(near(grad(in_bwd)(1.f), {2}));  // not what the value before gave
  CHECK(refuses<ConcretizationError>([&] { jit(grad(in_bwd))(1.f); }, {"cond"}));
  CHECK(refuses<ConcretizationError>([&] { vmap(grad(forward))(ones(2)); }, {"cond"}));
}

}  // namespace
