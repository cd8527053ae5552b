// Small arrays in registers, batches over lanes, borders of stencils, small reductions.
#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "weft/backends/cpu/jit.h"

using namespace weft;
using namespace weft::test;

namespace {
struct Pair {
  Array a, b;
};
bool has_other_kernels(const std::string& text) { return text.find("kernel1") != std::string::npos; }
}  // namespace

TEST_CASE("lanes: whole programs of small arrays, a point a lane") {
  for (int n : {256, 300, 1003}) {
    auto arm = [](Array q) {
      const Array a = cumsum(q);
      return stack({sum(cos(a)), sum(sin(a))});
    };
    const std::string text = same([&](Xs x) { return Arrays{vmap(jacfwd(arm))(x[0])}; }, {values({n, 7}, 1)}, 1e-4);
    CHECK(text.find("kernel1") == std::string::npos);
    same([&](Xs x) { return Arrays{vmap(grad([](Array v) { return sum(sin(v) * v(0)) + max(v); }))(x[0])}; }, {values({n, 5}, 1)}, 1e-4);
    same([&](Xs x) { return Arrays{matmul(x[0], x[1]), cumsum(x[0], 1)}; }, {values({n, 4}, 1), values({4, 6}, 2)}, 1e-4);
    same([&](Xs x) { return Arrays{linalg::solve(x[0] + 3 * eye(3), x[1]), sum(x[1], 1)}; }, {values({n, 3, 3}, 1), values({n, 3, 2}, 2)},
         1e-3);
    // What mixes the points is no such program.
    same([&](Xs x) { return Arrays{x[0] - mean(x[0], 0), cumsum(x[0], 0)}; }, {values({n, 3}, 1)}, 1e-4);
    same([&](Xs x) { return Arrays{flip(sum(x[0], 1), 0), sum(x[0], 1)}; }, {values({n, 6}, 1)}, 1e-4);
  }
}

TEST_CASE("lanes: rows that are assembled from computed elements") {
  const auto cross = [](Array a, Array b) {
    const auto element = [](Array x, int k) { return x(ellipsis, k); };
    return stack(
        {element(a, 1) * element(b, 2) - element(a, 2) * element(b, 1), element(a, 2) * element(b, 0) - element(a, 0) * element(b, 2),
         element(a, 0) * element(b, 1) - element(a, 1) * element(b, 0)},
        -1);
  };
  const auto rotate = [&](Xs x) {
    const Array axis = x[0](slice(), slice(1, none)), w = x[0](slice(), slice(none, 1));
    return Arrays{x[1] + 2.f * cross(axis, cross(axis, x[1]) + w * x[1])};
  };
  for (int n : {256, 1003}) {
    const std::string text = same(rotate, {values({n, 4}, 1), values({n, 3}, 2)}, 1e-4);
    INFO(text);
    CHECK(has(text, fmt::format("outer for i0 < {}\n", n).c_str()));
    CHECK(!has(text, "select"));
    CHECK(!has(text, "scratch"));
  }
  // Longer rows, also if they are joined by parts.
  for (int n : {12, 20, 40}) {
    const auto row = [n](Xs x) {
      std::vector<Array> all, parts;
      for (int k = 0; k < n; ++k) all.push_back(reshape(x[0] * (k + 1.f) + (k % 3 ? x[1] : sin(x[0])), {-1, 1}));
      for (int k = 0; k < n; k += 16)
        parts.push_back(concatenate(std::vector<Array>(all.begin() + k, all.begin() + std::min(n, k + 16)), 1));
      return Arrays{concatenate(parts, 1)};
    };
    const std::string text = same(row, {values({300}, 1), values({300}, 2)});
    INFO(text);
    CHECK(has(text, "outer for i0 < 300\n"));
    CHECK(!has(text, "select"));
  }
  // Elements that are only moved, and places of a gather.
  CHECK(has(same([](Xs x) { return stack({x[0](ellipsis, 2), x[0](ellipsis, 0), x[0](ellipsis, 1)}, -1); }, {values({300, 3}, 1)}),
            "for i1 < 3"));
  same(
      [](Xs x) {
        const Array i = astype(abs(x[0]) * 3.f, int32);
        return x[1](i, i + 1);
      },
      {values({300}, 1), values({9, 9}, 2)});
}

