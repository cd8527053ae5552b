// Reductions of whole dimensions and of windows, the selection of windows' elements, and functions mapped over elements.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/indexing.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/reduce/reduce_window.h"
#include "weft/core/trace/trace.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/import/regions.h"

namespace weft::detail::mlir {
namespace {

std::vector<Arg> args_of(const Arrays& xs, SourceLoc loc) {
  std::vector<Arg> out;
  for (const Array& x : xs) out.emplace_back(x, loc);
  return out;
}

/// The region, or the function in its place, as a function of two lists of scalars, for the operands' own dtypes: those of the starting
/// values may be wider.
Arrays combined(const OpCall& c, const Arrays& a, const Arrays& b) {
  Arrays all = a;
  all.insert(all.end(), b.begin(), b.end());
  if (c.op.regions.empty()) {
    const Attribute& called = c.need("called_computations");
    if (called.items.size() != 1) c.fail("one function must combine its elements");
    return c.importer().call(called.items[0].text, all, {}, c.op.place, c.loc);
  }
  return c.run_region(0, all);
}

struct Operands {
  Arrays xs, starts;
};
/// The types of what combines elements: a region's, or those of the function in its place.
std::vector<Type> combined_types(const OpCall& c) {
  if (!c.op.regions.empty()) return c.op.regions[0].types;
  const Attribute* called = c.find("called_computations");
  const Function* f = called && called->items.size() == 1 ? c.importer().module().find(called->items[0].text) : nullptr;
  return f ? f->body.types : std::vector<Type>();
}

/// Half of the operands are arrays, the other half the scalars to start from. Both are given the type in which elements are combined.
Operands halves(const OpCall& c) {
  const std::size_t n = c.num_operands() / 2;
  if (n == 0 || c.num_operands() % 2 != 0) c.fail("there must be one initial value for each operand");
  const std::vector<Type> types = combined_types(c);
  if (types.size() != 2 * n) c.fail(fmt::format("what combines its elements takes {} values, not {}", types.size(), 2 * n));
  Operands o;
  for (std::size_t i = 0; i < n; ++i) {
    if (c.in(i).dtype() != c.in(n + i).dtype()) c.fail("an operand and its initial value have different element types");
    if (c.in(i).shape() != c.in(0).shape()) c.fail("the operands have different shapes");
    o.xs.push_back(promoted(c, i, types[i])), o.starts.push_back(promoted(c, n + i, types[i]));
  }
  return o;
}

/// And, or and exclusive or of the bits of integers and bools.
std::optional<Array> reduced_bits(const Jaxpr& region, const Array& x, const Array& start, const std::vector<int>& axes, SourceLoc loc) {
  const std::optional<Combiner> combiner = combiner_of(region);
  if (!x.dtype().is_bool() && !x.dtype().is_integer()) return {};
  if (combiner == Combiner::logical_and) return bind_named("and", {start, reduce_and(x, axes, loc)}, loc);
  if (combiner == Combiner::logical_or) return bind_named("or", {start, reduce_or(x, axes, loc)}, loc);
  if (combiner == Combiner::bit_xor) return bind_named("xor", {start, reduce_xor(x, axes, loc)}, loc);
  return {};
}

/// The better of two elements, with their positions, as JAX writes it for argmax (GT) and argmin (LT): NaNs first, then the greatest or the
/// least, and of equal ones that of the least position.
Arrays better_of(const char* direction, const Array& x, const Array& at, const Array& y, const Array& other, SourceLoc loc) {
  const Array better = compare_arrays(direction, false, x, y, loc), is_nan = compare_arrays("NE", false, x, x, loc);
  const Array value = bind_named("or", {better, is_nan}, loc), same = compare_arrays("EQ", false, x, y, loc);
  const Array before = bind_named("and", {same, compare_arrays("LT", false, at, other, loc)}, loc);
  const Array position = bind_named("or", {value, before}, loc);
  return {bind_named("select_n", {value, y, x}, loc), bind_named("select_n", {position, other, at}, loc)};
}
bool is_better_of(const Jaxpr& region, const char* direction, const std::vector<Aval>& scalars, SourceLoc loc) {
  const Jaxpr expected =
      trace_jaxpr({"jit", scalars, {}}, [&](std::span<const Array> in) { return better_of(direction, in[0], in[1], in[2], in[3], loc); });
  return region.to_string() == expected.to_string();
}

/// Elements and their positions reduced to the greatest or least and where it is; nothing for other reductions of two arrays.
std::optional<Arrays> reduced_to_extremum(const OpCall& c, const Operands& o, const std::vector<int>& axes) {
  if (o.xs.size() != 2 || axes.size() != 1 || c.value(1).positions_along != axes[0]) return {};
  const DType t = o.xs[0].dtype(), positions = o.xs[1].dtype();
  const std::int64_t n = o.xs[0].shape()[axes[0]];
  if (n == 0 || !(t.is_integer() || t.is_floating()) || !positions.is_integer() || positions.itemsize() < 4 || n > (1 << 30)) return {};
  const std::vector<Aval> scalars{{{}, t}, {{}, positions}, {{}, t}, {{}, positions}};
  const Jaxpr region = c.region(0);
  const bool greatest = is_better_of(region, "GT", scalars, c.loc);
  if (!greatest && !is_better_of(region, "LT", scalars, c.loc)) return {};
  const Arg x(o.xs[0], c.loc);
  const ReduceOptions options{.dtype = positions, .keepdims = true};
  const Array at = greatest ? argmax(x, axes[0], options) : argmin(x, axes[0], options);
  const Array value = take_along_axis(x, Arg(at, c.loc), axes[0], {.mode = "promise_in_bounds"});
  const Array found = squeeze(Arg(value, c.loc), Axis(axes[0])), position = squeeze(Arg(at, c.loc), Axis(axes[0]));
  const auto start = [&](std::size_t i) { return broadcast_trailing(o.starts[i], found.shape(), c.loc); };
  return better_of(greatest ? "GT" : "LT", start(0), start(1), found, position, c.loc);
}

const Import reduce_import("stablehlo.reduce", [](OpCall& c) -> Values {
  const auto [xs, starts] = halves(c);
  const std::vector<int> axes = c.dims("dimensions");
  for (int a : axes)
    if (a >= xs[0].ndim() || std::count(axes.begin(), axes.end(), a) != 1)
      c.fail("dimensions names one that the operands lack, or one twice");
  if (xs.size() == 1 && !axes.empty())
    if (const std::optional<Array> known = reduced_bits(c.region(0), xs[0], starts[0], axes, c.loc)) return {*known};
  if (const std::optional<Arrays> found = reduced_to_extremum(c, {xs, starts}, axes)) return {found->begin(), found->end()};
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  auto combine = [&](const Arrays& a, const Arrays& b) { return combined(c, a, b); };
  if (axes.empty()) {
    // Each element on its own, combined with the start.
    std::vector<Aval> scalars;
    for (const Array& x : xs) scalars.push_back({{}, x.dtype()});
    scalars.insert(scalars.end(), scalars.begin(), scalars.begin() + static_cast<std::ptrdiff_t>(xs.size()));
    const std::int64_t n = xs[0].size();
    Arrays in;
    for (const Array& s : starts) in.push_back(s);
    for (const Array& x : xs) in.push_back(reshape_to(x, {n}, c.loc));
    std::vector<int> dims(in.size(), 0);
    std::fill(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(starts.size()), kNotMapped);
    Values out;
    for (const Array& y : eval_jaxpr(batch_program(c.region(0, scalars), {"", n}, dims, std::vector<int>(xs.size(), 0)).jaxpr, in))
      out.push_back(reshape_to(y, xs[0].shape(), c.loc));
    return out;
  }
  const Arrays out = reduce_with(args_of(xs, c.loc), args_of(starts, c.loc), combine, Axis(sorted));
  return {out.begin(), out.end()};
});

struct Window {
  Shape sizes, strides;
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
  ReduceWindowOptions options;
};
std::vector<int> small(const OpCall& c, const std::vector<std::int64_t>& v) {
  std::vector<int> out;
  for (std::int64_t x : v) {
    if (x < 1 || x > (1 << 30)) c.fail("a dilation is out of range");
    out.push_back(static_cast<int>(x));
  }
  return out;
}
Window window_of(const OpCall& c, int ndim) {
  const auto rank = static_cast<std::size_t>(ndim);
  Window w{Shape(c.integers("window_dimensions")), Shape(c.integers_or("window_strides", rank, 1)), c.pairs("padding", rank), {}};
  w.options.base_dilation = small(c, c.integers_or("base_dilations", rank, 1));
  w.options.window_dilation = small(c, c.integers_or("window_dilations", rank, 1));
  return w;
}

const Import reduce_window_import("stablehlo.reduce_window", [](OpCall& c) -> Values {
  const auto [xs, starts] = halves(c);
  const Window w = window_of(c, xs[0].ndim());
  const Arrays out = reduce_window_with(
      args_of(xs, c.loc), args_of(starts, c.loc), [&](const Arrays& a, const Arrays& b) { return combined(c, a, b); }, w.sizes, w.strides,
      Padding(w.padding), w.options);
  return {out.begin(), out.end()};
});

/// In any other case: the position of each window's chosen element by a reduction of (element, position), then a scatter.
Array select_and_scatter_by(const OpCall& c, const Array& x, const Array& source, const Array& start, const Jaxpr& update,
                            const Window& w) {
  const Array positions = reshape_to(iota_array(int64, {x.size()}, 0, c.loc), x.shape(), c.loc);
  const Array none = make_literal(Number(-1), int64), zero = make_literal(Number(0), int64);
  // The one of two elements that comes first in the window stays if the region selects it, in whatever order windows are gone through.
  auto choose = [&](const Arrays& a, const Arrays& b) -> Arrays {
    auto picks = [&](const Array& x0, const Array& x1) { return c.run_region(0, std::vector<Array>{x0, x1})[0]; };
    const Array in_order = bind_named("lt", {a[1], b[1]}, c.loc);
    const Array picked = bind_named("select_n", {in_order, bind_named("not", {picks(b[0], a[0])}, c.loc), picks(a[0], b[0])}, c.loc);
    const Array a_there = bind_named("ge", {a[1], zero}, c.loc), b_there = bind_named("ge", {b[1], zero}, c.loc);
    const Array first = bind_named("and", {a_there, bind_named("or", {picked, bind_named("not", {b_there}, c.loc)}, c.loc)}, c.loc);
    return {bind_named("select_n", {first, b[0], a[0]}, c.loc), bind_named("select_n", {first, b[1], a[1]}, c.loc)};
  };
  const Array chosen = reduce_window_with(args_of({x, positions}, c.loc), args_of({scalar(x, 0), none}, c.loc), choose, w.sizes, w.strides,
                                          Padding(w.padding), w.options)[1];
  const std::int64_t n = chosen.size();
  const Array flat = fill_shape(start, {x.size()}, c.loc);
  if (update.data().num_consts != 0) c.fail("the region uses values from outside");
  const Scatter::Params p{{{}, {0}, {0}, {}, {}}, false, GatherScatterMode::fill_or_drop, false, {update}};
  const Array out = bind_one<Scatter>(p, {flat, reshape_to(chosen, {n, 1}, c.loc), reshape_to(source, {n}, c.loc)}, c.loc);
  return reshape_to(out, x.shape(), c.loc);
}

const Import select_and_scatter_import("stablehlo.select_and_scatter", [](OpCall& c) -> Values {
  const Array &x = c.in(0), source = promoted(c, 1, 1, 1), start = promoted(c, 2, 1, 0);
  const Window w = window_of(c, x.ndim());
  const Aval element{{}, x.dtype()}, updated{{}, start.dtype()};
  const Jaxpr select = c.region(0, {element, element}), scatter = c.region(1, {updated, updated});
  check_returns(c, "its first region", select, {{{}, bool_}}), check_returns(c, "its second region", scatter, {updated});
  const bool ge = x.dtype().is_floating() && is_program_of(select, "ge"), le = x.dtype().is_floating() && is_program_of(select, "le");
  if ((!ge && !le) || updated.dtype != x.dtype() || combiner_of(scatter) != Combiner::sum)
    return {select_and_scatter_by(c, x, source, start, scatter, w)};
  SelectAndScatterParams p{
      w.padding, ge ? SelectPrim::ge : SelectPrim::le, {w.sizes.begin(), w.sizes.end()}, {w.strides.begin(), w.strides.end()}};
  const Array sums = select_and_scatter_add(source, x, std::move(p), c.loc);
  return {bind_named("add", {sums, start}, c.loc)};
});

const Import map_import("stablehlo.map", [](OpCall& c) -> Values {
  const Arrays xs = c.ins();
  if (xs.empty()) c.fail("there are no operands");
  std::vector<Aval> scalars;
  Arrays flat;
  const std::int64_t n = xs[0].size();
  const std::vector<int> dims_in_order = c.dims("dimensions");
  for (std::size_t d = 0; d < dims_in_order.size(); ++d)
    if (dims_in_order.size() != static_cast<std::size_t>(xs[0].ndim()) || dims_in_order[d] != static_cast<int>(d))
      c.fail("dimensions must be all dimensions of the operands in order");
  for (const Array& x : xs) {
    if (x.shape() != xs[0].shape()) c.fail("the operands have different shapes");
    scalars.push_back({{}, x.dtype()});
    flat.push_back(reshape_to(x, {n}, c.loc));
  }
  const Jaxpr region = c.region(0, scalars);
  const Hoisted h = hoist_consts(region);
  Arrays in = h.consts;
  in.insert(in.end(), flat.begin(), flat.end());
  std::vector<int> dims(h.consts.size(), kNotMapped);
  dims.resize(in.size(), 0);
  Values out;
  for (const Array& y : eval_jaxpr(batch_program(h.jaxpr, {"", n}, dims, std::vector<int>(region.data().outputs.size(), 0)).jaxpr, in))
    out.push_back(reshape_to(y, xs[0].shape(), c.loc));
  return out;
});

}  // namespace
}  // namespace weft::detail::mlir
