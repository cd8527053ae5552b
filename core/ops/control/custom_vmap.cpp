#include "weft/core/ops/control/custom_vmap.h"

#include <fmt/format.h>

#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/operand_parts.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {

std::string print_param(const RuleParam<VmapRule>& v) { return print_param(v.name); }
void read_param(ParamReader& r, RuleParam<VmapRule>& v) { v.name = r.read_string(); }

namespace {

struct CustomVmapCall {
  static constexpr std::string_view name = "custom_vmap_call", doc = "A function with its own rule for vmap.";
  static constexpr Kind kind = Kind::call;
  using Params = CustomVmapParams;
  static const Jaxpr& body(const Params& p) { return p.call; }
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_parts(c, {c.get<Params>().num_consts}, c.in.size());
    return call_types(c, c.get<Params>().call);
  }
  static JvpResult jvp_call(const JvpContext& c) { return jvp_of_call(c, c.get<Params>().call, run_in_place); }
  static JvpResult linearize_call(const JvpContext& c) { return linearize_of_call(c, c.get<Params>().call, run_in_place); }
  static std::vector<Tangent> transpose(const TransposeContext& c) { return transpose_of_call(c, c.get<Params>().call, run_in_place); }

  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    if (!p.rule.rule) return batch_of_call(c, p.call, run_in_place);  // read from a text: the body
    const auto num_consts = static_cast<std::size_t>(p.num_consts);
    std::vector<Array> args;
    std::vector<bool> batched;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const bool mapped = c.dims[i] != kNotMapped;
      if (i < num_consts) {
        if (mapped)
          throw TracerError(fmt::format("custom_vmap: {} captures a value that vmap maps over, of which its rule knows nothing; pass it as "
                                        "an argument",
                                        p.name),
                            c.loc);
        continue;
      }
      args.push_back(mapped ? move_axis(c.in[i], c.dims[i], 0, c.loc) : c.in[i]);
      batched.push_back(mapped);
    }
    return checked(c, p.rule.rule->apply(c.axis.size, batched, args, c.loc));
  }

 private:
  static BatchResult checked(const BatchContext& c, VmapRule::Batched given) {
    const Params& p = c.get<Params>();
    const std::vector<Aval> one = p.call.data().output_avals();
    if (given.results.size() != one.size() || given.batched.size() != one.size())
      throw PytreeError(fmt::format("custom_vmap: the rule of {} gives {} and says of {} whether they are batched, and {} gives {}", p.name,
                                    counted(given.results.size(), "array"), given.batched.size(), p.name, one.size()),
                        c.loc);
    BatchResult r{std::move(given.results), {}};
    for (std::size_t k = 0; k < one.size(); ++k) {
      const Aval want = given.batched[k] ? one[k].with_shape(one[k].shape.inserted(0, c.axis.size)) : one[k];
      const std::string message = fmt::format("custom_vmap: result {} of the rule of {} is {}, but must be {}: {}", k, p.name,
                                              to_string(r.out[k].aval()), to_string(want),
                                              given.batched[k] ? "the lanes' results along axis 0, as the rule says that it is batched"
                                                               : "a lane's result, as the rule says that it isn't batched");
      if (r.out[k].shape() != want.shape) throw ShapeError(message, c.loc);
      if (r.out[k].dtype() != want.dtype) throw DTypeError(message, c.loc);
      r.dims.push_back(given.batched[k] ? 0 : kNotMapped);
    }
    return r;
  }
};

constexpr ParamValue kLeftOut[] = {{"num_consts", "0"}};
const TextRule<CustomVmapCall> custom_vmap_text([] { return TextTraits{.left_out = kLeftOut}; });
const VaryingRule<CustomVmapCall> custom_vmap_varying(varying_of_body);
const MarkVaryingRule<CustomVmapCall> custom_vmap_marks(mark_body);
const Rule<LinkedBodyTransform, CustomVmapCall> custom_vmap_body([] {});

}  // namespace

std::vector<Array> bind_custom_vmap(const std::string& name, const Jaxpr& j, RuleParam<VmapRule> rule, std::span<const Array> inputs,
                                    SourceLoc loc) {
  Hoisted h = hoist_consts(j);
  std::vector<Array> all = std::move(h.consts);
  const int num_consts = static_cast<int>(all.size());
  all.insert(all.end(), inputs.begin(), inputs.end());
  return bind_all<CustomVmapCall>({name, std::move(h.jaxpr), std::move(rule), num_consts}, all, loc);
}

PrimitiveList custom_vmap_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<CustomVmapCall>};
  return list;
}

}  // namespace weft::detail
