#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ir/permutation.h"
#include "weft/core/ops/movement/movement_rules.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void check_count(const OpContext& c, std::size_t n) {
  if (c.in.size() != n) c.fail<ShapeError>(fmt::format("takes {} operand{}, not {}", n, n == 1 ? "" : "s", c.in.size()));
}
/// Throws unless these are different dimensions of the operand.
void check_dimensions(const OpContext& c, const std::vector<int>& dims) {
  const int n = c.in[0].ndim();
  std::vector<bool> seen(at(n));
  for (int d : dims) {
    if (d < 0 || d >= n) c.fail<AxisError>(fmt::format("there is no dimension {}", d), fmt::format("dimensions are 0 to {}", n - 1));
    if (seen[at(d)]) c.fail<AxisError>(fmt::format("dimension {} is named twice", d));
    seen[at(d)] = true;
  }
}
void check_permutation(const OpContext& c, const std::vector<int>& permutation) {
  const auto n = static_cast<std::size_t>(c.in[0].ndim());
  if (permutation.size() != n)
    c.fail<AxisError>(fmt::format("({}) does not name each of the {} once", fmt::join(permutation, ", "), counted(n, "axis", "axes")));
  check_dimensions(c, permutation);
}
bool is_identity(const std::vector<int>& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<int>(i)) return false;
  return true;
}
Shape permuted(const Shape& shape, const std::vector<int>& permutation) {
  Shape out = shape;
  for (std::size_t i = 0; i < permutation.size(); ++i) out[static_cast<int>(i)] = shape[permutation[i]];
  return out;
}
bool contains(const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); }

/// One operand, one result, linear: the tangent is moved as the value is.
struct LinearMovement {
  static constexpr Kind kind = Kind::movement;
  static std::vector<Tangent> jvp(const JvpContext& c) { return jvp_linear(c); }
};
/// The cotangent, or nothing where there is none.
template <class F>
std::vector<Tangent> transpose_one(const TransposeContext& c, F&& rule) {
  if (!c.cotangents[0]) return {std::nullopt};
  return {rule(*c.cotangents[0], c.in[0].aval.shape)};
}

struct BroadcastInDim : LinearMovement {
  static constexpr std::string_view name = "broadcast_in_dim",
                                    doc = "Repeats elements along new dimensions and along dimensions of size 1.";
  using Params = BroadcastInDimParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    const auto& p = c.get<Params>();
    const Shape& in = c.in[0].shape;
    if (static_cast<int>(p.broadcast_dimensions.size()) != in.size())
      c.fail<ShapeError>(fmt::format("broadcast_dimensions ({}) does not name a dimension of the result for each of the operand's {}",
                                     fmt::join(p.broadcast_dimensions, ", "), in.size()));
    int previous = -1;
    for (int d = 0; d < in.size(); ++d) {
      const int to = p.broadcast_dimensions[at(d)];
      if (to <= previous || to >= p.shape.size())
        c.fail<ShapeError>(fmt::format("broadcast_dimensions ({}) does not increase within the {} of {}",
                                       fmt::join(p.broadcast_dimensions, ", "), counted(p.shape.size(), "dimension"), to_string(p.shape)));
      if (in[d] != 1 && in[d] != p.shape[to])
        c.fail<ShapeError>(fmt::format("dimension {} of size {} can't become dimension {} of {}", d, in[d], to, to_string(p.shape)),
                           "a dimension keeps its size or has size 1");
      previous = to;
    }
    return c.in[0].with_shape(p.shape);
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_one(c, [&](const Array& ct, const Shape& in) {
      const auto& dims = c.get<Params>().broadcast_dimensions;
      std::vector<int> axes;
      for (int d = 0; d < ct.ndim(); ++d) {
        const auto from = std::find(dims.begin(), dims.end(), d) - dims.begin();
        if (from == static_cast<std::ptrdiff_t>(dims.size()) || in[static_cast<int>(from)] != ct.shape()[d]) axes.push_back(d);
      }
      return reshape_to(reduce_sum(ct, axes, c.loc), in, c.loc);
    });
  }
  static BatchResult batch(const BatchContext& c) {
    const auto& p = c.get<Params>();
    const int dim = c.dims[0], to = dim == 0 ? 0 : p.broadcast_dimensions[at(dim - 1)] + 1;
    return batched(c, Params{with_inserted(shifted(p.broadcast_dimensions, to), dim, to), p.shape.inserted(to, c.axis.size)}, c.in[0], to);
  }
  static void reference(const ReferenceContext& c) {
    const auto& dims = c.get<Params>().broadcast_dimensions;
    const Shape& in = c.in[0].aval.shape;
    reference_read(c.out[0], c.in[0], [&](const Coordinates& i) {
      Coordinates from(dims.size());
      for (std::size_t d = 0; d < dims.size(); ++d) from[d] = in[static_cast<int>(d)] == 1 ? 0 : i[at(dims[d])];
      return from;
    });
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int) {
    Movement m;
    for (int d = 0; d < in[0].ndim(); ++d) m.dims.push_back(in[0].shape[d] == 1 ? fixed_dim(0) : same_dim(p.broadcast_dimensions[at(d)]));
    return m;
  }
};

