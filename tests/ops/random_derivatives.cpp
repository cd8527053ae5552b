// Derivatives of random draws by their parameters, with the key held: as in JAX those of counts and choices are zero, those of gamma
// variates and of what is made of them are implicit, and the others those of the formula that a draw is.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <string>
#include <vector>

using namespace weft;

namespace {

struct Sampler {
  std::string name;
  Array (*draw)(const Array& key, const Array& p);  ///< of floats, by the parameters p
  std::vector<double> at;
  enum Kind {
    zero,      ///< what is drawn doesn't change with the parameters, but for jumps
    smooth,    ///< differences tell the derivative
    implicit,  ///< drawn by rejection: where a draw jumps, differences don't tell
  } kind;
};

Array floats(const Array& x) { return convert(x, float64); }
constexpr int kDraws = 6;

const std::vector<Sampler>& samplers() {
  static const std::vector<Sampler> all = {
      {"bernoulli", [](const Array& k, const Array& p) { return floats(random::bernoulli(k, p(0), kDraws)); }, {.4}, Sampler::zero},
      {"binomial, few",
       [](const Array& k, const Array& p) { return random::binomial(k, p(0), p(1), kDraws, float64); },
       {8, .4},
       Sampler::zero},
      {"binomial, many",
       [](const Array& k, const Array& p) { return random::binomial(k, p(0), p(1), kDraws, float64); },
       {900, .7},
       Sampler::zero},
      {"categorical",
       [](const Array& k, const Array& p) { return floats(random::categorical(k, p, -1, kDraws)); },
       {.2, .5, .1},
       Sampler::zero},
      {"choice of weighted",
       [](const Array& k, const Array& p) { return random::choice(k, array({1., 2., 3.}), kDraws, {.p = p / sum(p)}); },
       {.2, .5, .1},
       Sampler::zero},
      {"geometric", [](const Array& k, const Array& p) { return floats(random::geometric(k, p(0), kDraws)); }, {.3}, Sampler::zero},
      {"multinomial",
       [](const Array& k, const Array& p) { return random::multinomial(k, p(0), p(slice(1, none)), none, float64); },
       {40, .2, .5, .3},
       Sampler::zero},
      {"poisson, small", [](const Array& k, const Array& p) { return floats(random::poisson(k, p(0), kDraws)); }, {3.5}, Sampler::zero},
      {"poisson, large", [](const Array& k, const Array& p) { return floats(random::poisson(k, p(0), kDraws)); }, {350}, Sampler::zero},
      {"rademacher times",
       [](const Array& k, const Array& p) { return p(0) * random::rademacher(k, kDraws, float64); },
       {1.5},
       Sampler::smooth},
      {"beta", [](const Array& k, const Array& p) { return random::beta(k, p(0), p(1), kDraws, float64); }, {1.5, .7}, Sampler::implicit},
      {"chisquare", [](const Array& k, const Array& p) { return random::chisquare(k, p(0), kDraws, float64); }, {3.5}, Sampler::implicit},
      {"dirichlet", [](const Array& k, const Array& p) { return random::dirichlet(k, p, 2, float64); }, {1.5, .7, 2.5}, Sampler::implicit},
      {"f", [](const Array& k, const Array& p) { return random::f(k, p(0), p(1), kDraws, float64); }, {3.5, 5}, Sampler::implicit},
      {"gamma", [](const Array& k, const Array& p) { return random::gamma(k, p(0), kDraws, float64); }, {1.5}, Sampler::implicit},
      {"gamma, small", [](const Array& k, const Array& p) { return random::gamma(k, p(0), kDraws, float64); }, {.3}, Sampler::implicit},
      {"generalized_normal",
       [](const Array& k, const Array& p) { return random::generalized_normal(k, p(0), kDraws, float64); },
       {1.5},
       Sampler::implicit},
      {"ball", [](const Array& k, const Array& p) { return random::ball(k, 3, p(0), 2, float64); }, {1.5}, Sampler::implicit},
      {"loggamma", [](const Array& k, const Array& p) { return random::loggamma(k, p(0), kDraws, float64); }, {1.5}, Sampler::implicit},
      {"t", [](const Array& k, const Array& p) { return random::t(k, p(0), kDraws, float64); }, {4}, Sampler::implicit},
      {"choice of values", [](const Array& k, const Array& p) { return random::choice(k, p, kDraws); }, {.2, .5, .1}, Sampler::smooth},
      {"double_sided_maxwell",
       [](const Array& k, const Array& p) { return random::double_sided_maxwell(k, p(0), p(1), kDraws, float64); },
       {.5, 1.5},
       Sampler::smooth},
      {"lognormal", [](const Array& k, const Array& p) { return random::lognormal(k, p(0), kDraws, float64); }, {.7}, Sampler::smooth},
      {"multivariate_normal",
       [](const Array& k, const Array& p) {
         const Array l = reshape(p(slice(2, none)), {2, 2});
         return random::multivariate_normal(k, p(slice(0, 2)), matmul(l, swapaxes(l, 0, 1)) + eye(2, float64), 2, float64);
       },
       {.5, 1.5, 1, .2, .3, 2},
       Sampler::smooth},
      {"pareto", [](const Array& k, const Array& p) { return random::pareto(k, p(0), kDraws, float64); }, {2.5}, Sampler::smooth},
      {"permutation", [](const Array& k, const Array& p) { return random::permutation(k, p); }, {.2, .5, .1, 3}, Sampler::smooth},
      {"rayleigh", [](const Array& k, const Array& p) { return random::rayleigh(k, p(0), kDraws, float64); }, {1.5}, Sampler::smooth},
      {"triangular",
       [](const Array& k, const Array& p) { return random::triangular(k, p(0), p(1), p(2), kDraws, float64); },
       {-1, .5, 2},
       Sampler::smooth},
      {"truncated_normal",
       [](const Array& k, const Array& p) { return random::truncated_normal(k, p(0), p(1), kDraws, float64); },
       {-1, 1.5},
       Sampler::smooth},
      {"uniform", [](const Array& k, const Array& p) { return random::uniform(k, kDraws, float64, p(0), p(1)); }, {-1, 2}, Sampler::smooth},
      {"wald", [](const Array& k, const Array& p) { return random::wald(k, p(0), kDraws, float64); }, {1.5}, Sampler::smooth},
      {"weibull_min",
       [](const Array& k, const Array& p) { return random::weibull_min(k, p(0), p(1), kDraws, float64); },
       {1.5, 2.5},
       Sampler::smooth},
  };
  return all;
}

bool near(const Array& x, const Array& want, double tolerance) {
  const auto a = x.to_vector<double>(), b = want.to_vector<double>();
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i]));
  return same;
}

}  // namespace

