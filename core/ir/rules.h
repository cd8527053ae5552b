// Rules of transforms that are looked up by primitive: an open table for each transform, beside the rules that every primitive must have
// (core/ir/primitive.h). A rule is declared at namespace scope of the file that holds its operation, or of any other file, also outside of
// the library:
//
//     struct Jet { using Function = Series(const JetContext&); };       // a transform: the signature of its rules
//     const Rule<Jet, Tanh> tanh_jet([](const JetContext& c) { ... });  // its rule for one operation
//     Jet::Function* rule = find_rule<Jet>(*e.op);                      // null where there is none: the transform says what that means
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Functions by primitive, of any one type. Rules may be added while others are looked up: a plugin brings its own when it is opened.
class RuleTable {
 public:
  using Function = void();
  RuleTable();
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;
  ~RuleTable() = delete;  // lives as long as the process
  /// The later of two rules for one primitive holds.
  void add(const Primitive& op, Function* rule);
  Function* find(const Primitive& op) const;
  /// All primitives that have a rule, sorted by name.
  std::vector<const Primitive*> primitives() const;

 private:
  struct Entries;
  Entries* const entries_;
};

/// The table of a transform's rules.
template <class Transform>
RuleTable& rule_table() {
  static RuleTable& table = *new RuleTable;
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
  using Function = void();
};

}  // namespace weft::detail
