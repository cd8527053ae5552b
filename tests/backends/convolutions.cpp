// Convolutions and pooling of compiled programs against the interpreter, with their gradients.
#include <fmt/core.h>

#include <cmath>
#include <random>

#include "tests/messages.h"
#include "tests/ops/checks.h"
#include "weft/backends/common/native_step.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/backends/cpu/packed/packed_matmul.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/ops/contraction/conv_expand.h"
#include "weft/runtime/host/executable.h"

using namespace weft;
using namespace weft::test;

namespace {

using Xs = const std::vector<Array>&;

struct Comparison {
  double error = 0;        ///< the largest one, relative to the largest result
  int fast = 0, slow = 0;  ///< convolutions that a routine runs, and others
  std::string kernels;
};

template <class F>
Comparison compare(F f, const std::vector<Array>& args) {
  const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
  detail::CpuBackend backend;
  const auto cpu = backend.compile(j, {"f"});
  const std::vector<Array> got = cpu->call(args, 0), want = detail::backend("interp").compile(j, {"f"})->call(args, 0);
  Comparison c;
  c.kernels = cpu->as_text("kernels");
  const detail::JaxprData& data = j.data();
  for (const Eqn& e : data.eqns) {
    if (e.op->kind != detail::Kind::convolution) continue;
    const detail::Aval operands[] = {data.aval(e.inputs[0]), data.aval(e.inputs[1])}, results[] = {data.avals[e.outputs[0]]};
    ++(detail::make_native_step(*e.op, *e.params, operands, results) ? c.fast : c.slow);
  }
  for (std::size_t k = 0; k < want.size(); ++k) {
    const std::vector<double> a = got[k].to_vector<double>(), b = want[k].to_vector<double>();
    double largest = 1e-30, worst = got[k].aval() == want[k].aval() ? 0 : 1e9;
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
      const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
      if (!same) worst = std::isnan(a[i] - b[i]) ? 1e9 : std::max(worst, std::abs(a[i] - b[i]));
    }
    c.error = std::max(c.error, worst / largest);
  }
  return c;
}

struct Case {
  std::string title;
  Shape x, kernel, strides;
  std::vector<std::pair<int, int>> padding;
  ConvOptions options;
};
/// The result, and its gradients in both operands.
Comparison compare_all(const Case& k, DType t = float32) {
  const auto conv = [&](const Array& x, const Array& kernel) { return conv_general_dilated(x, kernel, k.strides, k.padding, k.options); };
  return compare(
      [&](Xs in) {
        const auto [out, pull] = vjp(conv, in[0], in[1]);
        const auto [dx, dk] = pull(out * out);
        return std::vector<Array>{out, dx, dk};
      },
      {samples(k.x, 1, t), samples(k.kernel, 2, t)});
}

}  // namespace

TEST_CASE("convolutions: layouts") {
  const std::vector<std::pair<int, int>> same{{1, 1}, {1, 1}};
  for (const Case& k :
       {Case{"NHWC", {4, 29, 28, 5}, {3, 3, 5, 7}, {1, 1}, same, {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}},
        Case{"NHWC, sixteens", {3, 12, 12, 16}, {3, 3, 16, 32}, {1, 1}, same, {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}},
        Case{"NCHW", {8, 16, 9, 8}, {16, 16, 3, 3}, {1, 1}, same, {}}, Case{"NCHW, odd", {4, 5, 29, 28}, {7, 5, 3, 3}, {1, 1}, same, {}},
        Case{"mixed", {4, 29, 28, 5}, {7, 5, 3, 3}, {1, 1}, same, {.dimension_numbers = {"NHWC", "OIHW", "NCHW"}}},
        Case{"strange", {29, 5, 4, 28}, {3, 7, 3, 5}, {1, 1}, same, {.dimension_numbers = {"HCNW", "HOWI", "CWHN"}}},
        Case{"one channel", {8, 28, 28, 1}, {3, 3, 1, 16}, {1, 1}, same, {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}},
        Case{"1-d", {40, 6, 300}, {5, 6, 4}, {2}, {{1, 2}}, {}},
        Case{"3-d", {8, 3, 16, 17, 15}, {4, 3, 2, 3, 2}, {1, 2, 1}, {{0, 1}, {1, 1}, {1, 0}}, {}}}) {
    INFO(k.title);
    const Comparison c = compare_all(k);
    CHECK(c.error < 8e-6);  // sums of 2000 products, in the order that the processor's vectors give
    CHECK(c.fast == 3);
  }
}

