// sharding_constraint: says how a value is sharded over a mesh, in a program that runs on one (JAX: with_sharding_constraint).
#pragma once
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// A spec on a mesh; written as JAX writes a NamedSharding.
struct SpecOnMesh {
  MeshAxes mesh;
  PartitionSpec spec;
  friend bool operator==(const SpecOnMesh&, const SpecOnMesh&) = default;
};
std::string print_param(const SpecOnMesh& v);
void read_param(ParamReader& r, SpecOnMesh& v);

struct ShardingConstraintParams {
  SpecOnMesh sharding;
  friend bool operator==(const ShardingConstraintParams&, const ShardingConstraintParams&) = default;
};

PrimitiveList sharding_constraint_primitives();
/// Rules for operations that only state how their operand is sharded; they return the sharding.
struct ShardingConstraintTransform {
  static constexpr std::string_view name = "sharding_constraint", doc = "It only says how its operand is sharded.";
  using Function = const SpecOnMesh&(const ParamsBase& params);
};
/// The sharding that an equation states, or null.
const SpecOnMesh* sharding_constraint(const Eqn& e);
Array bind_sharding_constraint(const Array& x, SpecOnMesh sharding, SourceLoc loc);

/// The spec with one more dimension, sharded over `axis`, or replicated if `axis` is empty.
PartitionSpec with_dim(const PartitionSpec& spec, int at, const std::string& axis);

}  // namespace weft::detail
