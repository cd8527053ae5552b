#include "weft/runtime/sharded/sharding.h"

#include <fmt/core.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_reads.h"
#include "weft/core/base/counted.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/profile/timeline.h"

namespace weft {

using namespace detail;

NamedSharding::NamedSharding(Mesh mesh, PartitionSpec spec, SourceLoc loc) : mesh_(std::move(mesh)), spec_(std::move(spec)) {
  if (const std::string problem = spec_problem(mesh_.axes(), spec_); !problem.empty())
    throw ShardingError("NamedSharding: " + problem, loc);
}

Sharding::Sharding(Device d) : named_(Mesh({d}, Shape{}, std::vector<std::string>{}), PartitionSpec()), single_(true) {}

bool Sharding::is_fully_replicated() const {
  const MeshAxes& mesh = named_.mesh().axes();
  for (const auto& dim : named_.spec().dims())
    if (mesh.size_of(dim) > 1) return false;
  return true;
}

namespace {

/// The concrete array behind a handle; null for a literal, which is nowhere yet. Throws for one without a value.
const ConcreteArray* placed(const Array& x, const char* operation) {
  if (as_literal(x)) return nullptr;
  const ConcreteArray* c = as_concrete(x);
  if (!c)
    throw ConcretizationError(fmt::format("{}: {} is {} and is on no device; ask an array that a function returned", operation,
                                          detail::to_string(x.aval()), as_traced(x) ? "traced" : "abstract"),
                              effective_loc({}));
  return c;
}

}  // namespace

Sharding Array::sharding() const {
  const ArrayReads reads(*this, "sharding", effective_loc({}));
  const ConcreteArray* c = placed(*this, "sharding");
  return c ? sharding_of(*c) : Sharding(Device::of_id(default_device_id()));
}
std::vector<Device> Array::devices() const { return sharding().device_set(); }
bool Array::is_fully_addressable() const {
  const ArrayReads reads(*this, "is_fully_addressable", effective_loc({}));
  const ConcreteArray* c = placed(*this, "is_fully_addressable");
  return !c || !has_remote_shards(*c);
}
bool Array::is_fully_replicated() const { return sharding().is_fully_replicated(); }

std::vector<Shard> Array::addressable_shards() const {
  const ArrayReads reads(*this, "addressable_shards", effective_loc({}));
  const ConcreteArray* c = placed(*this, "addressable_shards");
  const NamedSharding s = sharding().named();
  const MeshAxes& mesh = s.mesh().axes();
  const Shape block = block_shape(mesh, s.spec(), shape());
  const std::vector<std::string> replicated = unnamed_axes(mesh, s.spec());
  std::vector<Shard> out;
  for (std::size_t k = 0; k < mesh.device_ids.size(); ++k) {
    const auto position = static_cast<std::int64_t>(k);
    if (c && !c->shards.empty() && !c->shards[k]) continue;
    std::vector<Slice> index;
    const std::vector<std::int64_t> start = block_start(mesh, s.spec(), block, position);
    for (int d = 0; d < ndim(); ++d)
      index.push_back(slice(start[static_cast<std::size_t>(d)], start[static_cast<std::size_t>(d)] + block[d]));
    const Ref<Buffer> buffer = !c ? whole_of(*this, mesh.device_ids[k]) : c->shards.empty() ? c->buffer : c->shards[k];
    out.push_back({Device::of_id(mesh.device_ids[k]), std::move(index), static_cast<int>(mesh.coordinate(position, replicated)),
                   commit(aval().with_shape(block), buffer)});
  }
  return out;
}

namespace detail {
namespace {

void check_local(const Device& d, const char* operation, SourceLoc loc) {
  if (!processes().is_local(d.id()))
    throw DeviceError(
        fmt::format("{}: {} is process {}'s; a process puts arrays on its own devices (local_devices()), or over a mesh that all share",
                    operation, d, d.process_index()),
        loc);
}

}  // namespace

Array device_put_array(const Array& x, const weft::Placement& where, SourceLoc given) try {
  const SourceLoc loc = effective_loc(given);
  if (as_traced(x)) return x;
  const TimelineRange range(Work::transfer, "device_put");
  const ArrayReads reads(x, "device_put", loc);
  if (!as_literal(x)) placed(x, "device_put");
  const Sharding& s = where.sharding();
  const Aval aval{x.shape(), x.dtype(), false};
  if (s.is_single_device()) {
    check_local(s.device_set()[0], "device_put", loc);
    return commit(aval, whole_of(x, s.device_set()[0].id()));
  }
  if (const std::string problem = spec_problem(s.named().mesh().axes(), s.named().spec(), x.shape()); !problem.empty())
    throw ShardingError(fmt::format("device_put: {}: {}", to_string(x.aval()), problem), loc);
  return shard_array(x, s.named());
} catch (...) {
  rethrow_as_error("device_put", given);
}

Array device_get_array(const Array& x, SourceLoc given) {
  if (as_literal(x)) return x;
  const ArrayReads reads(x, "device_get", effective_loc(given));
  const ConcreteArray* c = placed(x, "device_get");
  if (!c->placement && c->buffer && c->buffer->on_host()) return x;
  const TimelineRange range(Work::transfer, "device_get");
  const int device = default_device_id();
  return wrap_buffer(x.aval(), whole_of(x, is_accelerator(device) ? processes().first_local() : device));
}

Array lent_array(const Array& x, SourceLoc loc) {
  const Array there = device_get_array(x, loc);
  const ConcreteArray* c = as_concrete(there);
  const ArrayReads reads(there, "device_get", effective_loc(loc));
  return c ? wrap_buffer(c->aval, c->buffer) : there;
}

void throw_row_count(const char* operation, std::size_t rows, std::size_t devices, SourceLoc loc) {
  throw DeviceError(fmt::format("{}: {} for {}; give one for each", operation, counted(rows, "shard"), counted(devices, "device")),
                    effective_loc(loc));
}

Array put_rows(std::span<const Array> rows, const std::vector<Device>& devices, const char* operation, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const ArrayReads reads(rows, operation, loc);
  if (rows.empty()) throw_row_count(operation, 0, devices.size(), loc);
  const Aval& first = rows[0].aval();
  std::vector<Ref<Buffer>> shards;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    placed(rows[i], operation);
    const Aval& aval = rows[i].aval();
    if (aval.shape != first.shape || aval.dtype != first.dtype)
      throw ShapeError(fmt::format("{}: shards[0] is {}, shards[{}] is {}; all must have one shape and dtype", operation, to_string(first),
                                   i, to_string(aval)),
                       loc);
    check_local(devices[i], operation, loc);
    shards.push_back(whole_of(rows[i], devices[i].id()));
  }
  const NamedSharding s{Mesh(devices, Shape(static_cast<std::int64_t>(devices.size())), {"i"}, loc), PartitionSpec("i")};
  const Aval aval{first.shape.inserted(0, static_cast<std::int64_t>(rows.size())), first.dtype, false};
  return Array(Ref<ArrayImpl>(new ConcreteArray(aval, std::move(shards), make_placement(s))));
}

}  // namespace detail
}  // namespace weft
