#include "weft/runtime/partition/partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/process_local.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/partition/common_mesh.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

/// Whether every equation can run in a program of a device of the mesh.
bool can_partition(const Jaxpr& j, const MeshAxes& mesh) {
  check_nesting("programs inside programs", nesting_depth(j));
  for (const Eqn& e : j.eqns()) {
    if (has_effects(e) || e.op->kind == Kind::effect || e.op->kind == Kind::collective || process_move(*e.op)) return false;
    if (const ShardMapParams* p = device_map(e)) {
      if (!same_mesh(p->mesh, mesh)) return false;
      if (p->manual_axes().size() != p->mesh.names.size() && !can_partition_body(p->jaxpr, mesh)) return false;
      continue;
    }
    bool all = true;
    for_each_program(e, [&](const Jaxpr& inner) { all = all && can_partition(inner, mesh); });
    if (!all) return false;
  }
  return true;
}

class Partitioner {
 public:
  explicit Partitioner(const Partition& p) : p_(p) {}

  ShardedValues run(const Jaxpr& j, const ShardedValues& inputs) {
    const auto replicate = [&](const Array& x) { return p_.replicated(x); };
    return walk_as<ShardedValue>(j, inputs, replicate, [&](const Eqn& e, std::span<const ShardedValue> in) {
      LocScope scope(e.loc);
      return eqn(e, {in.begin(), in.end()}, result_avals(j.data(), e));
    });
  }

 private:
  ShardedValues eqn(const Eqn& e, const ShardedValues& in, std::span<const Aval> out) {
    if (const SpecOnMesh* s = sharding_constraint(e)) return {constraint(*s, in[0], e.loc)};
    if (const ShardMapParams* q = device_map(e); q && runs_over_free_axes(*q, p_.free_axes(), p_.mesh())) return map(*q, in, e.loc);
    const bool moves = e.op->kind == Kind::movement || e.op->kind == Kind::concatenate;
    const auto is_sharded = [&](const ShardedValue& x) { return x.is_sharded() || (moves && x.slice); };
    if (std::none_of(in.begin(), in.end(), is_sharded) && !decides_sharding(e)) return replicated(e, in);
    if (e.op->kind == Kind::collective) return collective(e, in, out);
    if (std::optional<ShardedValues> results = partition_eqn({p_, e, in, out, run_partitioned})) return std::move(*results);
    if (e.op->body || e.op->call_body) return call(e, in);
    ShardedValues wholes;
    for (const ShardedValue& x : in) wholes.push_back(p_.gathered(x, e.loc));
    return replicated(e, wholes);
  }

  /// Runs the equation on replicated operands on all devices.
  ShardedValues replicated(const Eqn& e, const ShardedValues& in) {
    std::vector<Array> blocks;
    for (const ShardedValue& x : in) blocks.push_back(x.block);
    ShardedValues results;
    for (const Array& y : bind_primitive(*e.op, e.params, blocks, e.loc)) results.push_back(p_.replicated(y));
    if (e.op->kind == Kind::movement && in.size() == 1 && in[0].whole.size() == 0)
      for (ShardedValue& y : results) y.scalar = in[0].block;
    return results;
  }

  /// Whether the equation, or one of its sub-programs, decides shardings itself.
  static bool decides_sharding(const Eqn& e) {
    DecidesShardingTransform::Function* const rule = find_rule<DecidesShardingTransform>(*e.op);
    bool any = rule && rule(*e.params);
    for_each_program(e, [&](const Jaxpr& inner) { any = any || std::any_of(inner.eqns().begin(), inner.eqns().end(), decides_sharding); });
    return any;
  }

