// Functions where their arguments are extreme: sizes that no memory holds, counts without an end, bounds that no integer is, and arguments
// next to which a derivative's terms cancel.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/optim.h>
#include <weft/scipy.h>
#include <weft/weft.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

using namespace weft;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan_ = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t huge = std::int64_t{1} << 61;

/// Whether a and b are the same numbers, NaN among them.
bool same(const Array& a, const Array& b) {
  const bool good = a.dtype() == b.dtype() && a.shape() == b.shape() && all((a == b) | ((a != a) & (b != b))).item<bool>();
  if (!good) MESSAGE("got ", a, " wanted ", b);
  return good;
}
/// Whether all numbers are within that factor of what is wanted.
bool close(const Array& a, const Array& wanted, double tolerance) {
  const bool good = all(abs(a - wanted) <= tolerance * abs(wanted)).item<bool>();
  if (!good) MESSAGE("got ", a, " wanted ", wanted);
  return good;
}
/// The derivative of f, elementwise, operation by operation and compiled.
template <class F>
Array derivative(F f, const Array& x) {
  const auto d = [f](const Array& v) { return jvp(f, v, ones_like(v)).second; };
  const Array compiled = jit(d)(x);
  CHECK(close(d(x), compiled, x.dtype() == float64 ? 1e-13 : 1e-5));
  return compiled;
}
template <class F>
Array second_derivative(F f, const Array& x) {
  return derivative([f](const Array& v) { return jvp(f, v, ones_like(v)).second; }, x);
}

}  // namespace

TEST_CASE("numbers that a function makes on the host, and no memory holds, are an Error") {
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"tril_indices", [] { tril_indices(huge); }},
      {"tril_indices, wide", [] { tril_indices(3, huge, huge); }},
      {"triu_indices", [] { triu_indices(huge, -5); }},
      {"hadamard", [] { linalg::hadamard(huge); }},
      {"hadamard, whose number of elements is no int64", [] { linalg::hadamard(std::int64_t{1} << 32); }},
      {"helmert", [] { linalg::helmert(huge); }},
      {"pascal", [] { linalg::pascal(huge); }},
      {"invhilbert", [] { linalg::invhilbert(huge); }},
      {"hilbert", [] { linalg::hilbert(huge); }},
      {"dft", [] { linalg::dft(huge); }},
      {"hanning", [] { hanning(huge); }},
      {"blackman", [] { blackman(huge); }},
      {"dct", [] { fft::dct(ones(3), {.n = huge}); }},
      {"idct", [] { fft::idct(ones(3), {.n = huge}); }},
      {"dct in a program", [] { make_jaxpr([](Array x) { return fft::dct(x, {.n = huge}); })(ones(3)); }},
      {"multigammaln", [] { multigammaln(ones(3), huge); }},
  };
  for (const auto& [name, call] : calls) {
    CAPTURE(std::string(name));
    CHECK_THROWS_AS(call(), Error);
  }
}

TEST_CASE("what has no elements is computed at once, whatever the sizes beside the 0") {
  const Array none_at_all = zeros({0, 3});
  const std::int64_t n = std::int64_t{1} << 40;
  const auto spectrum = [n](Array x) { return fft::ifft(x, n); };
  CHECK(spectrum(none_at_all).shape() == Shape{0, n});
  CHECK(jit(spectrum)(none_at_all).shape() == Shape{0, n});
  CHECK(fft::rfft(none_at_all, n).shape() == Shape{0, n / 2 + 1});
  CHECK(fft::irfft(none_at_all, n).shape() == Shape{0, n});
}

