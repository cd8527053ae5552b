// custom_jvp_call, custom_vjp_call: a sub-program whose derivative is a rule that the user gave.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ops/control/call.h"

namespace weft::detail {

/// A user's rule over flat arrays. Called when a program is differentiated, with arrays of the trace at hand.
struct JvpRule : RefCounted {
  /// How many captured values it is given, in front of its arguments. They have no derivative.
  virtual int num_captured() const { return 0; }
  /// How many of them, the first ones, only the rule captured: the function doesn't depend on them.
  virtual int num_own() const { return 0; }
  /// Primals and tangents in, one tangent for each primal (of integers: zeros of dtype bool); results, then their tangents, out.
  virtual std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc loc) const = 0;
};
/// The backward half of a custom_vjp rule, for one structure of residuals.
struct BackwardRule : RefCounted {
  /// One cotangent for each argument; nothing for one without arrays' cotangent.
  virtual std::vector<Tangent> apply(std::span<const Array> residuals, std::span<const Array> cotangents, SourceLoc loc) const = 0;
};
struct VjpRule : RefCounted {
  struct Forward {
    std::vector<Array> results, residuals;
    Ref<const BackwardRule> backward;
  };
  /// As of a JvpRule; the backward half gives nothing for them.
  virtual int num_captured() const { return 0; }
  virtual int num_own() const { return 0; }
  virtual Forward forward(std::span<const Array> primals, SourceLoc loc) const = 0;
};

/// A rule as a parameter: written as its name, and equal to any rule of which only the name was read from a text.
template <class Rule>
struct RuleParam {
  std::string name;
  Ref<const Rule> rule = {};
  friend bool operator==(const RuleParam& a, const RuleParam& b) { return a.name == b.name && (a.rule == b.rule || !a.rule || !b.rule); }
};
std::string print_param(const RuleParam<JvpRule>& v);
std::string print_param(const RuleParam<VjpRule>& v);
std::string print_param(const RuleParam<BackwardRule>& v);
void read_param(ParamReader& r, RuleParam<JvpRule>& v);
void read_param(ParamReader& r, RuleParam<VjpRule>& v);
void read_param(ParamReader& r, RuleParam<BackwardRule>& v);

/// Operations whose program and the user's functions, or programs, beside it belong together: another program in its place would not fit
/// them. The rule itself is never called.
struct LinkedBodyTransform {
  static constexpr std::string_view name = "linked_body", doc = "Its program and what the user gave with it belong together.";
  using Function = void();
};

struct CustomJvpParams {
  std::string name;
  Jaxpr call_jaxpr;
  RuleParam<JvpRule> jvp;
  int num_consts = 0;  ///< leading operands that the function captured
  bool symbolic_zeros = false;
  friend bool operator==(const CustomJvpParams&, const CustomJvpParams&) = default;
};
struct CustomVjpParams {
  std::string name;
  RuleParam<BackwardRule> bwd;  ///< a name only: the rule is `fwd`, which gives the backward half
  Jaxpr call_jaxpr;
  RuleParam<VjpRule> fwd;
  int num_consts = 0;
  bool symbolic_zeros = false;
  friend bool operator==(const CustomVjpParams&, const CustomVjpParams&) = default;
};

/// The types of an equation's results, where nothing else tells them.
struct TypeList {
  std::vector<Aval> avals;
  friend bool operator==(const TypeList&, const TypeList&) = default;
};
std::string print_param(const TypeList& v);
void read_param(ParamReader& r, TypeList& v);
struct CustomLinParams {
  RuleParam<BackwardRule> bwd;
  int num_res = 0;  ///< leading operands that are residuals; the others are tangents
  TypeList out_types;
  std::vector<bool> active;  ///< for each array of the function's arguments: whether it has a tangent
  friend bool operator==(const CustomLinParams&, const CustomLinParams&) = default;
};

/// The rule of logaddexp, which an equation read from a text gets, too.
Ref<const JvpRule> logaddexp_rule();
/// Values that the program captured become its leading inputs. `captures_are_constants`: they have no derivative; otherwise differentiation
/// with respect to one throws TracerError. `of_rule`: traced values that the rule captured.
std::vector<Array> bind_custom_jvp(const std::string& name, const Jaxpr& j, RuleParam<JvpRule> rule, std::span<const Array> inputs,
                                   SourceLoc loc, bool captures_are_constants = false, std::span<const Array> of_rule = {});
std::vector<Array> bind_custom_vjp(const std::string& name, const Jaxpr& j, RuleParam<VjpRule> fwd, const std::string& bwd,
                                   std::span<const Array> inputs, SourceLoc loc, std::span<const Array> of_rule = {});

}  // namespace weft::detail
