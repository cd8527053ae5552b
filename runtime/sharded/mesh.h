// Meshes of devices, and the mesh in scope.
#pragma once
#include <string>
#include <vector>

#include "weft/core/array/shape.h"
#include "weft/core/base/ref.h"
#include "weft/core/ir/partition_spec.h"
#include "weft/runtime/host/device.h"

namespace weft {

namespace detail {
struct MeshAxes;
}

/// Devices in a grid with named axes (jax.sharding.Mesh).
class Mesh {
 public:
  /// The devices in row-major order. Throws ShardingError if their number is not the shape's size, a device occurs twice, or the names are
  /// not one for each axis and different.
  Mesh(std::vector<Device> devices, Shape shape, std::vector<std::string> names, SourceLoc loc = SourceLoc::here());
  /// The devices along one axis.
  Mesh(std::vector<Device> devices, std::vector<std::string> names, SourceLoc loc = SourceLoc::here());
  const Shape& shape() const;
  std::vector<std::string> axis_names() const;
  std::vector<Device> devices() const;
  int size() const;
  friend bool operator==(const Mesh& a, const Mesh& b);

  /// For the library.
  const detail::MeshAxes& axes() const;
  static Mesh of(detail::Ref<const detail::RefCounted> data) { return Mesh(std::move(data)); }

 private:
  explicit Mesh(detail::Ref<const detail::RefCounted> data) : data_(std::move(data)) {}
  detail::KeptRef<const detail::RefCounted> data_;  // a MeshData of mesh.cpp
};

/// A mesh of the first devices() (jax.make_mesh). Throws ShardingError if there are too few.
Mesh make_mesh(Shape shape, std::vector<std::string> names, SourceLoc loc = SourceLoc::here());
/// Sets the mesh of smap, and of shard_map without one, on this thread for as long as the scope lasts (jax.set_mesh).
Scope use_mesh(const Mesh& mesh);

namespace detail {
/// The innermost mesh in scope, or null.
const Mesh* mesh_in_scope();
/// The mesh of the axes: of their own devices, or else of the first devices(). Throws ShardingError if there are too few.
Mesh mesh_of(const MeshAxes& axes);
}  // namespace detail

}  // namespace weft
