// Loops and branches as native code, against the interpreter.
#include <functional>

#include "tests/backends/agree.h"
#include "tests/messages.h"
#include "weft/core/ops/movement/movement.h"

using namespace weft;
using namespace weft::test;

namespace {

struct Two {
  Array a, b;
};
struct Three {
  Array a, b, c;
};

}  // namespace

TEST_CASE("loops: carries that change places, stay, or are overwritten") {
  for (int length : {0, 1, 2, 3, 10}) {
    // Each takes the other's place: neither may be overwritten early.
    same(
        [&](Xs x) {
          const Two end =
              scan([](const Two& c, None) { return std::pair<Two, None>{{c.b, c.a}, none}; }, Two{x[0], x[1]}, none, {.length = length})
                  .first;
          return Arrays{end.a, end.b};
        },
        {values({5}, 1), values({5}, 2)});
    same(
        [&](Xs x) {
          const Two end = scan([](const Two& c, None) { return std::pair<Two, None>{{c.b, c.a + c.b}, none}; }, Two{x[0], x[1]}, none,
                               {.length = length})
                              .first;
          return Arrays{end.a, end.b};
        },
        {values({}, 1), values({}, 2)});
    // One is kept, one becomes a constant, one is read elsewhere than it is written.
    same(
        [&](Xs x) {
          const Three end =
              scan([&](const Three& c, None) { return std::pair<Three, None>{{c.a, zeros(7), roll(c.c, 2) * 0.5f + c.b + c.a}, none}; },
                   Three{x[0], x[1], x[2]}, none, {.length = length})
                  .first;
          return Arrays{end.a, end.b, end.c};
        },
        {values({7}, 1), values({7}, 2), values({7}, 3)});
    same(
        [&](Xs x) {
          return Arrays{
              scan([](Array c, None) { return std::pair<Array, None>{tanh(c) + 1, none}; }, x[0], none, {.length = length}).first};
        },
        {values({33}, 1)});
  }
}

TEST_CASE("loops: parts of fields are updated in place, whatever reads them before") {
  // Each is read by the update of the next: copies in front of all updates would keep the first from its place.
  const auto step = [](const Three& u) {
    const Three v{u.a, u.b.at(slice(), slice(0, -1)).add(u.a(slice(), slice(1, none)) * 0.5f),
                  u.c.at(slice(0, -1)).add(u.a(slice(1, none)))};
    return Three{v.a.at(slice(1, none)).add(v.b(slice(1, none)) - v.c(slice(0, -1))), v.b, v.c};
  };
  const auto run = jit([&](const Three& u) { return fori_loop(0, 3, [&](Array, const Three& v) { return step(v); }, u); });
  const Three start{values({90, 70}, 1), values({90, 70}, 2), values({90, 70}, 3)}, end = run(start);
  const Three want = step(step(step(start)));
  for (const auto& [got, expected] : {std::pair{end.a, want.a}, {end.b, want.b}, {end.c, want.c}})
    CHECK(tree::all_close(got, expected, 1e-5, 1e-5));
  const std::string text = run.lower(start).compile().as_text("kernels");
  for (const char* in_place : {"out0:f32[90,70]@in0", "out1:f32[90,70]@in1", "out2:f32[90,70]@in2"})
    CHECK_MESSAGE(text.find(in_place) != std::string::npos, text);
}

TEST_CASE("loops: slices in, slices out, forward and backward") {
  for (bool reverse : {false, true})
    for (int n : {0, 1, 5, 8}) {
      same(
          [&](Xs x) {
            const auto [carry, ys] = scan(
                [&](Array c, const Two& in) {
                  const Array next = c * in.a + sum(in.b) + x[2];
                  return std::pair<Array, Three>{next, {next, in.a, c * 2}};
                },
                x[3], Two{x[0], x[1]}, {.reverse = reverse});
            return Arrays{carry, ys.a, ys.b, ys.c};
          },
          {values({n, 3}, 1), values({n, 2, 4}, 2), values({3}, 3), values({3}, 4)});
      same(
          [&](Xs x) {
            return Arrays{scan([](Array c, Array in) { return std::pair<Array, Array>{c + 1, ones({2, 2}) * in}; }, array(0), x[0],
                               {.reverse = reverse})
                              .second};
          },
          {values({n}, 1)});
    }
}

