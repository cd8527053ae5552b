// The call of a primitive's reference implementation, for the interpreter and for steps of compiled programs that no routine runs.
#pragma once
#include <algorithm>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Computes the results. Where they have no elements nothing is called: what a rule prepares may be as large as the sizes beside a 0.
inline void call_reference(const Primitive& op, const ReferenceContext& c) {
  const auto empty = [](const HostTensor& t) { return t.aval.size() == 0; };
  if (!c.out.empty() && !op.has_effects && std::all_of(c.out.begin(), c.out.end(), empty)) return;
  op.reference(c);
}

}  // namespace weft::detail
