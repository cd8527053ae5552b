// The user's functions that communicate over a named axis.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/axis.h"
#include "weft/core/trees/pytree.h"

namespace weft {

/// A named axis, or several: `"i"` or `{"i", "j"}`; several count in row-major order.
class AxisName {
 public:
  AxisName(const char* name, SourceLoc loc = SourceLoc::here());
  AxisName(const std::string& name, SourceLoc loc = SourceLoc::here()) : names_{name}, loc_(loc) {}
  AxisName(std::initializer_list<const char*> names, SourceLoc loc = SourceLoc::here()) : names_(names.begin(), names.end()), loc_(loc) {}
  AxisName(const std::vector<std::string>& names, SourceLoc loc = SourceLoc::here()) : names_(names), loc_(loc) {}
  const std::vector<std::string>& names() const { return names_; }
  SourceLoc where() const { return loc_; }

 private:
  std::vector<std::string> names_;
  SourceLoc loc_;
};

/// Groups of positions along an axis; each group communicates within itself. Every position is in one group. psum, pmax
/// and pmin take groups of any sizes, the others groups of one size.
using AxisIndexGroups = std::vector<std::vector<int>>;
/// Options of psum, pmean, pmax and pmin.
struct GroupOptions {
  AxisIndexGroups axis_index_groups = {};  ///< groups that reduce among themselves; all together if empty
};
/// Options of all_gather.
struct AllGatherOptions {
  AxisNumber axis = 0;                     ///< the dimension of the result along which the parts stand
  bool tiled = false;                      ///< parts are joined along an existing dimension rather than stacked along a new one
  AxisIndexGroups axis_index_groups = {};  ///< groups that gather among themselves; all together if empty
};
/// Options of psum_scatter.
struct PsumScatterOptions {
  AxisNumber scatter_dimension = 0;        ///< the dimension of which each gets a part
  bool tiled = false;                      ///< the dimension stays, with a part of its size, rather than goes
  AxisIndexGroups axis_index_groups = {};  ///< groups that reduce among themselves; all together if empty
};
/// Options of all_to_all.
struct AllToAllOptions {
  bool tiled = false;                      ///< the dimensions stay, and change their sizes, rather than one goes and one comes
  AxisIndexGroups axis_index_groups = {};  ///< groups that exchange among themselves; all together if empty
};

namespace detail {
Array psum_of(const Array& x, const AxisName& axis, const GroupOptions& options);
Array pmean_of(const Array& x, const AxisName& axis, const GroupOptions& options);
Array pmax_of(const Array& x, const AxisName& axis, const GroupOptions& options);
Array pmin_of(const Array& x, const AxisName& axis, const GroupOptions& options);
Array all_gather_of(const Array& x, const AxisName& axis, const AllGatherOptions& options);
Array psum_scatter_of(const Array& x, const AxisName& axis, const PsumScatterOptions& options);
Array all_to_all_of(const Array& x, const AxisName& axis, int split_axis, int concat_axis, const AllToAllOptions& options,
                    CalledAs function = CalledAs::operation);
Array ppermute_of(const Array& x, const AxisName& axis, const std::vector<std::pair<int, int>>& perm);
Array pshuffle_of(const Array& x, const AxisName& axis, const std::vector<int>& perm);
Array pbroadcast_of(const Array& x, const AxisName& axis, int source);
Array pvary_of(const Array& x, const AxisName& axis);
}  // namespace detail

// Collectives (jax.lax's), inside vmap, pmap and shard_map with the named axis. Each takes a pytree and applies to its arrays. All throw
// AxisError for a name that is not in scope.

/// The sum over the axis, on all its devices. The psum of a number is a constant, the number times the axis size.
template <class T>
detail::traced_t<T> psum(const T& x, AxisName axis, GroupOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::psum_of(a, axis, options); });
}
/// The mean over the axis.
template <class T>
detail::traced_t<T> pmean(const T& x, AxisName axis, GroupOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::pmean_of(a, axis, options); });
}
template <class T>
detail::traced_t<T> pmax(const T& x, AxisName axis, GroupOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::pmax_of(a, axis, options); });
}
template <class T>
detail::traced_t<T> pmin(const T& x, AxisName axis, GroupOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::pmin_of(a, axis, options); });
}
/// The arrays of all devices: stacked along a new dimension `axis`, or with `tiled` joined along that dimension.
template <class T>
detail::traced_t<T> all_gather(const T& x, AxisName axis, AllGatherOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::all_gather_of(a, axis, options); });
}
/// A reduce-scatter: of the sum over the axis each device keeps its position along `scatter_dimension`, or with `tiled` its block.
template <class T>
detail::traced_t<T> psum_scatter(const T& x, AxisName axis, PsumScatterOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::psum_scatter_of(a, axis, options); });
}
/// Device j gets position j of `split_axis` of every device, stacked along `concat_axis`; with `tiled` blocks, joined.
template <class T>
detail::traced_t<T> all_to_all(const T& x, AxisName axis, AxisNumber split_axis, AxisNumber concat_axis, AllToAllOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x),
                            [&](const Array& a) { return detail::all_to_all_of(a, axis, split_axis, concat_axis, options); });
}
/// Sends each device's value along the pairs (from, to); a device that receives nothing gets zeros.
template <class T>
detail::traced_t<T> ppermute(const T& x, AxisName axis, const std::vector<std::pair<int, int>>& perm) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::ppermute_of(a, axis, perm); });
}
/// The value of device perm[i], on device i.
template <class T>
detail::traced_t<T> pshuffle(const T& x, AxisName axis, const std::vector<int>& perm) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::pshuffle_of(a, axis, perm); });
}
/// Swaps the named axis and a dimension.
template <class T>
detail::traced_t<T> pswapaxes(const T& x, AxisName axis, AxisNumber array_axis, GroupOptions options = {}) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) {
    return detail::all_to_all_of(a, axis, array_axis, array_axis, {false, options.axis_index_groups}, detail::CalledAs::pswapaxes);
  });
}
/// The value of the device at position `source`, on all devices.
template <class T>
detail::traced_t<T> pbroadcast(const T& x, AxisName axis, int source) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::pbroadcast_of(a, axis, source); });
}
/// The value, marked as varying over the axis (see shard_map's check_vma).
template <class T>
detail::traced_t<T> pvary(const T& x, AxisName axis) {
  return detail::map_leaves(detail::to_traced(x), [&](const Array& a) { return detail::pvary_of(a, axis); });
}
/// The position along the axis: an int32 scalar.
Array axis_index(AxisName axis);
/// The number of positions.
int axis_size(AxisName axis);

}  // namespace weft
