// Transfers to devices in parts: buffers that are filled piece by piece, each ready when its last piece has come.
#include <fmt/format.h>

#include <cstring>

#include "weft/frontends/pjrt/entries.h"
#include "weft/frontends/pjrt/objects.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/buffer.h"

namespace weft::pjrt {

using detail::Ref;

struct TransferManager {
  struct Target {
    ElementType type;
    std::vector<std::int64_t> dims;
    std::size_t bytes;
    Ref<detail::Buffer> memory;  ///< the host's
    std::shared_ptr<Progress> done;
    std::unique_ptr<Buffer> buffer;  ///< until it is retrieved
    Order order = {};
  };
  Device* device = nullptr;
  std::mutex mutex;
  std::vector<Target> targets;

  Target& at(int index) {
    if (index < 0 || static_cast<std::size_t>(index) >= targets.size())
      invalid(fmt::format("there is no buffer {} in a transfer of {}", index, targets.size()));
    return targets[static_cast<std::size_t>(index)];
  }
  ~TransferManager() {
    for (Target& t : targets)
      if (!t.done->is_ready()) t.done->finish(Error{Code::aborted, "weft: a transfer to a buffer was given up"});
  }
};

namespace calls {

void Client_CreateBuffersForAsyncHostToDevice(AsyncBuffersArgs& a) {
  const auto [device, memory] = place_of(nullptr, a.memory);
  if (detail::is_accelerator(device->device.id())) not_supported("a transfer to a GPU in parts");
  auto m = std::make_unique<TransferManager>();
  m->device = device;
  for (std::size_t i = 0; i < a.num_shapes; ++i) {
    const ShapeSpec& s = a.shapes[i];
    Order order = i < a.num_layouts ? order_of(a.layouts[i], s.num_dims) : Order();
    TransferManager::Target t{s.type, checked_dims(s.dims, s.num_dims, s.type), 0, {}, std::make_shared<Progress>(), {}};
    t.buffer = std::make_unique<Buffer>(device, memory, t.type, t.dims, order);
    t.order = std::move(order);
    t.bytes = t.buffer->bytes();
    t.memory = allocate_on(*device, t.bytes);
    // The buffer has its memory from the start; readers of its elements wait for the last piece.
    t.buffer->set(Array(Ref<detail::ArrayImpl>(new detail::ConcreteArray(aval_of(t.type, in_order(t.dims, t.order)), t.memory))));
    t.buffer->set_pending(t.done);
    m->targets.push_back(std::move(t));
  }
  a.manager = m.release();
}

void AsyncHostToDeviceTransferManager_Destroy(ObjectArgs<TransferManager>& a) { delete a.object; }

void AsyncHostToDeviceTransferManager_TransferData(TransferDataArgs& a) {
  TransferManager& m = *a.manager;
  const std::lock_guard lock(m.mutex);
  TransferManager::Target& t = m.at(a.index);
  const auto all = static_cast<std::int64_t>(t.bytes);
  if (t.done->is_ready()) invalid(fmt::format("buffer {} of a transfer is complete already", a.index));
  if (a.offset < 0 || a.size < 0 || a.offset > all || a.size > all - a.offset)
    invalid(fmt::format("bytes {} to {} of a buffer of {}", a.offset, a.offset + a.size, all));
  if (a.size > 0) std::memcpy(static_cast<char*>(t.memory->data()) + a.offset, a.data, static_cast<std::size_t>(a.size));
  if (a.is_last) t.done->finish({});
  a.done = ready_event();
}

void AsyncHostToDeviceTransferManager_TransferLiteral(TransferLiteralArgs& a) {
  TransferManager& m = *a.manager;
  const std::lock_guard lock(m.mutex);
  TransferManager::Target& t = m.at(a.index);
  if (t.done->is_ready()) invalid(fmt::format("buffer {} of a transfer is complete already", a.index));
  if (a.type != t.type || checked_dims(a.dims, a.num_dims, a.type) != t.dims) invalid("a transfer of another type than its buffer has");
  const std::int64_t itemsize = size_of(t.type);
  copy_strided(t.memory->data(), strides_in(t.order, t.dims, itemsize), a.data, strides_of(a.layout, t.dims, itemsize), t.dims, itemsize);
  t.done->finish({});
  a.done = ready_event();
}

void AsyncHostToDeviceTransferManager_RetrieveBuffer(RetrieveBufferArgs& a) {
  const std::lock_guard lock(a.manager->mutex);
  TransferManager::Target& t = a.manager->at(a.index);
  if (!t.buffer) invalid(fmt::format("buffer {} of a transfer was retrieved already", a.index));
  a.buffer = t.buffer.release();
}
void AsyncHostToDeviceTransferManager_Device(ValueArgs<TransferManager, Device*>& a) { a.value = a.object->device; }
void AsyncHostToDeviceTransferManager_BufferCount(ValueArgs<TransferManager, std::size_t>& a) { a.value = a.object->targets.size(); }
void AsyncHostToDeviceTransferManager_BufferSize(TransferSizeArgs& a) { a.size = a.manager->at(a.index).bytes; }
void AsyncHostToDeviceTransferManager_SetBufferError(TransferErrorArgs& a) {
  const std::lock_guard lock(a.manager->mutex);
  a.manager->at(a.index).done->finish(Error{a.code, std::string(a.message ? a.message : "", a.message ? a.message_size : 0)});
}
// Metadata that the framework gives for a transfer has no effect here.
void AsyncHostToDeviceTransferManager_AddMetadata(ListArgs<TransferManager, const NamedValue>&) {}

}  // namespace calls
}  // namespace weft::pjrt
