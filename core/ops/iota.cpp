// Arrays made from nothing but their type.
#include <fmt/format.h>

#include "core/array_impl.h"
#include "core/ops/movement_rules.h"
#include "core/ops/registry.h"

namespace weft::detail {
namespace {

void check_no_operands(const OpContext& c) {
  if (!c.in.empty()) c.fail<ShapeError>(fmt::format("takes no operands, not {}", c.in.size()));
}
BatchResult batch_nullary(const BatchContext& c) { return {bind_primitive(c.op, c.params, {}, c.loc), {kNotMapped}}; }

struct Iota {
  static constexpr std::string_view name = "iota", doc = "0, 1, 2, ... along one dimension.";
  static constexpr Kind kind = Kind::iota;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = IotaParams;
  static Aval abstract_eval(const OpContext& c) {
    check_no_operands(c);
    const auto& p = c.get<Params>();
    for (std::int64_t n : p.shape)
      if (n < 0) c.fail<ShapeError>(fmt::format("shape {} has a negative size", to_string(p.shape)));
    if (p.dimension < 0 || p.dimension >= p.shape.size())
      c.fail<AxisError>(fmt::format("shape {} has no dimension {}", to_string(p.shape), p.dimension));
    if (p.dtype.is_bool()) c.fail<DTypeError>("bool can't count", "use a number's dtype");
    return {p.shape, p.dtype, false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_nullary(c); }
  static void reference(const ReferenceContext& c) {
    const auto& p = c.get<Params>();
    const auto size = static_cast<std::size_t>(p.dtype.itemsize());
    for_each_index(p.shape, [&](const Coordinates& i, std::int64_t position) {
      const Array value = make_literal(Number(i[static_cast<std::size_t>(p.dimension)]), p.dtype);
      std::memcpy(c.out[0].as<char>() + static_cast<std::size_t>(position) * size, as_literal(value)->bits.data(), size);
    });
  }
};

struct EmptyParams {
  DType dtype = float32;
  friend bool operator==(const EmptyParams&, const EmptyParams&) = default;
};
/// JAX's placeholder for a scalar that is never looked at.
struct Empty2 {
  static constexpr std::string_view name = "empty2", doc = "A scalar whose value doesn't matter: zero.";
  static constexpr Kind kind = Kind::elementwise;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = EmptyParams;
  static Aval abstract_eval(const OpContext& c) {
    check_no_operands(c);
    return {{}, c.get<Params>().dtype, false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_nullary(c); }
  static void reference(const ReferenceContext& c) { std::memset(c.out[0].data, 0, static_cast<std::size_t>(c.out[0].aval.bytes())); }
  static KernelValue lower(KernelBuilder& b, const Params& p, std::span<const KernelValue>) { return b.constant(p.dtype, 0); }
};

}  // namespace

Array iota_array(DType dtype, const Shape& shape, int dimension, SourceLoc loc) {
  return bind_one<Iota>({dimension, dtype, shape}, {}, loc);
}

PrimitiveList iota_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Iota>, &primitive_of<Empty2>};
  return list;
}

}  // namespace weft::detail
