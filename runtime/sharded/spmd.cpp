#include "weft/runtime/sharded/spmd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/nan_check.h"
#include "weft/runtime/partition/partition.h"
#include "weft/runtime/processes/process_world.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/donation.h"
#include "weft/runtime/sharded/first_equal.h"
#include "weft/runtime/sharded/map_places.h"

namespace weft::detail {
namespace {

std::vector<Aval> output_avals(const ShardMapParams& p) {
  std::vector<Aval> out = p.jaxpr.data().output_avals();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i].with_shape(whole_shape(p.mesh, p.out_specs[i], out[i].shape));
  return out;
}

/// Axes of the mesh that are not the map's own.
std::vector<std::string> free_axes(const ShardMapParams& p) {
  std::vector<std::string> rest = p.mesh.names;
  const std::vector<std::string> own = p.manual_axes();
  std::erase_if(rest, [&](const std::string& axis) { return std::count(own.begin(), own.end(), axis) > 0; });
  return rest;
}

/// For the flat program's inputs: its constants are in front.
std::vector<bool> with_constants(std::size_t num_constants, const std::vector<bool>& donated) {
  std::vector<bool> all;
  if (donated.empty()) return all;
  all.assign(num_constants, false);
  all.insert(all.end(), donated.begin(), donated.end());
  return all;
}

/// What the program's collectives compare between processes (CollectivePlan::program).
std::uint64_t compared_program(const ShardMapParams& p, const Jaxpr& flat) {
  return processes().count > 1 && (p.partitioned || compares_programs()) ? structural_hash(flat) : 0;
}

}  // namespace

ShardMapParams params_as_run(const ShardMapParams& p) {
  ShardMapParams spread = spread_nested_maps(p, processes().num_devices());
  std::optional<ShardMapParams> apart = partition_free_axes(spread);
  return apart ? std::move(*apart) : std::move(spread);
}

SpmdProgram::SpmdProgram(const ShardMapParams& params, Backend& backend, const std::string& name, std::vector<bool> donated)
    : params_(params_as_run(params)),
      donated_(std::move(donated)),
      mesh_(mesh_of(params_.mesh)),
      flat_(flatten_spmd(params_.jaxpr, mesh_.axes(), free_axes(params_))),
      body_(flat_.jaxpr, mesh_.axes(), free_axes(params_), backend,
            {name, with_constants(flat_.consts.size(), donated_), compared_program(params_, flat_.jaxpr)}),
      in_avals_(params_.jaxpr.data().input_avals().begin(), params_.jaxpr.data().input_avals().end()),
      out_avals_(output_avals(params)),
      fitting_(in_avals_.size()),
      local_(local_positions(mesh_.axes().device_ids)) {
  for (const PartitionSpec& s : params_.out_specs.specs) placements_.push_back(make_placement(NamedSharding(mesh_, s)));
  const std::vector<int>& ids = mesh_.axes().device_ids;
  if (local_.empty() || !is_accelerator(ids[0])) return;
  for (const Array& constant : flat_.consts) {
    constants_.emplace_back(ids.size());
    for (std::size_t k : local_) constants_.back()[k] = buffer_on(constant, ids[k]);
  }
  if (body_.only_communicates()) replay_ = make_mapped_replay(ids, flat_.consts.size());
}