TEST_CASE("convolutions: the matrix of windows is written once, by one kernel, and read by the product") {
  for (const DType t : {float16, int8, float64}) {
    CAPTURE(t.name());
    const Array x = convert(round(samples({2, 14, 13, 8}, 1, float32) * 4.f), t);
    const Array w = convert(round(samples({3, 3, 8, 16}, 2, float32) * 4.f), t);
    const auto f = [&](Xs v) {
      return std::vector<Array>{conv_general_dilated(v[0], v[1], {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}})};
    };
    const Comparison c = compare(f, {x, w});
    CAPTURE(c.kernels);
    CHECK(c.error < 1e-3);
    CHECK(c.kernels.find("temp@0") != std::string::npos);
    CHECK(c.kernels.find("scratch") == std::string::npos);
    CHECK(c.kernels.find(",14,3,") == std::string::npos);  // the windows along one dimension only
  }
}

TEST_CASE("convolutions: many images are cut into pieces") {
  for (std::int64_t images : {31, 64}) {
    const Comparison c =
        compare_all({"", {images, 14, 14, 16}, {3, 3, 16, 32}, {1, 1}, {{1, 1}, {1, 1}}, {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}});
    CHECK(c.error < 4e-6);
    CHECK(c.fast == 3);
  }
}

TEST_CASE("convolutions: strides, dilations, paddings and groups") {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
  int fast = 0;
  for (int i = 0; i < 60; ++i) {
    Case k;
    const int groups = draw(0, 2) == 0 ? draw(2, 4) : 1, features = draw(2, 8) * groups, outputs = draw(2, 9) * groups;
    const bool by_batch = groups > 1 && draw(0, 2) == 0;
    const int kernel[] = {draw(1, 4), draw(1, 3)};
    k.options.rhs_dilation = {draw(1, 2), draw(1, 2)};
    if (draw(0, 4) == 0) k.options.lhs_dilation = {draw(1, 2), draw(1, 3)};
    k.x = {draw(1, 3) * (by_batch ? groups : 1), by_batch ? features / groups : features, draw(16, 26), draw(18, 30)};
    k.kernel = {outputs, features / groups, kernel[0], kernel[1]};
    (by_batch ? k.options.batch_group_count : k.options.feature_group_count) = groups;
    k.strides = {draw(1, 3), draw(1, 2)};
    k.padding = {{draw(-1, 2), draw(0, 3)}, {draw(0, 3), draw(0, 4)}};
    k.title = fmt::format("case {}: {} * {} by {}", i, detail::to_string(k.x), detail::to_string(k.kernel), detail::to_string(k.strides));
    INFO(k.title);
    const Comparison c = compare_all(k);
    CHECK(c.error < 2e-6);
    fast += c.fast;
    const Comparison wide = compare_all(k, float64);
    CHECK(wide.error < 1e-14);
    CHECK_FALSE(has(wide.kernels, "conv_general_dilated"));
  }
  CHECK(fast > 60);
}

TEST_CASE("convolutions: of one channel they are kernels, in float32 too") {
  const auto f = [](Xs in) { return std::vector{convolve(in[0], in[1]), convolve(in[0], in[1], "same")}; };
  for (DType t : {float32, float64, complex64, int32}) {
    const Comparison c = compare(f, {samples({301}, 1, t), samples({17}, 2, t)});
    CHECK(c.error < 1e-6);
    CHECK_FALSE(has(c.kernels, "conv_general_dilated"));
    // Whether a tap lies in the padding is all there is to know of it.
    CHECK_FALSE(has(c.kernels, " max "));
  }
}

