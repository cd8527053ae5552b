// Sizes, counts, steps and positions of 64 bits arrive whole, and what is too large is refused.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <weft/jnp.h>
#include <weft/weft.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

constexpr std::int64_t kBig = (std::int64_t{1} << 32) + 3;  // 3, if it is cut to an int
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t kTooMany = std::uint64_t{1} << 63;

const ShapeDtypeStruct kFloats{{1}, float32}, kInts{{1}, int32};
/// The shape of a function's result, of which nothing is computed.
template <class F>
Shape shape_of(F f, const ShapeDtypeStruct& x = kFloats) {
  return eval_shape([&](Array a) { return Array(f(a)); }, x).shape();
}
std::vector<double> values(const Array& x) { return x.to_vector<double>(); }
using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("sizes of 64 bits are not cut") {
  CHECK(shape_of([](Array x) { return repeat(x, kBig); }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return linspace(x(0), 1, kBig); }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return eye(kBig, 1) * x; }) == Shape{kBig, 1});
  CHECK(shape_of([](Array x) { return tri(2, kBig) * x; }) == Shape{2, kBig});
  CHECK(shape_of([](Array x) { return one_hot(x, kBig); }, kInts) == Shape{1, kBig});
  CHECK(shape_of([](Array x) { return nn::one_hot(x, kBig); }, kInts) == Shape{1, kBig});
  CHECK(shape_of([](Array x) { return pad(x, {{kBig, 0}}); }) == Shape{kBig + 1});
  CHECK(shape_of([](Array x) { return pad(x, kBig); }) == Shape{2 * kBig + 1});
  CHECK(shape_of([](Array x) { return tile(x, kBig); }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return unique(x, {.size = kBig}); }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return bincount(x, {.length = kBig}); }, kInts) == Shape{kBig});
  CHECK(shape_of([](Array x) { return fft::fft(x, {.n = kBig}); }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return fft::fftn(x, {.s = {kBig}}); }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return fft::fftfreq(kBig) * x; }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return fft::rfftfreq(2 * kBig) * x; }) == Shape{kBig + 1});
  CHECK(shape_of([](Array x) { return random::ball(random::key(0), kBig) * x; }) == Shape{kBig});
  CHECK(shape_of([](Array x) { return identity(2) * diag(x, 1); }) == Shape{2, 2});
  CHECK(shape_of([](Array x) { return vmap([](Array y) { return y; }, {.in_axes = none, .axis_size = kBig})(x); }) == Shape{kBig, 1});
  const ShapeDtypeStruct image{{1, 1, 8}, float32};
  const Array kernel = ones({1, 1, 2});
  CHECK(shape_of([&](Array x) { return conv(x, kernel, kBig, "VALID"); }, image) == Shape{1, 1, 1});
  CHECK(shape_of([&](Array x) { return conv(x, kernel, 1, {{kBig, 1}}); }, image) == Shape{1, 1, kBig + 8});
  CHECK(shape_of([&](Array x) { return conv_general_dilated(x, kernel, 1, "VALID", {.lhs_dilation = {kBig}}); }, image) ==
        Shape{1, 1, 7 * kBig});
  CHECK(shape_of([&](Array x) { return conv_general_dilated(x, kernel, 1, "VALID", {.rhs_dilation = {kBig}}); }, image) == Shape{1, 1, 0});
  const ShapeDtypeStruct picture{{1, 8, 1}, float32};
  CHECK(shape_of([](Array x) { return max_pool(x, 2, {.strides = kBig}); }, picture) == Shape{1, 1, 1});
  CHECK(shape_of([](Array x) { return avg_pool(x, 2, {.strides = kBig, .padding = {{0, kBig}}}); }, picture) == Shape{1, 2, 1});
  CHECK(shape_of([](Array x) {
          return reduce_window(x, 0, [](Array a, Array b) { return a + b; }, 1, 1, "VALID", {.base_dilation = 1});
        }) == Shape{1});
}

