#include "weft/backends/cpu/fft/line.h"

#include <algorithm>
#include <limits>

#include "weft/backends/cpu/fft/ranges.h"
#include "weft/backends/cpu/fft/roots.h"
#include "weft/backends/cpu/scratch.h"

namespace weft::detail {
namespace {

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// Cycles with n1 rows; n1 = 1: the line is one lane of a block.
template <class T>
double cycles_with_rows(std::int64_t n, std::int64_t n1) {
  const std::int64_t n2 = n / n1, lanes = fft_loops<T>().lanes;
  if (n1 == 1) return LaneTransform<T>::cycles(n);
  return static_cast<double>(round_up(n2, lanes) / lanes) * LaneTransform<T>::cycles_by_factors(n1) +
         static_cast<double>(round_up(n1, lanes) / lanes) * (LaneTransform<T>::cycles_by_factors(n2) + 15 * static_cast<double>(n2));
}
template <class T>
std::int64_t best_rows(std::int64_t n) {
  std::int64_t best = 1;
  double least = cycles_with_rows<T>(n, 1);
  for (std::int64_t n1 = 2; n1 * n1 <= n; ++n1)
    if (n % n1 == 0)
      for (const std::int64_t rows : {n1, n / n1})
        if (const double c = cycles_with_rows<T>(n, rows); c < least) best = rows, least = c;
  return best;
}

}  // namespace

template <class T>
double LineTransform<T>::cycles_by_factors(std::int64_t n) {
  if (!has_small_factors_only(n)) return std::numeric_limits<double>::infinity();
  return cycles_with_rows<T>(n, best_rows<T>(n));
}
template <class T>
double LineTransform<T>::cycles_by_convolution(std::int64_t n) {
  const std::int64_t padded = convolution_length(n);
  return 2 * cycles_by_factors(padded) + 10 * static_cast<double>(padded);
}
template <class T>
double LineTransform<T>::cycles(std::int64_t n) {
  return std::min(cycles_by_factors(n), cycles_by_convolution(n));
}

template <class T>
LineTransform<T>::LineTransform(std::int64_t n) : n_(n), loops_(fft_loops<T>()), cycles_(cycles(n)) {
  if (cycles_by_convolution(n) < cycles_by_factors(n)) {
    padded_ = convolution_length(n);
    convolution_ = std::make_unique<LineTransform>(padded_);
    chirp_ = conjugate_chirp_ = bluestein_chirp<T>(n);
    for (std::size_t j = 1; j < conjugate_chirp_.size(); j += 2) conjugate_chirp_[j] = -conjugate_chirp_[j];
    spectrum_ = bluestein_spectrum<T>(n, padded_);
    return;
  }
  n1_ = best_rows<T>(n), n2_ = n / n1_;
  if (n1_ == 1) {
    rows_ = std::make_unique<LaneTransform<T>>(n2_);
    return;
  }
  rows_ = LaneTransform<T>::of_factors(n2_), columns_ = LaneTransform<T>::of_factors(n1_);
  const std::int64_t lanes = loops_.lanes, rows = round_up(n1_, lanes);
  const UnitRoots<T> roots(n);
  turns_.resize(static_cast<std::size_t>(2 * lanes * rows));
  steps_.resize(static_cast<std::size_t>(round_up(n2_, lanes) / lanes * 2 * rows));
  for (std::int64_t k = 0; k < n1_; ++k) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      const std::complex<T> w = roots(k * l % n);
      turns_[static_cast<std::size_t>(2 * lanes * k + l)] = w.real();
      turns_[static_cast<std::size_t>(2 * lanes * k + lanes + l)] = w.imag();
    }
    for (std::int64_t c = 0; c * lanes < n2_; ++c) {
      const std::complex<T> w = roots(k * c * lanes % n);
      steps_[static_cast<std::size_t>(2 * (c * rows + k))] = w.real();
      steps_[static_cast<std::size_t>(2 * (c * rows + k) + 1)] = w.imag();
    }
  }
}
template <class T>
LineTransform<T>::~LineTransform() = default;

