// What functions that take positions share: their dtype, and negative ones.
#pragma once
#include "weft/core/array/array.h"
#include "weft/core/array/scalar.h"
#include "weft/core/ops/movement/gather.h"

namespace weft::detail {

/// The dtype of positions in an array of this type: int32 while that suffices.
DType type_of_indices(const Aval& x);
/// Integers as a signed dtype; those that it hasn't become its nearest, so that a position beyond the end stays beyond it.
Array saturated(const Array& i, DType dtype, SourceLoc loc);
/// A number's value as a position. Unsigned numbers are never negative.
std::int64_t position_of(const Number& n);
/// Positions in a dtype that indices are computed in: narrow and unsigned integers are converted to a signed type that holds them, or
/// saturate. Throws DTypeError for anything but integers.
Array index_type(const Array& i, SourceLoc loc);
/// Negative positions counted from the end of an axis of the given size.
Array wrap_negative(const Array& i, std::int64_t size, SourceLoc loc);
/// Positions among n: as index_type gives them, in int64 where int32 doesn't reach n.
Array positions_among(const Array& i, std::int64_t n, SourceLoc loc);
/// Integers modulo n > 0 as positions among n, whatever their dtype.
Array positions_around(const Array& i, std::int64_t n, SourceLoc loc);
/// What a gather or a scatter does out of bounds.
struct OutOfBounds {
  GatherScatterMode mode;
  std::optional<FillValue> fill;
};
/// The options of a call of `operation` on an array of the dtype; `otherwise` where they name no mode. Throws Error for an unknown mode,
/// whose text also names `more_modes` of the operation, and a fill_value without mode "fill", DTypeError for one that the dtype hasn't got.
OutOfBounds out_of_bounds(const char* operation, const IndexOptions& options, DType dtype, GatherScatterMode otherwise, SourceLoc loc,
                          const char* more_modes = "");
/// The elements of x at positions along one dimension, the other dimensions running along; all positions are different and inside.
Array gather_along(const Array& x, const Array& positions, int dim, SourceLoc loc);

}  // namespace weft::detail