  ShardedValue constraint(const SpecOnMesh& s, const ShardedValue& x, SourceLoc loc) {
    const std::optional<PartitionSpec> spec = spec_here(s);
    if (!spec) {
      const auto devices = [](const MeshAxes& mesh) { return device_list(mesh_of(mesh).axes().device_ids); };
      throw ShardingError(
          fmt::format("sharding_constraint: {} on the mesh {} on {}, in a program whose arguments are sharded over the mesh {} on {}; the "
                      "meshes of one program need the same devices in the same order: use one of them for both, or move the arguments "
                      "with reshard",
                      to_string(s.spec), print_param(s.mesh), devices(s.mesh), print_param(p_.mesh()), devices(p_.mesh())),
          loc);
    }
    DimAxes wanted = dims_of(*spec, x.whole.size());
    if (!p_.free_axes().empty())
      for (std::vector<std::string>& dim : wanted)
        std::erase_if(dim, [&](const std::string& axis) { return std::count(p_.free_axes().begin(), p_.free_axes().end(), axis) == 0; });
    return p_.reshard(x, wanted, loc);
  }

  /// The spec of a constraint over this program's mesh.
  std::optional<PartitionSpec> spec_here(const SpecOnMesh& s) const {
    if (same_mesh(s.mesh, p_.mesh())) return s.spec;
    const MeshAxes given = mesh_of(s.mesh).axes();
    if (!p_.free_axes().empty() || given.device_ids != mesh_of(p_.mesh()).axes().device_ids) return {};
    return spec_over(p_.mesh(), s.spec, given);
  }

  /// Within a block an operand stays sharded over axes that aren't the map's, where its size allows that.
  ShardedValues map(const ShardMapParams& q, const ShardedValues& in, SourceLoc loc) {
    const std::vector<std::string> mapped = q.manual_axes();
    const auto is_mapped = [&](const std::string& axis) { return std::count(mapped.begin(), mapped.end(), axis) > 0; };
    ShardedValues blocks;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const DimAxes own = dims_of(q.in_specs[i], in[i].whole.size());
      DimAxes wanted = own, rest(own.size());
      for (std::size_t d = 0; d < own.size(); ++d) {
        std::vector<std::string> further = in[i].axes[d];
        std::erase_if(further, is_mapped);
        if (in[i].whole[static_cast<int>(d)] % (p_.parts(own[d]) * p_.parts(further)) != 0) continue;
        wanted[d].insert(wanted[d].end(), further.begin(), further.end());
        rest[d] = std::move(further);
      }
      blocks.push_back({p_.reshard(in[i], wanted, loc).block, p_.block_of(in[i].whole, own), rest, {}});
    }
    std::vector<std::string> free = p_.free_axes().empty() ? p_.mesh().names : p_.free_axes();
    std::erase_if(free, is_mapped);
    ShardedValues results;
    const ShardedValues out = in_map(q.jaxpr, blocks, std::move(free));
    for (std::size_t i = 0; i < out.size(); ++i) {
      DimAxes axes = dims_of(q.out_specs[i], out[i].whole.size());
      for (std::size_t d = 0; d < axes.size(); ++d) axes[d].insert(axes[d].end(), out[i].axes[d].begin(), out[i].axes[d].end());
      results.push_back(p_.of_block(out[i].block, axes));
    }
    return results;
  }

  /// The body of a map on its blocks, partitioned over the axes that it leaves free. Where there are none, maps in it stay as they are.
  ShardedValues in_map(const Jaxpr& body, const ShardedValues& in, std::vector<std::string> free) {
    if (!free.empty()) {
      const Partition inside(p_.mesh(), std::move(free));
      return Partitioner(inside).run(body, in);
    }
    std::vector<Array> blocks;
    for (const ShardedValue& x : in) blocks.push_back(x.block);
    ShardedValues results;
    for (const Array& y : eval_jaxpr(body, blocks)) results.push_back(p_.replicated(y));
    return results;
  }

  /// Whether an all_to_all leaves dimensions where they are: parts of one are joined along another.
  static bool exchanges_parts(const Shape& in, const Shape& out, const ExchangeParts& parts) {
    if (in.size() != out.size() || out[parts.dim] == 0) return false;
    const std::int64_t n = in[parts.dim] / out[parts.dim];
    Shape moved = in.with(parts.dim, out[parts.dim]);
    moved = moved.with(parts.concat_dim, moved[parts.concat_dim] * n);
    return moved == out;
  }

  /// One over the axes of the map around: between blocks. Dimensions stay sharded that it doesn't move elements along.
  ShardedValues collective(const Eqn& e, const ShardedValues& in, std::span<const Aval> out) {
    const CollectiveRules& rules = collective_rules(*e.op);
    const ExchangeParts parts = rules.parts(*e.params);
    ShardedValues values;
    std::vector<Array> blocks;
    std::vector<DimAxes> results;
    for (std::size_t i = 0; i < in.size(); ++i) {
      DimAxes axes = in[i].axes;
      const Shape& shape = out[i].shape;
      const bool same_rank = in[i].whole.size() == shape.size(), one = in.size() == 1;
      const auto at = static_cast<std::size_t>(parts.dim);
      DimAxes result;
      if (in[i].whole == shape && (rules.exchange == Exchange::none || rules.exchange == Exchange::allreduce ||
                                   rules.exchange == Exchange::permute || rules.exchange == Exchange::broadcast)) {
        result = axes;
      } else if (one && same_rank && (rules.exchange == Exchange::allgather || rules.exchange == Exchange::reduce_scatter)) {
        axes[at].clear();
        result = axes;
      } else if (one && rules.exchange == Exchange::alltoall && exchanges_parts(in[i].whole, shape, parts)) {
        axes[at].clear();
        axes[static_cast<std::size_t>(parts.concat_dim)].clear();
        result = axes;
      } else if (one && rules.exchange == Exchange::allgather && shape.size() == in[i].whole.size() + 1) {
        result = axes;
        result.insert(result.begin() + parts.dim, std::vector<std::string>());
      } else {
        axes.assign(axes.size(), {});
        result.resize(static_cast<std::size_t>(shape.size()));
      }
      blocks.push_back(p_.reshard(in[i], axes, e.loc).block);
      results.push_back(std::move(result));
    }
    const std::vector<Array> y = bind_primitive(*e.op, e.params, blocks, e.loc);
    for (std::size_t i = 0; i < y.size(); ++i) values.push_back(p_.of_block(y[i], results[i]));
    return values;
  }

  ShardedValues call(const Eqn& e, const ShardedValues& in) {
    std::vector<Aval> avals;
    for (const ShardedValue& x : in) avals.push_back(x.aval());
    return run(executed_body(*e.op, *e.params, avals), in);
  }

  const Partition& p_;
};

