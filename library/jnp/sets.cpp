#include "weft/library/jnp/sets.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/jnp/statistics.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace {

/// A number that a size depends on, or the size that was given.
std::int64_t size_of(const std::optional<Int>& given, const Array& count, const char* operation, const Arg& x) {
  if (given) {
    const std::int64_t size = *given;
    if (size < 0)
      throw ShapeError(fmt::format("{}: size is {}; it must not be negative", operation, size), detail::effective_loc(x.where()));
    return size;
  }
  const Array number = detail::concrete_or_empty(count);
  if (number.is_empty_handle())
    throw ConcretizationError(fmt::format("{}: the result's size depends on the value of {}, which is traced; give the size: {{.size = n}}",
                                          operation, to_string(x.aval())),
                              detail::effective_loc(x.where()));
  return number.item<std::int64_t>();
}
Array true_in_front(const Array& mask) { return concatenate({ones({1}, bool_), mask}); }
/// The positions of true elements, with 0 behind them.
Array places(const Array& mask, std::int64_t size) { return nonzero(mask, {.size = size})[0]; }
Array fill_of(const std::optional<Array>& fill, DType dtype, const Array& otherwise, SourceLoc loc) {
  return fill ? convert(Arg(*fill, loc), dtype) : otherwise;
}

/// Slices sorted, and which of them differ from the one before.
struct Sorted {
  Array values, order, first;
  std::int64_t count() const { return first.size(); }
};
/// Sorts a vector's elements, or a matrix's rows.
Sorted sorted_rows(const Array& rows, bool equal_nan, SourceLoc loc) {
  Array order;
  if (rows.ndim() == 1) {
    order = argsort(Arg(rows, loc));
  } else if (rows.shape()[1] == 0) {
    order = arange(rows.shape()[0], int32);
  } else {
    std::vector<Array> keys;
    for (std::int64_t k = rows.shape()[1]; k-- > 0;) keys.push_back(rows(slice(), k));
    order = lexsort(keys, 0);
  }
  const Array values = take(rows, order, 0, {.mode = "clip"});
  const std::int64_t n = rows.shape()[0];
  const Array before = values(slice(0, n - 1)), behind = values(slice(1, n));
  Array differs = before != behind;
  if (equal_nan && rows.dtype().is_inexact()) differs = differs & ~(isnan(before) & isnan(behind));
  return {values, order, true_in_front(rows.ndim() == 1 ? differs : any(differs, 1))};
}

/// unique_all of the flattened array. The number of different elements is known, or given in the options.
UniqueAll unique_of(const char* operation, const Arg& x, const UniqueAllOptions& options) {
  LocScope scope(x.where());
  const Array flat = ravel(x);
  const std::int64_t n = flat.size();
  if (n == 0) {
    const std::int64_t size = options.size ? std::int64_t{*options.size} : 0;
    if (size > 0 && !options.fill_value)
      throw ShapeError(
          fmt::format("{}: {} is empty; give a fill_value for the elements that size asks for", operation, to_string(x.aval())),
          detail::effective_loc(x.where()));
    const Array none_found = zeros({size}, int32);
    return {full({size}, fill_of(options.fill_value, flat.dtype(), zeros({}, flat.dtype()), x.where())), none_found,
            zeros(x.array().shape(), int32), none_found};
  }
  const Sorted s = sorted_rows(flat, options.equal_nan, x.where());
  const Array rank = cumsum(convert(s.first, int32), 0), found = rank(-1);
  const std::int64_t size = size_of(options.size, found, operation, x);
  const Array at = places(s.first, size), there = arange(size, int32) < found;
  Array values = s.values(at);
  if (options.fill_value) values = where(there, values, fill_of(options.fill_value, flat.dtype(), values, x.where()));
  // Each run ends where the next one begins; the last one at the end.
  const Array next = where(arange(1, size + 1, 1, int32) < found, places(s.first, size + 1)(slice(1, none)), n);
  return {values, s.order(at), reshape(zeros({n}, int32).at(s.order).set(rank - 1), x.array().shape()), where(there, next - at, 0)};
}

