// Spellings of programs that come from JAX: modules' names, methods with options, options of jax.lax, functions waiting for their rules.
#include <doctest/doctest.h>
#include <fmt/ranges.h>
#include <weft/weft.h>

#include <cmath>
#include <sstream>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of, test::refuses;

namespace {

bool same(const Array& a, const Array& b) { return a.dtype() == b.dtype() && a.shape() == b.shape() && array_equal(a, b).item<bool>(); }
bool close(const Array& a, const Array& b) { return a.dtype() == b.dtype() && a.shape() == b.shape() && allclose(a, b).item<bool>(); }

const double pi = 3;  // a program's own name beside `using namespace weft`

struct Params {
  Array w, b;
};

}  // namespace

TEST_CASE("JAX's spellings: modules have constants, and their modules") {
  CHECK((jnp::pi > pi && jnp::inf > 1e308 && std::isnan(jnp::nan) && jnp::e > 2.71));
  CHECK((jax::numpy::pi == jnp::pi && jnp::euler_gamma == constants::euler_gamma));
  CHECK(ones(3)(jnp::newaxis).shape() == Shape{1, 3});
  CHECK(same(jax::numpy::linalg::norm(ones(4)), array(2.f)));
  CHECK(same(jax::ops::segment_sum(ones(3), array({0, 0, 1}), 2), array({2.f, 1.f})));
  CHECK(same(jax::scipy::special::erf(1.f), erf(1.f)));
  CHECK(same(jax::lax::add(1.f, 2.f), array(3.f)));
  CHECK(jax::tree_util::tree_leaves(Params{1.f, 2.f}).size() == 2);
  CHECK(same(jnp::where(array({true, false}), jnp::pi, 0.f), array({3.14159265f, 0.f})));
}

TEST_CASE("JAX's spellings: methods take options and axes in a row") {
  const Array x = reshape(sin(arange(24.f)), {2, 3, 4});
  CHECK(same(x.sum({.axis = 0}), sum(x, 0)));
  CHECK(same(x.mean({.axis = {0, 2}, .keepdims = true}), mean(x, {0, 2}, keepdims)));
  CHECK(same(x.std({.axis = 1, .ddof = 1}), std_(x, 1, {.ddof = 1})));
  CHECK(same(x.argmax({.axis = 1}), argmax(x, 1)));
  CHECK(same(x.max({0, 1}), max(x, {0, 1})));
  CHECK(same(x.cumsum({.axis = 1, .reverse = true}), cumsum(x, 1, {.reverse = true})));
  CHECK(same(x.cumprod(1), cumprod(x, 1)));
  CHECK(same(x.cumprod(), cumprod(x)));
  CHECK(same(x.sort({.axis = 0, .descending = true}), sort(x, 0, {.descending = true})));
  CHECK(same(x.argsort({.axis = 1}), argsort(x, 1)));
  CHECK(same(x.transpose(1, 0, 2), transpose(x, {1, 0, 2})));
  CHECK(same(x.transpose(0, -1, 1), transpose(x, {0, 2, 1})));
  CHECK(same(x.take(array({0, 2}), 1), take(x, array({0, 2}), 1)));
  CHECK(same(x.round(), round(x)));
  CHECK(same(complex(x, x).conjugate(), conj(complex(x, x))));
  CHECK((x.nbytes() == 96 && astype(x, float16).nbytes() == 48));
  CHECK(refuses<AxisError>([&] { x.transpose(0, 0, 1); }, {"transpose", "f32[2,3,4]"}));
}

