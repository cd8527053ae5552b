// Diagnoses tumours by logistic regression, fitted by Newton's method: the Hessian comes from hessian(), each step solves with it.
//
//     newton [PICTURE.SVG]
//
// What it shows: hessian as forward over reverse mode, linear algebra and a while_loop inside jit, vmap of a whole fit over many penalties
// (each lane stops by itself), standard deviations from the Hessian's inverse, and how an answer moves with the penalty: jvp through the
// optimum. Returns 0 if the steps converge quadratically to a zero gradient, the derivatives are those of the textbook's formulas, and the
// diagnoses of tumours not learned from are right in 95 % of all cases.
#include <weft/plot.h>
#include <weft/testing.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "files.h"

using namespace weft;

static constexpr int kMeasures = 30, kSize = kMeasures + 1, kTest = 169, kPenalties = 25;

struct Cases {
  Array measures, benign;  // (n, 31), the last column ones; 0 or 1
};

/// Minus the mean log likelihood, and the penalty on all weights but the constant's.
static Array loss(const Array& w, const Cases& cases, const Array& penalty) {
  const Array score = matmul(cases.measures, w);
  return mean(nn::softplus(score) - cases.benign * score) + penalty / 2 * sum(square(w(slice(kMeasures))));
}

static Array newton_step(const Array& w, const Cases& cases, const Array& penalty) {
  return w - linalg::solve(hessian(loss)(w, cases, penalty), grad(loss)(w, cases, penalty));
}

/// The minimum for a penalty, as one program.
static Array fit(const Cases& cases, const Array& penalty) {
  auto steep = [&](auto state) { return max(abs(grad(loss)(state.first, cases, penalty))) > 1e-11; };
  auto step = [&](auto state) { return std::pair{newton_step(state.first, cases, penalty), state.second + 1}; };
  return while_loop(steep, step, std::pair{zeros(kSize, float64), 0}, {.max_steps = 30}).first;
}

