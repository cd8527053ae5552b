// What regions of scalars do (see regions.h).
#include "weft/frontends/stablehlo/import/regions.h"

#include <array>

#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/control/call.h"

namespace weft::detail::mlir {

std::optional<CombinerName> combiner_name(const Jaxpr& j) {
  const JaxprData& d = j.data();
  if (d.num_consts != 0 || d.num_inputs != 2 || d.outputs.size() != 1 || d.outputs[0].is_literal()) return {};
  if (d.outputs[0].var() == 1) return CombinerName::second;
  if (d.eqns.size() != 1 || d.outputs[0].var() != d.eqns[0].outputs[0] || d.eqns[0].inputs.size() != 2) return {};
  const Eqn& e = d.eqns[0];
  for (const Atom a : e.inputs)
    if (a.is_literal()) return {};
  const bool in_order = e.inputs[0].var() == 0 && e.inputs[1].var() == 1, swapped = e.inputs[0].var() == 1 && e.inputs[1].var() == 0;
  if (!in_order && !swapped) return {};
  struct Known {
    std::string_view primitive;
    CombinerName name;
    bool commutes;
  };
  constexpr std::array<Known, 7> kKnown{{{"add", CombinerName::add, true},
                                         {"mul", CombinerName::mul, true},
                                         {"max", CombinerName::max, true},
                                         {"min", CombinerName::min, true},
                                         {"sub", CombinerName::sub, false},
                                         {"and", CombinerName::logical_and, true},
                                         {"or", CombinerName::logical_or, true}}};
  for (const Known& k : kKnown)
    if (k.primitive == e.op->name && (in_order || k.commutes)) return k.name;
  return {};
}

std::vector<Jaxpr> split_region(const OpCall& c, const Jaxpr& region, std::size_t n) {
  const JaxprData& d = region.data();
  if (d.input_avals().size() != 2 * n || d.outputs.size() != n) c.fail("its region must take two values for each operand and return one");
  if (n == 1) return {dce_program(region)};
  std::vector<Jaxpr> out;
  for (std::size_t i = 0; i < n; ++i) {
    const Jaxpr one = dce_program(with_outputs(region, {d.outputs[i]}));
    const JaxprData& o = one.data();
    std::vector<bool> used(o.avals.size(), false);
    for (const Eqn& e : o.eqns)
      for (const Atom a : e.inputs)
        if (!a.is_literal()) used[a.var()] = true;
    for (const Atom a : o.outputs)
      if (!a.is_literal()) used[a.var()] = true;
    for (std::size_t k = 0; k < 2 * n; ++k)
      if (used[o.first_input() + k] && k % n != i) c.fail("its region's results depend on each other's values");
    const std::vector<Aval> inputs{d.input_avals()[i], d.input_avals()[n + i]};
    out.push_back(trace_jaxpr({"stablehlo region", inputs, {}}, [&](std::span<const Array> args) {
      std::vector<Array> all;
      for (std::size_t k = 0; k < 2 * n; ++k)
        all.push_back(k == i ? args[0] : k == n + i ? args[1] : make_literal(Aval{{}, d.input_avals()[k].dtype, false}, ScalarBits{}));
      return eval_jaxpr(one, all);
    }));
  }
  return out;
}

}  // namespace weft::detail::mlir
