// config.debug_key_reuse in functions that are traced.
#include "checks.h"

using namespace weft;
using namespace weft::test;
using weft::random::key;

namespace {

struct On {
  On() { config.debug_key_reuse = true; }
  ~On() { config.debug_key_reuse = false; }
};

Array fresh() {
  static std::uint64_t seed = 192837465;
  return key(++seed);
}
Array draw(Array k) { return random::normal(k, 2); }
Array twice(Array k) {
  const Array first = random::normal(k, 2);
  return first + random::uniform(k, 2);
}
Array once(Array k) {
  const auto [a, b] = random::split<2>(k);
  return random::normal(a, 2) + random::uniform(b, 2) + random::normal(random::fold_in(b, 1), 2);
}

}  // namespace

TEST_CASE("a key that a traced function uses twice") {
  const On on;
  const std::vector<std::string> reused{"uniform", "normal at", "key_reuse.cpp", "split"};
  CHECK(refuses<Error>([] { jit(twice)(fresh()); }, reused));
  CHECK(refuses<Error>([] { vmap(twice)(random::split(fresh(), 3)); }, reused));
  CHECK(refuses<Error>([] { jit(vmap(jit(twice)))(random::split(fresh(), 3)); }, reused));
  CHECK(refuses<Error>([] { make_jaxpr(twice)(fresh()); }, reused));
  CHECK(refuses<Error>([] { jit(grad([](Array x, Array k) { return sum(x * twice(k)); }))(1.f, fresh()); }, reused));
  CHECK(refuses<Error>([] { scan([](Array c, Array k) { return std::pair{c, twice(k)}; }, 0.f, random::split(fresh(), 3)); }, reused));
  for (int i = 0; i < 2; ++i) {
    CHECK_NOTHROW(jit(once)(fresh()));
    CHECK_NOTHROW(vmap(jit(once))(random::split(fresh(), 3)));
    CHECK_NOTHROW(jit(vmap(once, {.in_axes = none, .axis_size = 2}))(fresh()));
    CHECK_NOTHROW(random::poisson(fresh(), 20.f, 3));
    CHECK_NOTHROW(jit([](Array k) { return random::binomial(k, 30.f, .4f, 3); })(fresh()));
    CHECK_NOTHROW(jit([](Array k) { return random::multinomial(k, 30.f, array({.4f, .6f})); })(fresh()));
    CHECK_NOTHROW(jit([](Array k) { return random::permutation(k, 9); })(fresh()));
  }
}

TEST_CASE("a key of an array of keys that a traced function uses twice") {
  const On on;
  const std::vector<std::string> reused{"normal", "used before, by normal at", "key_reuse.cpp"};
  const auto of = [](auto f) { return [f](Array k) { return jit(f)(random::split(k, 4)); }; };
  const auto two = [](Array a, Array b) { return draw(a) + draw(b); };
  CHECK(refuses<Error>([&] { of([&](Array k) { return two(k(0), k(0)); })(fresh()); }, reused));
  CHECK(refuses<Error>([&] { of([&](Array k) { return two(k(3), k(-1)); })(fresh()); }, reused));
  CHECK(refuses<Error>([&] { of([&](Array k) { return two(k(slice(1, 3))(1), k(2)); })(fresh()); }, reused));
  CHECK(refuses<Error>([&] { of([&](Array k) { return two(reshape(k, {2, 2})(1, 0), flip(k, 0)(1)); })(fresh()); }, reused));
  CHECK(refuses<Error>([&] { of([&](Array k) { return std::pair{draw(k(0)), vmap(draw)(k)}; })(fresh()); }, {"vmap of"}));
  CHECK(refuses<Error>(
      [&] {
        jit([&](Array k) {
          const Array keys = random::split(k, 3);
          return two(keys(1), keys(1));
        })(fresh());
      },
      reused));
  CHECK(refuses<Error>([&] { grad([&](Array x, Array k) { return sum(x * two(k(0), k(0))); })(1.f, random::split(fresh(), 2)); }, reused));
  const Array captured = random::split(fresh(), 3);
  CHECK(refuses<Error>([&] { jit([&] { return two(captured(1), captured(1)); })(); }, reused));
  const auto other = [&](Array k) {
    const auto [a, b] = random::split<2>(k(3));
    return two(k(0), k(1)) + draw(k(2)) + two(a, b);
  };
  CHECK_NOTHROW(of(other)(fresh()));
  CHECK_NOTHROW(jit([&] { return two(captured(1), captured(2)); })());
  // A call uses what its function uses of its keys.
  const auto first = jit([](Array k) { return draw(k(0)); });
  const auto second = jit([](Array k) { return draw(k(1)); });
  const Array keys = random::split(fresh(), 3);
  CHECK_NOTHROW(first(keys));
  CHECK_NOTHROW(second(keys));
  CHECK(refuses<Error>([&] { first(keys); }, {"used before, by jit of"}));
  CHECK(refuses<Error>([&] { draw(keys(1)); }, {"normal", "used before, by jit of"}));
  CHECK_NOTHROW(draw(keys(2)));
  const auto both = jit([](Array k) { return draw(k(0)) + draw(k(1)); });
  const Array pair = random::split(fresh(), 3);
  CHECK_NOTHROW(both(pair));
  for (int i : {0, 1}) CHECK(refuses<Error>([&] { draw(pair(i)); }, {"used before, by jit of"}));
  CHECK_NOTHROW(draw(pair(2)));
  const Array more = random::split(fresh(), 3);
  CHECK_NOTHROW(jit([&](Array k) { return first(k) + second(k); })(more));
  CHECK(refuses<Error>([&] { jit([&](Array k) { return first(k) + first(k); })(random::split(fresh(), 3)); }, {"used before, by jit of"}));
  CHECK_NOTHROW(cond(Array(true), [](Array k) { return draw(k(0)); }, [](Array k) { return draw(k(0)); }, random::split(fresh(), 2)));
}

