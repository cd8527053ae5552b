// Indexing, sorting, running reductions, convolutions, products, Fourier transforms, complex numbers.
#include <complex>
#include <map>
#include <optional>

#include "tests/twins/twins.h"

namespace weft::test {
namespace {

TWIN(idx_read, 3e-05) {
  Array a = x[0], i = x[1];
  return {a(1),
          a(-1, 2),
          a(slice(none, none, -1)),
          a(slice(3, 0, -2), slice(1, none)),
          a(slice(10, none)),
          a(ellipsis, -1),
          a(newaxis, 0, ellipsis, newaxis),
          a(i),
          a(slice(), i),
          a(i, newaxis, i(slice(0, 1))),
          a(0, i, 1),
          a(i, slice(), array({0, 1, 2, 0})),
          a(array({{0, 1}, {2, 3}}), slice(none, none, 2)),
          a(slice(-3, -1)),
          a(1, slice(none, 1, -1), 2)};
}

TWIN(idx_update, 3e-05) {
  Array a = x[0], i = x[1], v = x[2];
  return {a.at(i).set(v(newaxis).at(0, 0).set(9.f)(0)(slice(), newaxis)),
          a.at(i).add(v(slice(), newaxis)),
          a.at(i).multiply(2.f),
          a.at(i).min(0.f),
          a.at(i).max(v(slice(), newaxis)),
          a.at(slice(none, none, -2), 1).set(7.f),
          a.at(ellipsis, slice(3, 0, -1)).add(1.f),
          a.at(slice(), i).set(0.f),
          a.at(i, i).add(v),
          a.at(1).divide(2.f),
          a.at(-1, slice(1, 4, 2)).multiply(3.f)};
}

TWIN(idx_grad, 3e-05) {
  Array i = x[1];
  return {grad([&](Array a) { return nansum(sin(a(i))); })(x[0]),
          grad([&](Array v) { return sum(sin(x[0].at(i, 1).set(v))); })(x[2]),
          grad([&](Array v) { return sum(sin(x[0].at(i, 1).add(v))); })(x[2]),
          grad([&](Array v) { return sum(sin(x[0].at(i, 1).max(v))); })(x[2]),
          grad([&](Array a) { return sum(sin(a.at(i, 1).min(x[2]))); })(x[0]),
          grad([&](Array a) { return sum(a.at(i, 1).multiply(2.f)); })(x[0]),
          grad([&](Array a) { return sum(a.at(slice(none, none, -1), 2).set(x[2]) * a); })(x[0])};
}

TWIN(idx_vmap, 3e-05) {
  return {vmap([](Array r, Array i) { return r(i); })(x[0], x[1]),
          vmap([](Array r, Array i) { return r.at(i).add(r(i)); })(x[0], x[1]),
          vmap([&](Array j) { return x[0](ellipsis, j); })(x[2]),
          vmap([](Array r, Array j) { return dynamic_slice(r, {j}, {2}); })(x[0], x[2]),
          vmap([](Array r, Array j) { return dynamic_update_slice(r, r(slice(0, 2)) * 2, {j}); })(x[0], x[2]),
          vmap([&](Array j) { return x[0].at(1, j).set(9.f); })(x[2]),
          vmap([](Array r, Array i) { return take_along_axis(r, i, 0); })(x[0], x[1]),
          take_along_axis(x[0], x[1]),
          take_along_axis(x[0], array({{0, 2, 1, 0, 1}}), 0),
          vmap(vmap([](Array a, Array j) { return a * j; }, {.in_axes = {0, none}}), {.in_axes = {0, 0}})(x[0], x[2])};
}

TWIN(sorts, 3e-05) {
  auto t = top_k(x[0], 4);
  return {sort(x[0]),
          argsort(x[0]),
          sort(x[1], 0),
          argsort(x[1], 1),
          sort(x[2]),
          argsort(x[2]),
          t.values,
          t.indices,
          grad([](Array a) { return sum(sort(a) * array({1.f, 2.f, 3.f, 4.f, 5.f, 6.f})); })(x[0]),
          grad([](Array a) { return sum(top_k(a, 4).values * array({1.f, 2.f, 3.f, 4.f})); })(x[0]),
          jacfwd([](Array a) { return sort(a); })(x[0]),
          grad([](Array a) { return max(a) + sum(cummax(a)); })(x[0]),
          searchsorted(sort(x[0]), array({1.f, 3.f, 9.f})),
          searchsorted(sort(x[0]), array({1.f, 3.f, 9.f}), {.side = "right"}),
          median(x[0]),
          grad([](Array a) { return median(a); })(x[0]),
          unique(x[0], {.size = 6}),
          unique(x[0], {.size = 2}),
          argmax(x[0]),
          argmin(x[0]),
          argmax(x[2]),
          max(x[2]),
          cummin(x[0]),
          vmap([](Array r) { return argsort(r); })(x[1])};
}

TWIN(cums, 0.0001) {
  return {cumsum(x[0], 1),
          cumprod(x[0], 0),
          cumlogsumexp(x[0], 1),
          cumsum(x[1], 0),
          cumsum(x[2], 0),
          cumprod(x[1], 1),
          grad([](Array a) { return sum(sin(cumprod(a, 1))); })(x[0]),
          grad([](Array a) { return sum(sin(cumlogsumexp(a, 0))); })(x[0]),
          grad([](Array a) { return sum(sin(cumsum(a, 0))); })(x[0]),
          grad([](Array a) { return sum(cumprod(a, 0)); })(x[0].at(1, 1).set(0.f)),
          hessian([](Array a) { return sum(cumprod(a, 0)); })(x[0](slice(), 0)),
          cummax(convert(x[1], int8), 0),
          logsumexp(x[0], 0),
          logsumexp(x[0], {0, 1}, {.keepdims = true})};
}

TWIN(convs, 3e-05) {
  ConvOptions grouped{.rhs_dilation = {2, 1}, .feature_group_count = 2};
  ConvOptions nhwc{.lhs_dilation = {2, 1}, .dimension_numbers = {"NHWC", "HWIO", "NHWC"}};
  auto f = [&](Array a, Array k) { return conv_general_dilated(a, k, {2, 1}, {{1, 2}, {0, 1}}, grouped); };
  auto g = [&](Array a, Array k) { return conv_general_dilated(a, k, {1, 2}, {{1, 1}, {0, 1}}, nhwc); };
  auto [ga, gk] = grad<0, 1>([&](Array a, Array k) { return sum(sin(f(a, k))); })(x[0], x[1]);
  auto [ha, hk] = grad<0, 1>([&](Array a, Array k) { return sum(sin(g(a, k))); })(x[2], x[3]);
  return {f(x[0], x[1]),
          g(x[2], x[3]),
          ga,
          gk,
          ha,
          hk,
          conv_general_dilated(x[4], x[5], {1}, "SAME_LOWER", {.dimension_numbers = {"NCW", "OIW", "NCW"}}),
          conv_general_dilated(x[4](slice(), slice(0, 3)), reshape(x[5], {5, 3, 3}), {2}, {{-1, 3}},
                               {.dimension_numbers = {"NCW", "OIW", "NCW"}}),
          conv_general_dilated(concatenate({x[4], x[4]}), concatenate({x[5], x[5]}), {1}, "VALID",
                               {.dimension_numbers = {"NCW", "OIW", "NCW"}, .batch_group_count = 2}),
          vmap([&](Array k) { return conv_general_dilated(x[4], k, {1}, "VALID", {.dimension_numbers = {"NCW", "OIW", "NCW"}}); })(
              stack({x[5], x[5] * 2})),
          conv_transpose(x[2], x[3], {2, 3}, "SAME"),
          convolve(x[4](0, 0), x[5](0, 0)),
          convolve(x[4](0, 0), x[5](0, 0), "same"),
          correlate(x[4](0, 0), x[5](0, 0), "full")};
}

TWIN(pools, 3e-05) {
  auto mp = [](Array a) { return max_pool(a, {3, 2}, {.strides = {2, 1}, .padding = "SAME"}); };
  return {mp(x[0]),
          avg_pool(x[0], {2, 2}, {.strides = {2, 2}}),
          min_pool(x[0], {2, 3}, {.padding = {{1, 0}, {0, 2}}}),
          grad([&](Array a) { return sum(sin(mp(a))); })(x[0]),
          grad([](Array a) { return sum(square(avg_pool(a, {3, 3}, {.strides = {2, 2}, .padding = "SAME"}))); })(x[0]),
          grad([&](Array a) { return sum(mp(a)); })(round(x[0])),
          hessian([&](Array a) { return sum(square(mp(a))); })(x[0](slice(0, 1), slice(0, 2), slice(0, 2), slice(0, 1))),
          reduce_window(x[0](0, ellipsis, 0), 0.f, [](Array a, Array b) { return a + b; }, {2, 2}, {1, 2}, "VALID",
                        {.base_dilation = {2, 1}, .window_dilation = {1, 2}})};
}

TWIN(einsums, 3e-05) {
  return {einsum("ij,jk->ki", x[0], x[1]),
          einsum("ij,jk", x[0], x[1]),
          einsum("bij,jk,ij->bk", x[2], x[1], x[0]),
          einsum("ii->i", x[3]),
          einsum("ii", x[3]),
          einsum("...ij,...jk->...ik", x[2], x[1]),
          einsum("ij->", x[0]),
          einsum("ij->j", x[0]),
          einsum("bij,bij->b", x[2], x[2]),
          einsum("i,j->ji", x[0](0), x[1](0)),
          einsum("ij,kl->", x[0], x[1]),
          einsum("iij,jk->ik", stack({x[3], x[3] + 1, x[3], x[3]}, 1), x[1]),
          einsum("i...->...", x[2]),
          grad([&](Array a) { return sum(sin(einsum("ij,bij,jj->bj", a, x[2], x[3]))); })(x[0]),
          vmap([&](Array m) { return einsum("ij,kj->ik", m, x[0]); })(x[2]),
          tensordot(x[2], x[0], 2),
          tensordot(x[2], x[0], std::array<std::vector<int>, 2>{{{1, 2}, {0, 1}}}),
          kron(x[0], x[1](slice(0, 2))),
          outer(x[0], x[1](0)),
          cross(x[2](0, slice(), slice(0, 3)), x[0](slice(), slice(1, 4))),
          vdot(x[0], x[0]),
          inner(x[0], x[3])};
}

TWIN(ffts, 0.0001) {
  return {fft::fft(x[0]),
          fft::ifft(x[1], none, 0),
          fft::rfft(x[0]),
          fft::irfft(x[1]),
          fft::irfft(x[1], 7),
          fft::fft(x[0], {.n = 4, .norm = "ortho"}),
          fft::rfftn(x[2]),
          fft::irfftn(x[1]),
          fft::fft2(x[2], {.norm = "forward"}),
          fft::hfft(x[1]),
          fft::ihfft(x[0]),
          fft::fftshift(x[0]),
          grad([](Array a) { return sum(square(abs(fft::rfft(a) * array({1.f, 2.f, 3.f, 4.f})))); })(x[0]),
          grad([](Array a) { return sum(sin(fft::irfft(fft::rfft(a) * std::complex<float>(1, 2)))); })(x[0]),
          real(grad([](Array a) { return sum(square(fft::irfft(a))); })(x[1])),
          imag(grad([](Array a) { return sum(square(fft::irfft(a))); })(x[1])),
          vmap([](Array r) { return fft::fft(r, none, 0); }, {.in_axes = 1, .out_axes = 1})(x[0]),
          hessian([](Array a) { return sum(square(abs(fft::rfft(a)))) * a(0); })(x[0](0)),
          jvp([](Array a) { return fft::rfft(a, 8, 0); }, std::tuple{x[0]}, std::tuple{x[0]}).second,
          fft::fftfreq(7, 0.5),
          fft::rfftfreq(7)};
}

TWIN(complexes, 3e-05) {
  return {grad([](Array z) { return z * z * z; }, {.holomorphic = true})(x[0](0)),
          grad([](Array z) { return sum(square(abs(z)) * real(z)); })(x[0]),
          jacfwd([](Array a) { return exp(a * std::complex<float>(0, 1)); })(x[1]),
          grad([](Array a) { return sum(real(exp(a * std::complex<float>(0, 1)) * a)); })(x[1]),
          sqrt(x[0]),
          log(x[0]),
          pow(x[0], x[0]),
          pow(x[0], 3),
          abs(x[0]),
          angle(x[0]),
          conj(x[0]),
          sinh(x[0]),
          tan(x[0]),
          acos(x[0]),
          atanh(x[0]),
          sign(x[0]),
          x[0] / conj(x[0]),
          sum(x[0]),
          prod(x[0]),
          mean(x[0]),
          var(x[0]),
          std_(x[0]),
          x[0] == conj(x[0]),
          isfinite(x[0]),
          vjp([](Array z) { return z * conj(z); }, x[0]).first,
          std::get<0>(vjp([](Array z) { return sin(z) * abs(z); }, x[0]).second(x[0])),
          grad([](Array z) { return linalg::norm(z); })(x[0]),
          cumsum(x[0], 0),
          cumprod(x[0], 0),
          exp(x[0]) + 1,
          2.5f * x[0],
          x[0] + x[1],
          x[1] - x[0],
          where(x[1] > 0, x[0], x[1]),
          sigmoid(x[0]),
          square(x[0]),
          log1p(x[0]),
          expm1(x[0]),
          logsumexp(x[0]),
          dot(x[0], x[0]),
          vdot(x[0], x[0]),
          sort(x[0])};
}

}  // namespace
}  // namespace weft::test
