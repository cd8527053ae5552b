#include "weft/runtime/sharded/global_arrays.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_reads.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/hash.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/process_exchange.h"
#include "weft/runtime/processes/process_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft {

using namespace detail;

namespace {

const ConcreteArray* value_of(const Array& x, const char* operation, SourceLoc loc) {
  if (as_literal(x)) return nullptr;
  const ConcreteArray* c = as_concrete(x);
  if (!c)
    throw ConcretizationError(
        fmt::format("{}: {} is {} and has no elements yet", operation, detail::to_string(x.aval()), as_traced(x) ? "traced" : "abstract"),
        loc);
  return c;
}

Array array_of(const Aval& aval, std::vector<Ref<Buffer>> shards, const NamedSharding& s) {
  return Array(Ref<ArrayImpl>(new ConcreteArray({aval.shape, aval.dtype, false}, std::move(shards), make_placement(s))));
}

std::vector<std::size_t> positions_here(const MeshAxes& mesh, const char* operation, SourceLoc loc) {
  std::vector<std::size_t> here = local_positions(mesh.device_ids);
  if (here.empty()) throw ShardingError(fmt::format("{}: the mesh has no device of process {}", operation, process_index()), loc);
  return here;
}

void check_block(const Array& block, const Aval& want, std::size_t which, const char* operation, SourceLoc loc) {
  if (block.shape() != want.shape)
    throw ShapeError(
        fmt::format("{}: block {} is {}, it must be {}", operation, which, detail::to_string(block.aval()), detail::to_string(want)), loc);
  if (block.dtype() != want.dtype)
    throw DTypeError(
        fmt::format("{}: block {} is {}, the first is {}", operation, which, detail::to_string(block.aval()), detail::to_string(want)),
        loc);
}

/// Coordinates along each dimension's axes of this process's devices, in order.
std::vector<std::vector<std::int64_t>> coordinates_here(const MeshAxes& mesh, const PartitionSpec& spec, int ndim,
                                                        const std::vector<std::size_t>& here) {
  std::vector<std::vector<std::int64_t>> list;
  for (int d = 0; d < ndim; ++d) {
    std::set<std::int64_t> some;
    for (std::size_t k : here) some.insert(mesh.coordinate(static_cast<std::int64_t>(k), spec.axes_of(d)));
    list.emplace_back(some.begin(), some.end());
  }
  return list;
}

std::vector<int> everybody() {
  std::vector<int> ranks;
  for (int r = 0; r < process_count(); ++r) ranks.push_back(r);
  return ranks;
}
CollectiveLabel label_of(const std::string& text, const std::string& more, SourceLoc loc) { return {text, fnv_of(text + more), loc}; }

/// These processes' buffers, all of one size, in host memory; in the order of `ranks`.
std::vector<Ref<Buffer>> gather_bytes(const Ref<Buffer>& own, const std::vector<int>& ranks, const CollectiveLabel& label) {
  ProcessWorld& world = *process_world();
  std::vector<Ref<Buffer>> all;
  ProcessExchange call(world, ranks, label);
  for (const int r : ranks) {
    all.push_back(r == world.rank() ? own : Ref<Buffer>(new HostBuffer(own->bytes(), own->device_id())));
    if (r == world.rank()) continue;
    call.receive(r, all.back());
    call.send(r, own);
  }
  call.wait({all});
  return all;
}

}  // namespace

