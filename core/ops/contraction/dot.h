// dot_general, the primitive behind matmul, einsum and tensordot.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Which dimensions of the two operands go together: contracting ones are summed over, batch ones are kept in both.
/// Written as `(([1], [0]), ([], []))`.
struct DotDimensions {
  std::array<std::vector<int>, 2> contracting = {}, batch = {};
  friend bool operator==(const DotDimensions&, const DotDimensions&) = default;
};
std::string print_param(const DotDimensions& v);
void read_param(ParamReader& r, DotDimensions& v);

struct DotParams {
  DotDimensions dimension_numbers;
  std::optional<DType> preferred_element_type;  ///< of the result; absent: the operands' common dtype
  friend bool operator==(const DotParams&, const DotParams&) = default;
};
const Primitive& dot_general_primitive();
/// The dimensions of operand 0 or 1 that are neither contracted nor batch, ascending.
std::vector<int> dot_free_dims(const DotDimensions& dims, int operand, int ndim);

/// The result's dimensions are the batch ones, then the free ones of a, then those of b. Sizes must match.
Array dot_product(const Array& a, const Array& b, const DotDimensions& dims, std::optional<DType> preferred_element_type = {},
                  SourceLoc loc = {});

}  // namespace weft::detail
