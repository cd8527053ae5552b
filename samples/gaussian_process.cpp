// Learns the carbon dioxide record of Mauna Loa by Gaussian-process regression and forecasts its last fifteen years: the covariance's
// parameters are those of greatest marginal likelihood, found with the gradient through a Cholesky factorisation.
//
//     gaussian_process [PICTURE.SVG]
//
// What it shows: linear algebra in double precision inside grad and jit, a struct of parameters, BFGS written in a few lines, jacfwd, vmap
// of a kernel function of two points into a matrix. Returns 0 if the gradient is the one of the textbook's formula, the predictions are
// those of conditioning the joint normal distribution by brute force, and the forecast holds: its error is small and nearly all months lie
// within its error bars.
//
// C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning (2006): equations 2.23 to 2.26, 5.9, and the kernel of
// section 5.4.3.
#include <weft/plot.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "files.h"

using namespace weft;

/// The covariance's parameters, as logarithms: four parts of it, and noise.
struct Kernel {
  Array trend, trend_years;                  // a smooth rise
  Array season, season_years, season_shape;  // a yearly wave that changes slowly
  Array medium, medium_years, medium_shape;  // irregularities of a few years
  Array blur, blur_years, noise;             // what is correlated over months, and what is not
};
static const char* const kNames[] = {"trend, ppm",    "trend, years",  "season, ppm", "season, years", "season, shape", "medium, ppm",
                                     "medium, years", "medium, shape", "blur, ppm",   "blur, years",   "noise, ppm"};

static constexpr double kForecast = 1987;

/// The covariance of the concentrations at two times, noise aside.
static Array covariance(const Kernel& log_kernel, const Array& s, const Array& t) {
  const Kernel k = tree::map([](Array x) { return exp(x); }, log_kernel);
  const Array apart = s - t, squared = square(apart), wave = square(sin(std::numbers::pi * apart));
  return square(k.trend) * exp(-squared / (2 * square(k.trend_years))) +
         square(k.season) * exp(-squared / (2 * square(k.season_years)) - 2 * wave / square(k.season_shape)) +
         square(k.medium) * pow(1 + squared / (2 * k.medium_shape * square(k.medium_years)), -k.medium_shape) +
         square(k.blur) * exp(-squared / (2 * square(k.blur_years)));
}

/// Of each time in s with each in t.
static Array matrix(const Kernel& k, const Array& s, const Array& t) {
  auto row = vmap(covariance, {.in_axes = {none, none, 0}});
  return vmap(row, {.in_axes = {none, 0, none}})(k, s, t);
}
static Array noisy_matrix(const Kernel& k, const Array& t) {
  const int n = static_cast<int>(t.size());
  return matrix(k, t, t) + exp(2 * k.noise) * eye(n, n, 0, float64);
}

struct Series {
  Array times, values;
};

/// The negative logarithm of the marginal likelihood.
static Array loss(const Kernel& k, const Series& data) {
  const Array factor = linalg::cholesky(noisy_matrix(k, data.times));
  const Array white = linalg::triangular_solve(factor, data.values, {.lower = true});
  return sum(square(white)) / 2 + sum(log(linalg::diagonal(factor))) + data.values.size() / 2. * std::log(2 * std::numbers::pi);
}

struct Forecast {
  Array mean, variance;
};
static Forecast forecast(const Kernel& k, const Series& data, const Array& at) {
  const Array factor = linalg::cholesky(noisy_matrix(k, data.times)), cross = matrix(k, data.times, at);
  const Array white = linalg::triangular_solve(factor, data.values, {.lower = true});
  const Array known = linalg::triangular_solve(factor, cross, {.lower = true});
  const Array before = vmap(covariance, {.in_axes = {none, 0, 0}})(k, at, at);
  return {matmul(transpose(known), white), before - sum(square(known), 0) + exp(2 * k.noise)};
}

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Quasi-Newton descent (BFGS with a halving line search) on a function that gives value and gradient. Returns where it ends.
static Array minimise(const std::function<std::pair<Array, Array>(Array)>& value_and_gradient, Array x, int steps) {
  const int n = static_cast<int>(x.size());
  Array inverse = eye(n, n, 0, float64) * .01;
  auto [value, gradient] = value_and_gradient(x);
  int i = 0;
  for (; i < steps && max(abs(gradient)).item<double>() > 1e-3; ++i) {
    const Array direction = -matmul(inverse, gradient);
    const double descent = dot(direction, gradient).item<double>();
    double length = 1;
    auto [next, next_gradient] = value_and_gradient(x + direction);
    while (!(next.item<double>() <= value.item<double>() + 1e-4 * length * descent) && length > 1e-6) {
      length /= 2;
      std::tie(next, next_gradient) = value_and_gradient(x + length * direction);
    }
    const Array moved = length * direction, change = next_gradient - gradient;
    const double curvature = dot(moved, change).item<double>();
    if (curvature > 1e-10) {
      const Array turn = eye(n, n, 0, float64) - outer(moved, change) / curvature;
      inverse = matmul(matmul(turn, inverse), transpose(turn)) + outer(moved, moved) / curvature;
    }
    x = x + moved, value = next, gradient = next_gradient;
    if (i % 10 == 0)
      fmt::print("step {:3}: -log likelihood {:.4f}, largest gradient {:.1e}\n", i, value.item<double>(),
                 max(abs(gradient)).item<double>());
  }
  fmt::print("step {:3}: -log likelihood {:.4f}, largest gradient {:.1e}\n", i, value.item<double>(), max(abs(gradient)).item<double>());
  return x;
}

