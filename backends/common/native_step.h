// Steps of a compiled program that a routine of the backend runs instead of a generated kernel.
#pragma once
#include <memory>
#include <span>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// An equation prepared for its parameters and types. Thread-safe.
class NativeStep {
 public:
  virtual ~NativeStep() = default;
  /// The addresses of the operands, then of the results.
  virtual void run(std::span<void* const> addresses) const = 0;
};

/// The rules that make steps: each by the routine for its operation (`Rule<NativeStepRules, Sort>`). nullptr for what the routine can't do.
struct NativeStepRules {
  using Function = std::unique_ptr<NativeStep>(const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval> results);
};

/// nullptr if there is no routine: the operation's reference implementation then runs.
std::unique_ptr<NativeStep> make_native_step(const Primitive& op, const ParamsBase& params, std::span<const Aval> operands,
                                             std::span<const Aval> results);

}  // namespace weft::detail