TEST_CASE("convolutions: of each channel by itself they are kernels where the library is slow") {
  struct One {
    Shape image, kernel;
    int stride = 1;
    bool channels_last = false, in_kernels = true;
  };
  for (const One& c : std::vector<One>{{{2, 27, 30, 30}, {27, 1, 1, 1}},
                                       {{2, 9, 11, 16}, {1, 1, 1, 16}, 1, true},
                                       {{2, 9, 11, 16}, {1, 1, 1, 16}, 2, true},
                                       {{1, 3, 31, 20}, {3, 1, 5, 5}},
                                       {{2, 16, 31, 20}, {16, 1, 3, 3}, 2},
                                       {{2, 16, 31, 20}, {16, 1, 3, 3}, 1, false, false},
                                       {{2, 31, 20, 16}, {3, 3, 1, 16}, 2, true, false},
                                       {{1, 3, 31, 20}, {3, 1, 20, 15}, 1, false, false}}) {
    const int channels = static_cast<int>(c.channels_last ? c.image[3] : c.image[1]);
    ConvOptions options{.feature_group_count = channels};
    if (c.channels_last) options.dimension_numbers = {"NHWC", "HWIO", "NHWC"};
    CAPTURE(detail::to_string(c.image));
    CAPTURE(detail::to_string(c.kernel));
    CAPTURE(c.stride);
    const auto conv = [&](Xs in) {
      return std::vector{maximum(conv_general_dilated(in[0], in[1], {c.stride, c.stride}, "SAME", options), 0)};
    };
    const Comparison found = compare(conv, {samples(c.image, 1, float32), samples(c.kernel, 2, float32)});
    CHECK(found.error < 2e-6);
    CHECK(has(found.kernels, "conv_general_dilated") != c.in_kernels);
  }
}

TEST_CASE("convolutions: of 16-bit floats they are the library's of float32 where the processor does not multiply them") {
  for (const DType t : {bfloat16, float16}) {
    CAPTURE(t.name());
    const auto conv = [](Xs in) { return std::vector{maximum(conv_general_dilated(in[0], in[1], {1, 1}, "SAME"), 0.f)}; };
    const Comparison c = compare(conv, {samples({4, 12, 30, 31}, 1, t), samples({9, 12, 3, 3}, 2, t)});
    CHECK(c.error < 0.01);
    CHECK(has(c.kernels, "conv_general_dilated") == detail::converts_packed(t, t, t));
  }
}

TEST_CASE("convolutions: small ones are kernels, those of the same kind with more multiplications are not") {
  const ConvOptions last{.dimension_numbers = {"NHWC", "HWIO", "NHWC"}};
  const auto in_library = [](const Shape& x, const Shape& kernel, const ConvOptions& options) {
    const auto conv = [&](Xs in) { return std::vector{conv_general_dilated(in[0], in[1], {1, 1}, "SAME", options)}; };
    const Comparison c = compare(conv, {samples(x, 1, float32), samples(kernel, 2, float32)});
    CHECK(c.error < 2e-6);
    return has(c.kernels, "conv_general_dilated");
  };
  CHECK_FALSE(in_library({2, 3, 20, 21}, {8, 3, 3, 3}, {}));
  CHECK(in_library({16, 3, 20, 21}, {8, 3, 3, 3}, {}));
  CHECK_FALSE(in_library({1, 14, 13, 6}, {3, 3, 6, 8}, last));
  CHECK(in_library({4, 14, 13, 6}, {3, 3, 6, 16}, last));
}

