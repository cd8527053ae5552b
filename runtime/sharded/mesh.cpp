#include "weft/runtime/sharded/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/base/counted.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/runtime/processes/processes.h"

namespace weft {

using namespace detail;

namespace {
struct MeshData final : RefCounted {
  MeshAxes axes;
  Shape shape;
};
const MeshData& data_of(const Ref<const RefCounted>& data) { return static_cast<const MeshData&>(*data); }
}  // namespace

Mesh::Mesh(std::vector<Device> devices, std::vector<std::string> names, SourceLoc loc)
    : Mesh(devices, Shape{static_cast<std::int64_t>(devices.size())}, std::move(names), loc) {}
Mesh::Mesh(std::vector<Device> devices, Shape shape, std::vector<std::string> names, SourceLoc loc) {
  if (static_cast<int>(names.size()) != shape.size())
    throw ShardingError(
        fmt::format("Mesh: the shape {} has {}, but there {} {}; name each axis", detail::to_string(shape),
                    detail::counted(shape.size(), "axis", "axes"), names.size() == 1 ? "is" : "are", detail::counted(names.size(), "name")),
        loc);
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    throw ShardingError(fmt::format("Mesh: an axis name is given twice in `{}`; give each its own", fmt::join(names, "`, `")), loc);
  for (std::int64_t n : shape)
    if (n < 1) throw ShardingError(fmt::format("Mesh: an axis of the shape {} has no devices", detail::to_string(shape)), loc);
  if (static_cast<std::int64_t>(devices.size()) != shape.num_elements())
    throw ShardingError(fmt::format("Mesh: {} for the shape {}, which takes {}; give as many", detail::counted(devices.size(), "device"),
                                    detail::to_string(shape), shape.num_elements()),
                        loc);
  auto data = make_ref<MeshData>();
  std::set<int> ids;
  for (const Device& d : devices) {
    if (!ids.insert(d.id()).second) throw ShardingError(fmt::format("Mesh: the device {} is given twice", d), loc);
    data->axes.device_ids.push_back(d.id());
  }
  data->axes.names = std::move(names);
  data->axes.sizes.assign(shape.begin(), shape.end());
  data->shape = std::move(shape);
  data_ = Ref<const RefCounted>(data);
}

const Shape& Mesh::shape() const { return data_of(data_).shape; }
std::vector<std::string> Mesh::axis_names() const { return data_of(data_).axes.names; }
std::vector<Device> Mesh::devices() const {
  std::vector<Device> list;
  for (int id : data_of(data_).axes.device_ids) list.push_back(Device::of_id(id));
  return list;
}
int Mesh::size() const { return static_cast<int>(data_of(data_).axes.device_ids.size()); }
const MeshAxes& Mesh::axes() const { return data_of(data_).axes; }
bool operator==(const Mesh& a, const Mesh& b) { return a.data_.get() == b.data_.get() || a.axes() == b.axes(); }

Mesh make_mesh(Shape shape, std::vector<std::string> names, SourceLoc loc) {
  std::vector<Device> all = devices();
  const std::int64_t n = shape.num_elements();
  if (n > static_cast<std::int64_t>(all.size()))
    throw ShardingError(
        fmt::format("make_mesh: the shape {} takes {}, there {} {}; {}", detail::to_string(shape), detail::counted(n, "device"),
                    all.size() == 1 ? "is" : "are", all.size(),
                    all[0].platform() == "cpu" ? "set WEFT_NUM_CPU_DEVICES, or config.num_cpu_devices before first use"
                                               : "Mesh(devices(\"cpu\"), ...) and WEFT_NUM_CPU_DEVICES make one of host devices"),
        loc);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(n), all.end());
  return Mesh(std::move(all), std::move(shape), std::move(names), loc);
}

namespace {
struct Scoped {
  std::vector<Mesh> meshes;
};
std::vector<Mesh>& meshes_in_scope() { return detail::of_thread<Scoped>().meshes; }
}  // namespace

Scope use_mesh(const Mesh& mesh) {
  meshes_in_scope().push_back(mesh);
  return Scope::make([](std::intptr_t) { meshes_in_scope().pop_back(); }, 0);
}

namespace detail {

const Mesh* mesh_in_scope() { return meshes_in_scope().empty() ? nullptr : &meshes_in_scope().back(); }

Mesh mesh_of(const MeshAxes& axes) {
  const auto n = static_cast<std::size_t>(axes.num_devices());
  auto data = make_ref<MeshData>();
  data->axes = axes;
  data->shape = Shape(axes.sizes);
  std::vector<int>& ids = data->axes.device_ids;
  if (ids.empty()) {
    const auto there = static_cast<std::size_t>(processes().num_devices());
    if (n > there)
      throw ShardingError(
          fmt::format("the mesh {} takes {}, there {} {}; set WEFT_NUM_CPU_DEVICES, or config.num_cpu_devices before first use",
                      print_param(axes), counted(n, "device"), there == 1 ? "is" : "are", there));
    for (std::size_t i = 0; i < n; ++i) ids.push_back(static_cast<int>(i));
  }
  if (ids.size() < n)
    throw ShardingError(fmt::format("the mesh {} takes {}, {} {} given", print_param(axes), counted(n, "device"), ids.size(),
                                    ids.size() == 1 ? "is" : "are"));
  ids.resize(n);
  return Mesh::of(Ref<const RefCounted>(data));
}

}  // namespace detail
}  // namespace weft
