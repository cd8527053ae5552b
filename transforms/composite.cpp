#include "weft/transforms/composite.h"

#include "weft/core/ops/control/composite.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"

namespace weft::detail {

std::vector<Array> flat_composite(FlatFunction& f, const std::string& name, const Attributes& attributes, int version) {
  if (name.empty()) throw Error("composite: the name is empty; it is what a backend knows the function by", f.loc);
  const Jaxpr traced = trace_flat(f, "composite");
  return bind_composite({attributes, traced, name, version}, f.args, f.loc);
}

}  // namespace weft::detail
