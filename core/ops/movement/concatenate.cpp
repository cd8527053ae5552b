// Several operands joined into one result.
#include <fmt/format.h>

#include "weft/core/ops/movement/concatenation.h"
#include "weft/core/ops/movement/movement_rules.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

void check_operands(const OpContext& c) {
  if (c.in.empty()) c.fail<ShapeError>("there is nothing to join", "give at least one array");
  for (const Aval& x : c.in)
    if (x.dtype != c.in[0].dtype) c.fail<DTypeError>("operands have different dtypes", "convert them to one");
}
/// The type of the result; weak if all operands are.
Aval joined_aval(const OpContext& c, Shape shape) {
  Aval out = c.in[0].with_shape(std::move(shape));
  for (const Aval& x : c.in) out.weak &= x.weak;
  return out;
}
int first_mapped(const BatchContext& c) {
  for (int d : c.dims)
    if (d != kNotMapped) return d;
  return 0;
}
std::vector<Array> all_mapped_at(const BatchContext& c, int dim) {
  std::vector<Array> xs;
  for (std::size_t k = 0; k < c.in.size(); ++k) xs.push_back(materialize_batch_dim(c.in[k], c.dims[k], c.axis.size, dim, c.loc));
  return xs;
}

struct Concatenate {
  static constexpr std::string_view name = "concatenate", doc = "Arrays joined along a dimension.";
  static constexpr Kind kind = Kind::concatenate;
  using Params = ConcatenateParams;
  static Aval abstract_eval(const OpContext& c) {
    check_operands(c);
    const int dimension = c.get<Params>().dimension;
    Shape out = c.in[0].shape;
    if (dimension < 0 || dimension >= out.size())
      c.fail<AxisError>(fmt::format("there is no dimension {}", dimension), out.empty() ? "scalars are joined by stack" : "");
    out[dimension] = 0;
    for (const Aval& x : c.in) {
      if (x.ndim() != out.size())
        c.fail<ShapeError>(fmt::format("{} and {} have different numbers of dimensions", to_string(c.in[0]), to_string(x)));
      for (int d = 0; d < out.size(); ++d)
        if (d != dimension && x.shape[d] != out[d])
          c.fail<ShapeError>(
              fmt::format("{} and {} differ in dimension {}: {} and {}", to_string(c.in[0]), to_string(x), d, out[d], x.shape[d]),
              fmt::format("sizes may differ only in dimension {}", dimension));
      out[dimension] += x.shape[dimension];
    }
    return joined_aval(c, out);
  }
  static std::vector<Tangent> jvp(const JvpContext& c) { return jvp_linear(c); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const int dimension = c.get<Params>().dimension;
    std::vector<Tangent> out;
    std::int64_t begin = 0;
    for (const Operand& x : c.in) {
      const std::int64_t end = begin + x.aval.shape[dimension];
      out.push_back(x.is_linear() && c.cotangents[0] ? Tangent(slice_axis(*c.cotangents[0], dimension, begin, end, c.loc)) : std::nullopt);
      begin = end;
    }
    return out;
  }
  static BatchResult batch(const BatchContext& c) {
    const int dim = first_mapped(c);
    return {{concatenate_along(all_mapped_at(c, dim), shifted(c.get<Params>().dimension, dim), c.loc)}, {dim}};
  }
  static void reference(const ReferenceContext& c) {
    const auto dimension = static_cast<std::size_t>(c.get<Params>().dimension);
    std::int64_t begin = 0;
    for (const HostTensor& x : c.in) {
      reference_write(c.out[0], x, [&](Coordinates i) {
        i[dimension] += begin;
        return i;
      });
      begin += x.aval.shape[static_cast<int>(dimension)];
    }
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int which) {
    Movement m = identity_movement(in[0].ndim());
    m.part_dim = p.dimension;
    for (int k = 0; k < which; ++k) m.part_begin += in[static_cast<std::size_t>(k)].shape[p.dimension];
    m.part_end = m.part_begin + in[static_cast<std::size_t>(which)].shape[p.dimension];
    m.dims[static_cast<std::size_t>(p.dimension)].offset = -m.part_begin;
    return m;
  }
};

struct Stack {
  static constexpr std::string_view name = "stack", doc = "Arrays of one shape joined along a new axis.";
  static constexpr Kind kind = Kind::concatenate;
  using Params = StackParams;
  static Aval abstract_eval(const OpContext& c) {
    check_operands(c);
    const int axis = c.get<Params>().axis;
    if (axis < 0 || axis > c.in[0].ndim()) c.fail<AxisError>(fmt::format("the result has no axis {}", axis));
    for (const Aval& x : c.in)
      if (x.shape != c.in[0].shape)
        c.fail<ShapeError>(fmt::format("{} and {} have different shapes", to_string(c.in[0]), to_string(x)), "all must have the same");
    return joined_aval(c, c.in[0].shape.inserted(axis, static_cast<std::int64_t>(c.in.size())));
  }
  static std::vector<Tangent> jvp(const JvpContext& c) { return jvp_linear(c); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return std::vector<Tangent>(c.in.size());
    std::vector<Tangent> out;
    const std::vector<Array> parts = unstack_along(*c.cotangents[0], c.get<Params>().axis, c.loc);
    for (std::size_t k = 0; k < c.in.size(); ++k) out.push_back(c.in[k].is_linear() ? Tangent(parts[k]) : std::nullopt);
    return out;
  }
  static BatchResult batch(const BatchContext& c) {
    const int dim = first_mapped(c), axis = c.get<Params>().axis;
    const bool before = axis <= dim;
    return {{stack_along(all_mapped_at(c, dim), before ? axis : axis + 1, c.loc)}, {before ? dim + 1 : dim}};
  }
  static void reference(const ReferenceContext& c) {
    for (std::size_t k = 0; k < c.in.size(); ++k)
      reference_write(c.out[0], c.in[k],
                      [&](const Coordinates& i) { return with_inserted(i, c.get<Params>().axis, static_cast<std::int64_t>(k)); });
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int which) {
    Movement m;
    for (int d = 0; d < in[0].ndim(); ++d) m.dims.push_back(same_dim(shifted(d, p.axis)));
    m.part_dim = p.axis, m.part_begin = which, m.part_end = which + 1;
    return m;
  }
};

}  // namespace

Array concatenate_along(std::span<const Array> xs, int axis, SourceLoc loc) {
  return xs.size() == 1 ? xs[0] : bind_all<Concatenate>({axis}, xs, loc)[0];
}
Concatenation concatenation_along(int axis) { return {&primitive_of<Concatenate>, make_params(ConcatenateParams{axis})}; }
Array stack_along(std::span<const Array> xs, int axis, SourceLoc loc) { return bind_all<Stack>({axis}, xs, loc)[0]; }

PrimitiveList concatenate_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Concatenate>, &primitive_of<Stack>};
  return list;
}

}  // namespace weft::detail
