// Compiled transforms of all kinds of lengths and shapes against the interpreter's, which are computed in double precision.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "samples.h"
#include "tools/programs.h"
#include "weft/core/ops/linalg/fft.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/executable.h"
#include "weft/runtime/host/thread_pool.h"

using namespace weft;
using namespace weft::test;
using detail::FftType;

namespace {

constexpr FftType kTypes[] = {FftType::fft, FftType::ifft, FftType::rfft, FftType::irfft};

std::vector<double> numbers(const Array& x) {
  const auto n = static_cast<std::size_t>(x.size() * (x.dtype().is_complex() ? 2 : 1));
  const void* data = detail::host_data(x);
  if (x.dtype().real_part() == float64) return {static_cast<const double*>(data), static_cast<const double*>(data) + n};
  return {static_cast<const float*>(data), static_cast<const float*>(data) + n};
}
double relative_difference(const Array& got, const Array& want) {
  const std::vector<double> a = numbers(got), b = numbers(want);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) error += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  return error == 0 ? 0 : std::sqrt(error / size);
}
/// What a good transform may be wrong by.
double tolerance(DType dtype, double n) { return (dtype.real_part() == float64 ? 4e-16 : 1e-7) * (1 + std::log2(n)); }

template <class F>
Jaxpr program(F f, const std::vector<Array>& args) {
  return make_jaxpr([&](const std::vector<Array>& xs) { return f(xs[0]); })(args);
}
template <class F>
double difference_of_backends(F f, const Array& x) {
  const Jaxpr j = program(f, {x});
  return relative_difference(tools::run_on("cpu", "f", j, {x})[0], tools::run_on("interp", "f", j, {x})[0]);
}
bool same_bytes(const Array& a, const Array& b) {
  return a.aval() == b.aval() && std::memcmp(detail::host_data(a), detail::host_data(b), static_cast<std::size_t>(a.aval().bytes())) == 0;
}

/// An operand for the type, of signals with these lengths in their last dimensions.
Array operand(FftType type, Shape leading, const std::vector<std::int64_t>& lengths, DType real_dtype, int seed = 0) {
  for (std::size_t i = 0; i < lengths.size(); ++i)
    leading = leading.inserted(leading.size(), type == FftType::irfft && i + 1 == lengths.size() ? lengths[i] / 2 + 1 : lengths[i]);
  const DType dtype = type == FftType::rfft ? real_dtype : real_dtype == float64 ? complex128 : complex64;
  return sample_array({leading, dtype}, {-1, 1}, 0, 1, seed);
}
void check_lengths(const Shape& leading, const std::vector<std::int64_t>& lengths) {
  double size = 1;
  for (std::int64_t n : lengths) size *= static_cast<double>(n);
  for (const DType t : {float32, float64})
    for (const FftType type : kTypes) {
      INFO(t.name(), " type ", static_cast<int>(type), " lengths ", fmt::format("{}", fmt::join(lengths, " ")), " of ",
           leading.num_elements());
      const Array x = operand(type, leading, lengths, t);
      CHECK(difference_of_backends([&](Array a) { return detail::fft_of(a, type, lengths, {}); }, x) <= tolerance(t, size));
    }
}

}  // namespace

TEST_CASE("compiled transforms of each short length, alone and in batches") {
  for (std::int64_t n = 1; n <= 128; ++n)
    for (const std::int64_t lines : {1, 5, 37}) check_lengths({lines}, {n});
}

TEST_CASE("compiled transforms of lengths that are powers, primes and products of large primes") {
  for (std::int64_t n : {67,  71,   131,  134,  187,  201,  243,  256,  335,  469,  509,  521,  625,
                         841, 1000, 1009, 1024, 1067, 1331, 2048, 3481, 3721, 4095, 4096, 8191, 16382})
    for (const std::int64_t lines : {1, 17}) check_lengths({lines}, {n});
  for (std::int64_t n : {30030, 32768, 65537, 100000, 177147, 226981, 1 << 20}) check_lengths({}, {n});
}

