// Arrays that are updated in places, as arguments that are donated and as what loops carry: the rest of the array is neither read nor
// written, also where the update is computed from other elements of it.
#include <functional>

#include "tests/ops/checks.h"
#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"

using namespace weft;
using namespace weft::test;

namespace {

using Update = std::function<Array(Array)>;

/// Steps over an array of at least ten rows.
const std::vector<std::pair<std::string, Update>>& updates() {
  static const auto& all = *new std::vector<std::pair<std::string, Update>>{
      {"a constant", [](Array v) { return v.at(3).set(5); }},
      {"another row", [](Array v) { return v.at(3).set(v(4)); }},
      {"the same row", [](Array v) { return v.at(3).set(v(3) * 2 + 1); }},
      {"a sum of rows", [](Array v) { return v.at(3).add(v(2) + v(4)); }},
      {"a row and the first", [](Array v) { return v.at(arange(2) * 6 + 1).add(v(0)); }},
      {"an update of an update", [](Array v) { return v.at(3).set(v(4)).at(4).set(v(5)); }},
      {"rows that change places", [](Array v) { return v.at(3).set(v(4)).at(4).set(v(3)); }},
      {"what was just written",
       [](Array v) {
         const Array u = v.at(3).set(v(4) + 1);
         return u.at(4).set(u(3) * 2);
       }},
      {"three in turns",
       [](Array v) {
         for (int i = 1; i < 4; ++i) v = v.at(i).set(v(i - 1) * 2 - v(i + 1));
         return v;
       }},
      {"a window", [](Array v) { return v.at(slice(5, 7)).set(v(slice(0, 2)) * 2); }},
      {"a window at a place that is read",
       [](Array v) {
         const Array at = convert(abs(real(v(0, 0))), int32) % 4;
         return v.at(at).set(v(at + 1));
       }},
  };
  return all;
}

Array table(DType t) {
  Array x = sin(reshape(arange(64 * 32, float32), {64, 32}));
  return t.is_complex() ? convert(complex(x, cos(x)), t) : convert(x * 8, t);
}

Array in_loop(const Update& f, const Array& x) {
  const auto step = [&](Array, Array v) { return f(v); };
  return fori_loop(0, 5, step, x);
}

}  // namespace

TEST_CASE("updates in place: nothing but the windows is touched") {
  for (const DType t : {float32, float64, int32, complex64})
    for (const auto& [name, f] : updates()) {
      CAPTURE(name);
      CAPTURE(t.name());
      const Array x = table(t);
      const Update looping = [&f = f](Array v) { return in_loop(f, v); };
      for (const Update& run : {f, looping}) {
        Array want;
        {
          const auto eager = disable_jit();
          want = run(x);
        }
        const auto donating = jit(run, {.donate_argnums = {0}});
        const MemoryAnalysis memory = donating.lower(x).compile().memory_analysis();
        CHECK(memory.alias_size_in_bytes == x.aval().bytes());
        CHECK(memory.temp_size_in_bytes * 4 < x.aval().bytes());
        CHECK(tree::all_close(jit(run)(x), want, 1e-6, 1e-6));
        CHECK(tree::all_close(donating(x * array(1, t)), want, 1e-6, 1e-6));
      }
    }
}

TEST_CASE("updates in place: an array that is still needed is copied") {
  const Array x = table(float32);
  const auto check = [&](auto f) {
    const auto donating = jit(f, {.donate_argnums = {0}});
    decltype(f(x)) want;
    {
      const auto eager = disable_jit();
      want = f(x);
    }
    CHECK(tree::all_close(donating(x * 1), want, 1e-6, 1e-6));
    CHECK(tree::all_close(jit(f)(x), want, 1e-6, 1e-6));
  };
  using Two = std::pair<Array, Array>;
  check([](Array v) { return Two{v.at(3).set(v(4)), v * 1}; });
  check([](Array v) { return Two{v.at(3).set(v(4)), v(slice(none, none, -1))}; });
  check([](Array v) { return Two{v.at(3).set(v(4)), v.at(5).set(v(3))}; });
  check([](Array v) {
    const Array u = v.at(3).set(v(4)), w = u.at(0).set(sum(u(3)));
    return Two{w, u + v};
  });
  check([](Array v) {
    const Array u = v.at(3).set(v(4));
    return Two{u, v(3) + u(3)};
  });
  const auto crossed = [](Array i, Two c) { return Two(c.first.at(i).set(c.second(i)), c.second.at(i).set(c.first(i + 1))); };
  check([&](Array v) { return fori_loop(0, 4, crossed, Two(v, v)); });
  const auto exchanged = [](Array i, Two c) { return Two(c.second.at(i).set(c.first(i)), c.first.at(i).set(c.second(i + 1))); };
  check([&](Array v) { return fori_loop(0, 4, exchanged, Two(v, v * 2)); });
  check([](Array v) {
    const auto [end, rows] = scan([](Array c, Array i) { return std::pair(c.at(i).set(c(i + 1) * 2), c(i)); }, v, arange(5));
    return Two{end, rows};
  });
}

TEST_CASE("updates in place: complex values of a loop are overwritten") {
  const Array x = table(complex64);
  const auto turn = [](Array, Array c) { return complex(imag(c), real(c)) * 2 + c; };
  const auto step = jit([&](Array v) { return fori_loop(0, 3, turn, v); }, {.donate_argnums = {0}});
  const MemoryAnalysis memory = step.lower(x).compile().memory_analysis();
  CHECK(memory.alias_size_in_bytes == x.aval().bytes());
  CHECK(memory.temp_size_in_bytes * 4 < x.aval().bytes());
  Array want = x;
  for (int i = 0; i < 3; ++i) want = turn(0, want);
  CHECK(tree::all_close(step(x * 1), want, 1e-5, 1e-5));
}
