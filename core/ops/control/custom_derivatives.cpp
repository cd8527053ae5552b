#include "weft/core/ops/control/custom_derivatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/captured_rules.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/movement/operand_parts.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

std::string print_param(const RuleParam<JvpRule>& v) { return print_param(v.name); }
std::string print_param(const RuleParam<VjpRule>& v) { return print_param(v.name); }
std::string print_param(const RuleParam<BackwardRule>& v) { return print_param(v.name); }
void read_param(ParamReader& r, RuleParam<JvpRule>& v) { v.name = r.read_string(); }
void read_param(ParamReader& r, RuleParam<VjpRule>& v) { v.name = r.read_string(); }
void read_param(ParamReader& r, RuleParam<BackwardRule>& v) { v.name = r.read_string(); }

namespace {

/// The zero tangent that is passed to a rule where there is none; for integers of dtype bool, in place of JAX's float0.
Array zeros_like_tangent(const Aval& primal, SourceLoc loc) {
  return zeros_of(primal.dtype.is_inexact() ? primal : primal.with_dtype(bool_), loc);
}

Array with_dtype(const Array& x, DType dtype) { return x.dtype() == dtype ? x : convert(x, dtype); }

void check_rule_result(const std::string& what, const Array& x, const Aval& want, SourceLoc loc) {
  const std::string message = fmt::format("{} is {}, but must be like {}", what, to_string(x.aval()), to_string(want));
  if (x.shape() != want.shape) throw ShapeError(message, loc);
  if (x.dtype() != want.dtype && promote_types(x.dtype(), want.dtype) != want.dtype) throw DTypeError(message, loc);
}

// What the function captured can't be differentiated: the rule knows of no tangent for it. On what only the rule captured the function
// doesn't depend.
template <class Rule>
void check_captures(std::span<const Tangent> tangents, int num_consts, const Rule& rule, std::string_view op, const std::string& name,
                    SourceLoc loc) {
  const int own = num_consts - rule.num_captured();
  for (int i = 0; i < num_consts; ++i)
    if (tangents[static_cast<std::size_t>(i)] && !(own <= i && i < own + rule.num_own()))
      throw TracerError(
          fmt::format("{}: {} is differentiated with respect to a value that it captures, for which its rule gives nothing; pass it as "
                      "an argument, or capture stop_gradient of it",
                      op, name),
          loc);
}

// Traces f on one example of the inputs, and maps it.
template <class F>
BatchResult map_traced(const MappedAxis& axis, std::span<const Array> inputs, const std::vector<int>& dims,
                       const std::optional<std::vector<int>>& out_dims, F&& f) {
  TraceRequest request{"vmap of a custom derivative rule", {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Aval& a = inputs[i].aval();
    request.inputs.push_back(dims[i] == kNotMapped ? a : a.with_shape(a.shape.erased(dims[i])));
  }
  if (!axis.name.empty()) request.axes.push_back({axis.name, static_cast<int>(axis.size)});
  const Hoisted h = hoist_consts(trace_jaxpr(request, f));
  std::vector<int> all_dims(h.consts.size(), kNotMapped);
  all_dims.insert(all_dims.end(), dims.begin(), dims.end());
  const BatchedProgram b = batch_program(h.jaxpr, axis, all_dims, out_dims);
  return {eval_jaxpr(b.jaxpr, concat(h.consts, inputs)), b.out_dims};
}

// The rules in a vmapped program: the user's rules of one example, mapped. All results have the mapped axis in front.
struct BatchedJvpRule final : JvpRule {
  BatchedJvpRule(Ref<const JvpRule> r, MappedAxis a, std::vector<int> d) : one(std::move(r)), axis(std::move(a)), dims(std::move(d)) {}
  const Ref<const JvpRule> one;
  const MappedAxis axis;
  const std::vector<int> dims;

  int num_captured() const override { return one->num_captured(); }
  int num_own() const override { return one->num_own(); }
  std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc loc) const override {
    std::vector<int> both = dims;
    both.insert(both.end(), dims.begin(), dims.end());
    BatchResult r = map_traced(axis, concat(primals, tangents), both, {}, [&](std::span<const Array> args) {
      return one->apply(args.first(primals.size()), args.subspan(primals.size()), loc);
    });
    for (std::size_t i = 0; i < r.out.size(); ++i) r.out[i] = materialize_batch_dim(r.out[i], r.dims[i], axis.size, 0, loc);
    return r.out;
  }
};

struct BatchedBackward final : BackwardRule {
  Ref<const BackwardRule> one;
  MappedAxis axis;
  std::vector<int> residual_dims, primal_dims;

