#include "weft/runtime/host/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/global_arrays.h"

namespace weft::detail {

std::string ShardedPlacement::describe() const { return described(sharding); }

std::string described(const Sharding& s) {
  if (s.is_single_device()) return to_string(s.device_set()[0]);
  return fmt::format("{} of {}", to_string(s.named().spec()), print_param(s.named().mesh().axes()));
}

std::pair<std::string, std::string> described_apart(const Sharding& a, const Sharding& b) {
  const std::pair<std::string, std::string> texts{described(a), described(b)};
  const auto devices = [](const Sharding& s) {
    return s.is_single_device() ? "" : " on " + device_list(s.named().mesh().axes().device_ids);
  };
  return {texts.first + devices(a), texts.second + devices(b)};
}

std::string device_list(const std::vector<int>& ids) {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids.size() <= kMost || i < 3 || i + 1 == ids.size())
      names.push_back(to_string(Device::of_id(ids[i])));
    else if (i == 3)
      names.push_back("...");
  return fmt::format("{}", fmt::join(names, ", "));
}

// Equal shardings that are made one after the other are one object, so that they compare equal by address.
Ref<const Placement> make_placement(const Sharding& s) {
  struct Recent {
    std::array<Ref<const Placement>, 4> list;
    std::size_t next = 0;
  };
  auto& [recent, next] = of_thread<Recent>();
  for (const Ref<const Placement>& p : recent)
    if (p)
      if (const Sharding& known = static_cast<const ShardedPlacement&>(*p).sharding; known == s && known.named().spec() == s.named().spec())
        return p;
  return recent[next++ % recent.size()] = Ref<const Placement>(new ShardedPlacement(s));
}

Array placed_as_operand(const Aval& aval, Ref<Buffer> buffer, const Ref<const Placement>& operand, int operand_ndim) {
  const Sharding& s = static_cast<const ShardedPlacement&>(*operand).sharding;
  const bool as_it_is = operand_ndim == aval.ndim() || s.is_single_device() || s.named().spec().trimmed().dims().empty();
  Ref<const Placement> placement = as_it_is ? operand : make_placement(NamedSharding(s.named().mesh(), PartitionSpec()));
  return Array(Ref<ArrayImpl>(new ConcreteArray(aval, {std::move(buffer)}, std::move(placement))));
}

Sharding sharding_of(const ConcreteArray& x) {
  if (x.placement) return static_cast<const ShardedPlacement&>(*x.placement).sharding;
  return Sharding(Device::of_id(x.buffer->device_id()));
}

