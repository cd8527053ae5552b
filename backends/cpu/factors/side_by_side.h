// Decompositions of many small matrices at once: lane l of a vector belongs to matrix l. The same operations are done for all of them, so a
// matrix has the same results beside any others.
#pragma once
#include <cstdint>

namespace weft::detail::lapack {

constexpr double kLostColumn = 0.25;

/// The eliminations that there are for real and for complex matrices, of which each lane of a vector has one.
template <class R>
struct Eliminations {
  /// The lower triangle of a (n x n, Hermitian, read below the diagonal) becomes Cholesky's factor. `good` becomes 0 where a isn't positive
  /// definite.
  void (*cholesky)(R* a, int n, R* good) = nullptr;
  /// a (m x n) becomes its factors; `pivots`: the row that each row was interchanged with.
  void (*lu)(R* a, int m, int n, R* pivots) = nullptr;
  /// b (n x others) becomes x, of which a x = b, for a triangular a (n x n), lower if `forward`.
  void (*substitute)(const R* a, R* b, int n, int others, bool forward, bool unit_diagonal) = nullptr;
  /// a (m x n) becomes r and, below, the vectors of reflections, whose factors are `taus` (min(m, n)); q (m x columns) may be null.
  /// `open` becomes not 0 where squares of a column underflow beside those of others.
  void (*qr)(R* a, R* q, int m, int n, int columns, R* taus, R* open) = nullptr;
};

/// Element e of the matrix in lane l is at [e * lanes + l], aligned for vectors; of a complex one its real part at [2 e * lanes + l] and
/// its imaginary part at [(2 e + 1) * lanes + l]. R: float or double.
template <class R>
struct SideBySide {
  int lanes = 0;
  /// Numbers of as many matrices as there are lanes, `size` of each and one matrix behind the other, into lanes and back.
  void (*bring)(const R* a, std::int64_t size, R* to) = nullptr;
  void (*take_back)(const R* from, std::int64_t size, R* a) = nullptr;
  /// The largest magnitude in each lane, and whether (not 0) all numbers are finite.
  void (*extent)(const R* a, std::int64_t size, R* largest, R* finite) = nullptr;
  /// a (n x n, symmetric, read in the upper triangle) is destroyed; `values` become its n ascending eigenvalues, and v, which is null or an
  /// identity, its eigenvectors, one a column. `rounds` are the n (n - 1) / 2 pairs of indices, of which neighbours are disjoint where
  /// possible. `open` becomes not 0 in lanes of which this didn't converge.
  void (*eigh)(R* a, R* v, R* values, int n, const std::uint8_t* rounds, R* open) = nullptr;
  /// The same for complex a and v.
  void (*eigh_hermitian)(R* a, R* v, R* values, int n, const std::uint8_t* rounds, R* open) = nullptr;
  /// g (m x n, one column behind the other, m >= n) becomes its left singular vectors, `values` its descending singular values, and v,
  /// which is null or an identity, its right singular vectors, one column behind the other. Where v is null, g is destroyed. Left vectors
  /// mean nothing whose value is at most kLostColumn units in the last place of the largest. `open` becomes not 0 in lanes of which this
  /// didn't converge.
  void (*svd)(R* g, R* v, R* values, int m, int n, const std::uint8_t* rounds, R* open) = nullptr;
  Eliminations<R> of_real, of_complex;
};

/// For the processor's widest vectors.
template <class R>
const SideBySide<R>& side_by_side();
/// Null where the processor has none.
template <class R>
const SideBySide<R>* side_by_side_512();
template <class R>
const SideBySide<R>* side_by_side_256();

}  // namespace weft::detail::lapack
