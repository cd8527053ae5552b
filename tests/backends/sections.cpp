// Loops with borders: the parts between them run as loops of their own.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/messages.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"

using namespace weft;
using namespace weft::test;

namespace {

/// A kernel of one loop with comparisons 0 <= step * i + constant < bound.
struct Border {
  std::int64_t step, constant, bound;
};
detail::Kernel loop_with(std::int64_t size, const std::vector<Border>& borders) {
  detail::Kernel k;
  const int dim = k.dag.add_dim(size);
  k.outer = {dim};
  k.limits.assign(1, {});
  for (const Border& b : borders) k.dag.below(k.dag.offset(k.dag.scale(k.dag.index_dim(dim), b.step), b.constant), b.bound);
  return k;
}

}  // namespace

TEST_CASE("sections: they follow each other, and comparisons have one outcome in each uniform one") {
  for (const std::int64_t size : {5, 64, 100, 1000})
    for (const std::int64_t lanes : {1, 8, 16})
      for (const std::vector<Border>& borders : {std::vector<Border>{{1, -1, size}},
                                                 {{1, 1, size}},
                                                 {{1, -40, 8}, {1, 0, 40}},
                                                 {{-1, 77, 50}},
                                                 {{2, -31, 60}, {-3, 200, 90}},
                                                 {{1, -16, 32}}}) {
        const detail::Kernel k = loop_with(size, borders);
        std::int64_t done = 0, cut = 0;
        for (const detail::Section& s : detail::sections(k, 0, lanes)) {
          CHECK(s.from == done);
          CHECK(s.from < s.to);
          CHECK((s.from % lanes == 0 && (s.to % lanes == 0 || s.to == size)));
          done = s.to;
          if (!s.uniform) cut += (s.to - s.from + lanes - 1) / lanes;
          for (const detail::Node& n : k.dag.nodes)
            for (std::int64_t i = s.from; s.uniform && i < s.to; ++i)
              if (detail::is_border(k, n, 0)) CHECK(detail::holds_at(k, n, i) == detail::holds_at(k, n, s.from));
        }
        CHECK(done == size);
        CHECK(cut <= static_cast<std::int64_t>(2 * borders.size()));
        if (lanes == 1) CHECK(cut == 0);
      }
}

TEST_CASE("sections: loops between the borders of shifts, joins and paddings") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    CAPTURE(quality);
    for (const int n : {150, 513, 4096, 10000}) {
      CAPTURE(n);
      const Array x = values({n}, 1), y = values({n + 37}, 2);
      same([](Xs a) { return exp(roll(a[0], 1)) - roll(a[0], -2) * tanh(a[0]); }, {x});
      same([](Xs a) { return concatenate({exp(a[0]), tanh(a[1]), sin(flip(a[0], 0))}, 0) * 2.f; }, {x, y});
      same([](Xs a) { return sin(pad(a[0], {{100, 3}}, 1.f)) + sin(pad(a[0], {{2, 101}}, -1.f)); }, {x});
      same([](Xs a) { return exp(concatenate({a[0](slice(none, none, 2)), a[1](slice(1, none, 2))}, 0)) + 1.f; }, {x, y});
      same([](Xs a) { return Arrays{sum(roll(a[0], 3) * a[0]), max(pad(a[0], {{40, 0}}, 0.5f))}; }, {x}, 1e-4);
      const Array flags = x > 0.f, bytes = astype(round(abs(x) * 90.f), uint8);
      same([](Xs a) { return (roll(a[0], 1) | a[0]) ^ (roll(a[0], -1) & a[0]); }, {flags}, 0);
      same([](Xs a) { return roll(a[0], 5) + roll(a[0], -70) * a[0]; }, {bytes}, 0);
    }
  }
}

TEST_CASE("sections: of rows, of columns, of both") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    CAPTURE(quality);
    const Array x = values({70, 131}, 1), y = values({45, 131}, 2), z = values({131, 45}, 3);
    same([](Xs a) { return exp(concatenate({a[0], a[1]}, 0)); }, {x, y});
    same([](Xs a) { return exp(concatenate({transpose(a[0]), transpose(a[1])}, 0)); }, {x, values({70, 45}, 2)});
    same([](Xs a) { return exp(concatenate({transpose(a[0]), a[1], transpose(a[2])}, 1)) * 3.f; }, {x, z, y});
    same([](Xs a) { return tanh(roll(a[0], {17, 40}, {0, 1})) + a[0]; }, {x});
    same([](Xs a) { return sum(exp(pad(a[0], {{3, 30}, {40, 60}}, 0.f)), 0); }, {x}, 1e-4);
    same([](Xs a) { return sum(exp(pad(a[0], {{3, 30}, {40, 60}}, 0.f)), 1); }, {x}, 1e-4);
    same([](Xs a) { return cumsum(pad(a[0], {{0, 0}, {64, 0}}, 1.f), 1); }, {x}, 1e-4);
  }
}

