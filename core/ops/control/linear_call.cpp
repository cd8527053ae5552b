#include "weft/core/ops/control/linear_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/base/counted.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/operand_parts.h"
#include "weft/core/ops/registry.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {
namespace {

struct LinearCall {
  static constexpr std::string_view name = "linear_call", doc = "A function that is linear in its last operands, with its own transpose.";
  static constexpr Kind kind = Kind::call;
  using Params = LinearCallParams;
  static const Jaxpr& body(const Params& p) { return p.call_jaxpr; }

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    check_parts(c, {p.num_known}, c.in.size());
    const std::vector<Aval> out = call_types(c, p.call_jaxpr);
    std::vector<Aval> back(c.in.begin(), c.in.begin() + p.num_known);
    back.insert(back.end(), out.begin(), out.end());
    check_types(c, "takes", p.transpose_jaxpr.data().input_avals(), back);
    check_types(c, "gives", p.transpose_jaxpr.data().output_avals(), c.in.subspan(static_cast<std::size_t>(p.num_known)));
    return out;
  }

  /// With tangents of its linear operands only, it is its own derivative.
  static JvpResult jvp_call(const JvpContext& c) {
    return linear_only(c) ? itself(c) : jvp_of_call(c, c.get<Params>().call_jaxpr, bind_closed_call);
  }
  static JvpResult linearize_call(const JvpContext& c) {
    return linear_only(c) ? itself(c) : linearize_of_call(c, c.get<Params>().call_jaxpr, bind_closed_call);
  }

  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const Params& p = c.get<Params>();
    const auto known = static_cast<std::size_t>(p.num_known);
    std::vector<Array> in;
    for (const Operand& o : c.in.first(known)) in.push_back(o.known());
    for (std::size_t i = 0; i < c.cotangents.size(); ++i) in.push_back(instantiate(c.cotangents[i], c.out_avals[i], c.loc));
    const std::vector<Array> back = bind_all<LinearCall>({p.transpose_jaxpr, p.call_jaxpr, p.num_known}, in, c.loc);
    std::vector<Tangent> out(c.in.size());
    for (std::size_t i = 0; i < back.size(); ++i)
      if (c.in[known + i].is_linear()) out[known + i] = back[i];
    return out;
  }

  /// All linear operands and all results are mapped, along the first axis, so that each program is the transpose of the other.
  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    const auto known = static_cast<std::size_t>(p.num_known);
    std::vector<Array> in(c.in.begin(), c.in.end());
    std::vector<int> dims(c.dims.begin(), c.dims.end());
    for (std::size_t i = known; i < in.size(); ++i) in[i] = materialize_batch_dim(in[i], std::exchange(dims[i], 0), c.axis.size, 0, c.loc);
    std::vector<int> back(dims.begin(), dims.begin() + p.num_known);
    const std::vector<int> out(p.call_jaxpr.data().outputs.size(), 0);
    back.insert(back.end(), out.begin(), out.end());
    const std::vector<int> linear(in.size() - known, 0);
    return {bind_linear_call({batch_program(p.call_jaxpr, c.axis, dims, out).jaxpr,
                              batch_program(p.transpose_jaxpr, c.axis, back, linear).jaxpr, p.num_known},
                             in, c.loc),
            out};
  }

 private:
  template <class A, class B>
  static void check_types(const OpContext& c, const char* verb, const A& got, const B& want) {
    if (got.size() != want.size())
      c.fail<PytreeError>(fmt::format("its transpose {} {}, not {}", verb, counted(got.size(), "array"), want.size()));
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!same_type(got[i], want[i]))
        c.fail<ShapeError>(fmt::format("its transpose {} {} as array {}, not {}", verb, to_string(got[i]), i, to_string(want[i])));
  }
  static bool linear_only(const JvpContext& c) {
    const auto known = c.tangents.first(static_cast<std::size_t>(c.get<Params>().num_known));
    return std::none_of(known.begin(), known.end(), [](const Tangent& t) { return t.has_value(); });
  }
  static JvpResult itself(const JvpContext& c) {
    const auto known = static_cast<std::size_t>(c.get<Params>().num_known);
    std::vector<Array> in(c.in.begin(), c.in.begin() + static_cast<std::ptrdiff_t>(known));
    for (std::size_t i = known; i < c.in.size(); ++i) in.push_back(instantiate(c.tangents[i], c.in[i].aval(), c.loc));
    JvpResult r{bind_primitive(c.op, c.params, c.in, c.loc), {}};
    for (const Array& t : bind_primitive(c.op, c.params, in, c.loc)) r.tangents.push_back(t);
    return r;
  }
};

const CallRule<LinearCall> linear_call_traits([] { return CallTraits{.has_own_transpose = true}; });
const VaryingRule<LinearCall> linear_call_varying(varying_of_body);
/// The transpose is marked when it is called.
const MarkVaryingRule<LinearCall> linear_call_marks([](const VaryingContext& c) {
  EqnVarying r{c.in, {}, {}};
  LinearCallParams p = c.get<LinearCallParams>();
  p.call_jaxpr = mark_program(p.call_jaxpr, c.in, r.out);
  r.params = make_params(std::move(p));
  return r;
});

}  // namespace

std::vector<Array> bind_linear_call(const LinearCallParams& params, std::span<const Array> inputs, SourceLoc loc) {
  const Hoisted call = hoist_consts(params.call_jaxpr), back = hoist_consts(params.transpose_jaxpr);
  std::vector<Array> operands = call.consts;
  append(operands, back.consts);
  const std::vector<Aval> consts = avals_of(operands);
  append(operands, inputs);
  // Each takes the constants of both.
  const auto with_all = [&](const Hoisted& h, std::size_t first) {
    std::vector<Aval> avals = consts;
    const auto own = h.jaxpr.data().input_avals().subspan(h.consts.size());
    avals.insert(avals.end(), own.begin(), own.end());
    return make_program("linear_call", avals, [&](std::span<const Array> args) {
      std::vector<Array> in(args.begin() + static_cast<std::ptrdiff_t>(first),
                            args.begin() + static_cast<std::ptrdiff_t>(first + h.consts.size()));
      append(in, args.subspan(consts.size()));
      return eval_jaxpr(h.jaxpr, in);
    });
  };
  if (consts.empty()) return bind_all<LinearCall>({call.jaxpr, back.jaxpr, params.num_known}, operands, loc);
  return bind_all<LinearCall>({with_all(call, 0), with_all(back, call.consts.size()), params.num_known + static_cast<int>(consts.size())},
                              operands, loc);
}

PrimitiveList linear_call_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<LinearCall>};
  return list;
}

}  // namespace weft::detail