TEST_CASE("counts and steps of 64 bits are not cut") {
  const Array x = arange(5, float32);
  CHECK(values(roll(x, kBig)) == Numbers{1, 2, 3, 4, 0});
  CHECK(values(roll(x, kBig, 0)) == Numbers{1, 2, 3, 4, 0});
  CHECK(values(roll(x, kLeast)) == values(roll(x, -3)));
  CHECK(values(tril(ones({2, 2}), kBig)) == Numbers{1, 1, 1, 1});
  CHECK(values(tril(ones({2, 2}), -kBig)) == Numbers{0, 0, 0, 0});
  CHECK(values(triu(ones({2, 2}), kLeast)) == Numbers{1, 1, 1, 1});
  CHECK(values(triu(ones({4, 4}), kMost)) == Numbers(16, 0));
  CHECK(values(eye(4, {}, kBig)) == Numbers(16, 0));
  CHECK(values(tri(1, 4, kBig)) == Numbers(4, 1));
  CHECK(diagonal(ones({4, 4}), kBig).shape() == Shape{0});
  CHECK(trace(ones({9, 9}), kLeast).item<float>() == 0);
  CHECK(diff(x, kBig).shape() == Shape{0});
  CHECK(std::isnan(var(x, none, {.ddof = kBig}).item<float>()));
  CHECK(linalg::matrix_power(array({{1., 1.}, {0., 1.}}, float64), kBig)(0, 1).item<double>() == static_cast<double>(kBig));
  CHECK(integer_pow(array(1 + 1e-9, float64), kBig).item<double>() == doctest::Approx(std::pow(1 + 1e-9, static_cast<double>(kBig))));
  CHECK(pow(array(1 + 1e-9, float64), kBig).item<double>() == doctest::Approx(std::pow(1 + 1e-9, static_cast<double>(kBig))));
  CHECK(values(x(slice(none, none, kMost))) == Numbers{0});
  CHECK(values(x(slice(none, none, kLeast))) == Numbers{4});
  CHECK(split(x, {2, kBig})[2].shape() == Shape{0});
  const auto program = [&](auto f) { return fmt::format("{}", make_jaxpr(f)(x)); };
  const auto step = [](Array c, None) { return std::pair{c + 1, none}; };
  CHECK(has(program([&](Array c) { return scan(step, c, none, {.length = kBig}).first; }), "length=4294967299"));
  const auto loop =
      program([](Array c) { return while_loop([](Array y) { return y(0) < 1; }, [](Array y) { return y + 1; }, c, {.max_steps = kBig}); });
  CHECK(has(loop, "max_steps=4294967299"));
  CHECK(has(loop, "4294967299:i64"));
  CHECK(has(program([](Array c) { return fori_loop(0, kBig, [](Array, Array y) { return y + 1; }, c); }), "length=4294967299"));
}

TEST_CASE("gradients and batches of windows with large steps") {
  const Array x = arange(8, float32).operator()(newaxis, newaxis), kernel = ones({1, 1, 2});
  const auto f = [&](Array v) { return sum(conv(v, kernel, kBig, "VALID")); };
  CHECK(values(grad(f)(x)) == Numbers{1, 1, 0, 0, 0, 0, 0, 0});
  const auto program = fmt::format("{}", make_jaxpr([&](Array v) { return conv(v, kernel, 1, {{kBig, -kBig}}); })(x));
  CHECK(has(program, "padding=((4294967299, -4294967299),)"));
  CHECK(fmt::format("{}", parse(program)) == program);
}

