// Several meshes of the same devices in one program. Where every axis of the meshes is a product of axes of a finer mesh, the program is
// partitioned over that one, and specs over any of them are specs over it.
#pragma once
#include <optional>
#include <span>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/mesh_axes.h"

namespace weft::detail {

/// The coarsest mesh over whose axes each spec over one of the meshes can be stated; one of the meshes themselves where there is such a one
/// among them. Nothing if their devices differ or are in another order, or if there is none: 2 x 3 and 3 x 2 devices.
std::optional<MeshAxes> common_mesh(std::span<const MeshAxes> meshes);
/// The spec over the axes of another mesh of the same devices that gives each device the same block. Nothing if there is none.
std::optional<PartitionSpec> spec_over(const MeshAxes& to, const PartitionSpec& spec, const MeshAxes& from);

/// The meshes of the program's sharding_constraints and of those in its sub-programs, each once; maps state their own.
std::vector<MeshAxes> constrained_meshes(const Jaxpr& j);

}  // namespace weft::detail
