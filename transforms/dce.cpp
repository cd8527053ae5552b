#include <algorithm>

#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/liveness.h"
#include "weft/core/ir/rewrite.h"

namespace weft::detail {

Jaxpr dce_program(const Jaxpr& j) {
  const JaxprData& d = j.data();
  const std::vector<bool> keep = live_set_of(j).eqns;
  if (std::all_of(keep.begin(), keep.end(), [](bool k) { return k; })) return j;

  JaxprCopy copy(j);
  copy.add_inputs();
  for (std::size_t i = 0; i < d.eqns.size(); ++i)
    if (keep[i]) copy.add(d.eqns[i]);
  return std::move(copy).finish(d.outputs);
}

}  // namespace weft::detail