TEST_CASE("tril_indices and triu_indices are the positions of triangles of any shape") {
  for (const int n : {0, 1, 3, 5})
    for (const int m : {0, 1, 3, 6})
      for (const int k : {-9, -3, -1, 0, 1, 2, 7}) {
        std::vector<int> lower[2], upper[2];
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < m; ++j) {
            if (j - i <= k) lower[0].push_back(i), lower[1].push_back(j);
            if (j - i >= k) upper[0].push_back(i), upper[1].push_back(j);
          }
        const auto low = tril_indices(n, k, m), high = triu_indices(n, k, m);
        CAPTURE(n);
        CAPTURE(m);
        CAPTURE(k);
        for (const std::size_t d : {0, 1}) {
          CHECK(low[d].to_vector<int>() == lower[d]);
          CHECK(high[d].to_vector<int>() == upper[d]);
        }
      }
  const std::int64_t last = std::numeric_limits<std::int64_t>::max(), first = std::numeric_limits<std::int64_t>::min();
  CHECK(tril_indices(2, last)[0].size() == 4);
  CHECK(tril_indices(2, first)[0].size() == 0);
  CHECK(triu_indices(2, last)[0].size() == 0);
  CHECK(triu_indices(2, first)[0].size() == 4);
}

TEST_CASE("binomial of infinitely many trials is infinite, for every probability, and ends") {
  const Array key = random::key(1);
  for (const DType t : {float32, float64}) {
    const auto draw = [t](Array k, Array n, Array p) { return random::binomial(k, n, p, Shape{3}, t); };
    const Array n = full({}, inf, t), p = array({0., .5, 1.}, t);
    CHECK(same(draw(key, n, p), full({3}, inf, t)));
    CHECK(same(jit(draw)(key, n, p), full({3}, inf, t)));
    CHECK(same(draw(key, array({inf, 10., nan_}, t), full({3}, 0., t)), array({inf, 0., nan_}, t)));
  }
}

TEST_CASE("randint's bounds may be floats of any size: the same draws from numbers and from traced arrays") {
  const auto draw = [](Array k, Array low, Array high) { return random::randint(k, Shape{64}, low, high); };
  const Array key = random::key(1);
  for (const double low : {0., -2147483648., -1e30, -inf})
    for (const double high : {5.7, 2147483647., 2147483648., 1e30, inf, -5., nan_}) {
      const Array a = full({}, low, float64), b = full({}, high, float64), got = draw(key, a, b);
      CAPTURE(low);
      CAPTURE(high);
      CHECK(same(jit(draw)(key, a, b), got));
      CHECK(same(vmap(draw)(stack({key, key}), stack({a, a}), stack({b, b}))(1), got));
      if (high > 2147483647.)  // as integers do: one beyond the highest is a bound
        CHECK(same(got, draw(key, a, array(std::int64_t{2147483648}, int64))));
    }
}

TEST_CASE("Bessel functions have the right derivatives at 0, where their formulas change sign") {
  const Array x = zeros({1}, float64);
  // The first four of each: of the scaled ones, which have a kink, those from the right, but for the first of i0e.
  const auto has = [&](const std::function<Array(Array)>& f, const std::vector<double>& want) {
    std::function<Array(Array)> now = f;
    for (const double d : want) {
      now = [before = now](Array v) { return grad([&](Array w) { return sum(before(w)); })(v); };
      CHECK(std::abs(now(x)[0].item<double>() - d) < 1e-9);
    }
  };
  has([](Array v) { return i0(v); }, {0, .5, 0, .375});
  has([](Array v) { return i1(v); }, {.5, 0, .375, 0});
  has([](Array v) { return i0e(v); }, {0, 1.5, -2.5});
  has([](Array v) { return i1e(v); }, {.5, -1, 1.875});
}

TEST_CASE("derivatives have their digits next to where their terms cancel") {
  for (const DType t : {float32, float64}) {
    const double some = t == float64 ? 1e-12 : 2e-5, pi = std::numbers::pi;
    const Array x = array({1e-30, -1e-20, 1e-12, 1e-8, -1e-6, 1e-5, -1e-4}, t), square = x * x;
    CHECK(close(derivative([](Array v) { return sinc(v); }, x), -pi * pi / 3 * x * (1 - pi * pi / 10 * square), some));
    CHECK(close(second_derivative([](Array v) { return sinc(v); }, x), -pi * pi / 3 * (1 - 3 * pi * pi / 10 * square), some));
    CHECK(close(derivative([](Array v) { return i1(v); }, x), .5 + 3 / 16. * square, some));
    const Array beside = second_derivative([](Array v) { return i1(v); }, x);
    CHECK(all(abs(beside - .375 * x) <= 4 * some).item<bool>());

    const Array far = array({-12., -25., -100., -1e4, -1e8, -1e15}, t), r = 1 / (far * far);
    const Array rest = 1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r)));
    const double tail = 2e-5;  // of the terms that are left out at -12
    CHECK(close(derivative([](Array v) { return log_ndtr(v); }, far), -far / rest, tail));
    CHECK(close(second_derivative([](Array v) { return log_ndtr(v); }, far), -1 + r * (1 - 6 * r), 5e-3));
  }
  CHECK(log_ndtr(array({-inf, inf})).to_vector<double>() == std::vector<double>{-inf, 0});
}

