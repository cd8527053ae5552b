// custom_vmap_call: a sub-program whose batching is a rule that the user gave.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ops/control/custom_derivatives.h"

namespace weft::detail {

/// A user's rule over flat arrays. Called when a program is batched, with arrays of the trace at hand.
struct VmapRule : RefCounted {
  struct Batched {
    std::vector<Array> results;
    std::vector<bool> batched;  ///< of each result: whether its axis 0 is the mapped one
  };
  /// `batched`: of each argument, whether its axis 0 is the mapped one; others are the same for all lanes.
  virtual Batched apply(std::int64_t axis_size, const std::vector<bool>& batched, std::span<const Array> args, SourceLoc loc) const = 0;
};
std::string print_param(const RuleParam<VmapRule>& v);
void read_param(ParamReader& r, RuleParam<VmapRule>& v);

struct CustomVmapParams {
  std::string name;
  Jaxpr call;
  RuleParam<VmapRule> rule;
  int num_consts = 0;  ///< leading operands that the function captured; the rule is not given them
  friend bool operator==(const CustomVmapParams&, const CustomVmapParams&) = default;
};

PrimitiveList custom_vmap_primitives();
/// Binds a call of the program; values that it captured become its leading operands.
std::vector<Array> bind_custom_vmap(const std::string& name, const Jaxpr& j, RuleParam<VmapRule> rule, std::span<const Array> inputs,
                                    SourceLoc loc);

}  // namespace weft::detail
