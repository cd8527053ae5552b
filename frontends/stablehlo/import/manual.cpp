// See manual.h.
#include "weft/frontends/stablehlo/import/manual.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/functions/collectives.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/import/functions.h"

namespace weft::detail::mlir {
namespace {

/// What a device has of an array that is the sum of what devices have: the first one along the axes all of it, the others zeros.
Array addend_of(const Array& x, const std::vector<std::string>& axes, SourceLoc loc) {
  if (axes.empty()) return x;
  return where(axis_index(AxisName(axes, loc)) == make_literal(Number(0), int32), x, scalar(x, 0));
}
Array sum_of(const Array& x, const std::vector<std::string>& axes) {
  return axes.empty() ? x : Array(convert(psum(x, AxisName(axes)), x.dtype()));
}

}  // namespace

Values run_manual(OpCall& c, const ManualComputation& m) {
  if (c.op.regions.size() != 1 || c.op.regions[0].arguments.size() != c.num_operands())
    c.fail("its body must take one block for each operand");
  ShardMapParams p;
  p.mesh = m.mesh, p.newly_manual_axes.names = m.axes;
  p.in_specs.specs = m.in_specs, p.out_specs.specs = m.out_specs;
  std::vector<Aval> blocks;
  for (std::size_t i = 0; i < c.num_operands(); ++i) {
    const Aval& whole = c.in(i).aval();
    if (const std::string problem = spec_problem(m.mesh, m.in_specs[i], whole.shape); !problem.empty())
      c.fail(fmt::format("operand {} is {}: {}", i, to_string(whole), problem));
    blocks.push_back({block_shape(m.mesh, m.in_specs[i], whole.shape), whole.dtype});
  }
  const ManualScope* const outer = c.importer().manual();
  if (outer && !(outer->mesh == m.mesh)) c.fail("it is inside a manual computation over another mesh");
  ManualScope scope{m.mesh, m.axes};
  if (outer)
    for (const std::string& axis : outer->axes) {
      if (std::find(m.axes.begin(), m.axes.end(), axis) != m.axes.end())
        c.fail(fmt::format("`{}` is a manual axis of it and of the computation around it", axis));
      scope.axes.push_back(axis);
    }
  TraceRequest request{"stablehlo manual computation", blocks, {}};
  for (const std::string& axis : m.axes) request.axes.push_back({axis, static_cast<int>(m.mesh.size_of(axis))});
  const Values out = c.importer().within(scope, [&]() -> Values {
    // A map over nothing is the body itself.
    if (m.axes.empty()) {
      const Arrays given = c.ins();
      const Arrays results = c.run_region(0, given);
      return {results.begin(), results.end()};
    }
    p.jaxpr = trace_jaxpr(request, [&](std::span<const Array> args) {
      Arrays given(args.begin(), args.end());
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = addend_of(given[i], m.in_unreduced.at(i), c.loc);
      Arrays out = c.run_region(0, given);
      for (std::size_t i = 0; i < out.size() && i < m.out_unreduced.size(); ++i) out[i] = sum_of(out[i], m.out_unreduced[i]);
      return out;
    });
    const std::vector<Aval> results = p.jaxpr.data().output_avals();
    if (results.size() != m.out_specs.size())
      c.fail(fmt::format("its body returns {} values for {} results", results.size(), m.out_specs.size()));
    return {};
  });
  if (m.axes.empty()) return out;
  const Arrays arrays = bind_shard_map(std::move(p), c.ins(), c.loc);
  return {arrays.begin(), arrays.end()};
}

Jaxpr import_replicas(Importer& importer, const std::string& function, int replicas, SourceLoc loc) {
  const std::string axis = "replica";
  ManualScope scope{{}, {axis}, true};
  scope.mesh.names = {axis}, scope.mesh.sizes = {replicas};
  const StablehloProgram own = importer.within(scope, [&] { return importer.import_function(function); });
  if (!own.checks.empty()) throw Error(fmt::format("@{} checks its results, which several replicas don't have in common", function), loc);
  const auto stacked = [&](std::span<const Aval> avals, std::int64_t n) {
    std::vector<Aval> out;
    for (const Aval& a : avals) out.push_back(a.with_shape(a.shape.inserted(0, n)));
    return out;
  };
  const auto inputs = own.jaxpr.data().input_avals();
  const std::vector<Aval> results = own.jaxpr.data().output_avals();
  ShardMapParams p;
  p.mesh = scope.mesh;
  p.in_specs.specs.assign(inputs.size(), PartitionSpec(axis));
  p.out_specs.specs.assign(results.size(), PartitionSpec(axis));
  TraceRequest request{"replica", stacked(inputs, 1), {}};
  request.axes.push_back({axis, replicas});
  p.jaxpr = trace_jaxpr(request, [&](std::span<const Array> blocks) {
    Arrays given, out;
    for (std::size_t i = 0; i < blocks.size(); ++i) given.push_back(reshape_to(blocks[i], inputs[i].shape, loc));
    for (const Array& x : eval_jaxpr(own.jaxpr, given)) out.push_back(reshape_to(x, x.shape().inserted(0, 1), loc));
    return out;
  });
  return trace_jaxpr({"stablehlo replicas", stacked(inputs, replicas), {}},
                     [&](std::span<const Array> arrays) { return bind_shard_map(std::move(p), arrays, loc); });
}

}  // namespace weft::detail::mlir
