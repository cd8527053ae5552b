// Transforms along the last axis, of complex and of real signals. A real one of even length is a complex one of half the length, whose
// parts are the even and the odd elements.
#include <algorithm>

#include "weft/backends/cpu/fft/axes.h"
#include "weft/backends/cpu/fft/ranges.h"
#include "weft/backends/cpu/fft/roots.h"
#include "weft/backends/cpu/scratch.h"

namespace weft::detail {

template <class T>
LastAxis<T>::LastAxis(FftType type, std::int64_t n, std::int64_t lines)
    : type_(type), n_(n), half_(n / 2), lines_(lines), loops_(fft_loops<T>()) {
  const bool real_in = type == FftType::rfft, real_out = type == FftType::irfft;
  by_halves_ = (real_in || real_out) && n % 2 == 0;
  in_stride_ = real_in ? n : real_out ? 2 * (half_ + 1) : 2 * n;
  out_stride_ = real_out ? n : real_in ? 2 * (half_ + 1) : 2 * n;
  const std::int64_t length = by_halves_ ? half_ : n, blocks = (lines + loops_.lanes - 1) / loops_.lanes;
  const double in_lanes = LaneTransform<T>::cycles(length), alone = LineTransform<T>::cycles(length);
  if (in_lanes * static_cast<double>(blocks) <= alone * static_cast<double>(lines)) {
    lanes_ = std::make_unique<LaneTransform<T>>(length);
    cycles_ = in_lanes;
  } else {
    line_ = std::make_unique<LineTransform<T>>(length);
    cycles_ = alone;
  }
  if (!by_halves_) return;
  const UnitRoots<T> roots(n);
  for (std::int64_t k = 0; k <= half_ / 2; ++k) {
    const std::complex<T> w = roots(k);
    roots_.push_back(w.real()), roots_.push_back(w.imag());
  }
}

template <class T>
void LastAxis<T>::run(const T* in, T* out, T scale) const {
  if (lanes_) {
    return in_ranges_of((lines_ + loops_.lanes - 1) / loops_.lanes, cycles_,
                        [&](std::int64_t first, std::int64_t last) { run_blocks(first, last, in, out, scale); });
  }
  const auto run_lines = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t l = first; l < last; ++l) run_line(in + l * in_stride_, out + l * out_stride_, scale);
  };
  // A few long lines are cut among the threads themselves.
  constexpr double kLong = 1e6;
  if (lines_ < 16 && cycles_ > kLong) return run_lines(0, lines_);
  in_ranges_of(lines_, cycles_, run_lines);
}

template <class T>
void LastAxis<T>::run_blocks(std::int64_t first, std::int64_t last, const T* in, T* out, T scale) const {
  const std::int64_t lanes = loops_.lanes, size = 2 * lanes * std::max(lanes_->capacity(), by_halves_ ? half_ + 1 : n_);
  const Scratch<T> memory(2 * size);
  for (std::int64_t b = first; b < last; ++b) {
    const auto count = static_cast<int>(std::min(lanes, lines_ - b * lanes));
    run_block(memory.get(), memory.get() + size, in + b * lanes * in_stride_, out + b * lanes * out_stride_, count, scale);
  }
}

template <class T>
void LastAxis<T>::run_block(T* block, T* other, const T* in, T* out, int count, T scale) const {
  switch (type_) {
    case FftType::fft:
    case FftType::ifft: {
      const bool inverse = type_ == FftType::ifft;
      loops_.load_lines(block, in, n_, in_stride_, count, inverse);
      return loops_.store_lines(lanes_->run(block, other), out, n_, out_stride_, count, inverse, scale);
    }
    case FftType::rfft: {
      if (by_halves_)
        loops_.load_lines(block, in, half_, in_stride_, count, false);
      else
        loops_.load_real_lines(block, in, n_, in_stride_, count);
      T* result = lanes_->run(block, other);
      if (by_halves_) loops_.split_real(result, half_, roots_.data());
      return loops_.store_lines(result, out, half_ + 1, out_stride_, count, false, scale);
    }
    case FftType::irfft:
      loops_.load_lines(block, in, half_ + 1, in_stride_, count, !by_halves_);
      if (by_halves_) {
        loops_.join_real(block, half_, roots_.data());
        return loops_.store_lines(lanes_->run(block, other), out, half_, out_stride_, count, true, scale);
      }
      loops_.complete_swapped(block, n_);
      return loops_.store_swapped_real_lines(lanes_->run(block, other), out, n_, out_stride_, count, scale);
  }
}

template <class T>
void LastAxis<T>::run_line(const T* in, T* out, T scale) const {
  switch (type_) {
    case FftType::fft: return line_->run(in, out, false, scale);
    case FftType::ifft: return line_->run(in, out, true, scale);
    case FftType::rfft: return run_real_line(in, out);
    case FftType::irfft: return run_inverse_real_line(in, out, scale);
  }
}

template <class T>
void LastAxis<T>::run_real_line(const T* in, T* out) const {
  if (!by_halves_) {
    const Scratch<T> line(2 * n_);
    for (std::int64_t j = 0; j < n_; ++j) line[2 * j] = in[j], line[2 * j + 1] = T(0);
    line_->run(line.get(), line.get(), false, T(1));
    std::copy(line.get(), line.get() + 2 * (half_ + 1), out);
    return;
  }
  line_->run(in, out, false, T(1));
  const T re = out[0], im = out[1];
  out[0] = re + im, out[1] = T(0), out[2 * half_] = re - im, out[2 * half_ + 1] = T(0);
  in_ranges_of(half_ / 2, 8,
               [&](std::int64_t first, std::int64_t last) { loops_.split_real_line(out, half_, roots_.data(), first + 1, last + 1); });
}

template <class T>
void LastAxis<T>::run_inverse_real_line(const T* in, T* out, T scale) const {
  const Scratch<T> line(2 * (by_halves_ ? half_ : n_));
  if (by_halves_) {
    line[0] = in[0] + in[2 * half_], line[1] = in[0] - in[2 * half_];
    in_ranges_of(half_ / 2, 8, [&](std::int64_t first, std::int64_t last) {
      loops_.join_real_line(line.get(), in, half_, roots_.data(), first + 1, last + 1);
    });
    return line_->run(line.get(), out, true, scale);
  }
  line[0] = in[0], line[1] = T(0);
  for (std::int64_t k = 1; k <= half_; ++k) {
    line[2 * k] = line[2 * (n_ - k)] = in[2 * k];
    line[2 * k + 1] = in[2 * k + 1], line[2 * (n_ - k) + 1] = -in[2 * k + 1];
  }
  line_->run(line.get(), line.get(), true, scale);
  for (std::int64_t j = 0; j < n_; ++j) out[j] = line[2 * j];
}

template class LastAxis<float>;
template class LastAxis<double>;

}  // namespace weft::detail