TEST_CASE("convolutions: windows of the batch and of the positions in pieces are those of the whole") {
  for (const Case& k :
       {Case{"batch", {6, 3, 9, 8}, {4, 3, 3, 2}, {2, 1}, {{1, 1}, {0, 2}}, {}},
        Case{"positions", {1, 3, 19, 8}, {4, 3, 3, 2}, {2, 1}, {{1, 1}, {0, 2}}, {.lhs_dilation = {2, 1}, .rhs_dilation = {2, 2}}},
        Case{"both",
             {2, 9, 8, 4},
             {3, 2, 2, 6},
             {1, 1},
             {{1, 1}, {0, 2}},
             {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}, .feature_group_count = 2}},
        Case{"groups of the batch", {6, 2, 9, 8}, {6, 2, 3, 2}, {1, 1}, {{1, 1}, {0, 0}}, {.batch_group_count = 3}}}) {
    const std::vector<Array> x = {samples(k.x, 1, float64), samples(k.kernel, 2, float64)};
    const Jaxpr j = make_jaxpr(
        [&](const std::vector<Array>& in) { return std::vector{conv_general_dilated(in[0], in[1], k.strides, k.padding, k.options)}; })(x);
    const Eqn& e = j.data().eqns.back();
    CAPTURE(k.title);
    REQUIRE(e.op->kind == detail::Kind::convolution);
    const detail::Aval operands[] = {x[0].aval(), x[1].aval()};
    const Array want = eval_jaxpr(j, x)[0];
    for (const double most_bytes : {1e9, 8000., 3000., 1000.}) {
      const std::optional<Jaxpr> program = detail::expand_convolution(e, operands, most_bytes);
      if (!program) continue;
      CHECK(allclose(eval_jaxpr(*program, x)[0], want, {.rtol = 1e-12, .atol = 1e-12}).item<bool>());
    }
    CHECK_FALSE(detail::expand_convolution(e, operands, 1.).has_value());
  }
}

TEST_CASE("convolutions: vmap, second derivatives and other dtypes") {
  const auto conv = [](const Array& x, const Array& k) { return conv_general_dilated(x, k, {2, 1}, "SAME"); };
  const Array x = samples({2, 3, 4, 8, 8}, 1, float32), k = samples({2, 5, 4, 3, 3}, 2, float32);
  CHECK(compare([&](Xs in) { return std::vector{vmap(conv)(in[0], in[1])}; }, {x, k}).error < 2e-6);
  CHECK(compare([&](Xs in) { return std::vector{vmap(conv, {.in_axes = {0, none}})(in[0], in[1])}; }, {x, k[0]}).error < 2e-6);
  const auto loss = [&](const Array& a, const Array& b) { return sum(sin(conv(a, b))); };
  const auto twice = [&](Xs in) { return std::vector{grad([&](Array b) { return sum(square(grad(loss)(in[0], b))); })(in[1])}; };
  CHECK(compare(twice, {x[0], k[0]}).error < 1e-5);
  for (DType t : {float64, bfloat16, int32})
    CHECK(
        compare([&](Xs in) { return std::vector{conv(in[0], in[1])}; }, {samples({2, 4, 8, 8}, 1, t), samples({3, 4, 3, 3}, 2, t)}).error <
        1e-14);
}

TEST_CASE("pooling: windows are expressions of kernels") {
  const Array x = samples({3, 12, 14, 5}, 1, float32);
  const auto all = [&](const Shape& window, const std::vector<int>& strides, const Padding& padding) {
    return compare(
        [&](Xs in) {
          const PoolOptions o{.strides = strides, .padding = padding};
          const auto f = [&](const Array& v) {
            return std::vector<Array>{max_pool(v, window, o), min_pool(v, window, o), avg_pool(v, window, o)};
          };
          const auto [out, pull] = vjp(f, in[0]);
          const auto tangents = jvp(f, std::tuple{in[0]}, std::tuple{cos(in[0])}).second;
          return std::vector<Array>{out[0],      out[1],      out[2],     std::get<0>(pull({out[0], out[1], out[2]})),
                                    tangents[0], tangents[1], tangents[2]};
        },
        {x});
  };
  const Comparison plain = all({2, 2}, {2, 2}, "VALID");
  CHECK(plain.error < 1e-6);
  CHECK(plain.kernels.find("select_and") == std::string::npos);
  CHECK(plain.kernels.find("reduce_window") == std::string::npos);
  CHECK(all({2, 3}, {3, 3}, "VALID").error < 1e-6);
  CHECK(all({3, 3}, {2, 2}, "SAME").error < 1e-6);
  CHECK(all({3, 2}, {1, 1}, "VALID").error < 1e-6);
  CHECK(all({5, 7}, {2, 3}, "SAME").error < 1e-6);
  const Comparison overlapping = all({3, 3}, {2, 2}, "SAME");
  CHECK(overlapping.error < 1e-6);
  CHECK(overlapping.kernels.find("select_and") == std::string::npos);
  CHECK(all({3, 3}, {1, 2}, "SAME").error < 1e-6);
  CHECK(all({4, 5}, {3, 2}, "VALID").error < 1e-6);
  CHECK(all({2, 3}, {4, 5}, "SAME").error < 1e-6);
  CHECK(all({3, 2}, {2, 1}, "SAME_LOWER").error < 1e-6);
}

