// Open rule tables, one for each transform, looked up by primitive: for rules beside those that every primitive must have
// (core/ir/primitive.h). A rule is declared at namespace scope of the file that holds its operation, or of any other file, also outside of
// the library:
//
//     struct Jet { using Function = Series(const JetContext&); };       // a transform: the signature of its rules
//     const Rule<Jet, Tanh> tanh_jet([](const JetContext& c) { ... });  // its rule for one operation
//     Jet::Function* rule = find_rule<Jet>(*e.op);                      // null where there is none; the transform decides what that means
//
// A transform may have a `name` and a `doc`; then docs/operations.md says which operations have a rule. With `every = Kind::control` a test
// fails (tests/ops/coverage.cpp) where one of that kind has none.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// A map from primitives to functions of one type. Thread-safe: rules may be added during look-ups, as by a plugin when it is opened.
class RuleTable {
 public:
  using Function = void();
  /// A table with a name is listed by rule_tables().
  RuleTable(std::string_view name, std::string_view doc, std::optional<Kind> every);
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;
  ~RuleTable() = delete;  // lives as long as the process
  /// Adds a rule. A later rule for the same primitive replaces an earlier one.
  void add(const Primitive& op, Function* rule);
  Function* find(const Primitive& op) const;
  /// All primitives that have a rule, sorted by name.
  std::vector<const Primitive*> primitives() const;

  const std::string_view name, doc;
  const std::optional<Kind> every;  ///< all primitives of this kind must have a rule

 private:
  struct Entries;
  Entries* const entries_;
};

/// The tables of transforms that have a name, sorted by it.
std::vector<const RuleTable*> rule_tables();

/// The table of a transform's rules.
template <class Transform>
RuleTable& rule_table() {
  static RuleTable& table = *[] {
    std::string_view name, doc;
    std::optional<Kind> every;
    if constexpr (requires { Transform::name; }) name = Transform::name, doc = Transform::doc;
    if constexpr (requires { Transform::every; }) every = Transform::every;
    return new RuleTable(name, doc, every);
  }();
  return table;
}

/// The transform's rule for the primitive, or null.
template <class Transform>
typename Transform::Function* find_rule(const Primitive& op) {
  return reinterpret_cast<typename Transform::Function*>(rule_table<Transform>().find(op));
}

/// The declaration of one rule.
template <class Transform, class Op>
struct Rule {
  explicit Rule(typename Transform::Function* rule) {
    rule_table<Transform>().add(primitive_of<Op>, reinterpret_cast<RuleTable::Function*>(rule));
  }
};

/// The declaration of a rule for an operation whose struct is in another file.
template <class Transform>
struct RuleOf {
  RuleOf(const Primitive& op, typename Transform::Function* rule) {
    rule_table<Transform>().add(op, reinterpret_cast<RuleTable::Function*>(rule));
  }
};

/// Marks operations whose one result is their operand, so that nothing is computed; the rule itself is never called.
struct IdentityTransform {
  static constexpr std::string_view name = "identity", doc = "Its result is its operand.";
  using Function = void();
};

/// The number of floating-point operations of an equation that a library routine runs, for cost estimates; 0 without a rule.
struct FlopsTransform {
  static constexpr std::string_view name = "flops", doc = "What a library routine for it costs.";
  using Function = double(const ParamsBase& params, std::span<const Aval> in, const Aval& out);
};
/// Rules that replace transpose, equation, transpose by one equation on the operand of the first transpose; for equations with one operand
/// and one result. nullopt where no single operation does that.
struct OtherEquation {
  const Primitive* op;
  ParamsRef params;
};
struct BetweenTransposesTransform {
  static constexpr std::string_view name = "between_transposes", doc = "What it is between two transposes.";
  using Function = std::optional<OtherEquation>(const ParamsBase& params, const std::vector<int>& before, const std::vector<int>& after);
};
/// Marks operations of kind effect that perform input or output, and must run exactly as often as the program says; never called.
struct IoTransform {
  static constexpr std::string_view name = "io", doc = "It talks to the outside.";
  using Function = void();
};
/// Marks operations whose one result is their operand in another dtype; the rule itself is never called.
struct ConversionTransform {
  static constexpr std::string_view name = "conversion", doc = "Its result is its operand in another dtype.";
  using Function = void();
};

}  // namespace weft::detail
