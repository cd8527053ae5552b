// Calls as a user of NumPy or JAX writes them: integers of any type, parameters in NumPy's order, arguments and options in braces.
#include <doctest/doctest.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <weft/weft.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace weft;

namespace {

struct Dense {
  Array w, b;
};
struct Model {
  std::vector<Dense> layers;
  Array scale;
};

bool same(const Array& a, const Array& b) { return a.dtype() == b.dtype() && array_equal(a, b).item<bool>(); }
bool close(const Array& a, const Array& b) { return a.dtype() == b.dtype() && allclose(a, b, 1e-5, 1e-6).item<bool>(); }
/// A value that is the same for each lane.
Array lanes(const Array& x) { return stack({x, x}); }
/// Whether f(x) is `want` when it is called as it is, compiled, mapped, and mapped and compiled.
template <class F>
bool gives(F f, const Array& x, const Array& want) {
  bool good =
      close(f(x), want) && close(jit(f)(x), want) && close(vmap(f)(lanes(x)), lanes(want)) && close(jit(vmap(f))(lanes(x)), lanes(want));
  const Scope stepwise = disable_jit();
  return good && close(jit(f)(x), want);
}

}  // namespace

TEST_CASE("an Int converts from and to any integer, and computes as a 64-bit one") {
  const Int n = 5;
  const int a = n;
  const std::size_t b = n;
  const unsigned char c = n;
  const long long d = n;
  CHECK(a + static_cast<int>(b) + c + static_cast<int>(d) == 20);
  CHECK(n + 1 == 6);
  CHECK(2 * n == 10);
  CHECK(n - n == 0);
  CHECK(n / 2 == 2);
  CHECK(n % 2u == 1);
  CHECK(-n == -5);
  CHECK(n * 0.5 == 2.5);
  CHECK(n > 4);
  CHECK(std::int64_t{6} >= n);
  CHECK(static_cast<double>(n) == 5);
  CHECK_THROWS_AS(static_cast<unsigned char>(Int(256)), ShapeError);
  CHECK_THROWS_AS(static_cast<std::size_t>(Int(-1)), ShapeError);
  CHECK_THROWS_AS(static_cast<int>(Int(std::int64_t{1} << 40)), ShapeError);
}

TEST_CASE("axes are integers of any type") {
  const Array x = reshape(arange(6, float32), {2, 3});
  const std::size_t one = 1;
  const std::int64_t last = -1;
  CHECK(same(concatenate({x, x}, one), concatenate({x, x}, 1)));
  CHECK(same(stack({x, x}, last), stack({x, x}, -1)));
  CHECK(same(sort(-x, one), sort(-x, 1)));
  CHECK(same(swapaxes(x, 0L, one), transpose(x)));
  CHECK(split(x, 3, one).size() == 3);
  CHECK(same(cumsum(x, one), cumsum(x, 1)));
  CHECK(same(take(x, {0, 2}, one), take(x, {0, 2}, 1)));
  CHECK(same(rot90(x, 1, {one, 0}), rot90(x, 1, {1, 0})));
  CHECK(random::choice(random::key(0), x, {.axis = one}).shape() == Shape{2});
  CHECK_THROWS_AS(concatenate({x, x}, std::int64_t{1} << 40), AxisError);
}

TEST_CASE("none stands for an optional parameter without a value") {
  CHECK(same(eye(2, none, 1), eye(2, 2, 1)));
  CHECK(same(repeat(array({1, 2}), 2, none), array({1, 1, 2, 2})));
}

TEST_CASE("shapes of up to six dimensions and more") {
  CHECK(Shape{0, 0} == Shape(std::vector<int>{0, 0}));
  CHECK(zeros({1, 2, 3, 4, 5, 6, 7, 8}).shape().num_elements() == 40320);
  CHECK(reshape(ones({4}), {2, -1}).shape() == Shape{2, 2});
  CHECK(zeros({}).ndim() == 0);
  CHECK(random::bernoulli(random::key(0), .5, {0, 0}).shape() == Shape{0, 0});
  CHECK_THROWS_AS(zeros({2, std::size_t(-1)}), ShapeError);
}

