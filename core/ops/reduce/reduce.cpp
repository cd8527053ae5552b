// Reductions over one or more axes: reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor.
#include "weft/core/ops/reduce/reduce.h"

#include <algorithm>

#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ir/low_bits.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/combine.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {

std::vector<std::int64_t> offsets_along(const Shape& shape, const std::vector<int>& dims) {
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> offsets{0};
  for (int d : dims) {
    std::vector<std::int64_t> finer;
    for (std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < shape[d]; ++i) finer.push_back(offset + i * strides[static_cast<std::size_t>(d)]);
    offsets = std::move(finer);
  }
  return offsets;
}

std::vector<int> other_dims(int ndim, const std::vector<int>& dims) {
  std::vector<int> others;
  for (int d = 0; d < ndim; ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) others.push_back(d);
  return others;
}

namespace {

void check_axes(const OpContext& c, const std::vector<int>& axes) {
  const int ndim = c.in[0].ndim();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= ndim)
      c.fail<AxisError>("axis " + std::to_string(axes[i]) + " is out of range", "axes are 0 to " + std::to_string(ndim - 1));
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) != axes.begin() + static_cast<std::ptrdiff_t>(i))
      c.fail<AxisError>("axis " + std::to_string(axes[i]) + " is given twice", "name each axis once");
  }
}

Shape without(const Shape& shape, const std::vector<int>& axes) {
  Shape out;
  for (int d : other_dims(shape.size(), axes)) out.push_back(shape[d]);
  return out;
}
/// The shape with size 1 along the axes.
Shape kept(Shape shape, const std::vector<int>& axes) {
  for (int a : axes) shape[a] = 1;
  return shape;
}

/// The axes after a mapped axis was inserted at `dim`.
std::vector<int> axes_around(std::vector<int> axes, int dim) {
  for (int& a : axes) a += a >= dim;
  return axes;
}
int dim_after(int dim, const std::vector<int>& removed) {
  return dim - static_cast<int>(std::count_if(removed.begin(), removed.end(), [&](int a) { return a < dim; }));
}

/// A reduction by a combiner.
template <class Op, Combiner C>
struct Reduce {
  static constexpr int num_operands = 1;
  static constexpr Kind kind = Kind::reduce;
  static constexpr Combiner combiner = C;
  using Params = ReduceParams;
  static constexpr Reduces reduces = Reduces::total;
  static std::span<const int> reduced_dims(const Params& p) { return p.axes; }

  static Aval abstract_eval(const OpContext& c) {
    const std::vector<int>& axes = c.get<Params>().axes;
    check_axes(c, axes);
    with_storage(c.in[0].dtype, [&]<class T>() {
      if constexpr (!combines<C, T>) c.fail<DTypeError>("not defined for " + std::string(c.in[0].dtype.name()), Op::accepts);
    });
    return c.in[0].with_shape(without(c.in[0].shape, axes));
  }
  static BatchResult batch(const BatchContext& c) {
    const std::vector<int> axes = axes_around(c.get<Params>().axes, c.dims[0]);
    return {{bind_one<Op>({axes}, {c.in[0]}, c.loc)}, {dim_after(c.dims[0], axes)}};
  }
  static void reference(const ReferenceContext& c) {
    const Shape& shape = c.in[0].aval.shape;
    const std::vector<int>& axes = c.get<Params>().axes;
    const auto starts = offsets_along(shape, other_dims(shape.size(), axes)), steps = offsets_along(shape, axes);
    with_storage(c.in[0].aval.dtype, [&]<class T>() {
      if constexpr (combines<C, T>) {
        const T* in = c.in[0].as<T>();
        T* out = c.out[0].as<T>();
        for (std::int64_t start : starts) {
          compute_t<T> total = reduction_identity<C, T>();
          for (std::int64_t step : steps) total = combine<C, compute_t<T>>(total, load_element(in[start + step]));
          if (steps.size() == 1) total = load_element(in[start]);  // taken as it is, a negative zero too
          *out++ = store_element<T>(total);
        }
      }
    });
  }
};

struct ReduceSum : Reduce<ReduceSum, Combiner::sum> {
  static constexpr std::string_view name = "reduce_sum", doc = "Sum over axes. Floats of 16 bits are added in float32.";
  static constexpr const char* accepts = "convert to a number type first, as sum() does";
  static std::vector<Tangent> jvp(const JvpContext& c) { return {reduce_sum(*c.tangents[0], c.get<Params>().axes, c.loc)}; }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent{}};
    const Shape& shape = c.in[0].aval.shape;
    return {broadcast_in_dim(*c.cotangents[0], shape, other_dims(shape.size(), c.get<Params>().axes), c.loc)};
  }
};

