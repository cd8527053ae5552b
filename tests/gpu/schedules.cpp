// Each way of running a kernel by teams of threads, at sizes that take it, on the emulated device against the CPU.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <set>
#include <sstream>

#include "tests/ops/checks.h"
#include "tests/ops/program_checks.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {
namespace {

using Xs = const std::vector<Array>&;

template <class F>
void same(F f, const std::vector<Array>& args, double tolerance = 4e-6) {
  const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
  const auto want = detail::backend("cpu").compile(j, {"f"})->call(args, 0);
  const auto exe = detail::backend("cuda").compile(j, {"f"});
  const auto got = exe->call(args, devices("cuda")[0].id());
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    CHECK(got[k].aval() == want[k].aval());
    const std::string wrong = wrong_in(got[k], want[k], tolerance);
    CHECK_MESSAGE(wrong.empty(), wrong << "\n" << exe->as_text("kernels"));
  }
}

Array noise(const Shape& s, int seed, DType t = float32) { return samples(s, seed, t); }

}  // namespace

TEST_CASE("gpu schedules: points, and vectors of them") {
  for (const int n : {1, 7, 1000, 40000, 1 << 17, (1 << 17) + 3})
    same([](Xs x) { return tanh(x[0]) * x[1] - exp(x[1]); }, {noise({n}, 1), noise({n}, 2)});
  same([](Xs x) { return x[0] + x[1]; }, {noise({512, 1024}, 1), noise({1024}, 2)});
  same([](Xs x) { return where(x[0] > 0.f, x[0], x[1]); }, {noise({512, 1024}, 1), noise({512, 1}, 2)});
  same([](Xs x) { return convert(x[0], bfloat16); }, {noise({1 << 18}, 1)});
  same([](Xs x) { return x[0] > 0.f; }, {noise({1 << 18}, 1)});
  same([](Xs x) { return transpose(x[0]) * 2.f; }, {noise({300, 700}, 1)});
  same([](Xs x) { return sin(x[0] * 1e7f) + cos(x[0] * 1e30f); }, {noise({1 << 16}, 1)}, 1e-5);
  same([](Xs x) { return rem(x[0] * 1e9f, x[1]); }, {noise({1 << 16}, 1), noise({1 << 16}, 2)}, 1e-5);
}

TEST_CASE("gpu schedules: tiles of what is read transposed") {
  const auto takes_tiles = [](auto f, const std::vector<Array>& args) {
    same(f, args);
    const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
    CHECK(detail::ptx_text(j, {}, {}, "").find("_tile0") != std::string::npos);
  };
  same([](Xs x) { return transpose(x[0]); }, {noise({160, 224}, 1, complex64)});
  for (const DType t : {float32, bfloat16, float64, bool_}) takes_tiles([](Xs x) { return transpose(x[0]); }, {noise({160, 224}, 1, t)});
  takes_tiles([](Xs x) { return transpose(x[0]) * 2.f + x[1]; }, {noise({301, 129}, 1), noise({129, 301}, 2)});
  takes_tiles([](Xs x) { return tanh(transpose(x[0])) + transpose(x[1]); }, {noise({33, 1000}, 1), noise({33, 1000}, 2)});
  takes_tiles([](Xs x) { return transpose(x[0], {0, 2, 1}); }, {noise({5, 100, 70}, 1)});
  takes_tiles([](Xs x) { return transpose(x[0], {2, 1, 0}); }, {noise({40, 7, 70}, 1)});
  takes_tiles([](Xs x) { return transpose(x[0], {1, 2, 0}) + x[1]; }, {noise({40, 20, 70}, 1), noise({40}, 2)});
}

TEST_CASE("gpu schedules: reductions within a thread, across a warp, a block, and columns") {
  same([](Xs x) { return sum(x[0]); }, {noise({100}, 1)});
  same([](Xs x) { return sum(x[0]); }, {noise({300000}, 1)}, 1e-4);
  same([](Xs x) { return sum(x[0], 1); }, {noise({100, 40}, 1)});
  same([](Xs x) { return sum(x[0], 1); }, {noise({70, 200}, 1)}, 1e-5);
  same([](Xs x) { return max(x[0], 1); }, {noise({33, 5000}, 1)});
  same([](Xs x) { return sum(x[0], 0); }, {noise({5000, 700}, 1)}, 1e-4);
  same([](Xs x) { return sum(x[0], 0); }, {noise({100, 33}, 1)}, 1e-5);
  same([](Xs x) { return min(x[0], 0); }, {noise({1000, 100}, 1, float64)});
  same([](Xs x) { return sum(x[0], 2); }, {noise({64, 600, 3}, 1)}, 1e-5);
  same([](Xs x) { return all(x[0] > -2.f, 1); }, {noise({50, 3000}, 1)});
  same([](Xs x) { return argmax(x[0], 1); }, {noise({50, 3000}, 1)});
  same([](Xs x) { return argmin(x[0], 0); }, {noise({3000, 50}, 1)});
  same([](Xs x) { return prod(1.f + 0.001f * x[0], 1); }, {noise({3, 2000}, 1)}, 1e-4);
  same([](Xs x) { return sum(convert(x[0] * 100.f, int64), 1); }, {noise({9, 4000}, 1)});
}