template <class T>
void LineTransform<T>::run(const T* from, T* to, bool inverse, T scale) const {
  if (padded_ > 0) return by_convolution(from, to, inverse, scale);
  if (n1_ > 1) return by_steps(from, to, inverse, scale);
  const std::int64_t block = 2 * loops_.lanes * rows_->capacity();
  const Scratch<T> memory(2 * block);
  loops_.load_lines(memory.get(), from, n_, 0, 1, inverse);
  const T* result = rows_->run(memory.get(), memory.get() + block);
  loops_.store_lines(result, to, n_, 0, 1, inverse, scale);
}

template <class T>
void LineTransform<T>::transform_columns(std::int64_t first, std::int64_t last, const T* from, bool inverse, T* blocks) const {
  const std::int64_t lanes = loops_.lanes, size = 2 * lanes * round_up(n1_, lanes);
  const Scratch<T> memory(2 * lanes * n1_);
  for (std::int64_t c = first; c < last; ++c) {
    T *block = blocks + c * size, *start = columns_->lands_in_other() ? memory.get() : block;
    const auto count = static_cast<int>(std::min(lanes, n2_ - c * lanes));
    loops_.load_columns(start, from + 2 * c * lanes, n1_, 2 * n2_, count, inverse);
    columns_->run(start, start == block ? memory.get() : block);
    std::fill(block + 2 * lanes * n1_, block + size, T(0));
  }
}

template <class T>
void LineTransform<T>::transform_rows(std::int64_t first, std::int64_t last, const T* blocks, T* to, bool inverse, T scale) const {
  const std::int64_t lanes = loops_.lanes, rows = round_up(n1_, lanes), size = 2 * lanes * n2_;
  const Scratch<T> memory(2 * size);
  for (std::int64_t r = first; r < last; ++r) {
    const std::int64_t at = 2 * lanes * lanes * r;
    loops_.transpose(memory.get(), blocks + at, n2_, 2 * lanes * rows, turns_.data() + at, steps_.data() + 2 * lanes * r, 2 * rows);
    const T* result = rows_->run(memory.get(), memory.get() + size);
    const auto count = static_cast<int>(std::min(lanes, n1_ - r * lanes));
    loops_.store_columns(result, to + 2 * r * lanes, n2_, 2 * n1_, count, inverse, scale);
  }
}

template <class T>
void LineTransform<T>::by_steps(const T* from, T* to, bool inverse, T scale) const {
  const std::int64_t lanes = loops_.lanes, columns = round_up(n2_, lanes) / lanes, rows = round_up(n1_, lanes) / lanes;
  const Scratch<T> blocks(columns * rows * lanes * 2 * lanes);
  in_ranges_of(columns, cycles_ / 2 / static_cast<double>(columns),
               [&](std::int64_t first, std::int64_t last) { transform_columns(first, last, from, inverse, blocks.get()); });
  in_ranges_of(rows, cycles_ / 2 / static_cast<double>(rows),
               [&](std::int64_t first, std::int64_t last) { transform_rows(first, last, blocks.get(), to, inverse, scale); });
}

template <class T>
void LineTransform<T>::by_convolution(const T* from, T* to, bool inverse, T scale) const {
  const Scratch<T> memory(2 * padded_);
  T* line = memory.get();
  constexpr double kCycles = 5;
  // A swapped element times a conjugate factor is the swapped product.
  in_ranges_of(n_, kCycles, [&](std::int64_t first, std::int64_t last) {
    loops_.multiply_line(line + 2 * first, from + 2 * first, chirp_.data() + 2 * first, last - first, inverse, T(1));
  });
  std::fill(line + 2 * n_, line + 2 * padded_, T(0));
  convolution_->run(line, line, false, T(1));
  in_ranges_of(padded_, kCycles, [&](std::int64_t first, std::int64_t last) {
    loops_.multiply_line(line + 2 * first, line + 2 * first, spectrum_.data() + 2 * first, last - first, true, T(1));
  });
  convolution_->run(line, line, false, T(1));
  in_ranges_of(n_, kCycles, [&](std::int64_t first, std::int64_t last) {
    const T* factors = (inverse ? conjugate_chirp_ : chirp_).data() + 2 * first;
    loops_.multiply_line(to + 2 * first, line + 2 * first, factors, last - first, !inverse, scale);
  });
}

template class LineTransform<float>;
template class LineTransform<double>;

}  // namespace weft::detail
