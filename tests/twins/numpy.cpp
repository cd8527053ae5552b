// The functions of library/jnp.
#include <weft/jnp.h>

#include <complex>
#include <map>
#include <optional>

#include "tests/twins/twins.h"

namespace weft::test {
namespace {

TWIN(names, 3e-05) {
  Array a = x[0], b = x[1], i = x[2], j = x[3], nan = b.at(0).set(constants::nan), inf = b.at(1).set(-constants::inf);
  Array z = i, w = i, y = i, q = i, s = i, t = i;
  z %= 5, w &= j, y |= 6, q ^= j, s <<= 2, t >>= 1;
  auto [fr, wh] = modf(b);
  auto [man, ex] = frexp(b * 100);
  auto [dq, dr] = divmod(i, j);
  return {absolute(a),
          fabs(i),
          positive(a),
          reciprocal(b),
          conjugate(b),
          rint(b),
          fix(b),
          degrees(b),
          radians(b),
          arcsin(a / 3),
          arccos(a / 3),
          arctan(a),
          arcsinh(a),
          arccosh(a + 3),
          arctanh(a / 3),
          arctan2(a, b),
          power(i, 2),
          power(a + 2, b),
          float_power(i, 2),
          float_power(2, b),
          true_divide(i, j),
          mod(i, j),
          fmod(i, j),
          fmod(a, b),
          fmax(nan, b),
          fmin(nan, 0),
          equal(i, j),
          not_equal(i, 5),
          less(a, b),
          less_equal(i, j),
          greater(a, b),
          greater_equal(i, j),
          bitwise_and(i, j),
          bitwise_or(i, j),
          bitwise_xor(i, j),
          bitwise_not(i),
          invert(a > 0),
          left_shift(i, 2),
          right_shift(i, 1),
          bitwise_count(i),
          isposinf(-inf),
          isneginf(inf),
          isreal(complex(b, b)),
          iscomplex(complex(b, 0 * b)),
          z,
          w,
          y,
          q,
          s,
          t,
          round(b * 100, 1),
          round(a, 2),
          round(i * 100, -1),
          round(i, 2),
          fr,
          wh,
          man,
          ex,
          dq,
          dr,
          ldexp(b, i),
          ldexp(3.f, array({2, -3})),
          gcd(i, j),
          gcd(i, 6),
          lcm(i, j),
          select({a > 1, a > 0}, {a, 2 * a}, -1.f),
          select({i > 0}, {j})};
}

TWIN(special, 3e-05) {
  Array a = x[0], b = x[1];
  return {sinc(a),
          heaviside(a, .5f),
          xlogy(b, b),
          xlogy(0.f, a),
          xlog1py(b, b),
          entr(a),
          rel_entr(b, abs(a)),
          kl_div(b, abs(a)),
          logit(b(slice(1, 3))),
          expit(a),
          erfinv(b(slice(0, 3))),
          logaddexp2(a, b),
          gammaln(b + 1),
          ndtr(a),
          grad([](Array v) { return sum(sinc(v)); })(a),
          grad(grad([](Array v) { return sinc(v); }))(0.f),
          grad(grad(grad(grad([](Array v) { return sinc(v); }))))(0.f),
          grad([&](Array v) { return sum(xlogy(v, b + 1)); })(b),
          grad([&](Array v) { return sum(xlogy(a, v + 1)); })(b),
          grad([&](Array v) { return sum(xlog1py(v, b + 1)); })(a),
          hessian([&](Array v) { return sum(xlogy(v, v)); })(b(slice(1, 4))),
          grad([](Array v) { return sum(entr(v)); })(b(slice(1, 4))),
          vmap(grad([](Array v) { return logit(v); }))(b(slice(1, 3))),
          jvp([](Array v) { return sinc(v); }, std::tuple{a}, std::tuple{b}).second,
          xlogy(array({1, 0}), array({2, 0}))};
}

TWIN(joining, 3e-05) {
  Array a = x[0], b = x[1], n = x[2], c = x[3];
  Arrays r{atleast_1d(a(0, 0)),
           atleast_2d(b),
           atleast_3d(b),
           atleast_3d(a),
           permute_dims(a, {1, 0}),
           matrix_transpose(c),
           rollaxis(c, 2),
           rollaxis(c, 0, 2),
           broadcast_in_dim(b, {2, 3, 2}, {1}),
           append(a, b),
           append(a, a, 1),
           dstack({a, a * 2}),
           column_stack({b, transpose(a), b}),
           block({{a, a}, {a * 2, a * 3}}),
           fliplr(a),
           flipud(a),
           rot90(a),
           rot90(a, 2),
           rot90(a, -1),
           rot90(c, 1, {1, 2}),
           roll(b, n(0)),
           roll(a, n(2), 1),
           roll(a, -n(0)),
           repeat(b, n, 0, {.total_repeat_length = 5}),
           repeat(a, n, 1, {.total_repeat_length = 7}),
           pad(a, 2, {.mode = "edge"}),
           pad(a, {{1, 0}, {2, 4}}, {.mode = "wrap"}),
           pad(a, {{3, 1}, {2, 5}}, {.mode = "reflect"}),
           pad(a, {{3, 1}, {2, 5}}, {.mode = "symmetric"}),
           pad(a, 1, {.mode = "maximum"}),
           pad(a, 1, {.mode = "minimum"}),
           pad(a, 1, {.mode = "mean"}),
           pad(a, {1, 2}, {.constant_values = 7}),
           pad(a, 1.5f, {{1, -1, 1}, {-1, 0, 2}}),
           grad([](Array v) { return sum(sin(pad(v, 2, {.mode = "reflect"}))); })(b),
           vmap([](Array v) { return pad(v, {1, 2}, {.mode = "symmetric"}); })(a),
           vmap([](Array v, Array k) { return roll(v, k); })(a, n(slice(0, 2))),
           vmap([](Array v, Array k) { return repeat(v, k, {}, {.total_repeat_length = 4}); })(a, array({{1, 0, 2}, {0, 1, 1}}))};
  for (const Array& v : broadcast_arrays({a, b, 1.f})) r.push_back(v);
  for (const Array& v : unstack(c, 2)) r.push_back(v);
  for (const Array& v : array_split(b, 2)) r.push_back(v);
  for (const Array& v : hsplit(c, 2)) r.push_back(v);
  for (const Array& v : vsplit(c, {1, 2})) r.push_back(v);
  return r;
}

TWIN(positions, 3e-05) {
  Array a = x[0], ids = x[1], v = x[2], m = x[3];
  Arrays r{argwhere(a, {.size = 4, .fill_value = -1}),
           flatnonzero(a, {.size = 2}),
           put_along_axis(m, array({{0}, {2}, {1}, {0}}), 9.f, 1),
           put_along_axis(m, array({{3, 0, 3}}), array({{1.f, 2.f, 3.f}}), 0),
           fill_diagonal(m, 5),
           fill_diagonal(m, array({1.f, 2.f, 3.f})),
           choose(array({0, 1, 2}), {m(0), m(1), m(2)}),
           dynamic_slice_in_dim(m, ids(0), 2),
           dynamic_slice_in_dim(m, 2, 2, 1),
           dynamic_index_in_dim(m, ids(0)),
           dynamic_index_in_dim(m, ids(4), 1, false),
           dynamic_update_slice_in_dim(m, 2 * m(slice(0, 2)), ids(0), 0),
           dynamic_update_index_in_dim(m, m(0), ids(0), 0),
           slice_in_dim(m, 1, 4, 2),
           slice_in_dim(m, {}, -1, 1, 1),
           index_in_dim(m, 1),
           index_in_dim(m, -1, 1, false),
           segment_sum(v, ids, 5),
           segment_sum(v, array({0, 0, 1, 1, 2}), 2),
           segment_prod(v, ids, 3),
           segment_max(v, ids, {.num_segments = 3}),
           segment_min(v, ids, 3),
           segment_max(ids, ids, 3),
           grad([&](Array q) { return sum(square(segment_sum(q, ids, 3))); })(v),
           vmap([&](Array q) { return segment_sum(q, ids, 3); }, {.in_axes = 1})(v),
           indices({2, 3}),
           ravel_multi_index({array({1, 0, 9}), array({2, 1, -1})}, {2, 3})};
  for (const Array& q : nonzero(a, {.size = 4, .fill_value = 7})) r.push_back(q);
  for (const Array& q : where(a > 0, {.size = 1})) r.push_back(q);
  for (const Array& q : tril_indices(3)) r.push_back(q);
  for (const Array& q : triu_indices(3, 1, 4)) r.push_back(q);
  for (const Array& q : diag_indices(3)) r.push_back(q);
  for (const Array& q : ix_({array({0, 2}), array({1})})) r.push_back(q);
  for (const Array& q : unravel_index(array({0, 5, -1, 9}), {2, 3})) r.push_back(q);
  return r;
}

TWIN(positions_known, 3e-05, eager_only) {
  Array a = x[0];
  Arrays r{argwhere(a),
           flatnonzero(a),
           extract(a > 0, a),
           compress(array({true, false}), a, 0),
           compress(array({false, true, true}), a, 1),
           repeat(a, x[1], 1),
           repeat(a(0), x[1]),
           segment_sum(a(0), x[1]),
           unique(a),
           histogram(a, 4).counts,
           histogram(a, 4).edges};
  for (const Array& q : nonzero(a)) r.push_back(q);
  return r;
}

TWIN(modes_of_at, 3e-05) {
  Array a = x[0], i = x[1], v = x[2], j = x[3];
  return {a.at(i).get({.mode = "fill", .fill_value = 5}),
          a.at(i).get({.mode = "clip"}),
          a.at(i).get({.mode = "fill"}),
          a.at(i, 0).set(v, {.mode = "clip"}),
          a.at(i, 0).add(v, {.mode = "drop"}),
          a.at(i, 0).add(v, {.mode = "clip"}),
          a.at(i, 1).mul(v),
          a.at(i, 1).subtract(v),
          a.at(i, 1).power(2),
          a.at(slice(0, 2)).subtract(1),
          a.at(0, 1).power(3),
          take(a, i, 0, {.mode = "clip"}),
          take(a, i, 0, {.mode = "wrap"}),
          take(a, i, 0, {.mode = "fill", .fill_value = -1}),
          take(a, i, {}, {.mode = "wrap"}),
          take_along_axis(a, j, 0, {.mode = "clip"}),
          take_along_axis(a, j, 0, {.mode = "fill", .fill_value = 2}),
          i.at(i).get({.mode = "fill", .fill_value = -3}),
          grad([&](Array q) { return sum(sin(q.at(i).get({.mode = "fill", .fill_value = 0}))); })(a),
          grad([&](Array q) { return sum(sin(a.at(i, 0).set(q, {.mode = "clip"}))); })(v(0) * ones({4})),
          vmap([](Array q, Array k) { return q.at(k).get({.mode = "clip"}); })(a, i),
          grad([&](Array q) { return sum(sin(take(q, i, 0, {.mode = "wrap"}))); })(a)};
}

TWIN(initials, 3e-05) {
  Array a = x[0];
  return {sum(a, 0, {.initial = 2.f}),
          prod(a, none, {.initial = 3}),
          max(a, 1, {.initial = 1.2f}),
          min(a, none, {.initial = -5.f}),
          max(a, 0, {.where = a > 0, .initial = 0.f}),
          max(x[2], 0, {.initial = 4.f}),
          min(x[1], 1, {.keepdims = true, .initial = 3}),
          sum(x[1], none, {.initial = 10}),
          cumsum(a, 1, {.reverse = true}),
          cumprod(a, 0, {.reverse = true}),
          cummax(a, 1, {.reverse = true}),
          cummin(a, 0, {.reverse = true}),
          cumlogsumexp(a, 1, {.reverse = true}),
          cumsum(x[1], 0, {.dtype = float32}),
          sort(a, 1, {.descending = true}),
          argsort(array({2, 1, 2, 3, 1}), 0, {.descending = true}),
          sort(a, 0, {.descending = true}),
          grad([](Array v) { return sum(max(v, 0, {.initial = .5f})); })(a),
          grad([](Array v) { return sum(sin(cumsum(v, 1, {.reverse = true}))); })(a),
          grad([](Array v) { return sum(sort(v, 1, {.descending = true}) * arange(4., float32)); })(a),
          vmap([](Array v) { return argsort(v, 0, {.descending = true}); })(a)};
}

TWIN(statistics, 3e-05) {
  Array a = x[0], w = x[1], n = x[2], k = x[3];
  auto h = histogram(a, 5);
  auto h2 = histogram(a, 3, {.range = std::pair{-1., 1.}, .weights = a * a, .density = true});
  return {average(a),
          average(a, 1),
          average(a, 0, {.weights = w}),
          average(a, none, {.weights = abs(a)}),
          average(a, 0, {.weights = w, .keepdims = true}),
          ptp(a),
          ptp(a, 0),
          count_nonzero(a > 0),
          count_nonzero(k - 1, 0),
          nanmax(n),
          nanmax(n, 1),
          nanmin(n, 1),
          nanprod(n, 1),
          nanvar(n, 1),
          nanstd(n, 0),
          nanargmax(n, 1),
          nanargmin(n, 1),
          nansum(n, 0),
          quantile(a, {.25, .5}, 0),
          percentile(a, {10, 90}),
          digitize(a, sort(w)),
          digitize(w, w, {.right = true}),
          h.counts,
          h.edges,
          h2.counts,
          h2.edges,
          isin(k, array({1, 2})),
          isin(k, 3, true),
          lexsort({k, array({1, 1, 0, 0, 1})}),
          gradient(a(0)),
          gradient(a, 2., 1),
          ediff1d(a),
          unwrap(array({0.f, 3.f, 6.5f, -3.f, 0.f})),
          vander(w),
          vander(w, 2, true),
          vecdot(a, a),
          matvec(a, a(0)),
          vecmat(w, a),
          linspace(0, 1, 4, {.endpoint = false}),
          linspace(1.f, a(0), 3, {.endpoint = false}),
          logspace(0, 2, 5),
          geomspace(1, 1000, 4),
          arange(1, 4, float32),
          hanning(6),
          hamming(5),
          blackman(7),
          bartlett(5),
          polyfit(array({0.f, 1.f, 2.f, 3.f}), array({1.f, 3.f, 2.f, 5.f}), 2),
          grad([](Array v) { return nanstd(v); })(n(0)),
          grad([](Array v) { return sum(square(gradient(v))); })(w),
          vmap([](Array v) { return average(v, none, {.weights = abs(v)}); })(a)};
}

}  // namespace
}  // namespace weft::test