TEST_CASE("compiled transforms over several dimensions") {
  for (const std::vector<std::int64_t>& lengths : std::vector<std::vector<std::int64_t>>{{1, 1},
                                                                                         {2, 3},
                                                                                         {5, 1},
                                                                                         {1, 5},
                                                                                         {4, 4},
                                                                                         {17, 2},
                                                                                         {3, 33},
                                                                                         {32, 31},
                                                                                         {64, 64},
                                                                                         {130, 67},
                                                                                         {40, 131},
                                                                                         {2, 3, 5},
                                                                                         {16, 1, 9},
                                                                                         {20, 24, 15}})
    for (const std::int64_t items : {1, 2, 11}) check_lengths({items}, lengths);
  check_lengths({}, {512, 300});
  check_lengths({}, {20000, 3});
  check_lengths({2}, {64, 33, 20});
}

TEST_CASE("compiled transforms along any axes of operands that are computed or turned") {
  for (const DType t : {complex64, complex128})
    for (const Shape& shape : {Shape{12, 7}, Shape{33, 40}, Shape{5, 18, 6}, Shape{4, 20, 33}, Shape{2, 3, 16, 5}}) {
      const Array z = sample_array({shape, t}, {-1, 1}, 0, 1, 3);
      const double most = 2 * tolerance(t, static_cast<double>(shape.num_elements()));
      for (int axis = 0; axis < shape.size(); ++axis) {
        CAPTURE(axis);
        CHECK(difference_of_backends([&](Array x) { return fft::fft(x, none, axis); }, z) <= most);
        CHECK(difference_of_backends([&](Array x) { return fft::ifft(2 * x, none, axis) + 1; }, z) <= most);
        CHECK(difference_of_backends([&](Array x) { return fft::rfft(real(x), none, axis); }, z) <= most);
        CHECK(difference_of_backends([&](Array x) { return fft::irfft(x, none, axis); }, z) <= most);
        CHECK(difference_of_backends([&](Array x) { return fft::irfft(x, 9, axis); }, z) <= most);
        CHECK(difference_of_backends([&](Array x) { return fft::fft(transpose(x), none, axis); }, z) <= most);
        CHECK(difference_of_backends([&](Array x) { return transpose(fft::fft(flip(x, axis), 8, axis)); }, z) <= most);
        for (int other = 0; other < axis; ++other) {
          CHECK(difference_of_backends([&](Array x) { return fft::fftn(x, {.axes = {axis, other}}); }, z) <= most);
          CHECK(difference_of_backends([&](Array x) { return fft::ifftn(x, {.axes = {other, axis}}); }, z) <= most);
          CHECK(difference_of_backends([&](Array x) { return fft::rfftn(real(x), {.axes = {axis, other}}); }, z) <= most);
        }
      }
    }
}

TEST_CASE("a transform along another axis than the last one moves no elements") {
  const Array z = sample_array({{6, 5, 4}, complex64}, {-1, 1}, 0, 1, 3);
  const auto steps = [&](auto f) { return detail::backend("cpu").compile(program(f, {z}), {"f"})->as_text("kernels"); };
  CHECK(steps([](Array x) { return fft::fft(x, none, 0); }).starts_with("fft_along"));
  CHECK(steps([](Array x) { return fft::ifftn(x, {.axes = {2, 0}}); }).starts_with("fft_along"));
  CHECK(steps([](Array x) { return fft::fftn(x); }).starts_with("fft "));
  // What else reads the operand turned, or the result as it comes, still has it.
  CHECK(difference_of_backends([](Array x) { return transpose(x)(0) + sum(transpose(fft::fft(transpose(x)))); }, z) < 1e-6);
  for (const Shape& shape : {Shape{7, 1, 1}, Shape{1, 7, 1}, Shape{1, 1, 1}, Shape{1, 3, 2}}) {
    const Array x = sample_array({shape, complex64}, {-1, 1}, 0, 1, 3);
    CHECK(difference_of_backends([](Array a) { return fft::ifftn(a, {.axes = {2, 0}}); }, x) < 1e-6);
    CHECK(difference_of_backends([](Array a) { return fft::fftn(a, {.axes = {1, 0}}); }, x) < 1e-6);
    CHECK(difference_of_backends([](Array a) { return fft::fft(a, none, 0); }, x) < 1e-6);
  }
}