TEST_CASE("loops: a window of the carry is written, and nothing else") {
  const Array x = reshape(sin(arange(64 * 64, float32)), {64, 64});
  const auto steps = [](auto body) { return [body](Array c) { return fori_loop(0, 50, body, c); }; };
  const auto check = [&](const char* what, auto body) {
    CAPTURE(what);
    const auto f = steps(body);
    Array wanted = x;
    for (int i = 0; i < 50; ++i) wanted = body(array(i), wanted);
    CHECK(array_equal(jit(f)(x), wanted).template item<bool>());
  };
  check("row", [](Array i, Array c) { return dynamic_update_slice(c, full({1, 64}, 0.5f) + i, {i - 7, 0}); });
  check("column", [](Array i, Array c) { return dynamic_update_slice(c, full({64, 1}, 0.5f) + i, {0, i + 40}); });
  check("corner", [](Array i, Array c) { return dynamic_update_slice(c, full({4, 16}, 0.5f) + i, {i * 3, i}); });
  check("two rows", [](Array i, Array c) {
    return dynamic_update_slice(dynamic_update_slice(c, full({1, 64}, 0.5f) + i, {i, 0}), full({1, 64}, 2.f), {i + 1, 0});
  });
  check("row of what is there",
        [](Array i, Array c) { return dynamic_update_slice(c, dynamic_slice(c, {i, 0}, {1, 64}) * 0.5f, {i + 1, 0}); });
  check("most of it", [](Array i, Array c) { return dynamic_update_slice(c, full({40, 64}, 0.5f) + i, {i, 0}); });
  // Of a large array the kernel writes the row alone.
  const auto rows = jit([](Array c) {
    return fori_loop(0, 50, [](Array i, Array u) { return dynamic_update_slice(u, full({1, 256}, 0.5f) + i, {i, 0}); }, c);
  });
  const std::string text = rows.lower(zeros({1024, 256})).compile().as_text("kernels");
  CHECK_MESSAGE(text.find("f32[262144], 256 written") != std::string::npos, text);
  // What is written is read in the same step, and a carry that is a result of the step elsewhere.
  const auto cached = [](Array c) {
    return scan(
        [](Array u, Array i) {
          const Array next = dynamic_update_slice(u, full({1, 64}, 0.25f) * i, {convert(i, int32), 0});
          return std::pair{next, sum(next * 0.5f, 0)};
        },
        c, arange(20, float32));
  };
  const auto [last, sums] = jit(cached)(x);
  Array state = x;
  for (int i = 0; i < 20; ++i) {
    state = dynamic_update_slice(state, full({1, 64}, 0.25f) * static_cast<float>(i), {i, 0});
    CHECK(tree::all_close(sums[i], sum(state * 0.5f, 0), 1e-4, 1e-5));
  }
  CHECK(array_equal(last, state).item<bool>());
  // Other dtypes, and donated arguments.
  for (const DType dtype : {int32, bool_, float64, float16, complex64}) {
    const Array y = convert(x * 4, dtype), row = ones({1, 64}, dtype);
    const auto f = jit([=](Array c, Array i) { return dynamic_update_slice(c, row, {i, 0}); }, {.donate_argnums = {0}});
    Array wanted = y;
    for (int i = 0; i < 3; ++i) wanted = dynamic_update_slice(wanted, row, {i * 5, 0});
    Array c = y + zeros({64, 64}, dtype);
    if (dtype == bool_) c = logical_or(y, zeros({64, 64}, dtype));
    for (int i = 0; i < 3; ++i) c = f(c, array(i * 5));
    CHECK(array_equal(c, wanted).item<bool>());
  }
}

