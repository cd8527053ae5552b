#include "weft/core/ops/control/captured_rules.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/trace/captures.h"

namespace weft::detail {
namespace {

/// What the user's functions hold, and where its values are found when they run.
struct Captures {
  std::size_t operands = 0;     ///< leading operands of the call
  std::size_t own = 0;          ///< of them, the first ones, of the rule only
  std::vector<Array> held;      ///< traced values
  std::vector<std::size_t> at;  ///< of each of the first ones, its operand
  std::vector<Array> concrete;  ///< of the others, their values

  Captures(std::span<const Array> captured, std::size_t num_own) : own(num_own) {
    const auto in_scope = captures_in_scope();
    for (std::size_t i = 0; i < captured.size(); ++i) {
      if (!as_traced(captured[i])) continue;
      add(captured[i], i);
      for (const auto& [x, value] : in_scope)
        if (same_traced_value(value, captured[i])) add(x, i);
    }
    if (!held.empty()) operands = captured.size();
    for (const auto& [x, value] : in_scope)
      if (!as_traced(value)) {
        held.push_back(x);
        concrete.push_back(value);
      }
  }
  CaptureScope scope(std::span<const Array> values) const {
    std::vector<Array> all;
    for (std::size_t i : at) all.push_back(values[i]);
    return CaptureScope(held, concat(all, concrete));
  }

 private:
  void add(const Array& x, std::size_t operand) {
    held.push_back(x);
    at.push_back(operand);
  }
};

/// A rule may return what it captured as it is, without an operation that would have looked it up. While the rule's scope lives.
std::vector<Array> in_scope(std::vector<Array> returned) {
  for (Array& x : returned) x = value_in_scope(x);
  return returned;
}

struct CapturingJvpRule final : JvpRule {
  CapturingJvpRule(Ref<const JvpRule> r, Captures c) : one(std::move(r)), captures(std::move(c)) {}
  const Ref<const JvpRule> one;
  const Captures captures;

  int num_captured() const override { return static_cast<int>(captures.operands); }
  int num_own() const override { return static_cast<int>(captures.own); }
  std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc loc) const override {
    const CaptureScope scope = captures.scope(primals);
    return in_scope(one->apply(primals.subspan(captures.operands), tangents.subspan(captures.operands), loc));
  }
};

struct CapturingBackward final : BackwardRule {
  CapturingBackward(Ref<const BackwardRule> r, Captures c) : one(std::move(r)), captures(std::move(c)) {}
  const Ref<const BackwardRule> one;
  const Captures captures;

  std::vector<Tangent> apply(std::span<const Array> residuals, std::span<const Array> cotangents, SourceLoc loc) const override {
    const CaptureScope scope = captures.scope(residuals);
    std::vector<Tangent> returned = one->apply(residuals.subspan(captures.operands), cotangents, loc);
    for (Tangent& t : returned)
      if (t) t = value_in_scope(*t);
    return returned;
  }
};

struct CapturingVjpRule final : VjpRule {
  CapturingVjpRule(Ref<const VjpRule> r, Captures c) : one(std::move(r)), captures(std::move(c)) {}
  const Ref<const VjpRule> one;
  const Captures captures;

  int num_captured() const override { return static_cast<int>(captures.operands); }
  int num_own() const override { return static_cast<int>(captures.own); }
  Forward forward(std::span<const Array> primals, SourceLoc loc) const override {
    const CaptureScope scope = captures.scope(primals);
    Forward f = one->forward(primals.subspan(captures.operands), loc);
    f.results = in_scope(std::move(f.results));
    f.residuals = concat(primals.first(captures.operands), in_scope(std::move(f.residuals)));
    f.backward = make_ref<CapturingBackward>(std::move(f.backward), captures);
    return f;
  }
};

template <class Capturing, class Rule>
Ref<const Rule> capturing(Ref<const Rule> rule, std::span<const Array> captured, std::size_t own) {
  if (!rule) return rule;
  Captures captures(captured, own);
  if (captures.held.empty()) return rule;
  return make_ref<Capturing>(std::move(rule), std::move(captures));
}

}  // namespace

Ref<const JvpRule> with_captures(Ref<const JvpRule> rule, std::span<const Array> captured, std::size_t own) {
  return capturing<CapturingJvpRule>(std::move(rule), captured, own);
}
Ref<const VjpRule> with_captures(Ref<const VjpRule> rule, std::span<const Array> captured, std::size_t own) {
  return capturing<CapturingVjpRule>(std::move(rule), captured, own);
}

}  // namespace weft::detail
