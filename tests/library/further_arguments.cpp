// Arguments by name that few programs need: the numbers are those that JAX 0.10.2 gives.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/linalg.h>
#include <weft/nn.h>
#include <weft/random.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <vector>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

const Array x = array({1.5f, -2.f, 0.5f, 3.f, -1.f, 2.5f}), y = array({0.5f, 1.f, 2.f, -1.5f, 3.f, 1.f});
const Array m = array({{1.f, -2.f, 3.f}, {4.f, 0.5f, -6.f}, {2.f, 7.f, 1.5f}}), k = array({3, -1, 4, 1, -5, 9});
const Array n = array({{NAN, 2.f, 5.f, INFINITY}, {1.f, NAN, -3.f, 4.f}, {0.f, 2.f, 7.f, -1.f}}),
            c = array({true, false, true, true, false, true});

/// Whether an array has a shape, a dtype and these numbers; those of complex elements are their parts.
bool given(const Array& a, const Shape& shape, DType dtype, const std::vector<double>& wanted) {
  const Array flat = ravel(a);
  const Array parts = iscomplexobj(flat) ? ravel(stack({real(flat), imag(flat)}, 1)) : flat;
  const double close = dtype == float16 ? 2e-3 : 3e-5;
  const bool same = a.shape() == shape && a.dtype() == dtype && parts.size() == static_cast<std::int64_t>(wanted.size()) &&
                    allclose(convert(parts, float64), array(wanted), {.rtol = close, .atol = close, .equal_nan = true}).item<bool>();
  if (!same) MESSAGE(a.shape(), " ", a.dtype(), " ", a);
  return same;
}

}  // namespace