TEST_CASE("loops: while") {
  same(
      [](Xs x) {
        const Two end = while_loop([](const Two& c) { return sum(c.a) < 100; },
                                   [](const Two& c) { return Two{c.a * 1.5f + 0.1f, c.b + 1}; }, Two{x[0], array(0)});
        return Arrays{end.a, end.b};
      },
      {abs(values({4}, 1))});
  // No step at all; limits that are no constants; the loop's number in the body.
  same([](Xs x) { return Arrays{while_loop([](Array) { return array(false); }, [](Array c) { return c * 2; }, x[0])}; }, {values({4}, 1)});
  same([](Xs x) { return Arrays{fori_loop(x[1], x[2], [](Array i, Array c) { return c + i * c; }, x[0])}; },
       {values({4}, 1), array(2), array(6)});
  same([](Xs x) { return Arrays{fori_loop(x[1], x[2], [](Array, Array c) { return roll(c, 1); }, x[0])}; },
       {values({4}, 1), array(0), array(3)});
  for (int steps : {0, 1, 2, 3})
    same(
        [&](Xs x) {
          const Two end = fori_loop(0, x[2], [](Array, const Two& c) { return Two{c.b, c.a + c.b}; }, Two{x[0], x[1]});
          return Arrays{end.a, end.b};
        },
        {values({3}, 1), values({3}, 2), array(steps)});
}

TEST_CASE("loops: branches") {
  for (int which : {-3, 0, 1, 2, 9})
    same(
        [](Xs x) {
          const std::vector<std::function<Two(Array, Array)>> branches{[](Array a, Array b) { return Two{a, b * 2}; },
                                                                       [](Array, Array b) { return Two{b, b}; },
                                                                       [](Array a, Array b) { return Two{sin(a) + sum(b), zeros(6)}; }};
          const Two r = switch_(x[2], branches, x[0], x[1]);
          return Arrays{r.a, r.b};
        },
        {values({6}, 1), values({6}, 2), array(which)});
  const std::string text = same(
      [](Xs x) {
        return Arrays{scan(
                          [](Array c, Array go) {
                            const Array next = cond(go > 0, [](Array v) { return exp(-v); }, [](Array v) { return v; }, c);
                            return std::pair<Array, Array>{next, next};
                          },
                          x[0], x[1])
                          .second};
      },
      {values({4}, 1), values({9}, 2)});
  CHECK(text.find("branch 1:") != std::string::npos);
}

TEST_CASE("loops: loops in loops") {
  const std::string text = same(
      [](Xs x) {
        return Arrays{scan(
                          [&](Array c, Array row) {
                            const Array inner = fori_loop(0, 3, [&](Array i, Array v) { return v * 0.5f + row * i; }, c);
                            const Array until =
                                while_loop([](Array v) { return sum(v * v) > 1; }, [](Array v) { return v * 0.7f; }, inner + 3);
                            return std::pair<Array, Array>{until, inner};
                          },
                          x[0], x[1])
                          .second};
      },
      {values({5}, 1), values({4, 5}, 2)});
  CHECK(text.find("4 times:") != std::string::npos);
  CHECK(text.find("3 times:") != std::string::npos);
  CHECK(text.find("while:") != std::string::npos);
  // Their gradients.
  same(
      [](Xs x) {
        return Arrays{grad([&](Array v) {
          return sum(
              scan([](Array c,
                      Array row) { return std::pair<Array, None>{fori_loop(0, 3, [&](Array, Array u) { return sin(u) * row; }, c), none}; },
                   v, x[1])
                  .first);
        })(x[0])};
      },
      {values({5}, 1), values({4, 5}, 2)});
}

TEST_CASE("loops: large bodies, products and reference functions within") {
  // Enough work for several threads.
  same([](Xs x) { return Arrays{fori_loop(0, 3, [](Array, Array u) { return u * 0.5f + roll(u, 1, 1) * 0.25f; }, x[0])}; },
       {values({300, 1000}, 1)});
  // A product by the library.
  same([](Xs x) { return Arrays{fori_loop(0, 3, [&](Array, Array u) { return matmul(u, x[1]) * 0.01f; }, x[0])}; },
       {values({200, 200}, 1), values({200, 200}, 2)}, 1e-4);
  same(
      [](Xs x) {
        return Arrays{scan([](Array c, Array row) { return std::pair<Array, Array>{sort(c + row), argsort(c)}; }, x[0], x[1]).second};
      },
      {values({9}, 1), values({4, 9}, 2)});
  same(
      [](Xs x) {
        return Arrays{
            scan([](Array c, Array row) { return std::pair<Array, None>{linalg::solve(c, row), none}; }, x[0] + 3 * eye(3), x[1]).first};
      },
      {values({3, 3}, 1), values({4, 3, 3}, 2)}, 1e-4);
}