TEST_CASE("lanes: all elements of the carries' rows, where none needs another") {
  // A tridiagonal system for each row and column, along the middle dimension.
  const std::string text = same(
      [](Xs x) {
        const auto [last, factors] = scan(
            [](const Pair& s, Array v) {
              const Array m = 1.f / (4.f - s.a);
              const Pair next{m, (v + s.b) * m};
              return std::pair{next, next};
            },
            Pair{zeros({40, 50}), zeros({40, 50})}, swapaxes(x[0], 0, 1));
        return Arrays{last.b, factors.a, factors.b};
      },
      {values({40, 30, 50}, 1)});
  CHECK(text.find("outer for i0 < 40 for i1 < 50\n") != std::string::npos);
  CHECK(text.find("repeat i2 < 30") != std::string::npos);
  // Loops that are one where all is in order, and three dimensions.
  const auto decay = [](Xs x) { return fori_loop(0, 9, [](Array, Array c) { return c - 0.1f * sin(c); }, x[0]); };
  CHECK(same(decay, {values({3, 40}, 1)}).find("outer for i0 < 120\n") != std::string::npos);
  CHECK(same(decay, {values({5, 9, 17}, 1)}).find("outer for i0 < 765\n") != std::string::npos);
  // Rows that are too short to be lanes stay in registers.
  CHECK(same(decay, {values({40, 3}, 1)}).find("outer for i0 < 40\n") != std::string::npos);
  // Elements of a row that need each other, and what is the same for all of them and would be computed for each.
  const auto mixed = [](Xs x) {
    return fori_loop(0, 5, [](Array, Array c) { return c - 0.1f * roll(c, 1, 1) + expand_dims(sum(c, 1), 1) * 0.01f; }, x[0]);
  };
  CHECK(same(mixed, {values({40, 20}, 1)}, 1e-4).find("outer for i0 < 40\n") != std::string::npos);
  const auto shared = [](Xs x) {
    return scan([&](Array c, Array v) { return std::pair<Array, None>{c * 0.5f + expand_dims(exp(v), 1), none}; }, x[0], x[1]).first;
  };
  CHECK(same(shared, {values({40, 20}, 1), values({6, 40}, 2)}, 1e-4).find("outer for i0 < 40\n") != std::string::npos);
}

TEST_CASE("lanes: what a loop reads across rows is transposed before it") {
  const auto mix = [](Array x) {
    return scan([](Array h, Array v) { return std::pair{h * Array(int32(3)).astype(h.dtype()) + v.astype(h.dtype()), h}; },
                zeros({x.shape()[0]}, x.dtype() == uint8 ? uint32 : x.dtype()), transpose(x))
        .second;
  };
  for (const DType t : {uint8, int16, float32, float64}) {
    CAPTURE(t.name());
    const Array x = convert(round(abs(values({500, 40}, 1)) * 9.f), t);
    const std::string text = same([&](Xs v) { return Arrays{mix(v[0])}; }, {x});
    CHECK(has(text, {"[i0 + 40*i1]", "repeat i1 < 40", "[i0 + 500*i1]"}));
  }
  // Not rows of a few elements, and what would not stay in the caches.
  const auto kernels = [&](Shape shape) {
    const Jaxpr j = make_jaxpr(mix)(ShapeDtypeStruct{std::move(shape), float32});
    return detail::CpuBackend().compile(j, {"f"})->as_text("kernels");
  };
  CHECK(!has_other_kernels(kernels({500, 6})));
  CHECK(!has_other_kernels(kernels({40000, 100})));
  CHECK(has_other_kernels(kernels({4000, 100})));
}

