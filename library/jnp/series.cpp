#include "weft/library/jnp/series.h"

#include <fmt/format.h>

#include "weft/core/errors/error.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

RealOperands real_operands(const char* operation, std::initializer_list<Arg> args) {
  const std::vector<Arg> given(args);
  RealOperands out{given.size() == 1 ? std::vector<Array>{given[0].array()} : promote_operands(operation, given), float32};
  Array sum = 0;
  for (Array& x : out.xs) {
    x = to_inexact(x);
    out.dtype = x.dtype();
    if (x.dtype().is_complex())
      throw DTypeError(fmt::format("{}: {} is complex; the function is computed for real numbers", operation, to_string(x.aval())),
                       effective_loc(given[0].where()));
    x = convert(x, wide_dtype(x.dtype()));
    sum = sum + x;
  }
  for (Array& x : out.xs) x = broadcast_to(x, sum.shape());
  return out;
}

}  // namespace weft::detail
