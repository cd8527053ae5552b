// Branches whose results have the memory of operands that nothing else needs: donated arguments, temporaries, what a loop carries. Where a
// branch can't work in place, or the operand is needed, the values are right all the same.
#include <functional>
#include <tuple>
#include <vector>

#include "tests/ops/checks.h"

using namespace weft;
using namespace weft::test;

namespace {

using Update = std::function<Array(Array, Array)>;  // of the index of a branch and a table

Array table(DType t) {
  const Array x = sin(reshape(arange(64 * 32, float32), {64, 32}));
  return t.is_complex() ? convert(complex(x, cos(x)), t) : convert(x * 8, t);
}

Array flipped(const Array& v) { return v(slice(none, none, -1)); }

/// What works in place in every branch.
const std::vector<std::pair<std::string, Update>>& in_place() {
  static const auto& all = *new std::vector<std::pair<std::string, Update>>{
      {"elementwise", [](Array i, Array v) { return cond(i > 0, [](Array u) { return u * 2 + 1; }, [](Array u) { return u - 3; }, v); }},
      {"a window or nothing",
       [](Array i, Array v) { return cond(i > 0, [](Array u) { return u.at(3).set(u(4)); }, [](Array u) { return u; }, v); }},
      {"windows of three",
       [](Array i, Array v) {
         return switch_(
             i,
             std::tuple{[](Array u) { return u.at(3).set(u(4)); }, [](Array u) { return u.at(slice(5, 7)).set(u(slice(0, 2)) * 2); },
                        [](Array u) { return u.at(0).add(u(1) + u(2)); }},
             v);
       }},
      {"what is thrown away",
       [](Array i, Array v) { return cond(i > 0, [](Array u) { return u + 1; }, [](Array u) { return zeros_like(u); }, v); }},
      {"a branch in a branch",
       [](Array i, Array v) {
         const auto inner = [=](Array u) {
           return cond(i > 1, [](Array w) { return w.at(1).set(w(2)); }, [](Array w) { return w * 2; }, u);
         };
         return cond(i > 0, inner, [](Array u) { return u; }, v);
       }},
      {"a loop in a branch",
       [](Array i, Array v) {
         const auto steps = [](Array u) { return fori_loop(0, 4, [](Array k, Array c) { return c.at(k).set(c(k + 1) * 2); }, u); };
         return cond(i > 0, steps, [](Array u) { return u; }, v);
       }},
      {"a branch in a loop",
       [](Array i, Array v) {
         const auto step = [=](Array k, Array c) {
           return cond((k + i) % 2 == 0, [=](Array u) { return u.at(k).set(u(k + 1)); }, [](Array u) { return u; }, c);
         };
         return fori_loop(0, 5, step, v);
       }},
  };
  return all;
}

/// What does not, in some branch or other, and operands that something else needs.
const std::vector<std::pair<std::string, Update>>& not_in_place() {
  using Two = std::pair<Array, Array>;
  static const auto& all = *new std::vector<std::pair<std::string, Update>>{
      {"another order",
       [](Array i, Array v) { return cond(i > 0, [](Array u) { return flipped(u) + 1; }, [](Array u) { return u * 2; }, v); }},
      {"a running sum", [](Array i, Array v) { return cond(i > 0, [](Array u) { return cumsum(u, 0); }, [](Array u) { return u; }, v); }},
      {"sorted", [](Array i, Array v) { return cond(i > 0, [](Array u) { return sort(real(u), 0) + u; }, [](Array u) { return u; }, v); }},
      {"the operand is needed",
       [](Array i, Array v) {
         const Array r = cond(i > 0, [](Array u) { return u.at(3).set(u(4)); }, [](Array u) { return u; }, v);
         return r + flipped(v);
       }},
      {"the operand twice",
       [](Array i, Array v) {
         return cond(i > 0, [](Array u, Array w) { return u.at(3).set(w(4)); }, [](Array u, Array w) { return u + flipped(w); }, v, v);
       }},
      {"two that change places",
       [](Array i, Array v) {
         const auto [a, b] =
             cond(i > 0, [](Array u, Array w) { return Two{w, u}; }, [](Array u, Array w) { return Two{u, w}; }, v * 2, v + 1);
         return a * 3 + b;
       }},
      {"two, computed of each other",
       [](Array i, Array v) {
         const auto [a, b] = cond(
             i > 0, [](Array u, Array w) { return Two{flipped(w) + u, u * 2}; }, [](Array u, Array w) { return Two{u, w}; }, v * 2, v + 1);
         return a * 3 + b;
       }},
      {"two, one of them chosen",
       [](Array i, Array v) {
         return cond(i > 0, [](Array u, Array w) { return u + w; }, [](Array, Array w) { return w; }, v * 2, v + 1) + 1;
       }},
      {"one result twice",
       [](Array i, Array v) {
         const auto [a, b] =
             cond(i > 0, [](Array u, Array) { return Two{u + 1, u + 1}; }, [](Array u, Array w) { return Two{w, u}; }, v * 2, v);
         return a - flipped(b);
       }},
      {"a constant and an operand",
       [](Array i, Array v) {
         const auto [a, b] = cond(
             i > 0, [](Array u, Array w) { return Two{ones_like(u), u + w}; },
             [](Array u, Array w) { return Two{w.at(0).set(u(1)), flipped(u)}; }, v * 2, v);
         return a - b;
       }},
      {"a branch after a branch",
       [](Array i, Array v) {
         const Array r = cond(i > 0, [](Array u) { return u.at(3).set(u(4)); }, [](Array u) { return u; }, v);
         return cond(i > 1, [](Array u, Array w) { return u.at(5).set(w(3)); }, [](Array u, Array w) { return w + u; }, r, v);
       }},
      {"what is computed late",
       [](Array i, Array v) {
         const Array late = flipped(v) * 2;  // computed where it is read
         const Array r = cond(i > 0, [](Array u) { return u.at(3).set(u(4)); }, [](Array u) { return u - 1; }, v);
         return r + late;
       }},
  };
  return all;
}

Array eagerly(const Update& f, int i, const Array& x) {
  const auto eager = disable_jit();
  return f(array(i), x);
}

}  // namespace

