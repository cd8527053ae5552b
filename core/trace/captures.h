// What a function with a custom rule captures. A rule runs when its program is differentiated; traced values that the function captured
// belong to a trace that is over by then. While the rule runs, these stand for the values that they have in that program.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"

namespace weft::detail {

/// Whether both are the same value of one trace.
bool same_traced_value(const Array& a, const Array& b);

/// As long as it lives, operations on this thread take `values[i]` where an operand is `captured[i]`, a traced value.
class [[nodiscard]] CaptureScope {
 public:
  CaptureScope(std::span<const Array> captured, std::span<const Array> values);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  std::size_t outer_;
};

/// What x stands for: x itself, or a captured value's value in a CaptureScope.
Array value_in_scope(const Array& x);
/// The captured values in scope, with their values.
std::span<const std::pair<Array, Array>> captures_in_scope();

/// While it lives, custom rules on this thread are given values that few of them need and that a program doesn't hold: those of their
/// arguments, where they are known, to branch on in C++, and traced values that a rule captured and its function didn't.
class [[nodiscard]] RulesGetValues {
 public:
  RulesGetValues();
  ~RulesGetValues();
  RulesGetValues(const RulesGetValues&) = delete;
  RulesGetValues& operator=(const RulesGetValues&) = delete;
  static bool active();

 private:
  const bool outer_;
};
/// Notes that a rule failed for lack of such a value.
void note_rule_lacks_value();
/// Whether one failed since the last call.
bool take_rule_lacks_value();

/// While a function with a custom rule is traced.
class [[nodiscard]] RuleTracing {
 public:
  RuleTracing();
  ~RuleTracing();
  RuleTracing(const RuleTracing&) = delete;
  RuleTracing& operator=(const RuleTracing&) = delete;
  /// Whether the function said that what it captures has no derivative.
  bool constant() const { return constant_; }

 private:
  friend void captures_have_no_derivative();
  RuleTracing* outer_;
  bool constant_ = false;
};
/// Of a function with a custom rule that is being traced: values that it captures are constants to differentiation.
void captures_have_no_derivative();

}  // namespace weft::detail
