// Fourier transforms of several lines at a time, one in each lane of a vector.
#pragma once
#include <memory>
#include <vector>

#include "weft/backends/cpu/fft/loops.h"
#include "weft/core/array/array.h"

namespace weft::detail {

/// Forward transforms of length n of as many lines as a vector has lanes, in two blocks of memory (FftLoops).
template <class T>
class LaneTransform {
 public:
  explicit LaneTransform(std::int64_t n) : LaneTransform(n, cycles_by_convolution(n) < cycles_by_factors(n)) {}
  /// By the factors of n, whatever that costs: with blocks of n elements.
  static std::unique_ptr<LaneTransform> of_factors(std::int64_t n) { return std::unique_ptr<LaneTransform>(new LaneTransform(n, false)); }
  ~LaneTransform();
  LaneTransform(const LaneTransform&) = delete;
  LaneTransform& operator=(const LaneTransform&) = delete;

  /// Elements that each of the two blocks has room for.
  std::int64_t capacity() const { return padded_ > 0 ? padded_ : n_; }
  /// Whether the result of run(a, b) is in b.
  bool lands_in_other() const { return padded_ == 0 && passes_.size() % 2 == 1; }
  /// Returns the block with the result.
  T* run(T* block, T* other) const;

  /// A guess of the cycles it takes, with those for bringing elements into blocks and out.
  static double cycles(std::int64_t n);
  /// The same of of_factors(n); infinite where a factor is too large.
  static double cycles_by_factors(std::int64_t n);

 private:
  LaneTransform(std::int64_t n, bool by_convolution);
  static double cycles_by_convolution(std::int64_t n);

  std::int64_t n_, padded_ = 0;
  const FftLoops<T>& loops_;
  struct Pass {
    FftPass pass;
    std::vector<T> twiddles, roots;
  };
  std::vector<Pass> passes_;
  // For a length with a large prime factor: Bluestein's convolution.
  std::unique_ptr<LaneTransform> convolution_;
  std::vector<T> chirp_, spectrum_;
};

/// Whether all prime factors of n are small enough for a butterfly each. Lengths of which that is not so, or not faster, are done as
/// convolutions of a padded length.
bool has_small_factors_only(std::int64_t n);
/// A length for a cyclic convolution that holds a linear one of two sequences of n elements.
std::int64_t convolution_length(std::int64_t n);
/// Bluestein's chirp, exp(-pi i k^2 / n), and the transform of its padded conjugate, divided by the padded length.
template <class T>
std::vector<T> bluestein_chirp(std::int64_t n);
template <class T>
std::vector<T> bluestein_spectrum(std::int64_t n, std::int64_t padded);

}  // namespace weft::detail
