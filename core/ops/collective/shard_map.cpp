#include "weft/core/ops/collective/shard_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/nesting.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/map_body.h"
#include "weft/core/ops/collective/rename_axis.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/varying.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {
namespace {

std::vector<AxisFrame> frames_of(const ShardMapParams& p) {
  std::vector<AxisFrame> list;
  for (const std::string& name : p.manual_axes()) list.push_back({name, static_cast<int>(p.mesh.size_of(name))});
  return list;
}

/// Calls f() with the map's axes in scope, to rewrite bodies.
template <class F>
auto with_axes(const ShardMapParams& p, F&& f) {
  const Ref<Trace> trace = make_ref<Trace>("shard_map");
  trace->axes = frames_of(p);
  const TraceScope scope(trace);
  const CheckedAxes checked(p.check_vma ? p.manual_axes() : std::vector<std::string>());
  return f();
}

Jaxpr trace_blocks(const ShardMapParams& p, std::vector<Aval> inputs,
                   const std::function<std::vector<Array>(std::span<const Array>)>& body) {
  return trace_jaxpr({"shard_map", std::move(inputs), {}, frames_of(p)}, body);
}

std::vector<bool> have_value(std::span<const Tangent> tangents) {
  std::vector<bool> which;
  for (const Tangent& t : tangents) which.push_back(t.has_value());
  return which;
}
/// `some` in the places where `which`.
std::vector<Tangent> spread(std::span<const Array> some, const std::vector<bool>& which) {
  std::vector<Tangent> out(which.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < which.size(); ++i)
    if (which[i]) out[i] = some[next++];
  return out;
}
using SpecVector = std::vector<PartitionSpec>;
SpecVector chosen(const SpecVector& all, const std::vector<bool>& which) {
  SpecVector out;
  for (std::size_t i = 0; i < which.size(); ++i)
    if (which[i]) out.push_back(all[i]);
  return out;
}
SpecVector joined(SpecVector a, const SpecVector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct ShardMap {
  static constexpr std::string_view name = "shard_map", doc = "One program on all devices of a mesh, each on its block of the operands.";
  static constexpr Kind kind = Kind::spmd;
  using Params = ShardMapParams;

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const auto& p = c.get<Params>();
    const auto body_in = p.jaxpr.data().input_avals();
    const std::vector<Aval> body_out = p.jaxpr.data().output_avals();
    if (p.jaxpr.data().num_consts != 0) c.fail<Error>("its body has constants; they must be operands");
    if (body_in.size() != c.in.size() || p.in_specs.size() != c.in.size())
      c.fail<ShardingError>(fmt::format("{}, {}, and a body of {}", counted(c.in.size(), "operand"), counted(p.in_specs.size(), "in_spec"),
                                        counted(body_in.size(), "input")));
    if (body_out.size() != p.out_specs.size())
      c.fail<ShardingError>(
          fmt::format("{} for a body of {}", counted(p.out_specs.size(), "out_spec"), counted(body_out.size(), "result")));
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      if (const std::string problem = spec_problem(p.mesh, p.in_specs[i], c.in[i].shape); !problem.empty())
        c.fail<ShardingError>("in_specs: " + problem);
      const Shape block = block_shape(p.mesh, p.in_specs[i], c.in[i].shape);
      if (block != body_in[i].shape || c.in[i].dtype != body_in[i].dtype)
        c.fail<ShardingError>(
            fmt::format("operand {} gives blocks {}, the body takes {}", i, to_string(c.in[i].with_shape(block)), to_string(body_in[i])));
    }
    std::vector<Aval> out;
    for (std::size_t i = 0; i < body_out.size(); ++i) {
      if (const std::string problem = spec_problem(p.mesh, p.out_specs[i]); !problem.empty())
        c.fail<ShardingError>("out_specs: " + problem);
      if (static_cast<int>(p.out_specs[i].trimmed().dims().size()) > body_out[i].ndim())
        c.fail<ShardingError>(
            fmt::format("out_specs: {} is for more dimensions than the body's {} has", to_string(p.out_specs[i]), to_string(body_out[i])));
      out.push_back(body_out[i].with_shape(whole_shape(p.mesh, p.out_specs[i], body_out[i].shape)));
    }
    return out;
  }