/// Results of the map whose shardings are stated over another mesh of its devices than its own: that of the constraint that they come from,
/// or `over`. Their blocks stay where they are.
void state_over_other_meshes(const Jaxpr& j, const ShardMapParams& map, const MeshAxes& over, std::vector<Array>& results) {
  std::vector<std::optional<SpecOnMesh>> stated(results.size());
  std::vector<MeshAxes> meshes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Atom a = j.data().outputs[i];
    for (const Eqn& e : j.eqns())
      if (const SpecOnMesh* s = sharding_constraint(e); s && !a.is_literal() && e.outputs[0] == a.var()) stated[i] = *s;
    if (!stated[i])
      if (const std::optional<PartitionSpec> spec = spec_over(over, map.out_specs[i], map.mesh)) stated[i] = {over, *spec};
    if (!stated[i] || same_mesh(stated[i]->mesh, map.mesh)) continue;
    if (!std::count(meshes.begin(), meshes.end(), stated[i]->mesh)) meshes.push_back(stated[i]->mesh);
  }
  for (const MeshAxes& mesh : meshes) {
    ShardMapParams q;
    q.mesh = mesh;
    q.newly_manual_axes.names = mesh.names;
    JaxprBuilder body;
    std::vector<Atom> blocks;
    std::vector<Array> operands;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!stated[i] || !(stated[i]->mesh == mesh)) continue;
      q.in_specs.specs.push_back(stated[i]->spec.trimmed());
      const Aval& aval = results[i].aval();
      blocks.push_back(body.add_input(aval.with_shape(block_shape(mesh, stated[i]->spec, aval.shape))));
      operands.push_back(results[i]);
      which.push_back(i);
    }
    q.out_specs = q.in_specs;
    q.jaxpr = std::move(body).finish(std::move(blocks));
    const std::vector<Array> same = bind_shard_map(q, operands, {});
    for (std::size_t k = 0; k < which.size(); ++k) results[which[k]] = same[k];
  }
}

}  // namespace

