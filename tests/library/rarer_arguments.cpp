// Rarer arguments and functions of jax.numpy, jax.lax and jax.scipy: the numbers are those that JAX 0.10.2 gives, of boundaries of
// convolutions and wrapped diagonals those of SciPy and NumPy.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/linalg.h>
#include <weft/scipy.h>
#include <weft/stats.h>
#include <weft/weft.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/folder.h"
#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

const Array x = array({1.5f, -2.f, 0.5f, 3.f, -1.f, 2.5f}), y = array({0.5f, 1.f, 2.f, -1.5f, 3.f, 1.f});
const Array m = array({{1.f, -2.f, 3.f}, {4.f, 0.5f, -6.f}, {2.f, 7.f, 1.5f}}), k = array({3, -1, 4, 1, -5, 9}),
            j = array({4, 9, 7, -1, 4, 0});
const Array n = array({{NAN, 2.f, 5.f, INFINITY}, {1.f, NAN, -3.f, 4.f}, {0.f, 2.f, 7.f, -1.f}});
const Array w = array({{1.f, 2.f, 0.5f}, {0.f, 3.f, 1.f}, {2.f, 2.f, 2.f}}), q = array({0.f, 0.3f, 0.5f, 1.f}), v = array({1.f, 2.f, 0.5f});
const Array wn = array({{1.f, 2.f, 0.5f, 1.f}, {0.f, 3.f, 1.f, 1.f}, {2.f, 2.f, 2.f, 0.f}}), kern = array({{1.f, 2.f}, {0.5f, -1.f}});
const Array img = reshape(cos(arange(48, float32)), {2, 2, 3, 4}), loc = reshape(sin(arange(144, float32)), {3, 8, 2, 3});

/// Whether an array has a shape, a dtype and these numbers.
bool given(const Array& a, const Shape& shape, DType dtype, const std::vector<double>& wanted) {
  const double close = dtype == float16 ? 2e-3 : 3e-5;
  const bool same = a.shape() == shape && a.dtype() == dtype && a.size() == static_cast<std::int64_t>(wanted.size()) &&
                    allclose(convert(ravel(a), float64), array(wanted), {.rtol = close, .atol = close, .equal_nan = true}).item<bool>();
  if (!same) MESSAGE(a.shape(), " ", a.dtype(), " ", a);
  return same;
}

}  // namespace

TEST_CASE("rarer arguments: sets") {
  CHECK(given(isin(k, j, {.assume_unique = true, .invert = true}), {6}, bool_, {1, 0, 0, 1, 1, 0}));
  CHECK(given(isin(k, j, {.method = "sort"}), {6}, bool_, {0, 1, 1, 0, 0, 1}));
  CHECK(given(intersect1d(k, unique(j), {.assume_unique = true}), {3}, int32, {-1, 4, 9}));
  CHECK(given(setdiff1d(k, j, {.assume_unique = true, .size = 5, .fill_value = -7}), {5}, int32, {-5, 1, 3, -7, -7}));
  CHECK(given(setxor1d(k, unique(j), {.assume_unique = true}), {5}, int32, {-5, 0, 1, 3, 7}));
  CHECK(given(intersect1d_indices(k, j).values, {3}, int32, {-1, 4, 9}));
  CHECK(given(intersect1d_indices(k, j).of_x, {3}, int32, {1, 2, 5}));
  CHECK(given(intersect1d_indices(k, j).of_y, {3}, int32, {3, 0, 1}));
  CHECK(given(intersect1d_indices(k, array({50, 60})).of_y, {0}, int32, {}));
}

