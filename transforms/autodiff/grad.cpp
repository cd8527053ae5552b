#include "weft/transforms/autodiff/grad.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/evaluate.h"

namespace weft::detail {
namespace {

// JAX's rules: real or complex inputs, complex ones only if holomorphic; integers only where allow_int is set.
void check_input(const FlatFunction& f, std::size_t leaf, GradOptions options, const char* operation) {
  const Aval& aval = f.args[leaf].aval();
  auto path = [&] { return leaf_paths(f.arguments())[leaf]; };
  if (options.holomorphic) {
    if (!aval.dtype.is_complex())
      throw DTypeError(fmt::format("{}: {} is {}; with holomorphic = true it must be complex", operation, path(), to_string(aval)), f.loc);
  } else if (!aval.dtype.is_inexact() && !options.allow_int) {
    throw DTypeError(fmt::format("{}: {} is {}, which has no derivative; pass a floating-point value, or set allow_int to get zeros",
                                 operation, path(), to_string(aval)),
                     f.loc);
  }
}

void check_output(const FlatFunction& f, const Aval& loss, GradOptions options, const char* operation) {
  if (!loss.shape.empty())
    throw ShapeError(fmt::format("{}: the function's result is {}, but must be a scalar; reduce it (sum, mean), or use vjp or jacrev",
                                 operation, to_string(loss)),
                     f.loc);
  if (options.holomorphic && !loss.dtype.is_complex())
    throw DTypeError(fmt::format("{}: the function's result is {}; with holomorphic = true it must be complex", operation, to_string(loss)),
                     f.loc);
  if (!options.holomorphic && !loss.dtype.is_floating())
    throw DTypeError(fmt::format("{}: the function's result is {}, but must be a real floating-point scalar; {}", operation,
                                 to_string(loss), loss.dtype.is_complex() ? "set holomorphic, or use vjp" : "convert it to a float"),
                     f.loc);
}

/// The function's results `first` to `last` and its gradient as one program of the point.
Jaxpr joined(const Linearized& l, std::size_t first, std::size_t last, const std::optional<TransposedProgram>& transposed) {
  const JaxprData& d = l.primal.data();
  JaxprCopy copy(l.primal);
  copy.add_inputs();
  for (const Eqn& e : d.eqns) copy.add(e);
  std::vector<Atom> results, known;
  for (std::size_t i = first; i < last; ++i) results.push_back(copy(d.outputs[i]));
  if (transposed) {
    for (std::size_t i = l.out_avals.size(); i < d.outputs.size(); ++i) known.push_back(copy(d.outputs[i]));
    const Array one = make_literal(Number(1), l.out_avals[0].dtype);
    known.push_back(copy.add_literal({one.aval(), as_literal(one)->bits}));
    const std::vector<Atom> gradients = copy.add_program(transposed->jaxpr, known);
    results.insert(results.end(), gradients.begin(), gradients.end());
  }
  return std::move(copy).finish_with(std::move(results));
}

FlatGradient gradient(FlatFunction& f, std::span<const int> argnums, bool want_value, bool want_aux, GradOptions options,
                      const char* operation) {
  std::vector<bool> active(f.args.size(), false);
  for (const int n : argnums)
    for (std::size_t i = f.offsets[static_cast<std::size_t>(n)]; i < f.offsets[static_cast<std::size_t>(n) + 1]; ++i) {
      check_input(f, i, options, operation);
      active[i] = f.args[i].dtype().is_inexact();
    }
  const Ref<Linearized> l = linearize_flat(f, active, operation);
  if (l->out_avals.empty()) throw ShapeError(fmt::format("{}: the function returns no arrays, but must return a scalar", operation), f.loc);
  if (!want_aux && l->out_avals.size() != 1)
    throw ShapeError(fmt::format("{}: the function returns {} arrays, but must return one scalar; use vjp", operation, l->out_avals.size()),
                     f.loc);
  check_output(f, l->out_avals[0], options, operation);

  // Values on which only unwanted results or tangents depend are not computed.
  std::optional<TransposedProgram> transposed;
  std::optional<LiveSet> backward;
  const std::size_t outs = l->out_avals.size(), first = want_value ? 0 : 1, last = want_aux ? outs : 1;
  std::vector<bool> wanted(l->primal.data().outputs.size());
  std::fill(wanted.begin() + static_cast<std::ptrdiff_t>(first), wanted.begin() + static_cast<std::ptrdiff_t>(last), true);
  if (l->nonzero_out[0]) {
    std::vector<bool> loss_only(outs, false);
    loss_only[0] = true;
    transposed = in_transform(operation, f, [&] { return transpose_linearized(*l, loss_only); });
    backward = live_set_of(transposed->jaxpr);
    for (std::size_t i = outs; i < wanted.size(); ++i) wanted[i] = backward->input(transposed->jaxpr, i - outs);
  }
  const LiveSet forward = live_set_of(l->primal, wanted);
  std::vector<Array> values, gradients;
  const double cost = eager_cost(l->primal, forward) + (transposed ? eager_cost(transposed->jaxpr, *backward) : 0);
  std::optional<std::vector<Array>> all;
  if (is_compiled_whole(cost, l->point))
    all = run_whole(l->linearization->joined({first, last}, [&] { return joined(*l, first, last, transposed); }), l->point);
  if (all) {
    const auto end_of_values = all->begin() + static_cast<std::ptrdiff_t>(last - first);
    values.resize(first);
    values.insert(values.end(), all->begin(), end_of_values);
    gradients.assign(end_of_values, all->end());
  } else {
    values = eval_live(l->primal, forward, l->point);
    if (transposed) {
      std::vector<Array> inputs(values.begin() + static_cast<std::ptrdiff_t>(outs), values.end());
      inputs.push_back(make_literal(Number(1), l->out_avals[0].dtype));
      gradients = eval_live(transposed->jaxpr, *backward, inputs);
    }
  }

  FlatGradient r;
  r.results.resize(outs);
  for (std::size_t i = first; i < last; ++i) r.results[i] = values[i];
  LocScope scope(f.loc);
  const std::vector<Array> cotangents = transposed ? all_cotangents(*l, *transposed, gradients, f.loc) : std::vector<Array>();
  for (const int n : argnums)
    for (std::size_t i = f.offsets[static_cast<std::size_t>(n)]; i < f.offsets[static_cast<std::size_t>(n) + 1]; ++i)
      r.gradients.push_back(transposed ? cotangents[i] : zero_tangent(l->in_avals[i], f.loc));
  return r;
}

}  // namespace

FlatGradient flat_gradient(FlatFunction& f, std::span<const int> argnums, bool want_value, bool want_aux, GradOptions options,
                           const char* operation) {
  check_no_array_is_empty(f);
  return with_custom_rules([&] { return gradient(f, argnums, want_value, want_aux, options, operation); });
}

}  // namespace weft::detail