TEST_CASE("lanes: borders of stencils") {
  auto star = [](Xs x) {
    const Array u = x[0], p = pad(u, 1);
    return Arrays{u + 0.2f * (p(slice(2, none), slice(1, -1)) + p(slice(none, -2), slice(1, -1)) + p(slice(1, -1), slice(2, none)) +
                              p(slice(1, -1), slice(none, -2)) - 4.f * u)};
  };
  for (int n : {1, 2, 15, 16, 17, 100, 127, 128, 129, 130, 144, 160, 257, 1000}) {
    same(star, {values({3, n}, 1)});
    same(star, {astype(values({n, 7}, 1), float64)});
    // Wide borders, one side only, and a reduction along a padded dimension.
    same([](Xs x) { return Arrays{pad(x[0], 5)(slice(none, -10)) + x[0], pad(x[0], 40)(slice(80, none)) * x[0], roll(x[0], 3) * 2.f}; },
         {values({n}, 1)});
    same([](Xs x) { return Arrays{sum(pad(x[0], 1)(slice(2, none)) * x[0]), max(roll(x[0], 1) - x[0])}; }, {values({n}, 1)}, 1e-4);
  }
}

TEST_CASE("lanes: reductions of a few elements") {
  for (int n : {1, 2, 3, 4, 5}) {
    for (DType t : {float16, bfloat16, float32, float64, int8, uint32}) {
      const double tolerance = t == float16 ? 2e-3 : t == bfloat16 ? 2e-2 : 1e-5;
      same([](Xs x) { return Arrays{sum(x[0], -1), max(x[0], -1), min(x[0], 0), prod(x[0], -1)}; }, {samples({n, 37, n}, 1, t)}, tolerance);
    }
    same([](Xs x) { return Arrays{any(x[0] > 0, -1), all(x[0] > 0, 0), sum(exp(x[0]), 0) * x[0], mean(x[0] * x[0], {0, 1})}; },
         {values({n, n}, 1)});
    same([](Xs x) { return Arrays{abs(sum(complex(x[0], x[0] * 2), 0)), sum(x[0] > 0, 1)}; }, {values({n, 20}, 1)});
  }
  // Distances: nothing of the size of all pairs and components is stored.
  const std::string text =
      same([](Xs x) { return Arrays{sum(sum(square(expand_dims(x[0], 0) - expand_dims(x[0], 1)), -1), 1)}; }, {values({200, 3}, 1)}, 1e-4);
  CHECK(text.find("[200,200") == std::string::npos);
}

TEST_CASE("lanes: one mathematical function many times") {
  const std::string code = same(
      [](Xs x) {
        Array y = x[0], z = x[1];
        for (int i = 0; i < 40; ++i) y = sin(y) * 1.5f + 0.1f, z = pow(abs(z) + 0.5f, 0.9f);
        return Arrays{y, z};
      },
      {values({19}, 1), values({19}, 2)}, 1e-4, "llvm");
  CHECK(code.find("define internal <") != std::string::npos);
  // Arguments for the library, one by one.
  same(
      [](Xs x) {
        Array y = x[0];
        for (int i = 0; i < 40; ++i) y = y + sin(x[0] * (1e6f * static_cast<float>(i + 1)));
        return Arrays{y};
      },
      {values({5}, 1)}, 1e-4);
}

TEST_CASE("lanes: carries that are overwritten where they are") {
  // One is the same for all lanes: no lane may see another one's result.
  const Jaxpr j = make_jaxpr([](Array c, Array v) {
    const auto end = scan([](const std::pair<Array, Array>& s,
                             None) { return std::pair<std::pair<Array, Array>, None>{{s.first * 2 + 1, s.second + s.first}, none}; },
                          std::pair{c, v}, none, {.length = 3})
                         .first;
    return end;
  })(array(1.f), ones(64));
  detail::CpuBackend backend;
  for (const bool donated : {false, true}) {
    const auto f = backend.compile(j, {"f", {donated, donated}});
    const Arrays got = f->call(Arrays{array(1.f) + 0.f, ones(64) + values({64}, 1) * 0}, 0);
    CHECK(got[0].item<float>() == 15);
    for (double v : got[1].to_vector<double>()) CHECK(v == 1 + 1 + 3 + 7);
  }
}

