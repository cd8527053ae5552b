// Making arrays: literals, buffers, ranges, grids, DLPack.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <array>
#include <cmath>
#include <complex>
#include <string>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

bool near(const Array& x, DType dtype, const Shape& shape, const std::vector<double>& want, double tolerance = 1e-6) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = x.dtype() == dtype && x.shape() == shape && got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  return same;
}

}  // namespace

TEST_CASE("literals") {
  CHECK(near(array({{1, 2}, {3, 4}}), int32, {2, 2}, {1, 2, 3, 4}));
  CHECK(near(array({{{1, 2}}, {{3, 4}}}, float16), float16, {2, 1, 2}, {1, 2, 3, 4}));
  CHECK(near(array({1, 2.5}), float32, {2}, {1, 2.5}));
  CHECK(near(array({true, false}), bool_, {2}, {1, 0}));
  CHECK(near(array({true, 2}), int32, {2}, {1, 2}));
  CHECK(near(array({5}), int32, {1}, {5}));
  CHECK(near(array({1LL << 40, 1}), int64, {2}, {std::ldexp(1, 40), 1}));
  CHECK(array({std::complex<float>(1, 2), 3.}).dtype() == complex64);
  CHECK(near(array({}), float32, {0}, {}));
  CHECK(near(array(7), int32, {}, {7}));
  CHECK((array({1}, int8) + array(7)).dtype() == int8);  // a lone number is weak
  CHECK(near(array(std::vector<int>{-1, 300}, 2, uint8), uint8, {2}, {255, 44}));
  const Array x = array({1.f, 2.f});
  CHECK(near(array({x, x * 3}), float32, {2, 2}, {1, 2, 3, 6}));
  CHECK(near(array({{x[0], 5}, {6, x[1]}}), float32, {2, 2}, {1, 5, 6, 2}));
  CHECK(near(array({x, x}, int32), int32, {2, 2}, {1, 2, 1, 2}));
}

TEST_CASE("elements in memory") {
  const std::vector<double> v = {0, 1, 2, 3, 4, 5};
  CHECK(near(array(v), float64, {6}, v));
  CHECK(near(array(v, {2, 3}), float64, {2, 3}, v));
  CHECK(near(array(v, {3, 2}, int16), int16, {3, 2}, v));
  CHECK(near(array(std::span<const double>(v).subspan(4)), float64, {2}, {4, 5}));
  const unsigned char raw[] = {1, 255};
  CHECK(near(array(raw), uint8, {2}, {1, 255}));
  CHECK(near(array(std::array<bool, 2>{true, false}), bool_, {2}, {1, 0}));
  CHECK(near(array(std::vector<float>{}, {0, 4}), float32, {0, 4}, {}));
  CHECK(has(message_of<ShapeError>([&] { array(v, {2, 4}); }), {"array", "6", "(2, 4)", "8", "constructors.cpp"}));
}

TEST_CASE("constants and ranges") {
  CHECK(near(zeros({1, 2}), float32, {1, 2}, {0, 0}));
  CHECK(near(ones(2, bfloat16), bfloat16, {2}, {1, 1}));
  CHECK(near(full({2}, 7), int32, {2}, {7, 7}));
  CHECK((full({2}, 7) + ones(2, int8)).dtype() == int8);
  CHECK(near(full({2, 2}, array({1, 2}), float32), float32, {2, 2}, {1, 2, 1, 2}));
  CHECK(near(full_like(array({1, 2}), 2.9), int32, {2}, {2, 2}));
  CHECK(near(ones_like(array({1, 2}), complex64), complex64, {2}, {1, 1}));
  CHECK(zeros({3, 0, 2}).size() == 0);
  CHECK(near(arange(5), int32, {5}, {0, 1, 2, 3, 4}));
  CHECK(near(arange(2.5), float32, {3}, {0, 1, 2}));
  CHECK(near(arange(2, 11, 3), int32, {3}, {2, 5, 8}));
  CHECK(near(arange(5, 0, -2), int32, {3}, {5, 3, 1}));
  CHECK(near(arange(5, 0), int32, {0}, {}));
  CHECK(near(arange(-3), int32, {0}, {}));
  CHECK(near(arange(0., 1., .25), float32, {4}, {0, .25, .5, .75}));
  CHECK(near(arange(1, 2, 0.5), float32, {2}, {1, 1.5}));
  CHECK(near(arange(15, float64)(slice(13, none)), float64, {2}, {13, 14}));
  CHECK(near(arange(1, 4, 1, uint8), uint8, {3}, {1, 2, 3}));
  CHECK(arange(1LL << 40, (1LL << 40) + 2).dtype() == int64);
  CHECK(near(linspace(-1, 1, 5), float32, {5}, {-1, -.5, 0, .5, 1}));
  CHECK(near(linspace(0, 10, 4, int32), int32, {4}, {0, 3, 6, 10}));
  CHECK(near(linspace(2, 3, 1), float32, {1}, {2}));
  CHECK(linspace(2, 3, 0).shape() == Shape{0});
  CHECK(linspace(zeros({}, float64), 1).dtype() == float64);
  CHECK(near(linspace(array({0.f, 10.f}), array({1.f, 20.f}), 3), float32, {3, 2}, {0, 10, .5, 15, 1, 20}));
  CHECK(near(linspace(0, array({1.f, 2.f}), 2), float32, {2, 2}, {0, 0, 1, 2}));
  CHECK(near(eye(2, 3, 1), float32, {2, 3}, {0, 1, 0, 0, 0, 1}));
  CHECK(near(tri(3, 3, -1, int32), int32, {3, 3}, {0, 0, 0, 1, 0, 0, 1, 1, 0}));
  CHECK(near(triu(ones({2, 2, 3}, int32), 1), int32, {2, 2, 3}, {0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1}));
  CHECK(near(tril(array({{1, 2}, {3, 4}}), -1), int32, {2, 2}, {0, 0, 3, 0}));
  CHECK(near(iota(float32, {2, 3}, -1), float32, {2, 3}, {0, 1, 2, 0, 1, 2}));
}