TEST_CASE("the cost of transforms is counted") {
  const auto flops = [](auto f, const Array& x) { return detail::backend("cpu").compile(program(f, {x}), {"f"})->cost_analysis().flops; };
  CHECK(flops([](Array x) { return fft::fft(x); }, zeros({3, 16}, complex64)) == 3 * 5 * 16 * 4);
  CHECK(flops([](Array x) { return fft::ifft(x, none, 0); }, zeros({16, 3}, complex64)) == 3 * 5 * 16 * 4);
  CHECK(flops([](Array x) { return fft::rfftn(x); }, zeros({8, 16}, float32)) == 2.5 * 128 * 7);
  CHECK(flops([](Array x) { return fft::irfft(x); }, zeros({9}, complex64)) == 2.5 * 16 * 4);
}

TEST_CASE("derivatives and batches of compiled transforms") {
  const auto energy = [](Array x) { return sum(square(abs(fft::rfft(x * x)))) + sum(square(abs(fft::fft(x, none, 0) - 1))); };
  const auto filtered = [](Array x) { return fft::irfft(fft::rfft(x) * 0.5f, {.n = 30}); };
  const Array x = sample_array({{12, 30}, float64}, {-1, 1}, 0, 1, 3);
  CHECK(difference_of_backends([&](Array a) { return grad(energy)(a); }, x) < 1e-14);
  CHECK(difference_of_backends([&](Array a) { return jvp(energy, std::tuple(a), std::tuple(sin(a))).second; }, x) < 1e-14);
  CHECK(difference_of_backends([&](Array a) { return vmap(jit(filtered))(a); }, x) < 1e-14);
  CHECK(difference_of_backends([&](Array a) { return vmap(grad([&](Array v) { return sum(filtered(v) * cos(v)); }))(a); }, x) < 1e-14);
  CHECK(difference_of_backends([&](Array a) { return fori_loop(0, 3, [](Array, Array v) { return sin(abs(fft::fft(v, none, 0))); }, a); },
                               x) < 1e-13);
}

TEST_CASE("what is not finite stays in its line") {
  for (const std::int64_t n : {24, 96, 131}) {
    const Array x = sample_array({{37, n}, complex64}, {-1, 1}, 0, 1, 3), lines = expand_dims(arange(37), 1);
    const Array bad = where((lines == 7) | (lines == 33), array(std::numeric_limits<float>::infinity()), x);
    const auto f = [](Array a) { return fft::fft(a); };
    const std::vector<double> got = numbers(tools::run_on("cpu", "f", program(f, {bad}), {bad})[0]),
                              want = numbers(tools::run_on("cpu", "f", program(f, {x}), {x})[0]);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto line = static_cast<std::int64_t>(i) / (2 * n);
      if (line != 7 && line != 33) REQUIRE(got[i] == want[i]);
    }
  }
}

TEST_CASE("transforms have the same bits for any number of threads") {
  for (const Shape& shape : {Shape{1 << 18}, Shape{1000, 96}, Shape{2, 131071}, Shape{300, 500}, Shape{40, 32, 32}}) {
    const Array z = sample_array({shape, complex64}, {-1, 1}, 0, 1, 3);
    const Jaxpr j =
        program([](Array x) { return fft::fft(x) + fft::fftn(x) + fft::rfft(real(x), {.n = 4096})(ellipsis, slice(0, 1)); }, {z});
    const Array by_many = tools::run_on("cpu", "f", j, {z})[0];
    const detail::SerialScope alone;
    CHECK(same_bytes(tools::run_on("cpu", "f", j, {z})[0], by_many));
  }
}

TEST_CASE("transforms by the vectors of other processors") {
  if (std::getenv("WEFT_CPU")) return;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const char* cpu : {"x86-64", "haswell"}) {
    const std::string command =
        fmt::format("WEFT_CPU={} {} -tc='compiled transforms of each*,compiled transforms over*' >/dev/null 2>&1", cpu, self);
#ifdef __x86_64__
    if (cpu == std::string("haswell") && !__builtin_cpu_supports("avx2")) continue;
    CHECK(std::system(command.c_str()) == 0);
#endif
  }
}