TEST_CASE("multigammaln of many dimensions is one sum") {
  const Array x = array({60., 71.25}, float64);
  Array wanted = zeros(2, float64);
  for (int i = 0; i < 100; ++i) wanted = wanted + lgamma(x - i / 2.);
  CHECK(close(multigammaln(x, 100), wanted + 100 * 99 / 4. * std::log(std::numbers::pi), 1e-13));
  CHECK(make_jaxpr([](Array v) { return multigammaln(v, 1000); })(x).eqns().size() < 50);
}

TEST_CASE("positions, counts and exponents that 32 bits don't hold are beyond the end, and not their last 32 bits") {
  const Array x = arange(6, float32), rows = reshape(arange(12, float32), {6, 2});
  using Function = std::function<Array(Array)>;  // of two positions, the first of which is not among 6
  const std::vector<std::pair<const char*, Function>> functions{
      {"put", [&](Array i) { return put(x, i, array({7.f, 8.f})); }},
      {"put, clip", [&](Array i) { return put(x, i, array({7.f, 8.f}), {.mode = "clip"}); }},
      {"put_along_axis", [&](Array i) { return put_along_axis(x, i, array({7.f, 8.f}), 0); }},
      {"insert", [&](Array i) { return insert(x, i, array({7.f, 8.f})); }},
      {"take", [&](Array i) { return take(x, i); }},
      {"take, clip", [&](Array i) { return take(x, i, 0, {.mode = "clip"}); }},
      {"take_along_axis", [&](Array i) { return take_along_axis(x, i, 0); }},
      {"at set", [&](Array i) { return x.at(i).set(7); }},
      {"at get", [&](Array i) { return x.at(i).get({.mode = "clip"}); }},
      {"dynamic_slice", [&](Array i) { return dynamic_slice(x, {i(0)}, {2}); }},
      {"dynamic_update_slice", [&](Array i) { return dynamic_update_slice(x, array({7.f, 8.f}), {i(0)}); }},
      {"one_hot", [&](Array i) { return nn::one_hot(i, 6); }},
      {"segment_sum", [&](Array i) { return segment_sum(rows(slice(0, 2)), i, {.num_segments = 6}); }},
      {"choose", [&](Array i) { return choose(i, {x(slice(0, 2)), x(slice(2, 4)), x(slice(4, 6))}); }},
      {"select_n", [&](Array i) { return select_n(i, x(slice(0, 2)), x(slice(2, 4))); }},
      {"switch_", [&](Array i) { return switch_(i(0), std::vector<Function>{[](Array a) { return a; }, [](Array a) { return -a; }}, x); }},
      {"ravel_multi_index", [&](Array i) { return ravel_multi_index({i, Array(0)}, {6, 2}, {.mode = "clip"}); }},
      {"unravel_index", [&](Array i) { return stack(unravel_index(i, {2, 3})); }},
      {"ldexp", [&](Array i) { return ldexp(array({3.f, 3.f}), i); }},
      {"map_coordinates", [&](Array i) { return map_coordinates(x, {i}, {.order = 0, .mode = "constant", .cval = 9}); }},
      {"map_coordinates, nearest", [&](Array i) { return map_coordinates(x, {i}, {.order = 0, .mode = "nearest"}); }},
      {"bincount", [&](Array i) { return bincount(i, 6); }},
      {"randint", [&](Array i) { return random::randint(random::key(1), {4}, i(1), i(0), int8); }},
      {"repeat", [&](Array i) { return repeat(x(slice(0, 2)), i, 0, {.total_repeat_length = 4}); }},
      {"softmax_cross_entropy_with_integer_labels",
       [&](Array i) { return optim::softmax_cross_entropy_with_integer_labels(rows(slice(0, 2)), i); }},
  };
  for (const auto& [name, f] : functions)
    for (const bool compiled : {false, true})
      for (const DType t : {int64, uint32, uint64}) {
        CAPTURE(std::string(name));
        CAPTURE(compiled);
        CAPTURE(t.name());
        // Positions may be of their own dtype.
        const auto at = [&](const Array& i) {
          const Array y = compiled ? jit(f)(i) : f(i);
          return y.dtype().is_integer() ? convert(y, int64) : y;
        };
        const Array wanted = at(array({1 << 30, 1}));
        const std::int64_t top = std::int64_t{1} << 32;
        for (const Array& i : {array({top, std::int64_t{1}}), array({top + 2, std::int64_t{1}}), array({top / 2 + 3, std::int64_t{1}})}) {
          if (t == uint32 && i(0).item<std::int64_t>() >= top) continue;
          CAPTURE(i);
          CHECK(same(at(convert(i, t)), wanted));
        }
        if (t != int64) continue;
        const Array below = at(array({-(1 << 30), 1}));
        CHECK(same(at(array({-top, std::int64_t{1}})), below));
        CHECK(same(at(array({2 - top, std::int64_t{1}})), below));
      }
}

