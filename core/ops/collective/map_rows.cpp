// Derivatives are taken of the function of one row, so that what they sum over the rows is a collective: its bits depend on the number of
// rows, and not on how many of them a device has. What a device runs is the function mapped over its rows.
#include "weft/core/ops/collective/map_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/counted.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/collective/rename_axis.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {
namespace {

using AxisList = std::vector<int>;

constexpr std::int64_t kRowCotangents = 256 << 20;  // bytes that the cotangents of what all rows share may take, if each row has its own

const std::string& axis_of(const MapRowsParams& p) { return p.mesh.names[0]; }
RowsInRounds rows_of(const MapRowsParams& p) { return {axis_of(p), p.mesh.sizes[0] / p.processes, p.rounds, p.devices, p.processes}; }

Aval of_rows(const Aval& a, int axis, std::int64_t rounds) { return axis == kNotMapped ? a : a.with_shape(a.shape.inserted(axis, rounds)); }

/// Calls f() where the axis has this many positions.
template <class F>
auto with_axis(const MapRowsParams& p, std::int64_t size, F&& f) {
  const Ref<Trace> trace = make_ref<Trace>("pmap");
  trace->axes = {{axis_of(p), static_cast<int>(size)}};
  const TraceScope scope(trace);
  return f();
}
/// The same where it has all rows, to rewrite the function of one row.
template <class F>
auto with_rows(const MapRowsParams& p, F&& f) {
  return with_axis(p, p.mesh.sizes[0], f);
}

BatchedProgram on_device(const MapRowsParams& p, const Jaxpr& function, const std::optional<AxisList>& out_axes) {
  return with_axis(p, p.devices * p.processes, [&] {
    const RowsScope rows(rows_of(p));
    return batch_program(function, {axis_of(p), p.rounds, {}}, p.in_axes, out_axes);
  });
}

AxisList chosen(const AxisList& all, const std::vector<bool>& which) {
  AxisList out;
  for (std::size_t i = 0; i < which.size(); ++i)
    if (which[i]) out.push_back(all[i]);
  return out;
}
MapRowsParams with_function(const MapRowsParams& p, AxisList in_axes, Jaxpr function, AxisList out_axes) {
  return {p.devices, std::move(in_axes), std::move(function), p.mesh, std::move(out_axes), p.processes, p.rounds};
}

struct MapRows {
  static constexpr std::string_view name = "map_rows",
                                    doc = "A function of one row on each row of a device; its collectives over the axis join all rows.";
  static constexpr Kind kind = Kind::call;
  using Params = MapRowsParams;

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    const JaxprData& d = p.jaxpr.data();
    const auto want = d.input_avals();
    const std::vector<Aval> row = d.output_avals();
    if (d.num_consts != 0) c.fail<Error>("its function has constants; they must be operands");
    if (p.mesh.names.size() != 1 || p.processes < 1 || p.devices < 1 || p.rounds < 1 || p.mesh.sizes[0] % p.processes != 0 ||
        p.mesh.sizes[0] / p.processes > p.devices * p.rounds)
      c.fail<ShapeError>(
          fmt::format("{} for each of {} do not make up {}", counted(p.rounds, "row"), counted(p.devices, "device"), print_param(p.mesh)));
    if (want.size() != c.in.size() || p.in_axes.size() != c.in.size() || p.out_axes.size() != row.size())
      c.fail<ShapeError>(fmt::format("{}, {} and {} for a function of {} with {}", counted(c.in.size(), "operand"),
                                     counted(p.in_axes.size(), "in_axis"), counted(p.out_axes.size(), "out_axis"),
                                     counted(want.size(), "input"), counted(row.size(), "result")));
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const int axis = p.in_axes[i];
      if (axis < kNotMapped || axis > want[i].ndim() || !same_type(of_rows(want[i], axis, p.rounds), c.in[i]))
        c.fail<ShapeError>(fmt::format("operand {} is {}, the function takes {} of each of {} along axis {}", i, to_string(c.in[i]),
                                       to_string(want[i]), counted(p.rounds, "row"), axis));
    }
    std::vector<Aval> out;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (p.out_axes[k] < kNotMapped || p.out_axes[k] > row[k].ndim())
        c.fail<AxisError>(fmt::format("out_axes: result {} is {} and has no place {} for the rows", k, to_string(row[k]), p.out_axes[k]));
      out.push_back(of_rows(row[k], p.out_axes[k], p.rounds));
    }
    return out;
  }

  static Jaxpr call_body(const ParamsBase& params, std::span<const Aval>) {
    const Params& p = params_as<Params>(params);
    const BatchedProgram b = on_device(p, p.jaxpr, p.out_axes);
    if (b.out_dims == p.out_axes) return b.jaxpr;
    const auto in = b.jaxpr.data().input_avals();
    return trace_jaxpr({"pmap", {in.begin(), in.end()}, {}}, [&](std::span<const Array> args) {
      std::vector<Array> out = eval_jaxpr(b.jaxpr, args);
      for (std::size_t k = 0; k < out.size(); ++k)  // computed for each row, and the same for all
        if (const int from = b.out_dims[k]; from != p.out_axes[k]) out[k] = squeeze_axes(slice_axis(out[k], from, 0, 1, {}), {from}, {});
      return out;
    });
  }

  static JvpResult jvp_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    const std::vector<bool> nonzero = nonzero_of(c.tangents);
    const JvpProgram j = with_rows(p, [&] { return jvp_program(p.jaxpr, nonzero); });
    const std::vector<Array> all = bind_map_rows(
        with_function(p, concat(p.in_axes, chosen(p.in_axes, nonzero)), j.jaxpr, concat(p.out_axes, chosen(p.out_axes, j.nonzero_out))),
        concat(c.in, nonzero_tangents(c.tangents)), c.loc);
    const auto n = static_cast<std::ptrdiff_t>(p.out_axes.size());
    return {{all.begin(), all.begin() + n}, scatter_tangents(std::span(all).subspan(p.out_axes.size()), j.nonzero_out)};
  }
  static JvpResult linearize_call(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
};

