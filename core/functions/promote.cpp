#include "weft/core/functions/promote.h"

#include "weft/core/ops/promotion.h"

namespace weft::detail {

WeakDType common_dtype(const std::vector<Array>& xs) {
  WeakDType common = xs.front().aval().weak_dtype();
  for (const Array& x : xs) common = promote_types(common, x.aval().weak_dtype());
  return common;
}

namespace {
std::vector<Array> all_of(WeakDType t, std::vector<Array> xs, SourceLoc loc) {
  for (Array& x : xs) x = convert_element_type(x, t.dtype, t.weak, loc);
  return xs;
}
}  // namespace

std::vector<Array> promoted(std::vector<Array> xs, SourceLoc loc) {
  const WeakDType common = common_dtype(xs);
  return all_of(common, std::move(xs), loc);
}
std::vector<Array> promoted_inexact(std::vector<Array> xs, SourceLoc loc) {
  const WeakDType common = inexact_dtype(common_dtype(xs));
  return all_of(common, std::move(xs), loc);
}

}  // namespace weft::detail
