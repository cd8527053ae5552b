#include "weft/runtime/partition/common_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/base/nesting.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

/// An axis as a digit of a device's position in the mesh: the position is divided by `stride` and taken modulo `size`.
struct Digit {
  std::int64_t stride = 1, size = 1;
  std::int64_t end() const { return stride * size; }
};

/// The digits of all axes, in their order.
std::vector<Digit> digits_of(const MeshAxes& mesh) {
  std::vector<Digit> digits(mesh.sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = digits.size(); i-- > 0;) {
    digits[i] = {stride, mesh.sizes[i]};
    stride *= mesh.sizes[i];
  }
  return digits;
}

/// The digits of the axes that shard one dimension, without those of size 1, and with adjacent ones merged.
std::vector<Digit> digits_of(const MeshAxes& mesh, const std::vector<std::string>& axes) {
  const std::vector<Digit> all = digits_of(mesh);
  std::vector<Digit> digits;
  for (const std::string& axis : axes) {
    const Digit one = all[static_cast<std::size_t>(mesh.find(axis))];
    if (one.size == 1) continue;
    if (!digits.empty() && digits.back().stride == one.end())
      digits.back() = {one.stride, digits.back().size * one.size};
    else
      digits.push_back(one);
  }
  return digits;
}

void add_constrained_meshes(const Jaxpr& j, std::vector<MeshAxes>& meshes) {
  check_nesting("programs inside programs", nesting_depth(j));
  for (const Eqn& e : j.eqns()) {
    if (const SpecOnMesh* s = sharding_constraint(e); s && !std::count(meshes.begin(), meshes.end(), s->mesh)) meshes.push_back(s->mesh);
    if (!device_map(e)) for_each_program(e, [&](const Jaxpr& inner) { add_constrained_meshes(inner, meshes); });
  }
}

}  // namespace

std::optional<MeshAxes> common_mesh(std::span<const MeshAxes> meshes) {
  const MeshAxes& first = meshes.front();
  std::set<std::int64_t> borders{1};
  for (const MeshAxes& mesh : meshes) {
    if (mesh.device_ids != first.device_ids || mesh.num_devices() != first.num_devices()) return {};
    for (const Digit& digit : digits_of(mesh)) borders.insert(digit.end());
  }
  std::int64_t stride = 1;
  for (const std::int64_t border : borders) {
    if (border % stride != 0) return {};
    stride = border;
  }
  const auto is_finest = [&](const MeshAxes& mesh) {
    const std::vector<Digit> digits = digits_of(mesh);
    const auto real = std::count_if(digits.begin(), digits.end(), [](const Digit& d) { return d.size > 1; });
    return static_cast<std::size_t>(real) + 1 == borders.size();
  };
  if (const auto finest = std::find_if(meshes.begin(), meshes.end(), is_finest); finest != meshes.end()) return *finest;

  // Pieces of the first mesh's axes.
  MeshAxes made;
  made.device_ids = first.device_ids;
  const std::vector<Digit> digits = digits_of(first);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    std::vector<std::int64_t> inside;  // borders of the pieces
    for (const std::int64_t border : borders)
      if (border >= digits[i].stride && border <= digits[i].end()) inside.push_back(border);
    for (std::size_t k = inside.size() - 1; k > 0; --k) {
      made.names.push_back(inside.size() == 2 ? first.names[i] : fmt::format("{}.{}", first.names[i], inside.size() - 1 - k));
      made.sizes.push_back(inside[k] / inside[k - 1]);
    }
  }
  return made;
}

std::optional<PartitionSpec> spec_over(const MeshAxes& to, const PartitionSpec& spec, const MeshAxes& from) {
  const std::vector<Digit> all = digits_of(to);
  std::vector<std::vector<std::string>> dims;
  for (const std::vector<std::string>& axes : spec.dims()) {
    std::vector<std::string>& names = dims.emplace_back();
    for (const Digit& wanted : digits_of(from, axes)) {
      std::int64_t end = wanted.end();  // of what is left to name
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].size > 1 && all[i].end() == end && all[i].stride >= wanted.stride) {
          names.push_back(to.names[i]);
          end = all[i].stride;
        }
      if (end != wanted.stride) return {};
    }
  }
  return PartitionSpec::of(std::move(dims)).trimmed();
}

std::vector<MeshAxes> constrained_meshes(const Jaxpr& j) {
  std::vector<MeshAxes> meshes;
  add_constrained_meshes(j, meshes);
  return meshes;
}

}  // namespace weft::detail
