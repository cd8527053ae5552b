// A mesh as equations know it, and how specs divide shapes over it. The runtime's Mesh adds the devices.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/ir/params.h"
#include "weft/core/ir/partition_spec.h"

namespace weft::detail {

/// Named axes in row-major order. `device_ids` lists the devices in that order; if it is empty, the mesh is over the first devices. It may
/// list more devices than the mesh has positions; nested maps may spread over those.
struct MeshAxes {
  std::vector<std::string> names;
  std::vector<std::int64_t> sizes;
  std::vector<int> device_ids;
  std::int64_t num_devices() const;
  /// Position of a name, or -1.
  int find(const std::string& name) const;
  std::int64_t size_of(const std::string& name) const { return sizes[static_cast<std::size_t>(find(name))]; }
  /// The product of the sizes of the named axes.
  std::int64_t size_of(const std::vector<std::string>& axes) const;
  /// The coordinate of the device at a position, along one axis or several (row-major).
  std::int64_t coordinate(std::int64_t position, const std::vector<std::string>& axes) const;
  friend bool operator==(const MeshAxes&, const MeshAxes&) = default;
};
std::string print_param(const MeshAxes& v);
void read_param(ParamReader& r, MeshAxes& v);

/// One spec for each operand or result.
struct SpecList {
  std::vector<PartitionSpec> specs;
  std::size_t size() const { return specs.size(); }
  const PartitionSpec& operator[](std::size_t i) const { return specs[i]; }
  friend bool operator==(const SpecList&, const SpecList&) = default;
};
std::string print_param(const SpecList& v);
void read_param(ParamReader& r, SpecList& v);
std::string to_string(const PartitionSpec& spec);
void read_spec(ParamReader& r, PartitionSpec& v);

/// The reason why a spec doesn't fit a mesh (an unknown axis, or one named twice) or a shape on it (not divisible); empty if it fits.
std::string spec_problem(const MeshAxes& mesh, const PartitionSpec& spec);
std::string spec_problem(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& shape);
/// The shape of one device's block, and of the whole made of such blocks.
Shape block_shape(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& whole);
Shape whole_shape(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& block);
/// The start of the block of the device at a position.
std::vector<std::int64_t> block_start(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& block, std::int64_t position);
/// The mesh axes that a spec doesn't name.
std::vector<std::string> unnamed_axes(const MeshAxes& mesh, const PartitionSpec& spec);

}  // namespace weft::detail
