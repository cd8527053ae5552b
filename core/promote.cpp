#include "core/promote.h"

#include "core/array_impl.h"
#include "core/elementwise.h"

namespace weft::detail {

WeakDType common_dtype(const std::vector<Array>& xs) {
  WeakDType common = xs.front().aval().weak_dtype();
  for (const Array& x : xs) common = promote_types(common, x.aval().weak_dtype());
  return common;
}

Array as_dtype(const Array& x, WeakDType to, SourceLoc loc) {
  if (x.aval().weak_dtype() == to) return x;
  if (const LiteralArray* literal = as_literal(x)) return make_literal(number_of(*literal), to.dtype, to.weak);
  return x.dtype() == to.dtype ? x : convert(Arg(x, loc), to.dtype);
}

std::vector<Array> promoted(std::vector<Array> xs, SourceLoc loc) {
  const WeakDType common = common_dtype(xs);
  for (Array& x : xs) x = as_dtype(x, common, loc);
  return xs;
}

}  // namespace weft::detail
