#include "weft/core/ops/control/control_rules.h"

#include <algorithm>

#include "weft/core/errors/error.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

PartitionedProgram partition_program(const PartitionContext& c, const Jaxpr& j, const std::vector<DimAxes>& in,
                                     const std::vector<DimAxes>& wanted) {
  const auto avals = j.data().input_avals();
  std::vector<Aval> blocks;
  for (std::size_t i = 0; i < in.size(); ++i) blocks.push_back(avals[i].with_shape(c.partition.block_of(avals[i].shape, in[i])));
  PartitionedProgram p;
  const Jaxpr traced = trace_jaxpr({std::string(c.eqn.op->name), std::move(blocks), {}}, [&](std::span<const Array> args) {
    ShardedValues inputs;
    for (std::size_t i = 0; i < args.size(); ++i) inputs.push_back({args[i], avals[i].shape, in[i], {}});
    std::vector<Array> out;
    const ShardedValues results = c.run(c.partition, j, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ShardedValue y = i < wanted.size() ? c.reshard(results[i], wanted[i]) : results[i];
      p.out.push_back(results[i].axes);
      out.push_back(y.block);
    }
    return out;
  });
  const Hoisted h = hoist_consts(traced);
  if (!h.consts.empty()) throw Error("partition: internal error: a loop's program has constants", c.eqn.loc);
  p.jaxpr = dce_program(h.jaxpr);
  return p;
}

bool adopt(std::vector<DimAxes>& carry, const std::vector<DimAxes>& out) {
  bool changed = false;
  for (std::size_t k = 0; k < carry.size(); ++k) {
    const auto is_sharded = [](const DimAxes& axes) {
      return std::any_of(axes.begin(), axes.end(), [](const auto& dim) { return !dim.empty(); });
    };
    if (is_sharded(carry[k]) || !is_sharded(out[k])) continue;
    carry[k] = out[k];
    changed = true;
  }
  return changed;
}

}  // namespace weft::detail
