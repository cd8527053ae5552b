#include "weft/core/ops/collective/sharding_constraint.h"

#include <fmt/format.h>

#include <cstring>

#include "weft/core/ir/kernel_builder.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/common.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {

std::string print_param(const SpecOnMesh& v) {
  return fmt::format("NamedSharding(mesh={}, spec={}, memory_kind=device)", print_param(v.mesh), to_string(v.spec));
}

void read_param(ParamReader& r, SpecOnMesh& v) {
  r.expect("NamedSharding");
  r.expect("(");
  while (!r.accept(")")) {
    const std::string field = r.read_identifier();
    r.expect("=");
    if (field == "mesh") {
      read_param(r, v.mesh);
    } else if (field == "spec") {
      SpecList one;
      read_spec(r, one.specs.emplace_back());
      v.spec = one[0];
    } else {
      r.read_string();
    }
    if (r.peek() != ')') r.expect(",");
  }
}

PartitionSpec with_dim(const PartitionSpec& spec, int at, const std::string& axis) {
  std::vector<std::vector<std::string>> dims = spec.dims();
  if (static_cast<int>(dims.size()) < at) {
    if (axis.empty()) return spec;
    dims.resize(static_cast<std::size_t>(at));
  }
  dims.insert(dims.begin() + at, axis.empty() ? std::vector<std::string>{} : std::vector<std::string>{axis});
  return PartitionSpec::of(std::move(dims));
}

namespace {

struct ShardingConstraint {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "sharding_constraint", doc = "The operand itself, sharded over a mesh as the sharding says.";
  static constexpr Kind kind = Kind::elementwise;
  using Params = ShardingConstraintParams;
  static Aval abstract_eval(const OpContext& c) {
    const SpecOnMesh& s = c.get<Params>().sharding;
    if (const std::string problem = spec_problem(s.mesh, s.spec, c.in[0].shape); !problem.empty()) c.fail<ShardingError>(problem);
    return c.in[0];
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[0]) return {Tangent()};
    return {bind_one<ShardingConstraint>(c.get<Params>(), {*c.tangents[0]}, c.loc)};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent()};
    return {bind_one<ShardingConstraint>(c.get<Params>(), {*c.cotangents[0]}, c.loc)};
  }
  /// The mapped axis is sharded over vmap's spmd_axis_name.
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    const std::string& over = c.axis.spmd_name;
    if (!over.empty() && p.sharding.mesh.find(over) < 0)
      throw ShardingError(
          fmt::format("with_sharding_constraint: the vmap around it has spmd_axis_name = \"{}\", which is not an axis of the mesh {}; name "
                      "one of its axes",
                      over, print_param(p.sharding.mesh)),
          c.loc);
    p.sharding.spec = with_dim(p.sharding.spec, c.dims[0], over);
    return {{bind_one<ShardingConstraint>(std::move(p), {c.in[0]}, c.loc)}, {c.dims[0]}};
  }
  static void reference(const ReferenceContext& c) {
    if (c.in[0].aval.bytes() > 0) std::memcpy(c.out[0].data, c.in[0].data, static_cast<std::size_t>(c.in[0].aval.bytes()));
  }
  static KernelValue lower(KernelBuilder&, const Params&, std::span<const KernelValue> v) { return v[0]; }
};

constexpr ParamValue kShardingConstraintAdded[] = {{"context_mesh", "Mesh()"}, {"layout", "None"}, {"unconstrained_dims", "frozenset({})"}};
const TextRule<ShardingConstraint> constraint_text([] { return TextTraits{.added = kShardingConstraintAdded}; });

const Rule<ShardingConstraintTransform, ShardingConstraint> constraint_sharding([](const ParamsBase& p) -> const SpecOnMesh& {
  return params_as<ShardingConstraintParams>(p).sharding;
});
const DecidesShardingRule<ShardingConstraint> constraint_decides([](const ParamsBase&) { return true; });

constexpr const Primitive* kPrimitives[] = {&primitive_of<ShardingConstraint>};

}  // namespace

PrimitiveList sharding_constraint_primitives() { return kPrimitives; }
const SpecOnMesh* sharding_constraint(const Eqn& e) {
  ShardingConstraintTransform::Function* const rule = find_rule<ShardingConstraintTransform>(*e.op);
  return rule ? &rule(*e.params) : nullptr;
}

Array bind_sharding_constraint(const Array& x, SpecOnMesh sharding, SourceLoc loc) {
  return bind_one<ShardingConstraint>({std::move(sharding)}, {x}, loc);
}

}  // namespace weft::detail