constexpr ParamValue kBroadcastInDimLeftOut[] = {{"broadcast_dimensions", "()"}, {"shape", ""}};
const TextRule<BroadcastInDim> broadcast_text([] { return TextTraits{.left_out = kBroadcastInDimLeftOut}; });

struct Reshape : LinearMovement {
  static constexpr std::string_view name = "reshape", doc = "The same elements in row-major order, in another shape.";
  using Params = ReshapeParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    const auto& p = c.get<Params>();
    for (std::int64_t n : p.new_sizes)
      if (n < 0) c.fail<ShapeError>(fmt::format("shape {} has a negative size", to_string(p.new_sizes)));
    if (p.new_sizes.num_elements() != c.in[0].size())
      c.fail<ShapeError>(
          fmt::format("{} elements don't fit shape {}, which has {}", c.in[0].size(), to_string(p.new_sizes), p.new_sizes.num_elements()));
    if (p.dimensions) check_permutation(c, *p.dimensions);
    return c.in[0].with_shape(p.new_sizes);
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_one(c, [&](const Array& ct, const Shape& in) {
      const auto& p = c.get<Params>();
      if (!p.dimensions) return reshape_to(ct, in, c.loc);
      return permute(reshape_to(ct, permuted(in, *p.dimensions), c.loc), inverse_permutation(*p.dimensions), c.loc);
    });
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    p.new_sizes = p.new_sizes.inserted(0, c.axis.size);
    if (p.dimensions) p.dimensions = with_inserted(shifted(*p.dimensions, 0), 0, 0);
    return batched(c, std::move(p), move_batch_dim(c.in[0], c.dims[0], 0, c.loc), 0);
  }
  static void reference(const ReferenceContext& c) {
    const auto& p = c.get<Params>();
    const Shape& in = c.in[0].aval.shape;
    std::vector<int> order(at(in.size()));
    std::iota(order.begin(), order.end(), 0);
    if (p.dimensions) order = *p.dimensions;
    for_each_index(permuted(in, order), [&](const Coordinates& i, std::int64_t position) {
      Coordinates from(i.size());
      for (std::size_t d = 0; d < i.size(); ++d) from[at(order[d])] = i[d];
      copy_element(c.out[0], position, c.in[0], position_of(in, from));
    });
  }
  static Movement movement(const Params& p, std::span<const Aval>, const Aval&, int) {
    Movement m;
    m.reshape = true;
    if (p.dimensions && !is_identity(*p.dimensions)) m.order = *p.dimensions;
    return m;
  }
};