  std::vector<Tangent> apply(std::span<const Array> residuals, std::span<const Array> cotangents, SourceLoc loc) const override {
    std::vector<int> dims = residual_dims;
    dims.insert(dims.end(), cotangents.size(), 0);
    std::vector<bool> nonzero;
    const BatchResult r = map_traced(axis, concat(residuals, cotangents), dims, {}, [&](std::span<const Array> args) {
      const std::vector<Tangent> back = one->apply(args.first(residuals.size()), args.subspan(residuals.size()), loc);
      nonzero = nonzero_of(back);
      return nonzero_tangents(back);
    });
    std::vector<Tangent> out(primal_dims.size());
    for (std::size_t i = 0, k = 0; i < out.size(); ++i) {
      if (!nonzero[i]) continue;
      const bool mapped = primal_dims[i] != kNotMapped;
      const Array all = materialize_batch_dim(r.out[k], r.dims[k], axis.size, mapped ? primal_dims[i] : 0, loc);
      out[i] = mapped ? all : reduce_sum(all, {0}, loc);  // an argument that all examples share gets the sum of their cotangents
      ++k;
    }
    return out;
  }
};

struct BatchedVjpRule final : VjpRule {
  BatchedVjpRule(Ref<const VjpRule> r, MappedAxis a, std::vector<int> d) : one(std::move(r)), axis(std::move(a)), dims(std::move(d)) {}
  const Ref<const VjpRule> one;
  const MappedAxis axis;
  const std::vector<int> dims;

  int num_captured() const override { return one->num_captured(); }
  int num_own() const override { return one->num_own(); }
  Forward forward(std::span<const Array> primals, SourceLoc loc) const override {
    auto backward = make_ref<BatchedBackward>();
    backward->axis = axis;
    backward->primal_dims.assign(dims.begin() + one->num_captured(), dims.end());
    std::size_t n = 0;
    const BatchResult r = map_traced(axis, primals, dims, {}, [&](std::span<const Array> args) {
      Forward f = one->forward(args, loc);
      backward->one = f.backward;
      n = f.results.size();
      return concat(f.results, f.residuals);
    });
    Forward out;
    for (std::size_t i = 0; i < n; ++i) out.results.push_back(materialize_batch_dim(r.out[i], r.dims[i], axis.size, 0, loc));
    out.residuals.assign(r.out.begin() + static_cast<std::ptrdiff_t>(n), r.out.end());
    backward->residual_dims.assign(r.dims.begin() + static_cast<std::ptrdiff_t>(n), r.dims.end());
    out.backward = std::move(backward);
    return out;
  }
};

// Functions of JAX whose rules, which a text doesn't hold, differ from their bodies' derivatives. That of relu is 0 at 0.
struct ReluRule final : JvpRule {
  std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc) const override {
    const Array& x = primals[0];
    return {maximum(x, scalar_like(x, 0)), where(x > scalar_like(x, 0), tangents[0], scalar_like(x, 0))};
  }
};
/// Each tangent weighs exp(x - logaddexp(x, y)): smooth where the operands are equal, which the body's maximum isn't.
struct LogaddexpRule final : JvpRule {
  std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc) const override {
    const Array value = logaddexp(primals[0], primals[1]);
    const Array zero = scalar_like(value, 0), infinity = scalar_like(value, std::numeric_limits<double>::infinity());
    auto bounded = [&](const Array& x) { return where(x == infinity, zero, x); };
    const Array base = bounded(value);
    return {value, tangents[0] * exp(bounded(primals[0]) - base) + tangents[1] * exp(bounded(primals[1]) - base)};
  }
};