  static JvpResult jvp_call(const JvpContext& c);
  static JvpResult linearize_call(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
};

JvpResult ShardMap::jvp_call(const JvpContext& c) {
  const auto& p = c.get<Params>();
  const std::vector<bool> nonzero = have_value(c.tangents);
  const JvpProgram program = with_axes(p, [&] { return jvp_program(p.jaxpr, nonzero); });
  ShardMapParams q = p;
  q.jaxpr = program.jaxpr;
  q.in_specs.specs = joined(p.in_specs.specs, chosen(p.in_specs.specs, nonzero));
  q.out_specs.specs = joined(p.out_specs.specs, chosen(p.out_specs.specs, program.nonzero_out));
  std::vector<Array> inputs(c.in.begin(), c.in.end());
  for (const Tangent& t : c.tangents)
    if (t) inputs.push_back(*t);
  const std::vector<Array> all = bind_shard_map(std::move(q), inputs, c.loc);
  const std::size_t n = p.out_specs.size();
  return {{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)}, spread(std::span(all).subspan(n), program.nonzero_out)};
}

/// The program of a map's blocks with a pvary for each value that meets others that vary over more axes than it does.
Jaxpr marked(const ShardMapParams& p, const Jaxpr& body) {
  return with_axes(p, [&] {
    VaryingList in, out, wanted;
    for (const PartitionSpec& s : p.in_specs.specs) in.push_back(varying_over(named_axes(s)));
    for (const PartitionSpec& s : p.out_specs.specs) wanted.push_back(varying_over(named_axes(s)));
    return mark_program(body, in, out, wanted);
  });
}

/// For each result of a map's program, the axes of the map over which it varies; nothing if that isn't kept track of.
std::optional<std::vector<std::vector<std::string>>> axes_of_results(const ShardMapParams& p, const Jaxpr& body) {
  if (!p.check_vma) return {};
  return with_axes(p, [&]() -> std::optional<std::vector<std::vector<std::string>>> {
    VaryingList blocks;
    for (const PartitionSpec& s : p.in_specs.specs) blocks.push_back(varying_over(named_axes(s)));
    const std::optional<VaryingList> varying = varying_of_program(body, blocks);
    if (!varying) return {};
    std::vector<std::vector<std::string>> out;
    for (const Varying v : *varying) {
      out.push_back(p.manual_axes());
      std::erase_if(out.back(), [&](const std::string& axis) { return (v & varying_over({axis})) == 0; });
    }
    return out;
  });
}

// Residuals are passed from one program to the other as arrays that are sharded along their first dimension over all axes over which they
// may vary; a scalar becomes a row of one element. A residual that is an operand is passed as that operand.
JvpResult ShardMap::linearize_call(const JvpContext& c) {
  const auto& p = c.get<Params>();
  const std::vector<bool> nonzero = have_value(c.tangents);
  const LinearizedProgram lp = with_axes(p, [&] { return linearize_program(p.jaxpr, nonzero); });
  const JaxprData& d = lp.primal.data();
  const std::size_t num_out = p.out_specs.size();
  const std::optional<std::vector<std::vector<std::string>>> varying = axes_of_results(p, lp.primal);

  std::vector<int> operand(static_cast<std::size_t>(lp.num_residuals), -1);  // which operand a residual is
  std::vector<Aval> residual_avals;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const Atom a = d.outputs[num_out + i];
    residual_avals.push_back(d.aval(a));
    if (!a.is_literal() && a.var() >= d.first_input() && a.var() < d.first_result())
      operand[i] = static_cast<int>(a.var() - d.first_input());
  }
  const auto as_row = [&](std::size_t i) { return operand[i] < 0 && residual_avals[i].ndim() == 0; };

  ShardMapParams primal = p, linear = p;
  primal.jaxpr = trace_blocks(p, {d.input_avals().begin(), d.input_avals().end()}, [&](std::span<const Array> args) {
    const std::vector<Array> results = eval_jaxpr(lp.primal, args);
    std::vector<Array> out(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(num_out));
    for (std::size_t i = 0; i < operand.size(); ++i)
      if (operand[i] < 0) out.push_back(as_row(i) ? insert_axes(results[num_out + i], {0}, c.loc) : results[num_out + i]);
    return out;
  });
  SpecVector residual_specs;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const PartitionSpec rows = PartitionSpec::of({varying ? (*varying)[num_out + i] : p.manual_axes()});
    if (operand[i] < 0) primal.out_specs.specs.push_back(rows);
    residual_specs.push_back(operand[i] < 0 ? rows : p.in_specs[static_cast<std::size_t>(operand[i])]);
  }
  const std::vector<Array> all = bind_shard_map(std::move(primal), c.in, c.loc);
  JvpResult r{{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(num_out)}, std::vector<Tangent>(num_out)};

  std::vector<Aval> linear_in;
  std::vector<Array> inputs;
  std::size_t next = num_out;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    linear_in.push_back(as_row(i) ? residual_avals[i].with_shape({1}) : residual_avals[i]);
    inputs.push_back(operand[i] < 0 ? all[next++] : c.in[static_cast<std::size_t>(operand[i])]);
  }
  for (std::size_t i = 0; i < nonzero.size(); ++i)
    if (nonzero[i]) linear_in.push_back(p.jaxpr.data().input_avals()[i]), inputs.push_back(*c.tangents[i]);
  linear.jaxpr = trace_blocks(p, std::move(linear_in), [&](std::span<const Array> args) {
    std::vector<Array> in(args.begin(), args.end());
    for (std::size_t i = 0; i < operand.size(); ++i)
      if (as_row(i)) in[i] = squeeze_axes(in[i], {0}, c.loc);
    return eval_jaxpr(lp.linear, in);
  });
  linear.in_specs.specs = joined(residual_specs, chosen(p.in_specs.specs, nonzero));
  linear.out_specs.specs = chosen(p.out_specs.specs, lp.nonzero_out);
  if (varying) linear.jaxpr = marked(linear, linear.jaxpr);
  if (!linear.out_specs.specs.empty()) r.tangents = spread(bind_shard_map(std::move(linear), inputs, c.loc), lp.nonzero_out);
  return r;
}

