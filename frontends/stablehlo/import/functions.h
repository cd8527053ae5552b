// Functions on arrays that several importers use.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail::mlir {

/// Applies a primitive of one result and no parameters, by its name.
Array bind_named(std::string_view primitive, std::initializer_list<Array> operands, SourceLoc loc);
/// A number of x's dtype.
Array scalar(const Array& like, double value);
/// Integers in IEEE's total order of the floats: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
Array total_order_key(const Array& x, SourceLoc loc);
/// EQ, NE, LT, ...; complex numbers by real, then imaginary parts.
Array compare_arrays(const std::string& direction, bool total_order, const Array& x, const Array& y, SourceLoc loc);

}  // namespace weft::detail::mlir
