// Blocks of arrays: cutting them out, and putting them together. The memory of all host devices is one, so what is in one piece is
// shared, not copied.
#pragma once
#include "weft/core/array/array_impl.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/primitive.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft::detail {

/// The placement of an array over devices.
class ShardedPlacement final : public Placement {
 public:
  explicit ShardedPlacement(Sharding s) : sharding(std::move(s)) {}
  std::string describe() const override;
  const Sharding sharding;
};
Ref<const Placement> make_placement(const Sharding& s);
/// A device, or a spec and its mesh. Of two that have one text, the devices follow, which tell them apart.
std::string described(const Sharding& s);
std::pair<std::string, std::string> described_apart(const Sharding& a, const Sharding& b);
/// "cpu:0, cpu:1"; of many, the first and the last.
std::string device_list(const std::vector<int>& ids);
/// A result of what ran on the one device where an operand is: placed as the operand is, but that a spec is only for arrays of as many
/// dimensions as the operand's `operand_ndim`; others are whole on the same mesh.
Array placed_as_operand(const Aval& aval, Ref<Buffer> buffer, const Ref<const Placement>& operand, int operand_ndim);
/// The sharding of a concrete array; of an uncommitted one, the device that it is on.
Sharding sharding_of(const ConcreteArray& x);

/// Copies a box of elements between two row-major arrays.
void copy_box(const void* from, const Shape& from_shape, std::span<const std::int64_t> from_start, void* to, const Shape& to_shape,
              std::span<const std::int64_t> to_start, const Shape& box, std::int64_t itemsize);
/// The elements of a box of a concrete array or literal, for `device`: a view where they are in one piece, else a copy. Throws DeviceError
/// if other processes have them.
Ref<Buffer> box_of(const Array& x, std::span<const std::int64_t> start, const Shape& box, int device);
/// Whether some of its parts are other processes'.
bool has_remote_shards(const ConcreteArray& x);
/// For an array of which other processes have parts: that it can't be read here, and how it can.
[[noreturn]] void throw_not_addressable(const Array& x);
/// All elements in one place.
Ref<Buffer> whole_of(const Array& x, int device);
/// The same memory as another host device sees it.
Ref<Buffer> shared_with(const Ref<Buffer>& buffer, int device);
/// All elements in one piece of a device's own memory, a GPU's or the host's: where they are already, or a copy.
Ref<Buffer> buffer_on(const Array& x, int device);
/// The same contents where a device reads them: as they are, or a copy.
Ref<Buffer> moved(const Ref<Buffer>& buffer, int device);
/// The same contents where the host reads them.
Ref<Buffer> on_host(const Ref<Buffer>& buffer);
/// Whether some are in the memory of a device that the host can't read.
bool any_beyond_host(std::span<const Array> xs);
/// The same arrays, in the host's memory.
std::vector<Array> fetched(std::span<const Array> xs, int device);
/// Copies all elements to `out`.
void read_all(const ConcreteArray& x, void* out);
/// Whether two divisions of one shape are the same: equal blocks on equal devices.
bool same_division(const MeshAxes& mesh_a, const PartitionSpec& a, const MeshAxes& mesh_b, const PartitionSpec& b, const Shape& whole);
/// The same, whatever the devices are.
bool same_blocks(const MeshAxes& mesh_a, const PartitionSpec& a, const MeshAxes& mesh_b, const PartitionSpec& b, const Shape& whole);
/// Divides a concrete array or a literal; the shards are in the mesh's order. Those it has already are kept. Where
/// other processes have what this one needs, all of them must call it.
Array shard_array(const Array& x, const NamedSharding& s);
/// Whether a primitive only gives its operand's elements another shape: they can stay where they are.
bool is_view(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out);
/// An array committed to one device.
Array commit(const Aval& aval, Ref<Buffer> buffer);

}  // namespace weft::detail
