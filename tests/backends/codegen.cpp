// The CPU backend against the interpreter: fusions, types, shapes, and how many kernels come of it.
#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

#include "tests/backends/agree.h"
#include "weft/backends/cpu/jit.h"
#include "weft/core/ops/reduce/reduce.h"

using namespace weft;
using test::Arrays, test::near, test::samples, test::Xs;

namespace {

/// What is small and has few roundings agrees better than loops do.
template <class F>
std::string same(F f, const Arrays& args, double tolerance = 2e-6) {
  return test::same(f, args, tolerance);
}

/// Kernels that are called.
int calls(const std::string& kernels) {
  int n = 0;
  std::size_t begin = 0;
  while (begin < kernels.size()) {
    const std::size_t end = kernels.find('\n', begin);
    if (end == begin) break;  // the calls end at the empty line
    n += kernels.compare(begin, 6, "kernel") == 0;
    begin = end + 1;
  }
  return n;
}

}  // namespace

TEST_CASE("codegen: one elementwise kernel, of any size") {
  for (int n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 1000, 4097, 100003}) {
    const std::string text =
        same([](Xs x) { return tanh(x[0] * 2.f + x[1]) - exp(x[1]) * x[0]; }, {samples({n}, 1, float32), samples({n}, 2, float32)});
    CHECK(calls(text) == 1);
  }
  CHECK(calls(same([](Xs x) { return x[0] + x[1]; }, {samples({0, 3}, 1, float32), samples({0, 3}, 2, float32)})) == 0);
  CHECK(calls(same([](Xs x) { return x[0] * 2.f; }, {samples({}, 1, float32)})) == 1);
}

TEST_CASE("codegen: broadcasting") {
  const Array x = samples({13, 37}, 1, float32), row = samples({37}, 2, float32), column = samples({13, 1}, 3, float32),
              one = samples({1, 1}, 4, float32);
  CHECK(calls(same([](Xs v) { return v[0] * v[1] + v[2] - v[3]; }, {x, row, column, one})) == 1);
  CHECK(calls(same([](Xs v) { return v[1] * v[2]; }, {x, row, column})) == 1);
  CHECK(calls(same([](Xs v) { return v[0] + 1.f; }, {samples({3, 1, 5, 1, 2}, 1, float32)})) == 1);
}

TEST_CASE("codegen: all types") {
  for (DType t : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
    const Array a = astype(arange(0, 77), t), b = astype(arange(0, 77) * 3 + 1, t);
    CHECK(calls(same([](Xs x) { return x[0] * x[1] + x[0]; }, {a, b})) == 1);
    same([](Xs x) { return floor_divide(x[1], x[0] + 1); }, {a, b});
    same([](Xs x) { return maximum(x[0], x[1]) - minimum(x[0], x[1]); }, {a, b});
    same([](Xs x) { return where(x[0] > x[1], x[0], x[1] % (x[0] + 2)); }, {a, b});
    same([](Xs x) { return sum(x[0]); }, {a});
    same([](Xs x) { return astype(x[0], float32) * .5f; }, {a});
  }
  for (DType t : {float16, bfloat16, float32, float64}) {
    const Array a = samples({77}, 1, t), b = samples({77}, 2, t);
    const double eps = t == float16 ? 2e-3 : t == bfloat16 ? 2e-2 : 1e-6;
    same([](Xs x) { return x[0] * x[1] + x[0]; }, {a, b}, eps);
    same([](Xs x) { return exp(x[0]) / (x[1] + 2); }, {a, b}, eps);
    same([](Xs x) { return sum(x[0]); }, {a}, eps);
    same([](Xs x) { return max(x[0]) + min(x[1]); }, {a, b}, eps);
    for (DType to : {bool_, int8, uint8, int32, int64, uint32, uint64, float16, bfloat16, float32, float64})
      same([&](Xs x) { return astype(x[0] * 100, to); }, {a}, eps);
  }
  const Array p = arange(0, 50) % 3 == 0, q = arange(0, 50) % 2 == 0;
  same([](Xs x) { return (x[0] & x[1]) | ~x[0]; }, {p, q});
  same([](Xs x) { return all(x[0]) | any(x[1]); }, {p, q});
}

TEST_CASE("codegen: complex numbers") {
  for (DType t : {complex64, complex128}) {
    const Array z = complex(samples({67}, 1, t.real_part()), samples({67}, 2, t.real_part()));
    const Array w = complex(samples({67}, 3, t.real_part()), samples({67}, 4, t.real_part()));
    CHECK(calls(same([](Xs x) { return x[0] * x[1] + conj(x[0]); }, {z, w})) == 1);
    same([](Xs x) { return x[0] / x[1]; }, {z, w}, 1e-5);
    same([](Xs x) { return sum(x[0] * x[1]); }, {z, w}, 1e-5);
    same([](Xs x) { return abs(x[0]) + real(x[1]); }, {z, w});
    same([](Xs x) { return exp(x[0]); }, {z}, 1e-5);
  }
}