static void draw(const std::string& path, const Series& known, const Series& later, const Forecast& f, double offset) {
  Plot p({.title = "carbon dioxide at Mauna Loa, learned until 1986 and forecast",
          .x_label = "year",
          .y_label = "ppm",
          .width = 860,
          .height = 400});
  const Array deviation = sqrt(f.variance), middle = offset + f.mean;
  p.band(later.times, middle - 1.96 * deviation, middle + 1.96 * deviation,
         {.label = "95 % of the forecast", .color = "#e6750d", .opacity = 0.3});
  p.line(later.times, middle, {.label = "forecast", .color = "#e6750d", .width = 1.4});
  p.scatter(known.times, offset + known.values, {.label = "learned from", .color = "#888", .size = 3});
  p.scatter(later.times, offset + later.values, {.label = "measured later", .size = 3});
  p.save(path);
  fmt::print("picture: {}\n", path);
}

static int run(const std::string& path) {
  const Array table = files::read_table(WEFT_SAMPLE_DATA "/co2.csv.gz", 2);
  const Array times = table(slice(), 0), ppm = table(slice(), 1);
  const int split = searchsorted(times, kForecast).item<int>();
  const double offset = mean(ppm(slice(split))).item<double>();
  const Series known{times(slice(split)), ppm(slice(split)) - offset}, later{times(slice(split, none)), ppm(slice(split, none)) - offset};
  fmt::print("{} months to learn from, {} to forecast\n", known.times.size(), later.times.size());

  const Kernel guess = tree::map([](Array x) { return convert(log(x), float64); }, Kernel{50., 50., 2., 100., 1.5, 1., 1., 1., .2, .1, .2});
  const auto [start, unravel] = tree::ravel(guess);
  auto objective = jit([&](Array flat) { return value_and_grad([&](Array v) { return loss(unravel(v), known); })(flat); });
  const double t0 = seconds();
  objective(start).first.block_until_ready();
  const double t1 = seconds();
  objective(start).first.block_until_ready();
  const double t2 = seconds();
  fmt::print("likelihood and gradient: compiled in {:.2f} s, evaluated in {:.1f} ms\n", t1 - t0, 1e3 * (t2 - t1));
  const Array found = minimise(objective, start, 150);
  const Kernel kernel = unravel(found);
  const double t3 = seconds();
  fmt::print("optimised in {:.1f} s:", t3 - t2);
  const std::vector<double> values = exp(found).to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) fmt::print("{}{} {:.3g}", i % 6 == 0 ? "\n  " : "; ", kNames[i], values[i]);

  // The gradient by equation 5.9: half the trace of (K^-1 - a a^T) dK, with a = K^-1 y, at the first guess and at the optimum.
  auto by_formula = [&](Array flat) {
    auto k = [&](Array v) { return noisy_matrix(unravel(v), known.times); };
    const Array inverse = linalg::inv(k(flat)), a = matmul(inverse, known.values);
    return einsum("ij,ijp->p", inverse - outer(a, a), jacfwd(k)(flat)) / 2;
  };
  const Array formula = jit(by_formula)(start), gradient = objective(start).second;
  const double wrong = (max(abs(formula - gradient)) / max(abs(formula))).item<double>();
  fmt::print("\n\ngradient by the factorisation and by the formula differ by {:.1e} of its largest element\n", wrong);

  // The same forecast by conditioning: all of the joint covariance, inverted.
  const Forecast f = jit(forecast)(kernel, known, later.times);
  const Array joint = matmul(transpose(matrix(kernel, known.times, later.times)), linalg::inv(noisy_matrix(kernel, known.times)));
  const Array mean_by_inverse = matmul(joint, known.values);
  const Array variance_by_inverse =
      linalg::diagonal(noisy_matrix(kernel, later.times) - matmul(joint, matrix(kernel, known.times, later.times)));
  const double off = max(abs(f.mean - mean_by_inverse)).item<double>(),
               spread_off = max(abs(f.variance - variance_by_inverse)).item<double>();
  fmt::print("forecast by factorisation and by inversion differ by {:.1e} ppm, its variance by {:.1e}\n", off, spread_off);

  const Array miss = f.mean - later.values;
  const double error = sqrt(mean(square(miss))).item<double>(), first = sqrt(mean(square(miss(slice(24))))).item<double>();
  const double inside = mean(abs(miss) < 1.96 * sqrt(f.variance)).item<double>();
  fmt::print(
      "forecast's error: {:.2f} ppm over the first two years, {:.2f} over fifteen; {:.0f} % of the months lie within the 95 % interval\n",
      first, error, 100 * inside);
  if (!path.empty()) draw(path, known, later, f, offset);
  const bool exact = wrong < 1e-6 && off < 1e-4 && spread_off < 1e-4, good = first < 1.2 && error < 1.5 && inside > .9;
  fmt::print("formulas {}, forecast {}\n", exact ? "agree" : "DISAGREE", good ? "good" : "BAD");
  return exact && good ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
