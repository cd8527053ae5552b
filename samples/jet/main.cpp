// Taylor mode against nested forward mode: each rule of jet gives, order by order, what jvp of jvp of ... gives, at a cost that grows with
// the square of the order where nesting doubles it each time. Returns 0 if all agree.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "jet.h"

using namespace weft;

static constexpr int kOrder = 5;

/// g(t), g'(t), g''(t), ... at t = 0 by nested jvp.
template <int Left, class G>
static void nested(G g, std::vector<Array>& out) {
  const Array zero = array(0., float64);
  out.push_back(g(zero));
  if constexpr (Left > 0) nested<Left - 1>([g](const Array& t) { return jvp(g, std::tuple(t), std::tuple(ones_like(t))).second; }, out);
}

/// f along x + v1 t + v2 t^2 / 2 + ..., by jet and by nesting; the largest relative difference.
template <class F>
static double difference(F f, const Array& x) {
  std::vector<Array> series;
  for (int k = 0; k < kOrder; ++k) series.push_back(cos(x * (k + 1.)) * .5);
  const auto along = [&](const Array& t) {
    Array at = x, factor = t;
    for (int k = 0; k < kOrder; ++k) {
      at = at + series[static_cast<std::size_t>(k)] * factor;
      factor = factor * t / (k + 2.);
    }
    return f(at);
  };
  std::vector<Array> wanted;
  nested<kOrder>(along, wanted);
  const auto found = jit([&](Array at) { return jet::jet(f, at, series); })(x);
  double worst = max(abs(found.first - wanted[0])).template item<double>();
  for (int k = 1; k <= kOrder; ++k) {
    const Array& want = wanted[static_cast<std::size_t>(k)];
    worst =
        std::max(worst, (max(abs(found.second[static_cast<std::size_t>(k - 1)] - want)) / (1 + max(abs(want)))).template item<double>());
  }
  return worst;
}

int main() {
  int wrong = 0;
  const auto check = [&](std::string_view name, double error) {
    fmt::print("{:<24} {:.1e}\n", name, error);
    wrong += !(error < 1e-10);
  };
  const Array x = linspace(.3, 1.7, 6, float64), m = reshape(linspace(-1, 1, 36, float64), {6, 6});
  check("sums and products", difference([](const Array& a) { return 3 * a + a * a - a * (2 - a); }, x));
  check("quotients", difference([](const Array& a) { return (1 + a) / (2 + a * a); }, x));
  check("exp, log", difference([](const Array& a) { return exp(a) * log(1 + a); }, x));
  check("expm1, log1p", difference([](const Array& a) { return expm1(log1p(a) * a); }, x));
  check("sin, cos", difference([](const Array& a) { return sin(a) * cos(2 * a); }, x));
  check("tanh, logistic", difference([](const Array& a) { return tanh(a) + nn::sigmoid(2 * a); }, x));
  check("sqrt, rsqrt", difference([](const Array& a) { return sqrt(a) + rsqrt(1 + a); }, x));
  check("pow", difference([](const Array& a) { return pow(a, sin(a)) + pow(a, 1.5); }, x));
  check("powers at zero", difference([](const Array& a) { return integer_pow(a, 3) + integer_pow(1 + a, -2) + square(a); }, x - x(2)));
  check("dot_general, sums", difference([&](const Array& a) { return matmul(m, sin(a)) + sum(a * matmul(a, m)) + cumsum(a, 0); }, x));
  check("movements", difference([](const Array& a) { return concatenate({flip(sin(a)), a(slice(2, 4))}) * 2; }, x));
  check("choices", difference([](const Array& a) { return where(a > 1, exp(a), nn::relu(a - .5)); }, x));
  check("calls", difference([](const Array& a) { return jit([](Array b) { return tanh(b) * b; })(a) + a; }, x));

  // What cannot be expanded says so.
  try {
    jet::jet([](const Array& a) { return sort(a); }, x, {ones_like(x)});
    ++wrong;
  } catch (const Error& e) {
    fmt::print("{}\n", e.message());
  }

  // Equations of the n-th derivative of sin(exp(a) a).
  const auto f = [](const Array& a) { return sin(exp(a) * a); };
  const Array at = array(.5, float64), zero = array(0., float64);
  std::vector<Array> direction{ones_like(at)};
  fmt::print("order  equations by jet\n");
  std::vector<std::size_t> sizes;
  for (int order = 1; order <= 6; ++order) {
    const Jaxpr j = make_jaxpr([&](Array a) { return jet::jet(f, a, direction).second.back(); })(at);
    sizes.push_back(j.eqns().size());
    fmt::print("{:5}  {}\n", order, sizes.back());
    direction.push_back(zero);
  }
  // The second differences of what grows with the square of the order stay small.
  wrong += !(sizes[5] < 6 * sizes[2]);
  fmt::print("{} differ\n", wrong);
  return wrong != 0;
}