TEST_CASE("JAX's spellings: axis and mode by name") {
  const Array x = reshape(sin(arange(24.f)), {2, 3, 4});
  const TopK largest = lax::top_k(x, 2, {.axis = 1}), last = top_k(moveaxis(x, 1, -1), 2);
  CHECK(same(largest.values, moveaxis(last.values, -1, 1)));
  CHECK(same(largest.indices, moveaxis(last.indices, -1, 1)));
  CHECK(same(grad([](Array v) { return sum(top_k(v, 1, {.axis = 0}).values); })(array({{1.f, 4.f}, {3.f, 2.f}})),
             array({{0.f, 1.f}, {1.f, 0.f}})));
  CHECK(refuses<AxisError>([&] { top_k(x, 2, {.axis = 3}); }, {"top_k", "axis 3"}));
  CHECK(same(linspace(array({0.f, 1.f}), 2.f, 5, {.axis = -1}), transpose(linspace(array({0.f, 1.f}), 2.f, 5))));
  CHECK(same(linspace(array({0.f, 1.f}), 2.f, 4, {.endpoint = false, .axis = 1}),
             transpose(linspace(array({0.f, 1.f}), 2.f, 4, {.endpoint = false}))));
  CHECK(same(take(x, array({0, 2}), {.axis = -1}), take(x, array({0, 2}), 2)));
  CHECK(same(take(x, array({0, 9}), {.axis = 1, .mode = "clip"}), take(x, array({0, 2}), 1)));
  CHECK(same(take(x, array({0, 99}), {.mode = "fill", .fill_value = 7}), take(x, array({0, 99}), {}, {.mode = "fill", .fill_value = 7})));
  CHECK(same(take_along_axis(x, zeros({1, 3, 4}, int32), {.axis = 0}), x(slice(0, 1))));
  const GatherDimensionNumbers rows{.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
  const Array m = x(0), at = array({{1}, {5}});
  CHECK(same(gather(m, at, rows, {1, 4}, {.mode = "clip"}), m(array({1, 2}))));
  CHECK(same(gather(m, at, rows, {1, 4}, {.mode = "fill", .fill_value = -1})(1), full(4, -1.f)));
  const ScatterDimensionNumbers into{.update_window_dims = {1}, .inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}};
  CHECK(same(scatter(m, at, ones({2, 4}), into, {.mode = "clip"}), m.at(array({1, 2})).set(1.f)));
  CHECK(same(scatter_add(m, at, ones({2, 4}), into), m.at(1).add(1.f)));
  CHECK(refuses<Error>([&] { scatter(m, at, ones({2, 4}), into, {.fill_value = 1}); }, {"scatter", "fill_value"}));
  CHECK(refuses<Error>([&] { gather(m, at, rows, {1, 4}, {.mode = "nearest"}); }, {"gather", "unknown mode `nearest`"}));
}

TEST_CASE("JAX's spellings: factors that are left out") {
  const Array a = array({{1.f, 2.f}, {3.f, 4.f}, {5.f, 7.f}});
  const linalg::Svd s = linalg::svd(a, {.compute_uv = false});
  CHECK((same(s.s, linalg::svdvals(a)) && s.u.is_empty_handle()));
  CHECK(linalg::qr(a, {.mode = "complete"}).q.shape() == Shape{3, 3});
  CHECK(same(linalg::qr(a, {.mode = "reduced"}).q, linalg::qr(a).q));
  const linalg::Qr r = linalg::qr(a, {.mode = "r"});
  CHECK((same(r.r, linalg::qr(a).r) && r.q.is_empty_handle()));
  CHECK(refuses<Error>([&] { linalg::qr(a, {.mode = "full"}); }, {"qr", "reduced, complete, r"}));
  CHECK(refuses<Error>([&] { linalg::qr(a, {.full_matrices = true, .mode = "r"}); }, {"qr", "full_matrices"}));
}

TEST_CASE("JAX's spellings: a function that gets its rules later") {
  const auto f = custom_vjp([](Array x) {
                   return sin(x);
                 }).defvjp([](Array x) { return std::pair{sin(x), x}; }, [](Array x, Array g) { return std::tuple{7 * x * g}; });
  CHECK(same(grad(f)(2.f), array(14.f)));
  CHECK(same(f(2.f), sin(2.f)));
  const auto h = custom_jvp([](Array x) { return sin(x); }).defjvp([](auto primals, auto tangents) {
    return std::pair{sin(std::get<0>(primals)), 3 * std::get<0>(tangents)};
  });
  CHECK(same(jit(grad(h))(2.f), array(3.f)));
}