TEST_CASE("loops: an exception within a loop comes out of the call") {
  auto f = jit([](Array x) {
    return fori_loop(
        0, 5,
        [](Array, Array c) {
          return pure_callback(
              [](Array v) -> Array {
                if (v.item<float>() > 2.5f) throw Error("too large");
                return v + 1;
              },
              ShapeDtypeStruct{{}, float32}, c);
        },
        x);
  });
  CHECK(f(array(-4.f)).item<float>() == 1);
  CHECK(refuses<Error>([&] { f(array(0.f)).block_until_ready(); }, {"too large"}));
  CHECK(f(array(-5.f)).item<float>() == 0);
}

TEST_CASE("loops: the code is one function") {
  const std::string code =
      same([](Xs x) { return Arrays{fori_loop(0, 100, [](Array, Array c) { return sin(c) * 2; }, x[0])}; }, {values({8}, 1)}, 1e-4, "llvm");
  CHECK(code.find("define i32 @control0(") != std::string::npos);
  CHECK(code.find("@kernel") == std::string::npos);
}

TEST_CASE("loops: lanes that end one by one") {
  // Nested vmaps: each lane leaves the loop on its own.
  for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 5}, {16, 16}, {7, 33}, {40, 100}}) {
    const std::string text = same(
        [](Xs x) {
          auto steps = [](Array re, Array im) {
            const Three end = while_loop([](const Three& s) { return (s.c < 50) & (s.a * s.a + s.b * s.b < 4.f); },
                                         [&](const Three& s) { return Three{s.a * s.a - s.b * s.b + re, 2.f * s.a * s.b + im, s.c + 1}; },
                                         Three{0.f, 0.f, 0});
            return end.c;
          };
          return Arrays{vmap([&](Array b) { return vmap([&](Array a) { return steps(a, b); })(x[0]); })(x[1])};
        },
        {linspace(-2, 1, columns), linspace(-1, 1, rows)});
    CHECK(text.find("while\n") != std::string::npos);
  }
  // State of several elements, and one lane that never starts.
  same(
      [](Xs x) {
        const Two end = vmap([](Array v) {
          return while_loop([](const Two& s) { return sum(s.a) < 10; }, [](const Two& s) { return Two{s.a * 1.5f + 1, s.b - s.a(0)}; },
                            Two{v, 0.f});
        })(x[0]);
        return Arrays{end.a, end.b};
      },
      {abs(values({37, 3}, 1)) * 4});
  // The condition reads what is the same for all, and what is not.
  same(
      [](Xs x) {
        return Arrays{vmap([&](Array limit, Array v) {
          return while_loop([&](Array s) { return (s < limit) & (s < x[2]); }, [&](Array s) { return s + v; }, v);
        })(x[0], x[1])};
      },
      {abs(values({21}, 1)) * 20, abs(values({21}, 2)) + 0.5f, array(7.f)});
}