// A residual that is an operand stays one, and one that is the same for all rows is passed once.
JvpResult MapRows::linearize_call(const JvpContext& c) {
  const Params& p = c.get<Params>();
  const std::vector<bool> nonzero = nonzero_of(c.tangents);
  const LinearizedProgram l = with_rows(p, [&] { return linearize_program(p.jaxpr, nonzero); });
  const JaxprData& d = l.primal.data();
  const AxisList computed = on_device(p, hoist_consts(l.primal).jaxpr, {}).out_dims;
  const std::size_t num_out = p.out_axes.size();
  std::vector<Atom> outputs(d.outputs.begin(), d.outputs.begin() + static_cast<std::ptrdiff_t>(num_out));
  AxisList out_axes = p.out_axes;
  const auto is_new = [&](Atom a) { return !a.is_literal() && a.var() >= d.first_result(); };
  std::vector<std::size_t> place(d.outputs.size());
  for (std::size_t i = num_out; i < d.outputs.size(); ++i) {
    if (!is_new(d.outputs[i])) continue;
    place[i] = static_cast<std::size_t>(std::find(outputs.begin(), outputs.end(), d.outputs[i]) - outputs.begin());
    if (place[i] == outputs.size()) outputs.push_back(d.outputs[i]), out_axes.push_back(computed[i] == kNotMapped ? kNotMapped : 0);
  }
  std::vector<Array> values = bind_map_rows(with_function(p, p.in_axes, with_outputs(l.primal, outputs), out_axes), c.in, c.loc);

  std::vector<Array> inputs;
  AxisList in_axes;
  for (std::size_t i = num_out; i < d.outputs.size(); ++i) {
    const Atom a = d.outputs[i];
    const auto add = [&](const Array& x, int axis) { inputs.push_back(x), in_axes.push_back(axis); };
    if (a.is_literal())
      add(literal_array(d, a), kNotMapped);
    else if (a.var() < d.first_input())
      add(d.consts[a.var()], kNotMapped);
    else if (a.var() < d.first_result())
      add(c.in[a.var() - d.first_input()], p.in_axes[a.var() - d.first_input()]);
    else
      add(values[place[i]], out_axes[place[i]]);
  }
  values.resize(num_out);
  if (std::none_of(l.nonzero_out.begin(), l.nonzero_out.end(), [](bool b) { return b; })) return {values, std::vector<Tangent>(num_out)};
  append(inputs, nonzero_tangents(c.tangents));
  const std::vector<Array> tangents = bind_map_rows(
      with_function(p, concat(in_axes, chosen(p.in_axes, nonzero)), l.linear, chosen(p.out_axes, l.nonzero_out)), inputs, c.loc);
  return {std::move(values), scatter_tangents(tangents, l.nonzero_out)};
}

