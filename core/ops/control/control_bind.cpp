// Branches and loops are applied with their sub-programs' constants as operands.
#include <algorithm>

#include "weft/core/ops/control/control_common.h"

namespace weft::detail {

std::vector<Array> bind_cond(Cond::Params params, std::span<const Array> in, SourceLoc loc) {
  std::vector<Hoisted> branches;
  std::vector<Array> consts;  // of all branches, one after another
  std::vector<std::size_t> first;
  for (const Jaxpr& b : params.branches) {
    branches.push_back(hoist_consts(b));
    first.push_back(consts.size());
    append(consts, branches.back().consts);
  }
  if (consts.empty()) return bind_all<Cond>(std::move(params), in, loc);
  std::vector<Aval> inputs = avals_of(consts);
  for (const Array& x : in.subspan(1)) inputs.push_back(x.aval());
  for (std::size_t b = 0; b < branches.size(); ++b)
    params.branches[b] = make_program("cond", inputs, [&](std::span<const Array> args) {
      const std::span<const Array> own = args.subspan(first[b], branches[b].consts.size());
      std::vector<Array> operands(own.begin(), own.end());
      append(operands, args.subspan(consts.size()));
      return eval_jaxpr(branches[b].jaxpr, operands);
    });
  std::vector<Array> operands{in[0]};
  append(operands, consts), append(operands, in.subspan(1));
  return bind_all<Cond>(std::move(params), operands, loc);
}

std::vector<Array> bind_while(While::Params params, std::span<const Array> in, SourceLoc loc) {
  const Hoisted cond = hoist_consts(params.cond_jaxpr), body = hoist_consts(params.body_jaxpr);
  const auto of_cond = static_cast<std::size_t>(params.cond_nconsts);
  std::vector<Array> operands = cond.consts;
  append(operands, in.first(of_cond)), append(operands, body.consts), append(operands, in.subspan(of_cond));
  params.cond_jaxpr = cond.jaxpr, params.body_jaxpr = body.jaxpr;
  params.cond_nconsts += static_cast<int>(cond.consts.size()), params.body_nconsts += static_cast<int>(body.consts.size());
  return bind_all<While>(std::move(params), operands, loc);
}

std::vector<Array> bind_scan(Scan::Params params, std::span<const Array> in, SourceLoc loc) {
  const Hoisted body = hoist_consts(params.jaxpr);
  std::vector<Array> operands = body.consts;
  append(operands, in);
  params.jaxpr = body.jaxpr, params.num_consts += static_cast<int>(body.consts.size());
  return bind_all<Scan>(std::move(params), operands, loc);
}

}  // namespace weft::detail
