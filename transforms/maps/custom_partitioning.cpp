#include "weft/transforms/maps/custom_partitioning.h"

#include <typeinfo>

#include "weft/core/errors/boundary.h"
#include "weft/core/ops/control/custom_partitioning.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trees/skeleton.h"
#include "weft/transforms/autodiff/differentiate.h"

namespace weft::detail {
namespace {

std::vector<ShapeDtypeStruct> structs_of(std::span<const Aval> avals) {
  std::vector<ShapeDtypeStruct> out;
  for (const Aval& a : avals) out.push_back({a.shape, a.dtype});
  return out;
}

struct UserPartitioner final : CallPartitioner {
  explicit UserPartitioner(Ref<const FlatPartitioner> f) : functions(std::move(f)) {}
  const Ref<const FlatPartitioner> functions;

  CallSpecs choose(const MeshAxes& mesh, std::span<const Aval> args, const std::vector<PartitionSpec>& now, std::span<const Aval> results,
                   SourceLoc) const override {
    Partitioning p = calling_user([&] { return functions->choose({mesh_of(mesh), structs_of(args), now, structs_of(results)}); });
    return {std::move(p.arg_specs), std::move(p.result_specs)};
  }
  std::vector<Array> run(const MeshAxes& mesh, const CallSpecs& specs, std::span<const Array> blocks, SourceLoc) const override {
    return calling_user([&] { return functions->run({mesh_of(mesh), specs.args, specs.results}, blocks); });
  }
  /// The same functions, of trees of the same structure.
  bool equals(const CallPartitioner& other) const override {
    const auto* o = dynamic_cast<const UserPartitioner*>(&other);
    if (!o || o->functions->owner != functions->owner) return false;
    const FlatPartitioner &a = *o->functions, &b = *functions;
    return typeid(a) == typeid(b) && structure_difference(a.arguments(), b.arguments()).empty();
  }
};

}  // namespace

std::vector<Array> flat_custom_partitioning(FlatFunction& f, Ref<const FlatPartitioner> partitioner) {
  const CallPartitionerParam param{f.name, make_ref<UserPartitioner>(std::move(partitioner))};
  const auto bind = [&](const Jaxpr& program, std::span<const Array> args) {
    return bind_custom_partitioning(f.name, program, param, args, f.loc);
  };
  const Jaxpr program = trace_flat(f, "custom_partitioning", {.tracks_varying = false});
  if (current_trace()) return bind(program, f.args);
  // Outside of a trace it is compiled as a jitted function.
  const Jaxpr j =
      trace_jaxpr({"custom_partitioning", avals_of(f.args), {}}, [&](std::span<const Array> args) { return bind(program, args); });
  return bind_jit(f.name, j, {}, f.args, f.loc);
}

}  // namespace weft::detail