TEST_CASE("rarer arguments: weighted quantiles") {
  CHECK(given(quantile(m, q, {.weights = w}), {4}, float32, {-6, 0.5, 1, 7}));
  CHECK(given(quantile(m, q, {.axis = 0, .weights = w}), {4, 3}, float32, {1, -2, -6, 1, 0.5, 1.5, 2, 0.5, 1.5, 2, 7, 3}));
  CHECK(given(quantile(m, q, {.axis = 1, .keepdims = true, .weights = v}), {4, 3, 1}, float32,
              {-2, -6, 1.5, -2, 0.5, 2, -2, 0.5, 7, 3, 4, 7}));
  CHECK(given(quantile(m, 0.4f, {.axis = {0, 1}, .weights = w}), {}, float32, {0.5}));
  CHECK(given(quantile(n, q, {.axis = 1, .weights = wn}), {4, 3}, float32, {NAN, NAN, -1, NAN, NAN, 0, NAN, NAN, 2, NAN, NAN, 7}));
  CHECK(given(nanquantile(n, q, {.axis = 0, .weights = wn}), {4, 4}, float32, {0, 2, -3, -1, 0, 2, 5, 4, 0, 2, 7, 4, 0, 2, 7, INFINITY}));
  CHECK(given(nanquantile(n, q, {.axis = 1, .weights = wn}), {4, 3}, float32, {2, -3, -1, 2, -3, 0, 2, -3, 2, INFINITY, 4, 7}));
  CHECK(given(percentile(m, array({25.f, 75.f}), {.axis = 0, .weights = w}), {2, 3}, float32, {1, -2, -6, 2, 7, 1.5}));
  CHECK(given(nanpercentile(n, 40.f, {.axis = 1, .weights = wn}), {3}, float32, {2, -3, 2}));
  CHECK(given(quantile(m, q, {.axis = 0, .weights = w - 1}), {4, 3}, float32, {NAN, -2, NAN, NAN, 0.5, NAN, NAN, 0.5, NAN, NAN, 7, NAN}));
}

TEST_CASE("rarer arguments: covariances, diagonals, roundings, bits") {
  CHECK(given(cov(m, {.dtype = float16}), {3, 3}, float16, {6.3320312, -7, -7.25, -7, 25.75, 3.875, -7.25, 3.875, 9.25}));
  CHECK(given(corrcoef(m, {.rowvar = false, .dtype = float32}), {3, 3}, float32,
              {0.99999994, 0.082199514, -0.98432416, 0.082199514, 1, 0.09486109, -0.98432416, 0.09486109, 1}));
  CHECK(given(cov(k, {.aweights = abs(y), .dtype = float32}), {}, float32, {27.385828}));
  CHECK(given(fill_diagonal(zeros({7, 2}), array({1.f, 2.f, 3.f}), {.wrap = true}), {7, 2}, float32,
              {1, 0, 0, 2, 0, 0, 3, 0, 0, 1, 0, 0, 2, 0}));
  CHECK(given(fill_diagonal(m, 8.f, {.wrap = true}), {3, 3}, float32, {8, -2, 3, 4, 8, -6, 2, 7, 8}));
  CHECK(given(fill_diagonal(zeros({8, 3}), 5, {.wrap = true}), {8, 3}, float32,
              {5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0}));
  CHECK(given(lax::round(array({0.5f, 1.5f, -2.5f, 2.4f}), lax::RoundingMethod::TO_NEAREST_EVEN), {4}, float32, {0, 2, -2, 2}));
  CHECK(given(lax::round(array({0.5f, 1.5f, -2.5f, 2.4f}), lax::RoundingMethod::AWAY_FROM_ZERO), {4}, float32, {1, 2, -3, 2}));
  CHECK(given(reduce_xor(reshape(k, {2, 3}), {0}), {3}, int32, {2, 4, 13}));
  CHECK(given(reduce_xor(m > 1, {1}), {3}, bool_, {1, 1, 1}));
  CHECK(given(mulhi(array({2000000000, -5, 3}), array({2000000000, 7, 3})), {3}, int32, {9.3132257e+08, -1, 0}));
  CHECK(given(mulhi(array({4000000000u, 5u}), array({4000000000u, 7u})), {2}, uint32, {3.7252903e+09, 0}));
  CHECK(given(broadcast_to_rank(m, 4), {1, 1, 3, 3}, float32, {1, -2, 3, 4, 0.5, -6, 2, 7, 1.5}));
  CHECK(given(conv_general_dilated_local(img, loc, {1, 1}, "VALID", {2, 2}), {2, 3, 2, 3}, float32,
              {-0.47205055, -0.10316691, 0.18012166, -2.0960376,  -1.5023394,  -1.6404715, -1.1460075, -1.7511921, -1.5212687,
               0.4945837,   0.022494316, 0.56396079, 1.939271,    2.3451984,   1.7675414,  1.4628277,  1.4735398,  0.91843915,
               1.7273333,   1.4487939,   2.0537415,  -0.12720704, 0.016139209, 0.49156833, -1.5772208, -1.8120947, -2.2219853,
               -1.2696098,  -1.8134568,  -1.8295289, 0.29196489,  0.87121058,  0.7910409,  1.7526745,  2.3056092,  1.8507568}));
}

