// Integers that are computed from positions alone, and gathers at positions that are constants: progressions are read in order, few others
// are joined from slices, in and outside of loops.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/messages.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/cpu/jit.h"
#include "weft/core/ir/jaxpr.h"

using namespace weft;
using namespace weft::test;

namespace {

std::string simplified(const std::function<Array(Array)>& f, const Array& x) {
  const Jaxpr j = detail::simplify(make_jaxpr(f)(x));
  j.check();
  return j.to_string();
}
bool has_gather(const std::string& text) { return text.find("gather[") != std::string::npos; }
/// Whether positions are read from memory.
bool has_table(const std::string& text) { return text.find("{ lambda ;") != 0; }

}  // namespace

TEST_CASE("positions: indices that are known to lie inside are positions") {
  const Array x = values({300}, 1);
  const auto windows = [](Xs v) { return v[0](expand_dims(arange(200), 1) * 2 - 3 + expand_dims(arange(50), 0) + 3); };
  const std::string kernels = same([&](Xs v) { return sum(windows({v[0]}), 1); }, {values({500}, 1)});
  CHECK(has(kernels, "a0[2*i0 + i1]"));
  // Numbers that wrap around, or leave the array, are what they are.
  for (const DType t : {int8, uint8, int16, uint32, int64}) {
    CAPTURE(t.name());
    const auto counted = [&](std::int64_t n) { return iota(t, {static_cast<int>(n)}); };
    same([&](Xs v) { return v[0](counted(300)); }, {x});
    same([&](Xs v) { return v[0](counted(250) + 100); }, {x});
    same([&](Xs v) { return v[0](counted(100) * 5 - 120); }, {x});
    same([&](Xs v) { return v[0](astype(counted(300), int32) - 7); }, {x});
    same([&](Xs v) { return where(counted(300) < 70, v[0], -v[0]) + astype(minimum(counted(300), 40), float32); }, {x});
    same([&](Xs v) { return v[0] * astype(counted(300) - 120, float32) + astype(maximum(counted(300) - 110, counted(300) * 0), float32); },
         {x});
  }
}

TEST_CASE("positions: indices of distances, from the end, halved and joined bits lie inside") {
  const Array x = values({300}, 1);
  const Array rows = values({300, 300}, 2);
  const auto lies_inside = [&](const auto& index, bool inside = true) {
    const std::string kernels = same([&](Xs v) { return v[0](index()) * v[1]; }, {x, rows});
    INFO(kernels);
    CHECK((kernels.find(" min ") == std::string::npos && kernels.find(" max ") == std::string::npos) == inside);
  };
  const auto difference = [] { return expand_dims(arange(300), 1) - arange(300); };
  lies_inside([&] { return abs(difference()); });
  lies_inside([&] { return floor_divide(abs(difference()), 2); });
  lies_inside([&] { return abs(difference()) >> 1; });
  lies_inside([&] { return difference(); });
  lies_inside([&] { return (abs(difference()) & 255) ^ 3; });
  lies_inside([&] { return -abs(difference()) + 299; });
  lies_inside([&] { return abs(difference()) + 1; }, false);
  lies_inside([&] { return -abs(difference()) - 2; }, false);
  lies_inside([&] { return floor_divide(abs(difference() * 2), 3) * 2; }, false);
}

TEST_CASE("positions: borders along a dimension are borders along it and short ones inside of it") {
  const auto padded = [](Array x) { return pad(x, {{1, 2}, {3, 1}, {0, 0}}, 7); };
  const auto windows = [&](Xs v) {
    const Array p = padded(v[0]);
    return maximum(p(slice(2, none), slice(1, -1)), minimum(p(slice(0, -2), slice(0, -2)), p(slice(1, -1), slice(2, none))));
  };
  const auto joined = [](Xs v) {
    return concatenate({v[0](slice(), slice(0, 4)) + v[0](slice(), slice(1, 5)), v[0](slice(), slice(4, none))}, 1);
  };
  const auto reversed = [](Xs v) {
    const Array c = concatenate({full({4}, 2, v[0].dtype()), full({6}, 3, v[0].dtype())}, 0);
    return v[0] + expand_dims(flip(c, 0), {0, 2});
  };
  for (const DType t : {uint8, int16, float32, float64})
    for (const int channels : {1, 2, 3, 7, 8, 16, 17}) {
      CAPTURE(t.name());
      CAPTURE(channels);
      const Array x = astype(samples({9, 10, channels}, 1) * 20 + 50, t);
      const std::string kernels = same([&](Xs v) { return padded(v[0]); }, {x});
      const bool is_short = channels * t.itemsize() < 64 && channels <= 16;
      CHECK(has(kernels, fmt::format("i1 < {}", 14 * (is_short ? channels : 1)).c_str()));
      const std::string cut = fmt::format("0 <= i1 - {} < {}", 3 * channels, 10 * channels);
      CHECK((kernels.find(cut) != std::string::npos) == is_short);
      same(windows, {x});
      same(joined, {x});
      same(reversed, {x});
      // The position is a value too, or moves by another step than elements do.
      same([&](Xs v) { return padded(v[0]) + astype(expand_dims(arange(14), {0, 2}), t); }, {x});
      same([&](Xs v) { return pad(v[0], {{1, 0}, {2, 1}, {0, 0}}, 3)(slice(), slice(none, none, 2)); }, {x});
      same([&](Xs v) { return pad(v[0](slice(), slice(none, none, -1)), {{0, 0}, {2, 1}, {0, 0}}, 3); }, {x});
      same([&](Xs v) { return sum(windows(v), {1, 2}); }, {x}, 1e-4);
    }
}

