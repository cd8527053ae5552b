// Value numbering: finds variables of a trace that hold the same values because the same operation made them of the same operands.
#pragma once
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

class ValueNumbers {
 public:
  /// Numbers the results of an equation of the trace. Results of calls and of equations with effects count as new values.
  void note(const Trace& trace, const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
            std::span<const Array> results);
  /// The first variable that holds the values that v holds.
  Var first(Var v) const;

 private:
  /// A variable of a trace, a literal's bits and type, or an array itself.
  struct Operand {
    const void* owner;
    Var var;
    ScalarBits bits;
    friend auto operator<=>(const Operand&, const Operand&) = default;
  };
  struct Made {
    ParamsRef params;
    std::vector<Var> results;
  };
  Operand operand(const Trace& trace, const Array& x);

  std::map<Var, Var> first_;
  std::map<std::pair<const Primitive*, std::vector<Operand>>, std::vector<Made>> made_;
  std::vector<Array> held_;  // so that no other array gets their addresses
};

}  // namespace weft::detail
