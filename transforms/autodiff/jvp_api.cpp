// jvp as users call it: checks of primals and tangents, and the call of the forward derivative.
#include <fmt/format.h>

#include "weft/core/errors/error.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/autodiff/jvp.h"
#include "weft/transforms/evaluate.h"

namespace weft::detail {

Array tangent_of_integer(const Array& primal, SourceLoc loc) {
  if (primal.dtype().is_inexact())
    throw DTypeError(fmt::format("jvp: none is the tangent of an integer, but the primal is {}; give zeros_like(x) for no change",
                                 to_string(primal.aval())),
                     loc);
  return zeros_of(primal.aval(), loc);
}

namespace {

/// The results and their tangents, of tangents that fit.
FlatJvp pushed(FlatFunction& f, std::vector<Array> tangents, const std::vector<bool>& active) {
  const NumberReads reads;
  const Hoisted h = hoist_consts(trace_flat(f, "jvp"));
  for (std::size_t i = 0; i < active.size(); ++i)  // of a number that the program takes in a wider dtype
    if (active[i]) tangents[i] = convert_element_type(tangents[i], f.args[i].dtype(), tangents[i].aval().weak, f.loc);
  std::vector<bool> nonzero(h.consts.size(), false);
  nonzero.insert(nonzero.end(), active.begin(), active.end());
  std::vector<Array> inputs = h.consts;
  inputs.insert(inputs.end(), f.args.begin(), f.args.end());
  const JvpProgram program = in_transform("jvp", f, [&] { return jvp_program(h.jaxpr, nonzero, values_for_rules(inputs)); });
  check_derivative_not_lost(f, reads, program.nonzero_out, h.jaxpr.data().output_avals(), "jvp");
  for (std::size_t i = 0; i < active.size(); ++i)
    if (active[i]) inputs.push_back(tangents[i]);
  const std::vector<Array> values = evaluate(dce_program(program.jaxpr), inputs);

  LocScope scope(f.loc);
  const std::size_t n = program.nonzero_out.size();
  FlatJvp r;
  r.results.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
  std::size_t next = n;
  for (std::size_t i = 0; i < n; ++i)
    r.tangents.push_back(program.nonzero_out[i] ? values[next++] : zero_tangent(r.results[i].aval(), f.loc));
  return r;
}

}  // namespace

FlatJvp flat_jvp(FlatFunction& f, std::vector<Array> tangents, const Skeleton& tangent_paths) {
  check_no_array_is_empty(f);
  const std::vector<bool> active = inexact_leaves(f.args);
  for (std::size_t i = 0; i < f.args.size(); ++i) {
    const Aval& primal = f.args[i].aval();
    if (active[i]) tangents[i] = convert_weak(tangents[i], primal);
    const bool dtype_fits = active[i] ? tangents[i].dtype() == primal.dtype : !tangents[i].dtype().is_inexact();
    if (tangents[i].shape() == primal.shape && dtype_fits) continue;
    const std::string message = fmt::format("jvp: the primal {} is {}, its tangent {} is {}", leaf_paths(f.arguments())[i],
                                            to_string(primal), leaf_paths(tangent_paths)[i], to_string(tangents[i].aval()));
    if (tangents[i].shape() != primal.shape) throw ShapeError(message + "; their shapes must be equal", f.loc);
    throw DTypeError(message + (active[i] ? "; their dtypes must be equal" : "; an integer's tangent is an integer, and has no meaning"),
                     f.loc);
  }
  return with_custom_rules([&] { return pushed(f, tangents, active); });
}

}  // namespace weft::detail