TEST_CASE("rarer arguments: signals") {
  CHECK(given(convolve2d(m, kern, {.mode = "full", .boundary = "wrap"}), {4, 4}, float32,
              {6.5, 1.5, -7.25, 6.5, -10.5, 6.5, -1.5, -10.5, 13, 7.25, 12, 13, 6.5, 1.5, -7.25, 6.5}));
  CHECK(given(convolve2d(m, kern, {.mode = "full", .boundary = "symm"}), {4, 4}, float32,
              {2.5, -2, 2.5, 7.5, 11.5, 6.5, -1.5, -19.5, 4, 7.25, 12, 7.5, 5, 12.5, 9.25, 3.75}));
  CHECK(
      given(convolve2d(m, kern, {.mode = "same", .boundary = "wrap"}), {3, 3}, float32, {6.5, 1.5, -7.25, -10.5, 6.5, -1.5, 13, 7.25, 12}));
  CHECK(given(convolve2d(m, kern, {.mode = "same", .boundary = "symm"}), {3, 3}, float32, {2.5, -2, 2.5, 11.5, 6.5, -1.5, 4, 7.25, 12}));
  CHECK(given(convolve2d(m, kern, {.mode = "valid", .boundary = "wrap"}), {2, 2}, float32, {6.5, -1.5, 7.25, 12}));
  CHECK(given(convolve2d(m, kern, {.mode = "valid", .boundary = "symm"}), {2, 2}, float32, {6.5, -1.5, 7.25, 12}));
  CHECK(given(correlate2d(m, kern, {.mode = "full", .boundary = "wrap"}), {4, 4}, float32,
              {6, 18.5, 6, 6, -2, -1.5, 10.25, -2, 0.75, -1, -9.5, 0.75, 6, 18.5, 6, 6}));
  CHECK(given(correlate2d(m, kern, {.mode = "full", .boundary = "symm"}), {4, 4}, float32,
              {2.5, -0.5, 0, 7.5, 1, -1.5, 10.25, 12, 11, -1, -9.5, -18.75, 5, 10, 12, 3.75}));
  CHECK(given(correlate2d(m, kern, {.mode = "same", .boundary = "wrap"}), {3, 3}, float32, {-1.5, 10.25, -2, -1, -9.5, 0.75, 18.5, 6, 6}));
  CHECK(given(correlate2d(m, kern, {.mode = "same", .boundary = "symm"}), {3, 3}, float32,
              {-1.5, 10.25, 12, -1, -9.5, -18.75, 10, 12, 3.75}));
  CHECK(given(convolve2d(m, kern, {.mode = "same", .fillvalue = 2}), {3, 3}, float32, {4, -1, -2, 6.5, 6.5, -1.5, 6, 7.25, 12}));
  CHECK(given(convolve2d(m, kern, {.mode = "full", .boundary = "fill", .fillvalue = -1}), {4, 4}, float32,
              {-0.5, 0.5, -0.5, 5.5, 3.5, 6.5, -1.5, -16.5, 3, 7.25, 12, 7.5, -1, -1.5, -9.25, -5}));
  CHECK(given(convolve(x, v, {.mode = "full", .method = "fft"}), {8}, float32, {1.5, 1, -2.75, 3, 5.25, 2, 4.5, 1.2499999}));
  CHECK(given(convolve(x, v, {.mode = "same", .method = "fft"}), {6}, float32, {1, -2.75, 3, 5.25, 2, 4.5}));
  CHECK(given(convolve(x, v, {.mode = "valid", .method = "fft"}), {4}, float32, {-2.75, 3, 5.25, 2}));
  CHECK(given(correlate(x, v, {.mode = "full", .method = "fft"}), {8}, float32, {0.75, 2, -2.25, 0.5, 6, 2.25, 4, 2.5}));
  CHECK(given(correlate(x, v, {.mode = "full", .method = "auto"}), {8}, float32, {0.75, 2, -2.25, 0.5, 6, 2.25, 4, 2.5}));
  CHECK(given(correlate(x, v, {.mode = "valid", .method = "fft"}), {4}, float32, {-2.25, 0.5, 6, 2.25}));
  CHECK(given(correlate(x, v, {.mode = "valid", .method = "auto"}), {4}, float32, {-2.25, 0.5, 6, 2.25}));
  CHECK(given(convolve(x, v, {.method = "direct"}), {8}, float32, {1.5, 1, -2.75, 3, 5.25, 2, 4.5, 1.25}));
  CHECK(given(fftconvolve(m, w, {.mode = "same", .axes = 1}), {3, 3}, float32,
              {-9.5367433e-08, -0.5, 5, 12.000001, 5.5000014, -17.500002, 18, 21, 17}));
  CHECK(given(fft::dct(m, {.type = 2, .axis = 0, .norm = "ortho"}), {3, 3}, float32,
              {4.0414519, 3.1754265, -0.86602539, -0.70710677, -6.3639607, 1.06066, -2.0412414, 1.6329937, 6.7360964}));
  CHECK(given(fft::idct(m, {.type = 2, .n = 4}), {3, 4}, float32,
              {0.19339034, -0.59667176, -0.21398835, 1.1172698, -0.4451752, 1.6084956, 1.5128247, -0.67614508, 2.1319542, 0.654531,
               -0.68486106, -1.101624}));
}

