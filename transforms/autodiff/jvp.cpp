#include <algorithm>

#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/forward.h"

namespace weft::detail {

JvpProgram jvp_program(const Jaxpr& j, const std::vector<bool>& nonzero) { return jvp_program(j, nonzero, {}); }
JvpProgram jvp_program(const Jaxpr& j, const std::vector<bool>& nonzero, std::span<const Array> values) {
  const NotedPass noted("jvp", j);
  const auto in_avals = j.data().input_avals();
  TraceRequest request{"jvp", {in_avals.begin(), in_avals.end()}, {}};
  for (std::size_t i = 0; i < nonzero.size(); ++i)
    if (nonzero[i]) request.inputs.push_back(in_avals[i]);
  request.values.assign(values.begin(), values.end());
  if (!values.empty()) request.values.resize(request.inputs.size());
  JvpProgram program;
  program.jaxpr = trace_jaxpr(request, [&](std::span<const Array> args) {
    std::vector<Tangent> tangents(nonzero.size());
    std::size_t next = nonzero.size();
    for (std::size_t i = 0; i < nonzero.size(); ++i)
      if (nonzero[i]) tangents[i] = args[next++];
    JvpResult r = forward(j, args.first(nonzero.size()), tangents, ForwardMode::jvp);
    for (const Tangent& t : r.tangents) {
      program.nonzero_out.push_back(t.has_value());
      if (t) r.out.push_back(*t);
    }
    return r.out;
  });
  noted.made(program.jaxpr);
  return program;
}

}  // namespace weft::detail
