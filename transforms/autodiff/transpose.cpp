// Transposition of linear programs: cotangents of the results become cotangents of the inputs.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/errors/error_context.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/forward.h"
#include "weft/transforms/autodiff/separate.h"

namespace weft::detail {
namespace {

std::string operand_text(std::size_t position, const Aval& type) {
  return fmt::format("operand {}, {}, which depends", position, to_string(type));
}
[[noreturn]] void throw_not_linear(const Eqn& e, const std::string& in_what) {
  TracerError error(
      fmt::format("{}: not linear in {} on the input; only a linear function can be transposed: differentiate with grad or vjp "
                  "instead",
                  e.op->name, in_what),
      effective_loc(e.loc));
  ErrorContext::concern_equation(error);
  throw error;
}

}  // namespace

void Operand::throw_not_linear() const { detail::throw_not_linear(*eqn_, operand_text(position_, aval)); }

namespace {

/// The transpose of a program in which all results of an equation depend on linear inputs, or none does (see separated).
class Transposer {
 public:
  Transposer(const Jaxpr& j, const std::vector<bool>& linear)
      : d_(j.data()), depends_(d_, linear), values_(d_), cotangents_(d_.avals.size()) {
    for (const Eqn& e : d_.eqns) {
      const bool any = std::any_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) { return depends_[a]; });
      for (Var v : e.outputs) depends_[v] = any;
    }
  }

  std::vector<Tangent> run(std::span<const Array> known, std::span<const Tangent> cotangents) {
    forward_known(known);
    for (std::size_t i = 0; i < d_.outputs.size(); ++i)
      if (cotangents[i]) accumulate(d_.outputs[i], *cotangents[i]);
    for (auto e = d_.eqns.rbegin(); e != d_.eqns.rend(); ++e) {
      if (!e->outputs.empty() && depends_[e->outputs[0]]) transpose_eqn(*e);
      if (e->outputs.empty() && has_effects(*e) && std::any_of(e->inputs.begin(), e->inputs.end(), [&](Atom a) { return depends_[a]; }))
        throw TracerError(
            fmt::format("{}: an operand is a tangent, which has no value in reverse mode; take the derivative forward (jvp, jacfwd), or "
                        "leave the callback out of the derivative's rule",
                        e->op->name),
            effective_loc(e->loc));
    }
    std::vector<Tangent> out;
    for (int i = 0; i < d_.num_inputs; ++i)
      if (const Var v = d_.first_input() + static_cast<Var>(i); depends_[v]) out.push_back(cotangents_[v]);
    return out;
  }

 private:
  void forward_known(std::span<const Array> known) {
    std::size_t next = 0;
    for (int i = 0; i < d_.num_inputs; ++i)
      if (const Var v = d_.first_input() + static_cast<Var>(i); !depends_[v]) values_[v] = known[next++];
    std::vector<Array> in;
    for (const Eqn& e : d_.eqns) {
      if (std::any_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) { return depends_[a]; })) continue;
      values_.read(e.inputs, in);
      values_.set(e, bind_primitive(*e.op, e.params, in, e.loc));
    }
  }

  void accumulate(Atom a, const Array& cotangent) {
    if (!depends_[a]) return;
    const Aval& want = d_.aval(a);
    if (cotangent.shape() != want.shape)
      throw Error(fmt::format("transpose: internal error: a cotangent {} for a variable {}", to_string(cotangent.aval()), to_string(want)));
    cotangents_[a.var()] = add_tangents(cotangents_[a.var()], cotangent, {});
  }

  void transpose_eqn(const Eqn& e) {
    if (std::none_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return cotangents_[v].has_value(); })) return;
    std::vector<Tangent> cotangents;
    std::vector<Aval> out_avals;
    cotangents.reserve(e.outputs.size()), out_avals.reserve(e.outputs.size());
    for (Var v : e.outputs) {
      cotangents.push_back(std::exchange(cotangents_[v], std::nullopt));
      out_avals.push_back(d_.avals[v]);
    }
    LocScope scope(e.loc);
    if (!e.op->transpose) throw_not_linear(e, "its operands, which depend");
    std::vector<Operand> operands;
    operands.reserve(e.inputs.size());
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      const Atom a = e.inputs[i];
      // An equation with a non-floating result (a comparison, a rounding) is not linear and passes no cotangent on.
      if (depends_[a] && !d_.aval(a).dtype.is_inexact()) throw_not_linear(e, operand_text(i, d_.aval(a)));
      operands.emplace_back(e, i, d_.aval(a), depends_[a] ? std::nullopt : std::optional(values_[a]));
    }
    const std::vector<Tangent> back = e.op->transpose({*e.op, e.params, cotangents, out_avals, operands, e.loc});
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      if (back[i])
        accumulate(e.inputs[i], *back[i]);
      else if (depends_[e.inputs[i]] && always_hands_on(e))
        throw_not_linear(e, operand_text(i, d_.aval(e.inputs[i])));
  }

  /// Whether an operand that the equation is linear in has a cotangent wherever the result has one. Programs, and rules of the user's, may
  /// ignore an operand.
  static bool always_hands_on(const Eqn& e) {
    return e.outputs.size() == 1 && e.op->kind != Kind::call && e.op->kind != Kind::control && e.op->kind != Kind::spmd &&
           e.op->kind != Kind::library;
  }

  const JaxprData& d_;
  VarMap<bool> depends_;    // on a linear input
  ProgramValues<> values_;  // of what does not
  std::vector<Tangent> cotangents_;
};

}  // namespace

TransposedProgram transpose_program(const Jaxpr& j, const std::vector<bool>& linear, const std::vector<bool>& has_cotangent) {
  return transpose_program(j, linear, has_cotangent, {});
}
TransposedProgram transpose_program(const Jaxpr& given, const std::vector<bool>& linear, const std::vector<bool>& has_cotangent,
                                    std::span<const Array> values) {
  const NotedPass noted("transpose", given);
  const Jaxpr j = separated(given, linear);
  const auto in_avals = j.data().input_avals();
  const std::vector<Aval> out_avals = j.data().output_avals();
  TraceRequest request{"transpose", {}, {}};
  for (std::size_t i = 0; i < linear.size(); ++i)
    if (!linear[i]) request.inputs.push_back(in_avals[i]);
  const std::size_t num_known = request.inputs.size();
  for (std::size_t i = 0; i < has_cotangent.size(); ++i)
    if (has_cotangent[i]) request.inputs.push_back(out_avals[i]);
  request.values.assign(values.begin(), values.end());
  if (!values.empty()) request.values.resize(request.inputs.size());
  TransposedProgram program;
  program.jaxpr = trace_jaxpr(request, [&](std::span<const Array> args) {
    std::vector<Tangent> cotangents(has_cotangent.size());
    std::size_t next = num_known;
    for (std::size_t i = 0; i < has_cotangent.size(); ++i)
      if (has_cotangent[i]) cotangents[i] = args[next++];
    std::vector<Array> out;
    for (const Tangent& t : Transposer(j, linear).run(args.first(num_known), cotangents)) {
      program.nonzero.push_back(t.has_value());
      if (t) out.push_back(*t);
    }
    return out;
  });
  noted.made(program.jaxpr);
  return program;
}

}  // namespace weft::detail