Array make_array_from_process_local_data(const NamedSharding& s, const Array& local, std::optional<Shape> global_shape, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const char* const name = "make_array_from_process_local_data";
  const ArrayReads reads(local, name, loc);
  value_of(local, name, loc);
  const MeshAxes& mesh = s.mesh().axes();
  const std::vector<std::size_t> here = positions_here(mesh, name, loc);
  const std::vector<std::vector<std::int64_t>> mine = coordinates_here(mesh, s.spec(), local.ndim(), here);
  Shape whole = global_shape.value_or(local.shape());
  if (whole.size() != local.ndim())
    throw ShardingError(
        fmt::format("{}: {} for a global shape {} of another rank", name, detail::to_string(local.aval()), detail::to_string(whole)), loc);
  std::vector<bool> has_all(mine.size());
  for (int d = 0; d < whole.size(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t parts = mesh.size_of(s.spec().axes_of(d)), held = static_cast<std::int64_t>(mine[i].size());
    const std::int64_t n = local.shape()[d];
    if (!global_shape) {
      if (n % held != 0)
        throw ShardingError(fmt::format("{}: dimension {} of {} is sharded over {} of this process, which don't divide it", name, d,
                                        detail::to_string(local.aval()), detail::counted(held, "device")),
                            loc);
      whole = whole.with(d, n / held * parts);
      continue;
    }
    has_all[i] = n == whole[d];
    if (!has_all[i] && (whole[d] % parts != 0 || n != whole[d] / parts * held))
      throw ShardingError(fmt::format("{}: dimension {} of the local data has {}, the global shape {} and {} of {} parts here make {}",
                                      name, d, counted(n, "row"), detail::to_string(whole), held, parts, whole[d] / parts * held),
                          loc);
  }
  if (const std::string problem = spec_problem(mesh, s.spec(), whole); !problem.empty())
    throw ShardingError(fmt::format("{}: {}", name, problem), loc);
  const Shape block = block_shape(mesh, s.spec(), whole);
  std::vector<Ref<Buffer>> shards(mesh.device_ids.size());
  for (std::size_t k : here) {
    std::vector<std::int64_t> start = block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k));
    for (std::size_t d = 0; d < start.size(); ++d)
      if (!has_all[d]) {
        const std::int64_t c = mesh.coordinate(static_cast<std::int64_t>(k), s.spec().axes_of(static_cast<int>(d)));
        start[d] = (std::lower_bound(mine[d].begin(), mine[d].end(), c) - mine[d].begin()) * block[static_cast<int>(d)];
      }
    shards[k] = box_of(local, start, block, mesh.device_ids[k]);
  }
  return array_of(local.aval().with_shape(whole), std::move(shards), s);
}

Array make_array_from_single_device_arrays(const Shape& shape, const NamedSharding& s, const std::vector<Array>& arrays, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const char* const name = "make_array_from_single_device_arrays";
  const ArrayReads reads(arrays, name, loc);
  const MeshAxes& mesh = s.mesh().axes();
  const std::vector<std::size_t> here = positions_here(mesh, name, loc);
  if (const std::string problem = spec_problem(mesh, s.spec(), shape); !problem.empty())
    throw ShardingError(fmt::format("{}: {}", name, problem), loc);
  if (arrays.size() != here.size())
    throw ShardingError(fmt::format("{}: {} for {} of this process in the mesh; give one for each", name,
                                    detail::counted(arrays.size(), "array"), detail::counted(here.size(), "device")),
                        loc);
  const Shape block = block_shape(mesh, s.spec(), shape);
  std::vector<Ref<Buffer>> shards(mesh.device_ids.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    const ConcreteArray* c = value_of(arrays[i], name, loc);
    check_block(arrays[i], {block, arrays[0].dtype(), false}, i, name, loc);
    const int device = mesh.device_ids[here[i]];
    if (c && c->placement && c->buffer && c->buffer->device_id() != device)
      throw DeviceError(
          fmt::format("{}: array {} is on {}, but belongs on {}", name, i, Device::of_id(c->buffer->device_id()), Device::of_id(device)),
          loc);
    shards[here[i]] = whole_of(arrays[i], device);
  }
  return array_of(arrays[0].aval().with_shape(shape), std::move(shards), s);
}

void sync_global_devices(const std::string& name, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  if (!process_world()) return;
  struct Entry {
    char name[256] = {};
  } own;
  std::memcpy(own.name, name.data(), std::min(name.size(), sizeof own.name - 1));
  const Ref<Buffer> buffer(new HostBuffer(sizeof own, processes().first_local()));
  std::memcpy(buffer->data(), &own, sizeof own);
  const std::vector<Ref<Buffer>> all = gather_bytes(buffer, everybody(), label_of("sync_global_devices", "", loc));
  std::string others;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const char* other = static_cast<const char*>(all[r]->data());
    if (std::strncmp(other, own.name, sizeof own.name) != 0)
      others += fmt::format("{}process {} is at `{}`", others.empty() ? "" : ", ", r, other);
  }
  if (!others.empty())
    throw DistributedError(
        fmt::format("sync_global_devices: process {} is at `{}`, {}; all must come to the same point", process_index(), name, others), loc);
}