TEST_CASE("pooling: large windows, one dimension after the other and in pieces") {
  using Config = std::vector<std::pair<int, int>>;
  const auto sums = [](Array a, Array b) { return a + b; };
  const auto maxima = [](Array a, Array b) { return maximum(a, b); };
  const auto minima = [](Array a, Array b) { return minimum(a, b); };
  for (DType t : {float64, float32, float16, int32, complex128}) {
    const Array x = convert(samples({2, 75, 43}, 1) * 8., t) * convert(t.is_complex() ? weft::complex(array(1.), array(2.)) : array(1.), t);
    const auto all = [&](const Shape& window, const Shape& strides, const Config& padding, const ReduceWindowOptions& o = {}) {
      const Comparison c = compare(
          [&](Xs in) {
            const Array total = reduce_window(in[0], convert(array(0), t), sums, window, strides, padding, o);
            if (t.is_complex()) return std::vector<Array>{real(total), imag(total)};
            if (t != float64 && t != float32) return std::vector<Array>{total};
            const Array least = convert(array(-INFINITY), t);
            return std::vector<Array>{total, reduce_window(in[0], least, maxima, window, strides, padding, o),
                                      reduce_window(in[0], -least, minima, window, strides, padding, o)};
          },
          {x});
      CHECK(c.error < (t == float16 ? 2e-3 : t == float32 ? 2e-5 : 1e-13));
      CHECK(c.kernels.find("reduce_window") == std::string::npos);
      return c.kernels;
    };
    all({1, 7, 7}, {1, 1, 1}, {{0, 0}, {3, 3}, {3, 3}});
    all({1, 17, 1}, {1, 1, 1}, {{0, 0}, {0, 0}, {0, 0}});
    all({1, 35, 20}, {1, 3, 2}, {{0, 0}, {4, 0}, {-1, 9}});
    all({2, 33, 43}, {1, 5, 1}, {{0, 0}, {0, 0}, {0, 0}});
    all({1, 25, 20}, {1, 25, 20}, {{0, 0}, {0, 0}, {0, 0}});
    all({1, 19, 5}, {1, 1, 4}, {{0, 0}, {2, 1}, {0, 0}}, {.base_dilation = {1, 1, 2}, .window_dilation = {1, 3, 2}});
    // All that comes before an element, or after it: running reductions, along one dimension and along two.
    CHECK(all({1, 75, 1}, {1, 1, 1}, {{0, 0}, {74, 0}, {0, 0}}).find("running") != std::string::npos);
    CHECK(all({1, 1, 50}, {1, 1, 1}, {{0, 0}, {0, 0}, {0, 49}}).find("running") != std::string::npos);
    CHECK(all({1, 75, 50}, {1, 1, 1}, {{0, 0}, {74, 0}, {0, 49}}).find("running") != std::string::npos);
    CHECK(all({1, 80, 3}, {1, 1, 1}, {{0, 0}, {0, 79}, {1, 1}}).find("running") != std::string::npos);
    CHECK(all({1, 75, 1}, {1, 2, 1}, {{0, 0}, {74, 0}, {0, 0}}).find("running") == std::string::npos);
    CHECK(all({1, 75, 1}, {1, 1, 1}, {{0, 0}, {73, 0}, {0, 0}}).find("running") == std::string::npos);
  }
}

