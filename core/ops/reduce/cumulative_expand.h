// Long cumulative operations in chunks that can run side by side, for backends that fuse what that takes.
#pragma once
#include <optional>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// The program of a cumulative sum, product, maximum or minimum along a long axis beside which there is little else: the reductions of
/// chunks, their running reduction, and the running reduction of each chunk from there on (Blelloch, "Prefix sums and their applications",
/// 1990). Nothing for others, and where no fitting length of a chunk divides the axis.
std::optional<Jaxpr> expand_cumulative(const Eqn& eqn, std::span<const Aval> in);

/// cumlogsumexp, which is never written out.
const Primitive& cumulative_logsumexp_primitive();

}  // namespace weft::detail