TEST_CASE("gpu schedules: rows that are read, reduced and written by one team") {
  const auto softmax_rows = [](Xs x) {
    const Array e = exp(x[0] - max(x[0], 1, {.keepdims = true}));
    return e / sum(e, 1, {.keepdims = true});
  };
  for (const int n : {5, 40, 300, 1000, 5000, 70000}) same(softmax_rows, {noise({7, n}, 1)}, 1e-5);
  same(softmax_rows, {noise({3000, 64}, 1)}, 1e-5);
  const auto layer_norm = [](Xs x) {
    const Array m = mean(x[0], 1, {.keepdims = true}), d = x[0] - m;
    return d * rsqrt(mean(square(d), 1, {.keepdims = true}) + 1e-5f) * x[1] + x[2];
  };
  same(layer_norm, {noise({60, 768}, 1), noise({768}, 2), noise({768}, 3)}, 1e-5);
  same([&](Xs x) { return grad([&](const Array& y) { return sum(square(layer_norm({y, x[1], x[2]}))); })(x[0]); },
       {noise({60, 768}, 1), noise({768}, 2), noise({768}, 3)}, 1e-4);
}

TEST_CASE("gpu schedules: rows are read by vectors where they begin at whole ones") {
  const auto softmax_rows = [](Xs x) { return nn::softmax(x[0]); };
  const auto ptx_of = [](auto f, const std::vector<Array>& args) {
    return detail::ptx_text(make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args), {}, {}, "");
  };
  for (const DType t : {float32, bfloat16, float16, float64}) {
    const double tolerance = 4 * epsilon(t) + 1e-5;
    for (const std::int64_t n : {256, 2048, 2052, 4099}) {
      same(softmax_rows, {noise({9, n}, 1, t)}, tolerance);
      same([](Xs x) { return sum(convert(x[0], float32) * x[1], 1); }, {noise({9, n}, 1, t), noise({n}, 2)}, 1e-4);
      same([](Xs x) { return max(x[0]); }, {noise({30, n}, 1, t)});
    }
    CHECK(ptx_of(softmax_rows, {noise({9, 2048}, 1, t)}).find(t == float64 ? ".v2" : ".v4") != std::string::npos);
  }
  for (const DType t : {int8, bool_, int64})
    same([](Xs x) { return sum(convert(x[0], int32), 1) + convert(any(x[0] > x[1], 1), int32); },
         {noise({9, 2048}, 1, t), noise({1, 2048}, 2, t)});
  // What is summed lies side by side, so that neighbouring threads take neighbouring elements, however many rows there are.
  const auto rows = [](Xs x) { return sum(x[0], 1); };
  CHECK(ptx_of(rows, {Array(ShapeDtypeStruct{{16384, 4096}, float32})}).find("ld.global.nc.v4.f32") != std::string::npos);
  const auto total = [](Xs x) { return sum(x[0]); };
  CHECK(ptx_of(total, {Array(ShapeDtypeStruct{{1 << 26}, float32})}).find("ld.global.nc.v4.f32") != std::string::npos);
}

TEST_CASE("gpu schedules: sums over one point with scratch memory are launches of their own, of many blocks") {
  const auto layer_norm = [](const Array& x, const Array& scale, const Array& shift) {
    const Array d = x - mean(x, -1, {.keepdims = true});
    return d * rsqrt(mean(square(d), -1, {.keepdims = true}) + 1e-5f) * scale + shift;
  };
  const auto gradients = [&](Xs x) {
    const auto loss = [&](const Array& a, const Array& b, const Array& c) { return sum(square(tanh(layer_norm(a, b, c)))); };
    const auto [a, b, c] = grad<0, 1, 2>(loss)(x[0], x[1], x[2]);
    return a + b + c;
  };
  const std::vector<Array> args{noise({8, 64, 128}, 1), noise({128}, 2), noise({128}, 3)};
  same(gradients, args, 1e-4);
  const auto attention = [](Xs x) {
    const auto f = [&](const Array& q) {
      const Array scores = einsum("bhid,bhjd->bhij", q, x[1]) / 5.f;
      return sum(square(einsum("bhij,bhjd->bhid", nn::softmax(scores), x[2])));
    };
    return grad(f)(x[0]);
  };
  same(attention, {noise({8, 4, 64, 32}, 1), noise({8, 4, 64, 32}, 2), noise({8, 4, 64, 32}, 3)}, 1e-4);
  // Few columns of many elements.
  same([](Xs x) { return sum(x[0] * x[1], 0); }, {noise({4000, 96}, 1), noise({4000, 96}, 2)}, 1e-4);
}

