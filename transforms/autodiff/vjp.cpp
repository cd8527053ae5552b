#include "weft/transforms/autodiff/vjp.h"

#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/evaluate.h"

namespace weft::detail {
namespace {

// Each given array must be like the one it belongs to; numbers adapt. For values without a derivative, any array of the right shape is
// accepted.
void check_given(std::vector<Array>& given, const std::vector<Aval>& want, FunctionRef<Skeleton()> paths, const char* operation,
                 SourceLoc loc) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Aval& aval = want[i];
    if (aval.dtype.is_inexact()) given[i] = convert_weak(given[i], aval);
    const bool dtype_fits = aval.dtype.is_inexact() ? given[i].dtype() == aval.dtype : !given[i].dtype().is_inexact();
    if (given[i].shape() == aval.shape && dtype_fits) continue;
    const std::string message = fmt::format("{}: {} is {}, but belongs to a value {}", operation, leaf_paths(paths())[i],
                                            to_string(given[i].aval()), to_string(aval));
    if (given[i].shape() != aval.shape) throw ShapeError(message + "; give one of that shape", loc);
    throw DTypeError(message + "; give one of that dtype", loc);
  }
}

}  // namespace

FlatLinear flat_vjp(FlatFunction& f) {
  check_no_array_is_empty(f);
  return with_custom_rules([&] {
    const Ref<Linearized> l = linearize_flat(f, inexact_leaves(f.args), "vjp");
    std::vector<bool> which(l->out_avals.size(), false);
    for (std::size_t i = 0; i < l->num_primary; ++i) which[i] = true;
    l->transposed = transpose_linearized(*l, which);
    std::vector<Array> results = evaluate_primal(*l);
    return FlatLinear{std::move(results), l};
  });
}

FlatLinear flat_linearize(FlatFunction& f) {
  check_no_array_is_empty(f);
  const Ref<Linearized> l = with_custom_rules([&] { return linearize_flat(f, inexact_leaves(f.args), "linearize"); });
  std::vector<Array> results = evaluate_primal(*l);
  return {std::move(results), l};
}

FlatLinear flat_linear_transpose(FlatFunction& f) {
  const Jaxpr traced = trace_flat(f, "linear_transpose", {.with_values = false});
  Hoisted h = hoist_consts(traced);
  auto l = make_ref<Linearized>();
  l->in_avals = avals_of(f.args);
  l->out_avals = traced.data().output_avals();
  check_linear_types("linear_transpose", l->in_avals, l->out_avals, f.loc);
  l->num_primary = l->out_avals.size();
  l->linear = h.jaxpr;
  l->residuals = std::move(h.consts);
  l->active.assign(f.args.size(), true);
  l->nonzero_out.assign(l->out_avals.size(), true);
  l->transposed = transpose_linearized(*l, l->nonzero_out);
  std::vector<Array> results;
  for (const Aval& a : l->out_avals) results.push_back(make_abstract(a));
  return {std::move(results), l};
}

std::vector<Array> pull_back(const LinearState& s, std::vector<Array> cotangents, FunctionRef<Skeleton()> given, SourceLoc loc) {
  const auto& l = static_cast<const Linearized&>(s);
  LocScope scope(loc);
  check_given(cotangents, l.out_avals, given, "vjp", loc);
  std::vector<Array> inputs = l.residuals;
  for (std::size_t i = 0; i < cotangents.size(); ++i)
    if (l.nonzero_out[i]) inputs.push_back(cotangents[i]);
  return all_cotangents(l, *l.transposed, evaluate(l.transposed->jaxpr, inputs), loc);
}

std::vector<Array> push_forward(const LinearState& s, std::vector<Array> tangents, FunctionRef<Skeleton()> given, SourceLoc loc) {
  const auto& l = static_cast<const Linearized&>(s);
  LocScope scope(loc);
  check_given(tangents, l.in_avals, given, "linearize", loc);
  std::vector<Array> inputs = l.residuals;
  for (std::size_t i = 0; i < tangents.size(); ++i)
    if (l.active[i]) inputs.push_back(tangents[i]);
  const std::vector<Array> some = evaluate(l.linear, inputs);
  std::vector<Array> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < l.out_avals.size(); ++i) {
    const bool nonzero = l.nonzero_out[i];
    if (i < l.num_primary) out.push_back(nonzero ? some[next] : zero_tangent(l.out_avals[i], loc));
    next += nonzero;
  }
  return out;
}

}  // namespace weft::detail
