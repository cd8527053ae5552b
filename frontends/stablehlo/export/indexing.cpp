// Gathers, scatters and sorts.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/frontends/stablehlo/export/spelling.h"

namespace weft::detail::mlir {
namespace {

/// `key = [1, 2]` for each list that is not empty, and the dimension of the index vector.
std::string dimension_numbers(const std::vector<std::pair<const char*, const std::vector<int>*>>& lists, int index_vector_dim) {
  std::string s;
  for (const auto& [key, list] : lists)
    if (!list->empty()) s += fmt::format("{} = [{}], ", key, list_text(*list));
  return s + fmt::format("index_vector_dim = {}", index_vector_dim);
}

/// Positions in a type that holds every position of the array, signed.
Array wide_indices(const Array& indices) {
  return indices.dtype() == int32 || indices.dtype() == int64 ? indices : convert(indices, int64);
}

/// The last position of each component of the index vector at which the window is inside: a vector like the indices' last dimension.
Array last_starts(const Array& indices, const std::vector<int>& dims, const Shape& operand, const Shape& window) {
  std::vector<std::int64_t> last;
  for (const int d : dims) last.push_back(operand[d] - window[d]);
  const Array all =
      array_of_elements(last.data(), int64, static_cast<std::int64_t>(last.size()), {static_cast<std::int64_t>(last.size())}, {}, {});
  return broadcast_trailing(convert(all, indices.dtype()), indices.shape(), {});
}

Name gathered(ExportCall& c, const Name& operand, const Name& indices) {
  const auto& p = c.get<Gather::Params>();
  const GatherDimensionNumbers& n = p.dimension_numbers;
  const std::string numbers = dimension_numbers({{"offset_dims", &n.offset_dims},
                                                 {"collapsed_slice_dims", &n.collapsed_slice_dims},
                                                 {"operand_batching_dims", &n.operand_batching_dims},
                                                 {"start_indices_batching_dims", &n.start_indices_batching_dims},
                                                 {"start_index_map", &n.start_index_map}},
                                                indices.aval.ndim() - 1);
  return c.op("stablehlo.gather", {operand, indices},
              fmt::format("dimension_numbers = #stablehlo.gather<{}>, indices_are_sorted = {}, {}", numbers, p.indices_are_sorted,
                          attribute("slice_sizes", p.slice_sizes)));
}

/// StableHLO's moves windows inside; what is to be filled is chosen beside.
const Spelling gather_spelling("gather", [](ExportCall& c) -> Names {
  const auto& p = c.get<Gather::Params>();
  const GatherDimensionNumbers& n = p.dimension_numbers;
  const Name operand = c.in[0], indices = c.expand_one({c.in[1]}, [](auto x) { return wide_indices(x[0]); });
  const Name windows = gathered(c, operand, indices);
  if (p.mode != GatherScatterMode::fill_or_drop || n.start_index_map.empty()) return {windows};
  const Name inside = c.expand_one({indices}, [&](auto x) {
    const int last = x[0].ndim() - 1;
    const Array ok = (x[0] >= scalar_like(x[0], 0)) & (x[0] <= last_starts(x[0], n.start_index_map, operand.aval.shape, p.slice_sizes));
    // The indices' other dimensions are those of the result that are not the windows'.
    std::vector<int> batch;
    for (int d = 0; d < c.out[0].ndim(); ++d)
      if (std::find(n.offset_dims.begin(), n.offset_dims.end(), d) == n.offset_dims.end()) batch.push_back(d);
    return broadcast_in_dim(reduce_and(ok, {last}, {}), c.out[0].shape, batch, {});
  });
  ScalarBits fill{};
  store_fill(p.fill_value, c.out[0].dtype, fill.data());
  const Name filled = c.block.broadcast(c.block.constant(fill.data(), {{}, c.out[0].dtype}), c.out[0].shape);
  return {c.op("stablehlo.select", {inside, windows, filled})};
});

/// StableHLO's leaves windows out that are not wholly inside. `region` combines two scalars.
Names scattered(ExportCall& c, const ScatterParams& p, const std::string& region) {
  const ScatterDimensionNumbers& n = p.dimension_numbers;
  const Shape& shape = c.in[0].aval.shape;
  const Name indices = c.expand_one({c.in[1]}, [&](auto x) {
    const Array at = wide_indices(x[0]);
    if (p.mode != GatherScatterMode::clip || n.scatter_dims_to_operand_dims.empty()) return at;
    const IndexedGeometry g = scatter_geometry(n, shape.size(), c.in[2].aval.shape);
    Shape window;
    for (const IndexedDim& d : g.dims) window.push_back(d.window);
    return minimum(maximum(at, scalar_like(at, 0)), last_starts(at, n.scatter_dims_to_operand_dims, shape, window));
  });
  const std::string numbers = dimension_numbers({{"update_window_dims", &n.update_window_dims},
                                                 {"inserted_window_dims", &n.inserted_window_dims},
                                                 {"input_batching_dims", &n.operand_batching_dims},
                                                 {"scatter_indices_batching_dims", &n.scatter_indices_batching_dims},
                                                 {"scatter_dims_to_operand_dims", &n.scatter_dims_to_operand_dims}},
                                                indices.aval.ndim() - 1);
  return {c.op("stablehlo.scatter", {c.in[0], indices, c.in[2]},
               fmt::format("indices_are_sorted = {}, scatter_dimension_numbers = #stablehlo.scatter<{}>, unique_indices = {}",
                           p.indices_are_sorted, numbers, p.unique_indices),
               region)};
}
template <Literal Combine>
Names scatter_by(ExportCall& c) {
  return scattered(c, c.get<ScatterParams>(), c.combining(Combine, c.out[0].dtype));
}
const Spelling scatter_add_spelling("scatter-add", scatter_by<"stablehlo.add">),
    scatter_mul_spelling("scatter-mul", scatter_by<"stablehlo.multiply">),
    scatter_max_spelling("scatter-max", scatter_by<"stablehlo.maximum">),
    scatter_min_spelling("scatter-min", scatter_by<"stablehlo.minimum">);
const Spelling scatter_sub_spelling("scatter-sub", [](ExportCall& c) -> Names {
  // For bools a difference is a sum.
  return scattered(c, c.get<ScatterParams>(),
                   c.combining(c.out[0].dtype.is_bool() ? "stablehlo.xor" : "stablehlo.subtract", c.out[0].dtype));
});
const Spelling scatter_spelling("scatter", [](ExportCall& c) -> Names {
  const auto& p = c.get<Scatter::Params>();
  const Aval element{{}, c.out[0].dtype};
  const Aval both[] = {element, element};
  const std::string region = c.block.region(both, [&](BlockWriter& b, const Names& xs) -> Names {
    return p.update_jaxpr.jaxpr ? b.write(*p.update_jaxpr.jaxpr, xs) : Names{xs[1]};
  });
  return scattered(c, {p.dimension_numbers, p.indices_are_sorted, p.mode, p.unique_indices}, region);
});

// Sorting, by a region that compares as JAX's does: zeros of one sign, NaN of one kind and last, keys one after the other.

/// What a key is compared by: complex numbers by two.
std::vector<Array> key_parts(const Array& x) {
  if (x.dtype().is_complex()) {
    std::vector<Array> both = key_parts(real(x));
    for (Array& y : key_parts(imag(x))) both.push_back(std::move(y));
    return both;
  }
  if (!x.dtype().is_floating()) return {x};
  const Array zero = scalar_like(x, 0), nan = scalar_like(x, std::numeric_limits<double>::quiet_NaN());
  return {where(x != x, nan, where(x == zero, zero, x))};
}

const Spelling sort_spelling("sort", [](ExportCall& c) -> Names {
  const auto& p = c.get<Sort::Params>();
  std::vector<Aval> sides;
  for (const Name& x : c.in) sides.insert(sides.end(), 2, {{}, x.aval.dtype});
  const std::string region = c.block.region(sides, [&](BlockWriter& b, const Names& xs) -> Names {
    ExportCall inner(c.eqn, xs, {{{}, bool_}}, b);
    Names of_a, of_b;
    for (std::size_t k = 0; k < static_cast<std::size_t>(p.num_keys); ++k)
      for (std::size_t side = 0; side < 2; ++side)
        for (Name& n : inner.expand({xs[2 * k + side]}, [](auto x) { return key_parts(x[0]); }))
          (side ? of_b : of_a).push_back(std::move(n));
    std::optional<Name> less;
    for (std::size_t k = of_a.size(); k-- > 0;) {
      Name first = compared(inner, "LT", of_a[k], of_b[k], true);
      if (less) {
        const Name equal = compared(inner, "EQ", of_a[k], of_b[k], true);
        first = inner.op("stablehlo.or", {first, inner.op("stablehlo.and", {equal, *less})});
      }
      less = first;
    }
    return {*less};
  });
  return c.block.op("stablehlo.sort", c.in, fmt::format("dimension = {} : i64, is_stable = {}", p.dimension, p.is_stable), c.out, region);
});

/// chlo's is along the last dimension, of numbers.
const Spelling top_k_spelling("top_k", [](ExportCall& c) -> Names {
  const auto& p = c.get<TopKLargest::Params>();
  const int last = c.in[0].aval.ndim() - 1;
  const bool bools = c.in[0].aval.dtype.is_bool();
  const Name x = c.expand_one(c.in, [&](auto xs) {
    const Array moved = move_axis(xs[0], p.axis, last, {});
    return bools ? convert(moved, uint8) : moved;
  });
  const Shape shape = x.aval.shape.with(last, p.k);
  const Aval out[] = {{shape, x.aval.dtype}, {shape, int32}};
  return c.expand(c.block.op("chlo.top_k", {x}, attribute("k", p.k), out), [&](auto ys) -> std::vector<Array> {
    const Array values = move_axis(ys[0], last, p.axis, {});
    return {bools ? convert(values, bool_) : values, move_axis(ys[1], last, p.axis, {})};
  });
});

}  // namespace
}  // namespace weft::detail::mlir
