// What grad, vjp, jvp, linearize and the Jacobians share. Internal.
#pragma once
#include <optional>

#include "weft/core/array/array_lists.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/number_reads.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/forward.h"
#include "weft/transforms/autodiff/linearizations.h"
#include "weft/transforms/autodiff/vjp.h"
#include "weft/transforms/flat.h"

namespace weft::detail {

/// Derives something of a function of the user's; if a custom rule in it fails for lack of a value, once more with RulesGetValues.
template <class Derive>
auto with_custom_rules(Derive&& derive) {
  if (RulesGetValues::active()) return derive();
  take_rule_lacks_value();
  try {
    return derive();
  } catch (const Error&) {
    if (!take_rule_lacks_value()) throw;
  }
  const RulesGetValues get_values;
  return derive();
}

/// The trace of a user's function, described for messages: `jit of step`, with inputs of these types.
TraceRequest request_for(const FlatFunction& f, std::string_view operation, std::vector<Aval> inputs);
/// Runs a pass over the program of f. Errors thrown in it name this transform of f.
template <class Pass>
decltype(auto) in_transform(const char* operation, const FlatFunction& f, Pass&& pass) {
  try {
    return pass();
  } catch (Error& e) {
    ErrorContext::add_transform(e, operation, f.name, f.loc);
    throw;
  }
}
struct TraceFlatOptions {
  bool with_values = true;     ///< where the function reads a traced value as a bool or a number, it is computed on demand
  bool tracks_varying = true;  ///< inside shard_map; false for a function with a rule of its own, which handles no marks
};
Jaxpr trace_flat(FlatFunction& f, const char* operation, TraceFlatOptions options = {});
/// The values, if rules may ask for them.
inline std::span<const Array> values_for_rules(std::span<const Array> values) {
  return RulesGetValues::active() ? values : std::span<const Array>();
}
/// Converts a weakly typed argument (a C++ number) to the dtype wanted, as an expression would.
Array convert_weak(const Array& x, const Aval& want);
/// A zero (co)tangent: zeros of the value's own dtype if that is inexact, else of bool, which stands for JAX's float0.
Array zero_tangent(const Aval& aval, SourceLoc loc);

/// Throws DTypeError unless all arguments and results of a function that should be linear are floating or complex.
void check_linear_types(const char* operation, std::span<const Aval> in, std::span<const Aval> out, SourceLoc loc);

/// Throws ConcretizationError if none of the function's results depends on its arguments while numbers were read out of them: the
/// derivative went with the numbers. `nonzero` and `results` may also hold auxiliary results, behind the others.
void check_derivative_not_lost(const FlatFunction& f, const NumberReads& reads, const std::vector<bool>& nonzero,
                               std::span<const Aval> results, const char* operation);

/// A function linearized at a point.
struct Linearized final : LinearState {
  Jaxpr primal;                   ///< point -> results, residuals
  Jaxpr linear;                   ///< residuals, tangents of the active leaves -> tangents of the results where `nonzero_out`
  std::vector<Array> point;       ///< captured values, then the arguments' leaves
  std::vector<Array> residuals;   ///< empty until evaluate_primal
  std::vector<Array> results;     ///< of the program, if it ran before evaluate_primal
  std::vector<bool> active;       ///< for each leaf of the arguments: whether it has a tangent
  std::vector<bool> nonzero_out;  ///< for each result
  std::vector<Aval> in_avals, out_avals;
  std::size_t num_primary = 0;                  ///< results behind these are auxiliary
  std::optional<TransposedProgram> transposed;  ///< once prepare_pull was called
  Ref<Linearization> linearization;             ///< the cache entry of primal and linear; null where they were not traced from a function
};
/// Traces and linearizes with respect to the active leaves.
Ref<Linearized> linearize_flat(FlatFunction& f, std::vector<bool> active, const char* operation);
/// Runs the program, unless it has run for the rules: gives its results, once, and fills in the residuals.
std::vector<Array> evaluate_primal(Linearized& l);
/// For each leaf, whether it is floating or complex.
std::vector<bool> inexact_leaves(std::span<const Array> args);

/// The transposed linear part: (residuals, cotangents of the results where `nonzero_out` and `which`) -> cotangents.
TransposedProgram transpose_linearized(Linearized& l, const std::vector<bool>& which);
/// The cotangents of all leaves of the arguments, from the transposed program's results; zeros where a leaf is not active.
std::vector<Array> all_cotangents(const Linearized& l, const TransposedProgram& t, std::span<const Array> results, SourceLoc loc);

}  // namespace weft::detail
