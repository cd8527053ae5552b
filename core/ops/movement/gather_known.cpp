// Gathers at known positions. Positions that follow from those in the result, as start + stride * (position) along each dimension, are
// written so: kernels then read the operand in order, as they read a slice. Others are no better than a table, unless they are few: then
// the result is joined from slices, which a loop may keep in registers.
#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/known_indices.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"

namespace weft::detail {
namespace {

// The most slices that a result is joined from: in a loop, and elsewhere.
constexpr std::size_t kSlicesInLoop = 16, kSlices = 2;

/// start + sum of strides[d] * (position along dimension d).
struct Progression {
  std::int64_t start = 0;
  std::vector<std::int64_t> strides;
};

/// The starts of the windows, by component of the index vectors, row-major over the indices' other dimensions.
struct Starts {
  Shape shape;  ///< of the indices without the last dimension
  std::int64_t components = 0;
  std::vector<std::int64_t> of;
  std::int64_t at(std::int64_t window, std::int64_t component) const {
    return of[static_cast<std::size_t>(window * components + component)];
  }
  std::int64_t count() const { return components == 0 ? 0 : static_cast<std::int64_t>(of.size()) / components; }
};

/// The windows' starts where they are read; nothing where some windows are filled instead.
std::optional<Starts> starts_of(const KnownIndicesContext& c, const IndexedGeometry& g) {
  const auto& p = params_as<Gather::Params>(*c.eqn.params);
  Starts s{c.indices.aval.shape.erased(c.indices.aval.ndim() - 1), c.indices.aval.shape.back(), read_indices(c.indices)};
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    if (g.dims[d].component < 0) continue;
    const std::int64_t last = c.in[0].shape[static_cast<int>(d)] - g.dims[d].window;
    for (auto i = static_cast<std::size_t>(g.dims[d].component); i < s.of.size(); i += static_cast<std::size_t>(s.components)) {
      const std::int64_t inside = std::clamp(s.of[i], std::int64_t{0}, last);
      if (inside != s.of[i] && p.mode == GatherScatterMode::fill_or_drop) return {};
      s.of[i] = inside;
    }
  }
  return s;
}

std::optional<Progression> progression_of(const Starts& s, std::int64_t component) {
  const std::vector<std::int64_t> rows = row_major_strides(s.shape);
  Progression p{s.at(0, component), {}};
  for (int d = 0; d < s.shape.size(); ++d)
    p.strides.push_back(s.shape[d] > 1 ? s.at(rows[static_cast<std::size_t>(d)], component) - p.start : 0);
  for (std::int64_t window = 0; window < s.count(); ++window) {
    std::int64_t expected = p.start, rest = window;
    for (std::size_t d = 0; d < rows.size(); ++d) expected += rest / rows[d] * p.strides[d], rest %= rows[d];
    if (s.at(window, component) != expected) return {};
  }
  return p;
}

Array indices_of(const std::vector<Progression>& progressions, const Shape& shape, DType dtype, SourceLoc loc) {
  const Shape one = shape.inserted(shape.size(), 1);
  const auto number = [&](std::int64_t v) { return make_literal(Number(static_cast<long long>(v)), dtype); };
  std::vector<Array> components;
  for (const Progression& p : progressions) {
    Array at = fill_shape(number(p.start), one, loc);
    for (std::size_t d = 0; d < p.strides.size(); ++d)
      if (p.strides[d] != 0) at = at + iota_array(dtype, one, static_cast<int>(d), loc) * number(p.strides[d]);
    components.push_back(at);
  }
  return components.size() == 1 ? components[0] : concatenate_along(components, shape.size(), loc);
}

/// A range of positions with equal distances.
struct Run {
  std::int64_t start, stride, count;
};
std::vector<Run> runs_of(const Starts& s) {
  std::vector<Run> runs;
  for (std::int64_t i = 0; i < s.count(); ++i) {
    Run* const last = runs.empty() ? nullptr : &runs.back();
    const std::int64_t distance = last ? s.at(i, 0) - (last->start + (last->count - 1) * last->stride) : 0;
    if (last && distance != 0 && (last->count == 1 || last->stride == distance))
      last->stride = distance, ++last->count;
    else
      runs.push_back({s.at(i, 0), 1, 1});
  }
  return runs;
}

Array slice_of(const Array& x, int dim, const Run& r, SourceLoc loc) {
  const std::int64_t end = r.start + (r.count - 1) * r.stride;
  std::vector<std::int64_t> low(static_cast<std::size_t>(x.ndim())), high, strides(static_cast<std::size_t>(x.ndim()), 1);
  for (std::int64_t n : x.shape()) high.push_back(n);
  const auto d = static_cast<std::size_t>(dim);
  low[d] = std::min(r.start, end), high[d] = std::max(r.start, end) + 1, strides[d] = std::abs(r.stride);
  const Array part = slice_range(x, low, high, strides, loc);
  return r.stride < 0 ? reverse(part, {dim}, loc) : part;
}

/// The dimension of which the gather takes single positions, all of the others: the last one, and along one dimension of the indices.
std::optional<int> only_dimension(const Gather::Params& p, const Shape& operand, const Starts& s) {
  const int last = operand.size() - 1;
  if (p.dimension_numbers.start_index_map != std::vector{last} || p.dimension_numbers.collapsed_slice_dims != std::vector{last}) return {};
  if (!p.dimension_numbers.operand_batching_dims.empty()) return {};
  for (int d = 0; d < last; ++d)
    if (p.slice_sizes[d] != operand[d]) return {};
  int along = 0;
  for (std::int64_t n : s.shape) along += n > 1;
  return along == 1 ? std::optional(last) : std::nullopt;
}

std::optional<Jaxpr> known_gather(const KnownIndicesContext& c) {
  const auto& p = params_as<Gather::Params>(*c.eqn.params);
  const Shape& operand = c.in[0].shape;
  const int ndim = c.in[1].ndim() - 1 + static_cast<int>(p.dimension_numbers.offset_dims.size());
  const IndexedGeometry g = gather_geometry(p.dimension_numbers, p.slice_sizes, ndim);
  const std::optional<Starts> starts = starts_of(c, g);
  if (!starts || starts->count() == 0) return {};
  std::vector<Progression> progressions;
  for (std::int64_t k = 0; k < starts->components; ++k)
    if (const std::optional<Progression> line = progression_of(*starts, k)) progressions.push_back(*line);
  const auto program = [&](auto body) {
    return make_program("gather", {c.in.begin(), c.in.end()}, [&](std::span<const Array> in) { return std::vector<Array>{body(in[0])}; });
  };
  if (static_cast<std::int64_t>(progressions.size()) == starts->components) {
    const DType dtype = std::all_of(operand.begin(), operand.end(), [](std::int64_t n) { return n <= 0x7fffffff; }) ? int32 : int64;
    Gather::Params q = p;
    q.mode = GatherScatterMode::promise_in_bounds, q.indices_are_sorted = false;
    return program([&](const Array& x) {
      return bind_one<Gather>(std::move(q), {x, indices_of(progressions, starts->shape, dtype, c.eqn.loc)}, c.eqn.loc);
    });
  }
  const std::optional<int> dim = only_dimension(p, operand, *starts);
  if (!dim) return {};
  const std::vector<Run> runs = runs_of(*starts);
  if (runs.size() > (c.in_loop ? kSlicesInLoop : kSlices)) return {};
  return program([&](const Array& x) {
    std::vector<Array> parts;
    for (const Run& r : runs) parts.push_back(slice_of(x, *dim, r, c.eqn.loc));
    const Array joined = concatenate_along(parts, *dim, c.eqn.loc);
    std::size_t along = 0;
    while (starts->shape[static_cast<int>(along)] == 1) ++along;
    const Array placed = move_axis(joined, *dim, g.batch_dims[along] - static_cast<int>(along), c.eqn.loc);
    return reshape_to(placed, infer(*c.eqn.op, *c.eqn.params, c.in, c.eqn.loc)[0].shape, c.eqn.loc);
  });
}

const Rule<KnownIndicesTransform, Gather> gather_rule(known_gather);

}  // namespace
}  // namespace weft::detail
