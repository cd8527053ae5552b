// Columns shared with other libraries through Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html).
#pragma once
#include <map>
#include <optional>
#include <string>

#include "weft/core/array/array.h"

namespace weft {

/// Options of from_arrow and from_arrow_columns.
struct ArrowOptions {
  std::optional<double> null = {};  ///< the number that replaces missing values; absent: a column with missing values is an IoError
};

/// A vector over an Arrow array of numbers, without a copy: `schema` is an ArrowSchema*, `array` an ArrowArray*, in host memory. The array
/// takes ownership of both: their `release` members are null afterwards, and the memory, which must not be written to meanwhile, is
/// released with the last array over it. Bools, which have one bit in Arrow, and columns with replaced missing values are copied. On an
/// exception both stay the caller's: DTypeError for what is not a primitive type of numbers (text, dates, dictionaries, lists), IoError for
/// missing values without ArrowOptions.null and for a structure that was released or makes no sense.
Array from_arrow(void* schema, void* array, ArrowOptions options = {}, SourceLoc loc = SourceLoc::here());
/// The columns of a table or record batch, a struct of such arrays, by name.
std::map<std::string, Array> from_arrow_columns(void* schema, void* array, ArrowOptions options = {}, SourceLoc loc = SourceLoc::here());

/// Fills an ArrowSchema and an ArrowArray, both the caller's, with a vector's elements, which stay alive until the receiver calls
/// `array->release`; it must not write to them. bools are copied to bits. Throws ShapeError for other ranks, DTypeError for bfloat16,
/// complex numbers and keys, which Arrow lacks.
void to_arrow(const Array& x, void* schema, void* array, const std::string& name = "", SourceLoc loc = SourceLoc::here());

}  // namespace weft