TEST_CASE("JAX's spellings: trees print, whether or not fmt's ranges are included") {
  const Array x = array({1.f, 2.f});
  CHECK(fmt::format("{}", std::pair{x, 1}) == tree::to_string(std::pair{x, 1}));
  CHECK(fmt::format("{}", std::pair{x, Array(3.f)}) == "[[1. 2.], 3.0]");
  CHECK(fmt::format("{}", std::tuple{x, Params{x, 3.f}}) == "[[1. 2.], {w: [1. 2.], b: 3.0}]");
  CHECK(fmt::format("{}", std::vector<Params>{{x, 3.f}}) == "[{w: [1. 2.], b: 3.0}]");
  CHECK(fmt::format("{}", std::map<std::string, Array>{{"a", x}}) == tree::to_string(std::map<std::string, Array>{{"a", x}}));
  CHECK(fmt::format("{} {}", std::vector<int>{1, 2}, std::pair{1, 2}) == "[1, 2] (1, 2)");
  std::ostringstream out;
  out << std::pair{x, Array(3.f)};
  CHECK(out.str() == "[[1. 2.], 3.0]");
}

TEST_CASE("JAX's spellings: numbers reach a callback with all their digits beside 64 bits") {
  const auto got = [](auto how) {
    double seen = 0;
    const auto keep = [&seen](Array x, Array c) {
      seen = c.item();
      return x;
    };
    how(keep);
    return seen;
  };
  const ShapeDtypeStruct wide{{}, float64}, narrow{};
  const Array x = array(1., float64);
  CHECK(got([&](auto keep) { pure_callback(keep, wide, x, 0.1); }) == 0.1);
  CHECK(got([&](auto keep) { jit([&](Array v) { return pure_callback(keep, wide, v, 0.1); })(x); }) == 0.1);
  CHECK(got([&](auto keep) { io_callback(keep, wide, x, 0.1); }) == 0.1);
  CHECK(got([&](auto keep) { pure_callback(keep, narrow, array(1.f), 0.1); }) == static_cast<double>(0.1f));
}

TEST_CASE("JAX's spellings: keys are split in a loop") {
  Array key = random::key(7), now;
  const auto [next, drawn] = random::split(key);
  for (int i = 0; i < 2; ++i) {
    std::tie(key, now) = random::split(key);
    if (i == 0) CHECK((same(random::key_data(key), random::key_data(next)) && same(random::key_data(now), random::key_data(drawn))));
  }
  CHECK(same(random::key_data(key), random::key_data(random::split(next)[0])));
  CHECK(same(random::uniform(key, {3}, -1, 1), random::uniform(key, {3}, {.minval = -1, .maxval = 1})));
  CHECK(same(random::uniform(key, {3}, 0.5, 2.f), random::uniform(key, {3}, float32, 0.5, 2.f)));
}

TEST_CASE("JAX's spellings: a map's axis is named in front") {
  const auto f = [](Array w, Array x) { return w * lax::psum(x, "i"); };
  CHECK(same(pmap(f, "i", {.in_axes = {none, 0}})(2.f, ones({1, 3})), full({1, 3}, 2.f)));
}

TEST_CASE("JAX's spellings: batches of map have elements") {
  const auto f = [](Array x) { return 2 * x; };
  CHECK(same(map(f, arange(5), {.batch_size = 2}), 2 * arange(5)));
  CHECK(refuses<ShapeError>([&] { map(f, arange(5), {.batch_size = 0}); }, {"map: batch_size is 0", "jax_spellings.cpp"}));
  CHECK(refuses<ShapeError>([&] { jit([&](Array x) { return map(f, x, {.batch_size = -1}); })(arange(5)); }, {"map: batch_size is -1"}));
}

TEST_CASE("JAX's spellings: can_cast is NumPy's") {
  CHECK((!can_cast(int32, float32) && can_cast(int16, float32) && can_cast(int64, float64) && can_cast(uint8, int16)));
  CHECK((!can_cast(uint8, int8) && can_cast(uint8, int8, "same_kind") && !can_cast(int32, uint32, "same_kind")));
  CHECK((can_cast(bfloat16, float32) && !can_cast(float32, bfloat16) && can_cast(float32, bfloat16, "same_kind")));
  CHECK((can_cast(bool_, int8) && !can_cast(float32, bool_, "same_kind") && can_cast(float64, int8, "unsafe")));
  CHECK((can_cast(float32, complex64) && !can_cast(float64, complex64) && !can_cast(complex64, float64)));
  CHECK((can_cast(int8, int8, "no") && !can_cast(int8, int16, "equiv")));
  CHECK(refuses<Error>([] { can_cast(int8, int8, "safely"); }, {"can_cast", "same_kind"}));
}

