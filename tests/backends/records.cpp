// Lanes that lie a short row apart: rows are read as vectors and transposed in registers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

namespace {

Array column(const Array& x, int k) { return x(ellipsis, k); }

Array rotated(Xs x) {
  const Array &a = x[0], &b = x[1];
  const auto part = [&](int i, int k) { return column(a, i) * column(b, k) - column(a, k) * column(b, i); };
  return stack({part(1, 2), part(2, 0), part(0, 1)}, -1);
}

}  // namespace

TEST_CASE("records: some elements of each row, of all of memory's") {
  const CodeFrom code("optimized");
  for (const std::int64_t rows : {1, 5, 16, 37, 5000}) {
    CAPTURE(rows);
    same(rotated, {values({rows, 3}, 1), values({rows, 3}, 2)});
    same(rotated, {values({rows, 5}, 1), values({rows, 21}, 2)});
    // More of a row than a vector holds; some far from others; and rows that reach into one another.
    same([](Xs x) { return column(x[0], 0) * column(x[0], 7) - column(x[0], 19) + column(x[0], 20) / column(x[0], 39); },
         {values({rows, 40}, 1) + 3.f});
    same([](Xs x) { return sum(stack({x[0](slice(0, none, 3)), x[0](slice(1, none, 3)), x[0](slice(2, none, 3))}, -1) * 2.f, -1); },
         {values({3 * rows}, 1)});
    same([](Xs x) { return vmap([](const Array& a) { return linalg::det(a); })(x[0]); }, {values({rows, 3, 3}, 1)}, 1e-4);
  }
}

TEST_CASE("records: all of a loop's lanes within one vector") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {int8, int16, int32, float32, float64})
      for (const std::int64_t stride : {2, 3, 4})
        for (const std::int64_t n : {2, 3, 4, 5, 8, 10, 16, 21, 32}) {
          CAPTURE(t.name());
          CAPTURE(stride);
          CAPTURE(n);
          // In an odd number of elements pairs are no complex numbers. A loop of few points beside a long one has lanes to spare.
          const Array x = convert(arange(n * stride + 1) % 50, t), y = convert(arange(300) % 50, t);
          same(
              [=](Xs a) {
                Array reduced = zeros(n, a[0].dtype());
                for (std::int64_t k = 0; k < stride; ++k) reduced = reduced * 2 + a[0](slice(k, k + (n - 1) * stride + 1, stride));
                return concatenate({cumsum(reduced), a[1] + reduced[0], reduced(slice(none, none, -1))});
              },
              {x, y}, 0);
        }
  }
}

TEST_CASE("records: reductions along short rows") {
  const CodeFrom code("optimized");
  for (const DType t : {float32, float64, float16, int32, int8, uint16, bool_, complex64})
    for (const std::int64_t k : {2, 3, 4, 7, 8, 15, 16, 17, 20, 33, 48, 100})
      for (const std::int64_t rows : {3, 533, 4099}) {
        CAPTURE(t.name());
        CAPTURE(k);
        CAPTURE(rows);
        // Small integers, whose sums are exact; rows that begin within others' memory.
        const Array x = convert(round(values({rows, k + 1}, 1) * 3.f), t), y = convert(round(values({k}, 2) * 3.f), t);
        if (t.is_bool()) {
          same([](Xs a) { return Arrays{any(a[0], -1), all(a[0](slice(), slice(1, none)), -1)}; }, {x});
          continue;
        }
        same([](Xs a) { return Arrays{sum(a[0](slice(), slice(1, none)) * a[1], -1), prod(a[0](slice(), slice(0, 2)), -1)}; }, {x, y}, 0);
        if (!t.is_complex()) same([](Xs a) { return Arrays{max(a[0], -1), argmin(a[0](slice(), slice(1, none)), -1)}; }, {x}, 0);
        if (t == float32) same([](Xs a) { return nn::softmax(a[0], -1); }, {x});
      }
}

