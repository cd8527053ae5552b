// Linear algebra and its derivatives, and what dtypes operations give.
#include <complex>
#include <map>
#include <optional>

#include "tests/twins/twins.h"

namespace weft::test {
namespace {

namespace L = linalg;
Array spd(Array a) { return matmul(a, swapaxes(a, -1, -2)) + 2.f * eye(a.shape()[a.ndim() - 1]); }

TWIN(chol, 0.001) {
  return {L::cholesky(spd(x[0])), grad([](Array a) { return sum(sin(L::cholesky(spd(a)))); })(x[0]),
          hessian([](Array v) { return sum(log(diag(L::cholesky(spd(outer(v, v)))))); })(x[1]),
          vmap(jacfwd([](Array a) { return L::cholesky(spd(a)); }))(x[0](slice(), slice(0, 2), slice(0, 2))),
          L::cholesky(spd(x[0]), {.upper = true})};
}

TWIN(eighs, 0.001) {
  auto [w, v] = L::eigh(spd(x[0]));
  return {w,
          abs(v),
          grad([](Array a) { return sum(sin(L::eigh(spd(a)).eigenvalues)); })(x[0]),
          grad([](Array a) { return sum(square(L::eigh(spd(a)).eigenvectors) * reshape(arange(9., float32), {3, 3})); })(x[0](0)(newaxis)),
          L::eigvalsh(spd(x[0])),
          hessian([](Array v) { return L::eigvalsh(spd(outer(v, v)) + diag(array({1.f, 2.f, 4.f})))(2); })(x[1]),
          grad([](Array a) { return L::eigvalsh(a)(0); })(eye(2) * 3.f)};
}

TWIN(svds, 0.002) {
  auto [u, s, vt] = L::svd(x[0], {.full_matrices = false});
  return {abs(u),
          s,
          abs(vt),
          matmul(u * s, vt),
          grad([](Array a) { return sum(sin(L::svdvals(a))); })(x[0]),
          grad([](Array a) {
            auto [p, q, r] = L::svd(a, {.full_matrices = false});
            return sum(sin(matmul(p, r)));
          })(x[0]),
          grad([](Array a) { return L::norm(a, "nuc"); })(x[0]),
          hessian([](Array v) { return L::svdvals(outer(v, v) + diag(array({1.f, 2.f, 4.f})))(0); })(x[1](slice(), 0)),
          L::pinv(x[0]),
          L::matrix_rank(x[0]),
          L::cond(x[0]),
          grad([](Array a) { return sum(sin(L::pinv(a))); })(x[0]),
          L::norm(x[0], 2),
          L::norm(x[0], 1, {0, 1}),
          L::norm(x[0], constants::inf, 0),
          L::norm(x[0], 3, 1),
          L::norm(x[0], none, 1, true)};
}

TWIN(solves, 0.002) {
  Array a = spd(x[0]);
  auto ls = L::lstsq(x[0](0), x[2](0));
  return {L::solve(a, x[2]),
          L::solve(a(0), x[1]),
          L::inv(a),
          L::det(a),
          L::slogdet(-a).sign,
          L::slogdet(a).logabsdet,
          grad([&](Array m) { return sum(sin(L::solve(spd(m), x[2]))); })(x[0]),
          grad([](Array m) { return sum(L::inv(spd(m))); })(x[0]),
          grad([](Array m) { return sum(L::det(m)); })(x[0]),
          hessian([](Array v) { return L::slogdet(spd(outer(v, v))).logabsdet; })(x[1]),
          L::expm(x[0] * 0.5f),
          grad([](Array m) { return sum(sin(L::expm(m))); })(x[0](0) * .3f),
          L::matrix_power(x[0], 3),
          L::matrix_power(a, -2),
          vmap([](Array m, Array b) { return L::solve(m, b); }, {.in_axes = {0, none}})(a, x[1]),
          L::triangular_solve(L::cholesky(a), x[2], {.lower = true}),
          L::multi_dot({x[0](0), x[0](1), x[2](0)}),
          grad([&](Array b) { return sum(L::lstsq(x[2](0), b).x * array({1.f, 2.f})); })(x[1]),
          grad([&](Array m) { return sum(L::lstsq(m, x[1]).x); })(x[2](0)),
          abs(L::qr(x[2]).q),
          abs(L::qr(x[2]).r),
          grad([](Array m) { return sum(sin(L::qr(m).r)); })(x[2]),
          L::lu(x[0]).l,
          L::lu(x[0]).p,
          grad([](Array m) { return sum(sin(L::lu(m).u)); })(x[0]),
          jacfwd([](Array m) { return L::inv(m); })(a(0))};
}

TWIN(complexla, 0.001) {
  Array h = matmul(x[0], conj(transpose(x[0]))) + eye(3);
  return {L::eigvalsh(h),
          L::cholesky(h),
          L::inv(x[0]),
          L::det(x[0]),
          L::slogdet(x[0]).sign,
          L::slogdet(x[0]).logabsdet,
          L::svdvals(x[0]),
          L::norm(x[0]),
          L::expm(x[0] * .2f),
          grad([](Array m) { return sum(L::eigvalsh(matmul(m, conj(transpose(m))))); })(x[0]),
          grad([](Array m) { return L::slogdet(m).logabsdet; })(x[0]),
          grad([](Array m) { return real(sum(L::inv(m))); })(x[0]),
          grad([](Array m) { return sum(L::svdvals(m)); })(x[0])};
}

TWIN(dtypes_misc, 0.01) {
  Array b = convert(x[0], bfloat16), h = convert(x[0], float16), i8 = convert(x[1], int8), u8 = convert(x[1], uint8), bo = x[0] > 0;
  return {b + h,
          b * 2.5f,
          h + i8,
          i8 + u8,
          u8 + 1,
          i8 * 1.5f,
          bo + bo,
          bo * 2,
          bo + 1.f,
          sum(b),
          sum(h),
          mean(b),
          mean(i8),
          sum(bo),
          prod(i8),
          i8 / u8,
          i8 / 2,
          x[1] / 2,
          x[1] % 3,
          x[1] / x[0],
          pow(i8, 2),
          pow(2, x[1] % 4),
          -u8,
          ~u8,
          i8 << 1,
          u8 >> 1,
          convert(x[0] * 100.f, int8),
          convert(x[0] * 100.f, uint8),
          convert(x[0], bool_),
          matmul(b, b),
          matmul(i8, i8),
          dot(h, b),
          cumsum(b, 0),
          sort(h),
          max(b),
          var(h),
          std_(b),
          exp(b),
          sin(h),
          nn::softmax(b),
          where(bo, b, 1),
          where(bo, i8, 1.5f),
          maximum(i8, 2),
          maximum(b, h),
          clip(i8, -1, 1),
          clip(u8, 0, 255),
          linspace(0, 1, 5, bfloat16),
          arange(0, 5, 1, float16),
          mean(bo),
          any(b > 0),
          bitcast_convert(h, uint16),
          abs(i8),
          sign(i8),
          square(i8),
          sqrt(x[1] + 3),
          floor(x[1]),
          round(h * 3),
          isnan(x[1]),
          logical_not(x[1]),
          floor_divide(x[1], 2),
          remainder(-x[1], 3),
          x[1] == 1.0f,
          x[1] > 0.5f,
          argmax(b),
          top_k(h, 2).values,
          quantile(x[0], .3),
          mean(x[1], none, {.dtype = bfloat16}),
          sum(i8, none, {.dtype = int8}),
          sum(x[0], none, {.dtype = bfloat16})};
}

}  // namespace
}  // namespace weft::test
