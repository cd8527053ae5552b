// The elements of small arrays of integers that a program computes from its constants.
#pragma once
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct KnownValue {
  Aval aval;
  std::vector<std::byte> elements;
  bool from_array = false;  ///< whether an array's elements went into it: others are expressions of their positions already
  HostTensor tensor() { return {aval, elements.data()}; }
};

/// The values of a program that grows at its end. Holds what was asked for; `eqns`, `avals` and `literals` are read at each question.
class KnownValues {
 public:
  KnownValues(const JaxprData& j, const std::vector<Eqn>& eqns, const std::vector<Aval>& avals, const std::vector<Literal>& literals)
      : j_(j), eqns_(eqns), avals_(avals), literals_(literals) {}

  /// What an input is.
  void set(Var v, KnownValue value) { known_.insert_or_assign(v, std::move(value)); }
  /// The value of an array of integers or bools that is small and follows from constants by a few elementwise operations and movements;
  /// null for others. Valid until the next question.
  KnownValue* find(Atom a) { return find(a, 0); }

 private:
  KnownValue* find(Atom a, int depth);
  std::optional<KnownValue> value_of(Atom a, int depth);
  std::optional<KnownValue> computed(const Eqn& e, const Aval& result, int depth);

  const JaxprData& j_;
  const std::vector<Eqn>& eqns_;
  const std::vector<Aval>& avals_;
  const std::vector<Literal>& literals_;
  std::unordered_map<Var, std::optional<KnownValue>> known_;  // without a value: it was looked for
};

}  // namespace weft::detail