TEST_CASE("rarer arguments: logarithms, factors, ranks") {
  CHECK(given(logsumexp_with_sign(m, {.axis = 1, .b = w - 1}).value, {3}, float32, {2.2932854, 3.9377046, 7.0107665}));
  CHECK(given(logsumexp_with_sign(m, {.axis = 1, .b = w - 1}).sign, {3}, float32, {-1, -1, 1}));
  CHECK(given(logsumexp_with_sign(m * 100, {.axis = 0, .keepdims = true}).value, {1, 3}, float32, {400, 700, 300}));
  CHECK(given(logsumexp_with_sign(m, {.b = -1}).sign, {}, float32, {-1}));
  CHECK(given(logsumexp_with_sign(m, {.where = m > 0}).value, {}, float32, {7.0796514}));
  CHECK(given(logsumexp_with_sign(zeros(2), {.b = array({1.f, -1.f})}).value, {}, float32, {-INFINITY}));
  CHECK(given(abs(linalg::schur(m, {.output = "complex"}).t(0, 0)), {}, float32, {6.9191151}));
  CHECK(given(linalg::polar(m, {.side = "left", .method = "qdwh"}).p, {3, 3}, float32,
              {3.3921244, -1.424714, -0.68094522, -1.424714, 7.0858326, 0.10560191, -0.68094534, 0.10560184, 7.4010224}));
  CHECK(given(linalg::eigvalsh_tridiagonal(x, y(slice(none, -1))), {6}, float32,
              {-3.0984564, -2.4478817, -0.11206712, 1.575864, 3.646471, 4.9360704}));
  CHECK(given(linalg::eigvalsh_tridiagonal(x, y(slice(none, -1)), {.select = "i", .select_range = {{1, 3}}}), {3}, float32,
              {-2.4478817, -0.11206712, 1.575864}));
  CHECK(given(stats::rankdata(k, {.method = "min"}), {6}, float32, {4, 2, 5, 3, 1, 6}));
  CHECK(given(stats::rankdata(m, {.axis = 1, .nan_policy = "propagate"}), {3, 3}, float32, {2, 1, 3, 3, 2, 1, 2, 3, 1}));
  CHECK(given(stats::sem(where(isinf(n), 1, n), {.axis = 1, .nan_policy = "omit"}), {3}, float32, {1.2018504, 2.0275874, 1.7795131}));
  CHECK(given(stats::sem(m, {.axis = 0, .ddof = 0, .nan_policy = "propagate", .keepdims = true}), {1, 3}, float32,
              {0.72008228, 2.1900449, 2.2730303}));
}

