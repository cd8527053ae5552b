#include "weft/core/ops/collective/rows_in_rounds.h"

#include <algorithm>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

struct InScope {
  std::vector<RowsInRounds> list;
};
std::vector<RowsInRounds>& in_scope() { return of_thread<InScope>().list; }

/// A dimension of `processes` times `from` positions as one with `to` for each process: the last ones go, or are repeated.
Array refilled(const Array& x, int dim, std::int64_t processes, std::int64_t from, std::int64_t to, SourceLoc loc) {
  if (from == to) return x;
  Array parts = reshape_to(x, x.shape().with(dim, from).inserted(dim, processes), loc);
  if (to < from) {
    parts = slice_axis(parts, dim + 1, 0, to, loc);
  } else {
    std::vector<Array> all{parts};
    const Array last = slice_axis(parts, dim + 1, from - 1, from, loc);
    for (std::int64_t i = from; i < to; ++i) all.push_back(last);
    parts = concatenate_along(all, dim + 1, loc);
  }
  return reshape_to(parts, x.shape().with(dim, processes * to), loc);
}

std::int64_t half(std::int64_t n) { return (n + 1) / 2; }

/// Elements 2 i + `first` along dimension 0.
Array every_other(const Array& x, std::int64_t first, std::int64_t count, SourceLoc loc) {
  std::vector<std::int64_t> start(static_cast<std::size_t>(x.ndim())), limit(x.shape().begin(), x.shape().end()),
      strides(static_cast<std::size_t>(x.ndim()), 1);
  start[0] = first, limit[0] = first + 2 * count - 1, strides[0] = 2;
  return slice_range(x, start, limit, strides, loc);
}

/// The sum of rows, along dimension 0: of neighbours first, then of neighbouring sums, and so on; what has no neighbour stays as it is.
/// That tree depends on nothing but the number of rows.
Array tree_sum(Array x, SourceLoc loc) {
  for (std::int64_t n = x.shape()[0]; n > 1; n = half(n)) {
    std::vector<Array> next{every_other(x, 0, n / 2, loc) + every_other(x, 1, n / 2, loc)};
    if (n % 2 == 1) next.push_back(slice_axis(x, 0, n - 1, n, loc));
    x = next.size() == 1 ? next[0] : concatenate_along(next, 0, loc);
  }
  return squeeze_axes(x, {0}, loc);
}

/// The same rows with their sum in the first one and zeros in the others: summing these in any order gives the same bits.
Array summed_in_first(const Array& x, int dim, SourceLoc loc) {
  const std::int64_t rows = x.shape()[dim];
  const bool is_half = x.dtype() == float16 || x.dtype() == bfloat16;  // rounded once
  const Array wide = is_half ? convert(x, float32) : x;
  const Array total = insert_axes(tree_sum(move_axis(wide, dim, 0, loc), loc), {dim}, loc);
  const Array zeros = zeros_of(total.aval().with_shape(x.shape().with(dim, rows - 1)), loc);
  const Array all = rows == 1 ? total : concatenate_along(std::vector<Array>{total, zeros}, dim, loc);
  return is_half ? convert(all, x.dtype()) : all;
}

/// A sum in the tree, of 2^level rows from row index * 2^level on, and where it is after the devices' sums were gathered.
struct Node {
  int level = 0;
  std::int64_t index = 0, slot = 0;
};

/// The sums that a device with rows [begin, begin + count) is left with when it has added all neighbours that it has both of: at each level
/// at most one on the left, whose neighbour is another device's, and one on the right.
std::vector<Node> sums_of(std::int64_t begin, std::int64_t count, std::int64_t first_slot) {
  std::vector<Node> out;
  for (int level = 0; count > 0; ++level) {
    if (begin % 2 == 1) out.push_back({level, begin, first_slot + 2 * level}), ++begin, --count;
    if (count % 2 == 1) out.push_back({level, begin + count - 1, first_slot + 2 * level + 1}), --count;
    begin /= 2, count /= 2;
  }
  return out;
}

