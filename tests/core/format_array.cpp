// Every string here is what NumPy 2.4 prints for the same array.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <weft/weft.h>

#include <array>
#include <complex>
#include <limits>
#include <sstream>

using namespace weft;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

struct Case {
  const char* made_by;
  Array x;
  const char* want;
};

}  // namespace

TEST_CASE("arrays print as NumPy prints them") {
  const Case cases[] = {
      {"array({1.f, 2.f, 3.f})", array({1.f, 2.f, 3.f}), R"([1. 2. 3.])"},
      {"array({1.5f, 2.f, -3.25f})", array({1.5f, 2.f, -3.25f}), R"([ 1.5   2.   -3.25])"},
      {"array({0.1f, 0.2f, 1.f / 3})", array({0.1f, 0.2f, 1.f / 3}), R"([0.1        0.2        0.33333334])"},
      {"array({{1.f, 2.5f}, {-3.f, 4.f}})", array({{1.f, 2.5f}, {-3.f, 4.f}}),
       R"([[ 1.   2.5]
 [-3.   4. ]])"},
      {"array({1, -20, 300})", array({1, -20, 300}), R"([  1 -20 300])"},
      {"array({true, false})", array({true, false}), R"([ True False])"},
      {"array({{true, false}, {false, false}})", array({{true, false}, {false, false}}),
       R"([[ True False]
 [False False]])"},
      {"array({1e-5f, 1.f})", array({1e-5f, 1.f}), R"([1.e-05 1.e+00])"},
      {"array({1e6f, 1.f})", array({1e6f, 1.f}), R"([1.e+06 1.e+00])"},
      {"array({999999.f, 1.f})", array({999999.f, 1.f}), R"([9.99999e+05 1.00000e+00])"},
      {"array({1e10f, 1.f})", array({1e10f, 1.f}), R"([1.e+10 1.e+00])"},
      {"array({1000.f, 0.5f})", array({1000.f, 0.5f}), R"([1.e+03 5.e-01])"},
      {"array({0.0001f, 0.1f})", array({0.0001f, 0.1f}), R"([1.e-04 1.e-01])"},
      {"array({-0.f, 0.f})", array({-0.f, 0.f}), R"([-0.  0.])"},
      {"array({kNaN, 1.f, -kInf})", array({kNaN, 1.f, -kInf}), R"([ nan   1. -inf])"},
      {"array({kNaN, kNaN})", array({kNaN, kNaN}), R"([nan nan])"},
      {"array({kInf, 2.5f})", array({kInf, 2.5f}), R"([inf 2.5])"},
      {"array({-kInf, 1e20f})", array({-kInf, 1e20f}), R"([  -inf 1.e+20])"},
      {"array({1e-40f, 3e38f})", array({1e-40f, 3e38f}), R"([1.e-40 3.e+38])"},
      {"array({16777216.f, 1.f})", array({16777216.f, 1.f}), R"([1.6777216e+07 1.0000000e+00])"},
      {"array({1. / 3, 100.}, float64)", array({1. / 3, 100.}, float64), R"([  0.33333333 100.        ])"},
      {"array({1e15, 1.}, float64)", array({1e15, 1.}, float64), R"([1.e+15 1.e+00])"},
      {"array({12345678., 0.5}, float64)", array({12345678., 0.5}, float64), R"([1.2345678e+07 5.0000000e-01])"},
      {"array({1e-300, 1e300}, float64)", array({1e-300, 1e300}, float64), R"([1.e-300 1.e+300])"},
      {"array({1.f / 3, 1000.f, 2.f}, float16)", array({1.f / 3, 1000.f, 2.f}, float16), R"([3.333e-01 1.000e+03 2.000e+00])"},
      {"array({0.1f, 65504.f}, float16)", array({0.1f, 65504.f}, float16), R"([1.00e-01 6.55e+04])"},
      {"array({std::complex<float>(1, 2), std::complex<float>(3.5f, -1)})",
       array({std::complex<float>(1, 2), std::complex<float>(3.5f, -1)}), R"([1. +2.j 3.5-1.j])"},
      {"array({std::complex<float>(kNaN, 0), std::complex<float>(0, kInf)})",
       array({std::complex<float>(kNaN, 0), std::complex<float>(0, kInf)}), R"([nan +0.j  0.+infj])"},
      {"arange(20, float32)", arange(20, float32),
       R"([ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.
 18. 19.])"},
      {"reshape(arange(24, int32), {2, 3, 4})", reshape(arange(24, int32), {2, 3, 4}),
       R"([[[ 0  1  2  3]
  [ 4  5  6  7]
  [ 8  9 10 11]]

 [[12 13 14 15]
  [16 17 18 19]
  [20 21 22 23]]])"},
      {"arange(1001, int32)", arange(1001, int32), R"([   0    1    2 ...  998  999 1000])"},
      {"reshape(arange(2400, float32), {40, 60})", reshape(arange(2400, float32), {40, 60}),
       R"([[0.000e+00 1.000e+00 2.000e+00 ... 5.700e+01 5.800e+01 5.900e+01]
 [6.000e+01 6.100e+01 6.200e+01 ... 1.170e+02 1.180e+02 1.190e+02]
 [1.200e+02 1.210e+02 1.220e+02 ... 1.770e+02 1.780e+02 1.790e+02]
 ...
 [2.220e+03 2.221e+03 2.222e+03 ... 2.277e+03 2.278e+03 2.279e+03]
 [2.280e+03 2.281e+03 2.282e+03 ... 2.337e+03 2.338e+03 2.339e+03]
 [2.340e+03 2.341e+03 2.342e+03 ... 2.397e+03 2.398e+03 2.399e+03]])"},
      {"reshape(arange(2000, int32), {500, 4})", reshape(arange(2000, int32), {500, 4}),
       R"([[   0    1    2    3]
 [   4    5    6    7]
 [   8    9   10   11]
 ...
 [1988 1989 1990 1991]
 [1992 1993 1994 1995]
 [1996 1997 1998 1999]])"},
      {"reshape(arange(1200, int32), {10, 1, 120})", reshape(arange(1200, int32), {10, 1, 120}),
       R"([[[   0    1    2 ...  117  118  119]]

 [[ 120  121  122 ...  237  238  239]]

 [[ 240  241  242 ...  357  358  359]]

 ...

 [[ 840  841  842 ...  957  958  959]]

 [[ 960  961  962 ... 1077 1078 1079]]

 [[1080 1081 1082 ... 1197 1198 1199]]])"},
      {"zeros({0})", zeros({0}), R"([])"},
      {"zeros({2, 0})", zeros({2, 0}), R"([])"},
      {"zeros({2, 2, 2, 2})", zeros({2, 2, 2, 2}),
       R"([[[[0. 0.]
   [0. 0.]]

  [[0. 0.]
   [0. 0.]]]


 [[[0. 0.]
   [0. 0.]]

  [[0. 0.]
   [0. 0.]]]])"},
      {"reshape(arange(30, float32), {1, 30}) / 7.f", reshape(arange(30, float32), {1, 30}) / 7.f,
       R"([[0.         0.14285715 0.2857143  0.42857143 0.5714286  0.71428573
  0.85714287 1.         1.1428572  1.2857143  1.4285715  1.5714285
  1.7142857  1.8571428  2.         2.142857   2.2857144  2.4285715
  2.5714285  2.7142856  2.857143   3.         3.142857   3.2857144
  3.4285715  3.5714285  3.7142856  3.857143   4.         4.142857  ]])"},
      {"Array(2.f)", Array(2.f), R"(2.0)"},
      {"Array(0.1f)", Array(0.1f), R"(0.1)"},
      {"Array(1e6f)", Array(1e6f), R"(1e+06)"},
      {"Array(1e-5f)", Array(1e-5f), R"(1e-05)"},
      {"Array(-0.f)", Array(-0.f), R"(-0.0)"},
      {"Array(kNaN)", Array(kNaN), R"(nan)"},
      {"Array(-kInf)", Array(-kInf), R"(-inf)"},
      {"reshape(array({1e15}, float64), {})", reshape(array({1e15}, float64), {}), R"(1000000000000000.0)"},
      {"reshape(array({1e16}, float64), {})", reshape(array({1e16}, float64), {}), R"(1e+16)"},
      {"reshape(array({1. / 3}, float64), {})", reshape(array({1. / 3}, float64), {}), R"(0.3333333333333333)"},
      {"reshape(array({0.3f}, float16), {})", reshape(array({0.3f}, float16), {}), R"(0.3)"},
      {"reshape(array({1000.f}, float16), {})", reshape(array({1000.f}, float16), {}), R"(1e+03)"},
      {"Array(true)", Array(true), R"(True)"},
      {"Array(-7)", Array(-7), R"(-7)"},
      {"reshape(array({255}, uint8), {})", reshape(array({255}, uint8), {}), R"(255)"},
      {"Array(std::complex<float>(0, 1))", Array(std::complex<float>(0, 1)), R"(1j)"},
      {"Array(std::complex<float>(1, -2.5f))", Array(std::complex<float>(1, -2.5f)), R"((1-2.5j))"},
      {"array({200, 3}, uint8)", array({200, 3}, uint8), R"([200   3])"},
      {"array({-5, 100}, int64)", array({-5, 100}, int64), R"([ -5 100])"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.made_by);
    CHECK(fmt::format("{}", c.x) == c.want);
  }
}

