#include "weft/core/trace/value_numbers.h"

#include <algorithm>

#include "weft/core/trace/trace.h"

namespace weft::detail {

Var ValueNumbers::first(Var v) const {
  const auto found = first_.find(v);
  return found != first_.end() ? found->second : v;
}

ValueNumbers::Operand ValueNumbers::operand(const Trace& trace, const Array& x) {
  if (const TracedArray* t = as_traced(x)) return {t->trace.get(), t->trace.get() == &trace ? first(t->var) : t->var, {}};
  if (const LiteralArray* l = as_literal(x)) return {nullptr, static_cast<Var>(l->aval.dtype.id() * 2 + l->aval.weak), l->bits};
  held_.push_back(x);
  return {x.impl().get(), 0, {}};
}

void ValueNumbers::note(const Trace& trace, const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                        std::span<const Array> results) {
  if (op.has_effects || contract::executed_by_kind(op.kind)) return;
  std::vector<Var> made;
  for (const Array& r : results) {
    const TracedArray* t = as_traced(r);
    if (!t || t->trace.get() != &trace) return;
    made.push_back(t->var);
  }
  std::vector<Operand> operands;
  for (const Array& x : inputs) operands.push_back(operand(trace, x));
  std::vector<Made>& same = made_[{&op, std::move(operands)}];
  const auto found = std::find_if(same.begin(), same.end(), [&](const Made& m) { return op.params_equal(*m.params, *params); });
  if (found == same.end()) {
    same.push_back({params, std::move(made)});
    return;
  }
  for (std::size_t i = 0; i < made.size(); ++i) first_[made[i]] = found->results[i];
}

}  // namespace weft::detail