std::int64_t levels_of(std::int64_t rows) {
  std::int64_t n = 0;
  for (; rows > 0; rows /= 2) ++n;
  return n;
}

/// The number of rows that count on the device at a position.
std::int64_t rows_at(const RowsInRounds& rows, std::int64_t position) {
  return std::clamp<std::int64_t>(rows.rows - position % rows.devices * rows.rounds, 0, rows.rounds);
}
std::int64_t first_row_at(const RowsInRounds& rows, std::int64_t position) {
  return position / rows.devices * rows.rows + std::min(position % rows.devices * rows.rounds, rows.rows);
}

/// The number that belongs to this device.
Array here(const RowsInRounds& rows, std::int64_t (*number)(const RowsInRounds&, std::int64_t), const Array& position) {
  Array out = make_literal(number(rows, 0), int32);
  for (std::int64_t k = 1; k < rows.devices * rows.processes; ++k)
    if (number(rows, k) != number(rows, k - 1)) out = where(position < make_literal(k, int32), out, make_literal(number(rows, k), int32));
  return out;
}

/// The sum of all rows that count, which are along dimension 0: as tree_sum has it, of sums that each device makes of its own rows. Only
/// those are gathered, two for each power of two up to the rows of a device.
Array joined_sum(const RowsInRounds& rows, const Array& x, SourceLoc loc) {
  LocScope scope(loc);
  const auto number = [](std::int64_t v) { return make_literal(v, int32); };
  const Array position = bind_axis_index(rows.axis, loc);
  Array begin = here(rows, first_row_at, position), count = here(rows, rows_at, position);
  const auto at = [&](const Array& list, const Array& i) {
    std::vector<Array> start(static_cast<std::size_t>(list.ndim()), number(0));
    start[0] = i;
    return dynamic_slice(list, start, list.shape().with(0, 1));
  };
  std::vector<Array> sums;
  Array now = x;
  for (std::int64_t length = rows.rounds; length > 0; length /= 2) {
    const Array first = slice_axis(now, 0, 0, 1, loc), zero = zeros_of(first.aval(), loc);
    const Array odd = logical_and(rem(begin, number(2)) == number(1), count > number(0));
    sums.push_back(where(odd, first, zero));
    if (length > 1) now = where(odd, concatenate_along(std::vector<Array>{slice_axis(now, 0, 1, length, loc), zero}, 0, loc), now);
    begin = begin + convert(odd, int32), count = count - convert(odd, int32);
    const Array left_over = rem(count, number(2)) == number(1);
    sums.push_back(where(left_over, at(now, maximum(count - number(1), number(0))), zero));
    begin = div(begin, number(2)), count = div(count, number(2));
    if (length > 1) now = every_other(now, 0, length / 2, loc) + every_other(now, 1, length / 2, loc);
  }
  const std::int64_t devices = rows.devices * rows.processes, total = rows.rows * rows.processes;
  const auto each = static_cast<std::int64_t>(sums.size());
  const Array gathered = bind_all_gather(concatenate_along(sums, 0, loc), {0, {}, {rows.axis}, devices, true}, loc);
  std::map<std::pair<int, std::int64_t>, Array> known;
  for (std::int64_t k = 0; k < devices; ++k)
    for (const Node& n : sums_of(first_row_at(rows, k), rows_at(rows, k), k * each))
      known[{n.level, n.index}] = squeeze_axes(slice_axis(gathered, 0, n.slot, n.slot + 1, loc), {0}, loc);
  const auto sum_at = [&](const auto& self, int level, std::int64_t index) -> Array {
    if (const auto found = known.find({level, index}); found != known.end()) return found->second;
    const Array left = self(self, level - 1, 2 * index);
    return (2 * index + 1) << (level - 1) >= total ? left : left + self(self, level - 1, 2 * index + 1);
  };
  int top = 0;
  while (std::int64_t{1} << top < total) ++top;
  return sum_at(sum_at, top, 0);
}

/// The rows of one device with those that don't count as zeros.
Array without_filling(const RowsInRounds& rows, const Array& x, int dim, SourceLoc loc) {
  LocScope scope(loc);
  const Array counted = here(rows, rows_at, bind_axis_index(rows.axis, loc));
  return where(iota_array(int32, x.shape(), dim, loc) < counted, x, zeros_of(x.aval(), loc));
}