TEST_CASE("positions: comparisons and choices at the ends of what positions can be") {
  const Array x = values({20}, 1);
  for (const int border : {-1, 0, 1, 18, 19, 20}) {
    CAPTURE(border);
    const auto chosen = [&](const auto& holds) { same([&](Xs v) { return where(holds(arange(20)), v[0], -v[0] + 1); }, {x}); };
    chosen([&](Array n) { return n < border; });
    chosen([&](Array n) { return n <= border; });
    chosen([&](Array n) { return n > border; });
    chosen([&](Array n) { return n >= border; });
    chosen([&](Array n) { return minimum(n, border) < maximum(n, border); });
    same([&](Xs v) { return v[0] + convert(minimum(arange(20), border) * 100 + maximum(arange(20), border), float32); }, {x});
  }
  same([](Xs v) { return v[0] + convert(maximum(arange(20), arange(20) * 2) - minimum(arange(20), arange(20) * 2), float32); }, {x});
  same([](Xs v) { return where(arange(20) >= arange(20) * 2, v[0], -v[0]) + where(arange(20) < arange(20) * 2, 1.f, v[0]); }, {x});
}

TEST_CASE("positions: loops and limits beyond 32 bits, of which little is asked for") {
  for (const std::int64_t n : {(std::int64_t{1} << 31) + 3, std::int64_t{1} << 32, (std::int64_t{1} << 32) + 5}) {
    CAPTURE(n);
    const auto begin_of = [n](Array v) { return pad(broadcast_to(v, Shape{n}), {{2, 0}}, 7.f)(slice(0, 40)); };
    CHECK(jit(begin_of)(array(2.f)).to_vector<double>() ==
          jit([](Array v) { return pad(broadcast_to(v, {38}), {{2, 0}}, 7.f); })(array(2.f)).to_vector<double>());
    const auto end_of = [n](Array v) { return pad(broadcast_to(v, Shape{n}), {{0, 2}}, 7.f)(slice(n - 38, n + 2)); };
    CHECK(jit(end_of)(array(2.f)).to_vector<double>() ==
          jit([](Array v) { return pad(broadcast_to(v, {38}), {{0, 2}}, 7.f); })(array(2.f)).to_vector<double>());
    CHECK(jit([n] { return iota(int64, Shape{n})(slice(n - 40, n)) % 1000; })().to_vector<std::int64_t>()[39] == (n - 1) % 1000);
  }
}

TEST_CASE("positions: lines of large results are fetched before they are written, of the largest ones written past the caches") {
  const int wide = detail::native_vector_bytes();
  for (const auto& [shape, step] : std::vector<std::pair<Shape, std::string>>{
           {{300, 1000}, "prefetch_stored"}, {{301, 999}, "prefetch_stored"}, {{100, 1000}, ""}, {{1200, 1024}, "stream"}}) {
    const Array x = values(shape, 1), y = values(shape, 2), z = values(shape, 3);
    const std::string text = same([](Xs a) { return a[0] * a[1] + a[2]; }, {x, y, z}, 0, "schedule");
    CAPTURE(shape);
    if (wide >= 32) {
      CHECK(has(text, "prefetch_stored") == (step == "prefetch_stored"));
      CHECK(has(text, "stream") == (step == "stream"));
    }
  }
  // Records, joined and flat, and complex numbers.
  for (const int channels : {2, 3, 4}) {
    const Array image = values({200, 700, channels}, 1), weights = values({200, 700, 1}, 2);
    same([](Xs a) { return a[0] * a[1] + 1; }, {image, weights}, 0, "schedule");
    same([](Xs a) { return flip(a[0], 2) * 2; }, {image}, 0, "schedule");
  }
  same([](Xs a) { return complex(a[0], a[1]); }, {values({200000}, 1), values({200000}, 2)}, 0);
  // What the kernel reads as well is in the caches.
  CHECK_FALSE(has(same([](Xs a) { return cummax(a[0]); }, {values({400000}, 1)}, 0, "schedule"), "stream"));
}