TEST_CASE("branches in place: nothing is copied, and no memory is taken") {
  for (const DType t : {float32, float64, int32, complex64})
    for (const auto& [name, f] : in_place()) {
      CAPTURE(name);
      CAPTURE(t.name());
      const Array x = table(t);
      const auto donating = jit(f, {.donate_argnums = {1}});
      const MemoryAnalysis memory = donating.lower(array(0), x).compile().memory_analysis();
      CHECK(memory.alias_size_in_bytes == x.aval().bytes());
      CHECK(memory.temp_size_in_bytes * 4 < x.aval().bytes());
      // Of a temporary.
      const auto between = jit([&f = f](Array i, Array v) { return sum(f(i, cumsum(v, 0)), 0); });
      CHECK(between.lower(array(0), x).compile().memory_analysis().temp_size_in_bytes < 1.3 * static_cast<double>(x.aval().bytes()));
      for (const int i : {0, 1, 2}) {
        CAPTURE(i);
        const Array want = eagerly(f, i, x);
        CHECK(tree::all_close(jit(f)(array(i), x), want, 1e-6, 1e-6));
        CHECK(tree::all_close(donating(array(i), x * array(1, t)), want, 1e-6, 1e-6));
        CHECK(tree::all_close(between(array(i), x), sum(eagerly(f, i, cumsum(x, 0)), 0), 1e-4, 1e-4));
      }
    }
}

TEST_CASE("branches in place: values are right where memory can't be shared") {
  for (const auto* all : {&in_place(), &not_in_place()})
    for (const DType t : {float32, complex64})
      for (const auto& [name, f] : *all) {
        CAPTURE(name);
        CAPTURE(t.name());
        const Array x = table(t);
        const auto donating = jit(f, {.donate_argnums = {1}});
        const auto many = vmap(f, {.in_axes = {none, 0}});
        const auto chosen = vmap(f);
        for (const int i : {0, 1, 2}) {
          CAPTURE(i);
          const Array want = eagerly(f, i, x);
          CHECK(tree::all_close(f(array(i), x), want, 1e-6, 1e-6));
          CHECK(tree::all_close(jit(f)(array(i), x), want, 1e-6, 1e-6));
          CHECK(tree::all_close(donating(array(i), x * array(1, t)), want, 1e-6, 1e-6));
          const Array both = stack({x, x * array(2, t)});
          const Array wants = stack({want, eagerly(f, i, x * array(2, t))});
          CHECK(tree::all_close(many(array(i), both), wants, 1e-6, 1e-6));
          CHECK(tree::all_close(jit(many)(array(i), both), wants, 1e-6, 1e-6));
          const Array is = array({i, i});
          CHECK(tree::all_close(jit(chosen)(is, both), wants, 1e-6, 1e-6));
        }
      }
}

TEST_CASE("branches in place: an argument that is not given away keeps its values") {
  for (const auto* all : {&in_place(), &not_in_place()})
    for (const auto& [name, f] : *all) {
      CAPTURE(name);
      const Array x = table(float32), before = x + 0;
      for (const int i : {0, 1, 2}) jit(f)(array(i), x);
      CHECK(tree::all_close(x, before, 0, 0));
    }
}

TEST_CASE("branches in place: the derivative") {
  for (const auto* all : {&in_place(), &not_in_place()})
    for (const auto& [name, f] : *all) {
      CAPTURE(name);
      const Array x = table(float32);
      for (const int i : {0, 1, 2}) {
        const auto loss = [&f = f, i](Array v) { return sum(sin(f(array(i), v))); };
        Array want;
        {
          const auto eager = disable_jit();
          want = grad(loss)(x);
        }
        CHECK(tree::all_close(jit(grad(loss), {.donate_argnums = {0}})(x * 1), want, 1e-4, 1e-4));
      }
    }
}

TEST_CASE("a branch of hundreds of arrays, by itself and in a loop") {
  using Arrays = std::vector<Array>;
  Arrays given;
  for (int i = 0; i < 300; ++i) given.push_back(array({static_cast<float>(i), 1.f}));
  const auto doubled = [](const Arrays& v) {
    Arrays out;
    for (const Array& x : v) out.push_back(x * 2);
    return out;
  };
  const auto last = [](const Arrays& v) { return Arrays(v.rbegin(), v.rend()); };
  const auto chosen = [&](Array i, const Arrays& v) { return switch_(i, std::tuple{[](const Arrays& u) { return u; }, doubled, last}, v); };
  const auto repeated = [&](Array n, const Arrays& v) {
    return fori_loop(0, n, [&](Array k, const Arrays& u) { return chosen(k, u); }, v);
  };
  for (const int i : {0, 1, 2}) {
    Arrays want, want_repeated;
    {
      const auto eager = disable_jit();
      want = chosen(array(i), given), want_repeated = repeated(array(i + 1), given);
    }
    CHECK(tree::all_close(jit(chosen)(array(i), given), want, 0, 0));
    CHECK(tree::all_close(jit(repeated)(array(i + 1), given), want_repeated, 0, 0));
  }
}