TEST_CASE("unsigned numbers above the largest signed one") {
  const Array x = arange(5, float32);
  CHECK(has(message_of<ShapeError>([] { zeros({2, kTooMany}); }), "9223372036854775808 is too large"));
  CHECK(has(message_of<ShapeError>([] { zeros(kTooMany); }), "9223372036854775808 is too large"));
  CHECK(has(message_of<ShapeError>([&] { repeat(x, kTooMany); }), "too large"));
  CHECK(has(message_of<ShapeError>([&] { reshape(x, std::vector<std::uint64_t>{kTooMany}); }), "too large"));
  CHECK(has(message_of<ShapeError>([&] { sum(x, kTooMany); }), "too large"));
  CHECK(has(message_of<AxisError>([&] { x(kTooMany); }), "out of range"));
  CHECK(values(x(slice(1, kTooMany))) == Numbers{1, 2, 3, 4});
  CHECK(has(message_of<ShapeError>([] { arange(kTooMany + 5); }), "more elements than an array can have"));
  CHECK(arange(kTooMany, kTooMany + 3, 1, uint64).to_vector<std::uint64_t>() ==
        std::vector<std::uint64_t>{kTooMany, kTooMany + 1, kTooMany + 2});
  CHECK(values(x.at(array({kTooMany}, uint64)).add(1)) == values(x));
  CHECK(fori_loop(array(kTooMany, uint64), array(kTooMany + 3, uint64), [](Array, Array n) { return n + 1; }, 0).item<int>() == 3);
}

TEST_CASE("what is too large is refused by an error that says so") {
  const Array x = arange(10, float32);
  CHECK(has(message_of<ShapeError>([&] { split(x, kBig); }), "4294967299"));
  CHECK(has(message_of<ShapeError>([&] { top_k(x, kBig); }), "4294967299"));
  CHECK(has(message_of<AxisError>([&] { tensordot(x, x, kBig); }), "4294967299"));
  CHECK(has(message_of<AxisError>([&] { sum(x, kBig - 3); }), "axis 4294967296"));
  CHECK(has(message_of<AxisError>([&] { sum(x, {kBig - 3}); }), "axis 4294967296"));
  CHECK(has(message_of<AxisError>([&] { vmap([](Array y) { return y; }, {.in_axes = kBig - 3})(x); }), "axis 4294967296"));
  CHECK(has(message_of<ShapeError>([&] { diag(x, kLeast); }), "too large"));
  CHECK(has(message_of<ShapeError>([&] { reduce_precision(x, 5, kBig); }), "4294967299"));
  const auto step = [](Array c, None) { return std::pair{c + 1, none}; };
  CHECK(has(message_of<ShapeError>([&] { scan(step, x, none, {.length = 3, .unroll = kBig}); }), "unroll is 4294967299"));
  CHECK(has(
      message_of<ShapeError>([&] { conv_general_dilated(ones({1, 1, 8}), ones({1, 1, 2}), 1, "VALID", {.feature_group_count = kBig}); }),
      "4294967299"));
  CHECK_THROWS_AS(repeat(x, kMost), ShapeError);
  CHECK_THROWS_AS(tile(x, kMost), ShapeError);
  CHECK_THROWS_AS(pad(x, kMost), ShapeError);
  CHECK_THROWS_AS(eye(kMost), ShapeError);
  const Array signal = ones({1, 1, 8}), kernel = ones({1, 1, 2});
  CHECK_THROWS_AS(conv(signal, kernel, 1, {{kMost, kMost}}), ShapeError);
  CHECK_THROWS_AS(conv_general_dilated(signal, kernel, 1, "VALID", {.lhs_dilation = kMost}), ShapeError);
  CHECK_THROWS_AS(conv_general_dilated(signal, kernel, 1, "SAME", {.rhs_dilation = kMost}), ShapeError);
  CHECK(conv(signal, kernel, kMost, "SAME").shape() == Shape{1, 1, 1});
  CHECK_THROWS_AS(max_pool(ones({1, 8, 1}), 2, {.padding = {{0, kMost}}}), ShapeError);
  // Products of sizes that 64 bits don't hold.
  constexpr std::int64_t half = std::int64_t{1} << 32;
  CHECK_THROWS_AS(reshape(zeros({0}), {half, half}), ShapeError);
  CHECK_THROWS_AS(reshape(ones({1}), {half, half, 0, -1}), ShapeError);
  CHECK_THROWS_AS(array(std::vector<float>(), {half, half}), ShapeError);
  CHECK_THROWS_AS(fori_loop(kLeast, kMost, [](Array, Array y) { return y; }, 0), Error);
}

