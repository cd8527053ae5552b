// Arrays made from nothing but their type.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/kernel_builder.h"
#include "weft/core/ops/movement/movement_rules.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"

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

constexpr ParamValue kIotaAdded[] = {{"sharding", "None"}};
const TextRule<Iota> iota_text([] { return TextTraits{.added = kIotaAdded}; });

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

constexpr ParamValue kEmpty2Added[] = {{"memory_space", "MemorySpace.Device"}};
const TextRule<Empty2> empty_text([] { return TextTraits{.added = kEmpty2Added}; });

/// For each branch of a cond the platforms that it is for; absent: all others.
struct PlatformsOfBranches {
  std::vector<std::optional<std::vector<std::string>>> branches;
  friend bool operator==(const PlatformsOfBranches&, const PlatformsOfBranches&) = default;
};
std::string print_param(const PlatformsOfBranches& v) {
  std::string s = "(";
  for (std::size_t i = 0; i < v.branches.size(); ++i) s += (i ? ", " : "") + detail::print_param(v.branches[i]);
  return s + (v.branches.size() == 1 ? ",)" : ")");
}
void read_param(ParamReader& r, PlatformsOfBranches& v) {
  r.read_list([&] { detail::read_param(r, v.branches.emplace_back()); });
}
struct PlatformIndexParams {
  PlatformsOfBranches platforms;
  friend bool operator==(const PlatformIndexParams&, const PlatformIndexParams&) = default;
};
/// What JAX's platform_dependent chooses by. Programs run on the CPU.
struct PlatformIndex {
  static constexpr std::string_view name = "platform_index", doc = "The index of the branch for the platform that the program runs on.";
  static constexpr Kind kind = Kind::elementwise;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = PlatformIndexParams;
  static Aval abstract_eval(const OpContext& c) {
    check_no_operands(c);
    if (!find(c.get<Params>())) c.fail<DeviceError>("no branch is for the platform cpu", "give one for all platforms, None, as the last");
    return {{}, int32, false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_nullary(c); }
  static void reference(const ReferenceContext& c) { *c.out[0].as<std::int32_t>() = *find(c.get<Params>()); }
  static KernelValue lower(KernelBuilder& b, const Params& p, std::span<const KernelValue>) { return b.constant(int32, *find(p)); }

 private:
  static std::optional<int> find(const Params& p) {
    const auto& branches = p.platforms.branches;
    for (std::size_t i = 0; i < branches.size(); ++i)
      if (!branches[i] || std::find(branches[i]->begin(), branches[i]->end(), "cpu") != branches[i]->end()) return static_cast<int>(i);
    return {};
  }
};

}  // namespace

Array iota_array(DType dtype, const Shape& shape, int dimension, SourceLoc loc) {
  return bind_one<Iota>({dimension, dtype, shape}, {}, loc);
}

PrimitiveList iota_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Iota>, &primitive_of<Empty2>, &primitive_of<PlatformIndex>};
  return list;
}

}  // namespace weft::detail