namespace detail {
namespace {

/// Throws DistributedError if the processes of the mesh have different elements in x, which each has on its own.
void check_same_everywhere(const Array& x, const MeshAxes& mesh, SourceLoc loc) {
  const ConcreteArray* c = as_concrete(x);
  ProcessWorld* const world = process_world();
  // In a dry run nothing comes from the others. Without MPI it would take GPUs' communicators to compare what is on hosts.
  if (!world || world->is_dry() || !world->has_transport() || (c && has_remote_shards(*c))) return;
  const std::vector<int> ranks = processes().processes_of(mesh.device_ids);
  if (ranks.size() == 1) return;
  const Aval aval{x.shape(), x.dtype(), false};
  const int host = processes().first_local();
  const Ref<Buffer> elements = on_host(whole_of(x, host)), sum(new HostBuffer(sizeof(std::uint64_t), host));
  const std::uint64_t own = crc32_z(crc32_z(0, nullptr, 0), static_cast<const Bytef*>(elements->data()), elements->bytes());
  std::memcpy(sum->data(), &own, sizeof own);
  const std::vector<Ref<Buffer>> all = gather_bytes(sum, ranks, label_of(fmt::format("device_put of {}", to_string(aval)), "same", loc));
  std::vector<int> others;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (std::memcmp(all[k]->data(), &own, sizeof own) != 0) others.push_back(ranks[k]);
  if (!others.empty())
    throw DistributedError(fmt::format("device_put of {}: {} {} other elements than process {}; give the same array everywhere "
                                       "(broadcast_one_to_all makes it so), or each process's part by make_array_from_process_local_data",
                                       to_string(aval), named_processes(others), others.size() == 1 ? "has" : "have", process_index()),
                           loc);
}

}  // namespace

Array device_put_same(const Array& x, const weft::Placement& where, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  if (!where.sharding().is_single_device() && !as_traced(x)) {
    const ArrayReads reads(x, "device_put", loc);
    if (value_of(x, "device_put", loc) || as_literal(x)) check_same_everywhere(x, where.sharding().named().mesh().axes(), loc);
  }
  return device_put_array(x, where, given);
}

Array array_from_callback(const Shape& shape, const NamedSharding& s, FunctionRef<Array(const std::vector<Slice>&)> part, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const char* const name = "make_array_from_callback";
  const MeshAxes& mesh = s.mesh().axes();
  const std::vector<std::size_t> here = positions_here(mesh, name, loc);
  if (const std::string problem = spec_problem(mesh, s.spec(), shape); !problem.empty())
    throw ShardingError(fmt::format("{}: {}", name, problem), loc);
  const Shape block = block_shape(mesh, s.spec(), shape);
  std::vector<Ref<Buffer>> shards(mesh.device_ids.size());
  std::vector<std::vector<std::int64_t>> starts;
  std::optional<DType> dtype;
  for (std::size_t k : here) {
    starts.push_back(block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k)));
    const auto same = static_cast<std::size_t>(std::find(starts.begin(), starts.end() - 1, starts.back()) - starts.begin());
    if (same + 1 < starts.size()) {
      shards[k] = shared_with(shards[here[same]], mesh.device_ids[k]);
      continue;
    }
    std::vector<Slice> index;
    for (int d = 0; d < shape.size(); ++d)
      index.push_back(slice(starts.back()[static_cast<std::size_t>(d)], starts.back()[static_cast<std::size_t>(d)] + block[d]));
    const Array x = part(index);
    value_of(x, name, loc);
    if (!dtype) dtype = x.dtype();
    check_block(x, {block, *dtype, false}, k, name, loc);
    shards[k] = whole_of(x, mesh.device_ids[k]);
  }
  return array_of({shape, *dtype, false}, std::move(shards), s);
}

