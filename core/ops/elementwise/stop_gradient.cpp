#include "weft/core/ops/elementwise/stop_gradient.h"

#include <cstring>

#include "weft/core/ir/kernel_builder.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/elementwise/branches.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

struct StopGradient {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "stop_gradient", doc = "The operand itself, with a tangent of zero.";
  static constexpr Kind kind = Kind::elementwise;
  static constexpr bool not_linear = true, zero_tangent = true;
  using Params = NoParams;
  static Aval abstract_eval(const OpContext& c) { return c.in[0]; }
  static BatchResult batch(const BatchContext& c) { return batch_elementwise(c); }
  static void reference(const ReferenceContext& c) {
    if (c.in[0].aval.bytes() > 0) std::memcpy(c.out[0].data, c.in[0].data, static_cast<std::size_t>(c.in[0].aval.bytes()));
  }
  static KernelValue lower(KernelBuilder&, const Params&, std::span<const KernelValue> v) { return v[0]; }
};

const Rule<IdentityTransform, StopGradient> stop_gradient_is_identity([] {});
const Rule<FiniteDerivativeTransform, StopGradient> stop_gradient_is_finite(always_finite);

}  // namespace

Array stop_gradient_of(const Array& x, SourceLoc loc) { return x.dtype().is_inexact() ? bind_one<StopGradient>({}, {x}, loc) : x; }

PrimitiveList stop_gradient_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<StopGradient>};
  return list;
}

}  // namespace weft::detail
