// The user's matrix products, einsum and their relatives.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/optional_shape.h"

namespace weft {

// Products of arrays, summed over dimensions. Operands of different dtypes are promoted; 16-bit floats are accumulated in float32.

/// Options of products.
struct DotOptions {
  std::optional<DType> preferred_element_type = {};  ///< of the sums and the result; absent: the operands' common dtype
};
/// The matrix product, as NumPy's: of the last two dimensions, the ones before broadcast; a vector is a row on the left and a column on the
/// right. Sizes that don't fit, or a scalar, are a ShapeError.
Array matmul(Arg a, Arg b);
Array matmul(Arg a, Arg b, DotOptions options);
/// The sum of products over a's last dimension and b's last but one (b's only one, if it is a vector); of a scalar, the product.
Array dot(Arg a, Arg b);
Array dot(Arg a, Arg b, DotOptions options);
/// All products of elements of a and of b, both flattened: shape (a.size(), b.size()).
Array outer(Arg a, Arg b);
/// The sum of conj(a) * b over all elements, both flattened.
Array vdot(Arg a, Arg b);
/// The dimensions over which tensordot sums: how many, a list of a's and one of b's, `{{1, 2}, {0, 1}}`, or one of each, `{1, 0}`.
struct ContractedAxes {
  ContractedAxes(detail::WholeNumber auto n) : count(n) {}
  ContractedAxes(detail::WholeNumber auto of_a, detail::WholeNumber auto of_b) : lists{{Int(of_a)}, {Int(of_b)}} {}
  ContractedAxes(std::initializer_list<std::vector<int>> both) : lists(both) {}
  ContractedAxes(const std::array<std::vector<int>, 2>& both) : lists(both.begin(), both.end()) {}
  std::optional<Int> count;             ///< how many
  std::vector<std::vector<int>> lists;  ///< those of a and those of b, where there is no count
};
namespace detail {
Array contracted(const Arg& a, const Arg& b, const ContractedAxes& axes, std::optional<DType> preferred_element_type = {});
Array einsum_of(const TextArg& equation, const std::vector<Arg>& operands);
}  // namespace detail
// A template (detail::Nothing), so that `{.axes = 1}` is options.
/// The sum of products over the last `axes` dimensions of a and the first of b, or over those of two lists: `tensordot(a, b, {{1}, {0}})`.
Array tensordot(Arg a, Arg b, ContractedAxes axes = 2, detail::Nothing auto...) { return detail::contracted(a, b, axes); }
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
/// jax.lax.dot_general: the product, summed over the contracting dimensions, for each index of the batch ones. The result's dimensions are
/// the batch ones, then a's others, then b's others.
Array dot_general(Arg a, Arg b, DotDimensionNumbers dimension_numbers, DotOptions options = {});

}  // namespace weft