TEST_CASE("gpu schedules: clamps are written so that ptxas compares them rightly") {
  const auto place = [](Xs x) { return where(arange(3) == clip(x[0], 0, 2), 1.f, 0.f); };
  const auto negative = [](Xs x) { return maximum(minimum(x[0], x[1]), 0) == x[1]; };
  for (const int i : {-5, 0, 1, 2, 9}) {
    same(place, {array(i)});
    for (const int n : {-1, 0, 2}) same(negative, {array(i), array(n)});
  }
  const std::vector<Array> args{array(1), array(2)};
  for (const Jaxpr& j : {make_jaxpr([&](const std::vector<Array>& xs) { return place(xs); })(args),
                         make_jaxpr([&](const std::vector<Array>& xs) { return negative(xs); })(args)}) {
    const std::string code = detail::ptx_text(j, {}, {}, "");
    std::set<std::string> minima;
    for (const auto& [instruction, at] : {std::pair("min.s32", 0), std::pair("max.s32", 1)})
      for (std::size_t i = code.find(instruction); i != std::string::npos; i = code.find(instruction, i + 1)) {
        std::istringstream words(code.substr(i + 7, code.find(';', i) - i - 7));
        std::string out, a, b;
        std::getline(words >> std::ws, out, ',') && std::getline(words >> std::ws, a, ',') && std::getline(words >> std::ws, b);
        if (at == 0)
          minima.insert(out);
        else
          CHECK_MESSAGE(!(b == "0" && minima.count(a) > 0), code);
      }
    CHECK(!minima.empty());
  }
}

TEST_CASE("gpu schedules: running reductions") {
  same([](Xs x) { return cumsum(x[0], 1); }, {noise({9000, 65}, 1)}, 1e-4);
  for (const int n : {3, 100, 1000, 20000}) {
    same([](Xs x) { return cumsum(abs(x[0])); }, {noise({n}, 1)}, 1e-4);
    same([](Xs x) { return cummax(x[0], 1); }, {noise({5, n}, 1)});
  }
  same([](Xs x) { return cumsum(x[0], 0); }, {noise({200, 300}, 1)}, 1e-4);
  same([](Xs x) { return cumsum(x[0], 1); }, {noise({20000, 8}, 1)}, 1e-4);
}

TEST_CASE("gpu schedules: scatters, gathers") {
  const Array at = convert(abs(noise({5000}, 4)) * 99.f, int32);
  same([&](Xs x) { return x[0].at({x[2]}).add(x[1]); }, {noise({100}, 1), noise({5000}, 2), at}, 1e-4);
  same([&](Xs x) { return x[0].at({x[2]}).add(x[1]); }, {noise({100, 64}, 1), noise({5000, 64}, 2), at}, 1e-4);
  same([&](Xs x) { return x[0].at({x[2]}).max(x[1]); }, {noise({100, 64}, 1), noise({5000, 64}, 2), at});
  same([&](Xs x) { return x[0].at({x[1]}).add(convert(ones({5000}), int32)); }, {convert(zeros({100}), int32), at});
  // In the order of the indices, where updates are not combined, or may not be in any order.
  same([&](Xs x) { return x[0].at({x[2]}).set(x[1]); }, {noise({100, 64}, 1), noise({5000, 64}, 2), at});
  same([&](Xs x) { return x[0].at({x[2]}).multiply(x[1]); }, {noise({100, 3, 5}, 1), noise({50, 3, 5}, 2), at[slice(0, 50)]}, 1e-4);
  setenv("WEFT_CUDA_DETERMINISTIC", "1", 1);
  same([&](Xs x) { return x[0].at({x[2]}).add(x[1]); }, {noise({100, 64}, 1), noise({5000, 64}, 2), at}, 1e-6);
  unsetenv("WEFT_CUDA_DETERMINISTIC");
  same([&](Xs x) { return take(x[0], x[1], 0); }, {noise({100, 64}, 1), at});
}

TEST_CASE("gpu schedules: steps that do not fit 32 bits") {
  constexpr std::int64_t step = (std::int64_t{1} << 32) + 3;
  const Array x = noise({1, 1, 8}, 1), kernel = noise({1, 1, 2}, 2);
  const auto f = [](Array v, Array k) { return sum(conv(v, k, step, "VALID")); };
  same([&](Xs a) { return grad(f)(a[0], a[1]); }, {x, kernel});
  same([&](Xs a) { return grad<1>(f)(a[0], a[1]); }, {x, kernel});
}

TEST_CASE("gpu schedules: matmuls as kernels") {
  same([](Xs x) { return matmul(x[0], x[1]); }, {noise({33, 65}, 1), noise({65, 17}, 2)}, 1e-5);
  same([](Xs x) { return matmul(x[0], x[1]); }, {noise({3, 300, 200}, 1), noise({200, 170}, 2)}, 1e-4);
  same([](Xs x) { return tanh(matmul(x[0], x[1]) + x[2]); }, {noise({256, 128}, 1), noise({128, 512}, 2), noise({512}, 3)}, 1e-4);
}

}  // namespace weft::test
