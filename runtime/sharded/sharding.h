// Where arrays are: on a device, or sharded over a mesh.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "weft/core/trees/pytree.h"
#include "weft/runtime/sharded/mesh.h"

namespace weft {

/// How an array's dimensions are sharded over a mesh (jax.sharding.NamedSharding); what the spec doesn't name is replicated.
class NamedSharding {
 public:
  /// Throws ShardingError if the spec names an axis twice or one that the mesh doesn't have.
  NamedSharding(Mesh mesh, PartitionSpec spec, SourceLoc loc = SourceLoc::here());
  const Mesh& mesh() const { return mesh_; }
  const PartitionSpec& spec() const { return spec_; }
  friend bool operator==(const NamedSharding& a, const NamedSharding& b) {
    return a.mesh_ == b.mesh_ && a.spec_.trimmed() == b.spec_.trimmed();
  }

 private:
  Mesh mesh_;
  PartitionSpec spec_;
};

/// Where an array is: on one device, or over a mesh.
class Sharding {
 public:
  Sharding(NamedSharding s) : named_(std::move(s)), single_(false) {}
  Sharding(Device d);
  std::vector<Device> device_set() const { return named_.mesh().devices(); }
  /// Whether each device has all of it.
  bool is_fully_replicated() const;
  friend bool operator==(const Sharding& a, const Sharding& b) { return a.single_ == b.single_ && a.named_ == b.named_; }
  /// For the library: the mesh and spec; for one device, a mesh of that device without axes.
  const NamedSharding& named() const { return named_; }
  bool is_single_device() const { return single_; }

 private:
  NamedSharding named_;
  bool single_;
};

/// The part of an array that one device has (jax.Shard).
struct Shard {
  Device device;             ///< the device that has it
  std::vector<Slice> index;  ///< which part of the array it is, one slice for each dimension
  int replica_id;            ///< numbers the devices that have this part, from 0
  Array data;                ///< the part's elements, on that device
};

/// The destination of device_put: a device or a sharding.
class Placement {
 public:
  Placement(Device d) : sharding_(d) {}
  Placement(NamedSharding s) : sharding_(std::move(s)) {}
  const Sharding& sharding() const { return sharding_; }

 private:
  Sharding sharding_;
};

namespace detail {
Array device_put_array(const Array& x, const weft::Placement& where, SourceLoc loc);
/// The same, of what the user gave: processes that share the sharding first compare whether they gave the same.
Array device_put_same(const Array& x, const weft::Placement& where, SourceLoc loc);
Array device_get_array(const Array& x, SourceLoc loc);
/// The elements of x in the host's memory, in an array that shares at most the memory with x. Where that is lent to others, donating x
/// leaves it as it is: x is then copied.
Array lent_array(const Array& x, SourceLoc loc);
/// One array whose rows are the given parts, one on each device.
Array put_rows(std::span<const Array> rows, const std::vector<Device>& devices, const char* operation, SourceLoc loc);
[[noreturn]] void throw_row_count(const char* operation, std::size_t rows, std::size_t devices, SourceLoc loc);

template <class It>
auto put_tree_rows(It begin, It end, const std::vector<Device>& devices, const char* operation, SourceLoc loc) {
  using T = std::iter_value_t<It>;
  const auto n = static_cast<std::size_t>(end - begin);
  if (n != devices.size() || n == 0) throw_row_count(operation, n, devices.size(), loc);
  std::vector<std::vector<Array>> leaves;
  for (It it = begin; it != end; ++it) {
    check_same_structure(operation, *begin, "shards[0]", *it, "shards[" + std::to_string(it - begin) + "]", loc);
    leaves.push_back(leaves_of(*it));
  }
  std::vector<Array> rows(n), out;
  for (std::size_t k = 0; k < leaves[0].size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) rows[i] = leaves[i][k];
    out.push_back(put_rows(rows, devices, operation, loc));
  }
  return with_leaves<T>(*begin, std::span<const Array>(out));
}
}  // namespace detail

/// The arrays of a tree on the given device, or sharded as given (jax.device_put); they are committed to it. Processes that share the
/// sharding all call it, with the same elements: a DistributedError says which of them gave others.
template <class T>
detail::traced_t<T> device_put(const T& tree, Placement where, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(detail::to_traced(tree), [&](const Array& x) { return detail::device_put_same(x, where, loc); });
}
/// The arrays of a tree, each gathered in host memory (jax.device_get).
template <class T>
T device_get(const T& tree, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(tree, [&](const Array& x) { return detail::device_get_array(x, loc); });
}
/// One tree for each device; their arrays become the rows of arrays that are sharded over the devices (jax.device_put_sharded, which
/// JAX deprecates). New programs write `device_put(stack(shards), NamedSharding(mesh, P("i")))`.
template <class T>
T device_put_sharded(std::initializer_list<T> shards, const std::vector<Device>& devices, SourceLoc loc = SourceLoc::here()) {
  return detail::put_tree_rows(shards.begin(), shards.end(), devices, "device_put_sharded", loc);
}
template <class T>
T device_put_sharded(const std::vector<T>& shards, const std::vector<Device>& devices, SourceLoc loc = SourceLoc::here()) {
  return detail::put_tree_rows(shards.begin(), shards.end(), devices, "device_put_sharded", loc);
}
/// The tree on each device: a new first dimension, sharded over the devices (jax.device_put_replicated,
/// which JAX deprecates). New programs write `device_put(broadcast_to(x, {n, ...}), NamedSharding(mesh, P("i")))`, or with `P()` keep x's
/// shape.
template <class T>
detail::traced_t<T> device_put_replicated(const T& tree, const std::vector<Device>& devices, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(detail::to_traced(tree), [&](const Array& x) {
    const std::vector<Array> rows(devices.size(), x);
    return detail::put_rows(rows, devices, "device_put_replicated", loc);
  });
}

}  // namespace weft