/// The result of a collective that gives all rows one value, of partial results of each device; nothing for others.
std::optional<BatchResult> batch_of_partial_results(const RowsInRounds& rows, const BatchContext& c) {
  const bool all_mapped = std::none_of(c.dims.begin(), c.dims.end(), [](int d) { return d == kNotMapped; });
  if (collective_rules(c.op).exchange != Exchange::allreduce || collective_groups(c.op, *c.params) || !all_mapped) return {};
  std::vector<Array> one;  // row
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Array& x = c.in[i];
    const int dim = c.dims[i];
    if (x.dtype().is_bool()) return {};
    const bool is_half = x.dtype() == float16 || x.dtype() == bfloat16;  // rounded once
    if (c.op.combiner == Combiner::sum && x.dtype().is_integer()) {
      one.push_back(
          insert_axes(bind_psum(reduce_sum(without_filling(rows, x, dim, c.loc), {dim}, c.loc), {rows.axis}, {}, c.loc), {dim}, c.loc));
    } else if (c.op.combiner == Combiner::sum && 2 * levels_of(rows.rounds) < rows.rounds) {
      const Array wide = is_half ? convert(x, float32) : x;
      const Array total = joined_sum(rows, move_axis(wide, dim, 0, c.loc), c.loc);
      one.push_back(insert_axes(is_half ? convert(total, x.dtype()) : total, {dim}, c.loc));
    } else {
      return {};
    }
  }
  return c.op.batch({c.op, c.params, one, c.dims, {rows.axis, 1, {}}, c.loc});
}

}  // namespace

RowsScope::RowsScope(RowsInRounds rows) { in_scope().push_back(std::move(rows)); }
RowsScope::~RowsScope() { in_scope().pop_back(); }

const RowsInRounds* rows_joined_by(const Primitive& op, const ParamsBase& params, const MappedAxis& axis) {
  const auto& list = in_scope();
  if (list.empty() || op.kind != Kind::collective || list.back().axis != axis.name || list.back().rounds != axis.size) return nullptr;
  const std::vector<std::string> over = collective_axes(op, params);
  return std::count(over.begin(), over.end(), axis.name) > 0 ? &list.back() : nullptr;
}

BatchResult batch_over_rounds(const RowsInRounds& rows, const BatchContext& c) {
  if (std::optional<BatchResult> partial = batch_of_partial_results(rows, c)) return std::move(*partial);
  const std::int64_t filled = rows.rounds * rows.devices;
  const bool sums = c.op.combiner == Combiner::sum && !collective_groups(c.op, *c.params);
  std::vector<Array> all;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const int dim = c.dims[i];
    if (dim == kNotMapped) {
      all.push_back(c.in[i]);
      continue;
    }
    const Array gathered = bind_all_gather(c.in[i], {dim, {}, {rows.axis}, rows.devices * rows.processes, true}, c.loc);
    const Array counted = refilled(gathered, dim, rows.processes, filled, rows.rows, c.loc);
    all.push_back(sums && !counted.dtype().is_bool() ? summed_in_first(counted, dim, c.loc) : counted);
  }
  BatchResult r = c.op.batch({c.op, c.params, all, c.dims, {rows.axis, rows.rows * rows.processes, {}}, c.loc});
  for (std::size_t k = 0; k < r.out.size(); ++k) {
    const int dim = r.dims[k];
    if (dim == kNotMapped) continue;
    const Array whole = refilled(r.out[k], dim, rows.processes, rows.rows, filled, c.loc);
    std::vector<Array> start(static_cast<std::size_t>(whole.ndim()), make_literal(0, int32));
    start[static_cast<std::size_t>(dim)] = bind_axis_index(rows.axis, c.loc) * make_literal(rows.rounds, int32);
    r.out[k] = dynamic_slice(whole, start, whole.shape().with(dim, rows.rounds));
  }
  return r;
}

}  // namespace weft::detail
