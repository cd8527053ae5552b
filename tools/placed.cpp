#include "tools/placed.h"

#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/trace/trace.h"

namespace weft::tools {

Jaxpr placed_on(const Jaxpr& program, const std::vector<int>& device_ids) {
  using namespace detail;
  const JaxprData& d = program.data();
  return trace_jaxpr({"placed_on", {d.input_avals().begin(), d.input_avals().end()}, {}}, [&](std::span<const Array> args) {
    return walk(program, args, [&](const Eqn& e, std::span<const Array> in) {
      ParamsRef params = e.params;
      if (const ShardMapParams* map = device_map(e)) {
        ShardMapParams p = *map;
        p.mesh.device_ids = device_ids;
        params = make_params<ShardMapParams>(std::move(p));
      } else if (e.op->kind == Kind::call || e.op->kind == Kind::control) {
        params = map_programs(e, [&](const Jaxpr& j) { return placed_on(j, device_ids); });
      }
      return bind_primitive(*e.op, std::move(params), in, e.loc);
    });
  });
}

}  // namespace weft::tools
