#include "weft/core/trace/captures.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/base/thread_object.h"

namespace weft::detail {
namespace {

struct State {
  std::vector<std::pair<Array, Array>> captures;  // innermost last
  RuleTracing* tracing = nullptr;
  bool get_values = false, lacks_value = false;
};
State& state() { return of_thread<State>(); }

}  // namespace

bool same_traced_value(const Array& a, const Array& b) {
  const TracedArray *s = as_traced(a), *t = as_traced(b);
  return s && t && s->trace.get() == t->trace.get() && s->var == t->var;
}

CaptureScope::CaptureScope(std::span<const Array> captured, std::span<const Array> values) : outer_(state().captures.size()) {
  for (std::size_t i = 0; i < captured.size(); ++i) state().captures.emplace_back(captured[i], values[i]);
}
CaptureScope::~CaptureScope() { state().captures.resize(outer_); }

Array value_in_scope(const Array& x) {
  const auto& captures = state().captures;
  for (auto c = captures.rbegin(); c != captures.rend(); ++c)
    if (same_traced_value(c->first, x)) return c->second;
  return x;
}

std::span<const std::pair<Array, Array>> captures_in_scope() { return state().captures; }

RulesGetValues::RulesGetValues() : outer_(std::exchange(state().get_values, true)) {}
RulesGetValues::~RulesGetValues() { state().get_values = outer_; }
bool RulesGetValues::active() { return state().get_values; }
void note_rule_lacks_value() { state().lacks_value = !state().get_values; }
bool take_rule_lacks_value() { return std::exchange(state().lacks_value, false); }

RuleTracing::RuleTracing() : outer_(state().tracing) { state().tracing = this; }
RuleTracing::~RuleTracing() { state().tracing = outer_; }
void captures_have_no_derivative() {
  if (state().tracing) state().tracing->constant_ = true;
}

}  // namespace weft::detail