TEST_CASE("records: no element is fetched on its own") {
  const CodeFrom code("optimized");
  const auto fetches = [](auto f, const Arrays& x) { return has(same(f, x, 1e-4, "llvm"), "masked.gather"); };
  CHECK_FALSE(fetches(rotated, {values({5000, 3}, 1), values({5000, 3}, 2)}));
  CHECK_FALSE(fetches([](Xs x) { return sum(x[0], -1); }, {values({5000, 16}, 1)}));
  CHECK_FALSE(fetches([](Xs x) { return sum(x[0] * x[1], -1); }, {values({5000, 16}, 1), values({16}, 1)}));
  CHECK_FALSE(fetches([](Xs x) { return matmul(x[0], x[1]); }, {values({5000, 12}, 1), values({12}, 1)}));
}

TEST_CASE("records: pixels of a few channels") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {uint8, float32, bfloat16})
      for (const int channels : {2, 3, 5, 8, 9})
        for (const int width : {1, 7, 171}) {
          CAPTURE(quality);
          CAPTURE(t.name());
          CAPTURE(channels);
          CAPTURE(width);
          const auto image = [&](int depth, unsigned seed) { return convert(abs(round(values({6, width, depth}, seed) * 30.f)), t); };
          const Array a = image(channels, 1), b = image(channels, 2), one = image(1, 3);
          const auto blend = [](Xs x) { return x[0] * x[2] - x[1] * (x[2] + 3) + 1; };
          same(blend, {a, b, one}, 0);
          same(blend, {a, image(1, 4), one}, 0);
          same([](Xs x) { return flip(x[0], 2) * x[1]; }, {a, b}, 0);
          same([](Xs x) { return transpose(x[0], {2, 0, 1}) + 1; }, {a}, 0);
          same([](Xs x) { return transpose(x[0], {1, 2, 0}) + x[1](0); },
               {convert(values({channels, 5, width}, 4) * 9.f, t), convert(values({1, width, channels}, 5), t)}, 0);
          same([](Xs x) { return x[0](slice(), slice(none, none, 2)) * 2; }, {a}, 0);
          same([](Xs x) { return x[0](slice(none, none, 2), slice(0, -1, 2)) + x[0](slice(1, none, 2), slice(1, none, 2)); },
               {image(channels, 6)(slice(), slice(0, width / 2 * 2))}, 0);
          same([](Xs x) { return x[0](ellipsis, slice(0, 2)) + x[0](ellipsis, slice(-2, none)); }, {a}, 0);
        }
  }
}

TEST_CASE("records: elements that are all treated alike") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {uint8, float32, float64, bfloat16})
      for (const int channels : {2, 3, 4, 5, 7, 8})
        for (const int width : {5, 16, 1003, 30011}) {
          CAPTURE(quality);
          CAPTURE(t.name());
          CAPTURE(channels);
          CAPTURE(width);
          const auto numbers = [&](int columns, int rows, unsigned seed) {
            return convert(abs(round(values({rows, columns}, seed) * 30.f)), t);
          };
          const Array a = numbers(channels, width, 1), b = numbers(channels, width, 2), of_channel = numbers(channels, 1, 3),
                      of_pixel = numbers(1, width, 4);
          const auto weighed = [](Xs x) { return (x[0] - x[2]) * x[3] + where(x[2] > 7, x[1], x[3]) + where(x[3] > 9, x[2], 3); };
          same(weighed, {a, b, of_channel, of_pixel}, 0);
          same([](Xs x) { return Arrays{x[0] * x[2] + x[1], where(x[0] > x[2], x[2], x[3])}; }, {a, b, of_channel, of_pixel}, 0);
          // Each store's own records; and what elements of other records, or their own places, say.
          same([](Xs x) { return x[0](slice(1, none)) * x[2] - x[0](slice(none, -1)); }, {a, b, of_channel}, 0);
          same([](Xs x) { return x[0] + x[1](slice(), slice(0, 1)) * convert(arange(x[0].shape()[1]), x[0].dtype()); }, {a, b}, 0);
          same([](Xs x) { return x[0] * x[2] + flip(x[1], 1); }, {a, b, of_channel}, 0);
          if (t.is_floating()) same([](Xs x) { return exp(x[0] * -.01f) / 255 + tanh(x[1] * .01f) * x[2]; }, {a, b, of_channel}, 2e-2);
        }
  }
}

