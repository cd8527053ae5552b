// Stacked arrays that differ by an even step: one expression of the place, with the values of the arrays.
#include <doctest/doctest.h>

#include <array>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/lcg.h"
#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

namespace {

Arrays windows(const Array& x, int count, int step, std::int64_t size) {
  Arrays all;
  for (int k = 0; k < count; ++k) all.push_back(x(slice(k * step, k * step + size)));
  return all;
}

}  // namespace

TEST_CASE("stacked values: windows, along any axis and nested, are one load") {
  const CodeFrom code("baseline");
  const Array x = values({200}, 1), image = reshape(astype(arange(40 * 56) % 251, uint8), {40, 56});
  for (const int axis : {0, 1}) {
    const std::string kernels = same([&](Xs v) { return stack(windows(v[0], 9, 3, 150), axis); }, {x}, 0);
    CHECK(!has(kernels, "select"));
  }
  const std::string patches = same(
      [](Xs v) {
        Arrays rows;
        for (int i = 0; i < 2; ++i) {
          Arrays row;
          for (int k = 0; k < 2; ++k) row.push_back(v[0](slice(i, none, 8), slice(k, none, 8)));
          rows.push_back(stack(row, -1));
        }
        return stack(rows, -2);
      },
      {image}, 0);
  CHECK(!has(patches, "select"));
  same([](Xs v) { return stack(windows(v[0], 5, -2 + 2, 150), 0); }, {x}, 0);
  same([](Xs v) { return sum(stack(windows(v[0], 7, 1, 150), 1), 1); }, {x});
  same([](Xs v) { return stack(windows(v[0], 7, 2, 150), 1)(slice(3, 99), slice(none, none, -1)); }, {x}, 0);
  // Reached from outside of the stack, where nothing of it is read.
  same([](Xs v) { return pad(stack(windows(v[0], 4, 5, 30), 1), 2.f, {{1, 1, 0}, {2, 1, 0}}); }, {x}, 0);
  same([](Xs v) { return pad(stack(windows(v[0], 4, 5, 30), 1), 2.f, {{0, 0, 1}, {0, 0, 2}}); }, {x}, 0);
  same([](Xs v) { return reshape(stack(windows(v[0], 6, 5, 30), 1), {20, 9}); }, {x}, 0);
  same([](Xs v) { return stack(windows(v[0], 6, 5, 30), 1)[v[1]]; }, {x, astype(arange(17) * 3 % 30, int32)}, 0);
}

TEST_CASE("stacked values: channels, computed values, and what is not even") {
  const CodeFrom code("baseline");
  const Array pixels = reshape(values({3 * 77}, 2), {77, 3}), x = values({60}, 3), words = astype(arange(500) * 2654435, uint32);
  const auto channel = [](const Array& a, int k) { return a(slice(), k); };
  CHECK(!has(same([&](Xs v) { return stack({channel(v[0], 2), channel(v[0], 1), channel(v[0], 0)}, 1); }, {pixels}, 0), "select"));
  same([&](Xs v) { return stack({channel(v[0], 0), channel(v[0], 2), channel(v[0], 1)}, 1); }, {pixels}, 0);
  same([&](Xs v) { return stack({channel(v[0], 0), channel(v[0], 0), channel(v[0], 1)}, 1); }, {pixels}, 0);
  same([&](Xs v) { return stack({channel(v[0], 0) * 2.f, channel(v[0], 1) * 2.f, channel(v[0], 2) * 3.f}, 1); }, {pixels}, 0);
  same([&](Xs v) { return stack({exp(channel(v[0], 0)), exp(channel(v[0], 1)), exp(channel(v[0], 2))}, 0); }, {pixels});
  same([&](Xs v) { return stack({v[0](slice(0, 20)) + 1.f, v[0](slice(20, 40)) + 1.f, v[0](slice(40, 60)) + 1.f}); }, {x}, 0);
  same(
      [&](Xs v) {
        const Array z = complex(v[0](slice(0, 30)), v[0](slice(30, 60)));
        return stack({z(slice(0, 10)), z(slice(10, 20)), z(slice(20, 30))}, 1);
      },
      {x}, 0);
  for (const int bits : {4, 8, 32})
    same(
        [&](Xs v) {
          Arrays planes;
          for (int k = 0; k < bits; ++k) planes.push_back((v[0] >> astype(Array(k), uint32)) & astype(Array(1), uint32));
          return stack(planes, 1);
        },
        {words}, 0);
  // An array that is computed in the same kernel, and one in a loop's carry.
  same(
      [&](Xs v) {
        const Array c = cumsum(v[0]);
        return stack(windows(c, 4, 2, 50), 1);
      },
      {x});
  same(
      [&](Xs v) {
        return fori_loop(0, 3, [&](Array, Array c) { return sum(stack(windows(pad(c, 0.f, {{2, 2, 0}}), 5, 1, 60)), 0); }, v[0]);
      },
      {x});
  // Numbers of positions, divided: rows that belong together.
  for (const int rows : {1, 4, 7, 12}) same([&](Xs v) { return zeros({60}, float32).at(floor_divide(arange(60), rows)).add(v[0]); }, {x});
  same([&](Xs v) { return v[0] * astype(remainder(arange(60), 7), float32) + astype(floor_divide(arange(60) - 30, 7), float32); }, {x}, 0);
}