TEST_CASE("loops: small state in registers") {
  for (bool reverse : {false, true}) {
    const std::string text = same(
        [&](Xs x) {
          auto step = [&](const Two& c, const Two& in) {
            const Array a = stack({c.a(1), sin(c.a(0)) + in.a}), b = c.b + in.b(0) * x[3];
            return std::pair<Two, Two>{{a, b}, {a * 2, c.b}};
          };
          const auto [end, ys] = scan(step, Two{x[0], x[1]}, Two{x[2], x[4]}, {.reverse = reverse});
          return Arrays{end.a, end.b, ys.a, ys.b};
        },
        {values({2}, 1), values({}, 2), values({9}, 3), values({}, 4), values({9, 2}, 5)});
    CHECK(text.find("repeat") != std::string::npos);
  }
  // Loops in loops, choices by computed indices, products and reductions of a few elements.
  same(
      [](Xs x) {
        auto step = [&](Array c, Array in) {
          const Array inner = fori_loop(0, 3, [&](Array i, Array v) { return v * 0.5f + dynamic_slice(c, {i}, {1}); }, c);
          const Array until = while_loop([](Array v) { return sum(v * v) > 1; }, [](Array v) { return v * 0.7f; }, inner + in);
          return std::pair<Array, Array>{matmul(x[2], until), cumsum(until) + max(until)};
        };
        const auto [end, ys] = scan(step, x[0], x[1]);
        return Arrays{end, ys};
      },
      {values({4}, 1), values({6}, 2), values({4, 4}, 3)});
  // A scan of a counter and a flag: types other than float.
  same(
      [](Xs x) {
        const Three end =
            scan([](const Three& c, Array in) { return std::pair<Three, None>{{c.a + 1, c.b | (in > 0.5f), where(c.b, c.c, c.a)}, none}; },
                 Three{array(0), array(false), array(-1)}, x[0])
                .first;
        return Arrays{end.a, end.b, end.c};
      },
      {values({12}, 1)});
  // Derivatives.
  auto cost = [](Array u) {
    auto step = [](const Array& s, const Array& v) {
      return std::pair<Array, None>{s + 0.1f * stack({s(1), -9.81f * sin(s(0)) + v}), none};
    };
    const Array s = scan(step, array({0.1f, 0.f}), u).first;
    return sum(s * s);
  };
  same([&](Xs x) { return Arrays{grad(cost)(x[0])}; }, {values({11}, 1)}, 1e-4);
  same([&](Xs x) { return Arrays{hessian(cost)(x[0])}; }, {values({11}, 1)}, 1e-4);
  same([&](Xs x) { return Arrays{hessian(cost)(x[0])}; }, {values({20}, 1)}, 1e-4);
  // Many at once.
  same([&](Xs x) { return Arrays{vmap(grad(cost))(x[0])}; }, {values({50, 11}, 1)}, 1e-4);
}

TEST_CASE("loops: small matrices") {
  for (const Shape& batch : {Shape{}, Shape{1}, Shape{33}, Shape{3, 20}})
    for (DType t : {float32, float64}) {
      const double tolerance = t == float32 ? 2e-4 : 1e-10;
      Shape square = batch, wide = batch;
      square.push_back(4), square.push_back(4), wide.push_back(4), wide.push_back(3);
      const Array a = samples(square, 1, t), b = samples(wide, 2, t), regular = a + 3 * eye(4, {}, 0, t);
      const std::string text = same([](Xs x) { return Arrays{linalg::solve(x[0], x[1])}; }, {regular, b}, tolerance);
      CHECK(text.find("\nlu (") == std::string::npos);
      same([](Xs x) { return Arrays{linalg::lu(x[0]).p, linalg::lu(x[0]).l, linalg::lu(x[0]).u, linalg::det(x[0])}; }, {a}, tolerance * 10);
      same([](Xs x) { return Arrays{linalg::lu(x[0]).l}; }, {b}, tolerance * 10);
      same([](Xs x) { return Arrays{linalg::cholesky(matmul(x[0], swapaxes(x[0], -1, -2)) + eye(4, {}, 0, x[0].dtype()))}; }, {a},
           tolerance);
      same([](Xs x) { return Arrays{linalg::cholesky(x[0] - 2)}; }, {a}, tolerance);  // indefinite: NaN
      for (const Array& x : {a, b, swapaxes(b, -1, -2), a * 1e-25, b * 1e25, zeros_like(b), triu(a)})
        for (const bool full : {false, true}) {
          const std::string factors = same(
              [full](Xs y) {
                const auto [q, r] = linalg::qr(y[0], {.full_matrices = full});
                return Arrays{q, r, matmul(q, r)};
              },
              {x}, tolerance);
          CHECK(factors.find("\nqr (") == std::string::npos);
        }
      for (bool lower : {false, true})
        for (bool transpose : {false, true})
          for (bool unit : {false, true}) {
            same(
                [&](Xs x) {
                  return Arrays{linalg::triangular_solve(x[0], x[1], {.lower = lower, .transpose_a = transpose, .unit_diagonal = unit})};
                },
                {regular, b}, tolerance);
            same(
                [&](Xs x) {
                  return Arrays{linalg::triangular_solve(
                      x[0], swapaxes(x[1], -1, -2), {.left_side = false, .lower = lower, .transpose_a = transpose, .unit_diagonal = unit})};
                },
                {regular, b}, tolerance);
          }
    }
  // Singular ones.
  same([](Xs x) { return Arrays{linalg::lu(x[0]).u, linalg::lu(x[0]).l}; }, {zeros({3, 3})});
}