TEST_CASE("records: elements that are all treated alike lie in lanes as they lie in memory") {
  const CodeFrom code("optimized");
  const auto flat = [](auto f, const Arrays& x) { return has(same(f, x, 1e-4, "schedule"), "flatten_records"); };
  const Array image = convert(abs(round(values({5000, 3}, 1) * 30.f)), uint8);
  const auto normalized = [](Xs x) { return (convert(x[0], float32) / 255 - x[1]) / x[2]; };
  CHECK(flat(normalized, {image, values({3}, 2), values({3}, 3) + 3.f}));
  CHECK(flat([](Xs x) { return x[0] * x[1] + x[2]; }, {values({5000, 5}, 1), values({5000, 1}, 2), values({5}, 3)}));
  CHECK_FALSE(flat([](Xs x) { return flip(x[0], 1) * x[1]; }, {values({5000, 3}, 1), values({3}, 2)}));
  CHECK_FALSE(flat([](Xs x) { return x[0] * x[1](slice(), slice(0, 3)); }, {values({5000, 3}, 1), values({5000, 6}, 2)}));
  const std::string machine = same(normalized, {image, values({3}, 2), values({3}, 3) + 3.f}, 1e-4, "llvm");
  CHECK_FALSE(has(machine, "outside"));  // the quotients of whole numbers
}

TEST_CASE("records: pixels that are repeated") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {uint8, float32, float64, bfloat16})
      for (const int channels : {2, 3, 4})
        for (const int times : {2, 3})
          for (const int width : {1, 7, 171}) {
            CAPTURE(quality);
            CAPTURE(t.name());
            CAPTURE(channels);
            CAPTURE(times);
            CAPTURE(width);
            const Array x = convert(abs(round(values({5, width, channels}, 1) * 30.f)), t);
            same([=](Xs a) { return repeat(repeat(a[0], 2, 0), times, 1) + 1; }, {x}, 0);
            same([=](Xs a) { return Arrays{repeat(a[0], times, 1), flip(a[0], -1) * 2}; }, {x}, 0);
          }
  }
}

TEST_CASE("records: short columns beside one another") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {float64, float32, bfloat16, int8, complex64})
      for (const std::vector<int>& widths : {std::vector<int>{3, 4, 1}, {1, 1}, {2, 3}, {1, 0, 3}, {5, 4}, {4, 4, 8}})
        for (const int rows : {1, 5, 37, 5003}) {
          CAPTURE(quality);
          CAPTURE(t.name());
          CAPTURE(widths.size());
          CAPTURE(widths[0]);
          CAPTURE(rows);
          Arrays x;
          for (const int w : widths) x.push_back(convert(round(values({rows, w}, static_cast<unsigned>(x.size() + 1)) * 30.f), t));
          const auto joined = [](Xs a) {
            Arrays parts;
            for (std::size_t i = 0; i < a.size(); ++i) parts.push_back(i == 1 ? a[i] * 2 : a[i]);
            return concatenate(parts, 1);
          };
          same(joined, x, 0);
          same([&](Xs a) { return flip(joined(a), 1); }, x, 0);
          // A value that is computed for each row before.
          if (t == float64 || t == float32)
            same(
                [](Xs a) {
                  Arrays parts(a.begin(), a.end());
                  parts.back() = exp(parts.back() / 30.);
                  return concatenate(parts, 1);
                },
                x, 1e-6);
        }
  }
}

TEST_CASE("records: rows that are divided by what they sum to") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {float32, float64})
      for (const int width : {2, 3, 4, 5, 8, 9})
        for (const int rows : {1, 17, 5003}) {
          CAPTURE(quality);
          CAPTURE(t.name());
          CAPTURE(width);
          CAPTURE(rows);
          const Array x = convert(values({rows, width}, 1), t);
          same([](Xs a) { return a[0] / sqrt(sum(a[0] * a[0], -1, keepdims) + 1); }, {x}, 1e-6);
          same([](Xs a) { return nn::softmax(a[0], -1); }, {x}, 1e-6);
        }
  }
}