void copy_box(BoxIn<const void> from, BoxIn<void> to, const Shape& box, std::int64_t itemsize) {
  if (box.num_elements() == 0) return;
  // Dimensions that are whole on both sides join the row that is copied at once.
  int outer = box.size();
  std::int64_t row = itemsize;
  while (outer > 0) {
    --outer;
    row *= box[outer];
    if (box[outer] != from.shape[outer] || box[outer] != to.shape[outer]) break;
  }
  const std::vector<std::int64_t> from_strides = row_major_strides(from.shape), to_strides = row_major_strides(to.shape);
  std::int64_t a = 0, b = 0;
  for (int d = 0; d < box.size(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    a += from.start[i] * from_strides[i], b += to.start[i] * to_strides[i];
  }
  const char* source = static_cast<const char*>(from.data) + a * itemsize;
  char* target = static_cast<char*>(to.data) + b * itemsize;
  std::vector<std::int64_t> at(static_cast<std::size_t>(outer), 0);
  for (;;) {
    std::memcpy(target, source, static_cast<std::size_t>(row));
    int d = outer - 1;
    for (; d >= 0; --d) {
      const auto i = static_cast<std::size_t>(d);
      source += from_strides[i] * itemsize, target += to_strides[i] * itemsize;
      if (++at[i] < box[d]) break;
      source -= at[i] * from_strides[i] * itemsize, target -= at[i] * to_strides[i] * itemsize;
      at[i] = 0;
    }
    if (d < 0) return;
  }
}

Ref<Buffer> on_host(const Ref<Buffer>& buffer) {
  if (buffer->on_host()) return buffer;
  Ref<Buffer> out(new HostBuffer(buffer->bytes(), processes().first_local()));
  accelerators().download(buffer, out->data());
  return out;
}

Ref<Buffer> moved(const Ref<Buffer>& buffer, int device) {
  if (!is_accelerator(device)) return buffer->on_host() ? shared_with(buffer, device) : on_host(buffer);
  if (buffer->on_host()) return accelerators().upload(buffer->data(), buffer->bytes(), device);
  return buffer->device_id() == device ? buffer : accelerators().copy(buffer, device);
}

bool any_beyond_host(std::span<const Array> xs) {
  return std::any_of(xs.begin(), xs.end(), [](const Array& x) {
    const ConcreteArray* c = as_concrete(x);
    return c && c->buffer && !c->buffer->on_host();
  });
}

std::vector<Array> fetched(std::span<const Array> xs, int device) {
  std::vector<Array> out(xs.begin(), xs.end());
  for (Array& x : out)
    if (any_beyond_host({&x, 1})) x = wrap_buffer(x.aval(), moved(as_concrete(x)->buffer, device));
  return out;
}

Ref<Buffer> buffer_on(const Array& x, int device) {
  const auto bytes = static_cast<std::size_t>(x.aval().bytes());
  if (const LiteralArray* l = as_literal(x); l && is_accelerator(device)) return accelerators().upload(l->bits.data(), bytes, device);
  const ConcreteArray* c = as_concrete(x);
  return c && c->buffer ? moved(c->buffer, device) : whole_of(x, device);
}

Ref<Buffer> shared_with(const Ref<Buffer>& buffer, int device) {
  if (is_accelerator(device) || !buffer->on_host()) return moved(buffer, device);
  if (buffer->device_id() == device) return buffer;
  return Ref<Buffer>(new BorrowedBuffer(buffer, 0, buffer->bytes(), device));
}

namespace {

/// Whether a box of a row-major array is in one piece.
bool in_one_piece(const Shape& shape, const Shape& box) {
  int d = 0;
  while (d < box.size() && box[d] == 1) ++d;
  for (int i = d + 1; i < box.size(); ++i)
    if (box[i] != shape[i]) return false;
  return true;
}

}  // namespace

Ref<Buffer> box_of(const Array& x, std::span<const std::int64_t> start, const Shape& box, int device) {
  const Aval& aval = x.aval();
  const std::int64_t itemsize = aval.dtype.itemsize();
  const auto bytes = static_cast<std::size_t>(box.num_elements() * itemsize);
  const ConcreteArray* c = as_concrete(x);
  const bool beyond = c && std::any_of(c->shards.begin(), c->shards.end(), [](const Ref<Buffer>& b) { return b && !b->on_host(); });
  if (is_accelerator(device) || beyond || any_beyond_host({&x, 1})) {
    // Whole arrays and shards move as they are; everything else is cut out on the host.
    if (c && c->buffer && box == aval.shape) return moved(c->buffer, device);
    if (c && c->buffer) return moved(box_of(wrap_buffer(aval, on_host(c->buffer)), start, box, processes().first_local()), device);
    if (!c) return moved(box_of(x, start, box, processes().first_local()), device);
    std::vector<Ref<Buffer>> shards;
    for (const Ref<Buffer>& b : c->shards) shards.push_back(b ? on_host(b) : b);
    if (beyond)
      return moved(
          box_of(Array(Ref<ArrayImpl>(new ConcreteArray(aval, std::move(shards), c->placement))), start, box, processes().first_local()),
          device);
    return moved(box_of(x, start, box, processes().first_local()), device);
  }
  if (c && c->buffer && in_one_piece(aval.shape, box)) {
    const std::vector<std::int64_t> strides = row_major_strides(aval.shape);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) offset += start[d] * strides[d];
    offset *= itemsize;
    if (bytes == c->buffer->bytes() && offset == 0) return shared_with(c->buffer, device);
    return Ref<Buffer>(new BorrowedBuffer(c->buffer, static_cast<std::size_t>(offset), bytes, device));
  }
  Ref<Buffer> out(new HostBuffer(bytes, device));
  const std::vector<std::int64_t> zero(start.size(), 0);
  if (!c || c->buffer) {
    copy_box({host_data(x), aval.shape, start}, {out->data(), box, zero}, box, itemsize);
    return out;
  }
  const NamedSharding s = sharding_of(*c).named();
  const MeshAxes& mesh = s.mesh().axes();
  const Shape block = block_shape(mesh, s.spec(), aval.shape);
  const bool spread = std::any_of(c->shards.begin(), c->shards.end(), [](const Ref<Buffer>& b) { return !b; });
  const std::vector<std::string> replicated = unnamed_axes(mesh, s.spec());
  std::vector<std::vector<std::int64_t>> seen;
  std::int64_t found = 0;
  for (std::size_t k = 0; k < c->shards.size(); ++k) {
    if (!c->shards[k]) continue;
    const std::vector<std::int64_t> begin = block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k));
    // One of the devices that have this part: the first, or the first of this process's.
    if (spread ? std::find(seen.begin(), seen.end(), begin) != seen.end() : mesh.coordinate(static_cast<std::int64_t>(k), replicated) != 0)
      continue;
    if (spread) seen.push_back(begin);
    // The part of the box that this shard holds.
    Shape part = box;
    std::vector<std::int64_t> from(start.size()), to(start.size());
    bool any = true;
    for (int d = 0; d < box.size(); ++d) {
      const auto i = static_cast<std::size_t>(d);
      const std::int64_t low = std::max(start[i], begin[i]), high = std::min(start[i] + box[d], begin[i] + block[d]);
      any &= low < high;
      part[d] = high - low, from[i] = low - begin[i], to[i] = low - start[i];
    }
    if (!any) continue;
    if (part == box && block == box) return shared_with(c->shards[k], device);
    copy_box({c->shards[k]->data(), block, from}, {out->data(), box, to}, part, itemsize);
    found += part.num_elements();
  }
  if (spread && found < box.num_elements()) throw_not_addressable(x);
  return out;
}

