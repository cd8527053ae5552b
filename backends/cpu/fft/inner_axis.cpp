// Transforms along an axis that is not the last: in vectors whose lanes are neighbouring lines, or line by line where lines are long.
#include <algorithm>

#include "weft/backends/cpu/fft/axes.h"
#include "weft/backends/cpu/fft/ranges.h"
#include "weft/backends/cpu/scratch.h"

namespace weft::detail {

template <class T>
InnerAxis<T>::InnerAxis(std::int64_t n, std::int64_t inner, std::int64_t outer)
    : n_(n), inner_(inner), outer_(outer), loops_(fft_loops<T>()) {
  constexpr std::int64_t kLargeBlocks = 1 << 26, kLongLine = 1 << 14;
  const std::int64_t bytes = 4 * loops_.lanes * n * static_cast<std::int64_t>(sizeof(T));
  if (bytes > kLargeBlocks || (n >= kLongLine && inner * outer <= loops_.lanes)) {
    line_ = std::make_unique<LineTransform<T>>(n);
    return;
  }
  lanes_ = std::make_unique<LaneTransform<T>>(n);
  mixed_ = outer > 1 && 2 * inner < loops_.lanes;
}

template <class T>
void InnerAxis<T>::run(const T* in, T* out, bool inverse, T scale) const {
  if (line_) {
    const std::int64_t lines = outer_ * inner_;
    // Lines that are long are cut among the threads themselves.
    return run_lines(0, lines, in, out, inverse, scale);
  }
  const double cycles = LaneTransform<T>::cycles(n_);
  if (mixed_) {
    return in_ranges_of((outer_ * inner_ + loops_.lanes - 1) / loops_.lanes, 3 * cycles,
                        [&](std::int64_t first, std::int64_t last) { run_mixed(first, last, in, out, inverse, scale); });
  }
  in_ranges_of(outer_ * ((inner_ + loops_.lanes - 1) / loops_.lanes), cycles,
               [&](std::int64_t first, std::int64_t last) { run_blocks(first, last, in, out, inverse, scale); });
}

template <class T>
void InnerAxis<T>::run_blocks(std::int64_t first, std::int64_t last, const T* in, T* out, bool inverse, T scale) const {
  const std::int64_t lanes = loops_.lanes, size = 2 * lanes * lanes_->capacity(), blocks = (inner_ + lanes - 1) / lanes;
  const Scratch<T> memory(2 * size);
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t column = b % blocks * lanes, at = 2 * (b / blocks * n_ * inner_ + column);
    const auto count = static_cast<int>(std::min(lanes, inner_ - column));
    loops_.load_columns(memory.get(), in + at, n_, 2 * inner_, count, inverse);
    const T* result = lanes_->run(memory.get(), memory.get() + size);
    loops_.store_columns(result, out + at, n_, 2 * inner_, count, inverse, scale);
  }
}

template <class T>
void InnerAxis<T>::run_mixed(std::int64_t first, std::int64_t last, const T* in, T* out, bool inverse, T scale) const {
  const std::int64_t lanes = loops_.lanes, size = 2 * lanes * lanes_->capacity(), lines = outer_ * inner_;
  const Scratch<T> memory(2 * size);
  const auto start = [&](std::int64_t line) { return 2 * (line / inner_ * n_ * inner_ + line % inner_); };
  const std::int64_t re = inverse ? lanes : 0, im = lanes - re;
  for (std::int64_t b = first; b < last; ++b) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T* from = in + start(std::min(b * lanes + l, lines - 1));
      T* to = memory.get() + l;
      for (std::int64_t j = 0; j < n_; ++j, from += 2 * inner_, to += 2 * lanes) to[re] = from[0], to[im] = from[1];
    }
    const T* result = lanes_->run(memory.get(), memory.get() + size);
    for (std::int64_t l = 0; l < lanes && b * lanes + l < lines; ++l) {
      const T* from = result + l;
      T* to = out + start(b * lanes + l);
      for (std::int64_t j = 0; j < n_; ++j, from += 2 * lanes, to += 2 * inner_) to[0] = from[re] * scale, to[1] = from[im] * scale;
    }
  }
}

template <class T>
void InnerAxis<T>::run_lines(std::int64_t first, std::int64_t last, const T* in, T* out, bool inverse, T scale) const {
  const Scratch<T> line(2 * n_);
  for (std::int64_t l = first; l < last; ++l) {
    const std::int64_t at = 2 * (l / inner_ * n_ * inner_ + l % inner_);
    for (std::int64_t j = 0; j < n_; ++j) line[2 * j] = in[at + 2 * inner_ * j], line[2 * j + 1] = in[at + 2 * inner_ * j + 1];
    line_->run(line.get(), line.get(), inverse, scale);
    for (std::int64_t j = 0; j < n_; ++j) out[at + 2 * inner_ * j] = line[2 * j], out[at + 2 * inner_ * j + 1] = line[2 * j + 1];
  }
}

template class InnerAxis<float>;
template class InnerAxis<double>;

}  // namespace weft::detail
