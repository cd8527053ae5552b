// Sorting on the emulated device, by digits and by rounds, against the interpreter: equal bit by bit.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>
#include <limits>

#include "tests/gpu/fake.h"
#include "tests/ops/checks.h"
#include "tests/ops/program_checks.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {
namespace {

using Xs = const std::vector<Array>&;

/// Returns the steps.
template <class F>
std::string same_order(F f, const std::vector<Array>& args) {
  const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
  const auto want = detail::backend("interp").compile(j, {"f"})->call(args, 0);
  const auto exe = detail::backend("cuda").compile(j, {"f"});
  const auto got = exe->call(args, devices("cuda")[0].id());
  REQUIRE(got.size() == want.size());
  const std::string steps = exe->as_text("kernels");
  for (std::size_t k = 0; k < want.size(); ++k) {
    CHECK(got[k].aval() == want[k].aval());
    const Array here = device_get(got[k]);
    const bool complex = here.dtype().is_complex();
    std::string wrong = wrong_in(complex ? real(here) : here, complex ? real(want[k]) : want[k], 0);
    if (complex) wrong += wrong_in(imag(here), imag(want[k]), 0);
    CHECK_MESSAGE(wrong.empty(), "result " << k << ": " << wrong << "\n" << steps);
  }
  return steps;
}

/// Numbers of which several are equal, with both zeros, infinities and NaNs of both signs among the floating ones.
Array mixed(const Shape& s, int seed, DType t) {
  if (t.is_complex()) return complex(mixed(s, seed, t.real_part()), mixed(s, seed + 1, t.real_part()));
  Array x = samples(s, seed, float64) * 100.;
  if (t.is_bool()) return x > 0.;
  if (!t.is_floating()) return convert(t.is_signed() ? x : abs(x), t) * convert(samples(s, seed + 2, float64) * 2., t);
  x = convert(x, t);
  const Array choice = convert(abs(samples(s, seed + 1, float64)) * 40., int32);
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {0., -0., infinity, -infinity, nan};
  for (int k = 0; k < 5; ++k) x = where(choice == k, full(s, special[k], t), x);
  x = where(choice == 5, -full(s, nan, t), x);
  return where(choice > 25, round(x), x);
}

std::vector<Array> sorted(const std::vector<Array>& xs, int dimension, int keys) {
  return detail::bind_all<detail::Sort>({.dimension = dimension, .num_keys = keys}, xs, {});
}

bool has_digits(const std::string& steps) { return steps.find("radix_order") != std::string::npos; }

}  // namespace

TEST_CASE("gpu schedules: sorting by digits, of every dtype") {
  for (const DType t : {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64}) {
    INFO(t.name());
    CHECK(has_digits(same_order([](Xs x) { return sort(x[0]); }, {mixed({700}, 1, t)})));
    CHECK(has_digits(same_order([](Xs x) { return argsort(x[0]); }, {mixed({4100}, 2, t)})));
    CHECK_FALSE(has_digits(same_order([](Xs x) { return argsort(x[0]); }, {mixed({90}, 3, t)})));
  }
}

TEST_CASE("gpu schedules: sorting by digits, lengths and lines") {
  for (const int n : {129, 255, 256, 257, 2048, 4095, 4096, 4097, 8193, 20000}) {
    same_order([](Xs x) { return argsort(x[0]); }, {mixed({n}, n, float32)});
    same_order([](Xs x) { return sort(x[0]); }, {mixed({n}, n, int32)});
  }
  same_order([](Xs x) { return argsort(x[0]); }, {mixed({2049}, 1, float64)});
  same_order([](Xs x) { return argsort(x[0]); }, {mixed({6200}, 1, int64)});
  // More tiles than a block has threads.
  same_order([](Xs x) { return argsort(x[0]); }, {mixed({257 * 4096 + 5}, 1, uint8)});
  for (const Shape& s : {Shape{3, 500}, Shape{500, 3}, Shape{2, 5000, 2}, Shape{1, 1, 300}, Shape{40, 130}})
    for (int d = 0; d < s.size(); ++d)
      same_order([=](Xs x) { return std::vector{sort(x[0], d), argsort(x[0], d)}; }, {mixed(s, d, float32)});
  same_order([](Xs x) { return sort(x[0]); }, {full({5000}, 3.f)});
  same_order([](Xs x) { return argsort(x[0]); }, {full({5000}, std::numeric_limits<double>::quiet_NaN(), float32)});
  same_order([](Xs x) { return argsort(x[0]); }, {-arange(9000)});
}

