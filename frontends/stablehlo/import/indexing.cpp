// Gathers and scatters.
#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/reduce/reduction_identity.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/import/regions.h"

namespace weft::detail::mlir {
namespace {

/// The dimension numbers' entries, which are in an attribute of their own.
class Numbers {
 public:
  Numbers(const OpCall& c, const char* name) : c_(c), from_(c.need(name)) {
    if (from_.kind != Attribute::Kind::dictionary) c.fail(std::string(name) + " is not a list of named entries");
  }
  std::vector<int> dims(std::string_view name) const {
    const Attribute* a = from_.find(name);
    std::vector<int> out;
    if (a)
      for (std::int64_t d : integers_of(*a, c_)) {
        if (d < 0 || d > 1000) c_.fail(std::string(name) + " has an entry that is not a dimension");
        out.push_back(static_cast<int>(d));
      }
    return out;
  }
  int dim(std::string_view name) const {
    const Attribute* a = from_.find(name);
    if (!a) return 0;
    if (a->kind != Attribute::Kind::integer || a->integer < 0 || a->integer > 1000) c_.fail(std::string(name) + " is not a dimension");
    return static_cast<int>(a->integer);
  }

 private:
  const OpCall& c_;
  const Attribute& from_;
};

/// The indices with their vectors along the last dimension, and the batching dimensions' numbers then.
Array with_vectors_last(const OpCall& c, const Array& indices, int vector_dim, std::vector<int>& batching) {
  const int n = indices.ndim();
  if (vector_dim > n) c.fail("index_vector_dim is not a dimension of the indices");
  if (vector_dim == n) return insert_axes(indices, {n}, c.loc);
  for (int& d : batching) {
    if (d == vector_dim) c.fail("index_vector_dim is a batching dimension");
    if (d > vector_dim) --d;
  }
  return move_axis(indices, vector_dim, n - 1, c.loc);
}

const Import gather_import(
    "stablehlo.gather",
    [](OpCall& c) -> Values {
      const Numbers numbers(c, "dimension_numbers");
      GatherDimensionNumbers n{numbers.dims("offset_dims"), numbers.dims("collapsed_slice_dims"), numbers.dims("start_index_map"),
                               numbers.dims("operand_batching_dims"), numbers.dims("start_indices_batching_dims")};
      const Array indices = with_vectors_last(c, c.in(1), numbers.dim("index_vector_dim"), n.start_indices_batching_dims);
      return {bind_one<Gather>({n, {}, c.flag("indices_are_sorted"), GatherScatterMode::clip, Shape(c.integers("slice_sizes")), false},
                               {c.in(0), indices}, c.loc)};
    },
    Elements::moved);

// PyTorch's index_select, for each of the leading batch_dims dimensions that the operand and the indices have in common.
const Import index_select_import(
    "stablehlo.torch_index_select",
    [](OpCall& c) -> Values {
      const Array &x = c.in(0), &indices = c.in(1);
      std::int64_t dim = c.integer("dim"), batch = c.integer("batch_dims");
      if (dim < 0) dim += x.ndim();
      if (batch < 0) batch += indices.ndim();
      if (dim < 0 || dim >= x.ndim() || batch < 0 || batch > dim || batch > indices.ndim())
        c.fail("dim must be a dimension of the operand, behind batch_dims dimensions of the operand and of the indices");
      const int selected = static_cast<int>(dim), batches = static_cast<int>(batch), positions = indices.ndim() - batches;
      GatherDimensionNumbers n;
      n.collapsed_slice_dims = n.start_index_map = {selected};
      Shape sizes = x.shape().with(selected, 1);
      for (int d = 0; d < x.ndim(); ++d) {
        if (d < batches) n.operand_batching_dims.push_back(d), n.start_indices_batching_dims.push_back(d), sizes[d] = 1;
        if (d >= batches && d != selected) n.offset_dims.push_back(d < selected ? d : d - 1 + positions);
      }
      return {bind_one<Gather>({n, {}, false, GatherScatterMode::clip, sizes, false}, {x, insert_axes(indices, {indices.ndim()}, c.loc)},
                               c.loc)};
    },
    Elements::moved);

/// The scatter that a region of two scalars is.
Array scatter_by(const OpCall& c, const Jaxpr& update, const ScatterParams& p, const Array& x, const Array& indices, const Array& updates) {
  const std::optional<Combiner> combiner = combiner_of(update);
  const auto bind = [&]<class Op>(const Op&) { return bind_one<Op>(ScatterParams(p), {x, indices, updates}, c.loc); };
  const bool bools = x.dtype().is_bool();
  if (gives_second(update))
    return bind_one<Scatter>({p.dimension_numbers, p.indices_are_sorted, p.mode, p.unique_indices, {}}, {x, indices, updates}, c.loc);
  if (!bools && !x.dtype().is_complex()) {
    if (combiner == Combiner::max) return bind(ScatterMax());
    if (combiner == Combiner::min) return bind(ScatterMin());
  }
  if (!bools && combiner == Combiner::sum) return bind(ScatterAdd());
  if (!bools && combiner == Combiner::prod) return bind(ScatterMul());
  if (!bools && is_program_of(update, "sub")) return bind(ScatterSub());
  if (update.data().num_consts != 0) c.fail("the region uses values from outside");
  return bind_one<Scatter>({p.dimension_numbers, p.indices_are_sorted, p.mode, p.unique_indices, {update}}, {x, indices, updates}, c.loc);
}

/// StableHLO leaves out the single elements that are outside, weft windows that do so in part. Room for them is made around the operand,
/// and cut off again.
struct Margin {
  PaddingConfig around;
  std::vector<std::int64_t> low, high;
  bool needed = false;
};
Margin margin_of(const ScatterDimensionNumbers& n, const Shape& operand, const Shape& updates) {
  Margin m;
  const IndexedGeometry g = scatter_geometry(n, operand.size(), updates);
  for (int d = 0; d < operand.size(); ++d) {
    const IndexedDim& dim = g.dims[static_cast<std::size_t>(d)];
    const std::int64_t room = dim.component >= 0 ? std::max<std::int64_t>(dim.window - 1, 0) : 0;
    m.needed |= room > 0;
    m.around.push_back({room, room, 0});
    m.low.push_back(room), m.high.push_back(room + operand[d]);
  }
  return m;
}

constexpr std::int64_t kFewIndices = 64;  // up to this many, indices that are computed from constants are computed here

/// The indices' values, where they are constants or a few that are computed from constants; else nothing.
std::optional<std::vector<std::int64_t>> known_starts(const Array& indices) {
  if (as_concrete(indices) || as_literal(indices)) return indices.to_vector<std::int64_t>();
  if (indices.aval().size() > kFewIndices) return {};
  const Array value = concrete_or_empty(indices);
  if (value.is_empty_handle()) return {};
  return convert(value, int64).to_vector<std::int64_t>();
}

/// Whether windows with these starts are all inside.
bool are_inside(const IndexedGeometry& g, const Shape& operand, const std::vector<std::int64_t>& starts, std::size_t length) {
  for (int d = 0; d < operand.size(); ++d) {
    const IndexedDim& dim = g.dims[static_cast<std::size_t>(d)];
    if (dim.component < 0) continue;
    for (std::size_t i = static_cast<std::size_t>(dim.component); i < starts.size(); i += length)
      if (starts[i] < 0 || starts[i] > operand[d] - dim.window) return false;
  }
  return true;
}

/// The only window of a scatter, known to be inside, where its region is one of the usual ones; it fuses with what computes the updates and
/// with what reads the result.
std::optional<Array> update_window(const OpCall& c, const Jaxpr& update, const IndexedGeometry& g, const Array& x,
                                   const std::vector<std::int64_t>& starts, const Array& updates) {
  const std::optional<Combiner> combiner = combiner_of(update);
  const bool replaces = gives_second(update),
             usual = combiner == Combiner::sum || combiner == Combiner::prod || combiner == Combiner::max || combiner == Combiner::min;
  if (!replaces && (!usual || x.dtype().is_bool() || x.dtype().is_complex())) return {};
  std::vector<std::int64_t> low, high, ones(g.dims.size(), 1);
  Shape window;
  std::vector<Array> operands{x, updates};
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    low.push_back(dim.component < 0 ? 0 : starts[static_cast<std::size_t>(dim.component)]);
    high.push_back(low.back() + dim.window);
    window.push_back(dim.window);
    operands.push_back(make_literal(Number(low.back()), int64));
  }
  operands[1] = reshape_to(updates, window, c.loc);
  if (!replaces) {
    const Array before = slice_range(x, low, high, ones, c.loc);
    operands[1] = combine_arrays(*combiner, before, operands[1]);
  }
  return bind_all<DynamicUpdateSlice>({}, operands, c.loc)[0];
}

/// The starts in the operand with its margin; those of windows that are outside of both stay so.
Array moved_starts(const OpCall& c, const ScatterDimensionNumbers& n, const Array& indices, const Shape& operand, const Margin& m) {
  std::vector<std::int64_t> size, low;
  for (int d : n.scatter_dims_to_operand_dims) size.push_back(operand[d]), low.push_back(m.low[static_cast<std::size_t>(d)]);
  const auto k = static_cast<std::int64_t>(size.size());
  const Array sizes = array_of_elements(size.data(), int64, k, {k}, {}, c.loc),
              room = array_of_elements(low.data(), int64, k, {k}, {}, c.loc);
  Array start = indices;
  if (start.dtype() == uint64) start = minimum(start, make_literal(Number((std::uint64_t{1} << 62)), uint64));
  start = convert(start, int64);
  // A start beyond the operand, or more than the margin before it, means no element inside.
  const Array above = minimum(start, sizes);
  const Array below = maximum(above, negative(room) - make_literal(Number(1), int64));
  return below + room;
}

const Import scatter_import("stablehlo.scatter", [](OpCall& c) -> Values {
  if (c.num_operands() < 3 || c.num_operands() % 2 == 0) c.fail("there must be as many updates as operands");
  const std::size_t n = (c.num_operands() - 1) / 2;
  const Numbers numbers(c, "scatter_dimension_numbers");
  ScatterParams p;
  p.dimension_numbers = {numbers.dims("update_window_dims"), numbers.dims("inserted_window_dims"),
                         numbers.dims("scatter_dims_to_operand_dims"), numbers.dims("input_batching_dims"),
                         numbers.dims("scatter_indices_batching_dims")};
  p.indices_are_sorted = c.flag("indices_are_sorted"), p.unique_indices = c.flag("unique_indices");
  Array indices = with_vectors_last(c, c.in(n), numbers.dim("index_vector_dim"), p.dimension_numbers.scatter_indices_batching_dims);
  Arrays xs, values;
  for (std::size_t i = 0; i < n; ++i) xs.push_back(promoted(c, i, 0, i)), values.push_back(promoted(c, n + 1 + i, 0, n + i));
  const Shape &operand = xs[0].shape(), &updates = values[0].shape();
  const std::vector<Jaxpr> regions = split_region(c, c.region(0), n);
  // What the primitive's own check says of wrong dimension numbers comes before they are used.
  infer(primitive_of<Scatter>, *make_params(Scatter::Params{p.dimension_numbers, false, p.mode, false, {}}),
        std::vector<Aval>{xs[0].aval(), indices.aval(), values[0].aval()}, c.loc);
  Margin margin = margin_of(p.dimension_numbers, operand, updates);
  const IndexedGeometry geometry = scatter_geometry(p.dimension_numbers, operand.size(), updates);
  const auto length = static_cast<std::size_t>(indices.shape().back());
  const bool one_window = p.dimension_numbers.operand_batching_dims.empty() &&
                          std::all_of(geometry.batch_dims.begin(), geometry.batch_dims.end(), [&](int d) { return updates[d] == 1; });
  std::optional<std::vector<std::int64_t>> starts;
  if (margin.needed || one_window) starts = known_starts(indices);
  if (starts && !are_inside(geometry, operand, *starts, length)) starts.reset();
  margin.needed = margin.needed && !starts && c.importer().partial_windows() == PartialWindows::by_element;
  if (margin.needed) indices = moved_starts(c, p.dimension_numbers, indices, operand, margin), p.indices_are_sorted = false;
  Values out;
  for (std::size_t i = 0; i < n; ++i) {
    const Array& x = xs[i];
    if (x.shape() != operand || values[i].shape() != updates) c.fail("its operands, or its updates, have different shapes");
    check_returns(c, "its region", regions[i], {{{}, x.dtype()}});
    if (starts && one_window)
      if (const std::optional<Array> y = update_window(c, regions[i], geometry, x, *starts, values[i])) {
        out.push_back(*y);
        continue;
      }
    const Array room = margin.needed ? pad_with(x, scalar(x, 0), margin.around, c.loc) : x;
    const Array y = scatter_by(c, regions[i], p, room, indices, values[i]);
    out.push_back(margin.needed ? slice_range(y, margin.low, margin.high, std::vector<std::int64_t>(margin.low.size(), 1), c.loc) : y);
  }
  return out;
});

}  // namespace
}  // namespace weft::detail::mlir
