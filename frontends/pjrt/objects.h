// What the framework holds handles to: the client, its devices and their memories, buffers.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/frontends/pjrt/queue.h"
#include "weft/frontends/pjrt/status.h"
#include "weft/runtime/host/device.h"

namespace weft::pjrt {

/// A device as it is described: also where it isn't there.
struct DeviceDescription {
  int id = 0, process = 0;
  std::string kind, text;
  std::vector<NamedValue> attributes;
};

struct Memory {
  int id = 0, kind_id = 0;
  std::string kind, text;
  Device* device = nullptr;
};

struct Device {
  explicit Device(weft::Device d) : device(d) {}
  Client* client = nullptr;
  const weft::Device device;
  bool is_addressable = true;
  int local_id = -1;
  DeviceDescription description;
  std::vector<std::unique_ptr<Memory>> owned_memories;
  std::vector<Memory*> memories;  ///< the default one is first
  Memory* default_memory() const { return memories[0]; }
};

/// The devices that there are, for those who only compile.
struct Topology {
  std::string platform_version;
  std::vector<DeviceDescription> owned;
  std::vector<DeviceDescription*> descriptions;
};

struct Client {
  Client();
  std::vector<std::unique_ptr<Device>> owned;
  std::vector<Device*> devices, addressable;  ///< position i has the id i
  std::vector<Memory*> memories;              ///< addressable ones
  Topology topology;
  Queue queue;
  Device& device(int id) const;
};
inline constexpr char kPlatformName[] = "weft";
std::string platform_version();

// Types of elements.

/// Bytes of one element as it is in memory; those of less than a byte take one.
std::int64_t size_of(ElementType type);
std::string name_of(ElementType type);
/// weft's dtype, or nothing where weft can only keep such elements.
std::optional<DType> dtype_of(ElementType type);
ElementType element_type_of(DType dtype);
/// By the name that name_of gives.
ElementType element_type_of(std::string_view name);

/// The result of a program that is still in the queue.
struct Promise {
  explicit Promise(std::shared_ptr<Progress> p) : done(std::move(p)) {}
  const std::shared_ptr<Progress> done;
  Array value;  ///< set before `done` is
};

/// What a program needs of a buffer, valid after the buffer is deleted: its array, or the promise of one.
struct Content {
  Array value;
  std::shared_ptr<Promise> promise;
  /// Waits for the array and moves it out; throws the error of the program that was to give it.
  Array take();
};

/// The order in which an array's dimensions lie in memory, the outermost first; empty: row-major.
struct Order : std::vector<int> {
  using std::vector<int>::vector;
  /// The tiles of a layout, outermost first. They are kept with it and leave memory as it is, as on JAX's CPU platform.
  std::vector<std::vector<std::int64_t>> tiles;
  bool is_default() const { return empty() && tiles.empty(); }
  friend bool operator==(const Order&, const Order&) = default;
};

/// An array on one device.
struct Buffer {
  Buffer(Device* d, Memory* m, ElementType t, std::vector<std::int64_t> shape, Order o = {})
      : device(d), memory(m), type(t), dims(std::move(shape)), order(std::move(o)), minor_to_major(order.rbegin(), order.rend()) {
    for (const std::vector<std::int64_t>& tile : order.tiles) {
      tile_dims.insert(tile_dims.end(), tile.begin(), tile.end());
      tile_dim_sizes.push_back(tile.size());
    }
  }
  Device* const device;
  Memory* const memory;
  const ElementType type;
  const std::vector<std::int64_t> dims;
  const Order order;                               ///< its array has the dimensions in this order
  const std::vector<std::int64_t> minor_to_major;  ///< that order from the innermost; empty: row-major
  std::vector<std::int64_t> tile_dims;             ///< of all tiles of the order
  std::vector<std::size_t> tile_dim_sizes;         ///< of how many dimensions each is

  std::size_t bytes() const;
  bool is_deleted() const;
  /// Its elements, when they are there; throws what made them fail, or that it is deleted. Arrays of types that weft has none of are ones
  /// of unsigned integers of that size.
  Array array() const;
  /// The memory that they are in.
  detail::Ref<detail::Buffer> elements() const;
  /// Its array, or the promise of the queue's program that computes it; waits for anything else. Throws that program's error, or that the
  /// buffer was deleted.
  Content content() const;
  /// The same, and deletes the buffer.
  Content take();
  void remove();
  std::shared_ptr<Progress> progress() const;  ///< null: ready

  // What is set once, by who makes the buffer.
  void set(Array x);
  void set_pending(std::shared_ptr<Progress> p);
  void set_promised(std::shared_ptr<Promise> p);
  void fail(Error e);

  /// Holds its memory for someone who reads it by its address, also after the buffer is deleted, donated or destroyed.
  void hold();
  /// Gives one hold back; throws where there is none.
  static void release(Buffer* b);
  /// What the framework does with a buffer that it is done with: it goes once nobody holds its memory.
  static void destroy(Buffer* b);

 private:
  mutable std::mutex mutex_;
  mutable Array array_;
  mutable std::shared_ptr<Progress> progress_;
  mutable std::shared_ptr<Promise> promise_;  ///< until the array is there and was asked for
  bool deleted_ = false, destroyed_ = false;
  int holds_ = 0;
};

/// Uninitialised memory on the host's side of a device, and an array of it.
detail::Ref<detail::Buffer> allocate_on(const Device& device, std::size_t bytes);
/// What an array of such elements is for weft.
detail::Aval aval_of(ElementType type, const std::vector<std::int64_t>& dims);
/// The shape of a call's arguments: throws for sizes that are negative or too large.
std::vector<std::int64_t> checked_dims(const std::int64_t* dims, std::size_t num_dims, ElementType type);
/// Where a call says by a device, or by a memory, which is preferred.
std::pair<Device*, Memory*> place_of(Device* device, Memory* memory);
/// The order that a layout asks for; row-major where it is null. Throws for strides.
Order order_of(const Layout* layout, std::size_t num_dims);
/// The order in a text of XLA's, "{0,1}" or "{0,1:T(8,128)(2,1)}", innermost first; what follows the tiles is ignored. Throws for anything
/// else.
Order order_of(std::string_view text, std::size_t num_dims);
/// The dimensions as XLA writes them, innermost first: "0,1".
std::string order_text(const Order& order, std::size_t num_dims);
/// The layout as XLA writes it: "{0,1:T(8,128)}".
std::string layout_text(const Order& order, std::size_t num_dims);
/// The sizes in the order in which they lie in memory, and back.
std::vector<std::int64_t> in_order(const std::vector<std::int64_t>& dims, const Order& order);
std::vector<std::int64_t> out_of_order(const std::vector<std::int64_t>& stored, const Order& order);
/// Byte strides, by dimension, of an array that lies in that order.
std::vector<std::int64_t> strides_in(const Order& order, const std::vector<std::int64_t>& dims, std::int64_t itemsize);
/// Byte strides of a layout for elements of that size; row-major where it is null.
std::vector<std::int64_t> strides_of(const Layout* layout, const std::vector<std::int64_t>& dims, std::int64_t itemsize);
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& dims, std::int64_t itemsize);
/// Copies elements that are at strides (in bytes).
void copy_strided(void* to, const std::vector<std::int64_t>& to_strides, const void* from, const std::vector<std::int64_t>& from_strides,
                  const std::vector<std::int64_t>& dims, std::int64_t itemsize);

}  // namespace weft::pjrt
