// One operand cut into several results.
#include <fmt/format.h>

#include "weft/core/ops/movement/movement_rules.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

/// The cotangents of all results, zeros written out; nothing if there are none.
std::vector<Array> all_cotangents(const TransposeContext& c) {
  std::vector<Array> out;
  bool any = false;
  for (const Tangent& t : c.cotangents) any |= t.has_value();
  for (std::size_t i = 0; any && i < c.cotangents.size(); ++i) out.push_back(instantiate(c.cotangents[i], c.out_avals[i], c.loc));
  return out;
}
void check_axis(const OpContext& c, int axis) {
  if (c.in.size() != 1) c.fail<ShapeError>(fmt::format("takes 1 operand, not {}", c.in.size()));
  if (axis < 0 || axis >= c.in[0].ndim())
    c.fail<AxisError>(fmt::format("there is no axis {}", axis), fmt::format("there are {}", c.in[0].ndim()));
}
BatchResult all_with(std::vector<Array> out, int dim) {
  std::vector<int> dims(out.size(), dim);
  return {std::move(out), std::move(dims)};
}

struct Split {
  static constexpr std::string_view name = "split", doc = "Consecutive pieces of the given sizes along an axis.";
  static constexpr Kind kind = Kind::movement;
  using Params = SplitParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const auto& p = c.get<Params>();
    check_axis(c, p.axis);
    std::int64_t total = 0;
    std::vector<Aval> out;
    for (std::int64_t size : p.sizes) {
      if (size < 0) c.fail<ShapeError>(fmt::format("a piece has size {}", size), "sizes must not be negative");
      total += size;
      out.push_back(c.in[0].with_shape(c.in[0].shape.with(p.axis, size)));
    }
    if (total != c.in[0].shape[p.axis])
      c.fail<ShapeError>(
          fmt::format("sizes ({}) add up to {}, but axis {} has {}", fmt::join(p.sizes, ", "), total, p.axis, c.in[0].shape[p.axis]));
    return out;
  }
  static std::vector<Tangent> jvp(const JvpContext& c) { return jvp_linear(c); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const std::vector<Array> cts = all_cotangents(c);
    if (cts.empty()) return {std::nullopt};
    return {concatenate_along(cts, c.get<Params>().axis, c.loc)};
  }
  static BatchResult batch(const BatchContext& c) {
    const auto& p = c.get<Params>();
    return all_with(split_along(c.in[0], p.sizes, shifted(p.axis, c.dims[0]), c.loc), c.dims[0]);
  }
  static void reference(const ReferenceContext& c) {
    const auto& p = c.get<Params>();
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < p.sizes.size(); begin += p.sizes[k++])
      reference_read(c.out[k], c.in[0], [&](Coordinates i) {
        i[static_cast<std::size_t>(p.axis)] += begin;
        return i;
      });
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int which) {
    Movement m = identity_movement(in[0].ndim());
    std::int64_t begin = 0;
    for (int k = 0; k < which; ++k) begin += p.sizes[static_cast<std::size_t>(k)];
    m.dims[static_cast<std::size_t>(p.axis)].offset = begin;
    return m;
  }
};

struct Unstack {
  static constexpr std::string_view name = "unstack", doc = "One result for each position along an axis, without the axis.";
  static constexpr Kind kind = Kind::movement;
  using Params = StackParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const int axis = c.get<Params>().axis;
    check_axis(c, axis);
    return std::vector<Aval>(static_cast<std::size_t>(c.in[0].shape[axis]), c.in[0].with_shape(c.in[0].shape.erased(axis)));
  }
  static std::vector<Tangent> jvp(const JvpContext& c) { return jvp_linear(c); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const std::vector<Array> cts = all_cotangents(c);
    if (cts.empty()) return {std::nullopt};
    return {stack_along(cts, c.get<Params>().axis, c.loc)};
  }
  static BatchResult batch(const BatchContext& c) {
    const int axis = c.get<Params>().axis, dim = c.dims[0], moved = shifted(axis, dim);
    return all_with(unstack_along(c.in[0], moved, c.loc), moved < dim ? dim - 1 : dim);
  }
  static void reference(const ReferenceContext& c) {
    for (std::size_t k = 0; k < c.out.size(); ++k)
      reference_read(c.out[k], c.in[0],
                     [&](const Coordinates& i) { return with_inserted(i, c.get<Params>().axis, static_cast<std::int64_t>(k)); });
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int which) {
    Movement m = identity_movement(in[0].ndim() - 1);
    m.dims.insert(m.dims.begin() + p.axis, fixed_dim(which));
    return m;
  }
};

}  // namespace

std::vector<Array> split_along(const Array& x, const std::vector<std::int64_t>& sizes, int axis, SourceLoc loc) {
  return bind_all<Split>({axis, sizes}, {&x, 1}, loc);
}
std::vector<Array> unstack_along(const Array& x, int axis, SourceLoc loc) { return bind_all<Unstack>({axis}, {&x, 1}, loc); }

PrimitiveList split_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Split>, &primitive_of<Unstack>};
  return list;
}

}  // namespace weft::detail
