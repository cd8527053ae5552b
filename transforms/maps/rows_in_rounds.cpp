#include "weft/transforms/maps/rows_in_rounds.h"

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"

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

/// The same rows but for their sum, by a tree of elementwise additions, in the first and zeros in the others: however these are summed, the
/// result has the same bits. The tree depends on nothing but the number of rows.
Array summed_in_first(const Array& x, int dim, SourceLoc loc) {
  const std::int64_t rows = x.shape()[dim];
  const bool is_half = x.dtype() == float16 || x.dtype() == bfloat16;  // rounded once
  Array total = is_half ? convert(x, float32) : x;
  const auto zeros = [&](std::int64_t n) { return zeros_of(total.aval().with_shape(x.shape().with(dim, n)), loc); };
  for (std::int64_t n = rows; n > 1;) {
    const std::int64_t half = (n + 1) / 2;
    Array rest = slice_axis(total, dim, half, n, loc);
    if (n % 2 == 1) rest = concatenate_along(std::vector<Array>{rest, zeros(1)}, dim, loc);
    total = slice_axis(total, dim, 0, half, loc) + rest;
    n = half;
  }
  const Array all = rows == 1 ? total : concatenate_along(std::vector<Array>{total, zeros(rows - 1)}, dim, loc);
  return is_half ? convert(all, x.dtype()) : all;
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