// How a custom call is bound again with a rewritten body.
BatchedProgram batch_body(const BatchContext& c, const Jaxpr& body) {
  return batch_program(body, c.axis, {c.dims.begin(), c.dims.end()}, std::vector<int>(body.data().outputs.size(), 0));
}
std::vector<int> argument_dims(const BatchContext& c, int num_consts) { return {c.dims.begin() + num_consts, c.dims.end()}; }

struct CustomJvpCall {
  static constexpr std::string_view name = "custom_jvp_call", doc = "A function with its own rule for forward derivatives.";
  static constexpr Kind kind = Kind::call;
  using Params = CustomJvpParams;
  static const Jaxpr& body(const Params& p) { return p.call_jaxpr; }
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_parts(c, {c.get<Params>().num_consts}, c.in.size());
    return call_types(c, c.get<Params>().call_jaxpr);
  }

  static JvpResult jvp_call(const JvpContext& c) {
    const Ref<const JvpRule> rule = rule_of(c.get<Params>());
    if (!rule) return jvp_of_call(c, c.get<Params>().call_jaxpr, bind_closed_call);
    const Applied a = arguments(c, *rule);
    return checked(c, rule->apply(a.primals, a.tangents, c.loc));
  }
  // The rule is traced first, so that functions that it calls by jit can be taken apart: what depends on no tangent belongs to the
  // primal computation.
  static JvpResult linearize_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    const Ref<const JvpRule> rule = rule_of(p);
    if (!rule) return linearize_of_call(c, p.call_jaxpr, bind_closed_call);
    const Applied a = arguments(c, *rule);
    const std::vector<Array> inputs = concat(a.primals, a.tangents);
    TraceRequest request{"jvp rule of " + p.name, {}, inputs};
    for (const Array& x : inputs) request.inputs.push_back(x.aval());
    const Jaxpr traced = inline_calls(trace_jaxpr(request, [&](std::span<const Array> args) {
      return rule->apply(args.first(a.primals.size()), args.subspan(a.primals.size()), c.loc);
    }));
    std::vector<Array> values = eval_jaxpr(traced, inputs);
    const std::size_t n = p.call_jaxpr.data().outputs.size();
    const bool split =
        std::none_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(std::min(n, values.size())), [](const Array& x) {
          const TracedArray* t = as_traced(x);
          return t && t->trace->primal_trace() == current_trace() && current_trace();
        });
    if (!split) {
      // A loop in the rule computes primals and tangents together; the function itself gives the primals.
      const std::vector<Array> own = eval_jaxpr(p.call_jaxpr, c.in);
      std::copy(own.begin(), own.end(), values.begin());
    }
    return checked(c, std::move(values));
  }
  /// The transpose of a linear function, by its body: the rule has no transpose (as in JAX).
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_of_call(c, c.get<Params>().call_jaxpr, bind_closed_call);
  }
  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    const BatchedProgram b = batch_body(c, p.call_jaxpr);
    Params q = p;
    if (const Ref<const JvpRule> rule = rule_of(p))
      q.jvp.rule = make_ref<BatchedJvpRule>(rule, c.axis, argument_dims(c, p.num_consts - rule->num_captured()));
    const Hoisted h = hoist_consts(b.jaxpr);
    q.call_jaxpr = h.jaxpr;
    q.num_consts += static_cast<int>(h.consts.size());
    return {bind_all<CustomJvpCall>(std::move(q), concat(h.consts, c.in), c.loc), b.out_dims};
  }

 private:
  struct Applied {
    std::vector<Array> primals, tangents;
  };
  static Ref<const JvpRule> rule_of(const Params& p) {
    static const auto& relu = process_wide<Ref<const JvpRule>>(make_ref<ReluRule>());
    if (p.jvp.rule) return p.jvp.rule;
    return p.name == "relu" ? relu : p.name == "logaddexp" ? logaddexp_rule() : nullptr;
  }
  static Applied arguments(const JvpContext& c, const JvpRule& rule) {
    const Params& p = c.get<Params>();
    check_captures(c.tangents, p.num_consts, rule, name, p.name, c.loc);
    Applied a;
    for (auto i = static_cast<std::size_t>(p.num_consts - rule.num_captured()); i < c.in.size(); ++i) {
      a.primals.push_back(c.in[i]);
      a.tangents.push_back(c.tangents[i] ? *c.tangents[i] : zeros_like_tangent(c.in[i].aval(), c.loc));
    }
    return a;
  }
  static JvpResult checked(const JvpContext& c, std::vector<Array> values) {
    const std::vector<Aval> want = c.get<Params>().call_jaxpr.data().output_avals();
    const std::size_t n = want.size();
    if (values.size() != 2 * n)
      throw PytreeError(fmt::format("custom_jvp: the rule of {} gives {}, but must give {} and as many tangents", c.get<Params>().name,
                                    counted(values.size(), "array"), counted(n, "result")),
                        c.loc);
    JvpResult r;
    for (std::size_t i = 0; i < n; ++i) {
      check_rule_result(fmt::format("custom_jvp: result {} of the rule of {}", i, c.get<Params>().name), values[i], want[i], c.loc);
      r.out.push_back(with_dtype(values[i], want[i].dtype));
      r.tangents.emplace_back();
      if (!want[i].dtype.is_inexact()) continue;
      check_rule_result(fmt::format("custom_jvp: tangent {} of the rule of {}", i, c.get<Params>().name), values[n + i], want[i], c.loc);
      r.tangents.back() = with_dtype(values[n + i], want[i].dtype);
    }
    return r;
  }
};