TEST_CASE("draws have derivatives by their parameters, in every mode, under jit and vmap") {
  for (const Sampler& s : samplers()) {
    CAPTURE(s.name);
    const Array p = array(s.at, Shape{static_cast<std::int64_t>(s.at.size())}), key = random::key(12), t = cos(p);
    const auto draw = [&](Array q) { return s.draw(key, q); };
    const auto weighted = [&](Array q) {
      const Array x = ravel(draw(q));
      return sum(x * (1 + 0.1 * floats(arange(static_cast<int>(x.size())))));
    };
    Array gradient;
    REQUIRE_NOTHROW(gradient = grad(weighted)(p));
    CHECK(near(jit(grad(weighted))(p), gradient, 1e-12));
    CHECK(near(jvp(weighted, std::tuple{p}, std::tuple{t}).second, sum(gradient * t), 1e-10));
    CHECK(near(std::get<0>(vjp(draw, p).second(ones_like(draw(p)))), grad([&](Array q) { return sum(draw(q)); })(p), 1e-12));
    const Array keys = random::split(random::key(3), 2), points = stack({p, 1.01 * p});
    const auto of_key = [&](Array k, Array q) { return grad([&](Array v) { return sum(s.draw(k, v)); })(q); };
    const Array rows = vmap(of_key)(keys, points);
    for (int i = 0; i < 2; ++i) CHECK(near(rows(i), of_key(keys(i), points(i)), 1e-10));
    if (s.kind == Sampler::zero) CHECK(near(gradient, zeros_like(p), 0));
    if (s.kind == Sampler::implicit) CHECK(any(gradient != 0).item<bool>());
    if (s.kind != Sampler::smooth) continue;
    const double step = 1e-6;
    CHECK(near(sum(gradient * t), (weighted(p + step * t) - weighted(p - step * t)) / (2 * step), 1e-6));
  }
}

TEST_CASE("the rest of a function keeps its derivative beside a count") {
  const Array key = random::key(0);
  const auto with_poisson = [&](Array lam) { return lam * lam + 0 * convert(random::poisson(key, lam), float32); };
  CHECK(grad(with_poisson)(2.f).item<float>() == 4);
  CHECK(jvp(with_poisson, std::tuple{2.f}, std::tuple{1.f}).second.item<float>() == 4);
  const auto with_binomial = [&](Array p) { return p * p + 0 * random::binomial(key, 10.f, p); };
  CHECK(grad(with_binomial)(.5f).item<float>() == 1);
}

// The mean is the shape parameter, so that the mean of the derivatives is 1.
TEST_CASE("the implicit derivative of gamma variates is that of their distribution") {
  for (const double a : {.4, 1., 3.5}) {
    const auto mean_of = [&](Array shape) { return mean(random::gamma(random::key(5), shape, 20000, float64)); };
    CHECK(std::abs(grad(mean_of)(array(a)).item<double>() - 1) < .03);
  }
}

TEST_CASE("loops whose carries have no tangents are differentiated without a bound") {
  // How many halvings it takes is a count.
  const auto steps = [](Array x) {
    return while_loop([&](std::pair<Array, Array> c) { return c.second > 0; },
                      [&](std::pair<Array, Array> c) { return std::pair{c.first + 1, floor(c.second * x)}; },
                      std::pair{Array(0), array(100.f)})
        .first;
  };
  const auto f = [&](Array x) { return x * convert(steps(x), float32); };
  CHECK(f(.5f).item<float>() == 3.5f);
  CHECK(grad(f)(.5f).item<float>() == 7);
  CHECK(jit(grad(f))(.5f).item<float>() == 7);
  CHECK(vmap(grad(f))(array({.5f, .25f})).to_vector<float>() == std::vector<float>{7, 4});
  CHECK_THROWS_AS(grad([](Array x) { return while_loop([](Array c) { return c < 9; }, [](Array c) { return c * c; }, x); })(2.f),
                  TracerError);
}