TEST_CASE("an argument in braces is made of the parameter's type") {
  const Array x = array({1.f, 2.f}), y = array({3.f, 4.f});
  const auto dense = [](const Dense& p) { return p.w * p.b; };
  CHECK(same(jit(dense)({x, y}), x * y));
  CHECK(same(jit([](std::vector<Array> v, Array s) { return v[0] + v[1] * s; })({x, y}, 2.f), x + y * 2));
  CHECK(same(grad([](Dense p) { return sum(p.w * p.b); })({x, y}).w, y));
  CHECK(same(vmap(dense)({x, y}), x * y));
  CHECK(same(jit(vmap(dense))({x, y}), x * y));
  CHECK(same(make_jaxpr(dense)({x, y})(x, y)[0], x * y));
  CHECK(same(jit([](const Model& m) { return m.layers[1].w * m.scale; })({{{x, x}, {y, y}}, 2.f}), y * 2));
  const Scope stepwise = disable_jit();
  CHECK(same(jit(dense)({x, y}), x * y));
}

TEST_CASE("Fourier transforms and norms take NumPy's parameters in its order") {
  const Array x = reshape(arange(12, float32), {3, 4});
  CHECK(gives([](Array v) { return abs(fft::fft(v, 8, 0, "ortho")); }, x, abs(fft::fft(x, {.n = 8, .axis = 0, .norm = "ortho"}))));
  CHECK(gives([](Array v) { return abs(fft::rfft(v, none, 0)); }, x, abs(transpose(fft::rfft(transpose(x))))));
  CHECK(gives([](Array v) { return fft::irfft(fft::rfft(v), 4); }, x, x));
  CHECK(gives([](Array v) { return abs(fft::fftn(v, {2, 2})); }, x, abs(fft::fftn(x(slice(2), slice(2))))));
  CHECK(gives([](Array v) { return abs(fft::fftn(v, none, {1})); }, x, abs(fft::fft(x))));
  CHECK(gives([](Array v) { return abs(fft::rfft2(v, none, {-2, -1}, "forward")); }, x, abs(fft::rfft2(x)) / 12));
  CHECK(gives([](Array v) { return linalg::norm(v, 1, 0); }, x, array({12.f, 15.f, 18.f, 21.f})));
  CHECK(gives([](Array v) { return linalg::norm(v, constants::inf, 1, true); }, x, array({{3.f}, {7.f}, {11.f}})));
  CHECK(gives([](Array v) { return linalg::norm(v, none, 1); }, x, sqrt(sum(x * x, 1))));
  CHECK(gives([](Array v) { return linalg::norm(v, {.axis = 1}); }, x, sqrt(sum(x * x, 1))));
  CHECK(gives([](Array v) { return linalg::norm(v, "fro"); }, x, sqrt(sum(x * x))));
}

TEST_CASE("cumsum and cumprod without an axis are those of the flattened array") {
  const Array x = array({{1.f, 2.f}, {3.f, 4.f}});
  CHECK(gives([](Array v) { return cumsum(v); }, x, array({1.f, 3.f, 6.f, 10.f})));
  CHECK(gives([](Array v) { return cumprod(v); }, x, array({1.f, 2.f, 6.f, 24.f})));
  CHECK(gives([](Array v) { return cumsum(v, {.reverse = true}); }, x, array({10.f, 9.f, 7.f, 4.f})));
  CHECK(gives(grad([](Array v) { return sum(cumsum(v)); }), x, array({{4.f, 3.f}, {2.f, 1.f}})));
}

TEST_CASE("unsigned numbers alone make unsigned arrays") {
  CHECK(same(asarray({{1u, 2u}, {3u, 4u}}), array({{1, 2}, {3, 4}}, uint32)));
  CHECK(array({1u}).dtype() == uint32);
  CHECK(array({1u, 0xffffffffu}).dtype() == uint32);
  CHECK(array({std::uint64_t{1} << 40}).dtype() == uint64);
  CHECK(array({1u, 2}).dtype() == int32);
  CHECK(array({1u, 2.f}).dtype() == float32);
}

TEST_CASE("options that are structs or pairs are given in braces") {
  const Array x = reshape(arange(32, float32), {1, 2, 4, 4}), kernel = ones({2, 3, 2, 2});
  const Array moved = conv_transpose(transpose(x, {0, 2, 3, 1}), transpose(kernel, {2, 3, 0, 1}), {2, 2}, "SAME");
  CHECK(same(conv_transpose(x, kernel, {2, 2}, "SAME", {.dimension_numbers = {"NCHW", "IOHW", "NCHW"}}), transpose(moved, {0, 3, 1, 2})));
  CHECK(same(conv_transpose(x, kernel, {2, 2}, "SAME", {.dimension_numbers = {.lhs = "NCHW", .rhs = "IOHW", .out = "NCHW"}}),
             transpose(moved, {0, 3, 1, 2})));
  const Array line = ones({1, 5, 2});
  CHECK(conv_transpose(line, ones({3, 2, 4}), {2}, "SAME").shape() == Shape{1, 10, 4});
  const Array values = array({0.1f, 0.6f, 0.7f, 2.f});
  CHECK(same(histogram(values, 2, {.range = {0, 1}}).counts, array({1.f, 2.f})));
  CHECK(same(histogram(values, 2, {.range = {0.f, 4.}}).edges, array({0.f, 2.f, 4.f})));
  CHECK(same(histogram(values, 2, {.range = none}).edges, histogram(values, 2).edges));
}