TEST_CASE("gathers of bytes and 16-bit numbers: channels of pixels, the array's last elements, small arrays") {
  const CodeFrom code("optimized");
  for (const DType t : {bool_, uint8, int8, int16, uint16, bfloat16, float16}) {
    CAPTURE(t.name());
    for (const int n : {1, 2, 3, 5, 700, 1000}) {
      CAPTURE(n);
      const Array image = astype(arange(3 * n) % 255 - (t.is_unsigned() || t == bool_ ? 0 : 100), t),
                  at = astype(arange(333) * 7919 % n, int32), last = full({50}, n - 1);
      same([](Xs v) { return reshape(v[0], {-1, 3})[v[1]]; }, {image, at}, 0);
      same([](Xs v) { return v[0][v[1]]; }, {image, last}, 0);
      same([](Xs v) { return v[0][v[1] * 3 + 2]; }, {image, concatenate({at, Array(last)})}, 0);
      same([](Xs v) { return where(v[1] > 1, v[0][v[1] * 3 + 1], v[0][v[1] * 3]); }, {image, at}, 0);
      same([](Xs v) { return astype(reshape(v[0], {-1, 3})[v[1]], float32) * .5f + astype(reshape(v[0], {-1, 3})[0 * v[1]], float32); },
           {image, at}, 0);
      same([](Xs v) { return reshape(v[0], {-1, 3})(slice(), v[1]); }, {image, astype(arange(40) % 3, int32)}, 0);
    }
    // A stride between lanes, in a loop that goes along the rows.
    const Array rows = reshape(astype(arange(37 * 24) % 255, t), {37, 24});
    same(
        [](Xs v) {
          return scan([](Array h, Array b) { return std::pair{h * 31 + astype(b, int32), h}; }, zeros({37}, int32), transpose(v[0])).first;
        },
        {rows}, 0);
  }
}

TEST_CASE("stacked values: records along two loops, of numbers, positions and elements that vary along either or both") {
  Lcg numbers{7};
  const auto below = [&](unsigned n) { return static_cast<unsigned>(numbers.next() >> 33) % n; };
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (int round = 0; round < 40; ++round) {
      const DType t = std::array{float64, float32, int32}[below(3)];
      const std::int64_t rows = 5 + static_cast<std::int64_t>(below(9)), columns = 8 + static_cast<std::int64_t>(below(12));
      const int outer = 2 + static_cast<int>(below(2)), inner = 2 + static_cast<int>(below(2));
      std::vector<unsigned> kinds;
      for (int i = 0; i < outer * inner; ++i) kinds.push_back(below(6));
      const std::vector<int> order = std::array{std::vector{0, 1, 2, 3}, std::vector{2, 3, 0, 1}, std::vector{0, 2, 1, 3}}[below(3)];
      CAPTURE(quality);
      CAPTURE(round);
      CAPTURE(t.name());
      same(
          [&](Xs x) {
            const Array down = astype(arange(rows), t)(slice(), newaxis), across = astype(arange(columns), t);
            const auto leaf = [&](unsigned kind) -> Array {
              switch (kind) {
                case 0: return ones({rows, columns}, t);
                case 1: return broadcast_to(across, {rows, columns});
                case 2: return broadcast_to(down * 3, {rows, columns});
                case 3: return across - down;
                case 4: return x[0];
                default: return x[0] * across;
              }
            };
            Arrays all;
            for (int i = 0; i < outer; ++i) {
              Arrays one;
              for (int k = 0; k < inner; ++k) one.push_back(leaf(kinds[static_cast<std::size_t>(i * inner + k)]));
              all.push_back(stack(one, -1));
            }
            return transpose(stack(all, -2), order);
          },
          {astype(values({rows, columns}, round) * 9.f, t)}, 0);
    }
  }
}
