// Sorting codes on a device, least significant digit first.
#pragma once
#include "weft/backends/cuda/device_step.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// The primitive to which sorting on GPUs expands: a stable sort of each line of codes (lines, n), unsigned numbers of 32 or 64 bits. The
/// second operand, if there is one: the positions (int32) that stand beside the codes, instead of 0 ... n
/// - 1.
struct RadixOrder {
  static constexpr std::string_view name = "radix_order", doc = "The order of lines of unsigned codes.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  static constexpr std::string_view not_differentiable = "it is made when derivatives have been taken";
  struct Params {
    int bits = 32;          ///< of the codes: those above are 0
    bool positions = true;  ///< the result: the positions in order; else the codes
    friend bool operator==(const Params&, const Params&) = default;
  };
  static std::vector<Aval> abstract_eval(const OpContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};

namespace cuda {

/// How many launches it takes.
int radix_launches(const RadixOrder::Params& p, const Aval& codes);
std::unique_ptr<DeviceStep> make_radix_step(GpuDevice& device, const NamedKernels& kernels, const RadixOrder::Params& p,
                                            std::span<const Aval> in, const std::string& name);

}  // namespace cuda
}  // namespace weft::detail
