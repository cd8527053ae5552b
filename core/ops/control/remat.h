// Rematerialisation: a program that is run again for its derivative.
#pragma once
#include "weft/core/ir/checkpoint_policy.h"
#include "weft/core/ir/primitive.h"

namespace weft {

std::string print_param(const CheckpointPolicy& v);
void read_param(detail::ParamReader& r, CheckpointPolicy& v);

namespace detail {

struct RematParams {
  bool differentiated = false;
  Jaxpr jaxpr;
  CheckpointPolicy policy = {};
  bool prevent_cse = true;
  friend bool operator==(const RematParams&, const RematParams&) = default;
};
/// Runs the program, saving for its derivative only what the policy lets it save. Its constants become leading operands.
std::vector<Array> bind_remat(const Jaxpr& j, const CheckpointPolicy& policy, bool prevent_cse, std::span<const Array> inputs,
                              SourceLoc loc);

}  // namespace detail
}  // namespace weft
