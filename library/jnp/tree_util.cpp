#include "weft/library/jnp/tree_util.h"

#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"

namespace weft::detail {

Array all_of_leaves(const std::vector<Array>& leaves, SourceLoc loc) {
  Array out(true);
  for (const Array& x : leaves) out = logical_and(out, all(Arg(x, loc)));
  return out;
}

}  // namespace weft::detail