TEST_CASE("further arguments: statistics, sums and quantiles") {
  const Array t = reshape(sin(arange(24, float32)), {2, 3, 4}), z = complex(x(slice(none, 3)), y(slice(none, 3)));
  CHECK(given(angle(z, {.deg = true}), {3}, float32, {18.434948, 153.43495, 75.96376}));
  CHECK(given(angle(x, {.deg = true}), {6}, float32, {0, 180, 0, 0, 180, 0}));
  CHECK(given(trace(t, {.offset = 1, .axis1 = 1, .axis2 = 2}), {2}, float32, {-0.43793476, -1.1770406}));
  CHECK(given(trace(m, {.dtype = float16}), {}, float16, {3}));
  CHECK(given(var(m, {.axis = 1, .correction = 1.5}), {3}, float32, {8.4444447, 34.333332, 12.333333}));
  CHECK(given(var(m, {.axis = 1, .keepdims = true, .mean = ones({3, 1})}), {3, 1}, float32, {4.3333335, 19.416666, 12.416667}));
  CHECK(given(var(z, {.correction = 1}), {}, float32, {3.8333333}));
  CHECK(given(std_(m, {.axis = 0, .ddof = 1, .where = m > 0, .mean = mean(m, 0, {.keepdims = true, .where = m > 0})}), {3}, float32,
              {1.5275253, 4.5961943, 1.0606601}));
  CHECK(given(std_(k, {.correction = 1}), {}, float32, {4.7504387}));
  CHECK(given(var(x, {.correction = 6}), {}, float32, {NAN}));
  CHECK(given(var(m, {.axis = {0, 1}, .dtype = float64, .correction = 2}), {}, float64, {15.436507}));
  CHECK(given(nancumsum(n, {.axis = 1}), {3, 4}, float32, {0, 2, 7, INFINITY, 1, 1, -2, 2, 0, 2, 9, 8}));
  CHECK(given(nancumprod(n, {.axis = 0}), {3, 4}, float32, {1, 2, 5, INFINITY, 1, 2, -15, INFINITY, 0, 4, -105, -INFINITY}));
  CHECK(given(nancumsum(k, {.dtype = float32}), {6}, float32, {3, 2, 6, 7, 2, 11}));
  CHECK(given(cumulative_sum(k, {.include_initial = true}), {7}, int32, {0, 3, 2, 6, 7, 2, 11}));
  CHECK(given(cumulative_sum(m, {.axis = -1, .include_initial = true}), {3, 4}, float32, {0, 1, -1, 2, 0, 4, 4.5, -1.5, 0, 2, 9, 10.5}));
  CHECK(given(cumulative_prod(m, {.axis = 0, .dtype = float16, .include_initial = true}), {4, 3}, float16,
              {1, 1, 1, 1, -2, 3, 4, -1, -18, 8, -7, -27}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 0, .method = "lower"}), {4, 4}, float32,
              {0, 2, -3, -1, 0, 2, -3, -1, 0, 2, 5, 4, 1, 2, 7, INFINITY}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 0, .method = "higher"}), {4, 4}, float32,
              {0, 2, -3, -1, 1, 2, 5, 4, 1, 2, 5, 4, 1, 2, 7, INFINITY}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 0, .method = "midpoint"}), {4, 4}, float32,
              {0, 2, -3, -1, 0.5, 2, 1, 1.5, 0.5, 2, 5, 4, 1, 2, 7, INFINITY}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 0, .method = "nearest"}), {4, 4}, float32,
              {0, 2, -3, -1, 0, 2, 5, 4, 0, 2, 5, 4, 1, 2, 7, INFINITY}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 0, .method = "linear"}), {4, 4}, float32,
              {0, 2, -3, -1, 0.30000001, 2, 1.8000002, 2, 0.5, 2, 5, 4, 1, 2, 7, NAN}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 1, .method = "lower"}), {4, 3}, float32,
              {2, -3, -1, 2, -3, -1, 5, 1, 0, INFINITY, 4, 7}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 1, .method = "higher"}), {4, 3}, float32,
              {2, -3, -1, 5, 1, 0, 5, 1, 2, INFINITY, 4, 7}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 1, .method = "midpoint"}), {4, 3}, float32,
              {2, -3, -1, 3.5, -1, -0.5, 5, 1, 1, INFINITY, 4, 7}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 1, .method = "nearest"}), {4, 3}, float32,
              {2, -3, -1, 5, 1, 0, 5, 1, 0, INFINITY, 4, 7}));
  CHECK(given(nanquantile(n, array({0.f, 0.3f, 0.5f, 1.f}), {.axis = 1, .method = "linear"}), {4, 3}, float32,
              {2, -3, -1, 3.8000002, -0.5999999, -0.099999964, 5, 1, 1, NAN, 4, 7}));
  CHECK(given(nanpercentile(n, 40.f, {.method = "higher", .keepdims = true}), {1, 1}, float32, {2}));
  CHECK(given(nanmedian(n, 1), {3}, float32, {5, 1, 1}));
  CHECK(given(ediff1d(k, {.to_end = array({7, 8}), .to_begin = -9}), {8}, int32, {-9, -4, 5, -3, -6, 14, 7, 8}));
}

