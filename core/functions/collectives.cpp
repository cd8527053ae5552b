#include "weft/core/functions/collectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/errors/called_name.h"
#include "weft/core/errors/given_text.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/varying.h"

namespace weft {

AxisName::AxisName(const char* name, SourceLoc loc)
    : names_{detail::given_text(name, "the name of an axis", detail::effective_loc(loc))}, loc_(loc) {}

namespace detail {
namespace {

/// The names of an axis argument, checked to be in scope, and the product of their sizes. Throws AxisError for one that is not in scope.
struct BoundAxis {
  std::vector<std::string> names;
  std::int64_t size = 1;
  SourceLoc loc;
};
BoundAxis bound(const char* op, const AxisName& axis) {
  BoundAxis b{axis.names(), 1, axis.where()};
  const SourceLoc loc = effective_loc(axis.where());
  if (b.names.empty()) throw AxisError(fmt::format("{}: no axis is named; give the axis_name of a map around it", op), loc);
  for (const std::string& name : b.names) {
    const AxisFrame* frame = find_axis(name);
    if (!frame) {
      std::vector<std::string> scope = axes_in_scope();
      const bool unnamed = std::erase_if(scope, [](const std::string& known) { return known.starts_with(kUnnamedAxis); }) > 0;
      std::string remedy = "call it inside a vmap, pmap or shard_map with axis_name = \"" + name + "\"";
      if (unnamed) remedy = "give the pmap around it axis_name = \"" + name + "\"";
      if (!scope.empty()) remedy = fmt::format("in scope: `{}`; name one of these, or {}", fmt::join(scope, "`, `"), remedy);
      throw AxisError(fmt::format("{}: there is no axis named `{}` in scope; {}", op, name, remedy), loc);
    }
    if (std::count(b.names.begin(), b.names.end(), name) > 1)
      throw AxisError(fmt::format("{}: the axis `{}` is named twice", op, name), loc);
    b.size *= frame->size;
  }
  return b;
}

/// Checks the groups against the axis, and makes `size` that of a group; of groups of different sizes, where they may be, that of the
/// first.
IndexGroups groups_of(const char* op, const AxisIndexGroups& groups, BoundAxis& axis, bool of_one_size = true) {
  if (groups.empty()) return {};
  const auto fail = [&](const std::string& problem) {
    throw AxisError(fmt::format("{}: axis_index_groups {}", op, problem), effective_loc(axis.loc));
  };
  if (axis.names.size() != 1)
    fail(fmt::format("are groups of one axis, and `{}` are named; name one, or leave the groups out", fmt::join(axis.names, "`, `")));
  std::vector<int> seen(static_cast<std::size_t>(axis.size));
  for (const auto& group : groups) {
    if (of_one_size && group.size() != groups[0].size())
      fail(fmt::format("are of different sizes, {} and {}; make them equal", groups[0].size(), group.size()));
    for (int i : group) {
      if (i < 0 || i >= axis.size)
        fail(fmt::format("hold the position {}; those of the axis `{}` are 0 to {}", i, axis.names[0], axis.size - 1));
      if (seen[static_cast<std::size_t>(i)]++) fail(fmt::format("hold the position {} twice; each must be in one group", i));
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i]) fail(fmt::format("leave out the position {}; each must be in one group", i));
  axis.size = static_cast<std::int64_t>(groups[0].size());
  return groups;
}

/// Exchange over several axes. The dimension that is split becomes one dimension for each axis, along which that axis exchanges; their
/// positions together are the sender's.
Array exchange_over(const Array& x, const BoundAxis& b, int split, int concat, bool tiled) {
  Shape parts = x.shape().with(split, x.shape()[split] / b.size);
  for (std::size_t k = b.names.size(); k-- > 0;) parts = parts.inserted(split, find_axis(b.names[k])->size);
  Array y = reshape_to(x, parts, b.loc);
  int d = split;
  for (const std::string& name : b.names) {
    y = bind_all_to_all(y, {{}, name, find_axis(name)->size, d, d, false}, b.loc);
    ++d;
  }
  // (..., sender, part of the split dimension, ...); without tiles the part has one element, and the sender goes where concat says.
  const Shape whole = x.shape().with(split, x.shape()[split] / b.size);
  y = reshape_to(y, whole.inserted(split, b.size), b.loc);
  if (!tiled) return move_axis(squeeze_axes(y, {split + 1}, b.loc), split, concat, b.loc);
  y = move_axis(y, split, concat, b.loc);
  return reshape_to(y, whole.with(concat, whole[concat] * b.size), b.loc);
}

bool is_number(const Array& x) { return as_literal(x) && x.aval().weak; }

// Under check_vma the derivative of an extremum depends on whether its result is replicated, which is only known while variance is tracked.
void check_extremum(const char* op, const BoundAxis& b) {
  if (varying_over(b.names) && !notes_varying())
    throw Error(
        fmt::format(
            "{}: over `{}` in a function with a derivative rule of its own, or in one that the library calls, inside a shard_map; set "
            "check_vma = false in the shard_map",
            op, fmt::join(b.names, "`, `")),
        effective_loc(b.loc));
}

}  // namespace

Array psum_of(const Array& x, const AxisName& axis, const GroupOptions& options) {
  BoundAxis b = bound("psum", axis);
  const IndexGroups groups = groups_of("psum", options.axis_index_groups, b, false);
  const auto& lists = options.axis_index_groups;
  const bool of_one_size = std::all_of(lists.begin(), lists.end(), [&](const auto& group) { return group.size() == lists[0].size(); });
  if (is_number(x) && of_one_size) {
    const Number n = number_of(*as_literal(x));
    if (x.dtype().is_bool() || x.dtype().is_integer()) return Array(static_cast<long long>(n.integer) * b.size);
    if (!x.dtype().is_complex()) return Array(n.real * static_cast<double>(b.size));
  }
  LocScope scope(b.loc);
  const Array terms = x.dtype().is_bool() ? convert(x, int32) : x;
  // Where variance is tracked, the sum is marked as replicated.
  if (!groups && notes_varying() && varying_over(b.names)) return bind_psum_invariant(terms, b.names, b.loc);
  return bind_psum(terms, b.names, groups, b.loc);
}

Array pmean_of(const Array& x, const AxisName& axis, const GroupOptions& options) {
  BoundAxis b = bound("pmean", axis);
  groups_of("pmean", options.axis_index_groups, b, false);
  LocScope scope(b.loc);
  if (is_number(x)) return x / Array(1);
  return psum_of(x, axis, options) / psum_of(Array(1.), axis, options);  // the number of positions that are summed up
}

Array pmax_of(const Array& x, const AxisName& axis, const GroupOptions& options) {
  BoundAxis b = bound("pmax", axis);
  if (x.dtype().is_complex())
    throw DTypeError(fmt::format("pmax: {} has no order; take its abs, or its real and imag apart", to_string(x.aval())),
                     effective_loc(b.loc));
  const IndexGroups groups = groups_of("pmax", options.axis_index_groups, b, false);
  check_extremum("pmax", b);
  return is_number(x) ? x : bind_pmax(x, b.names, groups, b.loc);
}
Array pmin_of(const Array& x, const AxisName& axis, const GroupOptions& options) {
  BoundAxis b = bound("pmin", axis);
  if (x.dtype().is_complex())
    throw DTypeError(fmt::format("pmin: {} has no order; take its abs, or its real and imag apart", to_string(x.aval())),
                     effective_loc(b.loc));
  const IndexGroups groups = groups_of("pmin", options.axis_index_groups, b, false);
  check_extremum("pmin", b);
  return is_number(x) ? x : bind_pmin(x, b.names, groups, b.loc);
}

Array all_gather_of(const Array& x, const AxisName& axis, const AllGatherOptions& options) {
  BoundAxis b = bound("all_gather", axis);
  const IndexGroups groups = groups_of("all_gather", options.axis_index_groups, b);
  const int d = normalize_axis(options.axis, x.ndim() + !options.tiled, "all_gather", x.aval(), b.loc);
  return bind_all_gather(x, {d, groups, b.names, b.size, options.tiled}, b.loc);
}

Array psum_scatter_of(const Array& x, const AxisName& axis, const PsumScatterOptions& options) {
  BoundAxis b = bound("psum_scatter", axis);
  const IndexGroups groups = groups_of("psum_scatter", options.axis_index_groups, b);
  const int d = normalize_axis(options.scatter_dimension, x.ndim(), "psum_scatter", x.aval(), b.loc);
  const std::int64_t n = x.shape()[d];
  if (options.tiled ? n % b.size != 0 : n != b.size)
    throw ShapeError(fmt::format("psum_scatter: dimension {} of {} has size {}, the axis `{}` has {}{}; {}", d, to_string(x.aval()), n,
                                 fmt::join(b.names, "`, `"), b.size, groups ? " in a group" : "",
                                 options.tiled ? "pad the dimension to a multiple" : "make them equal, or use tiled = true"),
                     effective_loc(b.loc));
  const Array terms = x.dtype().is_bool() ? convert(x, int32) : x;  // counted, as by psum
  return bind_reduce_scatter(terms, {groups, b.names, b.size, d, options.tiled}, b.loc.of(CalledAs::psum_scatter));
}

Array all_to_all_of(const Array& x, const AxisName& axis, int split_axis, int concat_axis, const AllToAllOptions& options,
                    CalledAs function) {
  const char* const name = called_name(function, "all_to_all");
  BoundAxis b = bound(name, axis);
  const SourceLoc loc = effective_loc(b.loc);
  const IndexGroups groups = groups_of(name, options.axis_index_groups, b);
  int split = normalize_axis(split_axis, x.ndim(), name, x.aval(), b.loc);
  int concat = normalize_axis(concat_axis, x.ndim(), name, x.aval(), b.loc);
  const std::int64_t n = x.shape()[split];
  if (options.tiled ? n % b.size != 0 : n != b.size)
    throw ShapeError(fmt::format("{}: dimension {} of {} has size {}, the axis `{}` has {}; {}", name, split, to_string(x.aval()), n,
                                 fmt::join(b.names, "`, `"), b.size,
                                 options.tiled                     ? "pad the dimension to a multiple"
                                 : function == CalledAs::pswapaxes ? "make them equal"
                                                                   : "make them equal, or use tiled = true"),
                     loc);
  LocScope scope(b.loc);
  if (b.names.size() > 1) return exchange_over(x, b, split, concat, options.tiled);
  Array y = x;
  if (!options.tiled && split != concat) {
    // The received parts become a new dimension, whose position counts without the split one.
    if (split < concat) ++concat;
    y = insert_axes(x, {concat}, b.loc);
    if (concat <= split) ++split;
  }
  y = bind_all_to_all(y, {groups, b.names[0], b.size, concat, split, options.tiled}, b.loc.of(function));
  return !options.tiled && split != concat ? squeeze_axes(y, {split}, b.loc) : y;
}

namespace {

Array permuted(const Array& x, const BoundAxis& b, const std::vector<std::pair<int, int>>& perm, const char* name, SourceLoc loc) {
  for (const auto& [from, to] : perm)
    for (int i : {from, to})
      if (i < 0 || i >= b.size)
        throw AxisError(fmt::format("{}: perm holds ({}, {}); the positions of the axis `{}` are 0 to {}", name, from, to,
                                    fmt::join(b.names, "`, `"), b.size - 1),
                        effective_loc(b.loc));
  return bind_ppermute(x, {b.names, perm}, loc);
}

}  // namespace

Array ppermute_of(const Array& x, const AxisName& axis, const std::vector<std::pair<int, int>>& perm) {
  const BoundAxis b = bound("ppermute", axis);
  return permuted(x, b, perm, "ppermute", b.loc);
}

Array pshuffle_of(const Array& x, const AxisName& axis, const std::vector<int>& perm) {
  const BoundAxis b = bound("pshuffle", axis);
  if (static_cast<std::int64_t>(perm.size()) != b.size)
    throw AxisError(fmt::format("pshuffle: perm has {}, the axis `{}` has {}; give the source of each",
                                counted(perm.size(), "entry", "entries"), fmt::join(b.names, "`, `"), counted(b.size, "position")),
                    effective_loc(b.loc));
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < perm.size(); ++i) pairs.push_back({perm[i], static_cast<int>(i)});
  return permuted(x, b, pairs, "pshuffle", b.loc.of(CalledAs::pshuffle));
}

Array pbroadcast_of(const Array& x, const AxisName& axis, int source) {
  const BoundAxis b = bound("pbroadcast", axis);
  if (source < 0 || source >= b.size)
    throw AxisError(
        fmt::format("pbroadcast: source is {}; the positions of the axis `{}` are 0 to {}", source, fmt::join(b.names, "`, `"), b.size - 1),
        effective_loc(b.loc));
  return bind_pbroadcast(x, {b.names, source}, b.loc);
}

Array pvary_of(const Array& x, const AxisName& axis) {
  const BoundAxis b = bound("pvary", axis);
  if (is_number(x)) return x;
  if (!varying_over(b.names)) return bind_pvary(x, b.names, b.loc);
  return notes_varying() ? vary_over(x, varying_over(b.names), b.loc) : x;
}

}  // namespace detail

Array axis_index(AxisName axis) {
  const detail::BoundAxis b = detail::bound("axis_index", axis);
  detail::LocScope scope(b.loc);
  Array index = detail::bind_axis_index(b.names[0], b.loc);
  for (std::size_t i = 1; i < b.names.size(); ++i)
    index = index * Array(detail::find_axis(b.names[i])->size) + detail::bind_axis_index(b.names[i], b.loc);
  return index;
}

int axis_size(AxisName axis) { return static_cast<int>(detail::bound("axis_size", axis).size); }

}  // namespace weft