TEST_CASE("lists of arrays print") {
  CHECK(fmt::format("{}", std::vector<Array>{array({1, 2}), array(3.f)}) == tree::to_string(std::vector<Array>{array({1, 2}), array(3.f)}));
}

TEST_CASE("a tree is saved in an .npz file by its paths") {
  const char* folder = std::getenv("TMPDIR");
  const std::string path = fmt::format("{}/weft_test_calls_{}.npz", folder ? folder : "/tmp", ::getpid());
  const Model m{{{ones({2, 3}), zeros(3)}, {ones({3, 1}, bfloat16), arange(1)}}, 2.f};
  save_npz(path, m);
  const NamedArrays arrays = load_npz(path);
  CHECK(arrays.size() == 5);
  CHECK(same(arrays.at("layers[0].w"), m.layers[0].w));
  const Model like{{{ShapeDtypeStruct{{2, 3}, float32}, zeros(3)}, {zeros({3, 1}, bfloat16), zeros(1, int32)}}, zeros({})};
  const Model back = load_npz(path, like);
  CHECK(back.layers.size() == 2);
  CHECK(same(back.layers[1].w, m.layers[1].w));
  CHECK(back.scale.item<float>() == 2);
  CHECK_THROWS_AS(load_npz(path, m.layers[0]), IoError);
  CHECK_THROWS_AS(load_npz(path, Model{{{ones({2, 2}), zeros(3)}, m.layers[1]}, 2.f}), IoError);
  CHECK_THROWS_AS(load_npz(path, Model{{m.layers[0]}, 2.f}), IoError);
  save_npz(path, ones(2));
  CHECK(same(load_npz(path, zeros(2)), ones(2)));
  CHECK(same(load_npz(path).at("arr_0"), ones(2)));
  std::remove(path.c_str());
}

TEST_CASE("copy keeps values, dtypes and derivatives") {
  const Array x = array({1.f, 2.f});
  CHECK(gives([](Array v) { return copy(v); }, x, x));
  CHECK(copy(array({true})).dtype() == bool_);
  CHECK(copy(x).data<float>().data() != x.data<float>().data());
  CHECK(same(grad([](Array v) { return sum(copy(v) * v); })(x), 2 * x));
}

TEST_CASE("the number of a histogram's intervals is an option or an argument") {
  const Array x = reshape(arange(6, float32), {2, 3});
  const auto [counts, edges] = histogram(x, {.bins = 2, .range = {0, 6}});
  CHECK(close(counts, array({3.f, 3.f})));
  CHECK(close(edges, array({0.f, 3.f, 6.f})));
  CHECK(close(histogram(x, 2, {.range = {0, 6}}).counts, counts));
  CHECK(histogram(x).counts.shape() == Shape{10});
}

TEST_CASE("map_coordinates takes the positions in one array, and the order where JAX has it") {
  const Array x = reshape(arange(6, float32), {2, 3}), at = array({{0.f, 0.5f}, {1.f, 1.5f}}), want = array({1.f, 3.f});
  CHECK(close(map_coordinates(x, at, 1), want));
  CHECK(close(map_coordinates(x, at), want));
  CHECK(close(map_coordinates(x, {at(0), at(1)}, 1), want));
  CHECK(close(map_coordinates(x, {at(0), at(1)}, 0, "nearest"), map_coordinates(x, at, {.order = 0, .mode = "nearest"})));
  CHECK(close(jit([&](Array p) { return map_coordinates(x, p, 1); })(at), want));
  CHECK(close(vmap([&](Array p) { return map_coordinates(x, p, 1); })(stack({at, at})), lanes(want)));
  CHECK_THROWS_WITH_AS(map_coordinates(x, ones({3, 2}), 1), doctest::Contains("3 arrays of positions for f32[2,3]"), ShapeError);
  CHECK_THROWS_WITH_AS(map_coordinates(x, array(1.f), 1), doctest::Contains("map_coordinates"), ShapeError);
}