TEST_CASE("codegen: movements melt into their readers") {
  const Array x = samples({12, 20}, 1, float32), y = samples({20, 12}, 2, float32);
  CHECK(calls(same([](Xs v) { return transpose(v[0]) + v[1]; }, {x, y})) == 1);
  CHECK(calls(same([](Xs v) { return reshape(v[0], {240}) * 2.f; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return reshape(v[0] * v[0], {3, 4, 20}) + 1.f; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return reshape(v[0], {16, 15}) + reshape(v[1], {16, 15}); }, {x, y})) == 1);
  CHECK(calls(same([](Xs v) { return reshape(transpose(v[0]), {240}) + reshape(v[0], {240}); }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return flip(v[0], 1) + v[0](slice(), slice(none, none, -1)); }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return v[0](slice(2, 9, 3), slice(1, 18, 2)) * 3.f; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return concatenate({v[0], v[0] * 2.f}, 0) + 1.f; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return concatenate({v[0], v[0] * 2.f, v[0]}, 1) + 1.f; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return stack({v[0], -v[0]}, 1); }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return pad(v[0], {{1, 2}, {3, 0}}, 7.f) * 2.f; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return tile(v[0], {2, 3}); }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return roll(v[0], 3, 1) - v[0]; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return astype(arange(0, 12)(slice(), newaxis), float32) * v[0]; }, {x})) == 1);
}

TEST_CASE("codegen: loops are cut where dimensions are joined and divided") {
  const auto join = [](const Array& x, Shape shape) { return reshape(transpose(x, {0, 2, 1, 3}), shape); };
  for (const std::int64_t width : {1, 2, 5, 8, 12, 16, 32, 40}) {
    const Array heads = samples({3, 4, 6, width}, 1, float32), bias = samples({4 * width}, 2, float32);
    const std::string text = same([&](Xs x) { return join(x[0], {18, 4 * width}) * x[1]; }, {heads, bias});
    CHECK(calls(text) == 1);
    if (width >= 8) CHECK(text.find(" / ") == std::string::npos);
    same([&](Xs x) { return join(x[0], {3, 6, 4 * width}) + 1.f; }, {heads});
    same([&](Xs x) { return Arrays{join(x[0], {72 * width}), sum(join(x[0], {18, 4 * width}), 1)}; }, {heads});
    same([&](Xs x) { return transpose(reshape(x[0], {3, 6, 4, width}), {0, 2, 1, 3}) - 1.f; }, {reshape(heads, {18, 4 * width})});
  }
  // From the middle of a row on, a loop stays whole.
  same([](Xs x) { return reshape(transpose(x[0]), {192})(slice(8, 168)) + 1.f; }, {samples({12, 16}, 3, float32)});
}

TEST_CASE("codegen: reductions") {
  const Array x = samples({33, 70}, 1, float32), t = samples({5, 33, 18}, 2, float32);
  for (Axis axis : {Axis(0), Axis(1), Axis({0, 1})}) {
    CHECK(calls(same([&](Xs v) { return sum(v[0] * v[0], axis); }, {x})) == 1);
    CHECK(calls(same([&](Xs v) { return max(v[0], axis) - min(v[0], axis); }, {x})) == 1);
    same([&](Xs v) { return prod(v[0] + 1.f, axis); }, {x}, 1e-5);
  }
  for (Axis axis : {Axis(0), Axis(1), Axis(2), Axis({0, 2}), Axis({0, 1}), Axis({1, 2})})
    same([&](Xs v) { return mean(v[0], axis) * 2.f; }, {t});
  for (int axis : {0, 1}) {
    same([&](Xs v) { return argmax(v[0], axis); }, {x});
    same([&](Xs v) { return argmin(v[0], axis); }, {x});
    same([&](Xs v) { return cumsum(v[0], axis); }, {x}, 1e-5);
    same([&](Xs v) { return cummax(v[0], axis); }, {x});
  }
  same([](Xs v) { return argmax(where(v[0] > .9f, 0.f / zeros_like(v[0]), v[0]), 1); }, {x});
  same([](Xs v) { return sum(v[0], 0); }, {samples({0, 4}, 1, float32)});
  same([](Xs v) { return sum(v[0]); }, {samples({300000}, 1, float32)}, 1e-4);
  same([](Xs v) { return sum(v[0] * 2.f, 0); }, {samples({30011, 5}, 1, float32)}, 1e-4);
}

TEST_CASE("codegen: what follows reductions runs by vectors") {
  const auto nests = [](const std::string& kernels) {
    std::size_t n = 0;
    for (std::size_t at = kernels.find("  nest"); at != std::string::npos; at = kernels.find("  nest", at + 1)) ++n;
    return n;
  };
  const auto layer = [](Xs v) { return tanh(matmul(v[0], v[1]) + v[2]); };
  const auto of = [](std::int64_t rows, std::int64_t columns, DType t) {
    return Arrays{samples({rows, columns}, 1, t), samples({columns}, 2, t), samples({rows}, 3, t)};
  };
  // All rows at once, in blocks, and numbers of rows that nothing divides.
  for (DType t : {float32, float64})
    for (const std::int64_t rows : {16, 64, 67, 500, 512, 1000, 1024, 2048}) {
      const std::size_t n = nests(same(layer, of(rows, 101, t), t == float32 ? 1e-5 : 1e-12));
      if (detail::native_vector_bytes() >= 32) CHECK(n == 2);
    }
  same(layer, of(521, 33, float32));
  // Where most time goes into the reductions, or rows are too few, or nothing dear follows, there is nothing to gain.
  CHECK(nests(same(layer, of(64, 4000, float32), 1e-4)) == 1);
  CHECK(nests(same(layer, of(3, 100, float32))) == 1);
  CHECK(nests(same([](Xs v) { return matmul(v[0], v[1]) + v[2]; }, of(64, 33, float32))) == 1);
  // Several reductions, several results, a batch; what is read by points and by rows.
  const Array x = samples({5, 64, 20}, 1);
  CHECK(nests(same(
            [](Xs v) {
              const Array s = sum(v[0] * v[0], -1), m = max(v[0], -1), i = astype(arange(0, 64), float64);
              return Arrays{exp(m) / (s + 1.), log(s + 1.) * i, s};
            },
            {x}, 1e-12)) == 2);
  same([](Xs v) { return where(v[0](slice(), slice(), 0) > 0., sin(sum(v[0], -1)), cos(sum(v[0] * 2., -1))); }, {x}, 1e-12);
  same([](Xs v) { return abs(exp(sum(v[0], -1))); }, {samples({64, 20}, 1, complex64)}, 1e-4);
  same([](Xs v) { return Arrays{scan([&](Array c, Array in) { return std::pair{tanh(matmul(v[0], c) + in), c}; }, v[1](0), v[1]).second}; },
       {samples({64, 64}, 1) * .2, samples({20, 64}, 2)}, 1e-10);
}

