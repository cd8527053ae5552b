// Linearization: a program of primals, and one of tangents that is linear in them, with residuals from the one to the other.
#include <algorithm>

#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/forward.h"

namespace weft::detail {

LinearizedProgram linearize_program(const Jaxpr& j, const std::vector<bool>& nonzero) { return linearize_program(j, nonzero, {}); }
LinearizedProgram linearize_program(const Jaxpr& j, const std::vector<bool>& nonzero, std::span<const Array> values) {
  const NotedPass noted("linearize", j);
  LinearizedProgram program;
  const auto in_avals = j.data().input_avals();
  const TraceRequest request{"linearize", {in_avals.begin(), in_avals.end()}, {values.begin(), values.end()}};
  program.primal = trace_jaxpr(request, [&](std::span<const Array> args) {
    // Operations on tangents are staged into the companion; primal values that they use become its constants: the residuals.
    const Ref<Trace> companion = Trace::companion_of(*current_trace(), "linearize");
    std::vector<Tangent> tangents(nonzero.size());
    for (std::size_t i = 0; i < nonzero.size(); ++i)
      if (nonzero[i]) tangents[i] = companion->add_input(in_avals[i]);
    JvpResult r = forward(j, args, tangents, ForwardMode::linearize);
    std::vector<Array> tangents_out;
    for (const Tangent& t : r.tangents) {
      program.nonzero_out.push_back(t.has_value());
      if (t) tangents_out.push_back(*t);
    }
    Hoisted linear = hoist_consts(companion->finish(tangents_out));
    program.linear = linear.jaxpr;
    program.num_residuals = static_cast<int>(linear.consts.size());
    r.out.insert(r.out.end(), linear.consts.begin(), linear.consts.end());
    return r.out;
  });
  noted.made(program.primal, "values and residuals");
  noted.made(program.linear, "tangents");
  return program;
}

}  // namespace weft::detail