TEST_CASE("a key that is cut out at a traced position, or folded with a traced number, twice") {
  const On on;
  const std::vector<std::string> reused{"normal", "used before, by normal at", "key_reuse.cpp"};
  const auto two = [](Array a, Array b) { return draw(a) + draw(b); };
  const auto of = [](auto f) { return [f](Array k) { return jit(f)(random::split(k, 4), Array(1), Array(2)); }; };
  CHECK(refuses<Error>([&] { of([&](Array k, Array i, Array) { return two(k(i), k(i)); })(fresh()); }, reused));
  CHECK(refuses<Error>([&] { of([&](Array k, Array i, Array j) { return two(k(i + j), k(i + j)); })(fresh()); }, reused));
  CHECK(refuses<Error>([&] { of([&](Array k, Array i, Array) { return two(take(k, i), take(k, i)); })(fresh()); }, reused));
  CHECK(refuses<Error>(
      [&] { of([&](Array k, Array i, Array) { return two(random::fold_in(k(0), i), random::fold_in(k(0), i)); })(fresh()); }, reused));
  const Array captured = random::split(fresh(), 3);
  CHECK(refuses<Error>([&] { jit([&](Array i) { return two(captured(i), captured(i)); })(Array(1)); }, reused));
  const auto in_loop = [&](Array k) {
    return fori_loop(0, 3, [=](Array i, Array x) { return x + random::normal(k(i)) + random::normal(k(i)); }, 0.f);
  };
  CHECK(refuses<Error>([&] { in_loop(random::split(fresh(), 3)); }, reused));

  CHECK_NOTHROW(of([&](Array k, Array i, Array j) { return two(k(i), k(j)); })(fresh()));
  CHECK_NOTHROW(of([&](Array k, Array i, Array) { return two(k(i), k(i + 1)); })(fresh()));
  CHECK_NOTHROW(of([&](Array k, Array i, Array) { return two(random::fold_in(k(0), i), random::fold_in(k(1), i)); })(fresh()));
  CHECK_NOTHROW(of([&](Array k, Array i, Array) { return two(random::fold_in(k(i), 1), random::fold_in(k(i), 2)); })(fresh()));
  CHECK_NOTHROW(of([&](Array k, Array i, Array) { return cond(i > 0, [=] { return draw(k(i)); }, [=] { return draw(k(i)); }); })(fresh()));
  CHECK_NOTHROW(
      of([&](Array k, Array i, Array) { return hessian([=](Array x) { return sum(x * checkpoint(draw)(k(i))); })(1.f); })(fresh()));
  CHECK_NOTHROW(jit([&](Array k) { return fori_loop(0, 3, [=](Array i, Array x) { return x + random::normal(k(i)); }, 0.f); })(
      random::split(fresh(), 3)));
}

