// Samples a Bayesian regression's posterior with Hamiltonian Monte Carlo: 64 chains side by side, and checks the draws against the exact
// posterior, which this model has. How strong a wine is, is explained by twelve other measures of it; the coefficients and the noise are
// unknown.
//
//     chains [PICTURE.SVG]
//
// What it shows: the density is written for one point; grad gives its gradient, fori_loop the leapfrog steps of one trajectory, vmap makes
// 64 chains of one chain, pmean over the mapped axis lets them agree on a step size, scan draws again and again, and jit compiles the
// whole. Returns 0 if acceptance, convergence (R-hat), means and standard deviations are as they must be.
//
// R. Neal, MCMC using Hamiltonian dynamics (2011); M. Hoffman and A. Gelman, The No-U-Turn sampler (2014), for the adaptation of the step
// size; A. Gelman et al., Bayesian Data Analysis (2013), for R-hat.
#include <weft/plot.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "files.h"

using namespace weft;

static constexpr int kChains = 64, kFeatures = 12, kSize = kFeatures + 1, kWarmUp = 300, kDraws = 500, kLeaps = 12;
static constexpr double kPriorWidth = 3, kPriorShape = 2, kPriorScale = .5, kWantedAcceptance = .8;
static const char* const kNames[kSize] = {"malic acid", "ash",       "alcalinity", "magnesium", "phenols", "flavanoids", "other phenols",
                                          "proanthoc.", "intensity", "hue",        "OD280",     "proline", "log noise"};

struct Wines {
  Array measures, strength;
};

/// The logarithm of the posterior density, but for a constant, at q: the coefficients, then the logarithm of the noise's deviation.
/// strength ~ N(measures . coefficients, noise^2), coefficients ~ N(0, (width noise)^2), 1 / noise^2 ~ Gamma(shape, rate = scale).
static Array log_density(const Wines& wines, const Array& q) {
  const Array coefficients = q(slice(kFeatures)), log_noise = q(kFeatures);
  const Array misses = wines.strength - matmul(wines.measures, coefficients);
  const Array squares = sum(square(misses)) + sum(square(coefficients)) / (kPriorWidth * kPriorWidth) + 2 * kPriorScale;
  const double count = static_cast<double>(wines.strength.size()) + kFeatures + 2 * kPriorShape;
  return -count * log_noise - squares / 2 * exp(-2 * log_noise);
}

struct Draw {
  Array q, acceptance;
};

/// One transition of one chain: a trajectory of leapfrog steps with a random momentum, accepted or not. `scale` is about each parameter's
/// deviation.
static Draw transition(const Wines& wines, const Array& key, const Array& q, const Array& step, const Array& scale) {
  auto density = [&](Array x) { return log_density(wines, x); };
  auto gradient = grad(density);
  const auto [for_momentum, for_length, for_choice] = random::split<3>(key);
  const Array momentum = random::normal(for_momentum, {kSize});
  const Array stride = step * random::uniform(for_length, {}, float32, .7, 1.3);  // no trajectory may close a circle each time
  auto leap = [&](Array, auto state) {
    auto [x, p] = state;
    x = x + stride * scale * p;
    return std::pair{x, p + stride * scale * gradient(x)};
  };
  const Array half = momentum + stride / 2 * scale * gradient(q);
  auto [end, last] = fori_loop(0, kLeaps, leap, std::pair{q, half});
  const Array final_momentum = last - stride / 2 * scale * gradient(end);
  const Array gain = density(end) - density(q) - sum(square(final_momentum)) / 2 + sum(square(momentum)) / 2;
  const Array acceptance = exp(minimum(where(isnan(gain), -1000.f, gain), 0));
  return {where(random::uniform(for_choice) < acceptance, end, q), acceptance};
}

/// Dual averaging of the logarithm of the step size.
struct Adaptation {
  Array log_step, log_mean, error, count;
};
static Adaptation adapt(const Adaptation& a, const Array& acceptance, double start) {
  const Array n = a.count + 1, error = (1 - 1 / (n + 10)) * a.error + (kWantedAcceptance - acceptance) / (n + 10);
  const Array log_step = std::log(10 * start) - sqrt(n) / .05 * error, weight = pow(n, -.75);
  return {log_step, weight * log_step + (1 - weight) * a.log_mean, error, n};
}

/// Of draws (draw, chain, parameter): the factor by which each parameter's deviation could still shrink; each chain counts as two halves.
static Array r_hat(const Array& draws) {
  const int n = static_cast<int>(draws.shape()[0]) / 2;
  const Array halves = concatenate({draws(slice(0, n)), draws(slice(n, 2 * n))}, 1);
  const Array within = mean(var(halves, 0, {.ddof = 1}), 0), between = var(mean(halves, 0), 0, {.ddof = 1});
  return sqrt((n - 1.) / n + between / within);
}