TEST_CASE("lanes: what a loop reads on a condition, it reads only there") {
  for (int n : {16, 33, 256}) {
    for (int place : {0, 3, n}) {
      same(
          [&](Xs v) {
            return Arrays{fori_loop(
                0, 3, [&](Array, Array c) { return where(c > v[0], c, dynamic_update_slice(c, tanh(v[0](slice(none, 14))), {v[1]})); },
                v[0] * 0.5f)};
          },
          {values({n}, 1), Array(place)});
      // The same reduction, once under a condition and once without.
      same(
          [&](Xs v) {
            return Arrays{fori_loop(
                0, 3,
                [&](Array, Array c) {
                  const Array s = sum(c * v[0], 1, {.keepdims = true});
                  return dynamic_update_slice(c, s * 2.f, {Array(0), v[1]}) * 0.1f + s;
                },
                v[0])};
          },
          {values({n, 4}, 2), Array(place % 4)});
    }
  }
}

TEST_CASE("lanes: pairs of elements beside each other, of each type") {
  for (DType t : {bool_, int8, uint16, int32, int64, float16, bfloat16, float32, float64}) {
    for (int n : {16, 33, 300}) {
      const auto pairs = [](Xs x) {
        const auto [end, steps] =
            scan([](const Array& c, None) { return std::pair{c, concatenate({c, where(c == c, c, c)}, 1)}; }, x[0], none, {.length = 3});
        return Arrays{end, steps};
      };
      same(pairs, {t == bool_ ? reshape(arange(0, n) % 3 != 0, {n, 1}) : convert(samples({n, 1}, 1) * 10., t)});
    }
  }
  same(
      [](Xs x) {
        return Arrays{scan([](const Array& c, None) { return std::pair{c, ones({16, 2}, bool_)}; }, x[0], none, {.length = 1}).second};
      },
      {zeros({16, 1})});
}

TEST_CASE("lanes: loops that end for each lane, with any number of operands of the condition and of the body") {
  for (const int of_condition : {0, 1, 2, 3})
    for (const int of_body : {0, 1, 3})
      for (const int carries : {1, 2}) {
        CAPTURE(of_condition);
        CAPTURE(of_body);
        CAPTURE(carries);
        // Operands are differently large, so that none can stand in another's place.
        const auto end = [&](Xs c) {
          const auto go_on = [&](const Pair& s) {
            Array limit = 5 * ones_like(s.a);
            for (int k = 0; k < of_condition; ++k) limit = limit + c[static_cast<std::size_t>(k) + 2] * static_cast<float>(k + 1);
            return (s.a < limit) & (s.b < 900);
          };
          const auto step = [&](const Pair& s) {
            Array by = s.a * 0.25f + 1;
            for (int k = 0; k < of_body; ++k) by = by + c[static_cast<std::size_t>(k) + 3] * 0.1f * static_cast<float>(k + 1);
            return Pair{s.a + by, carries > 1 ? s.b + by * s.a : s.b};
          };
          const Pair last = while_loop(go_on, step, Pair{c[0], c[1]});
          return Arrays{last.a, last.b};
        };
        Arrays args;
        for (unsigned k = 0; k < 6; ++k) args.push_back(abs(values({300}, k + 1)) * std::exp2(static_cast<float>(k)));
        const std::string text = same([&](Xs x) { return vmap([&](const Arrays& lane) { return end(lane); })(x); }, args, 1e-4);
        CHECK(has(text, "while"));
        same(
            [&](Xs x) {
              Arrays first;
              for (const Array& v : x) first.push_back(v(7));
              return end(first);
            },
            args, 1e-4);
      }
}

TEST_CASE("lanes: constants of long formulas are operands in memory where vectors have 32 bytes") {
  const CodeFrom code("optimized");
  const Array x = values({4096}, 1);
  for (const DType t : {float32, float64}) {
    CAPTURE(t.name());
    const std::string text = same([](Xs a) { return nn::gelu(a[0], false) + sin(a[0]); }, {convert(x, t)}, 1e-5, "asm");
    if (detail::native_vector_bytes() != 32) continue;
    std::size_t broadcasts = 0;
    for (std::size_t at = text.find("vbroadcasts"); at != std::string::npos; at = text.find("vbroadcasts", at + 1)) ++broadcasts;
    CHECK(broadcasts <= 24);  // what registers hold throughout the loop: there are about 50 constants
  }
}