TEST_CASE("positions: gathers of few lanes, and of 64 bits, are single loads") {
  for (const DType t : {float32, float64, complex64, uint8})
    for (const DType index : {int32, int64, uint16})
      for (const int n : {3, 21}) {
        CAPTURE(t.name());
        CAPTURE(index.name());
        CAPTURE(n);
        const Array x = convert(values({300}, 1) * 30.f, t), at = convert(random::randint(random::key(2), {n}, 0, 300), index);
        const Array beyond = convert(random::randint(random::key(3), {n}, 0, 400), index);
        same([](Xs a) { return a[0](a[1]) * 2; }, {x, at}, 0);
        same([](Xs a) { return convert(a[0](a[1]), float64) * 2.; }, {convert(x, float32), at}, 0);
        same([](Xs a) { return take(a[0], a[1], 0) + 1; }, {x, beyond}, 0);
        same([](Xs a) { return stack({a[0], a[0]}, 1)(slice(), 1)(a[1]); }, {x, at}, 0);
        same([](Xs a) { return where(a[1] < 200, a[0](a[1]), zeros_like(a[0](a[1]))) * 2; }, {x, beyond}, 0);
      }
}

TEST_CASE("positions: indices of which bits are known are those of their own lane") {
  const CodeFrom from("optimized");
  const Array mask = array({false, true, true, false, true, false}), number = array({7, 1, 6, 2, 9, 3});
  for (const DType t : {float32, float64, complex128})
    for (const int n : {2, 3, 4, 6}) {
      const Array x = convert(values({16}, 1), t), m = mask(slice(0, n)), i = number(slice(0, n)), other = convert(values({n}, 2), t);
      same([](Xs a) { return a[0](where(a[1], 1, 0) + 2) + a[2]; }, {x, m, other}, 0);
      same([](Xs a) { return a[0]((a[1] & 3) | 4) + a[2]; }, {x, i, other}, 0);
      same([](Xs a) { return a[0]((a[1] & 5) * 2 + 1) * a[2]; }, {x, i, other}, 0);
      same([](Xs a) { return a[0](minimum(maximum(a[1], 0), 5) + 1) + a[2]; }, {x, i, other}, 0);
    }
}

TEST_CASE("positions: rows that lanes gather elements of are prefetched, and read where they are") {
  for (const DType t : {float32, float64, bfloat16, int8})
    for (const int width : {5, 79})
      for (const int picks : {24, 37, 120}) {
        CAPTURE(t.name());
        CAPTURE(width);
        CAPTURE(picks);
        const int rows = 20 + (600 << 10) / width / static_cast<int>(t.itemsize());
        const Array x = convert(values({rows, width}, 1) * 30.f, t), at = random::randint(random::key(2), {picks}, -width, width + 1);
        const std::string schedule = same([](Xs a) { return take(a[0], a[1], 1); }, {x, at}, 0, "schedule");
        if (detail::native_vector_bytes() >= 64 && width == 79 && picks == 120 && t.itemsize() >= 4)
          CHECK(has(schedule, "prefetch_gathered a1"));
        same([](Xs a) { return Arrays{flip(take(a[0], a[1], 1), 0) * 2, take(reshape(a[0], {2, -1, a[0].shape()[1]}), a[1], 2)}; },
             {x[slice(0, rows / 2 * 2)], at}, 0);
      }
  const Array few = values({64, 79}, 1), at = random::randint(random::key(2), {120}, 0, 79);
  CHECK_FALSE(has(same([](Xs a) { return take(a[0], a[1], 1); }, {few, at}, 0, "schedule"), "prefetch_gathered"));
}

TEST_CASE("known indices: progressions along each dimension of the indices, in every dtype") {
  const CodeFrom code("optimized");
  for (const DType t : {bool_, int8, uint16, int64, float16, bfloat16, float32, float64, complex64}) {
    CAPTURE(t.name());
    const Array x = astype(reshape(arange(6 * 40) % 100, {6, 40}), t);
    for (const Array& at : {array({0, 5, 10, 15}), array({39, 36, 33}), array({7, 7, 7}), array({11}), array({-1, -3, -5, -7}),
                            array({{0, 1, 2}, {4, 5, 6}, {8, 9, 10}}), array({{3}, {2}, {1}})}) {
      const auto columns = [&](Xs v) { return v[0](slice(), at); };
      same(columns, {x}, 0);
      const std::string text = simplified([&](Array v) { return v(slice(), at); }, x);
      CHECK_FALSE(has_table(text));
      same([&](Xs v) { return v[0](at % 6); }, {x}, 0);
    }
  }
}

