// Small windows that are written into the memory of a donated argument or a loop's carry: a dynamic_update_slice whose result takes that
// memory becomes a scatter of one window, which touches nothing else.
#include "weft/backends/codegen/planner/window_updates.h"

#include <algorithm>
#include <vector>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kSmallest = 256;  // elements of an array that is worth it
constexpr std::int64_t kShare = 4;       // of the array that a window may be at most, as a divisor

/// Which equations to replace: their results are program outputs, or are overwritten in turn, and begin in a donated input.
std::vector<bool> chosen(const JaxprData& d, const std::vector<int>& donated) {
  std::vector<bool> out(d.eqns.size()), from_donated(d.avals.size()), wanted(d.avals.size());
  bool any = false;
  for (std::size_t i = 0; i < donated.size(); ++i)
    if (donated[i] != kNotDonated) from_donated[d.first_input() + i] = any = true;
  if (!any) return {};
  any = false;
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    const Eqn& e = d.eqns[i];
    if (e.op->kind != Kind::dynamic_update_slice || e.inputs[0].is_literal() || !from_donated[e.inputs[0].var()]) continue;
    const std::int64_t elements = d.aval(e.inputs[0]).size(), window = d.aval(e.inputs[1]).size();
    if (window == 0 || elements < kSmallest || window > elements / kShare) continue;
    from_donated[e.outputs[0]] = out[i] = any = true;
  }
  if (!any) return {};
  for (Atom a : d.outputs)
    if (!a.is_literal()) wanted[a.var()] = true;
  for (std::size_t i = out.size(); i-- > 0;) {
    out[i] = out[i] && wanted[d.eqns[i].outputs[0]];
    if (out[i]) wanted[d.eqns[i].inputs[0].var()] = true;
  }
  return out;
}

/// The window at positions that are moved inside, as dynamic_update_slice has them.
Array written(const Eqn& e, std::span<const Array> in) {
  const Shape &whole = in[0].shape(), &window = in[1].shape();
  ScatterDimensionNumbers n;
  std::vector<Array> positions;
  for (int d = 0; d < whole.size(); ++d) {
    n.update_window_dims.push_back(d);
    if (window[d] == whole[d]) continue;
    n.scatter_dims_to_operand_dims.push_back(d);
    positions.push_back(reshape_to(in[static_cast<std::size_t>(d) + 2], {1}, e.loc));
  }
  const Array at = positions.size() == 1 ? positions[0] : concatenate_along(positions, 0, e.loc);
  return bind_one<Scatter>({n, false, GatherScatterMode::clip, true, {}}, {in[0], at, in[1]}, e.loc);
}

}  // namespace

Jaxpr with_window_updates(const Jaxpr& j, const std::vector<int>& donated) {
  const JaxprData& d = j.data();
  const std::vector<bool> replaced = chosen(d, donated);
  if (std::find(replaced.begin(), replaced.end(), true) == replaced.end()) return j;
  const auto avals = d.input_avals();
  return trace_jaxpr({"jit", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
    return walk(j, args, [&](const Eqn& e, std::span<const Array> in) {
      const bool is_replaced = replaced[static_cast<std::size_t>(&e - d.eqns.data())];
      return is_replaced ? std::vector<Array>{written(e, in)} : bind_primitive(*e.op, e.params, in, e.loc);
    });
  });
}

}  // namespace weft::detail