TEST_CASE("gpu schedules: sorting by digits, several arrays and keys") {
  const Shape s{2, 3000};
  const std::vector<Array> xs{mixed(s, 1, bool_), mixed(s, 2, int8), mixed(s, 3, float32), mixed(s, 4, complex64), samples(s, 5, float64)};
  for (int keys = 1; keys <= 4; ++keys) same_order([=](Xs x) { return sorted(x, 1, keys); }, xs);
  same_order([=](Xs x) { return sorted({x[3], x[2]}, 1, 2); }, xs);
  // What is sorted is computed, and what comes out is used, in the same program.
  same_order([](Xs x) { return sort(x[0] * 2.f)[slice(10, 700)] + sort(-x[0])[slice(0, 690)]; }, {mixed({800}, 1, float32)});
  same_order([](Xs x) { return vmap([](Array v) { return sort(v); })(x[0]); }, {mixed({4, 400}, 1, float32)});
  // The tangents follow the order.
  same_order([](Xs x) { return grad([](const Array& v) { return sum(sort(v) * arange(600.f)); })(x[0]); }, {samples({600}, 1, float32)});
}

TEST_CASE("gpu schedules: the largest elements by digits") {
  for (const DType t : {int8, uint16, int32, uint64, float16, bfloat16, float32, float64})
    for (const int k : {1, 5, 700})
      same_order(
          [=](Xs x) {
            const auto r = top_k(x[0], k);
            return std::vector{r.values, r.indices};
          },
          {mixed({3, 700}, k, t)});
}

TEST_CASE("gpu schedules: sorting by digits in loops, and in programs that are replayed") {
  same_order([](Xs x) { return fori_loop(0, 3, [](Array i, Array v) { return sort(v * -1.5f) + convert(i, float32); }, x[0]); },
             {samples({5000}, 1, float32)});
  const auto f = jit([](Array x) { return std::pair{sort(x * 3.f) + 1.f, argsort(x)}; });
  const Device gpu = devices("cuda")[0];
  const Array x = samples({9000}, 1, float32), there = device_put(x, gpu), want = sort(x * 3.f) + 1.f, order = argsort(x);
  const bool fake = std::getenv("WEFT_LIBCUDA") != nullptr;
  if (fake) fake_driver().reset();
  for (int i = 0; i < 5; ++i) {
    const auto [values, positions] = f(there);
    CHECK(device_get(values).to_vector<float>() == want.to_vector<float>());
    CHECK(device_get(positions).to_vector<int>() == order.to_vector<int>());
  }
  if (fake) CHECK(fake_driver().calls("cuGraphLaunch") >= 2);
}

TEST_CASE("gpu schedules: a launch of a sort that fails") {
  if (!std::getenv("WEFT_LIBCUDA")) return;
  const Device gpu = devices("cuda")[0];
  const Array x = device_put(samples({9000}, 1, float32), gpu);
  for (int n = 1; n <= 13; ++n) {
    const auto f = jit([n](Array a) { return argsort(a * static_cast<float>(n)); }, {.name = "ranks"});  // compiled anew
    fake_driver().fail("cuLaunchKernel", n, 719);
    const std::string message = message_of<DeviceError>([&] { f(x); });
    fake_driver().fail(nullptr, 0, 0);
    INFO(n << ": " << message);
    CHECK(has(message, "cuLaunchKernel gives CUDA_ERROR_LAUNCH_FAILED (719)"));
    CHECK(has(message, "sorting.cpp"));
    if (n > 1) CHECK(has(message, "cuda:0: sorting 1 lines of 9000 in ranks: "));
    CHECK(device_get(f(x)).to_vector<int>() == argsort(device_get(x)).to_vector<int>());
  }
}

TEST_CASE("gpu schedules: the code of a sort by digits") {
  const Jaxpr j =
      make_jaxpr([](Array x, Array y) { return std::pair{argsort(x), argsort(y)}; })(ones({5000}), convert(ones({5000}), int64));
  const std::string ptx = detail::ptx_text(j, {}, {90, false}, "p_");
  for (const char* kernel : {"p_radix_count_32(", "p_radix_move_32(", "p_radix_count_64(", "p_radix_move_64(", "p_radix_sum("})
    CHECK(ptx.find(std::string(".entry ") + kernel) != std::string::npos);
  CHECK(ptx.find("match.any.sync") != std::string::npos);
  CHECK(ptx.find(".local") == std::string::npos);
}

}  // namespace weft::test
