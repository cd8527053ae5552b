// Functions that the partition rules and the check_vma rules of cond, while and scan share.
#pragma once
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/control/control_run.h"
#include "weft/core/trace/key_reuse.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {

/// A program of blocks, and how its results are sharded.
struct PartitionedProgram {
  Jaxpr jaxpr;
  std::vector<DimAxes> out;
};
/// A sub-program of the equation for inputs that are sharded so, with results sharded as wanted (as they come where nothing is said).
PartitionedProgram partition_program(const PartitionContext& c, const Jaxpr& j, const std::vector<DimAxes>& in,
                                     const std::vector<DimAxes>& wanted);
/// A carry that starts replicated is sharded as the body gives it back; others keep their sharding. Whether any changed.
bool adopt(std::vector<DimAxes>& carry, const std::vector<DimAxes>& out);

}  // namespace weft::detail