TEST_CASE("JAX's spellings: functions of positions, and matrices by groups of rows") {
  CHECK(same(fromfunction([](Array i, Array j) { return 10 * i + j; }, {2, 3}, int32), array({{0, 1, 2}, {10, 11, 12}})));
  CHECK(same(fromfunction([](Array i) { return stack({i, i * i}); }, {3}), array({{0.f, 0.f}, {1.f, 1.f}, {2.f, 4.f}})));
  CHECK(refuses<ShapeError>([] { fromfunction([](Array i) { return i; }, {2, 2}); }, {"fromfunction", "1 position", "2 dimensions"}));
  const auto at = mask_indices(3, [](Array m, Int k) { return triu(m, k); }, 1);
  CHECK((same(at[0], array({0, 0, 1})) && same(at[1], array({1, 2, 2}))));
  CHECK(close(matmul(linalg::helmert(4, true), linalg::helmert(4, true).T()), eye(4)));
  CHECK(linalg::helmert(4).shape() == Shape{3, 4});
  const Array x = reshape(sin(arange(8.f)), {4, 2}), w = reshape(cos(arange(12.f)), {2, 2, 3});
  const auto by_hand = [](Array a, Array b) {
    return concatenate({matmul(a(slice(0, 1)), b(0)), matmul(a(slice(1, 3)), b(1)), zeros({1, 3})});
  };
  CHECK(close(lax::ragged_dot(x, w, array({1, 2})), by_hand(x, w)));
  const auto loss = [](auto f) { return [f](Array a, Array b) { return sum(sin(f(a, b))); }; };
  const auto ragged = [](Array a, Array b) { return ragged_dot(a, b, array({1, 2})); };
  CHECK(close(grad<1>(loss(ragged))(x, w), grad<1>(loss(by_hand))(x, w)));
  CHECK(close(jit(grad(loss(ragged)))(x, w), grad(loss(by_hand))(x, w)));
  CHECK(same(lax::optimization_barrier(Params{x, w}).b, w));
  CHECK(refuses<ShapeError>([&] { ragged_dot(x, w, array({1, 2, 1})); }, {"ragged_dot", "f32[2,2,3]", "i32[3]"}));
}

TEST_CASE("JAX's spellings: axes, diagonals and decimals by name") {
  const Array a = reshape(arange(6.f), {2, 3}), b = a + 10;
  CHECK(same(concatenate({a, b}, {.axis = 1}), concatenate({a, b}, 1)));
  CHECK(same(stack({a, b}, {.axis = -1}), stack({a, b}, -1)));
  CHECK(same(split(a, 3, {.axis = 1})[1], split(a, 3, 1)[1]));
  CHECK(same(repeat(a, 2, {.axis = 1}), repeat(a, 2, 1)));
  CHECK(same(flip(a, {.axis = 1}), flip(a, 1)));
  CHECK(same(roll(a, 1, {.axis = 1}), roll(a, 1, 1)));
  CHECK(same(squeeze(a[newaxis], {.axis = 0}), a));
  CHECK(same(expand_dims(a, {.axis = 1}), expand_dims(a, 1)));
  CHECK(same(flip(a, {0, 1}), flip(flip(a, 0), 1)));
  CHECK((same(tril(a, {.k = -1}), tril(a, -1)) && same(triu(a, {.k = 1}), triu(a, 1))));
  CHECK(same(round(a / 3, {.decimals = 2}), round(a / 3, 2)));
  CHECK(refuses<AxisError>([&] { concatenate({a, b}, {.axis = 2}); }, {"concatenate", "axis 2", "jax_spellings.cpp"}));
}

TEST_CASE("JAX's spellings: the dtype of numbers in a container") {
  const std::vector<double> numbers{1.5, 2};
  const std::vector<int> whole{1, 2};
  CHECK(same(array(numbers, float32), array({1.5f, 2.f})));
  CHECK(same(array(whole, float32), array({1.f, 2.f})));
  CHECK(same(array(whole, {.dtype = int8}), array({1, 2}, int8)));
  CHECK(array(numbers).dtype() == float64);
}