static double accuracy(const Array& w, const Cases& cases) {
  return mean((matmul(cases.measures, w) > 0) == (cases.benign > .5)).item<double>();
}

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static int run(const std::string& path) {
  const Array table = files::read_table(WEFT_SAMPLE_DATA "/breast_cancer.csv.gz", kMeasures + 1);
  const int count = static_cast<int>(table.shape()[0]), train = count - kTest;
  const Array rows = random::permutation(random::key(1), table);
  const Array x = rows(slice(), slice(kMeasures)), centre = mean(x(slice(train)), 0), spread = std_(x(slice(train)), 0);
  const Cases all{concatenate({(x - centre) / spread, ones({count, 1}, float64)}, 1), rows(slice(), kMeasures)};
  const Cases learned = tree::map([&](Array a) { return a(slice(train)); }, all),
              test = tree::map([&](Array a) { return a(slice(train, none)); }, all);
  fmt::print("{} tumours to learn from, {} to test with, {} weights\n\n", train, kTest, kSize);

  // Newton's steps one by one.
  auto step = jit(newton_step, {.name = "newton"});
  auto gradient = jit(grad(loss));
  const Array penalty = array(1e-2, float64);  // a bare number would arrive as a float32
  const double t0 = seconds();
  Array w = zeros(kSize, float64);
  step(w, learned, penalty).block_until_ready();
  fmt::print("a step is compiled in {:.0f} ms\n", 1e3 * (seconds() - t0));
  std::vector<Array> path_of_w;
  std::vector<double> norms;
  for (int i = 0; i < 10; ++i) {
    norms.push_back(linalg::norm(gradient(w, learned, penalty)).item<double>());
    path_of_w.push_back(w);
    w = step(w, learned, penalty);
  }
  std::vector<double> errors;
  for (const Array& at : path_of_w) errors.push_back(linalg::norm(at - w).item<double>());
  bool quadratic = false;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    fmt::print("step {}: loss {:.12f}, gradient {:.2e}, distance to the minimum {:.2e}", i,
               loss(path_of_w[i], learned, penalty).item<double>(), norms[i], errors[i]);
    if (i > 1 && errors[i] > 1e-13) {
      const double order = std::log(errors[i] / errors[i - 1]) / std::log(errors[i - 1] / errors[i - 2]);
      fmt::print(", order {:.2f}", order);
      if (errors[i] < 1e-4) quadratic = order > 1.8;
    }
    fmt::print("\n");
  }

  // The derivatives by hand: X^T (p - y) / n + penalty w, and X^T diag(p (1 - p)) X / n + penalty I.
  const Array some = path_of_w[2], p = sigmoid(matmul(learned.measures, some)), weighed = (penalty * ones(kSize)).at(kMeasures).set(0);
  const Array gradient_by_hand = matmul(p - learned.benign, learned.measures) / train + weighed * some;
  const Array curvature_by_hand =
      matmul(transpose(learned.measures) * (p * (1 - p)), learned.measures) / train + weighed * eye(kSize, kSize, 0, float64);
  check_close(gradient(some, learned, penalty), gradient_by_hand);
  check_close(hessian(loss)(some, learned, penalty), curvature_by_hand);
  fmt::print("gradient and Hessian are those of the formulas\n\n");

  const double right = accuracy(w, test);
  const Array deviations = sqrt(linalg::diagonal(linalg::inv(hessian(loss)(w, learned, penalty))) / train);
  const auto [strongest, where_] = top_k(abs(w(slice(kMeasures))), 3);
  fmt::print("right about {:.1f} % of the tumours learned from and {:.1f} % of the others\n", 100 * accuracy(w, learned), 100 * right);
  for (int m : where_.to_vector<int>())
    fmt::print("measure {:2}: weight {:.3f} +- {:.3f}\n", m, w(m).item<double>(), deviations(m).item<double>());

  // All penalties at once; and how the weights move with the penalty, through the while_loop, against the implicit function theorem.
  const Array penalties = pow(10., linspace(-5., 0., kPenalties, float64));
  const double t1 = seconds();
  const Array weights = jit(vmap(fit, {.in_axes = {none, 0}}))(learned, penalties);
  weights.block_until_ready();
  fmt::print("\n{} fits with other penalties, compiled and run in {:.2f} s\n", kPenalties, seconds() - t1);
  const Array losses = vmap([&](Array v) { return loss(v, test, 0.); })(weights);
  const int best = argmin(losses).item<int>();
  fmt::print("the others are foretold best with penalty {:.1e}: mean log likelihood {:.4f}\n", penalties(best).item<double>(),
             -losses(best).item<double>());
  const Array moving = jvp([&](Array l) { return fit(learned, l); }, std::tuple{penalty}, std::tuple{ones_like(penalty)}).second;
  const Array implicit = -linalg::solve(hessian(loss)(w, learned, penalty), w.at(kMeasures).set(0));
  const double off = max(abs(moving - implicit)).item<double>() / max(abs(implicit)).item<double>();
  fmt::print("derivative of the weights by the penalty: jvp through the loop and the implicit function theorem differ by {:.1e}\n", off);

  if (!path.empty()) {
    Plot way({.title = "distance to the minimum", .x_label = "Newton step", .y_log = true, .width = 430});
    way.line(errors, {.marker = Marker::circle});
    Plot ridge({.title = "each weight by the penalty", .x_label = "penalty", .x_log = true, .width = 430});
    for (int m = 0; m < kMeasures; ++m) ridge.line(penalties, weights(slice(), m), {.width = 1.2});
    ridge.vertical(penalties(best).item<double>(), {.label = "foretells best"});
    Figure({way, ridge}).save(path);
    fmt::print("picture: {}\n", path);
  }
  const bool zero = norms.back() < 1e-13;
  fmt::print("gradient {}, convergence {}, diagnoses {}\n", zero ? "zero" : "NOT zero", quadratic ? "quadratic" : "NOT quadratic",
             right >= .95 ? "good" : "BAD");
  return zero && quadratic && right >= .95 && off < 1e-6 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