/// Whether the cotangents of what all rows share have room for each row. Decided by the number of rows alone, whatever devices there are.
bool has_room_for_rows(const MapRowsParams& p, const TransposeContext& c) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].is_linear() && p.in_axes[i] == kNotMapped) bytes += c.in[i].aval.bytes();
  return bytes <= kRowCotangents / p.mesh.sizes[0];
}

// A result that is the same for all rows counts as the mean of what the rows have, and an operand's cotangent is the sum over them.
std::vector<Tangent> MapRows::transpose(const TransposeContext& c) {
  const Params& p = c.get<Params>();
  std::vector<bool> linear;
  std::vector<Array> inputs;
  AxisList in_axes;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    linear.push_back(c.in[i].is_linear());
    if (!linear[i]) inputs.push_back(c.in[i].known()), in_axes.push_back(p.in_axes[i]);
  }
  const std::size_t num_known = inputs.size();
  const std::vector<bool> has_cotangent = nonzero_of(c.cotangents);
  const AxisList cotangent_axes = chosen(p.out_axes, has_cotangent);
  // Of one row, or else of the device, which adds up its rows before the devices' sums are added.
  const bool of_row = has_room_for_rows(p, c);
  const std::int64_t size = of_row ? p.mesh.sizes[0] : p.devices * p.processes;
  const Jaxpr whole = of_row ? p.jaxpr : call_body(*c.params, {});
  const TransposedProgram t = with_axis(p, size, [&] { return transpose_program(whole, linear, has_cotangent); });
  const AxisList out_axes = chosen(chosen(p.in_axes, linear), t.nonzero);
  const auto avals = t.jaxpr.data().input_avals();
  const Jaxpr function = with_axis(p, size, [&] {
    return trace_jaxpr({"pmap", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
      std::vector<Array> in(args.begin(), args.end());
      for (std::size_t k = 0; k < cotangent_axes.size(); ++k)
        if (Array& ct = in[num_known + k]; cotangent_axes[k] == kNotMapped) ct = ct / scalar_like(ct, static_cast<double>(size));
      std::vector<Array> out = eval_jaxpr(t.jaxpr, in);
      for (std::size_t k = 0; k < out.size(); ++k)
        if (out_axes[k] == kNotMapped)
          out[k] = of_row ? bind_psum(out[k], {axis_of(p)}, {}, c.loc) : bind_psum_invariant(out[k], {axis_of(p)}, c.loc);
      return out;
    });
  });
  const std::vector<Array> operands = concat(inputs, nonzero_tangents(c.cotangents));
  std::vector<Array> some;
  if (of_row) {
    some = bind_map_rows(with_function(p, concat(in_axes, cotangent_axes), function, out_axes), operands, c.loc);
  } else {
    Hoisted h = hoist_consts(function);
    some = bind_closed_call(c.params, std::move(h.jaxpr), concat(h.consts, operands), c.loc);
  }
  const std::vector<Tangent> of_linear = scatter_tangents(some, t.nonzero);
  std::vector<Tangent> out(c.in.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (linear[i]) out[i] = of_linear[next++];
  return out;
}