// Without variance marks (check_vma off), the cotangent of a replicated value is the sum of the devices' cotangents. So a replicated
// result's cotangent is divided equally among the devices, and a replicated operand's is summed over them.
std::vector<Tangent> ShardMap::transpose(const TransposeContext& c) {
  const auto& p = c.get<Params>();
  std::vector<bool> linear;
  for (const Operand& o : c.in) linear.push_back(o.is_linear());
  const std::vector<bool> has_cotangent = have_value(c.cotangents);
  const TransposedProgram tp = with_axes(p, [&] { return transpose_program(p.jaxpr, linear, has_cotangent); });

  ShardMapParams q = p;
  q.in_specs.specs.clear(), q.out_specs.specs.clear();
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (!linear[i]) inputs.push_back(c.in[i].known()), q.in_specs.specs.push_back(p.in_specs[i]);
  const std::size_t num_known = inputs.size();
  SpecVector cotangent_specs = chosen(p.out_specs.specs, has_cotangent);
  q.in_specs.specs = joined(q.in_specs.specs, cotangent_specs);
  for (const Tangent& t : c.cotangents)
    if (t) inputs.push_back(*t);
  std::vector<std::size_t> results;  // operands whose cotangents come out
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (linear[i] && tp.nonzero[next++]) results.push_back(i), q.out_specs.specs.push_back(p.in_specs[i]);
  if (results.empty()) return std::vector<Tangent>(c.in.size());

  const auto body_in = tp.jaxpr.data().input_avals();
  q.jaxpr = trace_blocks(p, {body_in.begin(), body_in.end()}, [&](std::span<const Array> args) {
    std::vector<Array> in(args.begin(), args.end());
    if (!p.check_vma)
      for (std::size_t i = 0; i < cotangent_specs.size(); ++i)
        if (const std::int64_t n = p.mesh.size_of(p.replicated_axes(cotangent_specs[i])); n != 1) {
          Array& ct = in[num_known + i];
          ct = ct / scalar_like(ct, static_cast<double>(n));
        }
    std::vector<Array> out = eval_jaxpr(tp.jaxpr, in);
    if (!p.check_vma)
      for (std::size_t i = 0; i < out.size(); ++i)
        if (const std::vector<std::string> rest = p.replicated_axes(p.in_specs[results[i]]); p.mesh.size_of(rest) != 1)
          out[i] = bind_psum(out[i], rest, {}, c.loc);
    return out;
  });
  const std::vector<Array> cotangents = bind_shard_map(std::move(q), inputs, c.loc);
  std::vector<Tangent> out(c.in.size());
  for (std::size_t i = 0; i < results.size(); ++i) out[results[i]] = cotangents[i];
  return out;
}