constexpr ParamValue kReshapeAdded[] = {{"dimensions", "None"}, {"sharding", "None"}};
constexpr ParamValue kReshapeIgnored[] = {{"dimensions", "None"}};
const TextRule<Reshape> reshape_text([] { return TextTraits{.added = kReshapeAdded, .ignored = kReshapeIgnored}; });

struct Transpose : LinearMovement {
  static constexpr std::string_view name = "transpose", doc = "Permutes the dimensions.";
  using Params = TransposeParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    check_permutation(c, c.get<Params>().permutation);
    return c.in[0].with_shape(permuted(c.in[0].shape, c.get<Params>().permutation));
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_one(
        c, [&](const Array& ct, const Shape&) { return permute(ct, inverse_permutation(c.get<Params>().permutation), c.loc); });
  }
  static BatchResult batch(const BatchContext& c) {
    const int dim = c.dims[0];
    return batched(c, Params{with_inserted(shifted(c.get<Params>().permutation, dim), 0, dim)}, c.in[0], 0);
  }
  static void reference(const ReferenceContext& c) {
    const auto& permutation = c.get<Params>().permutation;
    reference_read(c.out[0], c.in[0], [&](const Coordinates& i) {
      Coordinates from(i.size());
      for (std::size_t d = 0; d < i.size(); ++d) from[at(permutation[d])] = i[d];
      return from;
    });
  }
  static Movement movement(const Params& p, std::span<const Aval>, const Aval&, int) {
    Movement m;
    for (int d : inverse_permutation(p.permutation)) m.dims.push_back(same_dim(d));
    return m;
  }
};

struct Squeeze : LinearMovement {
  static constexpr std::string_view name = "squeeze", doc = "Removes dimensions of size 1.";
  using Params = SqueezeParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    const auto& dims = c.get<Params>().dimensions;
    check_dimensions(c, dims);
    Shape out;
    for (int d = 0; d < c.in[0].ndim(); ++d) {
      const std::int64_t n = c.in[0].shape[d];
      if (!contains(dims, d))
        out.push_back(n);
      else if (n != 1)
        c.fail<ShapeError>(fmt::format("dimension {} has size {}", d, n), "only a dimension of size 1 can be left out");
    }
    return c.in[0].with_shape(out);
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_one(c, [&](const Array& ct, const Shape&) {
      std::vector<int> axes = c.get<Params>().dimensions;
      std::sort(axes.begin(), axes.end());
      return insert_axes(ct, axes, c.loc);
    });
  }
  static BatchResult batch(const BatchContext& c) {
    const int dim = c.dims[0];
    int out_dim = dim;
    const std::vector<int> dims = shifted(c.get<Params>().dimensions, dim);
    for (int d : dims) out_dim -= d < dim;
    return batched(c, Params{dims}, c.in[0], out_dim);
  }
  static void reference(const ReferenceContext& c) {
    std::memcpy(c.out[0].data, c.in[0].data, static_cast<std::size_t>(c.in[0].aval.bytes()));
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int) {
    Movement m;
    int out_dim = 0;
    for (int d = 0; d < in[0].ndim(); ++d) m.dims.push_back(contains(p.dimensions, d) ? fixed_dim(0) : same_dim(out_dim++));
    return m;
  }
};