constexpr ParamValue kCustomJvpCallLeftOut[] = {{"num_consts", "0"}};
constexpr ParamValue kCustomJvpCallAdded[] = {{"symbolic_zeros", "False"}};
const TextRule<CustomJvpCall> jvp_call_text([] { return TextTraits{.left_out = kCustomJvpCallLeftOut, .added = kCustomJvpCallAdded}; });

}  // namespace

std::string print_param(const TypeList& v) {
  std::string s;
  for (const Aval& a : v.avals) s += (s.empty() ? "" : ", ") + to_string(a);
  return "(" + s + ")";
}
void read_param(ParamReader& r, TypeList&) { r.fail("the linear part of a custom_vjp has a rule that is not a text"); }

namespace {

/// The derivative of a custom_vjp function as an equation: it can only be transposed, which is what its backward rule is.
struct CustomLin {
  static constexpr std::string_view name = "custom_lin",
                                    doc = "The linear part of a custom_vjp function, whose rule gives only its transpose.";
  static constexpr Kind kind = Kind::library;
  static constexpr std::string_view not_differentiable = "it is the derivative of a custom_vjp function, which has a reverse rule only";
  using Params = CustomLinParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    check_parts(c, {p.num_res}, c.in.size());
    if (!p.bwd.rule) c.fail<Error>("has no rule", "a text holds none");
    return p.out_types.avals;
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const Params& p = c.get<Params>();
    const auto num_res = static_cast<std::size_t>(p.num_res);
    std::vector<Array> residuals, cotangents;
    for (std::size_t i = 0; i < num_res; ++i) residuals.push_back(c.in[i].known());
    for (std::size_t i = 0; i < c.cotangents.size(); ++i)
      cotangents.push_back(c.cotangents[i] ? *c.cotangents[i] : zeros_like_tangent(c.out_avals[i], c.loc));
    std::vector<Tangent> back = p.bwd.rule->apply(residuals, cotangents, c.loc);
    if (back.size() != p.active.size())
      throw PytreeError(fmt::format("custom_vjp: bwd gives {} for {} in the arguments", counted(back.size(), "cotangent"),
                                    counted(p.active.size(), "array")),
                        c.loc);
    std::vector<Tangent> out(c.in.size());
    std::size_t next = num_res;
    for (std::size_t i = 0; i < back.size(); ++i) {
      if (!p.active[i]) continue;
      const Aval& want = c.in[next].aval;
      if (back[i]) {
        check_rule_result(fmt::format("custom_vjp: the cotangent that bwd gives for array {} of the arguments", i), *back[i], want, c.loc);
        out[next] = with_dtype(*back[i], want.dtype);
      }
      ++next;
    }
    return out;
  }
  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    const auto num_res = static_cast<std::size_t>(p.num_res);
    auto rule = make_ref<BatchedBackward>();
    rule->one = p.bwd.rule, rule->axis = c.axis;
    rule->residual_dims.assign(c.dims.begin(), c.dims.begin() + p.num_res);
    std::vector<Array> in(c.in.begin(), c.in.end());
    for (std::size_t i = num_res; i < in.size(); ++i) in[i] = materialize_batch_dim(in[i], c.dims[i], c.axis.size, 0, c.loc);
    rule->primal_dims.assign(p.active.size(), 0);
    Params q = p;
    q.bwd.rule = rule;
    for (Aval& a : q.out_types.avals) a.shape = a.shape.inserted(0, c.axis.size);
    const std::vector<int> dims(q.out_types.avals.size(), 0);
    return {bind_all<CustomLin>(std::move(q), in, c.loc), dims};
  }
  static void reference(const ReferenceContext&) {
    throw TracerError(
        "custom_vjp: has a reverse rule only, so it can't be differentiated in forward mode (jvp, linearize, jacfwd); use grad or vjp, or "
        "custom_jvp");
  }
};

