// The equation that joins arrays, for passes that divide one join of many operands into several: an axis goes in, the primitive and its
// parameters come out.
#pragma once
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

struct Concatenation {
  const Primitive* op;
  ParamsRef params;
};
/// Arrays one after another along an axis that they have.
Concatenation concatenation_along(int axis);

}  // namespace weft::detail
