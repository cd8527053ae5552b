// The verifier of the IR. A violation is a bug in a pass, or an invalid program that was read from text or built by hand.
#include <optional>
#include <set>

#include "weft/core/base/nesting.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/named.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/text/text.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::size_t kContext = 5;  // equations shown before and after the wrong one

bool same_type(const Aval& a, const Aval& b) { return a.dtype == b.dtype && a.shape == b.shape; }

std::string types_text(std::span<const Aval> avals) {
  std::string s;
  for (const Aval& a : avals) s += (s.empty() ? "" : ", ") + to_string(a);
  return s.empty() ? "nothing" : s;
}

class Checker {
 public:
  void check(const Jaxpr& j) {
    check_nesting("programs inside programs", nesting_depth(j));
    if (!seen_.insert(&j.data()).second) return;
    const JaxprData& d = j.data();
    check_variables(j);
    for (std::size_t i = 0; i < d.eqns.size(); ++i) check_eqn(j, i);
  }

 private:
  /// Throws without the program's text, which cannot be made from a program whose variables are wrong.
  [[noreturn]] static void fail(const std::string& problem) { throw Error("check: " + problem); }

  [[noreturn]] static void fail_at(const Jaxpr& j, std::size_t index, const std::string& problem) {
    const Eqn& e = j.eqns()[index];
    std::string s = "check: " + problem + "\n  in equation " + std::to_string(index) + ": " + print_eqn(j, index);
    const EqnRange range{index < kContext ? 0 : index - kContext, std::min(index + kContext + 1, j.eqns().size()), index};
    s += "\n  in the program\n" + print_jaxpr_range(j, range);
    throw Error(s, e.loc);
  }

  /// Numbers, counts and uses of variables; what the rest and the printer rely on.
  static void check_variables(const Jaxpr& j) {
    const JaxprData& d = j.data();
    if (d.consts.size() != static_cast<std::size_t>(d.num_consts))
      fail("there are " + std::to_string(d.consts.size()) + " values for " + std::to_string(d.num_consts) + " constants");
    if (d.avals.size() < d.first_result()) fail("a constant or an input has no type");
    for (std::size_t i = 0; i < d.consts.size(); ++i)
      if (!same_type(d.consts[i].aval(), d.avals[i]))
        fail("constant " + std::to_string(i) + " is declared as " + to_string(d.avals[i]) + ", its value is " +
             to_string(d.consts[i].aval()));
    Var bound = d.first_result();
    auto check_use = [&](Atom a, const std::string& where) {
      if (a.is_literal() ? a.literal() >= d.literals.size() : a.var() >= bound)
        fail(where + (a.is_literal() ? " is a literal that is not there" : " is a variable that is not bound before it is used"));
    };
    for (std::size_t i = 0; i < d.eqns.size(); ++i) {
      const Eqn& e = d.eqns[i];
      if (!e.op || !e.params) fail("equation " + std::to_string(i) + " has no primitive or no parameters");
      const std::string name = "equation " + std::to_string(i) + " (" + e.primitive() + ")";
      for (std::size_t k = 0; k < e.inputs.size(); ++k) check_use(e.inputs[k], "operand " + std::to_string(k) + " of " + name);
      for (const Var v : e.outputs)
        if (v != bound++) fail("the results of " + name + " are not numbered in order, each bound once");
      if (bound > d.avals.size()) fail("a result of " + name + " has no type");
    }
    for (std::size_t k = 0; k < d.outputs.size(); ++k) check_use(d.outputs[k], "output " + std::to_string(k));
    for (const Literal& l : d.literals)
      if (!l.aval.shape.empty()) fail("a literal has the type " + to_string(l.aval) + ", it must be a scalar");
  }

  void check_eqn(const Jaxpr& j, std::size_t index) {
    const JaxprData& d = j.data();
    const Eqn& e = d.eqns[index];
    const std::vector<Aval> in = operand_avals(d, e), declared = result_avals(d, e);
    std::vector<Aval> out;
    try {
      out = infer(*e.op, *e.params, in, {});
    } catch (const Error& error) {
      fail_at(j, index, error.message());
    }
    bool same = out.size() == declared.size();
    for (std::size_t k = 0; same && k < out.size(); ++k) same = same_type(out[k], declared[k]);
    if (!same)
      fail_at(j, index, "the results are declared as " + types_text(declared) + ", but " + e.primitive() + " gives " + types_text(out));

    const std::vector<ParamText> params = e.op->params_list(*e.params);
    std::optional<TraceScope> axes;
    if (const ParamText* const mesh = find_named(params, "mesh")) enter_axes(axes, mesh->text);
    for (const ParamText& p : params) {
      if (p.jaxpr) check_inner(j, index, p.name, *p.jaxpr);
      if (p.jaxprs)
        for (const Jaxpr& inner : *p.jaxprs) check_inner(j, index, p.name, inner);
    }
  }

  void check_inner(const Jaxpr& j, std::size_t index, std::string_view param, const Jaxpr& inner) {
    if (inner.data().num_consts != 0)
      fail_at(j, index, "the program " + std::string(param) + " has constants; what it closes over must be an input");
    check(inner);
  }

  std::set<const JaxprData*> seen_;
};

}  // namespace

}  // namespace weft::detail

namespace weft {
void Jaxpr::check() const { detail::Checker().check(*this); }
}  // namespace weft
