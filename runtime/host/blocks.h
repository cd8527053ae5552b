// Blocks of arrays: slicing arrays into blocks and assembling arrays from them. Host devices share one memory, so a block that is
// contiguous in it is shared, not copied.
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
/// The sharding as text for messages: a device, or a spec and its mesh; where two are compared, with the devices of the mesh.
std::string described(const Sharding& s);
std::pair<std::string, std::string> described_apart(const Sharding& a, const Sharding& b);
/// "cpu:0, cpu:1"; of many, the first and the last.
std::string device_list(const std::vector<int>& ids);
/// The result of a computation on the one device where an operand is, with the operand's placement. A spec applies only to results of
/// `operand_ndim` dimensions; others are replicated on the same mesh.
Array placed_as_operand(const Aval& aval, Ref<Buffer> buffer, const Ref<const Placement>& operand, int operand_ndim);
/// The sharding of a concrete array; of an uncommitted one, the device that it is on.
Sharding sharding_of(const ConcreteArray& x);

/// Where a box of elements begins in a row-major array.
template <class Memory>
struct BoxIn {
  Memory* data;
  const Shape& shape;
  std::span<const std::int64_t> start;
};
/// Copies a box of elements between two arrays.
void copy_box(BoxIn<const void> from, BoxIn<void> to, const Shape& box, std::int64_t itemsize);
/// The elements of a box of a concrete array or literal, for `device`: a view if they are contiguous, else a copy. Throws DeviceError if
/// they are in other processes.
Ref<Buffer> box_of(const Array& x, std::span<const std::int64_t> start, const Shape& box, int device);
/// Whether some of its shards are in other processes.
bool has_remote_shards(const ConcreteArray& x);
/// Throws the error for reading an array that has shards in other processes; it names the ways to read it.
[[noreturn]] void throw_not_addressable(const Array& x);
/// All elements in one buffer.
Ref<Buffer> whole_of(const Array& x, int device);
/// The same memory as a buffer of another host device.
Ref<Buffer> shared_with(const Ref<Buffer>& buffer, int device);
/// All elements in one buffer of a device's own memory, a GPU's or the host's: the array's own buffer if it is there, else a copy.
Ref<Buffer> buffer_on(const Array& x, int device);
/// The same contents in memory that the device can read: the buffer itself, or a copy.
Ref<Buffer> moved(const Ref<Buffer>& buffer, int device);
/// The same contents in the host's memory.
Ref<Buffer> on_host(const Ref<Buffer>& buffer);
/// Whether an array is in memory that the host can't read.
bool any_beyond_host(std::span<const Array> xs);
/// The same arrays, in the host's memory.
std::vector<Array> fetched(std::span<const Array> xs, int device);
/// Copies all elements to `out`.
void read_all(const ConcreteArray& x, void* out);
/// Whether two shardings of a shape are equivalent: the same blocks on the same devices.
bool equivalent_shardings(const MeshAxes& mesh_a, const PartitionSpec& a, const MeshAxes& mesh_b, const PartitionSpec& b,
                          const Shape& whole);
/// Whether two shardings of a shape have the same blocks, on whichever devices.
bool same_blocks(const MeshAxes& mesh_a, const PartitionSpec& a, const MeshAxes& mesh_b, const PartitionSpec& b, const Shape& whole);
/// Shards a concrete array or a literal; the shards are in the mesh's order. Shards that are in place already are kept. Where this process
/// needs elements of other processes, all of them must call it.
Array shard_array(const Array& x, const NamedSharding& s);
/// Whether the result of a primitive has its operand's elements in the same order, so that it can share the operand's memory.
bool is_view(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out);
/// An array committed to one device.
Array commit(const Aval& aval, Ref<Buffer> buffer);

}  // namespace weft::detail