TEST_CASE("a call of a function that samples uses its key") {
  const On on;
  const auto drawn = jit(draw);
  const Array k = fresh();
  drawn(k);
  CHECK(refuses<Error>([&] { drawn(k); }, {"jit of", "was used before, by jit of", "key_reuse.cpp"}));
  CHECK(refuses<Error>([&] { random::uniform(k); }, {"uniform", "used before, by jit of"}));
  CHECK(refuses<Error>([&] { jit([&](Array q) { return drawn(q) + drawn(q); })(fresh()); }, {"used before, by jit of"}));
  CHECK(refuses<Error>([&] { jit([&](Array q) { return std::pair{drawn(q), draw(q)}; })(fresh()); }, {"normal", "used before, by jit of"}));
  CHECK(refuses<Error>([&] { jit([&](Array q) { return sum(vmap(draw, {.in_axes = none, .axis_size = 2})(q)) + draw(q); })(fresh()); },
                       {"vmap of"}));
  CHECK(refuses<Error>([&] { jit([&](Array q) { return std::pair{checkpoint(draw)(q), draw(q)}; })(fresh()); },
                       {"normal", "by checkpoint of"}));
  const Array captured = fresh();
  const auto noisy = jit([&](Array x) { return x + random::normal(captured); });
  noisy(1.f);
  CHECK(refuses<Error>([&] { noisy(1.f); }, {"used before, by jit of"}));
  // Only what is used: a part of the keys, or the words, are no use of all.
  const Array keys = random::split(fresh(), 3);
  CHECK_NOTHROW(jit([](Array q) { return draw(q(0)); })(keys));
  CHECK_NOTHROW(jit([](Array q) { return random::key_data(q); })(keys));
  CHECK_NOTHROW(draw(keys(1)));
}

TEST_CASE("one branch uses a key, a loop's body uses it in every step") {
  const On on;
  auto either = [](Array q, Array x) { return cond(x > 0, draw, [](Array r) { return random::uniform(r, 2); }, q); };
  CHECK_NOTHROW(jit(either)(fresh(), 1.f));
  CHECK_NOTHROW(either(fresh(), 1.f));
  CHECK(refuses<Error>([&] { jit([&](Array q) { return std::pair{either(q, 1.f), draw(q)}; })(fresh()); }, {"normal", "by cond"}));

  auto step = [](Array q, auto) {
    const auto [next, now] = random::split<2>(q);
    return std::pair{next, random::normal(now)};
  };
  CHECK_NOTHROW(scan(step, fresh(), none, {.length = 3}));
  CHECK_NOTHROW(jit([&](Array q) { return scan(step, q, none, {.length = 3}).second; })(fresh()));
  CHECK_NOTHROW(jit(
      [](Array q) { return fori_loop(0, 3, [=](Array i, Array x) { return x + random::normal(random::fold_in(q, i)); }, 0.f); })(fresh()));
  const auto same_key = [](Array q) { return fori_loop(0, 3, [=](Array, Array x) { return x + random::normal(q); }, 0.f); };
  CHECK(refuses<Error>([&] { same_key(fresh()); }, {"fori_loop", "closes over a key", "every step", "key_reuse.cpp"}));
  CHECK(refuses<Error>([&] { jit(same_key)(fresh()); }, {"fori_loop", "closes over a key"}));
  CHECK(refuses<Error>([] { scan([](Array q, auto) { return std::pair{q, random::normal(q)}; }, fresh(), none, {.length = 3}); },
                       {"scan", "passes it on unchanged"}));
  using Carry = std::pair<Array, Array>;
  CHECK(refuses<Error>(
      [] {
        while_loop([](Carry c) { return c.second < 1; }, [](Carry c) { return Carry{c.first, c.second + random::uniform(c.first)}; },
                   Carry{fresh(), 0.f});
      },
      {"while_loop", "passes it on unchanged"}));
  // One key of the two of each step: the others are still to be used, but all of them not.
  const auto firsts = [](Array rows) { return scan([](Array c, Array row) { return std::pair{c, draw(row(0))}; }, 0.f, rows).second; };
  const auto second = [](Array rows) { return draw(rows(1)(1)); };
  CHECK_NOTHROW(jit([&](Array rows) { return std::pair{firsts(rows), second(rows)}; })(random::split(fresh(), {3, 2})));
  const auto both = [](Array rows) { return scan([](Array c, Array row) { return std::pair{c, vmap(draw)(row)}; }, 0.f, rows).second; };
  CHECK(refuses<Error>([&] { jit([&](Array rows) { return std::pair{both(rows), second(rows)}; })(random::split(fresh(), {3, 2})); },
                       {"normal", "by scan at"}));
  // The carry changes its type, so that the body is traced twice.
  CHECK_NOTHROW(scan([q = fresh()](Array c, Array x) { return std::pair{c * x, random::normal(random::fold_in(q, 3))}; }, 1, ones(3)));
}

TEST_CASE("what a derivative computes again is no second use of a key") {
  const On on;
  auto loss = [](Array x, Array q) { return sum(x * checkpoint(draw)(q)); };
  CHECK_NOTHROW(jit(grad(loss))(1.f, fresh()));
  CHECK_NOTHROW(grad(loss)(1.f, fresh()));
  CHECK_NOTHROW(hessian(loss)(1.f, fresh()));
  CHECK_NOTHROW(jit(vmap(grad(loss), {.in_axes = {none, 0}}))(1.f, random::split(fresh(), 3)));
}