TEST_CASE("codegen: rows are normalised in one kernel") {
  for (const Shape& s : {Shape{40, 100}, Shape{3, 17}, Shape{100, 4}, Shape{2, 3, 1000}}) {
    const Array x = samples(s, 1, float32);
    CHECK(calls(same([](Xs v) { return nn::softmax(v[0]); }, {x})) == 1);
    CHECK(calls(same([](Xs v) { return nn::log_softmax(v[0]); }, {x})) == 1);
    CHECK(calls(same([](Xs v) { return nn::softmax(v[0], 0); }, {x})) == 1);
    CHECK(calls(same(
              [](Xs v) {
                const Array centred = v[0] - mean(v[0], -1, keepdims);
                return centred / sqrt(mean(centred * centred, -1, keepdims) + 1e-5f);
              },
              {x})) == 1);
  }
}

TEST_CASE("codegen: columns of large matrices are normalised several vectors at a time") {
  const auto normalised = [](Xs v) { return nn::softmax(v[0], 0); };
  same(normalised, {samples({301, 1003}, 1)}, 1e-12);
  same(normalised, {samples({901, 1203}, 2, float32)});
  same([](Xs v) { return v[0] * rsqrt(sum(square(v[0]), 1, keepdims)); }, {samples({3, 301, 517}, 3)}, 1e-12);
}

TEST_CASE("codegen: merged dimensions are loops of their own") {
  for (int n : {3, 30}) {
    const std::string kernels = same([](Xs v) { return kron(v[0], v[1]); }, {samples({n, n + 1}, 1), samples({n + 2, n}, 2)}, 1e-12);
    CHECK(kernels.find(" / ") == std::string::npos);
    CHECK(kernels.find(" % ") == std::string::npos);
  }
  same([](Xs v) { return reshape(transpose(v[0], {2, 0, 1}), {7, -1}); }, {samples({9, 14, 10}, 1)}, 1e-12);
  same([](Xs v) { return reshape(pad(v[0], {{1, 2}, {0, 3}}), {4, -1}); }, {samples({9, 15}, 1)}, 1e-12);
  same([](Xs v) { return reshape(roll(v[0], 3, 1), {6, 25, 2})(slice(), slice(1, 24, 3)); }, {samples({10, 30}, 1)}, 1e-12);
}

TEST_CASE("codegen: shares of long rows' sums are rounded once") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto shares = [](Xs v) {
    const Array e = exp(v[0]), s = sum(e, -1, keepdims);
    return Arrays{e / s, s};
  };
  for (const std::int64_t n : {17, 1023, 1024, 1031, 1500, 1600}) {
    // Ordinary rows, some of which underflow; sums that are as small and as large as numbers are, 0, infinite and NaN.
    std::vector<Array> rows{samples({n}, 1, float32) * 5.f, samples({n}, 2, float32) * 100.f - 20.f, samples({n}, 3, float32) * 400.f};
    for (const float v : {-100.f, -103.f, -88.f, 80.9f, 88.f, -inf}) rows.push_back(samples({n}, 4, float32) * .1f + v);
    for (const float v : {nan, inf, 0.f}) rows.push_back(where(arange(0, n) == 5, array(v), array(v == 0.f ? -inf : 1.f)));
    const Array x = stack(rows);
    const auto exe = detail::CpuBackend().compile(make_jaxpr([&](const Arrays& xs) { return shares(xs); })(Arrays{x}), {"f"});
    const std::vector<Array> got = exe->call(Arrays{x}, 0);
    const std::vector<double> e = jit([](Array v) { return exp(v); })(x).to_vector<double>(), s = got[1].to_vector<double>(),
                              q = got[0].to_vector<double>();
    const std::string code = exe->as_text("llvm");
    const bool has_lookups = code.find("scalef") != std::string::npos;  // AVX-512
    CHECK((code.find("getmant") != std::string::npos) == (n >= 1024 && has_lookups));
    int wrong = 0;
    for (std::size_t k = 0; k < q.size(); ++k) {
      const double exact = e[k] / s[k / static_cast<std::size_t>(n)], want = static_cast<double>(static_cast<float>(exact));
      const double away = exact < 0x1p-100 && exact > 0 ? std::max(want * 0x1p-23, 0x1p-149) : 0;
      wrong += std::isnan(want) ? !std::isnan(q[k]) : !(std::abs(q[k] - want) <= away);
    }
    INFO(n);
    CHECK(wrong == 0);
  }
}