TEST_CASE("pooling: choices among padding, equal elements, infinities and NaN, where windows overlap") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Array x = array(
      std::vector<float>{1, 1, 1, 1, 2, -inf, -inf, -inf, -inf, -inf, nan, 2, 3, nan, 0, -0.f, inf, inf, 4, nan, 5, 5, -inf, -inf, -inf},
      {1, 5, 5, 1});
  for (const std::string padding : {"VALID", "SAME", "SAME_LOWER"})
    for (const int window : {2, 3, 4})
      for (const int stride : {1, 2, 3}) {
        CAPTURE(window);
        CAPTURE(stride);
        CAPTURE(padding);
        const auto f = [&](const Array& v) {
          const PoolOptions o{.strides = {stride, stride}, .padding = padding};
          return std::vector{max_pool(v, {window, window}, o), min_pool(v, {window, window}, o)};
        };
        const Comparison c = compare(
            [&](Xs in) {
              const auto [out, pull] = vjp(f, in[0]);
              const std::vector<Array> ct{cos(arange(0., static_cast<double>(out[0].size()))),
                                          sin(arange(0., static_cast<double>(out[0].size())))};
              const Array back = std::get<0>(
                  pull(std::vector{astype(reshape(ct[0], out[0].shape()), float32), astype(reshape(ct[1], out[0].shape()), float32)}));
              const auto tangents = jvp(f, std::tuple{in[0]}, std::tuple{reshape(astype(arange(1., 26.), float32), {1, 5, 5, 1})}).second;
              return std::vector<Array>{back, tangents[0], tangents[1]};
            },
            {x});
        CHECK(c.error < 1e-6);
        CHECK(c.kernels.find("select_and") == std::string::npos);
      }
}

TEST_CASE("convolutions: an infinity or NaN in the kernel over padding and holes") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto with = [](const Shape& shape, std::int64_t at, float value) {
    std::vector<float> v = samples(shape, 2, float32).to_vector<float>();
    v[static_cast<std::size_t>(at)] = value;
    return array(v, shape);
  };
  const auto same = [](const Shape& x, const Array& kernel, const Shape& strides, const std::vector<std::pair<int, int>>& padding,
                       const ConvOptions& options) {
    const Comparison c = compare([&](Xs in) { return std::vector<Array>{conv_general_dilated(in[0], in[1], strides, padding, options)}; },
                                 {samples(x, 1, float32), kernel});
    CHECK(c.error < 2e-6);
    CHECK(c.fast == 1);
  };
  for (float v : {inf, -inf, nan}) {
    same({1, 2, 1}, with({2, 2, 2}, 6, v), {1}, {{2, 2}}, {});
    same({4, 16, 9, 8}, with({16, 16, 3, 3}, 0, v), {1, 1}, {{1, 1}, {1, 1}}, {});
    same({4, 16, 9, 8}, with({16, 16, 3, 3}, 8, v), {2, 2}, {{1, 1}, {1, 1}}, {});
    same({2, 3, 9, 8}, with({4, 3, 3, 3}, 4, v), {1, 1}, {{2, 1}, {1, 2}}, {.lhs_dilation = {2, 2}});
    same({2, 3, 9, 8}, with({4, 3, 9, 8}, 20, v), {1, 1}, {{1, 1}, {1, 1}}, {});   // as a gradient in the kernel
    same({2, 3, 9, 8}, with({4, 3, 11, 10}, 0, v), {1, 1}, {{1, 1}, {1, 1}}, {});  // its first tap lies in the padding only
    same({2, 1, 1}, with({2, 1, 1}, 1, v), {1}, {{1, 1}}, {.rhs_dilation = {2}});
  }
}

TEST_CASE("pooling: equal elements, infinities and NaN") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Array x = array(std::vector<float>{1, 1, 1, 1, -inf, -inf, -inf, -inf, nan, 2, 3, nan, 0, -0.f, inf, inf}, {4, 4});
  const auto f = [](const Array& v) { return max_pool(reshape(v, {1, 4, 4, 1}), {2, 2}, {.strides = {2, 2}}); };
  const Comparison c = compare(
      [&](Xs in) {
        const auto [out, pull] = vjp(f, in[0]);
        return std::vector<Array>{out, std::get<0>(pull(ones({1, 2, 2, 1})))};
      },
      {x});
  CHECK(c.error == 0);
  for (DType t : {int8, int32, uint8, float16, bfloat16, float64})
    CHECK(
        compare([](Xs in) { return std::vector{max_pool(in[0], {2, 2}), min_pool(in[0], {2, 3})}; }, {samples({2, 6, 6, 3}, 1, t)}).error ==
        0);
}