TEST_CASE("integers of any type") {
  enum Sizes { kRows = 2, kColumns = 3 };
  const std::size_t two = 2;
  const unsigned char three = 3;
  CHECK(zeros({kRows, kColumns}).shape() == Shape{2, 3});
  CHECK(zeros({two, three}).shape() == Shape{2, 3});
  CHECK(zeros(std::array{two, two}).shape() == Shape{2, 2});
  CHECK(reshape(ones({6}), std::vector<std::size_t>{two, 3}).shape() == Shape{2, 3});
  CHECK(values(sum(ones({2, 3}), std::vector<std::size_t>{0, 1})) == Numbers{6});
  CHECK(split(ones({6}), std::vector<std::size_t>{1, two}).size() == 3);
  CHECK(pad(ones({2}), std::vector<std::pair<std::size_t, int>>{{two, 1}}).shape() == Shape{5});
  CHECK(values(arange(5)(kRows)) == Numbers{2});
  CHECK(random::normal(random::key(0), std::vector<std::size_t>{two, 2}).shape() == Shape{2, 2});
}

TEST_CASE("positions, counts and shifts are the numbers that they are, whatever their dtype") {
  const Array x = arange(300, float32), rows = reshape(arange(600, float32), {300, 2});
  using Function = std::function<Array(Array)>;
  const auto each = [](const std::vector<int>& numbers, const std::map<std::string, Function>& functions) {
    for (const auto& [name, f] : functions)
      for (const DType dtype : {int8, uint8, int16, uint16, int32, uint32, uint64}) {
        CAPTURE(name);
        CAPTURE(dtype.name());
        const Array wide = array(numbers, Shape(numbers.size()), int64), given = convert(wide, dtype);
        if (!array_equal(convert(given, float64), convert(wide, float64)).item<bool>()) continue;
        const Numbers want = values(f(wide));
        CHECK(values(f(given)) == want);
        CHECK(values(jit(f)(given)) == want);
        CHECK(values(vmap(f)(stack({given, given}))[1]) == want);
      }
  };
  const std::map<std::string, Function> of_positions = {
      {"segment_sum", [](Array i) { return segment_sum(ones({i.size()}), i, 300); }},
      {"segment_max", [](Array i) { return segment_max(arange(i.size(), float32), i, 300); }},
      {"unravel_index", [](Array i) { return stack(unravel_index(i, {2, 300})); }},
      {"ravel_multi_index", [](Array i) { return ravel_multi_index({i, flip(i)}, {300, 300}); }},
      {"take", [&](Array i) { return take(x, i, {}, {.mode = "fill", .fill_value = -1}); }},
      {"take clip", [&](Array i) { return take(x, i, {}, {.mode = "clip"}); }},
      {"take wrap", [&](Array i) { return take(x, i, {}, {.mode = "wrap"}); }},
      {"at", [&](Array i) { return x.at(i).add(1); }},
      {"one_hot", [](Array i) { return one_hot(i, 300); }},
      {"bincount", [](Array i) { return bincount(i, {.length = 300}); }},
      {"trapezoid", [](Array i) { return convert(trapezoid(i), float32); }},
      {"trapezoid by places", [](Array i) { return convert(trapezoid(ones({i.size()}), i), float32); }},
      {"roll", [&](Array i) { return vmap([&](Array by) { return roll(x, by); })(i); }},
      {"roll rows", [&](Array i) { return vmap([&](Array by) { return roll(rows, by, 0); })(i); }},
      {"repeat", [](Array i) { return repeat(arange(i.size(), float32), maximum(i, 0), 0, {.total_repeat_length = 700}); }},
  };
  each({0, 1, 44, 100, 127}, of_positions);
  each({0, 44, 200, 255}, of_positions);
  each({-128, -100, -1, 0, 44, 127}, of_positions);
  each({-32768, -301, 0, 300, 32767}, of_positions);

  // The ends of the dtypes, modulo 5.
  const Array five = arange(5, float32);
  for (const auto& [number, dtype] : {std::pair{array(kLeast, int64), int64},
                                      {array(kMost, int64), int64},
                                      {array(kTooMany, uint64), uint64},
                                      {array(~std::uint64_t{0}, uint64), uint64},
                                      {array(std::int64_t{-2147483648}, int32), int32}}) {
    const bool is_unsigned = dtype == uint64;
    const __int128 value =
        is_unsigned ? static_cast<__int128>(number.item<std::uint64_t>()) : static_cast<__int128>(number.item<std::int64_t>());
    const int rest = static_cast<int>((value % 5 + 5) % 5);
    CAPTURE(dtype.name());
    CAPTURE(rest);
    const auto around = [&](Array i) { return take(five, i, {}, {.mode = "wrap"}); };
    const auto rolled = [&](Array i) { return roll(five, i)(0); };
    for (const Function& f : {Function(around), Function(jit(around))}) CHECK(values(f(number)) == Numbers{double(rest)});
    for (const Function& f : {Function(rolled), Function(jit(rolled))}) CHECK(values(f(number)) == Numbers{double((5 - rest) % 5)});
  }
  // NumPy's clip: a negative position is before the first element.
  CHECK(values(take(five, array({-1, -9, 9}), {}, {.mode = "clip"})) == Numbers{0, 0, 4});
  CHECK(values(five.at(array({-1, -9, 9})).get({.mode = "clip"})) == Numbers{4, 0, 4});

  // A bound that the counter's dtype doesn't hold.
  const auto count = [](Array from, int to) { return fori_loop(from, to, [](Array, Array c) { return c + 1; }, Array(0)); };
  CHECK(values(count(array(100, int8), 120)) == Numbers{20});
  const std::string refused = message_of<DTypeError>([&] { count(array(0, int8), 300); });
  for (const char* part : {"fori_loop", "300", "int8"}) CHECK(has(refused, part));
}

