// Programs of one device of a mesh (`sdy.manual_computation`, replicas), and where an operation is in one.
#pragma once
#include "weft/core/ir/mesh_axes.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {

struct ManualComputation {
  MeshAxes mesh;
  std::vector<std::string> axes;  ///< those that the body is of one device along
  std::vector<PartitionSpec> in_specs, out_specs;
  std::vector<std::vector<std::string>> in_unreduced, out_unreduced;  ///< for each: axes along which blocks are addends
};
/// The operation's region as a shard_map equation. Throws through the operation.
Values run_manual(OpCall& c, const ManualComputation& m);

/// A function of a module of several replicas, as a program of what all of them have: each array with a leading dimension of replicas, over
/// which a shard_map equation runs the function.
Jaxpr import_replicas(Importer& importer, const std::string& function, int replicas, SourceLoc loc);

}  // namespace weft::detail::mlir
