// What regions of scalars do (see regions.h).
#include "weft/frontends/stablehlo/import/regions.h"

#include <fmt/format.h>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/frontends/stablehlo/import/functions.h"

namespace weft::detail::mlir {

std::optional<Combiner> combiner_of(const Jaxpr& j) {
  const JaxprData& d = j.data();
  if (d.num_consts != 0 || d.num_inputs != 2 || d.outputs.size() != 1 || d.eqns.size() != 1) return {};
  const Eqn& e = d.eqns[0];
  if (e.op->kind != Kind::elementwise || e.inputs.size() != 2 || d.outputs[0] != Atom::var(e.outputs[0])) return {};
  const bool in_order = e.inputs[0] == Atom::var(0) && e.inputs[1] == Atom::var(1),
             swapped = e.inputs[0] == Atom::var(1) && e.inputs[1] == Atom::var(0);
  return in_order || swapped ? e.op->combiner : std::nullopt;
}

bool gives_second(const Jaxpr& j) {
  const JaxprData& d = j.data();
  return d.num_consts == 0 && d.num_inputs == 2 && d.outputs.size() == 1 && !d.outputs[0].is_literal() && d.outputs[0].var() == 1;
}

bool is_program_of(const Jaxpr& j, std::string_view primitive) {
  const auto inputs = j.data().input_avals();
  if (inputs.size() != 2) return false;
  const auto apply = [&](std::span<const Array> args) { return std::vector<Array>{bind_named(primitive, {args[0], args[1]}, {})}; };
  return j == trace_jaxpr({"stablehlo region", {inputs.begin(), inputs.end()}, {}}, apply);
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

namespace {
/// How many bits an element is stated to have.
int bits_of(const NarrowFormat* narrow, DType dtype) { return narrow ? narrow->bits : 8 * dtype.itemsize(); }
}  // namespace

Array promoted(const OpCall& c, std::size_t operand, const Type& type) {
  const Array& x = c.in(operand);
  const DType from = x.dtype(), to = type.tensor.dtype;
  if (type.kind != Type::Kind::tensor || from == to) return x;
  const bool same_kind =
      (from.is_integer() && to.is_integer()) || (from.is_floating() && to.is_floating()) || (from.is_complex() && to.is_complex());
  if (!same_kind || bits_of(c.value(operand).narrow, from) > bits_of(type.narrow, to))
    c.fail(fmt::format("its region takes {}, which elements of operand {}, {}, are not promoted to", type.text, operand, from.name()));
  return convert(Arg(x, c.loc), to);
}

Array promoted(const OpCall& c, std::size_t operand, std::size_t region, std::size_t argument) {
  if (region >= c.op.regions.size() || argument >= c.op.regions[region].types.size()) return c.in(operand);
  return promoted(c, operand, c.op.regions[region].types[argument]);
}

void check_returns(const OpCall& c, const char* what, const Jaxpr& region, const std::vector<Aval>& types) {
  const std::vector<Aval> out = region.data().output_avals();
  bool same = out.size() == types.size();
  for (std::size_t i = 0; same && i < out.size(); ++i) same = same_type(out[i], types[i]);
  if (same) return;
  const auto text = [](const std::vector<Aval>& avals) {
    std::vector<std::string> parts;
    for (const Aval& a : avals) parts.push_back(to_string(a));
    return parts.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(parts, ", "));
  };
  c.fail(fmt::format("{} returns {}, it must return {}", what, text(out), text(types)));
}

}  // namespace weft::detail::mlir