TEST_CASE("mistakes are refused, with the shapes and the line") {
  const Array a = ones({3, 4}), b = ones({3, 5});
  CHECK(has(message_of<ShapeError>([&] { array({{1, 2}, {3}}); }), {"array", "2", "1", "constructors.cpp"}));
  CHECK(has(message_of<ShapeError>([&] { array({{1, 2}, 3}); }), {"array", "numbers and rows"}));
  CHECK(has(message_of<ShapeError>([&] { array({a, b}); }), {"array", "f32[3,4]", "f32[3,5]"}));
  CHECK(has(message_of<ShapeError>([&] { reshape(a, {5, 2}); }), {"reshape", "f32[3,4]", "12", "10", "constructors.cpp"}));
  CHECK(has(message_of<ShapeError>([&] { reshape(a, {5, -1}); }), {"reshape", "f32[3,4]", "(5, -1)"}));
  CHECK(has(message_of<ShapeError>([&] { reshape(a, {-1, -1}); }), {"reshape", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { concatenate({a, b}); }), {"concatenate", "f32[3,4]", "f32[3,5]", "constructors.cpp"}));
  CHECK(has(message_of<ShapeError>([&] { concatenate({a, ones(3)}); }), {"concatenate", "f32[3,4]", "f32[3]"}));
  CHECK(has(message_of<AxisError>([&] { concatenate({Array(1), Array(2)}); }), {"concatenate", "i32[]"}));
  CHECK(has(message_of<ShapeError>([&] { concatenate(std::vector<Array>{}); }), {"concatenate"}));
  CHECK(has(message_of<ShapeError>([&] { stack({a, b}); }), {"stack", "f32[3,4]", "f32[3,5]"}));
  CHECK(has(message_of<AxisError>([&] { stack({a, a}, 3); }), {"stack", "3", "f32[3,4]"}));
  CHECK(has(message_of<AxisError>([&] { transpose(a, {0, 0}); }), {"transpose", "f32[3,4]", "constructors.cpp"}));
  CHECK(has(message_of<AxisError>([&] { transpose(a, {0}); }), {"transpose", "f32[3,4]"}));
  CHECK(has(message_of<AxisError>([&] { swapaxes(a, 0, 2); }), {"swapaxes", "2", "f32[3,4]"}));
  CHECK(has(message_of<AxisError>([&] { moveaxis(a, {0, 1}, 0); }), {"moveaxis", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { squeeze(a, 0); }), {"squeeze", "f32[3,4]", "3"}));
  CHECK(has(message_of<ShapeError>([&] { broadcast_to(a, {4, 4}); }), {"broadcast_to", "f32[3,4]", "(4, 4)"}));
  CHECK(has(message_of<ShapeError>([&] { split(a, 2, 0); }), {"split", "f32[3,4]", "2"}));
  CHECK(has(message_of<ShapeError>([&] { pad(a, {{1, 1}, {1, 1}, {1, 1}}); }), {"pad", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { pad(a, -1); }), {"pad", "negative"}));
  CHECK(has(message_of<ShapeError>([&] { zeros({2, -1}); }), {"zeros", "(2, -1)", "constructors.cpp"}));
  CHECK(has(message_of<ShapeError>([&] { zeros({1LL << 40, 1LL << 40}); }), {"memory"}));
  CHECK(has(message_of<ShapeError>([&] { arange(0, 5, 0); }), {"arange", "step"}));
  CHECK(has(message_of<ShapeError>([&] { tril(ones(3)); }), {"tril", "f32[3]"}));
  CHECK(has(message_of<DTypeError>([&] { iota(bool_, 3); }), {"iota"}));
}

namespace {

// The C ABI, written out a second time: that of the library's is under test.
struct Tensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
  void* context;
  void (*deleter)(Tensor*);
};
int deleted = 0;

}  // namespace

TEST_CASE("DLPack") {
  float data[] = {0, 1, 2, 3, 4, 5, 6};
  std::int64_t shape[] = {3, 2}, strides[] = {1, 3};
  Tensor t{data, 1, 0, 2, 2, 32, 1, shape, nullptr, 4, nullptr, [](Tensor*) { ++deleted; }};
  CHECK(near(from_dlpack(&t), float32, {3, 2}, {1, 2, 3, 4, 5, 6}));
  t.strides = strides;
  CHECK(near(from_dlpack(&t), float32, {3, 2}, {1, 4, 2, 5, 3, 6}));
  CHECK(deleted == 2);
  t.device_type = 2;
  CHECK_THROWS_AS(from_dlpack(&t), DeviceError);
  t.device_type = 1, t.bits = 8;
  CHECK_THROWS_AS(from_dlpack(&t), DTypeError);
  CHECK_THROWS_AS(from_dlpack(nullptr), Error);
  CHECK(deleted == 2);
}
