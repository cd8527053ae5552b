#include "weft/library/jnp/named_arguments.h"

#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft {

DotDimensionNumbers dot_dimension_numbers(std::vector<std::vector<std::vector<int>>> lists, SourceLoc loc) {
  for (std::vector<std::vector<int>>& pair : lists)
    if (pair.empty()) pair.resize(2);
  if (lists.size() == 1) lists.emplace_back(2);
  if (lists.size() != 2 || lists[0].size() != 2 || lists[1].size() != 2)
    throw Error(
        "dot_general: the dimension numbers are two pairs of lists, {{contracting of a, contracting of b}, {batch of a, batch of b}}, as "
        "{{{1}, {0}}, {{}, {}}}",
        detail::effective_loc(loc));
  return {.contracting = {lists[0][0], lists[0][1]}, .batch = {lists[1][0], lists[1][1]}};
}

Array dot_general(Arg a, Arg b, DotArguments arguments) {
  return dot_general(std::move(a), std::move(b), std::move(arguments.dimension_numbers), {arguments.preferred_element_type});
}
Array conv_general_dilated(Arg x, Arg kernel, ConvArguments arguments) {
  return conv_general_dilated(std::move(x), std::move(kernel), std::move(arguments.window_strides), std::move(arguments.padding),
                              {.lhs_dilation = std::move(arguments.lhs_dilation),
                               .rhs_dilation = std::move(arguments.rhs_dilation),
                               .dimension_numbers = std::move(arguments.dimension_numbers),
                               .feature_group_count = arguments.feature_group_count,
                               .batch_group_count = arguments.batch_group_count,
                               .preferred_element_type = arguments.preferred_element_type});
}

}  // namespace weft