DeviceBuffers SpmdProgram::operand(std::size_t i, const Array& x, SourceLoc loc) {
  const ConcreteArray* c = as_concrete(x);
  const MeshAxes& mesh = mesh_.axes();
  const PartitionSpec& spec = params_.in_specs[i];
  if (c && c->placement) {
    if (c->placement.get() == fitting_[i].load(std::memory_order_acquire)) return c->shards;
    const NamedSharding now = sharding_of(*c).named();
    if (equivalent_shardings(now.mesh().axes(), now.spec(), mesh, spec, x.shape())) {
      static std::mutex mutex;
      const std::lock_guard lock(mutex);
      if (keep_alive_.size() < 4 * fitting_.size()) {  // the pointer is only compared while the placement can't be another's
        keep_alive_.push_back(c->placement);
        fitting_[i].store(c->placement.get(), std::memory_order_release);
      }
      return c->shards;
    }
    if (!may_move_to(sharding_of(*c), mesh_, spec))
      throw_elsewhere(fmt::format("shard_map: operand {}, {}", i, to_string(c->aval)), sharding_of(*c), mesh_, nullptr, loc);
  }
  if (c && has_remote_shards(*c)) return as_concrete(shard_array(x, NamedSharding(mesh_, spec)))->shards;
  const Shape& block = in_avals_[i].shape;
  if (block == x.shape()) return on_each_local(whole_of(x, c && c->buffer ? c->buffer->device_id() : mesh.device_ids[local_[0]]));
  std::vector<std::vector<std::int64_t>> starts;
  DeviceBuffers parts(mesh.device_ids.size());
  for (std::size_t k : local_) starts.push_back(block_start(mesh, spec, block, static_cast<std::int64_t>(k)));
  const std::vector<std::size_t> first = first_equal(
      starts.size(),
      [&](std::size_t n) {
        std::uint64_t h = 0;
        for (std::int64_t at : starts[n]) h = mixed_hash(h, static_cast<std::uint64_t>(at));
        return h;
      },
      [&](std::size_t n, std::size_t m) { return starts[n] == starts[m]; });
  for (std::size_t n = 0; n < local_.size(); ++n)
    parts[local_[n]] = first[n] == n ? box_of(x, starts[n], block, mesh.device_ids[local_[n]]) : parts[local_[first[n]]];
  return parts;
}

namespace {

/// The buffer that owns the memory; buffers of several devices may be views of one.
Ref<Buffer> root_of(const Ref<Buffer>& b) {
  const auto* borrowed = dynamic_cast<const BorrowedBuffer*>(b.get());
  const Ref<Buffer> owner = borrowed ? borrowed->whole_owner() : Ref<Buffer>();
  return owner ? root_of(owner) : b;
}

}  // namespace

// A donated operand. Memory that is shared is copied instead, with one warning to the user.
DeviceBuffers SpmdProgram::taken_operand(std::size_t i, const Array& x, SourceLoc loc) {
  DeviceBuffers parts = operand(i, x, loc);
  auto* c = as_concrete(x) ? static_cast<ConcreteArray*>(x.impl().get()) : nullptr;
  const bool sharded = c && !c->buffer;
  // Whether every device's operand is the array's own memory.
  bool in_place = c != nullptr;
  const auto is_in = [&](const Ref<Buffer>& whole, const Ref<Buffer>& part) {
    const auto* from = static_cast<const char*>(whole->data());
    const auto* at = static_cast<const char*>(part->data());
    return at >= from && at + part->bytes() <= from + whole->bytes();
  };
  for (std::size_t k : local_)
    if (in_place && !(c->buffer && is_in(c->buffer, parts[k])) && !(k < c->shards.size() && c->shards[k] && is_in(c->shards[k], parts[k])))
      in_place = std::any_of(c->shards.begin(), c->shards.end(), [&](const Ref<Buffer>& s) { return s && is_in(s, parts[k]); });
  // The array holds nothing any more, so that each buffer that is still known elsewhere is another array's too.
  if (c) c->shards.clear(), c->buffer = {};
  std::vector<Ref<Buffer>> roots;
  std::vector<std::size_t> which(parts.size());
  {
    std::vector<Ref<Buffer>> all;
    for (std::size_t k : local_) all.push_back(root_of(parts[k]));
    const std::vector<std::size_t> first = first_equal(
        all.size(), [&](std::size_t n) { return mixed_hash(0, reinterpret_cast<std::uintptr_t>(all[n].get())); },
        [&](std::size_t n, std::size_t m) { return all[n] == all[m]; });
    for (std::size_t n = 0; n < all.size(); ++n) {
      which[local_[n]] = first[n] == n ? roots.size() : which[local_[first[n]]];
      if (first[n] == n) roots.push_back(all[n]);
    }
  }
  parts.assign(parts.size(), {});
  const char* told = in_place || !c ? nullptr
                     : sharded      ? "it is sharded otherwise than the function needs it"
                                    : "it is on one device; put it on the devices with device_put";
  const std::vector<const char*> why = why_not_taken(roots);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    Ref<Buffer>& b = roots[r];
    if (!why[r] || b->bytes() == 0) continue;
    const Ref<Buffer> copy(new HostBuffer(b->bytes(), b->device_id()));
    std::memcpy(copy->data(), on_host(b)->data(), b->bytes());
    b = copy;
    if (!told) told = why[r];
  }
  if (told) warn_copied(x.aval(), told, loc);
  for (std::size_t k : local_) parts[k] = roots[which[k]];
  return parts;
}

