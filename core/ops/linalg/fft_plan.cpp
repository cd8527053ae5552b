#include <cmath>
#include <numbers>

#include "weft/core/ops/linalg/fft.h"

namespace weft::detail {

namespace {
using Complex = std::complex<double>;

/// The n-th roots of unity, exp(-2 pi i k / n), each accurate of itself.
std::vector<Complex> unit_roots(std::int64_t n) {
  std::vector<Complex> roots;
  for (std::int64_t k = 0; k < n; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    roots.emplace_back(std::cos(angle), std::sin(angle));
  }
  return roots;
}
// std::complex's own product looks for infinities.
Complex product(Complex a, Complex b) { return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()}; }

constexpr std::int64_t kLargestFactor = 61;
}  // namespace

struct FourierTransform::Plan {
  std::int64_t n = 1;
  std::vector<std::int64_t> factors;
  std::vector<Complex> roots, work;
  // For a length with a large prime factor.
  std::unique_ptr<FourierTransform> convolution;
  std::int64_t padded = 0;
  std::vector<Complex> chirp, chirp_spectrum, line;

  void by_factors(Complex* x);
  void by_convolution(Complex* x);
};

FourierTransform::FourierTransform(std::int64_t n) : plan_(std::make_unique<Plan>()) {
  plan_->n = n;
  std::int64_t rest = n;
  for (std::int64_t f = 4; rest > 1; f = f == 4 ? 2 : f == 2 ? 3 : f + 2) {
    while (rest % f == 0) plan_->factors.push_back(f), rest /= f;
    if (f * f > rest && f > 4 && rest > 1) plan_->factors.push_back(rest), rest = 1;
  }
  if (!plan_->factors.empty() && plan_->factors.back() > kLargestFactor) {
    // x[k] = c[k] sum_j (x[j] c[j]) / c[k - j] with c[k] = exp(-pi i k^2 / n): a convolution, done by transforms of a power of two.
    const auto roots = unit_roots(2 * n);
    for (std::int64_t k = 0; k < n; ++k) plan_->chirp.push_back(roots[static_cast<std::size_t>(k * k % (2 * n))]);
    plan_->padded = 1;
    while (plan_->padded < 2 * n) plan_->padded *= 2;
    plan_->convolution = std::make_unique<FourierTransform>(plan_->padded);
    plan_->line.resize(static_cast<std::size_t>(plan_->padded));
    plan_->chirp_spectrum.resize(static_cast<std::size_t>(plan_->padded));
    for (std::int64_t k = 0; k < n; ++k) {
      const Complex c = std::conj(plan_->chirp[static_cast<std::size_t>(k)]) / static_cast<double>(plan_->padded);
      plan_->chirp_spectrum[static_cast<std::size_t>(k)] = c;
      if (k > 0) plan_->chirp_spectrum[static_cast<std::size_t>(plan_->padded - k)] = c;
    }
    plan_->convolution->run(plan_->chirp_spectrum.data());
    return;
  }
  plan_->roots = unit_roots(n);
  plan_->work.resize(static_cast<std::size_t>(n));
}
FourierTransform::~FourierTransform() = default;

void FourierTransform::run(Complex* x) {
  if (plan_->convolution)
    plan_->by_convolution(x);
  else
    plan_->by_factors(x);
}

// Stockham's algorithm. Before a step with radix p, x holds transforms of length `done` of n / done interleaved sequences: element k of
// sequence s lies at k * (n / done) + s; the step combines p sequences at a time.
void FourierTransform::Plan::by_factors(Complex* x) {
  Complex *from = x, *to = work.data();
  std::int64_t done = 1;
  Complex terms[kLargestFactor];
  for (const std::int64_t p : factors) {
    const std::int64_t sequences = n / done, left = sequences / p, step = n / p, turn = n / (done * p);
    for (std::int64_t k = 0; k < done; ++k)
      for (std::int64_t s = 0; s < left; ++s) {
        for (std::int64_t j = 0; j < p; ++j)
          terms[j] = product(from[k * sequences + j * left + s], roots[static_cast<std::size_t>(j * k * turn)]);
        Complex* out = to + k * left + s;
        const std::int64_t stride = done * left;
        if (p == 2) {
          out[0] = terms[0] + terms[1], out[stride] = terms[0] - terms[1];
        } else if (p == 4) {
          const Complex a = terms[0] + terms[2], b = terms[0] - terms[2], c = terms[1] + terms[3], d = terms[1] - terms[3];
          const Complex rotated(d.imag(), -d.real());
          out[0] = a + c, out[stride] = b + rotated, out[2 * stride] = a - c, out[3 * stride] = b - rotated;
        } else {
          for (std::int64_t q = 0; q < p; ++q) {
            Complex sum = terms[0];
            for (std::int64_t j = 1; j < p; ++j) sum += product(terms[j], roots[static_cast<std::size_t>(j * q % p * step)]);
            out[q * stride] = sum;
          }
        }
      }
    std::swap(from, to);
    done *= p;
  }
  if (from != x) std::copy(from, from + n, x);
}

void FourierTransform::Plan::by_convolution(Complex* x) {
  std::fill(line.begin(), line.end(), Complex());
  for (std::size_t k = 0; k < chirp.size(); ++k) line[k] = product(x[k], chirp[k]);
  convolution->run(line.data());
  // The inverse transform is the conjugate of the transform of the conjugate.
  for (std::size_t k = 0; k < line.size(); ++k) line[k] = std::conj(product(line[k], chirp_spectrum[k]));
  convolution->run(line.data());
  for (std::size_t k = 0; k < chirp.size(); ++k) x[k] = product(std::conj(line[k]), chirp[k]);
}

}  // namespace weft::detail