TEST_CASE("JAX's spellings: dtypes make arrays of themselves") {
  CHECK(same(float32(3), array(3, float32)));
  CHECK((same(int8(3.7), array(3, int8)) && same(bool_(2), array(true, bool_)) && same(jnp::complex64(1), array(1, complex64))));
  CHECK(same(float64(ones(2, int32)), ones(2, float64)));
  CHECK(same(float32(std::vector<double>{1, 2}), array({1.f, 2.f})));
  CHECK((float32(3) * ones(2, float16)).dtype() == float32);  // not weakly typed
}

TEST_CASE("JAX's spellings: the promoted dtype of dtypes, numbers and arrays") {
  CHECK(result_type(int8, uint8) == int16);
  CHECK((result_type(float16, 1.0) == float16 && result_type(3, int8) == int8));
  CHECK((result_type(ones(2), int8) == float32 && result_type(ones(2), ones(2, float64)) == float64));
}

TEST_CASE("JAX's spellings: no axis is the flattened array, or all axes") {
  const Array x = reshape(array({3.f, 1.f, 2.f, 6.f, 5.f, 4.f}), {2, 3});
  for (const Array& sorted : {sort(x, none), sort(x, {.axis = none}), x.sort(none), sort(x, none, {.stable = false})})
    CHECK(same(sorted, arange(1.f, 7.f)));
  CHECK(same(sort(x, none, {.descending = true}), arange(6.f, 0.f, -1.f)));
  for (const Array& order : {argsort(x, none), argsort(x, {.axis = none}), x.argsort(none)}) CHECK(same(order, array({1, 2, 0, 5, 4, 3})));
  CHECK((same(sort(x, {.axis = 0}), sort(x, 0)) && same(sort(x, {.descending = true}), sort(x, -1, {.descending = true}))));
  CHECK(refuses<AxisError>([&] { sort(x, {.axis = {0, 1}}); }, {"sort: sorts along one axis"}));
  CHECK((same(cumsum(x, none), cumsum(x)) && same(x.cumprod(none), cumprod(ravel(x)))));
  CHECK(same(take_along_axis(x, array({0, 5}), none), array({3.f, 4.f})));
  const Array all = nn::softmax(ravel(x));
  CHECK((close(nn::softmax(x, none), reshape(all, {2, 3})) && close(nn::softmax(x, {.axis = none}), reshape(all, {2, 3}))));
  CHECK((close(nn::softmax(x, {0, 1}), reshape(all, {2, 3})) && close(nn::log_softmax(x, {.axis = {0, 1}}), log(reshape(all, {2, 3})))));
}

TEST_CASE("JAX's spellings: endpoints in order, dimensions by name") {
  CHECK(same(linspace(0, 1, 5, false), linspace(0, 1, 5, {.endpoint = false})));
  CHECK(same(logspace(0, 1, 3, false), logspace(0, 1, 3, 10, {.endpoint = false})));
  CHECK(same(geomspace(1, 8, 3, false), geomspace(1, 8, 3, {.endpoint = false})));
  const Array x = reshape(arange(6.f), {2, 3}), y = reshape(arange(12.f), {3, 4}), product = matmul(x, y);
  for (const Array& p : {tensordot(x, y, {.axes = {{1}, {0}}}), tensordot(x, y, {{1}, {0}}), tensordot(x, y, {1, 0}), tensordot(x, y, 1),
                         tensordot(x, y, {.axes = 1})})
    CHECK(same(p, product));
  CHECK(same(tensordot(x, x), sum(x * x)));
  CHECK(refuses<AxisError>([&] { tensordot(x, y, {{1}, {0}, {1}}); }, {"tensordot: the axes are two lists"}));
  CHECK(same(lax::dot_general(x, y, {.dimension_numbers = {{{1}, {0}}, {{}, {}}}}), product));
  CHECK(lax::dot_general(x, y, {.dimension_numbers = {{{1}, {0}}, {{}, {}}}, .preferred_element_type = float64}).dtype() == float64);
}