bool same_mesh(const MeshAxes& a, const MeshAxes& b) {
  return a.names == b.names && a.sizes == b.sizes && (a.device_ids == b.device_ids || a.device_ids.empty() || b.device_ids.empty());
}

bool can_partition_body(const Jaxpr& j, const MeshAxes& mesh) {
  check_nesting("programs inside programs", nesting_depth(j));
  return std::all_of(j.eqns().begin(), j.eqns().end(), [&](const Eqn& e) {
    bool all = !has_effects(e) && e.op->kind != Kind::effect && !process_move(*e.op);
    if (const SpecOnMesh* s = sharding_constraint(e)) all = all && same_mesh(s->mesh, mesh);
    for_each_program(e, [&](const Jaxpr& inner) { all = all && can_partition_body(inner, mesh); });
    return all;
  });
}

bool runs_over_free_axes(const ShardMapParams& q, const std::vector<std::string>& free, const MeshAxes& mesh) {
  const std::vector<std::string> own = q.manual_axes();
  return free.empty() || std::all_of(own.begin(), own.end(), [&](const std::string& axis) {
           return std::count(free.begin(), free.end(), axis) > 0 && mesh.size_of(axis) == q.mesh.size_of(axis);
         });
}

ShardedValues run_partitioned(const Partition& partition, const Jaxpr& program, const ShardedValues& inputs) {
  return Partitioner(partition).run(program, inputs);
}

std::optional<Jaxpr> partition(const Jaxpr& j, const MeshAxes& mesh, const std::vector<PartitionSpec>& in_specs,
                               const MeshAxes* results_over) {
  if (!can_partition(j, mesh)) return {};
  const NotedPass noted("partition", j);
  const auto avals = j.data().input_avals();
  ShardMapParams q;
  q.mesh = mesh;
  q.newly_manual_axes.names = mesh.names;
  q.in_specs.specs = in_specs;
  q.partitioned = true;
  TraceRequest request{"jit", {}, {}};
  for (std::size_t i = 0; i < mesh.names.size(); ++i) request.axes.push_back({mesh.names[i], static_cast<int>(mesh.sizes[i])});
  for (std::size_t i = 0; i < avals.size(); ++i)
    request.inputs.push_back(avals[i].with_shape(block_shape(mesh, in_specs[i], avals[i].shape)));
  const Hoisted body = hoist_consts(trace_jaxpr(request, [&](std::span<const Array> args) {
    ShardedValues inputs;
    for (std::size_t i = 0; i < args.size(); ++i) inputs.push_back({args[i], avals[i].shape, dims_of(in_specs[i], avals[i].ndim()), {}});
    std::vector<Array> out;
    for (const ShardedValue& y : run_partitioned(Partition(mesh), j, inputs)) {
      out.push_back(y.block);
      q.out_specs.specs.push_back(PartitionSpec::of(y.axes).trimmed());
    }
    return out;
  }));
  q.jaxpr = dce_program(body.jaxpr);  // what was gathered for equations that did without
  q.in_specs.specs.insert(q.in_specs.specs.begin(), body.consts.size(), PartitionSpec());
  const Jaxpr made = trace_jaxpr({"jit", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
    std::vector<Array> inputs = body.consts;
    inputs.insert(inputs.end(), args.begin(), args.end());
    std::vector<Array> results = bind_shard_map(q, inputs, {});
    state_over_other_meshes(j, q, results_over ? *results_over : mesh, results);
    return results;
  });
  noted.made(made);
  return made;
}

}  // namespace weft::detail