Mesh local_mesh(const Mesh& mesh, const char* operation, SourceLoc loc) {
  const MeshAxes& m = mesh.axes();
  const std::vector<std::size_t> here = positions_here(m, operation, loc);
  std::vector<std::int64_t> sizes;
  std::int64_t product = 1;
  for (const std::string& axis : m.names) {
    std::set<std::int64_t> some;
    for (std::size_t k : here) some.insert(m.coordinate(static_cast<std::int64_t>(k), {axis}));
    sizes.push_back(static_cast<std::int64_t>(some.size()));
    product *= sizes.back();
  }
  if (product != static_cast<std::int64_t>(here.size()))
    throw ShardingError(fmt::format("{}: the devices of process {} are not a block of the mesh {}; put each process's devices side by side",
                                    operation, process_index(), print_param(m)),
                        loc);
  std::vector<Device> devices;
  for (std::size_t k : here) devices.push_back(Device::of_id(m.device_ids[k]));
  return Mesh(std::move(devices), Shape(sizes), m.names, loc);
}

Array host_local_to_global(const Array& x, const Mesh& mesh, const PartitionSpec& spec, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const NamedSharding s(mesh, spec, loc);
  const ArrayReads reads(x, "host_local_array_to_global_array", loc);
  const ConcreteArray* c = value_of(x, "host_local_array_to_global_array", loc);
  if (c && has_remote_shards(*c))
    throw ShardingError(fmt::format("host_local_array_to_global_array: {} is global already", to_string(x.aval())), loc);
  return make_array_from_process_local_data(s, x, {}, loc);
}

Array global_to_host_local(const Array& x, const Mesh& mesh, const PartitionSpec& spec, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const char* const name = "global_array_to_host_local_array";
  const ArrayReads reads(x, name, loc);
  value_of(x, name, loc);
  const NamedSharding s(mesh, spec, loc);
  if (const std::string problem = spec_problem(mesh.axes(), spec, x.shape()); !problem.empty())
    throw ShardingError(fmt::format("{}: {}", name, problem), loc);
  const Mesh local = local_mesh(mesh, name, loc);
  const Array sharded = shard_array(x, s);
  std::vector<Ref<Buffer>> shards;
  for (std::size_t k : local_positions(mesh.axes().device_ids)) shards.push_back(as_concrete(sharded)->shards[k]);
  const Shape shape = whole_shape(local.axes(), spec, block_shape(mesh.axes(), spec, x.shape()));
  return array_of(x.aval().with_shape(shape), std::move(shards), NamedSharding(local, spec));
}

Array allgather_array(const Array& x, bool tiled, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const ArrayReads reads(x, "process_allgather", loc);
  const ConcreteArray* c = value_of(x, "process_allgather", loc);
  const Aval aval{x.shape(), x.dtype(), false};
  if (c && has_remote_shards(*c)) {
    const Mesh mesh = sharding_of(*c).named().mesh();
    const Array everywhere = redistribute(x, NamedSharding(mesh, PartitionSpec()));
    return wrap_buffer(aval, as_concrete(everywhere)->shards.at(local_positions(mesh.axes().device_ids).at(0)));
  }
  if (tiled && x.ndim() == 0)
    throw ShapeError(fmt::format("process_allgather: {} has no dimension to join along; leave `tiled` out", to_string(aval)), loc);
  const int device = default_device_id(), host = processes().first_local();
  const Ref<Buffer> own = on_host(whole_of(x, host));
  std::vector<Ref<Buffer>> all{own};
  if (process_world())
    all = gather_bytes(own, everybody(), label_of(fmt::format("process_allgather of {}", to_string(aval)), "", loc));
  else if (c && c->placement && (tiled || sharding_of(*c).named().mesh().size() > 1))
    return wrap_buffer(aval, moved(own, device));
  const auto n = static_cast<std::int64_t>(all.size());
  const Ref<Buffer> joined(new HostBuffer(own->bytes() * all.size(), host));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (own->bytes() > 0) std::memcpy(static_cast<char*>(joined->data()) + i * own->bytes(), all[i]->data(), own->bytes());
  return wrap_buffer(aval.with_shape(tiled ? x.shape().with(0, x.shape()[0] * n) : x.shape().inserted(0, n)), moved(joined, device));
}