struct CustomVjpCall {
  static constexpr std::string_view name = "custom_vjp_call", doc = "A function with its own rule for reverse derivatives.";
  static constexpr Kind kind = Kind::call;
  using Params = CustomVjpParams;
  static const Jaxpr& body(const Params& p) { return p.call_jaxpr; }
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_parts(c, {c.get<Params>().num_consts}, c.in.size());
    return call_types(c, c.get<Params>().call_jaxpr);
  }

  static JvpResult jvp_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    if (!p.fwd.rule) return jvp_of_call(c, p.call_jaxpr, bind_closed_call);
    throw TracerError(
        fmt::format(
            "custom_vjp: {} has a reverse rule only, so it can't be differentiated in forward mode (jvp, jacfwd, hessian); use grad, "
            "vjp or jacrev, or give it a custom_jvp rule",
            p.name),
        c.loc);
  }
  static JvpResult linearize_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    if (!p.fwd.rule) return linearize_of_call(c, p.call_jaxpr, bind_closed_call);
    check_captures(c.tangents, p.num_consts, *p.fwd.rule, name, p.name, c.loc);
    const auto arguments = c.in.subspan(static_cast<std::size_t>(p.num_consts));
    VjpRule::Forward f = p.fwd.rule->forward(c.in.subspan(static_cast<std::size_t>(p.num_consts - p.fwd.rule->num_captured())), c.loc);
    const std::vector<Aval> want = p.call_jaxpr.data().output_avals();
    if (f.results.size() != want.size())
      throw PytreeError(fmt::format("custom_vjp: fwd of {} gives {} as its result, the function {}", p.name,
                                    counted(f.results.size(), "array"), want.size()),
                        c.loc);
    CustomLinParams lin{{p.bwd.name, f.backward}, static_cast<int>(f.residuals.size()), {want}, {}};
    std::vector<Array> inputs = f.residuals;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Tangent& t = c.tangents[i + static_cast<std::size_t>(p.num_consts)];
      lin.active.push_back(t.has_value());
      if (t) inputs.push_back(*t);
    }
    JvpResult r;
    for (std::size_t i = 0; i < want.size(); ++i) {
      check_rule_result(fmt::format("custom_vjp: result {} of fwd of {}", i, p.name), f.results[i], want[i], c.loc);
      r.out.push_back(with_dtype(f.results[i], want[i].dtype));
    }
    const std::vector<Array> tangents_out = bind_all<CustomLin>(std::move(lin), inputs, c.loc);
    for (std::size_t i = 0; i < want.size(); ++i) r.tangents.push_back(want[i].dtype.is_inexact() ? Tangent(tangents_out[i]) : Tangent());
    return r;
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const Params& p = c.get<Params>();
    if (!p.fwd.rule) return transpose_of_call(c, p.call_jaxpr, bind_closed_call);
    throw TracerError(
        fmt::format(
            "custom_vjp_call: {} can't be transposed as a linear function (by linear_transpose, or for the transposed system of "
            "custom_linear_solve): its rule needs a point to run fwd at, and its body may have another derivative; give the function "
            "without the rule, whose body is transposed, or with a custom_jvp rule",
            p.name),
        c.loc);
  }
  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    const BatchedProgram b = batch_body(c, p.call_jaxpr);
    Params q = p;
    if (const auto& rule = p.fwd.rule)
      q.fwd.rule = make_ref<BatchedVjpRule>(rule, c.axis, argument_dims(c, p.num_consts - rule->num_captured()));
    const Hoisted h = hoist_consts(b.jaxpr);
    q.call_jaxpr = h.jaxpr;
    q.num_consts += static_cast<int>(h.consts.size());
    return {bind_all<CustomVjpCall>(std::move(q), concat(h.consts, c.in), c.loc), b.out_dims};
  }
};