TEST_CASE("JAX's spellings: containers of numbers are operands") {
  const std::vector<float> v{1, 2};
  const std::array<int, 2> whole{3, 4};
  const Array x = ones(2);
  CHECK((same(x + v, array({2.f, 3.f})) && same(v * x, array({1.f, 2.f})) && same(x - whole, array({-2.f, -3.f}))));
  CHECK((same(matmul(eye(2), v), array(v)) && same(sum(v), array(3.f)) && same(x[0] + std::span<const float>(v), array({2.f, 3.f}))));
  CHECK((x + std::vector<double>{1, 2}).dtype() == float64);  // as array(v) is
  Array y = x;
  y += v;
  CHECK(same(y, x + v));
}

TEST_CASE("JAX's spellings: lax:: has jax.lax's functions where jax.numpy has others of their names") {
  CHECK(same(lax::round(array({-2.5f, -0.5f, 0.49999997f, 0.5f, 1.5f})), array({-3.f, -1.f, 0.f, 1.f, 2.f})));
  CHECK(same(jnp::round(array({-2.5f, -0.5f, 0.5f, 1.5f})), array({-2.f, 0.f, 0.f, 2.f})));
  const std::vector<Array> parts = lax::split(arange(5), {2, 3});
  CHECK((parts.size() == 2 && same(parts[0], arange(2)) && same(parts[1], arange(2, 5))));
  CHECK(same(lax::split(ones({2, 3}), {1, 2}, -1)[1], ones({2, 2})));
  CHECK(refuses<ShapeError>([&] { lax::split(arange(5), {2, 2}); }, {"split", "add up to 4", "size 5", "i32[5]"}));
  const Array m = reshape(arange(6), {2, 3});
  CHECK(same(lax::cumsum(m), cumsum(m, 0)));
  CHECK(same(lax::cumsum(m, {.reverse = true}), cumsum(m, 0, {.reverse = true})));
  CHECK(same(lax::cumprod(m), cumprod(m, 0)));
  CHECK(same(lax::cumprod(m, {.axis = 1}), cumprod(m, 1)));
  CHECK(same(jnp::cumsum(m), cumsum(ravel(m), 0)));
  CHECK((same(lax::max(m, 2), maximum(m, 2)) && same(lax::min(m, 2), minimum(m, 2))));
  CHECK(same(lax::reduce_window(m * 1.f, -jnp::inf, lax::max, {2, 2}, {1, 1}, "VALID"), array({{4.f, 5.f}})));
  CHECK((same(lax::argmax(m, 1, int32), argmax(m, 1)) && lax::argmin(m, 0, int64).dtype() == int64));
  CHECK(same(lax::slice(m, {0, 1}, {2, 3}), m(slice(), slice(1, 3))));
  CHECK(same(lax::slice(m, {0, 0}, {2, 3}, {1, 2}), m(slice(), slice(none, none, 2))));
  CHECK(refuses<ShapeError>([&] { lax::slice(m, {0}, {2}); }, {"slice", "i32[2,3]", "one for each dimension"}));
  CHECK(refuses<ShapeError>([&] { lax::slice(m, {0, 0}, {2, 4}); }, {"slice", "from 0 to 4", "dimension 1", "i32[2,3]"}));
  CHECK(same(lax::sort(m, 0), sort(m, 0)));
  CHECK(same(lax::sort({array({1, 0, 1}), array({2, 9, 1})}, {.num_keys = 2})[1], array({9, 1, 2})));
  CHECK(same(lax::sort({array({1, 0, 1}), array({2, 9, 1})}, 0, true, 2)[1], array({9, 1, 2})));
}

