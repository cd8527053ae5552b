// Transforms along one dimension of an array.
#pragma once
#include <memory>
#include <vector>

#include "weft/backends/cpu/fft/line.h"
#include "weft/core/ops/linalg/fft.h"

namespace weft::detail {

/// Transforms the last dimension, by any of the four types: blocks of lines, or a line at a time where lines are long or few.
template <class T>
class LastAxis {
 public:
  /// n: elements of the signal.
  LastAxis(FftType type, std::int64_t n, std::int64_t lines);
  void run(const T* in, T* out, T scale) const;

 private:
  void run_blocks(std::int64_t first, std::int64_t last, const T* in, T* out, T scale) const;
  void run_line(const T* in, T* out, T scale) const;
  void run_block(T* block, T* other, const T* in, T* out, int count, T scale) const;
  void run_real_line(const T* in, T* out) const;
  void run_inverse_real_line(const T* in, T* out, T scale) const;

  FftType type_;
  std::int64_t n_, half_, lines_;
  bool by_halves_;                       // a real signal of even length, as pairs
  std::int64_t in_stride_, out_stride_;  // in numbers
  const FftLoops<T>& loops_;
  double cycles_;  // of a block or line
  std::unique_ptr<LaneTransform<T>> lanes_;
  std::unique_ptr<LineTransform<T>> line_;
  std::vector<T> roots_;
};

/// Transforms a dimension of complex numbers with `inner` elements behind and `outer` before it.
template <class T>
class InnerAxis {
 public:
  InnerAxis(std::int64_t n, std::int64_t inner, std::int64_t outer);
  /// `out` may be `in`.
  void run(const T* in, T* out, bool inverse, T scale) const;

 private:
  void run_blocks(std::int64_t first, std::int64_t last, const T* in, T* out, bool inverse, T scale) const;
  void run_mixed(std::int64_t first, std::int64_t last, const T* in, T* out, bool inverse, T scale) const;
  void run_lines(std::int64_t first, std::int64_t last, const T* in, T* out, bool inverse, T scale) const;

  std::int64_t n_, inner_, outer_;
  bool mixed_ = false;  // a block's lines are of different outer positions
  const FftLoops<T>& loops_;
  std::unique_ptr<LaneTransform<T>> lanes_;
  std::unique_ptr<LineTransform<T>> line_;
};

}  // namespace weft::detail