struct Slice : LinearMovement {
  static constexpr std::string_view name = "slice", doc = "A range of positions along each dimension, with a stride.";
  using Params = SliceParams;
  static std::int64_t stride(const Params& p, int d) { return p.strides ? (*p.strides)[at(d)] : 1; }
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    const auto& p = c.get<Params>();
    const Shape& in = c.in[0].shape;
    const std::size_t n = at(in.size());
    if (p.start_indices.size() != n || p.limit_indices.size() != n || (p.strides && p.strides->size() != n))
      c.fail<ShapeError>(fmt::format("start_indices ({}), limit_indices ({}) and strides don't have one entry for each of {} dimensions",
                                     fmt::join(p.start_indices, ", "), fmt::join(p.limit_indices, ", "), n));
    Shape out = in;
    for (int d = 0; d < in.size(); ++d) {
      const std::int64_t start = p.start_indices[at(d)], limit = p.limit_indices[at(d)];
      if (start < 0 || start > limit || limit > in[d])
        c.fail<ShapeError>(fmt::format("{}:{} is not a range within dimension {} of size {}", start, limit, d, in[d]));
      if (stride(p, d) <= 0) c.fail<ShapeError>(fmt::format("stride {} of dimension {} is not positive", stride(p, d), d));
      out[d] = ceil_div(limit - start, stride(p, d));
    }
    return c.in[0].with_shape(out);
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_one(c, [&](const Array& ct, const Shape& in) {
      const auto& p = c.get<Params>();
      PaddingConfig config;
      for (int d = 0; d < in.size(); ++d) {
        const std::int64_t low = p.start_indices[at(d)], n = ct.shape()[d];
        const std::int64_t span = n == 0 ? 0 : (n - 1) * stride(p, d) + 1;
        config.push_back({low, in[d] - low - span, stride(p, d) - 1});
      }
      return pad_with(ct, scalar_like(ct, 0), config, c.loc);
    });
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    const int dim = c.dims[0];
    p.start_indices = with_inserted(p.start_indices, dim, std::int64_t{0});
    p.limit_indices = with_inserted(p.limit_indices, dim, c.axis.size);
    if (p.strides) p.strides = with_inserted(*p.strides, dim, std::int64_t{1});
    return batched(c, std::move(p), c.in[0], dim);
  }
  static void reference(const ReferenceContext& c) {
    const auto& p = c.get<Params>();
    reference_read(c.out[0], c.in[0], [&](Coordinates i) {
      for (std::size_t d = 0; d < i.size(); ++d) i[d] = p.start_indices[d] + i[d] * stride(p, static_cast<int>(d));
      return i;
    });
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int) {
    Movement m;
    for (int d = 0; d < in[0].ndim(); ++d) m.dims.push_back({.out_dim = d, .scale = stride(p, d), .offset = p.start_indices[at(d)]});
    return m;
  }
};

struct Rev : LinearMovement {
  static constexpr std::string_view name = "rev", doc = "Reverses the order of elements along dimensions.";
  using Params = RevParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    check_dimensions(c, c.get<Params>().dimensions);
    return c.in[0];
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_one(c, [&](const Array& ct, const Shape&) { return reverse(ct, c.get<Params>().dimensions, c.loc); });
  }
  static BatchResult batch(const BatchContext& c) {
    return batched(c, Params{shifted(c.get<Params>().dimensions, c.dims[0])}, c.in[0], c.dims[0]);
  }
  static void reference(const ReferenceContext& c) {
    reference_read(c.out[0], c.in[0], [&](Coordinates i) {
      for (int d : c.get<Params>().dimensions) i[at(d)] = c.in[0].aval.shape[d] - 1 - i[at(d)];
      return i;
    });
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int) {
    Movement m = identity_movement(in[0].ndim());
    for (int d : p.dimensions) m.dims[at(d)] = {.out_dim = d, .scale = -1, .offset = in[0].shape[d] - 1};
    return m;
  }
};