TEST_CASE("JAX's spellings: jax.scipy.linalg's own defaults, and modules in modules") {
  const Array a = array({{4., 1.}, {1., 3.}}, float64), tall = ones({3, 2}) + eye(3, 2);
  CHECK(close(jax::scipy::linalg::cholesky(a), linalg::cholesky(a).T()));
  CHECK(close(jax::scipy::linalg::cholesky(a, {.lower = true}), linalg::cholesky(a)));
  CHECK(close(jax::scipy::linalg::cholesky(a, true), linalg::cholesky(a)));
  CHECK(jax::scipy::linalg::qr(tall).q.shape() == Shape{3, 3});
  CHECK(jax::scipy::linalg::qr(tall, "economic").q.shape() == Shape{3, 2});
  CHECK(close(jax::scipy::linalg::qr(tall, {.mode = "r"}).r, linalg::qr(tall, "complete").r));
  CHECK(refuses<Error>([&] { jax::scipy::linalg::qr(tall, "reduced"); }, {"qr", "reduced", "full, economic, r"}));
  CHECK(same(jax::scipy::special::softmax(ones(4)), full({4}, 0.25f)));
  CHECK(same(jax::scipy::linalg::block_diag(eye(1), eye(2)), eye(3)));
  CHECK(close(jax::scipy::sparse::linalg::cg(a, ones(2, float64)), linalg::solve(a, ones(2, float64))));
  CHECK(jax::experimental::ode::odeint([](Array y, Array) { return -y; }, ones(1), linspace(0, 1, 3)).shape() == Shape{3, 1});
  const auto [flat, unravel] = jax::flatten_util::ravel_pytree(Params{ones(2), zeros(1)});
  CHECK((same(flat, array({1.f, 1.f, 0.f})) && same(unravel(flat).w, ones(2))));
  CHECK((same(optax::losses::squared_error(array({3.f}), 1), array({4.f})) && same(optax::tree::norm(Params{3.f, 4.f}), 5.f)));
}

TEST_CASE("JAX's spellings: arguments in jax.numpy's order") {
  CHECK(same(searchsorted(array({1, 2, 2, 3}), 2, "right"), Array(3)));
  CHECK((linalg::svd(ones({3, 2}), false).u.shape() == Shape{3, 2} && linalg::qr(ones({3, 2}), "complete").q.shape() == Shape{3, 3}));
  CHECK(same(sort(random::choice(random::key(0), arange(4), {4}, false)), arange(4)));
  CHECK(same(random::choice(random::key(0), arange(2), {4}, true, array({0.f, 1.f})), ones(4, int32)));
  CHECK(same(nn::gelu(array({1.f}), false), nn::gelu(array({1.f}), {.approximate = false})));
  CHECK(same(nn::initializers::ones(random::key(0), {2}, float64), ones(2, float64)));
  const Array x = sin(reshape(arange(6.f), {2, 3})),
              given = nn::standardize(x, {.axis = 0, .mean = zeros({1, 3}), .variance = ones({1, 3})});
  CHECK(same(nn::standardize(x, {.axis = 0}), nn::standardize(x, 0)));
  CHECK(close(given, x * std::sqrt(1 / (1 + 1e-5))));
  CHECK(close(nn::standardize(x, {.where = x < 2}), nn::standardize(x)));
  CHECK(close(nn::standardize(zeros(3), {.epsilon = 1}), zeros(3)));
  CHECK(broadcast_arrays(ones(3), ones({2, 1}), 1.f)[2].shape() == Shape{2, 3});
  CHECK((jnp::issubdtype(float32, jnp::floating) && !jnp::issubdtype(int32, jnp::inexact)));
  CHECK((result_type({ones(2), ones(2, float64)}) == float64 && result_type({ones(2, int32), 1.5}) == result_type(ones(2, int32), 1.5)));
  const Array deep = zeros({1, 1, 1, 1, 1, 1, 2}).at(0, 0, 0, 0, 0, 0, 1).set(3);
  CHECK((same(deep(0, 0, 0, 0, 0, 0, 1), 3.f) && deep(0, 0, 0, 0, 0, 0, slice()).shape() == Shape{2}));
  CHECK((same(optim::l2_loss(array({2.f})), array({2.f})) && same(optim::squared_error(array({2.f})), array({4.f}))));
}

TEST_CASE("a number in a loop's carry that changes: the message says what to declare") {
  struct Counted {
    int n;
    Array x;
  };
  const std::string text = message_of<PytreeError>(
      [] { return while_loop([](Counted c) { return c.x < 8; }, [](Counted c) { return Counted{c.n + 1, c.x * 2}; }, Counted{0, 1.f}); });
  CHECK(has(text, {"carry.n is 0, result.n is 1", "declare a field that changes, such as a counter, as Array"}));
}

