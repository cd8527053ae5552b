#include "weft/transforms/maps/resharding.h"

#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/maps/map_scope.h"

namespace weft::detail {

Array constrained(const Array& x, const NamedSharding& s, const char* operation, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  if (const std::string problem = spec_problem(s.mesh().axes(), s.spec(), x.shape()); !problem.empty())
    throw ShardingError(fmt::format("{}: {}: {}", operation, to_string(x.aval()), problem), loc);
  if (inside_map())
    for (const auto& dim : s.spec().dims())
      for (const std::string& axis : dim)
        if (find_axis(axis))
          throw ShardingError(
              fmt::format("{}: {}: {} names the axis `{}`, which is that of a map around: a device sees its own block along it; name axes "
                          "that the map leaves free (axis_names of shard_map)",
                          operation, to_string(x.aval()), to_string(s.spec()), axis),
              loc);
  if (current_trace()) return bind_sharding_constraint(x, {s.mesh().axes(), s.spec()}, loc);
  return device_put_array(x, s, loc);
}

NamedSharding over_mesh_in_scope(const PartitionSpec& spec, const char* operation, SourceLoc loc) {
  if (const Mesh* const mesh = mesh_in_scope()) return NamedSharding(*mesh, spec, effective_loc(loc));
  throw ShardingError(fmt::format("{}: {} names axes of a mesh, and there is no mesh in scope; enter one with use_mesh, or give a "
                                  "NamedSharding",
                                  operation, to_string(spec)),
                      effective_loc(loc));
}

}  // namespace weft::detail