struct Tile : LinearMovement {
  static constexpr std::string_view name = "tile", doc = "The whole array repeated along each dimension.";
  using Params = TileParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    const auto& reps = c.get<Params>().reps;
    Shape out = c.in[0].shape;
    if (static_cast<int>(reps.size()) != out.size())
      c.fail<ShapeError>(fmt::format("reps ({}) does not have one entry for each of {} dimensions", fmt::join(reps, ", "), out.size()));
    for (int d = 0; d < out.size(); ++d) {
      if (reps[at(d)] < 0) c.fail<ShapeError>(fmt::format("reps ({}) has a negative entry", fmt::join(reps, ", ")));
      const std::optional<std::int64_t> size = checked_product(out[d], reps[at(d)]);
      if (!size) c.fail<ShapeError>(fmt::format("{} repetitions along axis {} are more elements than 64 bits can count", reps[at(d)], d));
      out[d] = *size;
    }
    return c.in[0].with_shape(out);
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_one(c, [&](const Array& ct, const Shape& in) {
      const auto& reps = c.get<Params>().reps;
      Shape split;
      std::vector<int> axes;
      for (int d = 0; d < in.size(); ++d) {
        axes.push_back(2 * d);
        split.push_back(reps[at(d)]), split.push_back(in[d]);
      }
      return reduce_sum(reshape_to(ct, split, c.loc), axes, c.loc);
    });
  }
  static BatchResult batch(const BatchContext& c) {
    return batched(c, Params{with_inserted(c.get<Params>().reps, c.dims[0], std::int64_t{1})}, c.in[0], c.dims[0]);
  }
  static void reference(const ReferenceContext& c) {
    reference_read(c.out[0], c.in[0], [&](Coordinates i) {
      for (std::size_t d = 0; d < i.size(); ++d) i[d] %= c.in[0].aval.shape[static_cast<int>(d)];
      return i;
    });
  }
  static Movement movement(const Params& p, std::span<const Aval> in, const Aval&, int) {
    Movement m = identity_movement(in[0].ndim());
    for (int d = 0; d < in[0].ndim(); ++d)
      if (p.reps[at(d)] != 1) m.dims[at(d)].modulus = in[0].shape[d];
    return m;
  }
};

const BlockParamsRule<BroadcastInDim> broadcast_block([](const ParamsBase& p, const Shape&, const Shape& out) {
  BroadcastInDimParams q = params_as<BroadcastInDimParams>(p);
  q.shape = out;
  return make_params(std::move(q));
});
const BlockParamsRule<Reshape> reshape_block([](const ParamsBase&, const Shape&, const Shape& out) {
  return make_params(ReshapeParams{{}, out});
});
/// Dimensions that stay sharded are whole in the slice.
const BlockParamsRule<Slice> slice_block([](const ParamsBase& p, const Shape& in, const Shape& out) {
  SliceParams q = params_as<SliceParams>(p);
  for (int d = 0; d < in.size(); ++d)
    if (q.start_indices[at(d)] == 0 && Slice::stride(q, d) == 1 && out[d] == in[d]) q.limit_indices[at(d)] = in[d];
  return make_params(std::move(q));
});

}  // namespace

bool keeps_order(const Movement& m, const Shape& in, const Shape& out) {
  if (m.reshape || m.guarded) return false;
  int last = -1;
  for (std::size_t d = 0; d < m.dims.size(); ++d) {
    const std::int64_t size = in[static_cast<int>(d)];
    const MovementDim& dim = m.dims[d];
    if (size == 1) continue;
    if (dim.out_dim <= last || dim.scale != 1 || dim.offset != 0 || dim.divisor != 1 || out[dim.out_dim] != size) return false;
    last = dim.out_dim;
  }
  return true;
}

std::optional<std::vector<int>> permutation_of(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out) {
  if (op.kind != Kind::movement || in.ndim() != out.ndim() || in.ndim() == 0) return {};
  const Movement m = op.movement(params, std::span(&in, 1), out, 0);
  if (m.reshape || m.guarded) return {};
  std::vector<int> permutation(m.dims.size(), -1);
  for (std::size_t d = 0; d < m.dims.size(); ++d) {
    const MovementDim& dim = m.dims[d];
    const std::int64_t size = in.shape[static_cast<int>(d)];
    if (dim.out_dim < 0 || dim.scale != 1 || dim.offset != 0 || dim.divisor != 1 || out.shape[dim.out_dim] != size) return {};
    if (permutation[at(dim.out_dim)] >= 0) return {};
    permutation[at(dim.out_dim)] = static_cast<int>(d);
  }
  return permutation;
}