TEST_CASE("codegen: functions of several vectors side by side, in place") {
  const auto f = [](Array x) { return exp(-x * x) + tanh(x) * .5f; };
  const auto roots = [](Array x) { return rsqrt(x * x + 1.f); };
  for (const std::int64_t n : {15, 16, 33, 48, 64, 79, 80, 127, 128, 145, 1000}) {
    const Array x = samples({n}, 1, float32);
    const std::vector<double> want = jit(f)(x).to_vector<double>(), want_roots = jit(roots)(x).to_vector<double>();
    for (const bool is_root : {false, true}) {
      const Jaxpr j = is_root ? make_jaxpr(roots)(x) : make_jaxpr(f)(x);
      const Array mine = array(x.to_vector<float>(), {n});
      const Array got = detail::CpuBackend().compile(j, {"f", {true}})->call(Arrays{mine}, 0)[0];
      CHECK(got.to_vector<double>() == (is_root ? want_roots : want));
    }
    same([](Xs v) { return Arrays{exp(v[0]), sum(exp(v[0] * 2.f)), max(exp(v[0])), sum(exp(v[0]) * v[0])}; }, {x}, 1e-5);
  }
}

TEST_CASE("codegen: several results share a kernel") {
  const Array x = samples({50, 30}, 1, float32);
  CHECK(calls(same([](Xs v) { return std::vector<Array>{v[0] * 2.f, exp(v[0]), v[0] + exp(v[0])}; }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return std::vector<Array>{v[0] * 2.f, sum(v[0], 1), max(v[0], 1)}; }, {x})) == 1);
}

TEST_CASE("codegen: short rows are written in order, not among reductions along them") {
  const Array a = samples({20, 48}, 1, float32), b = samples({20, 10}, 2, float32), w = samples({10, 48}, 3, float32);
  const auto nests = [](const std::string& kernels) {
    int n = 0;
    for (std::size_t at = kernels.find("nest"); at != std::string::npos; at = kernels.find("nest", at + 1)) ++n;
    return n;
  };
  // Rows of 10 elements beside sums of 10 for each of 48 lanes, in either order; rows of 16 fill vectors.
  const auto both = [](Xs v) {
    return std::vector<Array>{expand_dims(v[0], 2) * expand_dims(v[1], 1), sum(expand_dims(v[1], 1) * transpose(v[2]), 2)};
  };
  const auto turned = [&](Xs v) {
    const std::vector<Array> r = both(v);
    return std::vector<Array>{r[1], r[0]};
  };
  const int apart = detail::native_vector_bytes() > 40 ? 2 : 1;
  CHECK(nests(same(both, {a, b, w})) == apart);
  CHECK(nests(same(turned, {a, b, w})) == apart);
  CHECK(nests(same(both, {a, samples({20, 16}, 2, float32), samples({16, 48}, 3, float32)})) == 1);
  // Rows that the reduction itself reads stay with it.
  const auto needed = [](Xs v) {
    const Array rows = exp(expand_dims(v[0], 2) * expand_dims(v[1], 1));
    return std::vector<Array>{rows, sum(rows, 2)};
  };
  CHECK(nests(same(needed, {a, b})) == 1);
}

TEST_CASE("codegen: matmuls") {
  const Array a = samples({40, 50}, 1, float32), b = samples({50, 60}, 2, float32), v = samples({50}, 3, float32);
  same([](Xs x) { return matmul(x[0], x[1]); }, {a, b}, 1e-5);
  same([](Xs x) { return matmul(transpose(x[1]), transpose(x[0])); }, {a, b}, 1e-5);
  same([](Xs x) { return tanh(matmul(x[0], x[1]) + x[2]); }, {a, b, samples({60}, 4, float32)}, 1e-5);
  same([](Xs x) { return matmul(x[0], x[1]); }, {a, v}, 1e-5);
  same([](Xs x) { return matmul(x[1], transpose(x[0])); }, {a, v}, 1e-5);
  same([](Xs x) { return sum(x[0] * x[0]) + vdot(x[0], x[0]); }, {v}, 1e-5);
  same([](Xs x) { return matmul(x[0], x[1]); }, {samples({3, 40, 50}, 5, float32), samples({3, 50, 60}, 6, float32)}, 1e-5);
  same([](Xs x) { return einsum("bhik,bjhk->bhij", x[0], x[1]); },
       {samples({2, 3, 40, 50}, 5, float32), samples({2, 60, 3, 50}, 6, float32)}, 1e-5);
  for (DType t : {float64, float16, bfloat16, int32, int8, complex64}) {
    const Array p = astype(samples({40, 50}, 1) * 5., t), q = astype(samples({50, 60}, 2) * 5., t);
    same([](Xs x) { return matmul(x[0], x[1]); }, {p, q}, t == float16 || t == bfloat16 ? 2e-2 : 1e-4);
    same([](Xs x) { return matmul(x[0](slice(0, 3), slice(0, 4)), x[1](slice(0, 4), slice(0, 5))); }, {p, q},
         t == float16 || t == bfloat16 ? 2e-2 : 1e-4);
  }
}

TEST_CASE("codegen: matmuls whose left operand is computed run several rows side by side") {
  // All rows in fours, some left, columns that are not whole vectors, a batch; positions that are computed in the operand.
  for (const std::int64_t rows : {64, 67, 200})
    for (const std::int64_t columns : {32, 70, 200}) {
      const Arrays args{samples({rows, 90}, 1), samples({90, columns}, 2)};
      CHECK(calls(same([](Xs v) { return matmul(tril(v[0]), v[1]); }, args, 1e-12)) == 1);
      same([](Xs v) { return matmul(v[0] * 2. - 1., v[1]) + 1.; }, args, 1e-12);
      same([](Xs v) { return matmul(roll(v[0], 7, 1) + v[0], v[1]); }, args, 1e-12);
    }
  same([](Xs v) { return matmul(v[0] * 2., v[1]); }, {samples({3, 70, 40}, 1), samples({3, 40, 50}, 2)}, 1e-12);
  same([](Xs v) { return matmul(nn::one_hot(v[0], 100, float64), v[1]); }, {arange(0, 150) * 7 % 103, samples({100, 64}, 2)}, 1e-12);
  same([](Xs v) { return matmul(take(v[0], v[2], 1) * 2., v[1]); }, {samples({150, 30}, 1), samples({90, 64}, 2), arange(0, 90) * 7 % 30},
       1e-12);
  same([](Xs v) { return matmul(v[0] * v[0], v[1]); }, {samples({150, 60}, 1, complex128), samples({60, 64}, 2, complex128)}, 1e-12);
}