TEST_CASE("sizes of groups are added in a dtype that holds their sum") {
  const Array x = ones({300, 1}), w = reshape(array({1.f, 2.f, 3.f}), {3, 1, 1});
  for (const DType t : {int8, uint8, int16, int64, uint64}) {
    CAPTURE(t.name());
    CHECK(same(ragged_dot(x, w, convert(array({100, 100, 100}), t)), ragged_dot(x, w, array({100, 100, 100}))));
    CHECK(same(repeat(array({1.f, 2.f, 3.f}), convert(array({100, 100, 100}), t), 0, {.total_repeat_length = 300}),
               repeat(array({1.f, 2.f, 3.f}), 100)));
  }
}

TEST_CASE("extremes: quantiles of the normal distribution are right to a few units in the last place, down to the smallest probabilities") {
  for (const DType t : {float32, float64}) {
    const bool wide = t == float64;
    CAPTURE(t.name());
    std::vector<double> p;
    for (double e = wide ? -323 : -44.8; e < -.4; e += .0931) p.push_back(std::pow(10, e));
    for (double v = .0137; v < .5; v += .00213) p.push_back(v), p.push_back(1 - v);
    const Array given = convert(array(p), t), eager = ndtri(given), compiled = jit([](Array q) { return ndtri(q); })(given);
    const std::vector<double> qs = convert(given, float64).to_vector<double>();
    std::vector<double> xs = convert(eager, float64).to_vector<double>(), more = convert(compiled, float64).to_vector<double>();
    xs.insert(xs.end(), more.begin(), more.end());
    double worst = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const long double q = qs[i % qs.size()], got = xs[i];
      // Newton's method for the logarithm of the smaller tail.
      const long double tail = q < .5L ? q : 1 - q;
      long double y = -std::abs(got);
      for (int k = 0; k < 3; ++k) {
        const long double log_tail = std::log(std::erfc(-y * std::sqrt(.5L)) / 2);
        y -= (log_tail - std::log(tail)) * std::exp(log_tail + y * y / 2) * std::sqrt(2 * std::numbers::pi_v<long double>);
      }
      worst = std::max(worst, static_cast<double>(std::abs(std::abs(got) + y) / std::abs(y)));
    }
    CHECK(worst < 5 * (wide ? 0x1p-52 : 0x1p-23));
    MESSAGE("ndtri: ", worst / (wide ? 0x1p-52 : 0x1p-23), " units");
  }
}