BatchResult MapRows::batch(const BatchContext& c) {
  const Params& p = c.get<Params>();
  // Over its own axis, the devices are mapped, and not the rows.
  if (c.axis.name == axis_of(p)) return batch_of_call(c, call_body(*c.params, avals_of(c.in)), bind_closed_call);
  AxisList in_axes = p.in_axes, dims(c.dims.begin(), c.dims.end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kNotMapped || in_axes[i] == kNotMapped) continue;
    if (dims[i] <= in_axes[i])
      ++in_axes[i];
    else
      --dims[i];
  }
  const BatchedProgram b = with_rows(p, [&] { return batch_program(p.jaxpr, c.axis, dims); });
  AxisList out_axes = p.out_axes, out_dims = b.out_dims;
  for (std::size_t k = 0; k < out_dims.size(); ++k) {
    if (out_dims[k] == kNotMapped || out_axes[k] == kNotMapped) continue;
    if (out_dims[k] < out_axes[k])
      ++out_axes[k];
    else
      ++out_dims[k];
  }
  return {bind_map_rows(with_function(p, std::move(in_axes), b.jaxpr, std::move(out_axes)), c.in, c.loc), out_dims};
}

const PruneRule<MapRows> map_rows_prune([](const PruneContext& c) {
  MapRowsParams p = c.get<MapRowsParams>();
  std::optional<PrunedEqn> r = prune_call(c, c.get<MapRowsParams>().jaxpr, p.jaxpr);
  if (!r) return r;
  const auto kept = [](const AxisList& all, const std::vector<std::size_t>& which) {
    AxisList some;
    for (std::size_t i : which) some.push_back(all[i]);
    return some;
  };
  p.in_axes = kept(p.in_axes, r->inputs), p.out_axes = kept(p.out_axes, r->outputs);
  r->params = make_params(std::move(p));
  return r;
});
const Rule<RenameAxisTransform, MapRows> map_rows_rename([](const ParamsBase& params, const std::string& from, const std::string& to) {
  MapRowsParams p = params_as<MapRowsParams>(params);
  p.jaxpr = rename_axis(p.jaxpr, from, to);
  for (std::string& name : p.mesh.names)
    if (name == from) name = to;
  return make_params(std::move(p));
});

/// Operands that have no rows are the same on all devices of the axis; results without rows are too.
EqnVarying varying_rows(const VaryingContext& c) {
  const MapRowsParams& p = c.get<MapRowsParams>();
  const Varying own = varying_over({axis_of(p)});
  Varying all = 0;
  for (const Varying v : c.in) all |= v;
  EqnVarying r{c.in, {}, {}};
  for (const int axis : p.out_axes) r.out.push_back(axis == kNotMapped ? all & ~own : all | own);
  return r;
}
const VaryingRule<MapRows> map_rows_varying([](const VaryingContext& c) -> std::optional<VaryingList> { return varying_rows(c).out; });
const MarkVaryingRule<MapRows> map_rows_marks(varying_rows);

}  // namespace

std::vector<Array> bind_map_rows(MapRowsParams params, std::span<const Array> inputs, SourceLoc loc) {
  Hoisted h = hoist_consts(dce_program(params.jaxpr));
  params.jaxpr = std::move(h.jaxpr);
  params.in_axes.insert(params.in_axes.begin(), h.consts.size(), kNotMapped);
  return bind_all<MapRows>(std::move(params), concat(h.consts, inputs), loc);
}

std::vector<int> axes_of_row_results(const MapRowsParams& params) { return on_device(params, params.jaxpr, {}).out_dims; }

PrimitiveList map_rows_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<MapRows>};
  return list;
}

}  // namespace weft::detail