Array broadcast_array(const Array& x, bool is_source, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const ArrayReads reads(x, "broadcast_one_to_all", loc);
  const ConcreteArray* c = value_of(x, "broadcast_one_to_all", loc);
  const Aval aval{x.shape(), x.dtype(), false};
  if (c && has_remote_shards(*c))
    throw ShardingError(
        fmt::format("broadcast_one_to_all: {} is spread over several processes; give each process's own array", to_string(aval)), loc);
  const int device = default_device_id(), host = processes().first_local();
  const Ref<Buffer> own = on_host(whole_of(x, host));
  if (!process_world()) return wrap_buffer(aval, moved(own, device));
  // The rank of the source, then its elements.
  const Ref<Buffer> flag(new HostBuffer(8, host));
  const std::uint64_t mark = is_source ? 1 : 0;
  std::memcpy(flag->data(), &mark, sizeof mark);
  const std::string text = fmt::format("broadcast_one_to_all of {}", to_string(aval));
  const std::vector<Ref<Buffer>> flags = gather_bytes(flag, everybody(), label_of(text, "who", loc));
  std::vector<int> sources;
  for (std::size_t r = 0; r < flags.size(); ++r) {
    std::uint64_t value = 0;
    std::memcpy(&value, flags[r]->data(), sizeof value);
    if (value) sources.push_back(static_cast<int>(r));
  }
  if (sources.size() != 1)
    throw DistributedError(fmt::format("broadcast_one_to_all: {} processes say that they are the source ({}); one must", sources.size(),
                                       fmt::join(sources, ", ")),
                           loc);
  ProcessWorld& world = *process_world();
  const CollectiveLabel label = label_of(text, "value", loc);
  ProcessExchange call(world, everybody(), label);
  const Ref<Buffer> value = is_source ? own : Ref<Buffer>(new HostBuffer(own->bytes(), host));
  if (is_source) {
    for (int r = 0; r < world.size(); ++r)
      if (r != world.rank()) call.send(r, value);
  } else {
    call.receive(sources[0], value);
  }
  call.wait({std::span(&value, 1)});
  return wrap_buffer(aval, moved(value, device));
}

namespace {

/// The host device whose memory stands in for that of a device.
int host_of(int device) { return is_accelerator(device) ? processes().first_local() : device; }

/// Different parts of an array, and the processes that have each; the first of them gives it to those that don't.
struct Part {
  std::vector<std::int64_t> begin;
  std::vector<int> owners;
  std::size_t position;  ///< of one device that has it: this process's, if there is one
  bool here = false;
};
std::vector<Part> parts_of(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& block) {
  std::vector<Part> parts;
  const Processes& all = processes();
  for (std::size_t k = 0; k < mesh.device_ids.size(); ++k) {
    const std::vector<std::int64_t> begin = block_start(mesh, spec, block, static_cast<std::int64_t>(k));
    auto p = std::find_if(parts.begin(), parts.end(), [&](const Part& q) { return q.begin == begin; });
    if (p == parts.end()) p = parts.insert(parts.end(), Part{begin, {}, k, false});
    const int owner = all.process_of(mesh.device_ids[k]);
    if (!std::count(p->owners.begin(), p->owners.end(), owner)) p->owners.push_back(owner);
    if (owner == all.index && !p->here) p->here = true, p->position = k;
  }
  return parts;
}

}  // namespace