TEST_CASE("known indices: beyond the ends, as each mode says") {
  const Array x = reshape(arange(0, 24, 1, float32), {4, 6});
  for (const Array& at : {array({0, 3, 6}), array({-8, -4, 0, 4, 8}), array({5, 6, 7}), array({100})})
    for (const char* mode : {"fill", "clip", "wrap"}) {
      CAPTURE(mode);
      same([&](Xs v) { return take(v[0], at, {.axis = 1, .mode = mode}); }, {x}, 0);
      same([&](Xs v) { return take(v[0], at, {.axis = 0, .mode = mode}); }, {x}, 0);
    }
}

TEST_CASE("known indices: two positions for each element, pairs of ranges, windows that overlap") {
  const Array x = reshape(arange(0, 63, 1, float32), {7, 9}), rows = array({0, 2, 4, 6}), columns = array({8, 6, 4, 2}),
              odd = array({1, 0, 5, 3});
  same([&](Xs v) { return v[0](rows, columns); }, {x}, 0);
  same([&](Xs v) { return v[0](rows, odd); }, {x}, 0);
  same([&](Xs v) { return v[0](expand_dims(rows, 1), columns); }, {x}, 0);
  same([&](Xs v) { return v[0](expand_dims(odd, 1), array({0, 1})); }, {x}, 0);
  const Array frames = expand_dims(arange(0, 40, 8), 1) + arange(20), signal = sin(arange(0, 64, 1, float32));
  same([&](Xs v) { return v[0][frames] * 2.f; }, {signal}, 0);
  const Array kept = array(frames.to_vector<int>()), table = reshape(kept, {5, 20});
  CHECK_FALSE(has_table(simplified([&](Array v) { return v[table] * 2.f; }, signal)));
}

TEST_CASE("known indices: few positions in no order are joined from slices in loops") {
  const CodeFrom code("optimized");
  const Array x = sin(reshape(arange(0, 11 * 16, 1, float32), {11, 16}));
  const Array rows = array({0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11}), rolled = array({1, 2, 0}),
              repeated = array({0, 0, 5, 5, 5, 2});
  const auto steps = [](const Array& at) {
    return [at](Array v) { return fori_loop(0, 5, [&](Array, Array c) { return tanh(c(slice(), at)) + c * .5f; }, v); };
  };
  CHECK_FALSE(has_gather(simplified(steps(rows), x)));
  same([&](Xs v) { return steps(rows)(v[0]); }, {x}, 1e-6);
  const auto until = [&](Array v) {
    return while_loop([](Array c) { return sum(c) < 40.f; }, [&](Array c) { return abs(c(slice(), rows)) + .1f; }, v);
  };
  CHECK_FALSE(has_gather(simplified(until, x)));
  same([&](Xs v) { return until(v[0]); }, {x}, 1e-6);
  const auto nested = [&](Array v) {
    return fori_loop(0, 3, [&](Array, Array c) { return fori_loop(0, 2, [&](Array, Array d) { return cos(d(slice(), rows)); }, c); }, v);
  };
  CHECK_FALSE(has_gather(simplified(nested, x)));
  same([&](Xs v) { return nested(v[0]); }, {x}, 1e-6);
  // Two slices are joined anywhere; more, outside of a loop, are no better than a table.
  CHECK_FALSE(has_gather(simplified([&](Array v) { return v(slice(), rolled) * 2.f; }, x)));
  CHECK(has_table(simplified([&](Array v) { return v(slice(), rows) * 2.f; }, x)));
  same([&](Xs v) { return v[0](slice(), rolled) * v[0](slice(), repeated(slice(0, 3))); }, {x}, 1e-6);
  same([&](Xs v) { return vmap([&](Array row) { return row(rolled) + row(repeated(slice(0, 3))); })(v[0]); }, {x}, 1e-6);
  same([&](Xs v) { return steps(array({3, 1, 2, 0}))(v[0](slice(), slice(0, 4))); }, {x}, 1e-6);
  same(
      [&](Xs v) {
        return fori_loop(
            0, 3, [&](Array, Array c) { return c(expand_dims(array({2, 0, 1, 3}), 1), rolled(array({0}))) * .5f; },
            v[0](slice(0, 4), slice(0, 1)));
      },
      {x}, 1e-6);
}

TEST_CASE("known indices: derivatives of what is read") {
  const Array x = cos(reshape(arange(0, 4 * 16, 1, float32), {4, 16})), even = array({0, 4, 8, 12}), rolled = array({1, 2, 0});
  same([&](Xs v) { return grad([&](Array w) { return sum(square(w(slice(), even)) * w(slice(), even + 1)); })(v[0]); }, {x}, 1e-6);
  same([&](Xs v) { return grad([&](Array w) { return sum(sin(w(slice(), rolled)) * w(slice(), array({0, 1, 2}))); })(v[0]); }, {x}, 1e-6);
}
