#include "weft/core/trees/tree_math.h"

#include <fmt/core.h>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"

namespace weft::detail {

Array sum_of_leaves(std::span<const Array> leaves, SourceLoc loc) {
  if (leaves.empty()) return Array(0.f, loc);
  Array total = sum(Arg(leaves[0], loc));
  for (const Array& x : leaves.subspan(1)) total = add(Arg(total, loc), Arg(sum(Arg(x, loc)), loc));
  return total;
}

Array all_of_leaves(std::span<const Array> leaves, SourceLoc loc) {
  Array out(true);
  for (const Array& x : leaves) out = logical_and(out, all(Arg(x, loc)));
  return out;
}

Array product_of_leaves(std::span<const Array> a, std::span<const Array> b, SourceLoc loc) {
  if (a.empty()) return Array(0.f, loc);
  Array total = vdot(Arg(a[0], loc), Arg(b[0], loc));
  for (std::size_t i = 1; i < a.size(); ++i) total = add(Arg(total, loc), Arg(vdot(Arg(a[i], loc), Arg(b[i], loc)), loc));
  return total;
}

Array norm_of_leaves(std::span<const Array> leaves, SourceLoc loc) {
  std::vector<Array> wide;
  for (const Array& x : leaves) wide.push_back(as_wide(x));
  const Array norm = sqrt(Arg(real(Arg(product_of_leaves(wide, wide, loc), loc)), loc));
  DType dtype = leaves.empty() ? float32 : leaves[0].dtype();
  for (const Array& x : leaves) dtype = promote_types(dtype, x.dtype());
  return wide_dtype(dtype) == dtype ? norm : as_dtype(norm, dtype);
}

std::vector<Array> stacked_leaves(std::span<const std::vector<Array>> trees, SourceLoc loc) {
  if (trees.empty()) throw PytreeError("tree::stack: no trees; give one or more", loc);
  std::vector<Array> out;
  for (std::size_t leaf = 0; leaf < trees[0].size(); ++leaf) {
    std::vector<Array> column;
    for (const std::vector<Array>& t : trees) column.push_back(t[leaf]);
    out.push_back(stack(Args(column, loc), 0, loc));
  }
  return out;
}

Array filled_leaf(const Array& like, const Arg& value) { return full_like(Arg(like, value.where()), value); }
Array added_leaf(const Array& a, const Array& b, SourceLoc loc) { return add(Arg(a, loc), Arg(b, loc)); }
Array subtracted_leaf(const Array& a, const Array& b, SourceLoc loc) { return subtract(Arg(a, loc), Arg(b, loc)); }
Array scaled_leaf(const Array& x, const Arg& factor) {
  return astype(Arg(multiply(Arg(x, factor.where()), factor), factor.where()), x.dtype());
}

}  // namespace weft::detail
