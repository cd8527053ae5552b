#include "weft/runtime/sharded/sharded_call.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/program_cache.h"
#include "weft/runtime/partition/common_mesh.h"
#include "weft/runtime/partition/partition.h"

namespace weft::detail {
namespace {

constexpr std::size_t kCapacity = 256;

struct ArgumentShardings {
  MeshAxes mesh, results_over;  // the second is empty if it is the first
  std::vector<PartitionSpec> specs;
  friend bool operator==(const ArgumentShardings&, const ArgumentShardings&) = default;
};

std::optional<ArgumentShardings> shardings_of(std::span<const Array> inputs) {
  std::vector<MeshAxes> meshes;
  std::vector<std::optional<NamedSharding>> where(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ConcreteArray* c = as_concrete(inputs[i]);
    if (!c || !c->placement) continue;
    if (c->buffer) return {};
    where[i] = sharding_of(*c).named();
    const MeshAxes& own = where[i]->mesh().axes();
    if (!std::count(meshes.begin(), meshes.end(), own)) meshes.push_back(own);
  }
  if (meshes.empty()) return {};
  const std::optional<MeshAxes> mesh = meshes.size() == 1 ? meshes[0] : common_mesh(meshes);
  if (!mesh) return {};
  ArgumentShardings d{*mesh, meshes.size() == 1 ? MeshAxes() : meshes[0], {}};
  for (const auto& s : where) {
    const bool other = s && !(s->mesh().axes() == *mesh);
    d.specs.push_back(!s ? PartitionSpec() : other ? spec_over(*mesh, s->spec(), s->mesh().axes()).value() : s->spec().trimmed());
  }
  return d;
}

struct Entry {
  Jaxpr jaxpr;
  ArgumentShardings shardings;
  Ref<Executable> executable;  // null: it can't be partitioned
};

}  // namespace

std::optional<std::vector<Array>> call_sharded(const std::string& name, const Jaxpr& j, std::span<const Array> inputs) {
  const std::optional<ArgumentShardings> shardings = shardings_of(inputs);
  if (!shardings || j.data().num_consts > 0) return {};
  static std::mutex mutex;
  static auto& cache =
      *new std::unordered_multimap<std::uint64_t, Entry>;  // never destroyed: executables may be in use until the process ends
  const std::uint64_t key = structural_hash(j);
  const auto find = [&]() -> const Entry* {
    const auto [begin, end] = cache.equal_range(key);
    for (auto e = begin; e != end; ++e)
      if (e->second.shardings == *shardings && e->second.jaxpr == j) return &e->second;
    return nullptr;
  };
  Ref<Executable> executable;
  std::unique_lock lock(mutex);
  if (const Entry* known = find()) {
    executable = known->executable;
  } else {
    lock.unlock();
    const MeshAxes* const over = shardings->results_over.names.empty() ? nullptr : &shardings->results_over;
    if (const std::optional<Jaxpr> partitioned = partition(j, shardings->mesh, shardings->specs, over))
      executable = cached_executable(Device::of_id(default_device_id()).platform(), *partitioned, {name, {}});
    lock.lock();
    if (cache.size() >= kCapacity) cache.clear();
    if (!find()) cache.emplace(key, Entry{j, *shardings, executable});
  }
  lock.unlock();
  if (!executable) return {};
  return executable->call(inputs, default_device_id());
}

}  // namespace weft::detail