TEST_CASE("codegen: matmuls without a sum are fused into their consumers") {
  for (DType t : {float32, float64, bfloat16, float16, int8, complex64}) {
    const Array a = astype(samples({5, 40}, 1) * 5., t), b = astype(samples({5, 60}, 2) * 5., t);
    const double tolerance = t == bfloat16 || t == float16 ? 2e-2 : 1e-6;
    CHECK(calls(same([](Xs x) { return einsum("bi,bj->bij", x[0], x[1]) + x[0](slice(), slice(), newaxis); }, {a, b}, tolerance)) == 1);
    CHECK(calls(same([](Xs x) { return einsum("bi,bj->jbi", x[0], x[1]); }, {a, b}, tolerance)) == 1);
    CHECK(calls(same([](Xs x) { return matmul(x[0](slice(), slice(0, 1)), transpose(x[1](slice(), slice(0, 1)))); }, {a, b}, tolerance)) ==
          1);
    CHECK(calls(same([](Xs x) { return outer(x[0], x[1]); }, {a(0), b(0)}, tolerance)) == 1);
  }
  CHECK(calls(same([](Xs x) { return outer(x[0], x[1]); }, {arange(0, 7) % 2 == 0, arange(0, 9) % 3 == 0})) >= 0);
}

TEST_CASE("codegen: transposed operands of matmuls that run in pieces") {
  for (const auto& [k, m, n] :
       {std::array{256, 256, 256}, {200, 300, 190}, {130, 513, 260}, {260, 190, 520}, {512, 128, 384}, {300, 133, 530}, {128, 128, 700}}) {
    const Array a = samples({k, m}, 1, float32), b = samples({k, n}, 2, float32);
    same([](Xs x) { return matmul(x[0], x[1]); }, {transpose(a), b}, 1e-4);
    same([](Xs x) { return matmul(transpose(x[0]), x[1]); }, {a, b}, 1e-4);
    same([](Xs x) { return matmul(transpose(x[0]), transpose(x[1])); }, {a, transpose(b)}, 1e-4);
    // Some columns of a wider matrix.
    same([](Xs x) { return matmul(transpose(x[0](slice(), slice(3, none))), x[1]); }, {a, b}, 1e-4);
  }
}
TEST_CASE("codegen: a matmul of which only the transpose is read is computed transposed") {
  const Array a = samples({200, 180}, 1, float32), b = samples({180, 190}, 2, float32);
  CHECK(calls(same([](Xs x) { return transpose(matmul(x[0], x[1])); }, {a, b}, 1e-4)) == 0);
  // The matmul itself is read too: it is computed once.
  CHECK(calls(same([](Xs x) { return std::vector<Array>{transpose(matmul(x[0], x[1])), matmul(x[0], x[1])}; }, {a, b}, 1e-4)) == 1);
  const Array c = samples({3, 200, 180}, 3, float32), d = samples({3, 180, 190}, 4, float32);
  CHECK(calls(same([](Xs x) { return transpose(matmul(x[0], x[1]), {0, 2, 1}); }, {c, d}, 1e-4)) == 0);
  same([](Xs x) { return transpose(matmul(x[0], x[1]), {2, 0, 1}); }, {c, d}, 1e-4);
  same([](Xs x) { return transpose(einsum("ijk,kab->ijab", x[0], x[1]), {2, 3, 0, 1}); },
       {samples({20, 3, 30}, 5, float32), samples({30, 4, 50}, 6, float32)}, 1e-4);
}

TEST_CASE("codegen: running reductions by vectors and in chunks") {
  for (const Shape& shape :
       {Shape{1}, Shape{15}, Shape{16}, Shape{1000}, Shape{1 << 18}, Shape{1 << 18, 3}, Shape{2, 3 << 17}, Shape{300007}}) {
    const int axis = shape.size() == 2 && shape[0] < shape[1] ? 1 : 0;
    const Array x = samples(shape, 1, float32), n = astype(x * 100, int32);
    for (const bool reverse : {false, true}) {
      same([&](Xs v) { return detail::cumulative_sum(v[0], axis, reverse); }, {n});
      same([&](Xs v) { return detail::cumulative_max(v[0] * 2.f, axis, reverse); }, {x});
      same([&](Xs v) { return detail::cumulative_min(v[0], axis, reverse) + v[0]; }, {n});
      same([&](Xs v) { return detail::cumulative_sum(v[0], axis, reverse); }, {astype(x, float64)}, 1e-10);
      same([&](Xs v) { return detail::cumulative_prod(v[0], axis, reverse); }, {astype(1 + x * 1e-4, float64)}, 1e-9);
      same([&](Xs v) { return detail::cumulative_sum(v[0], axis, reverse); }, {astype(n % 3, int8)});
    }
  }
  Array x = samples({40}, 1, float32);
  x = x.at(7).set(std::nanf(""));
  same([](Xs v) { return std::vector<Array>{cummax(v[0]), detail::cumulative_min(v[0], 0), cumsum(v[0])}; }, {x}, 1e-5);
  const Array rows = samples({70, 50}, 2, float32);
  same([](Xs v) { return std::vector<Array>{cumsum(v[0], 1), cumsum(v[0], 0), exp(cumsum(tanh(v[0]), 1)) * v[0]}; }, {rows}, 1e-5);
}

