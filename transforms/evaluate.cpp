#include "weft/transforms/evaluate.h"

#include <algorithm>
#include <limits>

#include "weft/core/array/array_reads.h"
#include "weft/core/array/host.h"
#include "weft/core/base/config.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/contraction/terms.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/jit/jit.h"

namespace weft::detail {
namespace {

// Nanoseconds of an equation that is executed by itself, of an element that its reference computes, and of a term of a product.
constexpr double kEquation = 300, kElement = 8, kTerm = 1.5;
// From here on a compiled program pays, although its first call takes some milliseconds to compile.
constexpr double kWorthCompiling = 100e3;

double cost_of(const JaxprData& d, const Eqn& e) {
  const std::vector<Aval> in = operand_avals(d, e), out = result_avals(d, e);
  switch (e.op->kind) {
    case Kind::call: return kEquation + eager_cost(executed_body(*e.op, *e.params, in));
    // These run as compiled programs, one for each device.
    case Kind::spmd:
    case Kind::collective: return -std::numeric_limits<double>::infinity();
    default: break;
  }
  if (const double terms = summed_terms(*e.op, *e.params, in, out); terms > 0) return kEquation + kTerm * terms;
  std::int64_t most = 1;
  for (const std::vector<Aval>* list : {&in, &out})
    for (const Aval& a : *list) most = std::max(most, a.size());
  return kEquation + kElement * static_cast<double>(most);
}

double cost_of(const Jaxpr& j, const LiveSet* needed) {
  check_nesting("programs inside programs", nesting_depth(j));
  const JaxprData& d = j.data();
  double sum = 0;
  for (std::size_t i = 0; i < d.eqns.size(); ++i)
    if (!needed || needed->eqns[i]) sum += cost_of(d, d.eqns[i]);
  return sum;
}

}  // namespace

double eager_cost(const Jaxpr& j) { return cost_of(j, nullptr); }
double eager_cost(const Jaxpr& j, const LiveSet& needed) { return cost_of(j, &needed); }

bool is_compiled_whole(double eager_cost, std::span<const Array> args) {
  return eager_cost > kWorthCompiling && !config.debug_nans && !jit_is_disabled() && !current_trace() &&
         std::all_of(args.begin(), args.end(), [](const Array& x) { return (as_concrete(x) || as_literal(x)); });
}

std::optional<std::vector<Array>> run_whole(const Jaxpr& j, std::span<const Array> args) {
  if (has_effects(j) || calls_back(j)) return {};
  const Hoisted h = hoist_consts(j);
  std::vector<Array> inputs = h.consts;
  inputs.insert(inputs.end(), args.begin(), args.end());
  if (!std::all_of(h.consts.begin(), h.consts.end(), [](const Array& x) { return as_concrete(x) || as_literal(x); })) return {};
  const ArrayReads reads(inputs);
  if (reads.donated()) return {};  // the operation that reads it says so
  return host().execute_program(h.jaxpr, inputs);
}

std::vector<Array> evaluate(const Jaxpr& j, std::span<const Array> args) {
  if (is_compiled_whole(eager_cost(j), args))
    if (auto results = run_whole(j, args)) return std::move(*results);
  return eval_jaxpr(j, args);
}

}  // namespace weft::detail
