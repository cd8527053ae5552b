// What the rules of the linear algebra primitives share.
#pragma once
#include <complex>
#include <limits>

#include "weft/core/array/storage.h"
#include "weft/core/base/lapack.h"
#include "weft/core/base/sizes.h"
#include "weft/core/ops/linalg/linalg.h"

namespace weft::detail {

/// Checks that operand i is a matrix, or several, of a dtype that LAPACK knows.
void check_matrix(const OpContext& c, std::size_t i);
/// The same, and that it is square.
void check_square_matrix(const OpContext& c, std::size_t i);
/// The leading dimensions, then the given ones.
Shape matrix_shape(const Shape& like, std::initializer_list<std::int64_t> last);
/// The batching rule of a primitive whose leading dimensions count matrices: the mapped axis goes first.
BatchResult batch_matrices(const BatchContext& c);

/// Calls f.operator()<T>() with the type of the elements.
template <class F>
void with_matrix_storage(DType dtype, F&& f) {
  if (dtype == float32) return f.template operator()<float>();
  if (dtype == float64) return f.template operator()<double>();
  if (dtype == complex64) return f.template operator()<std::complex<float>>();
  f.template operator()<std::complex<double>>();
}

/// One operand's or result's matrices on the host.
struct Matrices {
  explicit Matrices(const Shape& shape)
      : rows(checked_int(shape[shape.size() - 2], "linear algebra", "the number of rows", {})),
        columns(checked_int(shape.back(), "linear algebra", "the number of columns", {})),
        size(rows * std::int64_t{columns}) {
    for (int i = 0; i + 2 < shape.size(); ++i) count *= shape[i];
  }
  int rows, columns;
  std::int64_t size;       ///< elements of one
  std::int64_t count = 1;  ///< of matrices
};

template <class T>
void fill_nan(T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = T(std::numeric_limits<lapack::Real<T>>::quiet_NaN());
}

}  // namespace weft::detail