TEST_CASE("records: whole records are written past the caches") {
  const CodeFrom code("optimized");
  for (const int width : {1280 * 720, 1280 * 720 + 5}) {
    const std::string text = same([](Xs a) { return transpose(a[0], {1, 0}) * 2.f; }, {values({3, width}, 1)}, 0, "llvm");
    CHECK(has(text, "nontemporal"));
  }
}

TEST_CASE("records: strided elements") {
  const CodeFrom code("optimized");
  for (const DType t : {uint8, float32, float64})
    for (const int step : {2, 3, 5, 8, 9})
      for (const int n : {3, 40, 5003})
        for (const int from : {0, 1}) {
          const Array x = convert(abs(round(values({n}, 1) * 30.f)), t);
          same([=](Xs a) { return a[0](slice(from, none, step)) * 3; }, {x}, 0);
          same([=](Xs a) { return flip(a[0](slice(from, none, step)) + 1, 0); }, {x}, 0);
          if (t.is_integer()) same([=](Xs a) { return floor_divide(a[0], a[0](slice(from, none, step))(0) + 1); }, {x}, 0);
          if (t.is_integer())
            same([=](Xs a) { return remainder(a[0](slice(from, none, step)), a[0](slice(from, none, step)) + 1); }, {x}, 0);
        }
}

TEST_CASE("records: no element of a pixel is fetched or written on its own") {
  const CodeFrom code("optimized");
  const auto alone = [](auto f, const Arrays& x) {
    const std::string text = same(f, x, 0, "llvm");
    return has(text, "masked.gather") || has(text, "masked.scatter");
  };
  const auto image = [](int height, int width, int depth) { return convert(abs(round(values({height, width, depth}, 1) * 30.f)), uint8); };
  const Array x = image(60, 96, 3), alpha = image(60, 96, 1);
  CHECK_FALSE(alone([](Xs a) { return convert(convert(a[0], uint16) * convert(a[1], uint16) / 255, uint8); }, {x, alpha}));
  CHECK_FALSE(
      alone([](Xs a) { return a[0](slice(none, none, 2), slice(none, none, 2)) + a[0](slice(1, none, 2), slice(1, none, 2)); }, {x}));
  CHECK_FALSE(alone([](Xs a) { return flip(a[0], 2) + 1; }, {x}));
  CHECK_FALSE(alone([](Xs a) { return transpose(convert(a[0], float32), {2, 0, 1}) * 0.5f; }, {x}));
  CHECK_FALSE(alone([](Xs a) { return a[0](slice(none, none, 3)) + 1.f; }, {values({3 * 4096}, 1)}));
  CHECK_FALSE(alone([](Xs a) { return repeat(a[0], 2, 1); }, {x}));
  const Arrays columns{values({4096, 3}, 1), values({4096, 4}, 2), values({4096, 1}, 3)};
  CHECK_FALSE(alone([](Xs a) { return concatenate({a[0], a[1] * 2.f, a[2]}, 1); }, columns));
}

TEST_CASE("records: the places that pixels are taken from are computed once for all channels, and not stored") {
  const auto sampled = [](Xs x) {
    const Array y = expand_dims(iota(float32, {30}), 1), u = iota(float32, {45}) * 0.9f - y * 0.2f, v = y * 0.9f + x[1];
    const Array i = floor(v), j = floor(u), row = astype(i, int32), column = astype(j, int32);
    const auto at = [&](const Array& r, const Array& c) { return Array(x[0](clip(r, 0, 29), clip(c, 0, 39))); };
    const Array s = expand_dims(v - i, -1), t = expand_dims(u - j, -1);
    return (1 - s) * ((1 - t) * at(row, column) + t * at(row, column + 1)) +
           s * ((1 - t) * at(row + 1, column) + t * at(row + 1, column + 1));
  };
  for (const int channels : {1, 2, 3, 4, 9}) {
    CAPTURE(channels);
    const std::string text = same(sampled, {values({30, 40, channels}, 1), values({30, 45}, 2) * 5});
    if (channels > 1 && channels < 9) CHECK_FALSE(has(text, ":i32["));
  }
}