namespace {

/// The mean of what lies within `radius` along each axis, fixed zeros around it.
Array neighbours(const Array& u, int radius) {
  Array sum = u * .3f;
  for (int axis = 0; axis < u.ndim(); ++axis) {
    detail::PaddingConfig around(static_cast<std::size_t>(u.ndim()));
    around[static_cast<std::size_t>(axis)] = {radius, radius, 0};
    const Array p = detail::pad_with(u, zeros({}), around, {});
    const auto n = static_cast<int>(u.shape()[axis]);
    sum = sum + .1f * (detail::slice_axis(p, axis, 0, n, {}) + detail::slice_axis(p, axis, 2 * radius, 2 * radius + n, {}));
  }
  return sum;
}

}  // namespace

TEST_CASE("loops: stencils run several iterations over a piece") {
  const auto steps = [](int n, const auto& body, const Array& u) { return fori_loop(0, n, [&](Array, Array v) { return body(v); }, u); };
  for (const Shape& shape : {Shape{100000}, Shape{300, 400}, Shape{333, 401}, Shape{60, 50, 70}})
    for (int length : {1, 2, 3, 8, 37})
      for (int radius : {1, 3})
        same([&](Xs x) { return Arrays{steps(length, [&](Array u) { return neighbours(u, radius); }, x[0])}; }, {values(shape, 1)});
  const Array u = values({500, 300}, 1), k = values({500, 300}, 2), row = values({300}, 3);
  // With what stays the same, with two fields, and beside other carried values.
  same([&](Xs x) { return Arrays{steps(9, [&](Array v) { return neighbours(v, 1) * x[1] + x[2]; }, x[0])}; }, {u, k, row});
  same(
      [&](Xs x) {
        const Two end = fori_loop(
            0, 11, [](Array, Two s) { return Two{s.a + .1f * neighbours(s.b, 1), s.b - .1f * neighbours(s.a, 2)}; }, Two{x[0], x[1]});
        return Arrays{end.a, end.b};
      },
      {u, k});
  same(
      [&](Xs x) {
        const Three end = fori_loop(
            0, 10, [](Array i, Three s) { return Three{neighbours(s.a, 1), s.b * .5f + astype(i, float32), s.c}; },
            Three{x[0], x[1], x[2]});
        return Arrays{end.a, end.b, end.c};
      },
      {u, row, k});
  // What is not a stencil: other ends, a step that depends on the iteration, a value that is shifted out of another.
  same([&](Xs x) { return Arrays{steps(5, [](Array v) { return .5f * (v + roll(v, 1, 0)); }, x[0])}; }, {u});
  same([&](Xs x) { return Arrays{fori_loop(0, 6, [](Array i, Array v) { return neighbours(v, 1) + astype(i, float32); }, x[0])}; }, {u});
  same(
      [&](Xs x) {
        const Two end = fori_loop(0, 7, [](Array, Two s) { return Two{neighbours(s.a, 1), s.a}; }, Two{x[0], x[1]});
        return Arrays{end.a, end.b};
      },
      {u, k});
  same(
      [&](Xs x) {
        const auto [end, all] = scan(
            [](const Array& v, None) {
              const Array w = neighbours(v, 1);
              return std::pair{w, w(3)};
            },
            x[0], none, {.length = 5});
        return Arrays{end, all};
      },
      {u});
  // The derivative runs back through all of it.
  same(
      [&](Xs x) { return Arrays{grad([&](Array v) { return sum(square(steps(4, [](Array w) { return neighbours(w, 1); }, v))); })(x[0])}; },
      {u}, 1e-4);
}