/// The exact posterior: that of the coefficients is a multivariate t distribution, that of noise^2 an inverse gamma distribution.
struct Exact {
  Array mean, deviation;
};
static Exact exact_posterior(const Wines& wines) {
  const Array x = convert(wines.measures, float64), y = convert(wines.strength, float64);
  const Array precision = matmul(transpose(x), x) + eye(kFeatures, kFeatures, 0, float64) / (kPriorWidth * kPriorWidth);
  const Array centre = linalg::solve(precision, matmul(transpose(x), y));
  const double shape = kPriorShape + static_cast<double>(y.size()) / 2;
  const Array rate = kPriorScale + (dot(y, y) - dot(centre, matmul(precision, centre))) / 2;
  // log noise = (log rate - log gamma variate) / 2
  const Array log_noise = (log(rate) - digamma(shape)) / 2, its_deviation = sqrt(polygamma(1, shape)) / 2;
  const Array deviation = sqrt(rate / (shape - 1) * linalg::diagonal(linalg::inv(precision)));
  return {concatenate({centre, reshape(log_noise, {1})}), concatenate({deviation, reshape(convert(its_deviation, float64), {1})})};
}

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Each parameter's draws as a histogram, with the exact mean and a normal curve of the exact deviation.
static void draw(const std::string& path, const Array& draws, const Exact& exact) {
  const std::vector<double> means = exact.mean.to_vector<double>(), deviations = exact.deviation.to_vector<double>();
  std::vector<Plot> plots;
  for (int k = 0; k < kSize; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Array z = linspace(-4, 4, 81, float64), at = means[i] + deviations[i] * z;
    Plot p({.title = kNames[k], .width = 210, .height = 150, .grid = false});
    p.histogram(draws(slice(), slice(), k),
                {.bins = 40, .range = PlotRange{means[i] - 4 * deviations[i], means[i] + 4 * deviations[i]}, .density = true});
    p.line(at, exp(-z * z / 2) / (deviations[i] * std::sqrt(2 * std::numbers::pi)));
    plots.push_back(p);
  }
  Figure(plots, {.columns = 5,
                 .title = fmt::format("posterior by {} chains x {} draws, and the exact one's mean and deviation as a normal curve",
                                      kChains, kDraws),
                 .gap = 4})
      .save(path);
  fmt::print("picture: {}\n", path);
}

static int run(const std::string& path) {
  const Array table = files::read_table(WEFT_SAMPLE_DATA "/wine.csv.gz", 14);
  const Array standard = convert((table - mean(table, 0)) / std_(table, 0), float32);
  const Wines wines{standard(slice(), slice(1, 1 + kFeatures)), standard(slice(), 0)};
  fmt::print("{} wines, {} measures; {} chains of {} + {} draws, {} leapfrog steps each\n", wines.strength.size(), kFeatures, kChains,
             kWarmUp, kDraws, kLeaps);

  // All chains' next draw; the mean acceptance over them is the same for all.
  auto next = [&](Array key, Array q, Array step, Array scale) {
    auto one = [&](Array chain_key, Array at) {
      const Draw draw = transition(wines, chain_key, at, step, scale);
      return std::pair{draw.q, pmean(draw.acceptance, "chains")};
    };
    return vmap(one, {.out_axes = {0, none}, .axis_name = "chains"})(random::split(key, kChains), q);
  };
  auto warm_up = jit([&](Array key, Array start, Array scale, double first_step) {
    auto body = [&](auto carry, Array k) {
      auto [q, adaptation] = carry;
      const auto [moved, acceptance] = next(k, q, exp(adaptation.log_step), scale);
      return std::pair{std::pair{moved, adapt(adaptation, acceptance, first_step)}, none};
    };
    const Adaptation begin{std::log(first_step), std::log(first_step), 0.f, 0.f};
    const auto [q, adaptation] = scan(body, std::pair{start, begin}, random::split(key, kWarmUp)).first;
    return std::tuple{q, exp(adaptation.log_mean), std_(q, 0)};
  });
  auto sample = jit([&](Array key, Array start, Array step, Array scale) {
    auto body = [&](Array q, Array k) {
      const auto [moved, acceptance] = next(k, q, step, scale);
      return std::pair{moved, std::pair{moved, acceptance}};
    };
    return scan(body, start, random::split(key, kDraws)).second;
  });

  const auto [for_start, for_first, for_second, for_draws] = random::split<4>(random::key(2024));
  const double from = seconds();
  auto [q, step, scale] = warm_up(for_first, .3f * random::normal(for_start, {kChains, kSize}), full({kSize}, .1f), .1);
  std::tie(q, step, scale) = warm_up(for_second, q, scale, .5);  // now each parameter is measured by its own deviation
  q.block_until_ready();
  const double warm = seconds();
  const auto [draws, acceptances] = sample(for_draws, q, step, scale);
  draws.block_until_ready();
  const double end = seconds();

  const double acceptance = mean(acceptances).item<double>();
  const Exact exact = exact_posterior(wines);
  const Array flat = reshape(convert(draws, float64), {kDraws * kChains, kSize});
  const Array r = r_hat(convert(draws, float64)), off = (mean(flat, 0) - exact.mean) / exact.deviation,
              ratio = std_(flat, 0) / exact.deviation;
  fmt::print("step size {:.3f}, acceptance {:.3f}; warm-up {:.2f} s, draws {:.2f} s: {:.0f} gradients a second\n\n", step.item<double>(),
             acceptance, warm - from, end - warm, (kLeaps + 2.) * kChains * kDraws / (end - warm));
  fmt::print("{:14} {:>9} {:>9} {:>9} {:>9} {:>7}\n", "", "mean", "exact", "deviation", "exact", "R-hat");
  for (int k = 0; k < kSize; ++k)
    fmt::print("{:14} {:9.4f} {:9.4f} {:9.4f} {:9.4f} {:7.4f}\n", kNames[k], mean(flat(slice(), k)).item<double>(),
               exact.mean(k).item<double>(), std_(flat(slice(), k)).item<double>(), exact.deviation(k).item<double>(), r(k).item<double>());
  if (!path.empty()) draw(path, draws, exact);
  const bool accepted = acceptance > .6 && acceptance < .95, converged = max(r).item<double>() < 1.01;
  const bool right = max(abs(off)).item<double>() < .05 && max(abs(ratio - 1)).item<double>() < .05;
  fmt::print("acceptance {}, chains {}, moments {}\n", accepted ? "good" : "BAD", converged ? "converged" : "NOT converged",
             right ? "exact" : "WRONG");
  return accepted && converged && right ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