const Rule<LowBitsTransform, ReduceSum> reduce_sum_low_bits([] {});

constexpr ParamValue kReduceSumAdded[] = {{"out_sharding", "None"}};
const TextRule<ReduceSum> reduce_sum_text([] { return TextTraits{.added = kReduceSumAdded}; });

/// The product and its tangent along an axis, by a tree of products of two: right where factors are zero, to any order.
/// https://github.com/jax-ml/jax reduce_prod differentiates the same tree.
struct ProductTangent {
  Array value, tangent;
};
ProductTangent product_along(ProductTangent x, int axis, SourceLoc loc) {
  while (x.value.shape()[axis] > 1) {
    const std::int64_t n = x.value.shape()[axis], half = (n + 1) / 2;
    auto halves = [&](const Array& a, double fill) {
      Array upper = slice_axis(a, axis, half, n, loc);
      PaddingConfig config(static_cast<std::size_t>(a.ndim()));
      config[static_cast<std::size_t>(axis)].high = n % 2;
      if (n % 2) upper = pad_with(upper, scalar_like(a, fill), config, loc);
      return std::pair{slice_axis(a, axis, 0, half, loc), upper};
    };
    const auto [v1, v2] = halves(x.value, 1);
    const auto [t1, t2] = halves(x.tangent, 0);
    x = {v1 * v2, t1 * v2 + v1 * t2};
  }
  return x;
}

struct ReduceProd : Reduce<ReduceProd, Combiner::prod> {
  static constexpr std::string_view name = "reduce_prod", doc = "Product over axes.";
  static constexpr const char* accepts = "convert to a number type first, as prod() does";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const std::vector<int>& axes = c.get<Params>().axes;
    ProductTangent x{c.in[0], *c.tangents[0]};
    for (int axis : axes) {
      if (x.value.shape()[axis] == 0) return {Tangent{}};
      x = product_along(x, axis, c.loc);
    }
    return {reshape_to(x.tangent, c.out[0].shape(), c.loc)};
  }
};

/// Tangent of an extremum: ties share it equally.
std::vector<Tangent> extremum_jvp(const JvpContext& c) {
  const std::vector<int>& axes = c.get<ReduceParams>().axes;
  const Array& tangent = *c.tangents[0];
  const DType wide = wide_dtype(tangent.dtype());  // 16-bit floats don't hold the number of many ties
  const Array chosen = convert(c.in[0] == reshape_to(c.out[0], kept(c.in[0].shape(), axes), c.loc), wide);
  const Array total = reduce_sum(as_dtype(tangent, wide) * chosen, axes, c.loc);
  return {as_dtype(total / reduce_sum(chosen, axes, c.loc), tangent.dtype())};
}
struct ReduceMax : Reduce<ReduceMax, Combiner::max> {
  static constexpr std::string_view name = "reduce_max", doc = "Maximum over axes; NaN wins, and nothing gives the lowest value.";
  static constexpr const char* accepts = "complex numbers have no order";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return extremum_jvp(c); }
};
struct ReduceMin : Reduce<ReduceMin, Combiner::min> {
  static constexpr std::string_view name = "reduce_min", doc = "Minimum over axes; NaN wins, and nothing gives the highest value.";
  static constexpr const char* accepts = "complex numbers have no order";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return extremum_jvp(c); }
};

template <class Op, Combiner C>
struct BitReduce : Reduce<Op, C> {
  static constexpr const char* accepts = "it is for booleans and integers: compare with 0 first";
  static constexpr bool not_linear = true, zero_tangent = true;
};
struct ReduceAnd : BitReduce<ReduceAnd, Combiner::logical_and> {
  static constexpr std::string_view name = "reduce_and", doc = "Conjunction over axes, of booleans or bit by bit.";
};
struct ReduceOr : BitReduce<ReduceOr, Combiner::logical_or> {
  static constexpr std::string_view name = "reduce_or", doc = "Disjunction over axes, of booleans or bit by bit.";
};
struct ReduceXor : BitReduce<ReduceXor, Combiner::bit_xor> {
  static constexpr std::string_view name = "reduce_xor", doc = "Exclusive disjunction over axes, of booleans or bit by bit.";
};