TEST_CASE("records: columns that are reduced and then stored as rows are transposed in registers") {
  const auto centred = [](Xs a) {
    const Array t = transpose(a[0]);
    return (t - mean(t, -1, keepdims)) * 2.f;
  };
  const std::string schedule = same(centred, {values({2000, 100}, 1)}, 1e-5, "schedule");
  CHECK(has(schedule, "vectorize i0"));
  CHECK(has(schedule, "transpose a2"));
  for (const char* const quality : {"baseline", "optimized"})
    for (const int columns : {16, 37, 100})
      for (const int rows : {33, 300, 1000}) {
        const CodeFrom code(quality);
        CAPTURE(columns);
        CAPTURE(rows);
        const Array x = values({rows, columns}, 1), y = values({columns, rows}, 2);
        same(centred, {x});
        same([](Xs a) { return (a[1] - mean(transpose(a[0]), -1, keepdims)) * transpose(a[0]); }, {x, y});
        same([](Xs a) { return Arrays{transpose(a[0]) / max(transpose(a[0]), -1, keepdims), sum(a[0], 0)}; }, {x + 2.f}, 1e-4);
      }
}

TEST_CASE("records: rows of what is compared in pairs share the records that lanes read with a stride") {
  const auto column = [](const Array& x, int c) { return x(slice(), slice(c, c + 1)); };
  const auto row = [](const Array& x, int c) { return reshape(x(slice(), c), {1, -1}); };
  const auto overlap = [=](Xs a) {
    Array all = column(a[0], 0) < row(a[1], 3);
    for (int c = 0; c < 3; ++c) all = all & (column(a[0], c) < row(a[1], c + 3)) & (column(a[0], c + 3) > row(a[1], c));
    return all;
  };
  const auto distance = [](Xs a) { return sum(square(expand_dims(a[0], 1) - expand_dims(a[1], 0)), -1); };
  const auto looked_up = [=](Xs a) {
    return column(a[0], 0) * expand_dims(take(a[2], convert(abs(a[1](slice(), 0)) * 900.f, int32), 0), 0);
  };
  const Array table = values({1000}, 3);
  CHECK(has(same(overlap, {values({180, 6}, 1), values({170, 6}, 2)}, 0, "schedule"), "unroll i0 by 4"));
  CHECK(has(same(distance, {values({300, 3}, 1), values({310, 3}, 2)}, 1e-5, "schedule"), "unroll i0 by 4"));
  // Lanes that read one element behind the other are cheap to read again.
  CHECK_FALSE(
      has(same([](Xs a) { return expand_dims(a[0], 1) + expand_dims(a[1], 0); }, {values({300}, 1), values({310}, 2)}, 0, "schedule"),
          "unroll i0"));
  for (const char* const quality : {"baseline", "optimized"})
    for (const int rows : {7, 8, 33, 181})
      for (const int columns : {15, 17, 170}) {
        const CodeFrom code(quality);
        CAPTURE(rows);
        CAPTURE(columns);
        const Arrays x{values({rows, 6}, 1), values({columns, 6}, 2), table};
        same(overlap, x, 0);
        same(distance, x);
        same(looked_up, x, 0);
        same([&](Xs a) { return overlap({transpose(reshape(a[0], {6, -1})), a[1]}); }, x, 0);
      }
}

#ifdef __x86_64__
TEST_CASE("records: code for AMD's processors moves parts of vectors by instructions of AVX") {
  if (!__builtin_cpu_supports("avx2")) return;
  if (!std::getenv("WEFT_CPU")) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    CHECK(std::system(fmt::format("WEFT_CPU=znver3 {} -tc='records: code for AMD*' >/dev/null 2>&1", self).c_str()) == 0);
    return;
  }
  const CodeFrom code("optimized");
  const auto digits = [](Xs x) {
    Array n = astype(column(x[0], 0), int32);
    for (int i = 1; i < 8; ++i) n = n * 10 + astype(column(x[0], i), int32);
    return n;
  };
  const std::string text = same(digits, {astype(arange(8000).reshape({1000, 8}) % 10, uint8)}, 0, "asm");
  CHECK(!has(text, "insertq"));
  CHECK(!has(text, "extrq"));
}
#endif
