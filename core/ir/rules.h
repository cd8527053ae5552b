// Rules of transforms that are looked up by primitive: an open table for each transform, beside the rules that every primitive must have
// (core/ir/primitive.h). A rule is declared at namespace scope of the file that holds its operation, or of any other file, also outside of
// the library:
//
//     struct Jet { using Function = Series(const JetContext&); };       // a transform: the signature of its rules
//     const Rule<Jet, Tanh> tanh_jet([](const JetContext& c) { ... });  // its rule for one operation
//     Jet::Function* rule = find_rule<Jet>(*e.op);                      // null where there is none: the transform says what that means
//
// A transform may have a `name` and a `doc`; then docs/operations.md says which operations have a rule. With `every = Kind::control` a test
// fails (tests/ops/coverage.cpp) where one of that kind has none.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Functions by primitive, of any one type. Rules may be added while others are looked up: a plugin brings its own when it is opened.
class RuleTable {
 public:
  using Function = void();
  /// Tables with a name are listed.
  RuleTable(std::string_view name, std::string_view doc, std::optional<Kind> every);
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;
  ~RuleTable() = delete;  // lives as long as the process
  /// The later of two rules for one primitive holds.
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

/// The same for an operation whose struct another file holds.
template <class Transform>
struct RuleOf {
  RuleOf(const Primitive& op, typename Transform::Function* rule) {
    rule_table<Transform>().add(op, reinterpret_cast<RuleTable::Function*>(rule));
  }
};

/// Operations whose one result is their operand, for whom there is nothing to compute; the rule itself is never called.
struct IdentityTransform {
  static constexpr std::string_view name = "identity", doc = "Its result is its operand.";
  using Function = void();
};

/// Floating-point operations of an equation that a library's routine runs, for cost estimates; none are counted without a rule.
struct FlopsTransform {
  static constexpr std::string_view name = "flops", doc = "What a library routine for it costs.";
  using Function = double(const ParamsBase& params, std::span<const Aval> in, const Aval& out);
};
/// An equation of one operand and one result between two transposes (by permutations) as one of the operand before them; nothing where
/// that is no single operation.
struct OtherEquation {
  const Primitive* op;
  ParamsRef params;
};
struct BetweenTransposesTransform {
  static constexpr std::string_view name = "between_transposes", doc = "What it is between two transposes.";
  using Function = std::optional<OtherEquation>(const ParamsBase& params, const std::vector<int>& before, const std::vector<int>& after);
};
/// Operations of kind effect that talk to the outside, and run just as often as the program says; the rule itself is never called.
struct IoTransform {
  static constexpr std::string_view name = "io", doc = "It talks to the outside.";
  using Function = void();
};
/// Operations whose one result is their operand in another dtype; the rule itself is never called.
struct ConversionTransform {
  static constexpr std::string_view name = "conversion", doc = "Its result is its operand in another dtype.";
  using Function = void();
};

}  // namespace weft::detail
