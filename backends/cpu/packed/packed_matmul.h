// Matmuls of any dtype that the processor has a unit for, any strides and any batch, by tiles whose sums stay in registers. Goto,
// van de Geijn, "Anatomy of high-performance matrix multiplication" (2008).
//
// float16 is multiplied as float32, and so is bfloat16 where the processor can't multiply pairs of it; sums are float32 and rounded once.
// Integers wrap around as their dtype does.
#pragma once
#include <memory>

#include "weft/backends/cpu/matmul.h"

namespace weft::detail {

/// Whether this processor has a unit for matmuls of these dtypes.
bool has_packed_matmul(DType a, DType b, DType out);
/// Whether that unit multiplies floats of another dtype, to which packing converts the operands.
bool converts_packed(DType a, DType b, DType out);
/// Null where it has none.
std::unique_ptr<Matmul> make_packed_matmul(const MatmulStep& p);
/// The cost of one on one thread, in vector instructions of a unit's tiles; infinite without a unit.
double packed_matmul_steps(const MatmulStep& p);

/// The same for complex numbers, which are multiplied as real ones, in any strides (complex_matmul.cpp).
bool has_complex_matmul(DType t);
std::unique_ptr<Matmul> make_complex_matmul(const MatmulStep& p);

template <class T>
struct MatmulOperand {
  const T* data;
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;  ///< elements from a row, or a column, to the next
};
/// out -= a b for matrices of float32 or float64, on the calling thread; in `out` a row's elements are neighbours, and `out_row` elements
/// are from one row to the next. False, and nothing done, where the processor has no unit.
template <class T>
bool subtract_matmul(const MatmulOperand<T>& a, const MatmulOperand<T>& b, T* out, std::int64_t out_row);

}  // namespace weft::detail
