#include "weft/runtime/sharded/print_sharding.h"

#include <fmt/format.h>

#include <ostream>

#include "weft/core/ir/mesh_axes.h"

namespace weft {
namespace {

std::string text(const Mesh& mesh) {
  const detail::MeshAxes& axes = mesh.axes();
  std::string s;
  for (std::size_t i = 0; i < axes.names.size(); ++i) s += fmt::format("{}'{}': {}", i ? ", " : "", axes.names[i], axes.sizes[i]);
  return "Mesh(" + s + ")";
}
std::string text(const PartitionSpec& spec) { return detail::to_string(spec); }
std::string text(const NamedSharding& sharding) { return text(sharding.spec()) + " of " + text(sharding.mesh()); }
std::string text(const Sharding& sharding) {
  return sharding.is_single_device() ? detail::to_string(sharding.device_set()[0]) : text(sharding.named());
}

}  // namespace

std::ostream& operator<<(std::ostream& os, const Device& device) { return os << detail::to_string(device); }
std::ostream& operator<<(std::ostream& os, const Mesh& mesh) { return os << text(mesh); }
std::ostream& operator<<(std::ostream& os, const PartitionSpec& spec) { return os << text(spec); }
std::ostream& operator<<(std::ostream& os, const NamedSharding& sharding) { return os << text(sharding); }
std::ostream& operator<<(std::ostream& os, const Sharding& sharding) { return os << text(sharding); }

namespace detail {
std::string text_of(const Mesh& x) { return text(x); }
std::string text_of(const PartitionSpec& x) { return text(x); }
std::string text_of(const NamedSharding& x) { return text(x); }
std::string text_of(const Sharding& x) { return text(x); }
}  // namespace detail

}  // namespace weft
