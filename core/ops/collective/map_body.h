// Bodies of maps over a mesh, rewritten by transforms.
#pragma once
#include <functional>

#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

/// What f makes of the map's body, called with the map's axes in scope.
Jaxpr rewritten_body(const ShardMapParams& params, const std::function<Jaxpr()>& f);

}  // namespace weft::detail