TEST_CASE("an array prints alike to a stream and by fmt, also inside of other text") {
  const Array x = array({1.f, 2.5f});
  std::ostringstream os;
  os << x << "|";
  CHECK(os.str() == "[1.  2.5]|");
  CHECK(fmt::format("x = {}, n = {}", x, 2) == "x = [1.  2.5], n = 2");
}

TEST_CASE("bfloat16 prints the digits that its scalars print") {
  CHECK(fmt::format("{}", array({1.f, 2.5f}, bfloat16)) == "[1 2.5]");
  CHECK(fmt::format("{}", array({0.1f, 1.f / 3}, bfloat16)) == "[0.100098 0.333984]");
}

TEST_CASE("an array without a value prints its type") {
  CHECK(fmt::format("{}", Array()) == "<empty>");
  CHECK(fmt::format("{}", Array(ShapeDtypeStruct{{2, 3}, int32})) == "Abstract<i32[2,3]>");
  std::string seen;
  make_jaxpr([&](Array x) {
    seen = fmt::format("{}", x);
    return x;
  })(ones({3}));
  CHECK(seen == "Traced<f32[3]>");
}

TEST_CASE("a shape with a dtype prints as the type that it is") {
  const ShapeDtypeStruct type{{2, 3}, bfloat16};
  CHECK(fmt::format("{} {:>10}", type, ShapeDtypeStruct{}) == "bf16[2,3]      f32[]");
  std::ostringstream os;
  os << type;
  CHECK(os.str() == "bf16[2,3]");
}