DeviceBuffers SpmdProgram::on_each_local(const Ref<Buffer>& value) const {
  DeviceBuffers list(mesh_.axes().device_ids.size());
  for (std::size_t k : local_) list[k] = value;
  return list;
}

std::vector<Array> SpmdProgram::run(std::span<const Array> inputs, SourceLoc loc) {
  const StandardFloats floats(flush_subnormals());
  const MeshAxes& mesh = mesh_.axes();
  std::vector<DeviceBuffers> in;
  in.reserve(flat_.consts.size() + inputs.size());
  if (local_.empty())
    throw DeviceError(
        fmt::format("shard_map: none of the mesh's devices, {}, is this process's; only the processes that have some may run it",
                    fmt::join(mesh_.devices(), ", ")),
        loc);
  in.insert(in.end(), constants_.begin(), constants_.end());
  if (constants_.empty())
    for (const Array& constant : flat_.consts) in.push_back(on_each_local(whole_of(constant, mesh.device_ids[local_[0]])));
  const std::size_t first = in.size();
  in.resize(first + inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!body_.takes(first + i)) in[first + i] = operand(i, inputs[i], loc);
  for (std::size_t i = 0; i < inputs.size(); ++i)  // when no other operand can be refused any more
    if (body_.takes(first + i)) in[first + i] = taken_operand(i, inputs[i], loc);
  std::vector<DeviceBuffers> results =
      replay_ && !config.debug_nans
          ? replay_->run(std::move(in), [&](const auto& values, bool one_thread) { return body_.run(values, one_thread); })
          : body_.run(in);
  std::vector<Array> out;
  out.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t k : local_)
      if (results[i][k]->device_id() != mesh.device_ids[k]) results[i][k] = shared_with(results[i][k], mesh.device_ids[k]);
    out.push_back(Array(Ref<ArrayImpl>(new ConcreteArray(out_avals_[i], std::move(results[i]), placements_[i]))));
  }
  return out;
}

Ref<SpmdProgram> spmd_program(const ParamsRef& params, Backend& given, const std::vector<bool>& given_away) {
  struct Entry {
    ParamsRef params;
    Backend* backend;
    std::vector<bool> donated;
    Ref<SpmdProgram> program;
  };
  static std::mutex mutex;
  static std::unordered_multimap<std::uint64_t, Entry>* cache = new std::unordered_multimap<std::uint64_t, Entry>;
  const auto& p = params_as<ShardMapParams>(*params);
  // Segments run where the mesh's devices are.
  const std::vector<int>& ids = p.mesh.device_ids;
  const bool beyond = !ids.empty() && is_accelerator(ids[0]);
  for (int id : ids)
    if (is_accelerator(id) != beyond) throw DeviceError("shard_map: a mesh of devices of several platforms");
  const std::string_view other = accelerators().platform();
  Backend& backend = beyond && given.platform() == "cpu"    ? detail::backend(other)
                     : !beyond && given.platform() == other ? detail::backend("cpu")
                                                            : given;
  // What is taken for results is the host's memory only.
  const std::vector<bool> donated = beyond ? std::vector<bool>() : given_away;
  const std::uint64_t key = structural_hash(p.jaxpr);
  const auto find = [&]() -> Ref<SpmdProgram> {
    const auto [begin, end] = cache->equal_range(key);
    for (auto e = begin; e != end; ++e)
      if (e->second.backend == &backend && e->second.donated == donated &&
          (e->second.params.get() == params.get() || params_as<ShardMapParams>(*e->second.params) == p))
        return e->second.program;
    return {};
  };
  {
    const std::lock_guard lock(mutex);
    if (Ref<SpmdProgram> known = find()) return known;
  }
  Ref<SpmdProgram> program(new SpmdProgram(p, backend, "shard_map", donated));
  const std::lock_guard lock(mutex);
  if (Ref<SpmdProgram> known = find()) return known;
  if (cache->size() >= 1024) cache->clear();  // programs in use are kept by whoever uses them
  cache->emplace(key, Entry{params, &backend, donated, program});
  return program;
}

}  // namespace weft::detail
