// Fourier transforms of single lines, whose rows and columns fill the lanes.
#pragma once
#include <memory>
#include <vector>

#include "weft/backends/cpu/fft/lanes.h"

namespace weft::detail {

/// Forward and inverse transforms of single lines of n complex numbers, as pairs. With n = n1 n2, a line is n1 rows of n2 columns:
/// transforms of the columns, a product with roots of unity, transforms of the rows (Gentleman and Sande 1966; Bailey's four steps 1990),
/// each for as many columns or rows at a time as a vector has lanes. Lengths for which that is faster are convolutions
/// (Bluestein 1970), those with large prime factors above all.
/// Long lines are cut among the threads.
template <class T>
class LineTransform {
 public:
  explicit LineTransform(std::int64_t n);
  ~LineTransform();
  LineTransform(const LineTransform&) = delete;
  LineTransform& operator=(const LineTransform&) = delete;

  /// `to` may be `from`.
  void run(const T* from, T* to, bool inverse, T scale) const;

  /// A guess of the cycles it takes.
  static double cycles(std::int64_t n);

 private:
  static double cycles_by_factors(std::int64_t n);  // infinite where one is too large
  static double cycles_by_convolution(std::int64_t n);
  void by_steps(const T* from, T* to, bool inverse, T scale) const;
  void by_convolution(const T* from, T* to, bool inverse, T scale) const;
  void transform_columns(std::int64_t first, std::int64_t last, const T* from, bool inverse, T* blocks) const;
  void transform_rows(std::int64_t first, std::int64_t last, const T* blocks, T* to, bool inverse, T scale) const;

  std::int64_t n_, n1_ = 1, n2_ = 1, padded_ = 0;
  const FftLoops<T>& loops_;
  double cycles_;
  std::unique_ptr<LaneTransform<T>> columns_, rows_;
  // The root of row k and column c + l is turns_[k][l] * steps_[c / lanes][k].
  std::vector<T> turns_, steps_;
  std::unique_ptr<LineTransform> convolution_;
  std::vector<T> chirp_, conjugate_chirp_, spectrum_;
};

}  // namespace weft::detail
