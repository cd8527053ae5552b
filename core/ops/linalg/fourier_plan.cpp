#include "weft/core/ops/linalg/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <utility>

namespace weft::detail {

namespace {
using Complex = std::complex<double>;

/// The n-th roots of unity, exp(-2 pi i k / n), each accurate of itself.
CBlock<Complex> unit_roots(std::int64_t n) {
  CBlock<Complex> roots(n);
  for (std::int64_t k = 0; roots && k < n; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    roots[k] = {std::cos(angle), std::sin(angle)};
  }
  return roots;
}
// Complex multiplication without std::complex's checks for infinities.
Complex product(Complex a, Complex b) { return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()}; }

constexpr std::int64_t kLargestFactor = 61;
}  // namespace

FourierPlan::FourierPlan(std::int64_t n) : n_(n) {
  std::int64_t rest = n;
  for (std::int64_t f = 4; rest > 1; f = f == 4 ? 2 : f == 2 ? 3 : f + 2) {
    while (rest % f == 0) factors_[num_factors_++] = f, rest /= f;
    if (f * f > rest && f > 4 && rest > 1) factors_[num_factors_++] = rest, rest = 1;
  }
  if (num_factors_ > 0 && factors_[num_factors_ - 1] > kLargestFactor) {
    // x[k] = c[k] sum_j (x[j] c[j]) / c[k - j] with c[k] = exp(-pi i k^2 / n): a convolution, done by transforms of a power of two.
    padded_ = 1;
    while (padded_ < 2 * n) padded_ *= 2;
    const CBlock<Complex> roots = unit_roots(2 * n);
    void* const memory = std::malloc(sizeof(FourierPlan));
    if (memory) convolution_ = new (memory) FourierPlan(padded_);
    chirp_ = CBlock<Complex>(n), line_ = CBlock<Complex>(padded_), chirp_spectrum_ = CBlock<Complex>(padded_);
    ready_ = roots && convolution_ && convolution_->ready() && chirp_ && line_ && chirp_spectrum_;
    if (!ready_) return;
    for (std::int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) chirp_[k] = roots[square];
    std::fill(&chirp_spectrum_[0], &chirp_spectrum_[0] + padded_, Complex());
    for (std::int64_t k = 0; k < n; ++k) {
      const Complex c = std::conj(chirp_[k]) / static_cast<double>(padded_);
      chirp_spectrum_[k] = c;
      if (k > 0) chirp_spectrum_[padded_ - k] = c;
    }
    convolution_->run(chirp_spectrum_.data());
    return;
  }
  roots_ = unit_roots(n);
  work_ = CBlock<Complex>(n);
  ready_ = roots_ && work_;
}
FourierPlan::~FourierPlan() {
  if (!convolution_) return;
  convolution_->~FourierPlan();
  std::free(convolution_);
}

void FourierPlan::run(Complex* x) {
  if (convolution_)
    by_convolution(x);
  else
    by_factors(x);
}

// Stockham's algorithm. Before a step with radix p, x holds transforms of length `done` of n / done interleaved sequences: element k of
// sequence s is at k * (n / done) + s; the step combines p sequences at a time.
void FourierPlan::by_factors(Complex* x) {
  Complex *from = x, *to = work_.data();
  std::int64_t done = 1;
  Complex terms[kLargestFactor];
  for (int i = 0; i < num_factors_; ++i) {
    const std::int64_t p = factors_[i];
    const std::int64_t sequences = n_ / done, left = sequences / p, step = n_ / p, turn = n_ / (done * p);
    for (std::int64_t k = 0; k < done; ++k)
      for (std::int64_t s = 0; s < left; ++s) {
        for (std::int64_t j = 0; j < p; ++j) terms[j] = product(from[k * sequences + j * left + s], roots_[j * k * turn]);
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
            for (std::int64_t j = 1; j < p; ++j) sum += product(terms[j], roots_[j * q % p * step]);
            out[q * stride] = sum;
          }
        }
      }
    std::swap(from, to);
    done *= p;
  }
  if (from != x) std::copy(from, from + n_, x);
}

void FourierPlan::by_convolution(Complex* x) {
  std::fill(line_.data(), line_.data() + padded_, Complex());
  for (std::int64_t k = 0; k < n_; ++k) line_[k] = product(x[k], chirp_[k]);
  convolution_->run(line_.data());
  // The inverse transform is the conjugate of the transform of the conjugate.
  for (std::int64_t k = 0; k < padded_; ++k) line_[k] = std::conj(product(line_[k], chirp_spectrum_[k]));
  convolution_->run(line_.data());
  for (std::int64_t k = 0; k < n_; ++k) x[k] = product(std::conj(line_[k]), chirp_[k]);
}

}  // namespace weft::detail
