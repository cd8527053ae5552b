#include "weft/transforms/jaxpr_api.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/maps/map_axes.h"

namespace weft {
namespace detail {

Jaxpr flat_make_jaxpr(FlatFunction& f) {
  check_no_array_is_empty(f);
  return trace_flat(f, "make_jaxpr", {.with_values = false});
}

std::vector<Array> flat_eval_shape(FlatFunction& f) {
  std::vector<Array> out;
  for (const Aval& a : trace_flat(f, "eval_shape", {.with_values = false}).data().output_avals()) out.push_back(make_abstract(a));
  return out;
}

namespace {

Skeleton list_skeleton(std::size_t n, const char* label) {
  Skeleton s(Skeleton::Kind::node, label);
  for (std::size_t i = 0; i < n; ++i) s.children.emplace_back(Skeleton::Kind::leaf, label_of_position(i));
  return s;
}

}  // namespace
}  // namespace detail

using namespace detail;

Jaxpr jvp_jaxpr(const Jaxpr& j, SourceLoc loc) {
  const Hoisted h = hoist_consts(j);
  const auto inputs = j.data().input_avals();
  std::vector<bool> nonzero(h.consts.size(), false);
  TraceRequest request{"jvp_jaxpr", {inputs.begin(), inputs.end()}, {}};
  for (const Aval& a : inputs) {
    nonzero.push_back(a.dtype.is_inexact());
    if (a.dtype.is_inexact()) request.inputs.push_back(a);
  }
  const JvpProgram p = jvp_program(h.jaxpr, nonzero);
  return trace_jaxpr(request, [&](std::span<const Array> args) {
    std::vector<Array> values = eval_jaxpr(p.jaxpr, concat(h.consts, args));
    const std::size_t n = p.nonzero_out.size();
    std::vector<Array> out(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
    LocScope scope(loc);
    for (std::size_t i = 0, next = n; i < n; ++i) {
      if (!out[i].dtype().is_inexact()) continue;
      out.push_back(p.nonzero_out[i] ? values[next++] : zero_tangent(out[i].aval(), loc));
    }
    return out;
  });
}

Jaxpr transpose_jaxpr(const Jaxpr& j, SourceLoc loc) {
  const Hoisted h = hoist_consts(j);
  const auto inputs = j.data().input_avals();
  std::vector<bool> linear(h.consts.size(), false);
  linear.resize(h.consts.size() + inputs.size(), true);
  const std::vector<Aval> outputs = j.data().output_avals();
  check_linear_types("transpose_jaxpr", inputs, outputs, loc);
  const TransposedProgram p = transpose_program(h.jaxpr, linear, std::vector<bool>(outputs.size(), true));
  return trace_jaxpr({"transpose_jaxpr", outputs, {}}, [&](std::span<const Array> args) {
    const std::vector<Array> some = eval_jaxpr(p.jaxpr, concat(h.consts, args));
    std::vector<Array> out;
    LocScope scope(loc);
    for (std::size_t i = 0, next = 0; i < inputs.size(); ++i) out.push_back(p.nonzero[i] ? some[next++] : zero_tangent(inputs[i], loc));
    return out;
  });
}

Jaxpr batch_jaxpr(const Jaxpr& j, BatchOptions options, SourceLoc loc) {
  if (!options.axis_size) throw AxisError("batch_jaxpr: the program doesn't say how large the mapped axis is; give axis_size", loc);
  const MappedAxis axis{options.axis_name, *options.axis_size};
  const Hoisted h = hoist_consts(j);
  const auto inputs = j.data().input_avals();
  const std::vector<Aval> outputs = j.data().output_avals();
  const auto in_axes = resolve_added_axes(options.in_axes, list_skeleton(inputs.size(), "args"), inputs, {"batch_jaxpr", "in_axes", loc});
  const PrefixNames out_names{"batch_jaxpr", "out_axes", loc};
  const Skeleton out_tree = list_skeleton(outputs.size(), "result");
  const auto out_axes = resolve_added_axes(options.out_axes, out_tree, outputs, out_names);

  std::vector<int> dims(h.consts.size(), kNotMapped);
  TraceRequest request{"batch_jaxpr", {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    dims.push_back(in_axes[i].value_or(kNotMapped));
    request.inputs.push_back(in_axes[i] ? inputs[i].with_shape(inputs[i].shape.inserted(*in_axes[i], axis.size)) : inputs[i]);
  }
  const BatchedProgram b = batch_program(h.jaxpr, axis, dims);
  check_unmapped(out_axes, b.out_dims, out_tree, outputs, out_names);
  return trace_jaxpr(request, [&](std::span<const Array> args) {
    std::vector<Array> out = eval_jaxpr(b.jaxpr, concat(h.consts, args));
    LocScope scope(loc);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out_axes[i]) out[i] = materialize_batch_dim(out[i], b.out_dims[i], axis.size, *out_axes[i], loc);
    return out;
  });
}

}  // namespace weft