TEST_CASE("a 0 behind the width of pad is what it pads with, not a mode") {
  const Array x = arange(3.f);
  CHECK(close(pad(x, 2, 0), array({0.f, 0.f, 0.f, 1.f, 2.f, 0.f, 0.f})));
  CHECK(close(pad(x, 2, "edge"), array({0.f, 0.f, 0.f, 1.f, 2.f, 2.f, 2.f})));
}

TEST_CASE("sizes of axes, values and options as they are written first") {
  const Array x = reshape(arange(6, float32), {2, 3});
  CHECK(x.shape(0) == 2);
  CHECK(x.shape(-1) == 3);
  CHECK_THROWS_WITH_AS(x.shape(2), doctest::Contains("shape: axis 2 is out of range for f32[2,3]"), AxisError);
  CHECK(to_vector<int>(x) == std::vector<int>{0, 1, 2, 3, 4, 5});
  auto f = [](Array a, Array b) { return sum(a) * b; };
  CHECK(close(vmap(f, {0, none})(x, 2.f), array({6.f, 24.f})));
  CHECK(close(jit(vmap(f, {0, none}))(x, 2.f), array({6.f, 24.f})));
  CHECK(close(vmap(f, 0)(x, array({1.f, 2.f})), array({3.f, 24.f})));
  CHECK(close(pmap([](Array row) { return psum(row, "i"); }, "i")(x(newaxis, 0)), x(newaxis, 0)));
  CHECK(same(bincount(array({0, 2, 2}), 4), array({1, 0, 2, 0})));
  CHECK(same(bincount(array({0, 2, 2}), array({1.f, 2.f, 4.f})), array({1.f, 0.f, 6.f})));
  CHECK(same(jit([](Array i, Array w) { return bincount(i, w, {.length = 4}); })(array({0, 2, 2}), array({1.f, 2.f, 4.f})),
             array({1.f, 0.f, 6.f, 0.f})));
}

TEST_CASE("calls: a size that a function takes is an operand like another number") {
  const auto shares = [](Int n) { return arange(n) / n + 2 * n; };
  CHECK(same(shares(4), arange(4) / 4 + 8));
  const Int n = 3;
  CHECK(close(weft::log(n), weft::log(3)));
  CHECK(same(n * ones({2}), full({2}, 3.f)));
  CHECK(same(ones({2}, int8) + n, full({2}, 4, int8)));
  CHECK(same(full({2}, n), full({2}, 3)));
  const Array count = n;
  CHECK(same(count + 1, array(4)));
  CHECK(same(maximum(arange(5), n), array({3, 3, 3, 3, 4})));
  CHECK(jit([](Array x, Array size) { return x * size; })(ones({}), n).item<float>() == 3);
}

TEST_CASE("calls: a function is applied to the elements at an index") {
  const Array x = arange(5.f);
  CHECK(gives([](const Array& v) { return v.at(slice(none, none, 2)).apply([](Array e) { return -e; }); }, x,
              array({0.f, 1.f, -2.f, 3.f, -4.f})));
  CHECK(gives([](const Array& v) { return v.at(array({1, 1, 9})).apply(square); }, x + 1, array({1.f, 4.f, 3.f, 4.f, 5.f})));
  CHECK(same(grad([](Array v) { return sum(v.at(2).apply(square)); })(x), array({1.f, 1.f, 4.f, 1.f, 1.f})));
}

TEST_CASE("calls: gradient of samples at distances and at coordinates") {
  const Array t = array({0., 1., 3., 4., 7.}, float64), y = 2 * t * t - 3 * t;
  const Array inside = (4 * t - 3)[slice(1, -1)];  // of a parabola, the differences inside are exact
  CHECK(close(gradient(y, t)[slice(1, -1)], inside));
  CHECK(close(gradient(y, t)(array({0, -1})), array({-1., 19.}, float64)));
  CHECK(close(gradient(stack({y, 2 * y}), t, 1), stack({gradient(y, t), 2 * gradient(y, t)})));
  CHECK(close(gradient(stack({y, 2 * y}, 1), t)(slice(), 1), 2 * gradient(y, t)));
  CHECK(close(gradient(y, arange(5., float64) * 0.5), gradient(y, 0.5)));
  CHECK(close(gradient(y, array(0.5, float64)), gradient(y) * 2));
  CHECK(close(gradient(array({1.f, 4.f}), array({1.f, 3.f})), array({1.5f, 1.5f})));
  CHECK(gives([&](const Array& v) { return gradient(v, arange(5.)); }, arange(5.f), ones({5})));
  CHECK_THROWS_AS(gradient(y, ones(3)), ShapeError);
}
