// reduce_window_sum, reduce_window_max, reduce_window_min.
#include <memory>

#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/combine.h"
#include "weft/core/ops/reduce/window_params.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

bool is_trivial(const WindowDim& d) { return d.window == 1 && d.stride == 1 && d.base_dilation == 1 && d.low == 0 && d.high == 0; }

template <class Op, Combiner C>
struct ReduceWindow {
  static constexpr int num_operands = 1;
  static constexpr Kind kind = Kind::reduce_window;
  static constexpr Combiner combiner = C;
  using Params = ReduceWindowParams;

  static Aval abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    check_windows(c, p, c.in[0].ndim());
    with_storage(c.in[0].dtype, [&]<class T>() {
      if constexpr (!combines<C, T>) c.fail<DTypeError>("not defined for " + std::string(c.in[0].dtype.name()), Op::accepts);
    });
    return c.in[0].with_shape(checked_window_shape(c, windows_of(p, c.in[0].shape)));
  }
  static BatchResult batch(const BatchContext& c) {
    return {{bind_one<Op>(with_unit_window(c.get<Params>(), c.dims[0]), {c.in[0]}, c.loc)}, {c.dims[0]}};
  }
  /// One dimension after the other: a window's reduction is that of its rows' reductions.
  static void reference(const ReferenceContext& c) {
    with_storage(c.in[0].aval.dtype, [&]<class T>() {
      if constexpr (combines<C, T>) {
        using V = compute_t<T>;
        Shape shape = c.in[0].aval.shape;
        const std::vector<WindowDim> windows = windows_of(c.get<Params>(), shape);
        std::unique_ptr<V[]> values(new V[static_cast<std::size_t>(shape.num_elements())]);
        for (std::int64_t i = 0; i < shape.num_elements(); ++i) values[static_cast<std::size_t>(i)] = load_element(c.in[0].as<T>()[i]);
        for (int d = 0; d < shape.size(); ++d) {
          const WindowDim& w = windows[static_cast<std::size_t>(d)];
          if (is_trivial(w)) continue;
          const Shape next = shape.with(d, w.positions());
          std::int64_t outer = 1, inner = 1;
          for (int i = 0; i < d; ++i) outer *= shape[i];
          for (int i = d + 1; i < shape.size(); ++i) inner *= shape[i];
          std::unique_ptr<V[]> reduced(new V[static_cast<std::size_t>(next.num_elements())]);
          std::fill_n(reduced.get(), next.num_elements(), reduction_identity<C, T>());
          for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t i = 0; i < next[d]; ++i)
              for (std::int64_t k = 0; k < w.window; ++k) {
                const std::int64_t e = w.element(i, k);
                if (e < 0) continue;
                V* to = reduced.get() + (o * next[d] + i) * inner;
                const V* from = values.get() + (o * shape[d] + e) * inner;
                for (std::int64_t q = 0; q < inner; ++q) to[q] = combine<C, V>(to[q], from[q]);
              }
          values = std::move(reduced);
          shape = next;
        }
        for (std::int64_t i = 0; i < shape.num_elements(); ++i) c.out[0].as<T>()[i] = store_element<T>(values[static_cast<std::size_t>(i)]);
      }
    });
  }
};

struct ReduceWindowSum : ReduceWindow<ReduceWindowSum, Combiner::sum> {
  static constexpr std::string_view name = "reduce_window_sum", doc = "Sums over sliding windows.";
  static constexpr const char* accepts = "convert to a number type first";
  static std::vector<Tangent> jvp(const JvpContext& c) { return {reduce_window_sum(*c.tangents[0], c.get<Params>(), c.loc)}; }
  /// The cotangent, dilated by the stride, summed over windows of the same size (jax's _reduce_window_sum_transpose_rule).
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent()};
    const Params& p = c.get<Params>();
    Params q = p;
    PaddingConfig config;
    for (const WindowDim& d : windows_of(p, c.in[0].aval.shape)) {
      const auto [low, high] = padding_back(d);
      config.push_back({low, high, d.stride - 1});
    }
    q.window_strides = p.base_dilation;
    std::fill(q.base_dilation.begin(), q.base_dilation.end(), 1);
    std::fill(q.padding.begin(), q.padding.end(), PadPairs::value_type(0, 0));
    const Array& ct = *c.cotangents[0];
    return {reduce_window_sum(pad_with(ct, scalar_like(ct, 0), config, c.loc), q, c.loc)};
  }
};

/// The tangent at the place of the extremum.
std::vector<Tangent> chosen_tangent(const JvpContext& c, SelectPrim select) {
  const ReduceWindowParams& p = c.get<ReduceWindowParams>();
  return {select_and_gather_add(*c.tangents[0], c.in[0],
                                {p.base_dilation, p.padding, select, p.window_dilation, p.window_dimensions, p.window_strides}, c.loc)};
}
struct ReduceWindowMax : ReduceWindow<ReduceWindowMax, Combiner::max> {
  static constexpr std::string_view name = "reduce_window_max", doc = "Maxima over sliding windows; NaN wins.";
  static constexpr const char* accepts = "complex numbers have no order";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return chosen_tangent(c, SelectPrim::ge); }
};
struct ReduceWindowMin : ReduceWindow<ReduceWindowMin, Combiner::min> {
  static constexpr std::string_view name = "reduce_window_min", doc = "Minima over sliding windows; NaN wins.";
  static constexpr const char* accepts = "complex numbers have no order";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return chosen_tangent(c, SelectPrim::le); }
};

}  // namespace

Array reduce_window_sum(const Array& x, ReduceWindowParams params, SourceLoc loc) {
  return bind_one<ReduceWindowSum>(std::move(params), {x}, loc);
}
Array reduce_window_max(const Array& x, ReduceWindowParams params, SourceLoc loc) {
  return bind_one<ReduceWindowMax>(std::move(params), {x}, loc);
}
Array reduce_window_min(const Array& x, ReduceWindowParams params, SourceLoc loc) {
  return bind_one<ReduceWindowMin>(std::move(params), {x}, loc);
}

PrimitiveList reduce_window_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<ReduceWindowMax>, &primitive_of<ReduceWindowMin>,
                                              &primitive_of<ReduceWindowSum>};
  return list;
}

}  // namespace weft::detail
