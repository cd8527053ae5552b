// select_and_gather_add, select_and_scatter_add: the derivatives of maxima and minima over windows.
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/combine.h"
#include "weft/core/ops/reduce/window_expand.h"
#include "weft/core/ops/reduce/window_params.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"

namespace weft::detail {
namespace {
constexpr std::string_view kSelectNames[] = {"ge", "le"};
}
std::string print_param(SelectPrim v) { return print_enum(v, kSelectNames); }
void read_param(ParamReader& r, SelectPrim& v) { read_enum(r, v, kSelectNames); }

namespace {

/// Goes through the windows in row-major order, giving visit() the position in x of the element that each chooses; -1 where it has none.
template <class F>
void each_choice(const HostTensor& x, const std::vector<WindowDim>& windows, SelectPrim select, F&& visit) {
  const std::vector<std::int64_t> strides = row_major_strides(x.aval.shape);
  const Shape out = window_shape(windows);
  if (out.num_elements() == 0) return;
  const std::size_t n = windows.size();
  std::vector<std::int64_t> at(n), tap(n);
  auto advance = [n](std::vector<std::int64_t>& counter, auto limit) {
    for (std::size_t d = n; d-- > 0; counter[d] = 0)
      if (++counter[d] < limit(d)) return true;
    return false;
  };
  with_storage(x.aval.dtype, [&]<class T>() {
    if constexpr (!is_complex_storage<T>) {
      const T* values = x.as<T>();
      std::int64_t window = 0;
      do {
        std::int64_t chosen = -1;
        do {
          std::int64_t p = 0;
          for (std::size_t d = 0; d < n && p >= 0; ++d) {
            const std::int64_t e = windows[d].element(at[d], tap[d]);
            p = e < 0 ? -1 : p + e * strides[d];
          }
          if (p < 0) continue;
          if (chosen >= 0) {
            const auto champion = load_element(values[chosen]), v = load_element(values[p]);
            if (select == SelectPrim::ge ? champion >= v : champion <= v) continue;
          }
          chosen = p;
        } while (advance(tap, [&](std::size_t d) { return windows[d].window; }));
        visit(window++, chosen);
      } while (advance(at, [&](std::size_t d) { return out[static_cast<int>(d)]; }));
    }
  });
}

void check_selected(const OpContext& c, const Aval& x) {
  if (x.dtype.is_complex()) c.fail<DTypeError>("not defined for " + std::string(x.dtype.name()), "complex numbers have no order");
  if (!c.in[0].dtype.is_inexact() && !c.in[0].dtype.is_integer())
    c.fail<DTypeError>("not defined for " + std::string(c.in[0].dtype.name()), "convert to a number type first");
}

template <class Op>
struct SelectAndAdd {
  static constexpr int num_operands = 2;
  static constexpr Kind kind = Kind::library;
  /// Linear in the first operand; what the second one chooses is locally constant.
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[0]) return {Tangent()};
    const Array operands[] = {*c.tangents[0], c.in[1]};
    return {bind_primitive(c.op, c.params, operands, c.loc)[0]};
  }
  static BatchResult batch(const BatchContext& c) {
    const Array a = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);
    const Array b = materialize_batch_dim(c.in[1], c.dims[1], c.axis.size, 0, c.loc);
    return {{bind_one<Op>(with_unit_window(c.get<typename Op::Params>(), 0), {a, b}, c.loc)}, {0}};
  }
};

struct SelectAndGatherAdd : SelectAndAdd<SelectAndGatherAdd> {
  static constexpr std::string_view name = "select_and_gather_add",
                                    doc = "Elements of the first operand where the second has the extremum of a window.";
  using Params = SelectAndGatherParams;
  static Aval abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    if (c.in[0].shape != c.in[1].shape) c.fail<ShapeError>("the operands differ in shape", "they must be equal");
    check_windows(c, p, c.in[1].ndim());
    check_selected(c, c.in[1]);
    return c.in[0].with_shape(checked_window_shape(c, windows_of(p, c.in[1].shape)));
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent(), Tangent()};
    const Params& p = c.get<Params>();
    if (std::any_of(p.window_dilation.begin(), p.window_dilation.end(), [](std::int64_t d) { return d != 1; }))
      throw TracerError("reduce_window: maxima and minima over dilated windows have no reverse derivative; use jvp", c.loc);
    // Dilation holes are filled with a value that is never selected.
    Array x = c.in[1].known();
    PaddingConfig holes;
    for (std::int64_t d : p.base_dilation) holes.push_back({0, 0, d - 1});
    const bool dilated = std::any_of(p.base_dilation.begin(), p.base_dilation.end(), [](std::int64_t d) { return d != 1; });
    if (dilated) x = pad_with(x, lowest(x.dtype(), p.select_prim), holes, c.loc);
    Array ct = select_and_scatter_add(*c.cotangents[0], x, {p.padding, p.select_prim, p.window_dimensions, p.window_strides}, c.loc);
    if (dilated) {
      const std::vector<std::int64_t> start(p.base_dilation.size(), 0), limit(x.shape().begin(), x.shape().end());
      ct = slice_range(ct, start, limit, p.base_dilation, c.loc);
    }
    return {ct, Tangent()};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    with_storage(c.in[0].aval.dtype, [&]<class T>() {
      const T* from = c.in[0].as<T>();
      T* to = c.out[0].as<T>();
      each_choice(c.in[1], windows_of(p, c.in[1].aval.shape), p.select_prim,
                  [&](std::int64_t window, std::int64_t at) { to[window] = at < 0 ? T{} : from[at]; });
    });
  }

 private:
  static Array lowest(DType dtype, SelectPrim select) {
    alignas(16) ScalarBits bits{};
    with_storage(dtype, [&]<class T>() {
      if constexpr (!is_complex_storage<T>) {
        const T v =
            store_element<T>(select == SelectPrim::ge ? reduction_identity<Combiner::max, T>() : reduction_identity<Combiner::min, T>());
        std::memcpy(bits.data(), &v, sizeof v);
      }
    });
    return make_literal(Aval{{}, dtype}, bits);
  }
};

