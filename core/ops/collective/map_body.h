// shard_map and its body, for rules of transforms.
#pragma once
#include <functional>

#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

const Primitive& shard_map_primitive();
/// What f makes of the map's body, called with the map's axes in scope.
Jaxpr rewritten_body(const ShardMapParams& params, const std::function<Jaxpr()>& f);

}  // namespace weft::detail
