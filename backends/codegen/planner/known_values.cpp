#include "weft/backends/codegen/planner/known_values.h"

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kMostElements = 16384;
constexpr int kMostSteps = 32;  // from a constant to what is computed of it

bool may_be_known(const Aval& a) { return (a.dtype.is_integer() || a.dtype.is_bool()) && a.size() <= kMostElements; }

KnownValue empty_value(const Aval& a) { return {a, std::vector<std::byte>(static_cast<std::size_t>(a.size() * a.dtype.itemsize()))}; }

/// Operations that are computed here: those whose results are known by their positions, or by their operands' elements.
bool is_computed(const Eqn& e) {
  if (!e.op->reference || e.op->has_effects || e.outputs.size() != 1) return false;
  return e.op->kind == Kind::elementwise || e.op->kind == Kind::movement || e.op->kind == Kind::concatenate || e.op->kind == Kind::iota;
}

}  // namespace

KnownValue* KnownValues::find(Atom a, int depth) {
  if (a.is_literal()) return nullptr;
  const auto found = known_.find(a.var());
  if (found == known_.end()) {
    std::optional<KnownValue> value = value_of(a, depth);
    return (known_[a.var()] = std::move(value)) ? &*known_[a.var()] : nullptr;
  }
  return found->second ? &*found->second : nullptr;
}

std::optional<KnownValue> KnownValues::value_of(Atom a, int depth) {
  const Aval& type = avals_[a.var()];
  if (!may_be_known(type) || depth > kMostSteps) return {};
  if (a.var() < j_.first_input()) {
    const Array& constant = j_.consts[a.var()];
    KnownValue value = empty_value(type);
    value.from_array = true;
    read_elements(constant, type.dtype, value.elements.data(), "jit", {});
    return value;
  }
  // Equations are in the order of their results' numbers.
  const auto after =
      std::upper_bound(eqns_.begin(), eqns_.end(), a.var(), [](Var v, const Eqn& e) { return !e.outputs.empty() && v < e.outputs[0]; });
  if (after == eqns_.begin()) return {};
  const Eqn& e = *std::prev(after);
  if (e.outputs.empty() || e.outputs[0] != a.var()) return {};
  return is_computed(e) ? computed(e, type, depth) : std::nullopt;
}

std::optional<KnownValue> KnownValues::computed(const Eqn& e, const Aval& result, int depth) {
  KnownValue out = empty_value(result);
  std::vector<KnownValue> operands;
  operands.reserve(e.inputs.size());
  for (Atom a : e.inputs) {
    if (a.is_literal()) {
      const Literal& l = literals_[a.literal()];
      operands.push_back(empty_value(l.aval));
      std::memcpy(operands.back().elements.data(), l.bits.data(), operands.back().elements.size());
      continue;
    }
    const KnownValue* const known = find(a, depth + 1);
    if (!known) return {};
    operands.push_back(*known);
  }
  std::vector<HostTensor> in;
  for (KnownValue& v : operands) in.push_back(v.tensor()), out.from_array = out.from_array || v.from_array;
  const HostTensor to = out.tensor();
  e.op->reference({*e.params, in, std::span(&to, 1)});
  return out;
}

}  // namespace weft::detail