/// The position of an extremum.
template <class Op, Combiner C>
struct ArgReduce {
  static constexpr Combiner combiner = C;
  static constexpr int num_operands = 1;
  static constexpr Kind kind = Kind::arg_reduce;
  static constexpr bool not_linear = true, zero_tangent = true;
  using Params = ArgReduceParams;
  static constexpr Reduces reduces = Reduces::position;
  static std::span<const int> reduced_dims(const Params& p) { return p.axes; }

  static Aval abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    if (p.axes.size() != 1)
      c.fail<AxisError>("takes one axis, got " + std::to_string(p.axes.size()), "flatten the array to search several axes");
    check_axes(c, p.axes);
    if (!p.index_dtype.is_integer())
      c.fail<DTypeError>("positions can't be of " + std::string(p.index_dtype.name()), "index_dtype is an integer type");
    if (c.in[0].dtype.is_complex())
      c.fail<DTypeError>("not defined for " + std::string(c.in[0].dtype.name()), "complex numbers have no order");
    if (c.in[0].shape[p.axes[0]] == 0)
      c.fail<ShapeError>("axis " + std::to_string(p.axes[0]) + " is empty", "an extremum needs at least one element");
    return {c.in[0].shape.erased(p.axes[0]), p.index_dtype};
  }
  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    const std::vector<int> axes = axes_around(p.axes, c.dims[0]);
    return {{bind_one<Op>({axes, p.index_dtype}, {c.in[0]}, c.loc)}, {dim_after(c.dims[0], axes)}};
  }
  static void reference(const ReferenceContext& c) {
    const Shape& shape = c.in[0].aval.shape;
    const std::vector<int>& axes = c.get<Params>().axes;
    const auto starts = offsets_along(shape, other_dims(shape.size(), axes)), steps = offsets_along(shape, axes);
    std::vector<std::int64_t> positions;
    with_storage(c.in[0].aval.dtype, [&]<class T>() {
      if constexpr (combines<C, T>) {
        const T* in = c.in[0].as<T>();
        for (std::int64_t start : starts) {
          std::size_t best = 0;
          for (std::size_t i = 1; i < steps.size(); ++i) {
            const auto v = load_element(in[start + steps[i]]), champion = load_element(in[start + steps[best]]);
            const bool better = C == Combiner::max ? v > champion : v < champion;
            if (champion == champion && (better || v != v)) best = i;
          }
          positions.push_back(static_cast<std::int64_t>(best));
        }
      }
    });
    with_storage(c.out[0].aval.dtype, [&]<class I>() {
      if constexpr (std::is_integral_v<I>)
        std::transform(positions.begin(), positions.end(), c.out[0].as<I>(), [](std::int64_t p) { return static_cast<I>(p); });
    });
  }
};
struct ArgMax : ArgReduce<ArgMax, Combiner::max> {
  static constexpr std::string_view name = "argmax", doc = "First position of the maximum along an axis; NaN wins.";
};
struct ArgMin : ArgReduce<ArgMin, Combiner::min> {
  static constexpr std::string_view name = "argmin", doc = "First position of the minimum along an axis; NaN wins.";
};

}  // namespace

Array reduce_sum(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return bind_one<ReduceSum>({axes}, {x}, loc); }
Array reduce_prod(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return bind_one<ReduceProd>({axes}, {x}, loc); }
Array reduce_max(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return bind_one<ReduceMax>({axes}, {x}, loc); }
Array reduce_min(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return bind_one<ReduceMin>({axes}, {x}, loc); }
Array reduce_and(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return bind_one<ReduceAnd>({axes}, {x}, loc); }
Array reduce_or(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return bind_one<ReduceOr>({axes}, {x}, loc); }
Array reduce_xor(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return bind_one<ReduceXor>({axes}, {x}, loc); }
Array arg_max(const Array& x, int axis, DType index_dtype, SourceLoc loc) { return bind_one<ArgMax>({{axis}, index_dtype}, {x}, loc); }
Array arg_min(const Array& x, int axis, DType index_dtype, SourceLoc loc) { return bind_one<ArgMin>({{axis}, index_dtype}, {x}, loc); }

PrimitiveList reduce_primitives() {
  static constexpr const Primitive* list[] = {
      &primitive_of<ArgMax>,   &primitive_of<ArgMin>,     &primitive_of<ReduceAnd>, &primitive_of<ReduceMax>, &primitive_of<ReduceMin>,
      &primitive_of<ReduceOr>, &primitive_of<ReduceProd>, &primitive_of<ReduceSum>, &primitive_of<ReduceXor>,
  };
  return list;
}

}  // namespace weft::detail
