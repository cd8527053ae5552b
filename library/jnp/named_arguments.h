// Functions whose arguments JAX's programs give by name, or in lists of lists.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/optional_shape.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/convolution.h"

namespace weft {

/// tensordot's axes by name.
struct TensordotOptions {
  detail::NamedFields named = detail::NamedFields();
  ContractedAxes axes = 2;                           ///< as an argument
  std::optional<DType> preferred_element_type = {};  ///< as of DotOptions
};
inline Array tensordot(Arg a, Arg b, TensordotOptions o) { return detail::contracted(a, b, o.axes, o.preferred_element_type); }
/// JAX's tuple of tuples, `{{contracting of a, of b}, {batch of a, of b}}`, as dimension numbers; an empty pair stands for two empty lists.
DotDimensionNumbers dot_dimension_numbers(std::vector<std::vector<std::vector<int>>> lists, SourceLoc loc = SourceLoc::here());
/// dot_general by JAX's tuple of tuples, `{{contracting of a, of b}, {batch of a, of b}}`: `dot_general(a, b, {{{1}, {0}}, {{}, {}}})`.
/// A template (detail::Nothing), so that what names its fields, `{.contracting = ...}`, is not taken for lists.
Array dot_general(Arg a, Arg b, std::vector<std::vector<std::vector<int>>> dimension_numbers, DotOptions options = {},
                  detail::Nothing auto...) {
  return dot_general(a, b, dot_dimension_numbers(std::move(dimension_numbers), a.where()), std::move(options));
}
/// The arguments of dot_general by name.
struct DotArguments {
  detail::NamedFields named = detail::NamedFields();
  std::vector<std::vector<std::vector<int>>> dimension_numbers = {};  ///< JAX's tuple of tuples
  std::optional<DType> preferred_element_type = {};                   ///< as of DotOptions
};
Array dot_general(Arg a, Arg b, DotArguments arguments);
/// The arguments of conv_general_dilated by name, as of it and its options.
struct ConvArguments {
  detail::NamedFields named = detail::NamedFields();
  Shape window_strides;                                ///< one for each spatial dimension
  Padding padding;                                     ///< of the spatial dimensions
  Shape lhs_dilation = {}, rhs_dilation = {};          ///< as of ConvOptions
  ConvDimensionNumbers dimension_numbers = {};         ///< as of ConvOptions
  Int feature_group_count = 1, batch_group_count = 1;  ///< as of ConvOptions
  std::optional<DType> preferred_element_type = {};    ///< as of ConvOptions
};
Array conv_general_dilated(Arg x, Arg kernel, ConvArguments arguments);

}  // namespace weft
