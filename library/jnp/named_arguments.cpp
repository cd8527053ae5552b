#include "weft/library/jnp/named_arguments.h"

#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft {

Array dot_general(Arg a, Arg b, std::vector<detail::Lists> dimension_numbers, DotOptions options) {
  // An empty pair, `{}`, stands for two empty lists.
  for (detail::Lists& pair : dimension_numbers)
    if (pair.empty()) pair.resize(2);
  if (dimension_numbers.size() == 1) dimension_numbers.push_back(detail::Lists(2));
  if (dimension_numbers.size() != 2 || dimension_numbers[0].size() != 2 || dimension_numbers[1].size() != 2)
    throw Error(
        "dot_general: the dimension numbers are two pairs of lists, {{contracting of a, contracting of b}, {batch of a, batch of b}}, as "
        "{{{1}, {0}}, {{}, {}}}",
        detail::effective_loc(a.where()));
  const detail::Lists &contracting = dimension_numbers[0], &batch = dimension_numbers[1];
  return dot_general(std::move(a), std::move(b), {.contracting = {contracting[0], contracting[1]}, .batch = {batch[0], batch[1]}}, options);
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
