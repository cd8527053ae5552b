#pragma once
#include <array>
#include <optional>
#include <vector>

#include "weft/core/array/array.h"

namespace weft {

// Products of arrays, summed over dimensions. Operands of different dtypes are promoted; 16-bit floats are accumulated in float32.

/// The matrix product, as NumPy's: of the last two dimensions, the ones before broadcast; a vector is a row on the left and a column on the
/// right. Sizes that don't fit, or a scalar, are a ShapeError.
Array matmul(Arg a, Arg b);
/// The sum of products over a's last dimension and b's last but one (b's only one, if it is a vector); of a scalar, the product.
Array dot(Arg a, Arg b);
/// All products of elements of a and of b, both flattened: shape (a.size(), b.size()).
Array outer(Arg a, Arg b);
/// The sum of conj(a) * b over all elements, both flattened.
Array vdot(Arg a, Arg b);
/// The sum of products over the last `axes` dimensions of a and the first of b.
Array tensordot(Arg a, Arg b, Int axes = 2);
/// The sum of products over the named dimensions of a, axes[0], and of b, axes[1].
Array tensordot(Arg a, Arg b, std::array<std::vector<int>, 2> axes);
/// The same for a list of two lists: `tensordot(a, b, {{1, 2}, {0, 1}})`.
Array tensordot(Arg a, Arg b, std::initializer_list<std::initializer_list<int>> axes);

namespace detail {
Array einsum_of(const TextArg& equation, const std::vector<Arg>& operands);
}
/// Einstein's summation, as NumPy's: `einsum("bij,bjk->bik", x, y)`. A letter names a dimension; letters that the result hasn't got are
/// summed over. Without `->` the result has the letters that stand once, in alphabetical order. `...` stands for any number of dimensions,
/// which broadcast. A letter twice in one operand takes the diagonal. Several operands are multiplied pairwise, in a cheap order. Sizes
/// that contradict each other are a ShapeError.
template <class... A>
Array einsum(TextArg equation, const A&... operands) {
  return detail::einsum_of(equation, {Arg(operands, equation.where())...});
}

/// Which dimensions of two operands go together: `{.contracting = {{{1}, {0}}}, .batch = {{{}, {}}}}` is a matrix product.
struct DotDimensionNumbers {
  std::array<std::vector<int>, 2> contracting = {};  ///< those that are summed over: of the first operand, and of the second
  std::array<std::vector<int>, 2> batch = {};        ///< those that both have, and the result has first
};
struct DotOptions {
  std::optional<DType> preferred_element_type = {};  ///< of the sums and the result; absent: the operands' common dtype
};
/// jax.lax.dot_general: the product, summed over the contracting dimensions, for each index of the batch ones. The result's dimensions are
/// the batch ones, then a's others, then b's others.
Array dot_general(Arg a, Arg b, DotDimensionNumbers dimension_numbers, DotOptions options = {});

}  // namespace weft
