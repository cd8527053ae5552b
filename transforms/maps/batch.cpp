// vmap of programs: each equation by its operation's batching rule.
#include <algorithm>

#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/rows_in_rounds.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

// A primitive that may speak of the mapped axis by name, itself or in a sub-program, is batched even if no operand is mapped.
bool may_name_axis(const Primitive& op) {
  return op.kind == Kind::collective || op.kind == Kind::call || op.kind == Kind::control || op.kind == Kind::spmd;
}

// Without lanes nothing is computed, and a rule would divide by their number. Keys have no zeros.
bool is_empty_for_no_lanes(const JaxprData& d, const Eqn& e, const MappedAxis& axis) {
  if (axis.size != 0 || may_name_axis(*e.op)) return false;
  return std::none_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return d.avals[v].dtype.is_key(); });
}
BatchResult no_lanes(const JaxprData& d, const Eqn& e) {
  BatchResult r;
  for (const Var v : e.outputs) r.out.push_back(zeros_of(d.avals[v].with_shape(d.avals[v].shape.inserted(0, 0)), e.loc));
  r.dims.assign(e.outputs.size(), 0);
  return r;
}

struct BatchedValues {
  std::vector<Array> out;
  std::vector<int> dims;
};

BatchedValues batch(const Jaxpr& j, const MappedAxis& axis, std::span<const Array> args, const std::vector<int>& in_dims) {
  const JaxprData& d = j.data();
  ProgramValues<> values(d, args);
  VarMap<int> dims(d, in_dims, kNotMapped);
  std::vector<Array> in;
  std::vector<int> eqn_dims;
  for (const Eqn& e : d.eqns) {
    LocScope scope(e.loc);
    values.read(e.inputs, in);
    eqn_dims.clear();
    for (Atom a : e.inputs) eqn_dims.push_back(dims[a]);
    const bool mapped = std::any_of(eqn_dims.begin(), eqn_dims.end(), [](int k) { return k != kNotMapped; });
    BatchResult r;
    if (const CompositeParams* const c = mapped ? as_composite(e) : nullptr; c && !find_composite_rule<CompositeBatch>(c->name)) {
      // Without a rule for its name it is its body, whose equations run here.
      BatchedValues own = batch(c->jaxpr, axis, in, eqn_dims);
      r = {std::move(own.out), std::move(own.dims)};
    } else if (mapped && is_empty_for_no_lanes(d, e, axis)) {
      r = no_lanes(d, e);
    } else if (const RowsInRounds* rows = rows_joined_by(*e.op, *e.params, axis)) {
      r = batch_over_rounds(*rows, {*e.op, e.params, in, eqn_dims, axis, e.loc});
    } else if (mapped || (!axis.name.empty() && may_name_axis(*e.op))) {
      r = e.op->batch({*e.op, e.params, in, eqn_dims, axis, e.loc});
    } else {
      r = {bind_primitive(*e.op, e.params, in, e.loc), std::vector<int>(e.outputs.size(), kNotMapped)};
    }
    values.set(e, std::move(r.out));
    for (std::size_t k = 0; k < e.outputs.size(); ++k) dims[e.outputs[k]] = r.dims[k];
  }
  BatchedValues result;
  for (Atom a : d.outputs) result.out.push_back(values[a]), result.dims.push_back(dims[a]);
  return result;
}

}  // namespace

BatchedProgram batch_program(const Jaxpr& j, const MappedAxis& axis, const std::vector<int>& in_dims,
                             const std::optional<std::vector<int>>& out_dims) {
  const NotedPass noted("vmap", j);
  const auto in_avals = j.data().input_avals();
  TraceRequest request{"vmap", {}, {}};
  for (std::size_t i = 0; i < in_dims.size(); ++i)
    request.inputs.push_back(in_dims[i] == kNotMapped ? in_avals[i]
                                                      : in_avals[i].with_shape(in_avals[i].shape.inserted(in_dims[i], axis.size)));
  BatchedProgram program;
  program.jaxpr = trace_jaxpr(request, [&](std::span<const Array> args) {
    BatchedValues r = batch(j, axis, args, in_dims);
    if (out_dims)
      for (std::size_t i = 0; i < r.out.size(); ++i)
        if (const int to = (*out_dims)[i]; to != kNotMapped) {
          r.out[i] = materialize_batch_dim(r.out[i], r.dims[i], axis.size, to, {});
          r.dims[i] = to;
        }
    program.out_dims = r.dims;
    return r.out;
  });
  noted.made(program.jaxpr);
  return program;
}

}  // namespace weft::detail