Array broadcast_in_dim(const Array& x, const Shape& shape, const std::vector<int>& broadcast_dimensions, SourceLoc loc) {
  if (x.shape() == shape && is_identity(broadcast_dimensions)) return x;
  return bind_one<BroadcastInDim>({broadcast_dimensions, shape}, {x}, loc);
}
Array broadcast_trailing(const Array& x, const Shape& shape, SourceLoc loc) {
  std::vector<int> dims(at(x.ndim()));
  std::iota(dims.begin(), dims.end(), shape.size() - x.ndim());
  return broadcast_in_dim(x, shape, dims, loc);
}
Array reshape_to(const Array& x, const Shape& shape, SourceLoc loc) {
  return x.shape() == shape ? x : bind_one<Reshape>({std::nullopt, shape}, {x}, loc);
}
Array permute(const Array& x, const std::vector<int>& permutation, SourceLoc loc) {
  if (static_cast<int>(permutation.size()) == x.ndim() && is_identity(permutation)) return x;
  return bind_one<Transpose>({permutation}, {x}, loc);
}
Array move_axis(const Array& x, int from, int to, SourceLoc loc) {
  std::vector<int> permutation(at(x.ndim()));
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return permute(x, permutation, loc);
}
Array squeeze_axes(const Array& x, const std::vector<int>& axes, SourceLoc loc) {
  return axes.empty() ? x : bind_one<Squeeze>({axes}, {x}, loc);
}
Array insert_axes(const Array& x, const std::vector<int>& axes, SourceLoc loc) {
  Shape shape = x.shape();
  for (int axis : axes) shape = shape.inserted(axis, 1);
  std::vector<int> dims;
  for (int d = 0; d < shape.size(); ++d)
    if (!contains(axes, d)) dims.push_back(d);
  return broadcast_in_dim(x, shape, dims, loc);
}
Array slice_range(const Array& x, const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& limit,
                  const std::vector<std::int64_t>& strides, SourceLoc loc) {
  bool whole = true, unit = true;
  for (std::size_t d = 0; d < start.size(); ++d) {
    unit &= strides[d] == 1;
    whole &= start[d] == 0 && limit[d] == x.shape()[static_cast<int>(d)];
  }
  if (whole && unit) return x;
  return bind_one<Slice>({limit, start, unit ? std::nullopt : std::optional(strides)}, {x}, loc);
}
Array slice_axis(const Array& x, int axis, std::int64_t begin, std::int64_t end, SourceLoc loc) {
  std::vector<std::int64_t> start(at(x.ndim()), 0), limit(x.shape().begin(), x.shape().end());
  start[at(axis)] = begin, limit[at(axis)] = end;
  return slice_range(x, start, limit, std::vector<std::int64_t>(start.size(), 1), loc);
}
Array reverse(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return axes.empty() ? x : bind_one<Rev>({axes}, {x}, loc); }
Array fill_shape(const Array& scalar, const Shape& shape, SourceLoc loc) { return broadcast_in_dim(scalar, shape, {}, loc); }
Array tile_by(const Array& x, const std::vector<std::int64_t>& reps, SourceLoc loc) { return bind_one<Tile>({reps}, {x}, loc); }

PrimitiveList movement_primitives() {
  static constexpr const Primitive* list[] = {
      &primitive_of<BroadcastInDim>, &primitive_of<Reshape>, &primitive_of<Transpose>, &primitive_of<Squeeze>,
      &primitive_of<Slice>,          &primitive_of<Rev>,     &primitive_of<Tile>};
  return list;
}

const Primitive& slice_primitive() { return primitive_of<Slice>; }
const Primitive& reverse_primitive() { return primitive_of<Rev>; }

}  // namespace weft::detail
