// Nested maps: the body of a map is partitioned over the mesh axes that the map leaves free, so that inner maps run over the devices of
// those axes and their results stay there.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/base/nesting.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/partition/partition.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

/// How maps over free axes shard those inputs of the program that reach them unchanged except for dimensions of size 1. Empty for other
/// inputs, and for those that two maps shard differently.
std::vector<DimAxes> divided_by_maps(const Jaxpr& j, const std::vector<std::string>& free, const MeshAxes& mesh) {
  check_nesting("programs inside programs", nesting_depth(j));
  const JaxprData& d = j.data();
  std::vector<std::optional<DimAxes>> wanted(d.avals.size());
  std::vector<bool> differ(d.avals.size());
  const auto want = [&](Atom a, DimAxes axes) {
    if (a.is_literal() || std::all_of(axes.begin(), axes.end(), [](const auto& dim) { return dim.empty(); })) return;
    std::optional<DimAxes>& known = wanted[a.var()];
    differ[a.var()] = differ[a.var()] || (known && *known != axes);
    known = std::move(axes);
  };
  for (auto e = d.eqns.rbegin(); e != d.eqns.rend(); ++e) {
    if (const ShardMapParams* q = device_map(*e); q && runs_over_free_axes(*q, free, mesh)) {
      const std::vector<DimAxes> inside = divided_by_maps(q->jaxpr, free, mesh);
      for (std::size_t i = 0; i < e->inputs.size(); ++i) {
        DimAxes axes = dims_of(q->in_specs[i], d.aval(e->inputs[i]).ndim());
        for (std::size_t k = 0; k < axes.size(); ++k)
          if (!inside[i].empty()) axes[k].insert(axes[k].end(), inside[i][k].begin(), inside[i][k].end());
        want(e->inputs[i], std::move(axes));
      }
    } else if (e->op->kind == Kind::call) {
      std::vector<Aval> avals;
      for (Atom a : e->inputs) avals.push_back(d.aval(a));
      const std::vector<DimAxes> inside = divided_by_maps(executed_body(*e->op, *e->params, avals), free, mesh);
      for (std::size_t i = 0; i < e->inputs.size(); ++i)
        if (!inside[i].empty()) want(e->inputs[i], inside[i]);
    } else if (e->op->kind == Kind::movement && e->inputs.size() == 1 && e->outputs.size() == 1 && wanted[e->outputs[0]]) {
      const Shape &from = d.aval(e->inputs[0]).shape, &to = d.avals[e->outputs[0]].shape;
      DimAxes axes(static_cast<std::size_t>(from.size()));
      int out = 0;
      bool same = from.num_elements() == to.num_elements() && is_view(*e->op, *e->params, d.aval(e->inputs[0]), d.avals[e->outputs[0]]);
      for (int k = 0; same && k < from.size(); ++k) {
        if (from[k] == 1) continue;
        while (out < to.size() && to[out] == 1) ++out;
        same = out < to.size() && to[out] == from[k];
        if (same) axes[static_cast<std::size_t>(k)] = (*wanted[e->outputs[0]])[static_cast<std::size_t>(out++)];
      }
      if (same) want(e->inputs[0], std::move(axes));
    }
  }
  std::vector<DimAxes> result;
  for (int i = 0; i < d.num_inputs; ++i) {
    const std::size_t v = d.first_input() + static_cast<Var>(i);
    result.push_back(wanted[v] && !differ[v] ? *wanted[v] : DimAxes());
  }
  return result;
}

}  // namespace

std::optional<ShardMapParams> partition_free_axes(const ShardMapParams& p) {
  std::vector<std::string> free = p.mesh.names;
  const std::vector<std::string> own = p.manual_axes();
  std::erase_if(free, [&](const std::string& axis) { return std::count(own.begin(), own.end(), axis) > 0; });
  if (free.empty() || !can_partition_body(p.jaxpr, p.mesh)) return {};
  const auto avals = p.jaxpr.data().input_avals();
  std::vector<DimAxes> inner = divided_by_maps(p.jaxpr, free, p.mesh);
  const Partition partition(p.mesh, free);
  ShardMapParams q = p;
  q.newly_manual_axes.names = p.mesh.names;
  q.out_specs.specs.clear();
  const auto add = [](const PartitionSpec& outer, const DimAxes& axes, int ndim) {
    DimAxes all = dims_of(outer, ndim);
    for (std::size_t d = 0; d < axes.size(); ++d) all[d].insert(all[d].end(), axes[d].begin(), axes[d].end());
    return PartitionSpec::of(std::move(all)).trimmed();
  };
  TraceRequest request{"shard_map", {}, {}};
  for (std::size_t i = 0; i < p.mesh.names.size(); ++i) request.axes.push_back({p.mesh.names[i], static_cast<int>(p.mesh.sizes[i])});
  for (std::size_t i = 0; i < avals.size(); ++i) {
    inner[i].resize(static_cast<std::size_t>(avals[i].ndim()));
    request.inputs.push_back(avals[i].with_shape(partition.block_of(avals[i].shape, inner[i])));
    q.in_specs.specs[i] = add(p.in_specs[i], inner[i], avals[i].ndim());
  }
  const Hoisted body = hoist_consts(trace_jaxpr(request, [&](std::span<const Array> args) {
    ShardedValues inputs;
    for (std::size_t i = 0; i < args.size(); ++i) inputs.push_back({args[i], avals[i].shape, inner[i], {}});
    std::vector<Array> out;
    const ShardedValues results = run_partitioned(partition, p.jaxpr, inputs);
    for (std::size_t k = 0; k < results.size(); ++k) {
      out.push_back(results[k].block);
      q.out_specs.specs.push_back(add(p.out_specs[k], results[k].axes, results[k].whole.size()));
    }
    return out;
  }));
  if (!body.consts.empty()) return {};
  q.jaxpr = dce_program(body.jaxpr);
  return q;
}

}  // namespace weft::detail