TEST_CASE("windows, strides and dilations that are no numbers of elements are refused") {
  const Array x = ones({1, 1, 6}), kernel = ones({1, 1, 2}), line = ones({6});
  const auto add = [](Array a, Array b) { return a + b; };
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t n : {kLeast, std::int64_t{-1}, std::int64_t{0}}) {
      CAPTURE(padding);
      CAPTURE(n);
      CHECK(has(message_of<ShapeError>([&] { conv_general_dilated(x, kernel, {n}, padding); }), {"conv_general_dilated", "positive"}));
      CHECK_THROWS_AS(conv_transpose(ones({1, 6, 1}), ones({2, 1, 1}), {n}, padding), ShapeError);
      CHECK_THROWS_AS(reduce_window(line, 0.f, add, {2}, {n}, padding), ShapeError);
      CHECK_THROWS_AS(reduce_window(line, 0.f, add, {n}, {1}, padding), ShapeError);
      CHECK_THROWS_AS(max_pool(ones({1, 6, 1}), {2}, {.strides = Shape{n}, .padding = padding}), ShapeError);
    }
  for (const std::int64_t n : {kMost, std::int64_t{1} << 62}) {
    CHECK(conv_general_dilated(x, kernel, {n}, "SAME").shape() == Shape{1, 1, 1});
    CHECK_THROWS_AS(conv_transpose(ones({1, 6, 1}), ones({2, 1, 1}), {n}, "SAME"), Error);
    CHECK_THROWS_AS(reduce_window(line, 0.f, add, {n}, {1}, "SAME"), Error);
  }
  // 4 times 2^62 is 0 in 64 bits.
  for (const std::int64_t n : {std::int64_t{1} << 62, kMost})
    CHECK(has(message_of<ShapeError>([&] { tile(ones({4}), {n}); }), {"tile", "along axis 0"}));
  CHECK(has(message_of<ShapeError>([] { diag_indices(2, -1); }), {"diag_indices", "-1"}));
  CHECK(has(message_of<ShapeError>([] { diag_indices(2, kMost); }), {"diag_indices", "64"}));
}