void throw_not_addressable(const Array& x) {
  throw DeviceError(fmt::format("{} is in part on devices of other processes ({}): its elements can't be read here. process_allgather(x) "
                                "gives them to all processes, "
                                "x.addressable_shards() are those of this one",
                                to_string(x.aval()), as_concrete(x)->placement->describe()),
                    effective_loc({}));
}

Ref<Buffer> whole_of(const Array& x, int device) {
  const std::vector<std::int64_t> zero(static_cast<std::size_t>(x.ndim()), 0);
  return box_of(x, zero, x.shape(), device);
}

void read_all(const ConcreteArray& x, void* out) {
  if (x.buffer && !x.buffer->on_host()) return accelerators().download(x.buffer, out);
  const Array handle(Ref<ArrayImpl>(const_cast<ConcreteArray*>(&x)));
  const int device = x.buffer ? x.buffer->device_id() : default_device_id();
  const Ref<Buffer> whole = whole_of(handle, is_accelerator(device) ? processes().first_local() : device);
  if (x.aval.bytes() > 0) std::memcpy(out, whole->data(), static_cast<std::size_t>(x.aval.bytes()));
}

bool equivalent_shardings(const MeshAxes& mesh_a, const PartitionSpec& a, const MeshAxes& mesh_b, const PartitionSpec& b,
                          const Shape& whole) {
  return mesh_a.device_ids == mesh_b.device_ids && same_blocks(mesh_a, a, mesh_b, b, whole);
}

bool same_blocks(const MeshAxes& mesh_a, const PartitionSpec& a, const MeshAxes& mesh_b, const PartitionSpec& b, const Shape& whole) {
  const Shape block = block_shape(mesh_a, a, whole);
  if (block != block_shape(mesh_b, b, whole)) return false;
  for (std::int64_t k = 0; k < mesh_a.num_devices(); ++k)
    if (block_start(mesh_a, a, block, k) != block_start(mesh_b, b, block, k)) return false;
  return true;
}

Array shard_array(const Array& x, const NamedSharding& s) {
  const Aval& aval = x.aval();
  const MeshAxes& mesh = s.mesh().axes();
  const ConcreteArray* c = as_concrete(x);
  std::vector<Ref<Buffer>> shards;
  bool kept = false;
  if (c && c->placement && !c->shards.empty()) {
    const NamedSharding now = sharding_of(*c).named();
    if (equivalent_shardings(now.mesh().axes(), now.spec(), mesh, s.spec(), aval.shape)) shards = c->shards, kept = true;
  }
  if (!kept && c && has_remote_shards(*c)) return redistribute(x, s);
  if (!kept) {
    const Shape block = block_shape(mesh, s.spec(), aval.shape);
    shards.resize(mesh.device_ids.size());
    for (std::size_t k : local_positions(mesh.device_ids))
      shards[k] = box_of(x, block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k)), block, mesh.device_ids[k]);
  }
  return Array(Ref<ArrayImpl>(new ConcreteArray(aval, std::move(shards), make_placement(s))));
}

bool has_remote_shards(const ConcreteArray& x) {
  return !x.buffer && std::any_of(x.shards.begin(), x.shards.end(), [](const Ref<Buffer>& b) { return !b; });
}

bool is_view(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out) {
  if (op.kind == Kind::elementwise && op.num_operands == 1 && find_rule<IdentityTransform>(op)) return true;
  if (op.kind != Kind::movement || in.size() != out.size()) return false;
  const Movement m = op.movement(params, std::span(&in, 1), out, 0);
  if (m.reshape) return m.order.empty();
  return keeps_order(m, in.shape, out.shape);
}

Array commit(const Aval& aval, Ref<Buffer> buffer) {
  const Sharding where(Device::of_id(buffer->device_id()));
  return Array(Ref<ArrayImpl>(new ConcreteArray(aval, std::vector<Ref<Buffer>>{std::move(buffer)}, make_placement(where))));
}

}  // namespace weft::detail