BatchResult ShardMap::batch(const BatchContext& c) {
  const auto& p = c.get<Params>();
  MappedAxis axis = c.axis;
  const std::string& over = c.axis.spmd_name;
  if (!over.empty() && p.mesh.find(over) < 0)
    throw ShardingError(
        fmt::format("shard_map: the vmap around it has spmd_axis_name = \"{}\", which is not an axis of the mesh {}; name one "
                    "of its axes",
                    over, print_param(p.mesh)),
        c.loc);
  if (!over.empty() && p.mesh.find(over) >= 0) {
    const std::int64_t n = p.mesh.size_of(over);
    if (axis.size % n != 0)
      throw ShardingError(
          fmt::format("shard_map: the mapped axis has size {}, which spmd_axis_name divides over the {} devices of the mesh axis `{}`",
                      axis.size, n, over),
          c.loc);
    axis.size /= n;
    axis.spmd_name.clear();
  }
  const bool sharded = axis.size != c.axis.size || (!over.empty() && p.mesh.find(over) >= 0);
  const std::vector<int> dims(c.dims.begin(), c.dims.end());
  const BatchedProgram program = with_axes(p, [&] { return batch_program(p.jaxpr, axis, dims); });
  ShardMapParams q = p;
  q.jaxpr = program.jaxpr;
  if (sharded && !q.newly_manual_axes.names.empty()) {
    const std::vector<std::string> own = p.manual_axes();
    std::erase_if(q.newly_manual_axes.names = p.mesh.names,
                  [&](const std::string& name) { return name != over && std::count(own.begin(), own.end(), name) == 0; });
  }
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != kNotMapped) q.in_specs.specs[i] = with_dim(p.in_specs[i], dims[i], sharded ? over : std::string());
  for (std::size_t i = 0; i < program.out_dims.size(); ++i)
    if (program.out_dims[i] != kNotMapped)
      q.out_specs.specs[i] = with_dim(p.out_specs[i], program.out_dims[i], sharded ? over : std::string());
  // Values that the mapped ones are combined with don't vary over the devices that now shard the mapped axis: they are marked by pvary, so
  // that their cotangents are summed over these devices.
  if (sharded && p.check_vma) q.jaxpr = marked(q, q.jaxpr);
  return {bind_shard_map(std::move(q), c.in, c.loc), program.out_dims};
}

constexpr const Primitive* kPrimitives[] = {&primitive_of<ShardMap>};

const Rule<DeviceMapTransform, ShardMap> shard_map_is_map([](const ParamsBase& p) -> const ShardMapParams& {
  return params_as<ShardMapParams>(p);
});
constexpr ParamValue kShardMapLeftOut[] = {{"partitioned", ""}};
const TextRule<ShardMap> shard_map_text([] { return TextTraits{.left_out = kShardMapLeftOut}; });
const DecidesShardingRule<ShardMap> shard_map_decides([](const ParamsBase&) { return true; });
const VaryingRule<ShardMap> shard_map_varying([](const VaryingContext& c) -> std::optional<VaryingList> {
  const auto& p = c.get<ShardMapParams>();
  if (!p.check_vma) return {};
  const CheckedAxes scope(p.manual_axes());
  const Varying own = varying_over(p.manual_axes());
  VaryingList blocks;
  for (std::size_t i = 0; i < c.in.size(); ++i) blocks.push_back(c.in[i] | varying_over(named_axes(p.in_specs[i])));
  std::optional<VaryingList> out = varying_of_program(p.jaxpr, blocks);
  if (out)
    for (Varying& v : *out) v &= ~own;
  return out;
});

}  // namespace

std::string print_param(const AxisSet& v) {
  std::vector<std::string> quoted_names;
  for (const std::string& name : v.names) quoted_names.push_back(quoted(name));
  std::sort(quoted_names.begin(), quoted_names.end());
  return fmt::format("frozenset({{{}}})", fmt::join(quoted_names, ", "));
}
void read_param(ParamReader& r, AxisSet& v) {
  v.names.clear();
  r.read_list([&] { v.names.push_back(r.read_string()); });
}

std::vector<std::string> named_axes(const PartitionSpec& spec) {
  std::vector<std::string> names;
  for (const auto& dim : spec.dims()) names.insert(names.end(), dim.begin(), dim.end());
  return names;
}

std::vector<std::string> ShardMapParams::replicated_axes(const PartitionSpec& spec) const {
  std::vector<std::string> rest = manual_axes();
  std::erase_if(rest, [&](const std::string& axis) { return spec.names(axis); });
  return rest;
}

PrimitiveList shard_map_primitives() { return kPrimitives; }
const Primitive& shard_map_primitive() { return primitive_of<ShardMap>; }
const ShardMapParams* device_map(const Eqn& e) {
  DeviceMapTransform::Function* const rule = e.op->kind == Kind::spmd ? find_rule<DeviceMapTransform>(*e.op) : nullptr;
  return rule ? &rule(*e.params) : nullptr;
}

