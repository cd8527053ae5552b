#include "weft/backends/cpu/fft/lanes.h"

#include <algorithm>
#include <complex>
#include <limits>

#include "weft/backends/cpu/fft/roots.h"
#include "weft/core/ops/linalg/fft.h"

namespace weft::detail {
namespace {

/// Powers of two in as few passes of 16, 8, 4, 2 as there must be, then odd primes; empty where one is too large.
std::vector<std::int64_t> radices_of(std::int64_t n) {
  std::vector<std::int64_t> radices;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (int passes = (twos + 3) / 4; passes > 0; --passes) {
    const int bits = (twos + passes - 1) / passes;
    radices.push_back(std::int64_t{1} << bits);
    twos -= bits;
  }
  for (std::int64_t p = 3; n > 1; p += 2) {
    if (p > kLargestOddRadix) return {};
    for (; n % p == 0; n /= p) radices.push_back(p);
  }
  return radices;
}

/// Cycles of a pass for each element.
double pass_cycles(std::int64_t radix) {
  switch (radix) {
    case 2: return 6;
    case 3: return 8;
    case 4: return 8;
    case 5: return 13;
    case 8: return 11;
    case 16: return 16;
    default: return 8 + 2 * static_cast<double>(radix);
  }
}

}  // namespace

bool has_small_factors_only(std::int64_t n) { return n == 1 || !radices_of(n).empty(); }

std::int64_t convolution_length(std::int64_t n) {
  std::int64_t best = 0;
  for (const std::int64_t odd : {1, 3, 5, 9, 15}) {
    std::int64_t length = 16 * odd;
    while (length < 2 * n - 1) length *= 2;
    if (best == 0 || length < best) best = length;
  }
  return best;
}

template <class T>
std::vector<T> bluestein_chirp(std::int64_t n) {
  const UnitRoots<T> roots(2 * n);
  std::vector<T> chirp;
  for (std::int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {
    const std::complex<T> c = roots(square);
    chirp.push_back(c.real()), chirp.push_back(c.imag());
  }
  return chirp;
}

template <class T>
std::vector<T> bluestein_spectrum(std::int64_t n, std::int64_t padded) {
  const std::vector<double> chirp = bluestein_chirp<double>(n);
  std::vector<std::complex<double>> line(static_cast<std::size_t>(padded));
  for (std::int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const std::complex<double> c = std::complex(chirp[2 * at], -chirp[2 * at + 1]) / static_cast<double>(padded);
    line[at] = c;
    if (k > 0) line[static_cast<std::size_t>(padded - k)] = c;
  }
  FourierTransform(padded).run(line.data());
  std::vector<T> spectrum;
  // Conjugated: the product of a swapped element with it is the swapped product.
  for (const std::complex<double> c : line) spectrum.push_back(static_cast<T>(c.real())), spectrum.push_back(static_cast<T>(-c.imag()));
  return spectrum;
}

template <class T>
LaneTransform<T>::LaneTransform(std::int64_t n, bool by_convolution) : n_(n), loops_(fft_loops<T>()) {
  if (by_convolution) {
    padded_ = convolution_length(n);
    convolution_ = std::make_unique<LaneTransform>(padded_);
    chirp_ = bluestein_chirp<T>(n);
    spectrum_ = bluestein_spectrum<T>(n, padded_);
    return;
  }
  const UnitRoots<T> roots(n);
  const auto push = [](std::vector<T>& table, std::complex<T> c) { table.push_back(c.real()), table.push_back(c.imag()); };
  std::int64_t done = 1;
  for (const std::int64_t radix : radices_of(n)) {
    Pass p{{radix, done, n / done / radix}, {}, {}};
    const std::int64_t turn = n / (done * radix);
    for (std::int64_t k = 0; k < done; ++k)
      for (std::int64_t j = 1; j < radix; ++j) push(p.twiddles, roots(j * k * turn));
    for (std::int64_t j = 0; j < radix; ++j) push(p.roots, roots(j * (n / radix)));
    passes_.push_back(std::move(p));
    done *= radix;
  }
}
template <class T>
LaneTransform<T>::~LaneTransform() = default;

template <class T>
T* LaneTransform<T>::run(T* block, T* other) const {
  if (padded_ > 0) {
    const std::int64_t element = 2 * loops_.lanes;
    loops_.multiply(block, chirp_.data(), n_, false);
    std::fill(block + n_ * element, block + padded_ * element, T(0));
    T* x = convolution_->run(block, other);
    loops_.multiply(x, spectrum_.data(), padded_, true);
    T* y = convolution_->run(x, x == block ? other : block);
    loops_.multiply(y, chirp_.data(), n_, true);
    return y;
  }
  for (const Pass& p : passes_) {
    loops_.pass(p.pass, block, other, p.twiddles.data(), p.roots.data());
    std::swap(block, other);
  }
  return block;
}

template <class T>
double LaneTransform<T>::cycles_by_factors(std::int64_t n) {
  if (!has_small_factors_only(n)) return std::numeric_limits<double>::infinity();
  const double bytes = 4.0 * static_cast<double>(n) * fft_loops<T>().lanes * sizeof(T);
  const double memory = bytes < (1 << 15) ? 0 : bytes < (1 << 20) ? 4 : 20;
  double each = 20;
  for (const std::int64_t radix : radices_of(n)) each += pass_cycles(radix) + memory;
  return each * static_cast<double>(n) + 50;
}
template <class T>
double LaneTransform<T>::cycles_by_convolution(std::int64_t n) {
  constexpr double kElements = 0.75;  // of their cycles are left without those for bringing them in and out
  return 2 * kElements * cycles_by_factors(convolution_length(n));
}
template <class T>
double LaneTransform<T>::cycles(std::int64_t n) {
  return std::min(cycles_by_factors(n), cycles_by_convolution(n));
}

template class LaneTransform<float>;
template class LaneTransform<double>;
template std::vector<float> bluestein_chirp(std::int64_t);
template std::vector<double> bluestein_chirp(std::int64_t);
template std::vector<float> bluestein_spectrum(std::int64_t, std::int64_t);
template std::vector<double> bluestein_spectrum(std::int64_t, std::int64_t);

}  // namespace weft::detail