TEST_CASE("sections: parts that are computed differently choose nothing for each element") {
  const Array x = values({20000}, 1), y = values({30000}, 2);
  const auto joined = [](Xs a) { return concatenate({exp(a[0]), tanh(a[1])}, 0) * 2.f; };
  CHECK(has(same(joined, {x, y}, 1e-5, "schedule"), "peel i0"));
  // Each part has its own function only.
  const CodeFrom code("optimized");
  CHECK(same(joined, {x, y}, 1e-5, "asm").find("kmov") == std::string::npos);
  // Both operands' squares are transposed, or, where squares are smaller, the result's.
  const std::string schedule = same([](Xs a) { return exp(concatenate({transpose(a[0]), transpose(a[1])}, 1)); },
                                    {values({300, 70}, 1), values({200, 70}, 2)}, 1e-5, "schedule");
  CHECK((has(schedule, "transpose a0 a1") || has(schedule, "transpose a2")));
}

TEST_CASE("sections: short loops whose borders lie between vectors") {
  const CodeFrom code("optimized");
  for (const DType t : {float32, bfloat16, float64, int32})
    for (const int width : {16, 64, 128, 72}) {
      CAPTURE(t.name());
      CAPTURE(width);
      const int half = width / 2;
      const Array x = astype(values({7, width}, 1) * 9.f, t), by = astype(values({7, half}, 2) * 9.f, t);
      const std::string schedule = same(
          [half](Xs v) {
            const Array a = v[0](slice(), slice(none, half)), b = v[0](slice(), slice(half, none));
            return concatenate({Array(a * v[1] - b), Array(b * v[1] + a)}, 1);
          },
          {x, by}, 1e-5, "schedule");
#ifdef __x86_64__
      if (width == 64 && t == float32 && __builtin_cpu_supports("avx512bw")) CHECK(has(schedule, "peel"));
#endif
    }
}

TEST_CASE("sections: each array of a stack has code of its own where the stack is reduced, or gone through for each point") {
  const auto shifts = [](Xs x) {
    Arrays all;
    for (int k = 0; k < 9; ++k) all.push_back(roll(roll(x[0], k % 3 - 1, 0), k / 3 - 1, 1) * (1.f + static_cast<float>(k)));
    return stack(all);
  };
  const Arrays args{values({40, 100}, 1)};
  const auto reduced = [&](Xs x) { return sum(shifts(x), 0) + max(shifts(x), 0); };
  CHECK(has(same([&](Xs x) { return Arrays{reduced(x)}; }, args, 1e-5, "schedule"), "peel i2"));
  same(
      [&](Xs x) {
        const Array f = shifts(x), mean_of = mean(f, 0);
        return Arrays{f - 0.6f * (f - mean_of), mean_of};
      },
      args);
  same([&](Xs x) { return Arrays{fori_loop(0, 4, [&](Array, Array c) { return reduced({c}) * 0.01f; }, x[0])}; }, args);
}

TEST_CASE("sections: a padded image is stored, and what is computed of its windows is not") {
  const auto weighted = [](Xs x) {
    const Array padded = pad(x[0], {{1, 1}, {1, 1}, {0, 0}}, "edge");
    Array all = zeros({40, 50, 3});
    for (int k = 0; k < 2; ++k) {
      const Array window = padded(slice(k, k + 40), slice(2 * k, 2 * k + 50));
      all = all + exp(-sum(square(window - x[1]), -1, keepdims)) * window;
    }
    return Arrays{all};
  };
  const std::string kernels = same(weighted, {values({40, 50, 3}, 1), values({40, 50, 3}, 2)});
  const char* const whole = "f32[6000], 6000 written";
  CHECK(has(kernels, whole));
  CHECK(kernels.find(whole) == kernels.rfind(whole));
}