TEST_CASE("rarer arguments: derivatives, compiled and mapped") {
  auto f = [](Array a) { return logsumexp_with_sign(a, {.b = array({1.f, -2.f, 0.5f})}).value; };
  const Array at = array({0.3f, 1.f, -0.4f}), factors = array({1.f, -2.f, 0.5f});
  CHECK(allclose(jit(grad(f))(at), factors * exp(at) / sum(factors * exp(at)), {.rtol = 1e-5}).item<bool>());
  CHECK(allclose(vmap(f)(m), stack({f(m[0]), f(m[1]), f(m[2])}), {.rtol = 1e-5}).item<bool>());
  auto smooth = [](Array a) { return convolve2d(a, kern, {.mode = "same", .boundary = "wrap"}); };
  CHECK(allclose(jit(vmap(smooth))(stack({m, w})), stack({smooth(m), smooth(w)})).item<bool>());
  CHECK(allclose(grad([&](Array a) { return sum(smooth(a)); })(m), full({3, 3}, 2.5f)).item<bool>());
  auto middle = [](Array a, Array b) { return quantile(a, 0.5f, {.weights = b}); };
  CHECK(allclose(jit(vmap(middle))(m, w), quantile(m, 0.5f, {.axis = 1, .weights = w})).item<bool>());
  CHECK(ndim(m) == 2);
  CHECK(ndim(3.f) == 0);
}

TEST_CASE("rarer arguments: bytes and files") {
  const std::vector<float> numbers{1.5f, -2.f, 3.25f};
  std::string bytes(sizeof(float) * 3 + 1, '\0');
  std::memcpy(bytes.data() + 1, numbers.data(), sizeof(float) * 3);
  CHECK(given(frombuffer(bytes, float32, {.offset = 1}), {3}, float32, {1.5, -2, 3.25}));
  CHECK(given(frombuffer(bytes, float32, {.count = 2, .offset = 1}), {2}, float32, {1.5, -2}));
  CHECK(has(message_of<Error>([&] { frombuffer(bytes, float32); }), "13 bytes are no whole number of float32 of 4 each"));
  CHECK(has(message_of<Error>([&] { frombuffer(bytes, float32, {.count = 4}); }), "hold 3 float32, not 4"));
  CHECK(has(message_of<Error>([&] { frombuffer(bytes, float32, {.offset = 14}); }), "the offset is 14, and there are 13 bytes"));
  CHECK(frombuffer("", int8).shape() == Shape{0});
  const test::Folder folder;
  const std::string path = folder.path + "/numbers.bin";
  test::put(path, bytes);
  CHECK(given(fromfile(path, float32, {.offset = 1}), {3}, float32, {1.5, -2, 3.25}));
  CHECK(has(message_of<IoError>([] { fromfile("/nowhere/x", float32); }), "/nowhere/x"));
}

TEST_CASE("rarer arguments: what is refused") {
  CHECK(has(message_of<Error>([] { quantile(m, q, {.method = "linear", .weights = w}); }),
            "the method is `linear`; weights need inverted_cdf"));
  CHECK(has(message_of<ShapeError>([] { quantile(m, q, {.axis = 0, .weights = ones(2)}); }), "the weights are f32[2]"));
  CHECK(has(message_of<Error>([] { convolve2d(m, kern, {.boundary = "edge"}); }), "unknown boundary `edge`"));
  CHECK(has(message_of<Error>([] { convolve(x, v, {.method = "slow"}); }), "unknown method `slow`"));
  CHECK(has(message_of<Error>([] { fft::dct(x, {.type = 3}); }), "dct: the type is 3"));
  CHECK(has(message_of<Error>([] { stats::sem(x, {.nan_policy = "raise"}); }), "unknown nan_policy `raise`"));
  CHECK(has(message_of<Error>([] { linalg::eigvalsh_tridiagonal(x, x(slice(1, none)), {.select = "i", .select_range = {{2, 9}}}); }),
            "(2, 9)"));
  CHECK(has(message_of<DTypeError>([] { cov(m, {.dtype = int32}); }), "must be floating"));
  CHECK(has(message_of<DTypeError>([] { reduce_xor(m, 0); }), "has no bits"));
  CHECK(has(message_of<DTypeError>([] { mulhi(m, 3); }), "up to 32 bits"));
  CHECK(has(message_of<ShapeError>([] { broadcast_to_rank(m, 1); }), "more than 1 dimensions"));
  CHECK(has(message_of<ShapeError>([] { conv_general_dilated_local(img, loc(slice(), slice(0, 4)), {1, 1}, "VALID", {2, 2}); }),
            "must be those of"));
}
