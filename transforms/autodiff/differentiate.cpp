#include "weft/transforms/autodiff/differentiate.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/key_reuse.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trace/varying.h"
#include "weft/transforms/evaluate.h"
#include "weft/transforms/numbers.h"

namespace weft::detail {

TraceRequest request_for(const FlatFunction& f, std::string_view operation, std::vector<Aval> inputs) {
  TraceRequest request{fmt::format("{} of {}", operation, f.name), std::move(inputs), {}};
  request.where = f.loc;
  request.input_names = [&f] { return leaf_paths(f.arguments()); };
  return request;
}

Jaxpr trace_flat(FlatFunction& f, const char* operation, TraceFlatOptions options) {
  TraceRequest request = request_for(f, operation, avals_of(f.args));
  if (options.with_values) request.values = f.args;
  std::optional<InputsVary> varying;
  if (options.tracks_varying) varying.emplace(f.args);
  const Jaxpr j = trace_with_numbers(f, request, [&](std::span<const Array> leaves) { return f.run(leaves); });
  if (config.debug_key_reuse && options.with_values) note_key_uses(j, f.args, request.what, f.loc);
  return j;
}

Array convert_weak(const Array& x, const Aval& want) {
  if (!x.aval().weak || x.dtype() == want.dtype || promote_types(x.dtype(), want.dtype) != want.dtype) return x;
  return convert(x, want.dtype);
}

Array zero_tangent(const Aval& aval, SourceLoc loc) {
  const DType dtype = aval.dtype.is_inexact() ? aval.dtype : bool_;
  return fill_shape(make_literal(Number(0), dtype), aval.shape, loc);
}

void check_linear_types(const char* operation, std::span<const Aval> in, std::span<const Aval> out, SourceLoc loc) {
  for (const auto& [what, avals] : {std::pair("argument", in), std::pair("result", out)})
    for (std::size_t i = 0; i < avals.size(); ++i)
      if (!avals[i].dtype.is_inexact())
        throw DTypeError(fmt::format("{}: {} {} is {}; a linear function takes and gives floating or complex numbers", operation, what, i,
                                     to_string(avals[i])),
                         effective_loc(loc));
}

std::vector<bool> inexact_leaves(std::span<const Array> args) {
  std::vector<bool> out;
  for (const Array& x : args) out.push_back(x.dtype().is_inexact());
  return out;
}

void check_derivative_not_lost(const FlatFunction& f, const NumberReads& reads, const std::vector<bool>& nonzero,
                               std::span<const Aval> results, const char* operation) {
  if (!reads.reader()) return;
  const std::size_t primary = std::min(f.num_primary, results.size());
  bool could_depend = false;
  for (std::size_t i = 0; i < primary; ++i) {
    if (nonzero[i]) return;
    could_depend |= results[i].dtype.is_inexact();
  }
  if (!could_depend) return;
  throw ConcretizationError(
      fmt::format("{}: the result depends on the arguments only by C++ numbers that {} read out of arrays, which have no derivatives; "
                  "compute with the arrays themselves",
                  operation, reads.reader()),
      reads.where() ? reads.where() : f.loc);
}

Ref<Linearized> linearize_flat(FlatFunction& f, std::vector<bool> active, const char* operation) {
  auto l = make_ref<Linearized>();
  const NumberReads reads;
  const Jaxpr traced = trace_flat(f, operation);
  Hoisted h = hoist_consts(dce_program(traced));
  l->in_avals = avals_of(f.args);
  l->out_avals = traced.data().output_avals();
  l->point = std::move(h.consts);
  std::vector<bool> nonzero(l->point.size(), false);
  nonzero.insert(nonzero.end(), active.begin(), active.end());
  l->point.insert(l->point.end(), f.args.begin(), f.args.end());
  l->linearization = in_transform(operation, f, [&] { return linearization_of(h.jaxpr, nonzero, l->point); });
  const LinearizedProgram& p = l->linearization->program();
  l->primal = p.primal;
  l->linear = p.linear;
  l->nonzero_out = p.nonzero_out;
  l->active = std::move(active);
  l->num_primary = f.num_primary;
  check_derivative_not_lost(f, reads, l->nonzero_out, l->out_avals, operation);
  return l;
}

std::vector<Array> evaluate_primal(Linearized& l) {
  if (!l.results.empty()) return std::exchange(l.results, {});
  const auto outs = static_cast<std::ptrdiff_t>(l.out_avals.size());
  std::vector<Array> values = evaluate(l.primal, l.point);
  l.residuals.assign(values.begin() + outs, values.end());
  values.resize(l.out_avals.size());
  return values;
}

TransposedProgram transpose_linearized(Linearized& l, const std::vector<bool>& which) {
  const auto inputs = static_cast<std::size_t>(l.linear.data().num_inputs);
  std::size_t num_active = 0;
  for (const bool a : l.active) num_active += a;
  std::vector<bool> linear(inputs, true);
  for (std::size_t i = 0; i < inputs - num_active; ++i) linear[i] = false;
  std::vector<bool> has_cotangent;
  for (std::size_t i = 0; i < which.size(); ++i)
    if (l.nonzero_out[i]) has_cotangent.push_back(which[i]);
  if (!l.linearization) return transpose_program(l.linear, linear, has_cotangent);
  if (!RulesGetValues::active() || has_effects(l.primal)) return l.linearization->transposed(linear, has_cotangent);
  if (l.results.empty()) l.results = evaluate_primal(l);
  return transpose_program(l.linear, linear, has_cotangent, l.residuals);
}

std::vector<Array> all_cotangents(const Linearized& l, const TransposedProgram& t, std::span<const Array> results, SourceLoc loc) {
  std::vector<Array> out;
  std::size_t linear = 0, next = 0;
  for (std::size_t i = 0; i < l.active.size(); ++i) {
    const bool nonzero = l.active[i] && t.nonzero[linear++];
    out.push_back(nonzero ? results[next++] : zero_tangent(l.in_avals[i], loc));
  }
  return out;
}

}  // namespace weft::detail