TEST_CASE("a format is each element's") {
  CHECK(fmt::format("{:.3f}", array(1.23456f)) == "1.235");
  CHECK(fmt::format("{:8.2e}|", array(1234.5)) == "1.23e+03|");
  CHECK(fmt::format("{:.1f}", array({{1.25f, -10.f}, {0.f, 3.f}})) == "[[  1.2 -10.0]\n [  0.0   3.0]]");
  CHECK(fmt::format("{:.2f}", array({1, 20})) == "[ 1.00 20.00]");
  CHECK(fmt::format("{:x}", array({255, 1}, uint8)) == "[ff  1]");
  CHECK(fmt::format("{:.1f}", array({1.f, .25f}, bfloat16)) == "[1.0 0.2]");
  CHECK(fmt::format("{:.1f}", array({std::complex<float>(1, -2), std::complex<float>(0, 3)})) == "[1.0-2.0j 0.0+3.0j]");
  CHECK(fmt::format("{:d}", array({true, false})) == "[1 0]");
  CHECK(fmt::format("{:.3f}", Array(ShapeDtypeStruct{{2}, float32})) == "Abstract<f32[2]>");
  CHECK_THROWS(fmt::format("{:.3q}", array({1.f})));
}

// Where names of weft are visible, a header that asks what has a begin() must not find one for numbers: <fmt/ranges.h> would print none.
template <class T>
concept HasBegin = requires(T x) { begin(x), end(x); };
static_assert(HasBegin<Array> && HasBegin<const Array&> && !HasBegin<float> && !HasBegin<int>);

TEST_CASE("nested vectors are arrays, and arrays are ranges of rows") {
  const std::vector<std::vector<float>> rows{{1, 2, 3}, {4, 5, 6}};
  const Array x = array(rows);
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.dtype() == float32);
  CHECK(array(std::vector<std::array<double, 2>>{{1, 2}}).dtype() == float64);
  CHECK(array(std::vector<std::vector<std::vector<int>>>{{{1}, {2}}}, int8).aval() == detail::Aval{{1, 2, 1}, int8});
  CHECK(array(std::vector<std::vector<float>>{}).shape() == Shape{0, 0});
  CHECK(array(std::vector<std::vector<float>>{{}, {}}).shape() == Shape{2, 0});

  std::vector<std::vector<float>> again;
  for (const Array row : x) again.push_back(row.to_vector<float>());
  CHECK(again == rows);
  int count = 0;
  for (Array row : zeros({0, 3})) ++count;
  CHECK(count == 0);
  const Array total = jit([](Array a) {
    Array sum = 0.f;
    for (Array row : a) sum += row * row;
    return sum;
  })(x);
  CHECK(total.to_vector<float>() == std::vector<float>{17, 29, 45});
}

TEST_CASE("a literal is what its dtype holds, up to the last number") {
  CHECK(array(-128, int8).item<int>() == -128);
  CHECK(array(255, uint8).item<int>() == 255);
  CHECK(array(127.9, int8).item<int>() == 127);
  CHECK(array(-0.5, uint8).item<int>() == 0);
  CHECK(array(18446744073709551615ull, uint64).item<unsigned long long>() == 18446744073709551615ull);
  CHECK(array(-9223372036854775807ll - 1, int64).item<long long>() == -9223372036854775807ll - 1);
  CHECK(array(true, int8).item<int>() == 1);
  CHECK(array(std::vector<int>{300}, {1}, int8).item<int>() == 44);  // as NumPy arrays are converted
}