Array redistribute(const Array& x, const NamedSharding& s) {
  const SourceLoc loc = effective_loc({});
  const ConcreteArray& c = *as_concrete(x);
  const NamedSharding from = sharding_of(c).named();
  const MeshAxes &source = from.mesh().axes(), &target = s.mesh().axes();
  const Shape shape = x.shape();
  const std::int64_t item = x.dtype().itemsize();
  const Shape source_block = block_shape(source, from.spec(), shape), target_block = block_shape(target, s.spec(), shape);
  const std::vector<Part> have = parts_of(source, from.spec(), source_block), want = parts_of(target, s.spec(), target_block);
  std::vector<int> ids = source.device_ids;
  ids.insert(ids.end(), target.device_ids.begin(), target.device_ids.end());
  const std::vector<int> ranks = processes().processes_of(ids);
  const std::string what = fmt::format("moving {}", to_string(x.aval()));
  const CollectiveLabel label = label_of(
      what, fmt::format("{} of {} to {} of {}", to_string(from.spec()), print_param(source), to_string(s.spec()), print_param(target)),
      loc);
  ProcessWorld& world = *process_world();
  const int me = world.rank();
  ProcessExchange call(world, ranks, label);

  struct Incoming {
    Ref<Buffer> data;
    std::size_t into;
    Shape box;
    std::vector<std::int64_t> to;
  };
  std::vector<Incoming> incoming;
  // On the host, wherever the devices are.
  std::vector<Ref<Buffer>> here;
  for (const Ref<Buffer>& b : c.shards) here.push_back(b ? on_host(b) : b);
  std::vector<Ref<Buffer>> kept(here), blocks(want.size());
  const std::vector<std::int64_t> zero(static_cast<std::size_t>(shape.size()), 0);
  const int device = processes().first_local();
  for (std::size_t w = 0; w < want.size(); ++w)
    if (want[w].here)
      blocks[w] = Ref<Buffer>(
          new HostBuffer(static_cast<std::size_t>(target_block.num_elements() * item), host_of(target.device_ids[want[w].position])));
  for (std::size_t w = 0; w < want.size(); ++w)
    for (const Part& h : have) {
      Shape box = shape;
      std::vector<std::int64_t> at(zero), to(zero);
      bool any = true;
      for (int d = 0; d < shape.size(); ++d) {
        const auto i = static_cast<std::size_t>(d);
        const std::int64_t low = std::max(want[w].begin[i], h.begin[i]),
                           high = std::min(want[w].begin[i] + target_block[d], h.begin[i] + source_block[d]);
        any &= low < high;
        box[d] = high - low, at[i] = low - h.begin[i], to[i] = low - want[w].begin[i];
      }
      if (!any) continue;
      const std::int64_t bytes = box.num_elements() * item;
      if (want[w].here && h.here) {
        copy_box({here[h.position]->data(), source_block, at}, {blocks[w]->data(), target_block, to}, box, item);
      } else if (want[w].here) {
        const Ref<Buffer> data = kept.emplace_back(Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(bytes), device)));
        call.receive(h.owners[0], data);
        incoming.push_back({data, w, box, to});
      }
      if (h.owners[0] != me) continue;
      Ref<Buffer> going;
      for (int r : want[w].owners) {
        if (std::count(h.owners.begin(), h.owners.end(), r)) continue;
        if (!going) {
          going = kept.emplace_back(Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(bytes), device)));
          copy_box({here[h.position]->data(), source_block, at}, {going->data(), box, zero}, box, item);
        }
        call.send(r, going);
      }
    }
  call.wait({kept, blocks});
  for (const Incoming& m : incoming) copy_box({m.data->data(), m.box, zero}, {blocks[m.into]->data(), target_block, m.to}, m.box, item);
  std::vector<Ref<Buffer>> shards(target.device_ids.size());
  for (std::size_t k : local_positions(target.device_ids)) {
    const std::vector<std::int64_t> begin = block_start(target, s.spec(), target_block, static_cast<std::int64_t>(k));
    const auto w =
        static_cast<std::size_t>(std::find_if(want.begin(), want.end(), [&](const Part& p) { return p.begin == begin; }) - want.begin());
    shards[k] = shared_with(blocks[w], target.device_ids[k]);
  }
  return array_of(x.aval(), std::move(shards), s);
}

}  // namespace detail
}  // namespace weft
