// Reductions of dimensions and of windows, running reductions, and choices from windows.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/reduce/reduce_window.h"
#include "weft/core/ops/reduce/reduction_identity.h"
#include "weft/core/ops/reduce/window_expand.h"
#include "weft/frontends/stablehlo/export/spelling.h"

namespace weft::detail::mlir {
namespace {

bool is_small(DType t) { return t.is_floating() && t.itemsize() == 2; }

/// The bits that leave others as they are: of a conjunction all.
Name identity(BlockWriter& b, Combiner combiner, DType t) {
  if (combiner == Combiner::logical_and) {
    ScalarBits ones{};
    std::fill_n(ones.begin(), t.itemsize(), t.is_bool() ? std::byte{1} : std::byte{0xff});
    return b.constant(ones.data(), {{}, t});
  }
  if (combiner == Combiner::logical_or || combiner == Combiner::bit_xor) return b.number(t, Number(0));
  return b.constant(identity_of(combiner, t));
}

Name reduced(ExportCall& c, std::string_view combine, Combiner combiner, const Name& x, const std::vector<int>& axes) {
  const DType t = x.aval.dtype;
  const Name start = identity(c.block, combiner, t);
  const Aval out{c.out[0].shape, t};
  return c.block.op("stablehlo.reduce", {x, start}, attribute("dimensions", axes), std::span(&out, 1), c.combining(combine, t))[0];
}
/// Sums and products of 16-bit floats are made in float32.
template <Literal Combine, Combiner C>
Names reduction(ExportCall& c) {
  const std::vector<int>& axes = c.get<ReduceParams>().axes;
  if (axes.empty()) return c.in;
  const bool wide = is_small(c.out[0].dtype) && (C == Combiner::sum || C == Combiner::prod);
  const Name x = wide ? converted(c, c.in[0], float32) : c.in[0];
  return {converted(c, reduced(c, Combine, C, x, axes), c.out[0].dtype)};
}
const Spelling reduce_sum_spelling("reduce_sum", reduction<"stablehlo.add", Combiner::sum>),
    reduce_prod_spelling("reduce_prod", reduction<"stablehlo.multiply", Combiner::prod>),
    reduce_max_spelling("reduce_max", reduction<"stablehlo.maximum", Combiner::max>),
    reduce_min_spelling("reduce_min", reduction<"stablehlo.minimum", Combiner::min>),
    reduce_and_spelling("reduce_and", reduction<"stablehlo.and", Combiner::logical_and>),
    reduce_or_spelling("reduce_or", reduction<"stablehlo.or", Combiner::logical_or>),
    reduce_xor_spelling("reduce_xor", reduction<"stablehlo.xor", Combiner::bit_xor>);

/// Values and positions together: the better value, and of equal ones, or of NaN, the first.
template <Literal Better, Combiner C>
Names position_of_extremum(ExportCall& c) {
  const auto& p = c.get<ArgReduceParams>();
  const Name& x = c.in[0];
  const DType t = x.aval.dtype, index = p.index_dtype;
  const Aval at{x.aval.shape, index};
  const Name positions = c.block.line(fmt::format("stablehlo.iota dim = {} : {}", p.axes[0], type_text(at)), std::span(&at, 1))[0];
  const Aval sides[] = {{{}, t}, {{}, index}, {{}, t}, {{}, index}};
  const std::string region = c.block.region(sides, [&](BlockWriter& b, const Names& xs) -> Names {
    ExportCall inner(c.eqn, xs, {{{}, bool_}}, b);
    const Name &v = xs[0], &i = xs[1], &w = xs[2], &k = xs[3];
    const Name picked = inner.op("stablehlo.or", {compared(inner, Better, v, w, false), compared(inner, "NE", v, v, false)});
    const Name same_first = inner.op("stablehlo.and", {compared(inner, "EQ", v, w, false), compared(inner, "LT", i, k, false)});
    const Name first = inner.op("stablehlo.or", {picked, same_first});
    return {inner.op_of("stablehlo.select", {picked, v, w}, "", v.aval), inner.op_of("stablehlo.select", {first, i, k}, "", i.aval)};
  });
  const Aval out[] = {{c.out[0].shape, t}, c.out[0]};
  return {c.block.op("stablehlo.reduce", {x, positions, identity(c.block, C, t), c.block.number(index, Number(0))},
                     attribute("dimensions", p.axes), out, region)[1]};
}
const Spelling argmax_spelling("argmax", position_of_extremum<"GT", Combiner::max>),
    argmin_spelling("argmin", position_of_extremum<"LT", Combiner::min>);

/// A program of two lists of scalars as a region.
std::string program_region(ExportCall& c, const Jaxpr& j) {
  const auto inputs = j.data().input_avals();
  std::vector<Aval> sides(inputs.begin(), inputs.end());
  return c.block.region(sides, [&](BlockWriter& b, const Names& xs) { return b.write(j, xs); });
}
const Spelling reduce_spelling("reduce", [](ExportCall& c) -> Names {
  const auto& p = c.get<ReduceProgramParams>();
  return c.block.op("stablehlo.reduce", c.in, attribute("dimensions", p.dimensions), c.out, program_region(c, p.jaxpr));
});

// Windows.

std::vector<std::vector<std::int64_t>> rows_of(const PadPairs& padding) {
  std::vector<std::vector<std::int64_t>> rows;
  for (const auto& [low, high] : padding) rows.push_back({low, high});
  return rows;
}
template <class P>
std::string window_attributes(const P& p) {
  return attribute("base_dilations", p.base_dilation) + ", " + matrix_attribute("padding", rows_of(p.padding), 2) + ", " +
         attribute("window_dilations", p.window_dilation) + ", " + attribute("window_dimensions", p.window_dimensions) + ", " +
         attribute("window_strides", p.window_strides);
}

template <Literal Combine, Combiner C>
Names window_reduction(ExportCall& c) {
  const auto& p = c.get<ReduceWindowParams>();
  const bool wide = is_small(c.out[0].dtype) && C == Combiner::sum;
  const Name x = wide ? converted(c, c.in[0], float32) : c.in[0];
  const DType t = x.aval.dtype;
  const Aval out{c.out[0].shape, t};
  return {converted(c,
                    c.block.op("stablehlo.reduce_window", {x, identity(c.block, C, t)}, window_attributes(p), std::span(&out, 1),
                               c.combining(Combine, t))[0],
                    c.out[0].dtype)};
}
const Spelling window_sum_spelling("reduce_window_sum", window_reduction<"stablehlo.add", Combiner::sum>),
    window_max_spelling("reduce_window_max", window_reduction<"stablehlo.maximum", Combiner::max>),
    window_min_spelling("reduce_window_min", window_reduction<"stablehlo.minimum", Combiner::min>);
const Spelling reduce_window_spelling("reduce_window", [](ExportCall& c) -> Names {
  const auto& p = c.get<ReduceWindowProgramParams>();
  return c.block.op("stablehlo.reduce_window", c.in, window_attributes(p), c.out, program_region(c, p.jaxpr));
});

/// Windows that begin with the array, and end where each of its positions is, or the other way round.
Name running(ExportCall& c, const Name& x, const Name& start, const std::string& region) {
  const auto& p = c.get<CumulativeParams>();
  const auto rank = static_cast<std::size_t>(x.aval.ndim()), axis = static_cast<std::size_t>(p.axis);
  const std::vector<std::int64_t> ones(rank, 1);
  std::vector<std::int64_t> window = ones;
  PadPairs padding(rank, {0, 0});
  const std::int64_t n = x.aval.shape[p.axis];
  if (n == 0) return x;
  window[axis] = n;
  (p.reverse ? padding[axis].second : padding[axis].first) = n - 1;
  return c.block.op("stablehlo.reduce_window", {x, start}, window_attributes(ReduceWindowParams{ones, padding, ones, window, ones}),
                    std::span(&x.aval, 1), region)[0];
}
template <Literal Combine, Combiner C>
Names cumulative(ExportCall& c) {
  const bool wide = is_small(c.out[0].dtype) && (C == Combiner::sum || C == Combiner::prod);
  const Name x = wide ? converted(c, c.in[0], float32) : c.in[0];
  return {converted(c, running(c, x, identity(c.block, C, x.aval.dtype), c.combining(Combine, x.aval.dtype)), c.out[0].dtype)};
}
const Spelling cumsum_spelling("cumsum", cumulative<"stablehlo.add", Combiner::sum>),
    cumprod_spelling("cumprod", cumulative<"stablehlo.multiply", Combiner::prod>),
    cummax_spelling("cummax", cumulative<"stablehlo.maximum", Combiner::max>),
    cummin_spelling("cummin", cumulative<"stablehlo.minimum", Combiner::min>);
const Spelling cumlogsumexp_spelling("cumlogsumexp", [](ExportCall& c) -> Names {
  const Name x = is_small(c.out[0].dtype) ? converted(c, c.in[0], float32) : c.in[0];
  const Aval scalar{{}, x.aval.dtype};
  const Aval both[] = {scalar, scalar};
  const std::string region = c.block.region(both, [&](BlockWriter& b, const Names& xs) -> Names {
    ExportCall inner(c.eqn, xs, {scalar}, b);
    return {inner.expand_one(xs, [](auto v) {
      const Array high = maximum(v[0], v[1]), low = minimum(v[0], v[1]);
      // Equal infinities differ by NaN.
      return where(high == low, high + log1p(scalar_like(high, 1)), high + log1p(exp(low - high)));
    })};
  });
  return {converted(c, running(c, x, identity(c.block, Combiner::max, x.aval.dtype), region), c.out[0].dtype)};
});

/// Zeros, with elements added where the windows' greatest or least are.
const Spelling select_and_scatter_spelling("select_and_scatter_add", [](ExportCall& c) -> Names {
  const auto& p = c.get<SelectAndScatterParams>();
  const Name &source = c.in[0], &x = c.in[1];
  const DType t = x.aval.dtype;
  const Aval scalar{{}, t};
  const Aval both[] = {scalar, scalar};
  const std::string_view direction = p.select_prim == SelectPrim::ge ? "GE" : "LE";
  const std::string select = c.block.region(both, [&](BlockWriter& b, const Names& xs) -> Names {
    ExportCall inner(c.eqn, xs, {{{}, bool_}}, b);
    return {compared(inner, direction, xs[0], xs[1], false)};
  });
  return {c.op("stablehlo.select_and_scatter", {x, source, c.block.number(t, Number(0))},
               matrix_attribute("padding", rows_of(p.padding), 2) + ", " + attribute("window_dimensions", p.window_dimensions) + ", " +
                   attribute("window_strides", p.window_strides),
               select + ", " + c.combining("stablehlo.add", t))};
});

/// Elements with their tangents and positions: of two the one that is chosen, of equal ones the first.
const Spelling select_and_gather_spelling("select_and_gather_add", [](ExportCall& c) -> Names {
  const auto& p = c.get<SelectAndGatherParams>();
  const Name &tangents = c.in[0], &x = c.in[1];
  const DType t = x.aval.dtype;
  const Aval scalar{{}, t}, place{{}, int64};
  const Name positions = c.expand_one({}, [&](auto) { return reshape_to(iota_array(int64, {x.aval.size()}, 0, {}), x.aval.shape, {}); });
  const Aval sides[] = {scalar, scalar, place, scalar, scalar, place};
  const std::string_view better = p.select_prim == SelectPrim::ge ? "GT" : "LT";
  const std::string region = c.block.region(sides, [&](BlockWriter& b, const Names& xs) -> Names {
    ExportCall inner(c.eqn, xs, {{{}, bool_}}, b);
    const Name &v = xs[0], &i = xs[2], &w = xs[3], &k = xs[5], none = b.number(int64, Number(0));
    auto both = [&](const Name& m, const Name& n) { return inner.op("stablehlo.and", {m, n}); };
    auto either = [&](const Name& m, const Name& n) { return inner.op("stablehlo.or", {m, n}); };
    // Beside the array there is nothing, at position -1.
    const Name wins =
        either(compared(inner, better, v, w, false), both(compared(inner, "EQ", v, w, false), compared(inner, "LT", i, k, false)));
    const Name first = both(compared(inner, "GE", i, none, false), either(wins, compared(inner, "LT", k, none, false)));
    Names chosen;
    for (std::size_t n = 0; n < 3; ++n) chosen.push_back(inner.op_of("stablehlo.select", {first, xs[n], xs[n + 3]}, "", xs[n].aval));
    return chosen;
  });
  const Aval out[] = {c.out[0], c.out[0], {c.out[0].shape, int64}};
  const Name zero = c.block.number(t, Number(0));
  return {c.block.op(
      "stablehlo.reduce_window", {x, tangents, positions, zero, zero, c.block.number(int64, Number(-1))},
      window_attributes(ReduceWindowParams{p.base_dilation, p.padding, p.window_dilation, p.window_dimensions, p.window_strides}), out,
      region)[1]};
});

}  // namespace
}  // namespace weft::detail::mlir