struct SelectAndScatterAdd : SelectAndAdd<SelectAndScatterAdd> {
  static constexpr std::string_view name = "select_and_scatter_add",
                                    doc = "The first operand's elements added where the second has the extremum of a window.";
  using Params = SelectAndScatterParams;
  static Aval abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    check_windows(c, p, c.in[1].ndim());
    check_selected(c, c.in[1]);
    if (c.in[0].shape != window_shape(windows_of(p, c.in[1].shape)))
      c.fail<ShapeError>("there must be one element for each window", "the first operand has the shape that the reduction gives");
    return c.in[0].with_shape(c.in[1].shape);
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent(), Tangent()};
    const Params& p = c.get<Params>();
    const std::vector<std::int64_t> ones(p.window_dimensions.size(), 1);
    return {select_and_gather_add(*c.cotangents[0], c.in[1].known(),
                                  {ones, p.padding, p.select_prim, ones, p.window_dimensions, p.window_strides}, c.loc),
            Tangent()};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    with_storage(c.in[0].aval.dtype, [&]<class T>() {
      if constexpr (!std::is_same_v<T, bool>) {
        using V = std::conditional_t<std::is_integral_v<T>, std::uint64_t, compute_t<T>>;
        std::vector<V> sums(static_cast<std::size_t>(c.out[0].aval.size()));
        const T* from = c.in[0].as<T>();
        each_choice(c.in[1], windows_of(p, c.in[1].aval.shape), p.select_prim, [&](std::int64_t window, std::int64_t at) {
          if (at >= 0) sums[static_cast<std::size_t>(at)] += static_cast<V>(load_element(from[window]));
        });
        for (std::size_t i = 0; i < sums.size(); ++i) {
          if constexpr (std::is_integral_v<T>)
            c.out[0].as<T>()[i] = static_cast<T>(sums[i]);
          else
            c.out[0].as<T>()[i] = store_element<T>(sums[i]);
        }
      }
    });
  }
};

/// Also dimensions that windows divide side by side, where none crosses the border of a block.
template <class P>
std::vector<bool> without_crossings(const PartitionContext& c, const P& p, const ShardedValue& x) {
  std::vector<bool> keep = without_windows(p);
  for (std::size_t d = 0; d < keep.size(); ++d) {
    const std::int64_t window = p.window_dimensions[d], size = x.whole[static_cast<int>(d)];
    bool aligned = p.window_strides[d] == window && p.padding[d] == PadPairs::value_type(0, 0);
    if constexpr (HasDilation<P>) aligned = aligned && p.base_dilation[d] == 1 && p.window_dilation[d] == 1;
    for (const ShardedValue& operand : c.in) aligned = aligned && size % (window * c.partition.parts(operand.axes[d])) == 0;
    keep[d] = keep[d] || aligned;
  }
  return keep;
}

const PartitionRule<SelectAndGatherAdd> select_and_gather_partition([](const PartitionContext& c) {
  return partition_keeping(c, without_crossings(c, c.get<SelectAndGatherAdd::Params>(), c.in[0]));
});

const Rule<WindowExpansionTransform, SelectAndGatherAdd> select_and_gather_expansion([](const ParamsBase& p, std::span<const Aval> in) {
  return expand_choice(params_as<SelectAndGatherAdd::Params>(p), in);
});
const Rule<WindowExpansionTransform, SelectAndScatterAdd> select_and_scatter_expansion([](const ParamsBase& p, std::span<const Aval> in) {
  return expand_scatter_to_choice(params_as<SelectAndScatterAdd::Params>(p), in);
});

const PartitionRule<SelectAndScatterAdd> select_and_scatter_partition([](const PartitionContext& c) {
  return partition_keeping(c, without_crossings(c, c.get<SelectAndScatterAdd::Params>(), c.in[1]));
});

}  // namespace

Array select_and_gather_add(const Array& tangents, const Array& x, SelectAndGatherParams params, SourceLoc loc) {
  return bind_one<SelectAndGatherAdd>(std::move(params), {tangents, x}, loc);
}
Array select_and_scatter_add(const Array& source, const Array& x, SelectAndScatterParams params, SourceLoc loc) {
  return bind_one<SelectAndScatterAdd>(std::move(params), {source, x}, loc);
}

PrimitiveList select_window_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<SelectAndGatherAdd>, &primitive_of<SelectAndScatterAdd>};
  return list;
}

}  // namespace weft::detail