TEST_CASE("further arguments: shapes and positions") {
  CHECK(given(cross(m, m.T(), {.axisa = 0}), {3, 3}, float32, {0, 0, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(given(cross(m, m + 1, {.axisc = 0}), {3, 3}, float32, {-5, 6.5, 5.5, 2, -10, -0.5, 3, 3.5, -5}));
  CHECK(given(cross(m, m + 1, {.axis = 0}), {3, 3}, float32, {2, -6.5, -7.5, 1, 9, -1.5, -3, -2.5, 9}));
  CHECK(given(meshgrid({x, y, k}, {.sparse = true})[0], {1, 6, 1}, float32, {1.5, -2, 0.5, 3, -1, 2.5}));
  CHECK(given(meshgrid({x, y, k}, {.sparse = true})[1], {6, 1, 1}, float32, {0.5, 1, 2, -1.5, 3, 1}));
  CHECK(given(meshgrid({x, y, k}, {.indexing = "ij", .sparse = true})[2], {1, 1, 6}, int32, {3, -1, 4, 1, -5, 9}));
  CHECK(given(meshgrid(x, k, {.sparse = true}).second, {6, 1}, int32, {3, -1, 4, 1, -5, 9}));
  CHECK(given(concatenate({x, k}, 0, {.dtype = float16}), {12}, float16, {1.5, -2, 0.5, 3, -1, 2.5, 3, -1, 4, 1, -5, 9}));
  CHECK(given(stack({x, k}, 1, {.dtype = int32}), {6, 2}, int32, {1, 3, -2, -1, 0, 4, 3, 1, -1, -5, 2, 9}));
  CHECK(given(vstack({x, k}, {.dtype = float32}), {2, 6}, float32, {1.5, -2, 0.5, 3, -1, 2.5, 3, -1, 4, 1, -5, 9}));
  CHECK(given(hstack({x, k}, {.dtype = int32}), {12}, int32, {1, -2, 0, 3, -1, 2, 3, -1, 4, 1, -5, 9}));
  CHECK(given(dstack({k, k}, {.dtype = float32}), {1, 6, 2}, float32, {3, 3, -1, -1, 4, 4, 1, 1, -5, -5, 9, 9}));
  CHECK(given(compress(c, x, {.size = 3}), {3}, float32, {1.5, 0.5, 3}));
  CHECK(given(compress(c, x, {.size = 6, .fill_value = -1}), {6}, float32, {1.5, 0.5, 3, 2.5, -1, -1}));
  CHECK(given(compress(array({true, false, true}), m, {.axis = 1, .size = 3, .fill_value = 9}), {3, 3}, float32,
              {1, 3, 9, 4, -6, 9, 2, 1.5, 9}));
  CHECK(given(extract(m > 1, m, {.size = 7, .fill_value = 0.5f}), {7}, float32, {3, 4, 2, 7, 1.5, 0.5, 0.5}));
  CHECK(given(choose(array({0, 1, 5, -1}), {array({1, 2, 3, 4}), array({10, 20, 30, 40})}, {.mode = "wrap"}), {4}, int32, {1, 20, 30, 40}));
  CHECK(given(choose(array({0, 1, 5, -1}), {array({1, 2, 3, 4}), array({10, 20, 30, 40})}, {.mode = "clip"}), {4}, int32, {1, 20, 30, 4}));
  CHECK(given(ravel_multi_index({array({0, 4, -1}), array({1, 2, 9})}, {3, 4}, {.mode = "wrap"}), {3}, int32, {1, 6, 9}));
  CHECK(given(ravel_multi_index({array({0, 4, -1}), array({1, 2, 9})}, {3, 4}, {.mode = "clip", .order = "F"}), {3}, int32, {3, 8, 9}));
  CHECK(given(put_along_axis(m, array({{5}, {-1}, {0}}), 8.f, 1, {.mode = "clip"}), {3, 3}, float32, {1, -2, 8, 4, 0.5, 8, 8, 7, 1.5}));
  CHECK(
      given(put_along_axis(m, array({8, 0}), array({5.f, 6.f}), none, {.mode = "drop"}), {3, 3}, float32, {6, -2, 3, 4, 0.5, -6, 2, 7, 5}));
  CHECK(given(searchsorted(k, array({0, 4, 10, -7}), {.side = "right", .sorter = argsort(k)}), {4}, int32, {2, 5, 6, 0}));
  CHECK(given(searchsorted(sort(x), y, {.method = "sort"}), {6}, int32, {2, 3, 4, 1, 5, 3}));
  CHECK(given(trim_zeros(array({{0, 0, 0}, {0, 1, 0}}), "fb", 0), {1, 3}, int32, {0, 1, 0}));
  CHECK(given(trim_zeros(array({{0, 0, 0}, {0, 1, 0}}), "b", 1), {2, 2}, int32, {0, 0, 0, 1}));
  CHECK(given(reshape(m, {9}, {.dimensions = {1, 0}}), {9}, float32, {1, 4, 2, -2, 0.5, 7, 3, -6, 1.5}));
  CHECK(given(sort_key_val(m, -m, {.dimension = 0}).values, {3, 3}, float32, {-1, 2, 6, -2, -0.5, -1.5, -4, -7, -3}));
  CHECK(given(approx_max_k(m, 2, {.reduction_dimension = 0}).values, {2, 3}, float32, {4, 7, 3, 2, 0.5, 1.5}));
  CHECK(given(approx_min_k(m, 2, {.reduction_dimension = 0}).indices, {2, 3}, int32, {0, 0, 1, 2, 1, 2}));
}

TEST_CASE("further arguments: products and polynomials") {
  const Array z = complex(x(slice(none, 3)), y(slice(none, 3)));
  CHECK(
      given(polyint(x, {.m = 2, .k = array({3.f, 5.f})}), {8}, float32, {0.035714287, -0.06666667, 0.025, 0.25, -0.16666667, 1.25, 3, 5}));
  CHECK(given(polyint(k, {.k = 4}), {7}, float32, {0.5, -0.2, 1, 0.33333334, -2.5, 9, 4}));
  CHECK(given(polyint(x, {.m = 3, .k = 2.f}), {9}, float32,
              {0.0044642859, -0.0095238099, 0.0041666669, 0.050000001, -0.041666668, 0.41666666, 1, 2, 2}));
  CHECK(given(inner(k, k, {.preferred_element_type = float32}), {}, float32, {133}));
  CHECK(given(vdot(z, z, {.preferred_element_type = complex64}), {}, complex64, {11.75, 0}));
  CHECK(given(vecdot(m, m, {.preferred_element_type = float32}), {3}, float32, {14, 52.25, 55.25}));
  CHECK(given(convolve(x, y, "same", {.preferred_element_type = float32}), {6}, float32, {1.25, -4.25, 11, 1, -4.5, 16}));
  CHECK(given(convolve(k, k, "full", {.preferred_element_type = float32}), {11}, float32, {9, -6, 25, -2, -16, 72, -57, 62, 43, -90, 81}));
  CHECK(given(correlate(x, y, "full", {.preferred_element_type = float32}), {11}, float32,
              {1.5, 2.5, -7.75, 10.5, 4.75, -5.25, 14.5, -2.5, 5.5, 2, 1.25}));
}

TEST_CASE("further arguments: linear algebra") {
  const Array s = matmul(m, m.T()) + eye(3);
  CHECK(given(linalg::eigvalsh(m, {.UPLO = "U", .symmetrize_input = false}), {3}, float32, {-5.0829873, -0.59509534, 8.6780815}));
  CHECK(given(linalg::eigvalsh(m, {.symmetrize_input = false}), {3}, float32, {-6.4128609, -0.58857614, 10.001436}));
  CHECK(given(linalg::eigh(m, {.UPLO = "U"}).eigenvalues, {3}, float32, {-1.3623111, 0.29313731, 4.0691743}));
  CHECK(given(linalg::cholesky(s + triu(m, 1), {.symmetrize_input = false}), {3, 3}, float32,
              {3.8729835, 0, 0, -3.8729832, 6.1846585, 0, -1.9364916, -0.80845201, 7.2004447}));
  CHECK(given(linalg::cholesky(s + triu(m, 1), {.upper = true, .symmetrize_input = true}), {3, 3}, float32,
              {3.8729835, -4.1311822, -1.5491934, 0, 6.0152583, -1.1470829, 0, 0, 7.2480483}));
  CHECK(given(linalg::svd(m + m.T(), {.hermitian = true}).s, {3}, float32, {8.1383476, 2.7246227, 0.58627421}));
  CHECK(given(linalg::pinv(m + m.T(), {.hermitian = true}), {3, 3}, float32,
              {-0.15384613, 0.076922998, 0.23076929, 0.076922998, 1.4615388, -0.6153844, 0.23076929, -0.6153844, 0.15384591}));
  CHECK(given(linalg::pinv(m, {.rcond = 0.5}), {3, 3}, float32,
              {-0.021567831, 0.054562371, 0.024907697, -0.01873989, 0.0029095446, 0.12593615, 0.03288389, -0.11389595, 0.033991862}));
  CHECK(given(linalg::matrix_rank(m, {.tol = 5}), {}, int32, {2}));
  CHECK(given(linalg::matrix_rank(m + m.T(), {.hermitian = true}), {}, int32, {3}));
  CHECK(given(linalg::cond(m, 1), {}, float32, {5.7676058}));
  CHECK(given(linalg::cond(m, -2), {}, float32, {0.35995671}));
  CHECK(given(linalg::cond(m, 2), {}, float32, {2.7781117}));
  CHECK(given(linalg::cond(m, constants::inf), {}, float32, {5.0774655}));
  CHECK(given(linalg::cond(m, "fro"), {}, float32, {4.4204607}));
  CHECK(given(linalg::cond(m, "nuc"), {}, float32, {11.088773}));
  CHECK(given(linalg::cond(zeros({2, 2}), 1), {}, float32, {INFINITY}));
  CHECK(given(linalg::slogdet(m, {.method = "qr"}).logabsdet, {}, float32, {5.0736103}));
  CHECK(given(linalg::tensorsolve(reshape(cos(arange(36, float32) * arange(36, float32)), {2, 6, 3}), reshape(x, {2, 3}), {.axes = 1}), {6},
              float32, {0.79127622, -1.8083147, -3.0354254, 7.4092293, -11.651409, 8.352787}));
}

TEST_CASE("further arguments: neural networks and draws") {
  const Array q = reshape(sin(arange(96, float32)), {2, 4, 3, 4}), v = reshape(cos(arange(96, float32)), {2, 4, 3, 4}),
              key = random::key(5);
  CHECK(given(
      nn::dot_product_attention(q, v, q + v, {.query_seq_lengths = array({2, 4}), .key_value_seq_lengths = array({3, 1})}), {2, 4, 3, 4},
      float32,
      {0.10413815,  1.1288741,   1.1157283,   0.076787159, -1.0301598, -1.1991884,  -0.26568857, 0.9120841,   1.2748804,   0.51545149,
       -0.71788108, -1.2911972,  0.033537738, 1.097723,    1.1526668,  0.14785409,  -1.0137975,  -1.2061098,  -0.28953031, 0.893242,
       1.2790959,   0.53706169,  -0.69874448, -1.2921282,  -0,         0,           0,           0,           -0,          -0,
       -0,          0,           0,           0,           -0,         -0,          -0,          0,           0,           0,
       -0,          -0,          -0,          0,           0,          0,           -0,          -0,          -1.408399,   -0.6531601,
       0.70259118,  1.4123833,   0.82363677,  -0.52235764, -1.388099,  -0.97762841, 0.33166909,  1.3360316,   1.1120528,   -0.13434219,
       -1.408399,   -0.6531601,  0.70259118,  1.4123833,   0.82363677, -0.52235764, -1.388099,   -0.97762841, 0.33166909,  1.3360316,
       1.1120528,   -0.13434219, -1.408399,   -0.6531601,  0.70259118, 1.4123833,   0.82363677,  -0.52235764, -1.388099,   -0.97762841,
       0.33166909,  1.3360316,   1.1120528,   -0.13434219, -1.408399,  -0.6531601,  0.70259118,  1.4123833,   0.82363677,  -0.52235764,
       -1.388099,   -0.97762841, 0.33166909,  1.3360316,   1.1120528,  -0.13434219}));
  CHECK(given(
      nn::dot_product_attention(q, v, q + v, {.local_window_size = 1}), {2, 4, 3, 4}, float32,
      {0.58160949,  1.349062,   0.87619305,  -0.4022437,    -1.3077354,   -1.0249112, 0.20021166,  1.2412609,   1.1585567,   0.020642465,
       -1.1362504,  -1.2484798, 0.033537738, 1.097723,      1.1526668,    0.14785409, -1.0137975,  -1.2061098,  -0.28953031, 0.893242,
       1.2790959,   0.53706169, -0.69874448, -1.2921282,    -0.70975143,  0.52536851, 1.277467,    0.85506827,  -0.42605343, -1.2460281,
       -0.92041028, 0.25142851, 1.1918747,   1.0454245,     -0.062184203, -1.1126211, -0.90243345, 0.37276205,  1.3052418,   1.0376883,
       -0.20659547, -1.244253,  -1.1379502,  0.014578847,   1.1641321,    1.2210827,  0.15537547,  -1.0531832,  -1.3140749,  -1.0094656,
       0.22324175,  1.2507015,  1.145697,    -0.0034083799, -1.1493801,   -1.2386171, -0.1653631,  1.0480407,   1.2978808,   0.35445517,
       -1.027137,   -1.1987171, -0.26820228, 0.90889657,    1.2761178,    0.51766467, -0.7167269,  -1.2921631,  -0.6894412,  0.54711157,
       1.2806525,   0.83676738, -0.44852471, -1.2511848,    -0.90351135,  0.27484629, 1.1997911,   1.0332128,   -0.08329647, -1.1232234,
       -1.1737735,  -0.1739675, 0.98578352,  1.2392097,     -0.23118436,  -1.2541161, -1.1240193,  0.039495684, 1.1763322,   1.2103636,
       0.13159226,  -1.0681645, -1.2976893,  -0.35184544,   0.91748351,   1.3432822}));
  CHECK(given(
      nn::dot_product_attention(q, v, q + v, {.scale = 0.3, .is_causal = true, .local_window_size = nn::WindowSize(2, 0)}), {2, 4, 3, 4},
      float32,
      {1,           1.3817732,    0.49315056,  -0.84887248,  -1.4104462,  -0.67526209, 0.68075478,  1.4108889,   0.84385824, -0.49901175,
       -1.3830926,  -0.99556452,  0.60535407,  1.3509183,    0.85445452,  -0.42759082, -1.3171222,  -0.99295688, 0.24412844, 1.2567633,
       1.1271956,   -0.031143298, -1.1608493,  -1.2232758,   0.12922698,  1.1331928,   1.0953063,   0.050400332, -1.0644176, -1.1543293,
       -0.18295601, 0.95662624,   1.2297252,   0.39313045,   -0.80490661, -1.2629162,  -0.59224832, 0.62864256,  1.2715623,  0.74541354,
       -0.50596392, -1.2522526,   -0.84722608, 0.33673626,   1.2173997,   0.95724505,  -0.18299618, -1.1549916,  -1.408399,  -0.6531601,
       0.70259118,  1.4123833,    0.82363677,  -0.52235764,  -1.388099,   -0.97762841, 0.33166909,  1.3360316,   1.1120528,  -0.13434219,
       -1.3227668,  -0.97663283,  0.2674129,   1.2656004,    1.1137497,   -0.05488611, -1.1730599,  -1.2127279,  -0.1332082, 1.066672,
       1.2858589,   0.32283303,   -1.0765433,  -1.1448292,   -0.16056435, 0.97132254,  1.2242643,   0.37289947,  -0.8213073, -1.2604079,
       -0.57201022, 0.64828074,   1.2725453,   0.72683758,   -0.52755415, -1.2557368,  -0.8294009,  0.35948244,  1.223425,   0.94279337,
       -0.20463815, -1.1639264,   -1.0852071,  -0.026491201, 1.0565807,   1.1682371}));
  CHECK(given(nn::dot_product_attention(q[0], v[0], q[0], {.mask = ones({1, 1, 4}, bool_), .key_value_seq_lengths = array({2})}), {4, 3, 4},
              float32, {-0.32408094, 0.58701056,  0.95840728,  0.44864875,  -0.46471161, -0.96046484, -0.57317114, 0.34109348,
                        0.938963,    0.69210559,  -0.1910705,  -0.89857727, -0.32991251, 0.58243173,  0.95929092,  0.45418245,
                        -0.47130224, -0.96043015, -0.56654298, 0.34822118,  0.93945199,  0.68938887,  -0.19449519, -0.89956129,
                        -0.31701556, 0.59255809,  0.9573366,   0.44194424,  -0.49378186, -0.96031153, -0.54393518, 0.37253264,
                        0.94348645,  0.66697419,  -0.22275102, -0.90768003, -0.28866473, 0.61481845,  0.95304042,  0.41504139,
                        -0.52577353, -0.96014285, -0.51176125, 0.40713125,  0.95012486,  0.6300925,   -0.26924396, -0.92103875}));
  CHECK(given(nn::initializers::he_normal({.in_axis = 0, .out_axis = 1})(key, {3, 4, 5}), {3, 4, 5}, float32,
              {-0.033427637, 0.53611535,  0.24824142,  -0.50150198,  0.52181947,   0.1822062,   -0.73246837, -0.59923059, -0.32786942,
               -0.066706888, -0.82462561, -0.11360395, 0.18755008,   -0.054505043, 0.39178929,  -0.5334605,  -0.34600025, 0.37071732,
               0.17257059,   -0.59036213, 0.77390379,  -0.21987677,  -0.035854243, -0.25560534, 0.055204947, -0.20713927, 0.59907383,
               -0.35566902,  -0.51989961, -0.68012732, -0.17412558,  -0.33983529,  -0.51639897, -0.11815447, -0.24324951, -0.4371388,
               0.66502273,   -0.191525,   -0.20299713, -0.060466178, -0.019294109, -0.58895516, 0.21181029,  -0.60561907, -0.067601778,
               0.24993394,   -0.46242446, 0.13087048,  -0.64573133,  -0.42492563,  0.35098681,  0.19914246,  -0.27887329, -0.27249131,
               -0.42822737,  0.45817405,  0.017436508, -0.24345349,  0.48108673,   -0.22583273}));
  CHECK(given(nn::initializers::glorot_uniform({.in_axis = {0, 1}, .out_axis = 2})(key, {2, 3, 4}), {2, 3, 4}, float32,
              {-0.052084066, 0.65202612, 0.36531553,  -0.62729716, 0.64212459, 0.27533698,  -0.74850589,  -0.69070643,
               -0.4628661,   -0.1036032, -0.77339625, -0.17501199, 0.28288534, -0.08477322, 0.53132671,   -0.65022016,
               -0.48320934,  0.50976902, 0.26161909,  -0.6857506,  0.76097983, -0.32757968, -0.055855934, -0.37486988}));
  CHECK(given(nn::initializers::lecun_normal({.batch_axis = 0})(key, {2, 3, 4}), {2, 3, 4}, float32,
              {-0.05285373, 0.84767264,  0.3925041,  -0.79294407, 0.82506895, 0.28809327,   -1.158134,    -0.94746661,
               -0.51840699, -0.10547284, -1.3038474, -0.17962359, 0.29654267, -0.086180031, 0.61947316,   -0.84347498,
               -0.54707438, 0.58615547,  0.27285802, -0.93344432, 1.2236491,  -0.34765562,  -0.056690529, -0.40414748}));
  CHECK(given(nn::initializers::variance_scaling(2, "fan_geo_avg", "normal", {.in_axis = 0, .dtype = float32})(key, {5, 2, 3}), {5, 2, 3},
              float32, {-0.042872719, 0.71698695,   0.32036832, -0.66570336, 0.69559896, 0.23443137,  -1.0791953,   -0.81599629,
                        -0.42544276,  -0.085582279, -1.6083394, -0.14586847, 0.24135624, -0.06991794, 0.5115571,    -0.712991,
                        -0.44967586,  0.48294741,   0.22195607, -0.80153656, 1.2064917,  -0.2833505,  -0.045985714, -0.33000869,
                        0.070816353,  -0.26678118,  0.81573939, -0.46265665, -0.6927498, -0.96134955}));
  CHECK(given(random::categorical(key, x, {.shape = {4}, .replace = false}), {4}, int32, {5, 3, 0, 2}));
  CHECK(given(random::categorical(key, m, {.axis = 0, .shape = {2, 3}, .replace = false}), {2, 3}, int32, {1, 2, 0, 0, 1, 2}));
  CHECK(given(random::categorical(key, m, {.axis = 0, .replace = true}), {3}, int32, {1, 2, 0}));
}

TEST_CASE("further arguments: under transforms") {
  const auto both = [](Array m) { return cross(m, m.T() + 1, {.axisa = 0, .axisc = 0}); };
  CHECK(allclose(jit(vmap(both))(stack({m, 2 * m}))[1], both(2 * m)).item<bool>());
  CHECK(given(grad([](Array x) { return var(x, {.correction = 2}); })(x), {6}, float32, {0.375, -1.375, -0.125, 1.125, -0.875, 0.875}));
  CHECK(given(grad([](Array x) { return nanquantile(x, 0.5f, {.method = "midpoint"}); })(x), {6}, float32, {0.5, 0, 0.5, 0, 0, 0}));
  CHECK(given(grad([](Array n) { return nanmedian(n); })(array({1.f, INFINITY, 2.f})), {3}, float32, {0, 0, 1}));
  CHECK(given(jit([](Array c, Array x) { return compress(c, x, {.size = 2}); })(c, x), {2}, float32, {1.5, 0.5}));
  const auto lower = [](Array a) { return sum(linalg::eigvalsh(a, {.symmetrize_input = false}) * array({1.f, 2.f, 3.f})); };
  const Array gradient = grad(lower)(m);
  CHECK(array_equal(gradient, tril(gradient)).item<bool>());
  const auto drawn = vmap([](Array key) { return sort(random::categorical(key, zeros(4), {.shape = {4}, .replace = false})); });
  CHECK(array_equal(drawn(random::split(random::key(1), 5)), broadcast_to(arange(4), {5, 4})).item<bool>());
}

TEST_CASE("further arguments: kinds of dtypes") {
  CHECK(isdtype(bool_, "bool"));
  CHECK(isdtype(int8, "signed integer"));
  CHECK(!isdtype(int8, "unsigned integer"));
  CHECK(isdtype(uint8, "integral"));
  CHECK(isdtype(bfloat16, "real floating"));
  CHECK(isdtype(complex64, "complex floating"));
  CHECK(!isdtype(bool_, "numeric"));
  CHECK(isrealobj(x));
  CHECK(!isrealobj(complex(x, y)));
}

TEST_CASE("further arguments: what cannot be is refused") {
  CHECK(has(message_of<Error>([] { var(x, {.ddof = 1, .correction = 1}); }), "a correction and a ddof"));
  CHECK(has(message_of<Error>([] { nanquantile(x, 0.5f, {.method = "half"}); }), "unknown method `half`"));
  CHECK(has(message_of<AxisError>([] { cumulative_sum(m, {.include_initial = true}); }), "f32[3,3] is no vector"));
  CHECK(has(message_of<ShapeError>([] { compress(c, x, {.size = 7}); }), {"the size is 7", "between 0 and 6"}));
  CHECK(has(message_of<Error>([] { choose(k, {x, y}, {.mode = "raise"}); }), "is not between 0 and 1"));
  CHECK(has(message_of<Error>([] { choose(k, {x, y}, {.mode = "drop"}); }), "unknown mode `drop`"));
  CHECK(has(message_of<ConcretizationError>([] { jit([](Array k) { return choose(k, {x, y}, {.mode = "raise"}); })(k); }),
            "mode clip or wrap"));
  CHECK(has(message_of<Error>([] { ravel_multi_index({k, k}, {2, 3}, {.mode = "clip", .order = "A"}); }), "unknown order `A`"));
  CHECK(has(message_of<Error>([] { searchsorted(x, y, {.method = "guess"}); }), "unknown method `guess`"));
  CHECK(has(message_of<ShapeError>([] { polyint(x, {.m = 3, .k = y}); }), "there must be one, or 3"));
  CHECK(has(message_of<Error>([] { isdtype(int8, "integer"); }), "unknown kind `integer`"));
  CHECK(has(message_of<Error>([] { linalg::eigh(m, {.UPLO = "l"}); }), "unknown UPLO `l`"));
  CHECK(has(message_of<Error>([] { linalg::pinv(m, {.rtol = 1, .rcond = 1}); }), "two names of one number"));
  CHECK(has(message_of<ShapeError>([] { linalg::cond(ones({2, 3}), 1); }), "f32[2,3] is not square"));
  CHECK(has(message_of<Error>([] { linalg::slogdet(m, {.method = "svd"}); }), "unknown method `svd`"));
  const Array q = ones({2, 3, 1, 4});
  CHECK(has(message_of<ShapeError>([=] { nn::dot_product_attention(q, q, q, {.query_seq_lengths = array({1, 2, 3})}); }),
            "one for each of the batch"));
  CHECK(has(message_of<DTypeError>([=] { nn::dot_product_attention(q, q, q, {.key_value_seq_lengths = ones(2)}); }), "must be integers"));
  CHECK(has(message_of<Error>([] { nn::initializers::variance_scaling(1, "fan", "normal", {.in_axis = 0}); }), "unknown mode `fan`"));
  CHECK(has(message_of<AxisError>([] { nn::initializers::he_normal({.in_axis = 3})(random::key(0), {2, 3}); }), "variance_scaling"));
  CHECK(has(message_of<Error>([] { random::categorical(random::key(0), x, {.shape = {7}, .replace = false}); }),
            "7 positions without replacement of 6"));
  CHECK(
      has(message_of<ShapeError>([] { random::categorical(random::key(0), m, {.shape = {2, 4}, .replace = false}); }), "must end in (3,)"));
}
