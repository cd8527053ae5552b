#include "weft/core/functions/promote.h"

#include "weft/core/ops/promotion.h"

namespace weft::detail {

WeakDType common_dtype(const std::vector<Array>& xs) {
  WeakDType common = xs.front().aval().weak_dtype();
  for (const Array& x : xs) common = promote_types(common, x.aval().weak_dtype());
  return common;
}

std::vector<Array> promoted(std::vector<Array> xs, SourceLoc loc) {
  const WeakDType common = common_dtype(xs);
  for (Array& x : xs) x = convert_element_type(x, common.dtype, common.weak, loc);
  return xs;
}

}  // namespace weft::detail