TEST_CASE("JAX's spellings: what a function gives as an index is one") {
  const Array x = reshape(arange(9.f), {3, 3});
  CHECK(same(x[triu_indices(3)], array({0.f, 1.f, 2.f, 4.f, 5.f, 8.f})));
  CHECK(same(x(tril_indices(3, -1)), array({3.f, 6.f, 7.f})));
  CHECK(same(x[nonzero(x > 6)], array({7.f, 8.f})));
  CHECK(same(x[unravel_index(argmax(x), x.shape())], array(8.f)));
  CHECK(same(x(unravel_index<2>(argmin(x), x.shape())), array(0.f)));
  CHECK(same(x[ix_(array({0, 2}), array({1}))], array({{1.f}, {7.f}})));
  CHECK(same(x[std::tuple{array({2, 1}), array({0, 1})}], array({6.f, 4.f})));
  CHECK(same(x.at(diag_indices(3)).set(0), x - diag(diag(x))));
  CHECK(same(x.at(ix_(array({0, 2}), array({1}))).add(1), x.at(array({0, 2}), 1).add(1)));
  CHECK(same(jit([](Array a) { return a.at(triu_indices(3)).multiply(2); })(x), x + triu(x)));
  CHECK(same(grad([](Array a) { return sum(square(a[diag_indices(3)])); })(x), 2 * diag(diag(x))));
  CHECK(refuses<AxisError>([&] { x[nonzero(ones({2, 2, 2}))]; }, {"3 dimensions", "f32[3,3]", "jax_spellings.cpp"}));
  CHECK(refuses<DTypeError>([&] { (void)x.at(std::pair{array(1.f), array(2)}).set(0); }, {"f32[]", "integers", "jax_spellings.cpp"}));
  CHECK(same(stack(meshgrid(arange(2), arange(3)), -1)(1, 0), array({0, 1})));
  CHECK(stack(meshgrid(arange(2), arange(3), arange(4), {.indexing = "ij"})).shape() == Shape{3, 2, 3, 4});
  CHECK(same(concatenate(split<3>(x, 1), 1), x));
}

TEST_CASE("JAX's spellings: one donated argument, policies, averages of parameters") {
  const auto f = jit([](Array a) { return a + 1; }, {.donate_argnums = 0});
  CHECK(same(f(ones(2) * 1), full(2, 2.f)));
  CHECK(has(message_of<AxisError>([&] { jit([](Array a) { return a; }, {.donate_argnums = 3})(1.f); }), {"donate_argnums", "argument 3"}));
  CHECK(same(grad(checkpoint([](Array a) { return sin(sin(a)); }, {.policy = jax::checkpoint_policies::everything_saveable}))(0.f),
             array(1.f)));
  const auto updated = jit([](const Params& now, const Params& old, Array step) { return optax::periodic_update(now, old, step, 4); });
  CHECK(same(updated(Params{1.f, 2.f}, Params{3.f, 4.f}, 8).b, array(2.f)));
  CHECK(same(updated(Params{1.f, 2.f}, Params{3.f, 4.f}, 9).b, array(4.f)));
}

TEST_CASE("a Jaxpr takes its arguments one by one, or as a list") {
  const Jaxpr program = make_jaxpr([](Array x, Array y) { return std::pair{x + y, x * y}; })(2.f, 3.f);
  CHECK(tree::all_close(program(std::vector<Array>{2.f, 3.f}), program(2.f, 3.f)));
  CHECK(message_of<Error>([&] { program(std::vector<Array>{2.f}); }) == message_of<Error>([&] { program(2.f); }));
}

TEST_CASE("random::clone gives the same key, and an Int counts") {
  const Array key = random::key(3);
  CHECK(same(random::key_data(random::clone(key)), random::key_data(key)));
  CHECK(has(message_of<DTypeError>([] { random::clone(1); }), "clone"));
  const auto sum_of_rows = [](const Array& x, Int n) {
    Array total = zeros_like(x[0]);
    for (Int k = 0; k < n; ++k) total += x[k] + x(k, 0) * 0;
    return total;
  };
  CHECK(same(sum_of_rows(arange(6).reshape({3, 2}), 3), array({6, 9})));
}