TEST_CASE("codegen: an output that is a result in another shape is no copy") {
  const Array x = samples({12, 20}, 1, float32), a = samples({200, 180}, 2, float32), b = samples({180, 190}, 3, float32);
  CHECK(calls(same([](Xs v) { return reshape(sum(v[0], 1), {3, 4}); }, {x})) == 1);
  CHECK(calls(same([](Xs v) { return reshape(matmul(v[0], v[1]), {10, 20, 190}); }, {a, b}, 1e-4)) == 0);
  CHECK(calls(same([](Xs v) { return expand_dims(reshape(matmul(v[0], v[1]), {10, 20, 190}), 1); }, {a, b}, 1e-4)) == 0);
  // Beside others: the result itself, two shapes of it, and what is computed of it.
  same([](Xs v) { return std::vector<Array>{cumsum(v[0], 1), reshape(cumsum(v[0], 1), {240})}; }, {x}, 1e-5);
  same([](Xs v) { return std::vector<Array>{reshape(cumsum(v[0], 1), {2, 120}), reshape(cumsum(v[0], 1), {240})}; }, {x}, 1e-5);
  same([](Xs v) { return std::vector<Array>{reshape(cumsum(v[0], 1), {240}), reshape(cumsum(v[0], 1), {240})}; }, {x}, 1e-5);
  same(
      [](Xs v) {
        const Array s = reshape(sort(v[0], 1), {240});
        return std::vector<Array>{s, s * 2.f, sum(s), sort(s), matmul(reshape(s, {20, 12}), v[0])};
      },
      {x}, 1e-4);
  same([](Xs v) { return reshape(fori_loop(0, 5, [](Array, Array y) { return matmul(y, y) * .1f; }, v[0](slice(), slice(0, 12))), {144}); },
       {x}, 1e-5);
}

TEST_CASE("codegen: large results go past the caches") {
  const Array x = samples({2100, 1024}, 1, float32), g = samples({1024}, 2, float32);
  CHECK(calls(same([](Xs v) { return v[0] / sum(v[0] * v[0], -1, {.keepdims = true}) * v[1]; }, {x, g}, 1e-5)) == 1);
  // Rows of no whole number of vectors, and results of which others read elements.
  same([](Xs v) { return v[0](slice(), slice(0, 1021)) * 2.f; }, {x});
  same([](Xs v) { return std::vector<Array>{v[0] + 1.f, cumsum(v[0] + 1.f, 1)}; }, {x}, 1e-4);
}

TEST_CASE("codegen: columns of large matrices are reduced row by row, in pieces") {
  // 1537 rows and 4100 columns are not whole number of pieces, nor of vectors.
  const Array x = samples({1537, 4100}, 1, float32), y = samples({1537, 1}, 2, float32), n = astype(x * 1000, int32);
  std::string text = same([](Xs v) { return sum(v[0] * v[1], 0); }, {x, y}, 1e-4);
  CHECK(text.find("nest for i1 < 4100 reduce i2 < 24") != std::string::npos);
  CHECK(calls(text) == 2);
  same([](Xs v) { return std::vector<Array>{max(v[0], 0), min(v[0], 0), sum(v[0], 0)}; }, {n});
  // Of what is read once; others that read other rows or columns go on alone.
  CHECK(calls(same([](Xs v) { return std::vector<Array>{sum(v[0], 0), sum(v[0] * v[0], 0) * 2.f}; }, {x}, 1e-4)) <= 3);
  same([](Xs v) { return std::vector<Array>{sum(v[0], 0), sum(v[0], 1), v[0] - mean(v[0], 0)}; }, {x}, 1e-4);
  const Array wide = samples({400, 16, 1000}, 3, float32);
  same([](Xs v) { return std::vector<Array>{sum(v[0], 0), sum(v[0], 1), sum(v[0], {0, 1}), sum(v[0], {0, 2})}; }, {wide}, 1e-4);
  same([](Xs v) { return sum(complex(v[0], v[1]), 0); }, {x, y}, 1e-4);
  // Pieces of rows lie behind one another: their sums stay within a kernel.
  const Array rows = samples({128, 4096}, 4, float32), columns = samples({8192, 128}, 5, float32);
  CHECK(calls(same([](Xs v) { return sum(v[0], 1); }, {rows}, 1e-4)) == 1);
  CHECK(calls(same([](Xs v) { return sum(v[0], 0); }, {columns}, 1e-4)) == 2);
}

TEST_CASE("codegen: large transposes read in order") {
  const Array x = samples({2063, 3001}, 1, float32), y = samples({3001, 2063}, 2, float32), z = samples({2048, 1664}, 3, float64);
  same([](Xs v) { return transpose(v[0]) + 1.f; }, {x});
  same([](Xs v) { return transpose(v[0]) * v[1]; }, {x, y});
  same([](Xs v) { return std::vector<Array>{transpose(v[0]) * v[1], v[0] + 1.f}; }, {x, y});
  same([](Xs v) { return transpose(v[0]) * 2.; }, {z});
  same([](Xs v) { return transpose(reshape(v[0], {128, 16, 1664}), {1, 2, 0}) * 2.; }, {z});
}

