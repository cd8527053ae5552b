// Steps of a compiled program that a routine of this backend runs, where no kernel can be made of them.
#pragma once
#include <memory>
#include <span>

#include "core/primitive.h"

namespace weft::detail {

/// An equation made ready for its parameters and types. Thread-safe.
class NativeStep {
 public:
  virtual ~NativeStep() = default;
  /// The addresses of the operands, then of the results.
  virtual void run(std::span<void* const> addresses) const = 0;
};

/// nullptr: there is no routine; the operation's reference does it.
std::unique_ptr<NativeStep> make_native_step(const Primitive& op, const ParamsBase& params, std::span<const Aval> operands,
                                             std::span<const Aval> results);

// The families, each nullptr for what it can't do.
std::unique_ptr<NativeStep> make_sort(const ParamsBase& params, std::span<const Aval> operands);
std::unique_ptr<NativeStep> make_convolution(const ParamsBase& params, std::span<const Aval> operands, const Aval& result);
std::unique_ptr<NativeStep> make_fft(const ParamsBase& params, const Aval& operand, const Aval& result);
std::unique_ptr<NativeStep> make_fft_along(const ParamsBase& params, const Aval& operand);
std::unique_ptr<NativeStep> make_top_k(const ParamsBase& params, std::span<const Aval> operands);

}  // namespace weft::detail