/// The values of x and y, each once, together and sorted; behind them what does not count.
struct Both {
  Array sorted;  ///< of size x.size() + y.size()
  Array valid;   ///< whether an element counts
  DType dtype() const { return sorted.dtype(); }
};
Both both_of(const char* operation, const Arg& x, const Arg& y) {
  const std::vector<Array> v = detail::promoted({ravel(x), ravel(y)}, x.where());
  std::vector<Array> values, valid;
  for (const Array& a : v) {
    const std::int64_t n = a.size();
    if (n == 0) continue;
    const UniqueAll u = unique_of(operation, Arg(a, x.where()), {.size = n, .equal_nan = true});
    values.push_back(u.values), valid.push_back(u.counts > 0);
  }
  if (values.empty()) return {zeros({0}, v[0].dtype()), zeros({0}, bool_)};
  const Array all = concatenate(values), counts = concatenate(valid);
  const Array order = lexsort({all, ~counts});
  return {all(order), counts(order)};
}
/// The marked elements of a sorted vector.
Array marked(const char* operation, const Arg& x, const Array& sorted, const Array& mask, const SetOptions& options,
             std::optional<double> default_fill) {
  const Array found = sum(mask);
  const std::int64_t size = size_of(options.size, found, operation, x);
  if (sorted.size() == 0) return full({size}, fill_of(options.fill_value, sorted.dtype(), zeros({}, sorted.dtype()), x.where()));
  const Array at = places(mask, size), values = sorted(at);
  const Array first = default_fill ? convert(Array(*default_fill), sorted.dtype()) : sorted(argmax(mask));
  const Array fill = fill_of(options.fill_value, sorted.dtype(), where(any(mask), first, zeros({}, sorted.dtype())), x.where());
  return where(arange(size, int32) < found, values, fill);
}

}  // namespace

UniqueAll unique_all(Arg x, UniqueAllOptions options) { return unique_of("unique_all", x, options); }
UniqueCounts unique_counts(Arg x, UniqueAllOptions options) {
  const UniqueAll u = unique_of("unique_counts", x, options);
  return {u.values, u.counts};
}
UniqueInverse unique_inverse(Arg x, UniqueAllOptions options) {
  const UniqueAll u = unique_of("unique_inverse", x, options);
  return {u.values, u.inverse_indices};
}
Array unique_values(Arg x, UniqueAllOptions options) { return unique_of("unique_values", x, options).values; }
Array unique(Arg x, AxisNumber axis, UniqueOptions options) {
  LocScope scope(x.where());
  const int a = detail::normalize_axis(axis, x.array().ndim(), "unique", x.aval(), x.where());
  const Array moved = moveaxis(x, a, 0);
  const std::int64_t n = moved.shape()[0];
  const Int asked = options.size;
  const std::optional<Int> given = std::int64_t{asked} == 0 ? std::optional<Int>{} : asked;
  if (n == 0) {
    if (!given) return x.array();
    throw ShapeError(fmt::format("unique: {} has no slices along axis {}", to_string(x.aval()), a), detail::effective_loc(x.where()));
  }
  const std::int64_t each = moved.size() / n;
  const Sorted s = sorted_rows(reshape(moved, {n, each}), true, x.where());
  const Array found = sum(s.first);
  const std::int64_t size = size_of(given, found, "unique", x);
  Array values = take(s.values, places(s.first, size), 0, {.mode = "clip"});
  if (options.fill_value)
    values = where(expand_dims(arange(size, int32) < found, 1), values, convert(Arg(*options.fill_value), moved.dtype()));
  Shape shape = moved.shape();
  shape[0] = size;
  return moveaxis(reshape(values, shape), 0, a);
}

Array union1d(Arg x, Arg y, SetOptions options) {
  LocScope scope(x.where());
  const std::vector<Array> v = detail::promoted({ravel(x), ravel(y)}, x.where());
  return unique_of("union1d", Arg(concatenate(v), x.where()), {.size = options.size, .fill_value = options.fill_value, .equal_nan = true})
      .values;
}
Array intersect1d(Arg x, Arg y, SetOptions options) {
  LocScope scope(x.where());
  const Both b = both_of("intersect1d", x, y);
  if (b.sorted.size() == 0) return marked("intersect1d", x, b.sorted, b.valid, options, {});
  const Array twice = concatenate({(b.sorted(slice(none, -1)) == b.sorted(slice(1, none))) & b.valid(slice(1, none)), zeros({1}, bool_)});
  return marked("intersect1d", x, b.sorted, twice, options, {});
}
Array setdiff1d(Arg x, Arg y, SetOptions options) {
  LocScope scope(x.where());
  const Array flat = ravel(x);
  if (flat.size() == 0) return marked("setdiff1d", x, flat, zeros({0}, bool_), options, 0.);
  const UniqueAll u = unique_of("setdiff1d", Arg(flat, x.where()), {.size = flat.size(), .equal_nan = true});
  return marked("setdiff1d", x, u.values, (u.counts > 0) & ~isin(u.values, y), options, 0.);
}
Array setxor1d(Arg x, Arg y, SetOptions options) {
  LocScope scope(x.where());
  const Both b = both_of("setxor1d", x, y);
  if (b.sorted.size() == 0) return marked("setxor1d", x, b.sorted, b.valid, options, {});
  const Array same = (b.sorted(slice(none, -1)) == b.sorted(slice(1, none))) & b.valid(slice(1, none)), end = zeros({1}, bool_);
  return marked("setxor1d", x, b.sorted, b.valid & ~concatenate({same, end}) & ~concatenate({end, same}), options, {});
}

}  // namespace weft