TEST_CASE("codegen: indices that are computed") {
  const Array x = samples({30, 7}, 1, float32), i = array({3, 29, 0, -1, 12, 12});
  CHECK(calls(same([](Xs v) { return take(v[0], v[1], 0) * 2.f; }, {x, i})) == 1);
  same([](Xs v) { return v[0](v[1]); }, {x, i});
  same([](Xs v) { return dynamic_slice(v[0], {v[1](1), 2}, {4, 3}) + 1.f; }, {x, i});
  same([](Xs v) { return dynamic_update_slice(v[0], v[0](slice(0, 2), slice(0, 3)) * 0.f, {v[1](0), 1}); }, {x, i});
  same([](Xs v) { return v[0].at(v[1]).add(1.f); }, {x, i});
  same([](Xs v) { return sort(v[0], 0) + v[0]; }, {x, i});
}

TEST_CASE("codegen: scatters update a copy in order") {
  const Array x = samples({30, 7}, 1, float32), i = array({3, 29, 0, 77, 12, 12, 3, -1, -40});
  const Array rows = samples({9, 7}, 2, float32), numbers = samples({9}, 3, float32);
  CHECK(calls(same([](Xs v) { return v[0].at(v[1]).add(v[2]); }, {x, i, rows})) == 2);
  same([](Xs v) { return v[0].at(v[1]).set(v[2]); }, {x, i, rows});
  same([](Xs v) { return v[0].at(v[1]).multiply(v[2] * 2.f); }, {x, i, rows});
  same([](Xs v) { return v[0].at(v[1]).max(v[2]) + v[0].at(v[1]).min(v[2]); }, {x, i, rows});
  same([](Xs v) { return v[0].at(v[1], 2).add(v[2]); }, {x, i, numbers});
  same([](Xs v) { return v[0].at(v[1], v[1]).add(v[2]); }, {x, i, numbers});
  same([](Xs v) { return v[0].at(slice(), v[1]).add(1.f); }, {x, i});
  same([](Xs v) { return v[0](v[2], 0).at(v[1]).set(v[0](v[2], 1)); }, {x, arange(0, 9) % 9, i});
  for (DType t : {int8, int64, uint16, float16, bfloat16, float64, complex64})
    same([](Xs v) { return v[0].at(v[1]).add(v[2]); }, {astype(x * 9.f, t), i, astype(rows * 9.f, t)}, 1e-2);
  // The bounds of the indices' own type, and beyond those of positions.
  for (DType t : {int8, uint8, int32, uint32, int64, uint64}) {
    const bool wide = t == int64 || t == uint64;
    const Array far = astype(wide ? array({3, 1ll << 40, 29, 1ll << 62, 30}) : array({3, 127, 29, 30, 0}), t);
    same([](Xs v) { return v[0].at(v[1]).add(v[2]); }, {x, far, rows(slice(0, 5))});
    same([](Xs v) { return take(v[0], v[1], 0); }, {x, t.is_signed() ? where(far == 3, array(-1, t), far) : far});
  }
  same([](Xs v) { return grad([&](Array a) { return sum(square(take(a, v[1], 0))); })(v[0]); }, {x, i});
  same([](Xs v) { return vmap([](Array a, Array k) { return a.at(k).add(2.f); })(v[0], v[1]); }, {x, arange(0, 30) % 7});
  same([](Xs v) { return v[0].at(v[1]).add(v[2]); },
       {samples({2000, 64}, 1, float32), arange(0, 5000) * 7 % 2000, samples({5000, 64}, 2, float32)}, 1e-5);
}

TEST_CASE("codegen: control flow") {
  same([](Xs v) { return cond(sum(v[0]) > 0.f, [](Array x) { return x * 2.f; }, [](Array x) { return x - 1.f; }, v[0]); },
       {samples({5}, 1, float32)});
  same([](Xs v) { return fori_loop(0, 5, [](Array, Array x) { return x * 1.5f + 1.f; }, v[0]); }, {samples({5}, 1, float32)});
}

TEST_CASE("codegen: gradients of a network") {
  const Array x = samples({64, 20}, 1, float32), w1 = samples({20, 50}, 2, float32), b1 = samples({50}, 3, float32),
              w2 = samples({50, 10}, 4, float32);
  const Array labels = arange(0, 64) % 10;
  const auto loss = [](const Array& w1, const Array& b1, const Array& w2, const Array& x, const Array& y) {
    const Array logits = matmul(nn::relu(matmul(x, w1) + b1), w2);
    return -mean(sum(nn::log_softmax(logits) * one_hot(y, 10), 1));
  };
  same(
      [&](Xs v) {
        const std::vector<Array> g =
            grad([&](const std::vector<Array>& p) { return loss(p[0], p[1], p[2], v[3], v[4]); })(std::vector<Array>{v[0], v[1], v[2]});
        return std::vector<Array>{v[0] - .1f * g[0], v[1] - .1f * g[1], v[2] - .1f * g[2]};
      },
      {w1, b1, w2, x, labels}, 1e-5);
}

TEST_CASE("codegen: donated inputs become results") {
  const Array x = samples({1000}, 1, float32), y = samples({1000}, 2, float32);
  const Jaxpr j = make_jaxpr([](Array a, Array b) { return a * .9f + b; })(x, y);
  const auto exe = detail::CpuBackend().compile(j, {"f", {true, false}});
  const std::vector<double> want = (x * .9f + y).to_vector<double>();
  const Array mine = array(x.to_vector<float>(), {1000});
  const void* before = detail::as_concrete(mine)->buffer->data();
  const Array got = exe->call(std::vector<Array>{mine, y}, 0)[0];
  CHECK(detail::as_concrete(got)->buffer->data() == before);
  CHECK(near(got, want));
}