constexpr ParamValue kCustomVjpCallLeftOut[] = {{"num_consts", "0"}};
constexpr ParamValue kCustomVjpCallAdded[] = {{"symbolic_zeros", "False"}};
constexpr ParamValue kCustomVjpCallIgnored[] = {{"fwd", ""}};
const TextRule<CustomVjpCall> vjp_call_text([] {
  return TextTraits{.left_out = kCustomVjpCallLeftOut, .added = kCustomVjpCallAdded, .ignored = kCustomVjpCallIgnored};
});

const CallRule<CustomVjpCall> vjp_call_traits([] { return CallTraits{.has_own_transpose = true}; });

const Rule<LinkedBodyTransform, CustomJvpCall> jvp_body([] {});
const Rule<LinkedBodyTransform, CustomVjpCall> vjp_body([] {});

}  // namespace

Ref<const JvpRule> logaddexp_rule() {
  static const auto& rule = process_wide<Ref<const JvpRule>>(make_ref<LogaddexpRule>());
  return rule;
}

namespace {

/// A function's program whose leading inputs are what its rule and itself captured.
struct WithCaptures {
  Jaxpr jaxpr;
  std::vector<Array> consts;
  std::size_t own;  // of the rule only
};
WithCaptures with_captures_of(const Jaxpr& j, std::span<const Array> of_rule) {
  const Hoisted h = hoist_consts(j);
  std::vector<Array> own;
  for (const Array& x : of_rule)
    if (std::none_of(h.consts.begin(), h.consts.end(), [&](const Array& c) { return same_traced_value(c, x); })) own.push_back(x);
  if (own.empty()) return {h.jaxpr, h.consts, 0};
  const auto own_inputs = own.size();
  TraceRequest request{"custom rule", avals_of(own), {}};
  for (const Aval& a : h.jaxpr.data().input_avals()) request.inputs.push_back(a);
  return {trace_jaxpr(request, [&](std::span<const Array> args) { return eval_jaxpr(h.jaxpr, args.subspan(own_inputs)); }),
          concat(own, h.consts), own_inputs};
}

}  // namespace

std::vector<Array> bind_custom_jvp(const std::string& name, const Jaxpr& j, RuleParam<JvpRule> rule, std::span<const Array> inputs,
                                   SourceLoc loc, bool captures_are_constants, std::span<const Array> of_rule) {
  WithCaptures w = with_captures_of(j, of_rule);
  rule.rule = with_captures(std::move(rule.rule), w.consts, w.own);
  if (captures_are_constants)
    for (std::size_t i = w.own; i < w.consts.size(); ++i) w.consts[i] = stop_gradient_of(w.consts[i], loc);
  return bind_all<CustomJvpCall>({name, w.jaxpr, std::move(rule), static_cast<int>(w.consts.size()), false}, concat(w.consts, inputs), loc);
}

std::vector<Array> bind_custom_vjp(const std::string& name, const Jaxpr& j, RuleParam<VjpRule> fwd, const std::string& bwd,
                                   std::span<const Array> inputs, SourceLoc loc, std::span<const Array> of_rule) {
  const WithCaptures w = with_captures_of(j, of_rule);
  fwd.rule = with_captures(std::move(fwd.rule), w.consts, w.own);
  return bind_all<CustomVjpCall>({name, {bwd, {}}, w.jaxpr, std::move(fwd), static_cast<int>(w.consts.size()), false},
                                 concat(w.consts, inputs), loc);
}

PrimitiveList custom_derivative_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<CustomJvpCall>, &primitive_of<CustomLin>, &primitive_of<CustomVjpCall>};
  return list;
}

}  // namespace weft::detail
