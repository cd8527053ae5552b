#include "weft/transforms/maps/resharding.h"

#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

Array constrained(const Array& x, const NamedSharding& s, const char* operation, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  if (const std::string problem = spec_problem(s.mesh().axes(), s.spec(), x.shape()); !problem.empty())
    throw ShardingError(fmt::format("{}: {}: {}", operation, to_string(x.aval()), problem), loc);
  if (current_trace()) return bind_sharding_constraint(x, {s.mesh().axes(), s.spec()}, loc);
  return device_put_array(x, s, loc);
}

}  // namespace weft::detail