TEST_CASE("codegen: texts and analyses") {
  const Array x = samples({100}, 1, float32);
  const Jaxpr j = make_jaxpr([](Array a) { return sum(a * a); })(x);
  const auto exe = detail::CpuBackend().compile(j, {"f"});
  CHECK(exe->as_text("jaxpr").find("reduce_sum") != std::string::npos);
  CHECK(exe->as_text("llvm").find("define void @kernel0") != std::string::npos);
  CHECK(exe->as_text("asm").find("kernel0:") != std::string::npos);
  CHECK_THROWS_AS(exe->as_text("spirv"), CompileError);
  CHECK(exe->cost_analysis().flops == 200);
  CHECK(exe->cost_analysis().bytes_accessed == 404);
  CHECK(exe->memory_analysis().argument_size_in_bytes == 400);
  const auto object = exe->export_object({"sum_of_squares", {{"sum_of_squares", "a sum", j, {"x"}, {"y"}}}, {"native"}});
  CHECK(object.object.substr(1, 3) == "ELF");
  CHECK(object.header.find("int sum_of_squares(") != std::string::npos);
}

namespace {

/// What a function of arrays costs, and its kernels' text.
struct Costs {
  double flops = 0, bytes = 0;
  std::string text;
};
template <class F>
Costs costs_of(F f, const std::vector<Array>& args) {
  const auto exe = detail::CpuBackend().compile(make_jaxpr([&](const std::vector<Array>& x) { return f(x); })(args), {"f"});
  return {exe->cost_analysis().flops, exe->cost_analysis().bytes_accessed, exe->as_text("kernels")};
}

}  // namespace

TEST_CASE("codegen: costs of scalars, loops and matmuls") {
  using Xs = const std::vector<Array>&;
  const Costs scalar = costs_of([](Xs x) { return sin(x[0]) * x[0] + 2; }, {array(1.f)});
  CHECK(scalar.flops == 3);
  CHECK(scalar.bytes == 8);
  // A loop within a kernel touches memory once, and computes in each iteration. A counter that nobody reads is not kept.
  const auto halve = [](const Array&, const Array& v) { return v * .5f + 1; };
  const Costs counted = costs_of([&](Xs x) { return fori_loop(0, 50, halve, x[0]); }, {ones(1000)});
  CHECK(counted.flops == 50 * 2 * 1000);
  CHECK(counted.bytes == 2 * 4 * 1000);
  // Of a loop that ends when it likes one iteration counts, whether it is in a kernel or around kernels.
  const auto large = [](const Array& v) { return v > 1; };
  const auto half = [](const Array& v) { return v * .5f; };
  const Costs lanes = costs_of([&](Xs x) { return vmap([&](Array y) { return while_loop(large, half, y); })(x[0]); }, {ones(1000)});
  CHECK(lanes.flops == 1000);
  CHECK(lanes.bytes == 8000);
  const Costs around = costs_of([&](Xs x) { return while_loop([](const Array& v) { return sum(v) > 1; }, half, x[0]); }, {ones(1000)});
  CHECK(around.flops == 2000);
  // Results of each iteration.
  const auto step = [](const Array& c, const Array& y) {
    const Array next = sin(c) * y;
    return std::pair{next, next + c};
  };
  const Costs results = costs_of([&](Xs x) { return scan(step, x[0], x[1]).second; }, {ones(300), ones({20, 300})});
  CHECK(results.flops == 20 * 300 * 3);
  CHECK(results.bytes >= 4. * (300 + 2 * 20 * 300));
  CHECK(results.bytes <= 4. * (2 * 300 + 2 * 20 * 300));
  CHECK(costs_of([](Xs x) { return matmul(x[0], x[1]); }, {ones({12, 10}), ones({10, 9})}).flops == 2 * 12 * 10 * 9);
  CHECK(costs_of([](Xs x) { return matmul(x[0], x[1]); }, {ones({120, 100}), ones({100, 90})}).flops == 2. * 120 * 100 * 90);
  CHECK(costs_of([](Xs x) { return x[0](slice(none, 10)) * 2; }, {ones(1000)}).text.find("a0: f32[1000], 10 read") != std::string::npos);
  // What is gathered more often than it has elements is computed once for each of them, not for each place.
  const auto quotients = [](Xs x) { return (x[0] / x[1])(x[2]); };
  CHECK(costs_of(quotients, {ones(500), ones(500), zeros({5000}, int32)}).flops == 500);
  CHECK(costs_of(quotients, {ones(500), ones(500), zeros({50}, int32)}).flops == 50);
  CHECK(costs_of([](Xs x) { return expand_dims(x[0] / x[1], 0)(0, x[2]); }, {ones(500), ones(500), zeros({5000}, int32)}).flops == 500);
}

TEST_CASE("a masked load without lanes points into its array") {
  const auto join = [](const Arrays& v) { return Arrays{concatenate(v)}; };
  const Arrays v{arange(4096.f), arange(4096.f) + 1.f, arange(4096.f) + 2.f};
  const auto exe = detail::CpuBackend().compile(make_jaxpr(join)(v), {"f"});
  CHECK(array_equal(exe->call(v, 0)[0], join(v)[0]).item<bool>());
  std::istringstream code(exe->as_text("llvm"));
  for (std::string line; std::getline(code, line);) {
    const std::size_t at = line.find("@llvm.masked.load");
    if (at == std::string::npos || line.find(" = call") == std::string::npos) continue;
    const std::size_t from = line.find("(ptr ", at) + 5;
    const std::string pointer = line.substr(from, line.find(',', from) - from);
    INFO(line);
    // Other processors have no masked loads of their own: LLVM makes branches of them.
    if (detail::native_vector_bytes() >= 64) CHECK(exe->as_text("llvm").find(pointer + " = select") != std::string::npos);
  }
}