Jaxpr rewritten_body(const ShardMapParams& params, const std::function<Jaxpr()>& f) { return with_axes(params, f); }

std::vector<Array> bind_shard_map(ShardMapParams params, std::span<const Array> inputs, SourceLoc loc) {
  Hoisted h = hoist_consts(dce_program(params.jaxpr));
  if (params.newly_manual_axes.names.empty()) params.newly_manual_axes.names = params.mesh.names;
  params.jaxpr = h.jaxpr;
  std::vector<Array> all = std::move(h.consts);
  params.in_specs.specs.insert(params.in_specs.specs.begin(), all.size(), PartitionSpec());
  all.insert(all.end(), inputs.begin(), inputs.end());
  return bind_all<ShardMap>(std::move(params), all, loc);
}

// Each operand's dimensions are cut into (devices of each axis, block), the devices moved to the front in the mesh's order, and the body is
// mapped over them, from the last axis to the first.
std::vector<Array> run_as_vmap(const ShardMapParams& p, std::span<const Array> inputs, SourceLoc loc) {
  std::vector<Array> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Array x = inputs[i];
    int mapped = 0;  // device dimensions in front
    std::vector<std::string> order;
    for (int d = 0; d < inputs[i].ndim(); ++d)
      for (const std::string& axis : p.in_specs[i].axes_of(d)) {
        const int at = mapped + d;
        const std::int64_t n = p.mesh.size_of(axis);
        x = reshape_to(x, x.shape().with(at, x.shape()[at] / n).inserted(at, n), loc);
        const auto place =
            std::find_if(order.begin(), order.end(), [&](const std::string& other) { return p.mesh.find(other) > p.mesh.find(axis); });
        x = move_axis(x, at, static_cast<int>(place - order.begin()), loc);
        order.insert(place, axis);
        ++mapped;
      }
    in.push_back(x);
  }
  Jaxpr body = p.jaxpr;
  const std::vector<std::string> axes = p.manual_axes();
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::string& axis = axes[k];
    std::vector<int> in_dims, out_dims;
    for (const PartitionSpec& s : p.in_specs.specs) in_dims.push_back(s.names(axis) ? 0 : kNotMapped);
    for (const PartitionSpec& s : p.out_specs.specs) out_dims.push_back(s.names(axis) ? 0 : kNotMapped);
    const BatchedProgram b = with_axes(p, [&] { return batch_program(body, {axis, p.mesh.size_of(axis)}, in_dims, out_dims); });
    const auto avals = b.jaxpr.data().input_avals();
    body = trace_blocks(p, {avals.begin(), avals.end()}, [&](std::span<const Array> args) {
      std::vector<Array> out = eval_jaxpr(b.jaxpr, args);
      for (std::size_t i = 0; i < out.size(); ++i)  // a result that isn't sharded over the axis: any device's
        if (out_dims[i] == kNotMapped && b.out_dims[i] != kNotMapped)
          out[i] = squeeze_axes(slice_axis(out[i], b.out_dims[i], 0, 1, loc), {b.out_dims[i]}, loc);
      return out;
    });
  }
  std::vector<Array> out = eval_jaxpr(body, in);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const PartitionSpec& spec = p.out_specs[i];
    std::vector<std::string> order;  // device dimensions in front
    for (const std::string& axis : p.mesh.names)
      if (spec.names(axis)) order.push_back(axis);
    Array x = out[i];
    const int rank = x.ndim() - static_cast<int>(order.size());
    for (int d = rank - 1; d >= 0; --d)
      for (auto axis = spec.axes_of(d).rbegin(); axis != spec.axes_of(d).rend(); ++axis) {
        const auto from = std::find(order.begin(), order.end(), *axis);
        const int front = static_cast<int>(order.size());
        x = move_axis(x, static_cast<int>(from - order.begin()), front - 1 + d, loc);
        const int at = front - 1 + d;
        x = reshape_to(x, x.shape().with(at, x.shape()[at] * x.shape()[at + 1]).erased(at + 1), loc);
        order.erase(from);
      }
    out[i] = x;
  }
  return out;
}

