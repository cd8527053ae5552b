// Promotion: user-level functions convert their operands to one dtype and rank before they bind a primitive.
#pragma once
#include <array>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// x in the dtype: a number becomes a literal, an array is converted by convert_element_type; x itself if it has the dtype already.
Array convert_element_type(const Array& x, DType dtype, bool weak, SourceLoc loc);

/// The floating dtype in which a function of x is computed: bool and integers give float32, those of 64 bits float64.
WeakDType inexact_dtype(WeakDType t);
/// x, converted to inexact_dtype if it is an integer or bool.
Array to_inexact(const Arg& x);
/// x, with bool converted to int32.
Array to_numeric(const Arg& x);

/// Operands converted to their common dtype, and given the same rank unless it is 0. Throws ShapeError, naming the operation, if they can't
/// be broadcast together.
std::vector<Array> promote_operands(std::string_view operation, std::span<const Arg> operands);
std::array<Array, 2> promote_operands(std::string_view operation, const Arg& x, const Arg& y);
/// promote_operands, followed by a conversion to inexact_dtype.
std::array<Array, 2> promote_inexact(std::string_view operation, const Arg& x, const Arg& y);
/// Checks that the operands can be broadcast together.
/// Throws ShapeError, which names all operands, if they can't.
void check_broadcast(std::string_view operation, std::span<const Arg> operands);
std::vector<Array> promote_ranks(std::string_view operation, std::span<const Arg> operands);

/// The value of a C++ integer, which is weakly typed; nullopt for other arrays.
std::optional<long long> integer_literal(const Array& x);

/// Binds a unary primitive that is defined for floating dtypes.
template <class Op>
Array unary_inexact(const Arg& x) {
  return bind_one<Op>({}, {to_inexact(x)}, x.where());
}
/// Binds a binary primitive after promotion.
template <class Op>
Array binary(const Arg& x, const Arg& y) {
  if (x.aval().dtype == y.aval().dtype && x.aval().shape == y.aval().shape) return bind_one<Op>({}, {x.array(), y.array()}, x.where());
  auto [a, b] = promote_operands(Op::name, x, y);
  return bind_one<Op>({}, {std::move(a), std::move(b)}, x.where());
}
template <class Op>
Array binary_inexact(const Arg& x, const Arg& y) {
  auto [a, b] = promote_inexact(Op::name, x, y);
  return bind_one<Op>({}, {std::move(a), std::move(b)}, x.where());
}

}  // namespace weft::detail
