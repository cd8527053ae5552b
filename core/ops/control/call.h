// Primitives that run one sub-program, and functions that their rules share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/ir/prune.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

struct JitParams {
  std::string name;
  std::vector<bool> donated_invars = {};  ///< empty: none
  Jaxpr jaxpr;
  friend bool operator==(const JitParams&, const JitParams&) = default;
};
struct ClosedCallParams {
  Jaxpr call_jaxpr;
  friend bool operator==(const ClosedCallParams&, const ClosedCallParams&) = default;
};

/// Binds a jit of the program; its constants become leading operands.
std::vector<Array> bind_jit(const std::string& name, const Jaxpr& j, std::vector<bool> donated, std::span<const Array> inputs,
                            SourceLoc loc);

/// The parameters of a jit; null for other equations.
const JitParams* jit_params(const Eqn& e);

std::vector<Array> bind_closed_call(const ParamsRef& params, Jaxpr body, std::span<const Array> inputs, SourceLoc loc);

/// Checks the operands of a call against its body, and gives the body's result types.
std::vector<Aval> call_types(const OpContext& c, const Jaxpr& body);

/// The program that an equation of kind call runs on its operands.
Jaxpr executed_body(const Primitive& op, const ParamsBase& params, std::span<const Aval> in);

/// The traits in which a call differs from its inlined body.
struct CallTraits {
  /// The name under which it is compiled as a whole, also where it is run at once. Null: such a call runs equation by equation.
  const std::string& (*compiled_as)(const ParamsBase&) = nullptr;
  /// Whether common subexpression elimination must not share its values with those around it. Null: it may.
  bool (*stays_apart)(const ParamsBase&) = nullptr;
  /// Its transpose is a rule of its own, and not that of its body.
  bool has_own_transpose = false;
};
struct CallTransform {
  static constexpr std::string_view name = "call", doc = "How a call differs from its body.";
  using Function = CallTraits();
};
template <class Op>
using CallRule = Rule<CallTransform, Op>;
/// The traits of a primitive of kind call; the defaults for one that has no rule.
CallTraits call_traits(const Primitive& op);

/// Binds a call again with another body, which has no constants.
using BindBody = std::vector<Array> (*)(const ParamsRef& params, Jaxpr body, std::span<const Array> inputs, SourceLoc loc);
/// Runs the body in place of the call.
std::vector<Array> run_in_place(const ParamsRef& params, Jaxpr body, std::span<const Array> inputs, SourceLoc loc);
/// The rules of a call: they rewrite the body and bind the call again.
JvpResult jvp_of_call(const JvpContext& c, const Jaxpr& body, BindBody bind);
JvpResult linearize_of_call(const JvpContext& c, const Jaxpr& body, BindBody bind);
std::vector<Tangent> transpose_of_call(const TransposeContext& c, const Jaxpr& body, BindBody bind);
BatchResult batch_of_call(const BatchContext& c, const Jaxpr& body, BindBody bind);

/// The pruned call, without unused results and the operands on which only they depend; its body is stored in `to`.
std::optional<PrunedEqn> prune_call(const PruneContext& c, const Jaxpr& body, Jaxpr& to);

/// The same program with other outputs; its constants stay.
Jaxpr with_outputs(const Jaxpr& j, std::vector<Atom> outputs);
/// The same program with the bodies of jit and closed_call in place of the calls.
Jaxpr inline_calls(const Jaxpr& j);
/// A list with the elements of `some` where `which` is true, and symbolic zeros elsewhere.
std::vector<Tangent> scatter_tangents(std::span<const Array> some, const std::vector<bool>& which);

}  // namespace weft::detail