Array block_of(const Array& x, const PartitionSpec& spec, const MeshAxes& mesh, SourceLoc loc) {
  if (named_axes(spec).empty()) return x;
  LocScope scope(loc);
  const Shape block = block_shape(mesh, spec, x.shape());
  std::vector<Array> starts;
  for (int d = 0; d < x.ndim(); ++d) {
    Array index;
    for (const std::string& axis : spec.axes_of(d)) {
      const Array here = bind_axis_index(axis, loc);
      index = index.is_empty_handle() ? here : index * make_literal(mesh.size_of(axis), int32) + here;
    }
    starts.push_back(index.is_empty_handle() ? make_literal(0, int32) : index * make_literal(block[d], int32));
  }
  return dynamic_slice(x, starts, block);
}

/// A map over free axes of the mesh on which the enclosing program runs: each device slices its block of the replicated operands, and the
/// blocks of the results are gathered.
std::vector<Array> run_over_free_axes(const ShardMapParams& p, std::span<const Array> inputs, SourceLoc loc) {
  std::vector<Array> blocks;
  for (std::size_t i = 0; i < inputs.size(); ++i) blocks.push_back(block_of(inputs[i], p.in_specs[i], p.mesh, loc));
  std::vector<Array> out = eval_jaxpr(p.jaxpr, blocks);
  for (std::size_t i = 0; i < out.size(); ++i)
    for (int d = 0; d < out[i].ndim(); ++d)
      if (const std::vector<std::string>& axes = p.out_specs[i].axes_of(d); !axes.empty())
        out[i] = bind_all_gather(out[i], {d, {}, axes, p.mesh.size_of(axes), true}, loc);
  return out;
}

namespace {
/// The first map in the program, also in one that it calls or maps, that has other axes than the mesh.
const ShardMapParams* find_nested_map(const Jaxpr& j, const MeshAxes& mesh) {
  check_nesting("programs inside programs", nesting_depth(j));
  for (const Eqn& e : j.eqns()) {
    if (device_map(e)) {
      const auto& p = params_as<ShardMapParams>(*e.params);
      const bool other = p.mesh.device_ids.empty() &&
                         std::none_of(p.mesh.names.begin(), p.mesh.names.end(), [&](const std::string& a) { return mesh.find(a) >= 0; });
      if (other) return &p;
      if (const ShardMapParams* inner = find_nested_map(p.jaxpr, mesh)) return inner;
      continue;
    }
    if (e.op->kind != Kind::call && e.op->kind != Kind::control) continue;
    const ShardMapParams* found = nullptr;
    for_each_program(e, [&](const Jaxpr& inner) { found = found ? found : find_nested_map(inner, mesh); });
    if (found) return found;
  }
  return nullptr;
}
}  // namespace

ShardMapParams spread_nested_maps(const ShardMapParams& p, std::int64_t num_devices) {
  ShardMapParams q = without_shadowing(p);
  q.newly_manual_axes.names = p.manual_axes();
  const std::int64_t there = p.mesh.device_ids.empty() ? num_devices : static_cast<std::int64_t>(p.mesh.device_ids.size());
  while (const ShardMapParams* inner = find_nested_map(q.jaxpr, q.mesh)) {
    if (q.mesh.num_devices() * inner->mesh.num_devices() > there) break;
    q.mesh.names.insert(q.mesh.names.end(), inner->mesh.names.begin(), inner->mesh.names.end());
    q.mesh.sizes.insert(q.mesh.sizes.end(), inner->mesh.sizes.begin(), inner->mesh.sizes.end());
  }
  return q;
}

Jaxpr unroll_nested_maps(const Jaxpr& j, const MeshAxes& mesh, const std::vector<std::string>& free_axes) {
  const auto& eqns = j.eqns();
  if (std::none_of(eqns.begin(), eqns.end(), [](const Eqn& e) { return device_map(e); })) return j;
  const JaxprData& d = j.data();
  return trace_jaxpr({"shard_map", {d.input_avals().begin(), d.input_avals().end()}, {}}, [&](std::span<const Array> args) {
    return walk(j, args, [&](const Eqn& e, std::span<const Array> in) {
      if (!device_map(e)) return bind_primitive(*e.op, e.params, in, e.loc);
      const auto& p = params_as<ShardMapParams>(*e.params);
      const std::vector<std::string> axes = p.manual_axes();
      const bool on_devices = std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
        return std::count(free_axes.begin(), free_axes.end(), axis) > 0 && mesh.size_of(axis) == p.mesh.size_of(axis);
      });
      return on_devices ? run_over_free_axes(p, in, e.loc) : run_as_vmap(p, in, e.loc);
    });
  });
}

}  // namespace weft::detail
