// Buffers: arrays on one device, from the host's memory and back, copies, deletion.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/array/host.h"
#include "weft/frontends/pjrt/entries.h"
#include "weft/frontends/pjrt/objects.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"

namespace weft::pjrt {

using detail::Ref;

std::size_t Buffer::bytes() const {
  std::int64_t n = size_of(type);
  for (std::int64_t d : dims) n *= d;
  return static_cast<std::size_t>(n);
}

bool Buffer::is_deleted() const {
  const std::lock_guard lock(mutex_);
  return deleted_;
}

Array Content::take() {
  if (!promise) return std::move(value);
  if (const std::optional<Error> e = promise->done->wait()) throw Failure(e->code, e->message);
  // The last holder may write to it.
  Array out = promise.use_count() == 1 ? std::move(promise->value) : promise->value;
  promise = nullptr;
  return out;
}

Array Buffer::array() const {
  if (const std::shared_ptr<Progress> p = progress())
    if (const std::optional<Error> e = p->wait()) throw Failure(e->code, e->message);
  const std::lock_guard lock(mutex_);
  if (deleted_) invalid("the buffer was deleted or donated");
  if (promise_) {
    array_ = promise_->value;
    promise_ = nullptr;
  }
  progress_ = nullptr;
  return array_;
}

Ref<detail::Buffer> Buffer::elements() const { return detail::as_concrete(array())->buffer; }

Content Buffer::content() const {
  {
    const std::lock_guard lock(mutex_);
    if (deleted_) invalid("the buffer was deleted or donated");
    if (!progress_) return {array_, nullptr};
    if (promise_ && !progress_->is_ready()) return {Array(), promise_};
  }
  return {array(), nullptr};
}

Content Buffer::take() {
  Content out = content();
  remove();
  return out;
}

void Buffer::remove() {
  Array gone;  // its memory is given back outside of the lock: a callback may be called
  std::shared_ptr<Promise> promised;
  const std::lock_guard lock(mutex_);
  deleted_ = true;
  if (holds_ > 0) return;
  std::swap(gone, array_);
  std::swap(promised, promise_);
}

void Buffer::hold() {
  const std::lock_guard lock(mutex_);
  ++holds_;
}

void Buffer::release(Buffer* b) {
  Array gone;
  std::shared_ptr<Promise> promised;
  bool is_over = false;
  {
    const std::lock_guard lock(b->mutex_);
    if (b->holds_ == 0) invalid("a buffer's external references were given back more often than taken");
    if (--b->holds_ > 0) return;
    is_over = b->destroyed_;
    if (b->deleted_) std::swap(gone, b->array_), std::swap(promised, b->promise_);
  }
  if (is_over) delete b;
}

void Buffer::destroy(Buffer* b) {
  {
    const std::lock_guard lock(b->mutex_);
    b->destroyed_ = true;
    if (b->holds_ > 0) return;
  }
  delete b;
}

std::shared_ptr<Progress> Buffer::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void Buffer::set(Array x) {
  const std::lock_guard lock(mutex_);
  if (!deleted_) array_ = std::move(x);
}

void Buffer::set_pending(std::shared_ptr<Progress> p) {
  const std::lock_guard lock(mutex_);
  progress_ = std::move(p);
}

void Buffer::set_promised(std::shared_ptr<Promise> p) {
  const std::lock_guard lock(mutex_);
  progress_ = p->done;
  promise_ = std::move(p);
}

void Buffer::fail(Error e) {
  auto p = std::make_shared<Progress>();
  p->finish(std::move(e));
  set_pending(std::move(p));
}

Ref<detail::Buffer> allocate_on(const Device& device, std::size_t bytes) {
  const int id = device.device.id();
  if (detail::is_accelerator(id)) return detail::accelerators().allocate(bytes, id);
  return Ref<detail::Buffer>(new detail::HostBuffer(bytes, id));
}

namespace {

/// What a buffer of that kind holds.
Array array_of(const Buffer& b, Ref<detail::Buffer> elements) {
  return Array(Ref<detail::ArrayImpl>(new detail::ConcreteArray(aval_of(b.type, in_order(b.dims, b.order)), std::move(elements))));
}

/// The elements where the host reads them.
Ref<detail::Buffer> host_elements(const Buffer& b) { return detail::on_host(b.elements()); }

/// The array, present or still in the queue, copied to a device.
Buffer* copy_to(const Buffer& from, Device& device, Memory* memory) {
  // Buffers are never written to, so that one device's may be another's, too; only foreign memory is copied.
  const auto copy = [aval = aval_of(from.type, in_order(from.dims, from.order)), id = device.device.id()](const Array& x) {
    return Array(Ref<detail::ArrayImpl>(new detail::ConcreteArray(aval, detail::moved(detail::as_concrete(x)->buffer, id))));
  };
  Content source = from.content();
  auto b = std::make_unique<Buffer>(&device, memory ? memory : device.default_memory(), from.type, from.dims, from.order);
  if (!source.promise) {
    b->set(copy(source.value));
    return b.release();
  }
  auto promise = std::make_shared<Promise>(std::make_shared<Progress>());
  b->set_promised(promise);
  const std::shared_ptr<Progress> done = source.promise->done;
  done->then([copy, promise, source = std::move(source)](const std::optional<Error>& failed) mutable {
    promise->done->finish(failed ? failed : error_of([&] { promise->value = copy(source.take()); }));
  });
  return b.release();
}

/// The event of memory that belongs to the caller, which is ready when the last array over the memory is released.
struct Borrowed {
  std::shared_ptr<Progress> done = std::make_shared<Progress>();
  static void release(void* context) {
    std::unique_ptr<Borrowed> b(static_cast<Borrowed*>(context));
    b->done->finish({});
  }
};
// What generated code may take for granted of an array's address: that of its elements. Below a page a copy costs less than to keep track.
constexpr std::size_t kLeastBorrowed = 16384;
constexpr std::uintptr_t kBorrowedAlignment = 16;

/// Memory that the caller takes back with a call.
struct View {
  void* data;
  void (*on_delete)(void*, void*);
  void* user;
  static void release(void* context) {
    std::unique_ptr<View> v(static_cast<View*>(context));
    if (v->on_delete) v->on_delete(v->data, v->user);
  }
};

}  // namespace

namespace calls {

void Client_BufferFromHostBuffer(FromHostArgs& a) {
  const auto [device, memory] = place_of(a.device, a.memory);
  const std::int64_t itemsize = size_of(a.type);
  const std::vector<std::int64_t> dims = checked_dims(a.dims, a.num_dims, a.type);
  const Order order = order_of(a.device_layout, dims.size());
  if (a.num_byte_strides != 0 && a.num_byte_strides != dims.size())
    invalid(fmt::format("{} strides are given for {} dimensions", a.num_byte_strides, dims.size()));
  const std::vector<std::int64_t> dense = strides_in(order, dims, itemsize);
  const std::vector<std::int64_t> strides =
      a.num_byte_strides ? std::vector<std::int64_t>(a.byte_strides, a.byte_strides + dims.size()) : row_major_strides(dims, itemsize);
  auto b = std::make_unique<Buffer>(device, memory, a.type, dims, order);
  const std::size_t bytes = b->bytes();
  if (bytes > 0 && !a.data) invalid("the host's array has no address");
  bool in_one_piece = true;
  for (std::size_t i = 0; i < dims.size(); ++i) in_one_piece &= dims[i] == 1 || strides[i] == dense[i];
  in_one_piece |= bytes == 0;
  const int id = device->device.id();
  const bool on_host = !detail::is_accelerator(id);
  const bool may_borrow = a.semantics == HostSemantics::immutable_zero_copy || a.semantics == HostSemantics::mutable_zero_copy;
  std::unique_ptr<Event> done(ready_event());
  if (on_host && may_borrow && in_one_piece && bytes >= kLeastBorrowed &&
      reinterpret_cast<std::uintptr_t>(a.data) % kBorrowedAlignment == 0) {
    auto borrowed = std::make_unique<Borrowed>();
    done->progress = borrowed->done;
    Ref<detail::Buffer> elements(new detail::BorrowedBuffer(const_cast<void*>(a.data), bytes, id, &Borrowed::release, borrowed.get()));
    borrowed.release();
    b->set(array_of(*b, std::move(elements)));
  } else {
    Ref<detail::Buffer> host(new detail::HostBuffer(bytes, on_host ? id : 0));
    if (in_one_piece && bytes > 0)
      std::memcpy(host->data(), a.data, bytes);
    else
      copy_strided(host->data(), dense, a.data, strides, dims, itemsize);
    if (!on_host) host = detail::accelerators().upload(host->data(), bytes, id);
    b->set(array_of(*b, std::move(host)));
  }
  a.done_with_host = done.release();
  a.buffer = b.release();
}

void Client_CreateViewOfDeviceBuffer(ViewOfDeviceArgs& a) {
  const auto [device, memory] = place_of(a.device, a.memory);
  if (detail::is_accelerator(device->device.id())) not_supported("a view of other libraries' memory on a device");
  const std::vector<std::int64_t> dims = checked_dims(a.dims, a.num_dims, a.type);
  const std::int64_t itemsize = size_of(a.type);
  const std::vector<std::int64_t> strides = strides_of(a.layout, dims, itemsize), dense = row_major_strides(dims, itemsize);
  auto b = std::make_unique<Buffer>(device, memory, a.type, dims);
  if (b->bytes() > 0 && !a.data) invalid("a view of no memory");
  auto view = std::make_unique<View>(View{a.data, a.on_delete, a.on_delete_user});
  bool in_order = true;
  for (std::size_t i = 0; i < dims.size(); ++i) in_order &= dims[i] == 1 || strides[i] == dense[i];
  if (!in_order && b->bytes() > 0) {
    // Arrays are in row-major order: of another one, it is a copy.
    Ref<detail::Buffer> copy(new detail::HostBuffer(b->bytes(), device->device.id()));
    copy_strided(copy->data(), dense, a.data, strides, dims, itemsize);
    b->set(array_of(*b, std::move(copy)));
    View::release(view.release());
    a.buffer = b.release();
    return;
  }
  Ref<detail::Buffer> elements(new detail::BorrowedBuffer(a.data, b->bytes(), device->device.id(), &View::release, view.get()));
  view.release();
  b->set(array_of(*b, std::move(elements)));
  a.buffer = b.release();
}

void Client_CreateUninitializedBuffer(UninitializedArgs& a) {
  const auto [device, memory] = place_of(a.device, a.memory);
  const std::vector<std::int64_t> dims = checked_dims(a.dims, a.num_dims, a.type);
  auto b = std::make_unique<Buffer>(device, memory, a.type, dims, order_of(a.layout, dims.size()));
  b->set(array_of(*b, allocate_on(*device, b->bytes())));
  a.buffer = b.release();
}

void Client_CreateErrorBuffer(ErrorBufferArgs& a) {
  const auto [device, memory] = place_of(nullptr, a.memory);
  auto b = std::make_unique<Buffer>(device, memory, a.type, checked_dims(a.dims, a.num_dims, a.type));
  b->fail({a.code, std::string(a.message ? a.message : "", a.message ? a.message_size : 0)});
  a.buffer = b.release();
}

void Buffer_Destroy(ObjectArgs<Buffer>& a) { Buffer::destroy(a.object); }
void Buffer_ElementType(ValueArgs<Buffer, ElementType>& a) { a.value = a.object->type; }
void Buffer_Dimensions(ListArgs<Buffer, const std::int64_t>& a) { a.list = a.object->dims.data(), a.size = a.object->dims.size(); }
void Buffer_UnpaddedDimensions(ListArgs<Buffer, const std::int64_t>& a) { Buffer_Dimensions(a); }
// No dimension's size is known at run time only.
void Buffer_DynamicDimensionIndices(ListArgs<Buffer, const std::size_t>& a) { a.list = nullptr, a.size = 0; }

void Buffer_GetMemoryLayout(ValueArgs<Buffer, Layout>& a) {
  // Read by the caller after the call: one for each number of dimensions that there may be.
  constexpr std::size_t kMost = 64;
  static constexpr auto order = [] {
    std::array<std::int64_t, kMost> all{};
    for (std::size_t i = 0; i < kMost; ++i) all[i] = static_cast<std::int64_t>(kMost - 1 - i);
    return all;
  }();
  const std::size_t n = a.object->dims.size();
  if (n > kMost) not_supported(fmt::format("the layout of an array of {} dimensions", n));
  a.value = Layout{};
  a.value.head.struct_size = sizeof(Layout);
  a.value.type = Layout::Type::tiled;
  a.value.tiled = TiledLayout{{sizeof(TiledLayout), nullptr},
                              a.object->order.empty() ? order.data() + (kMost - n) : a.object->minor_to_major.data(),
                              n,
                              a.object->tile_dims.data(),
                              a.object->tile_dim_sizes.data(),
                              a.object->tile_dim_sizes.size()};
}

void Buffer_OnDeviceSizeInBytes(ValueArgs<Buffer, std::size_t>& a) { a.value = a.object->bytes(); }
void Buffer_Device(ValueArgs<Buffer, Device*>& a) { a.value = a.object->device; }
void Buffer_Memory(ValueArgs<Buffer, Memory*>& a) { a.value = a.object->memory; }
void Buffer_Delete(ObjectArgs<Buffer>& a) { a.object->remove(); }
void Buffer_IsDeleted(ValueArgs<Buffer, bool>& a) { a.value = a.object->is_deleted(); }
void Buffer_IsOnCpu(ValueArgs<Buffer, bool>& a) { a.value = !detail::is_accelerator(a.object->device->device.id()); }
void Buffer_CopyToDevice(CopyArgs<Device>& a) { a.copy = copy_to(*a.buffer, *a.to, nullptr); }
void Buffer_CopyToMemory(CopyArgs<Memory>& a) { a.copy = copy_to(*a.buffer, *a.to->device, a.to); }
void Buffer_ReadyEvent(ValueArgs<Buffer, Event*>& a) { a.value = new Event{a.object->progress()}; }

void Buffer_ToHostBuffer(ToHostArgs& a) {
  const Buffer& b = *a.buffer;
  const std::size_t bytes = b.bytes();
  if (!a.out) {
    a.size = bytes;
    a.event = nullptr;
    return;
  }
  const std::int64_t itemsize = size_of(b.type);
  const std::vector<std::int64_t> strides = strides_of(a.layout, b.dims, itemsize);
  if (a.size < bytes) invalid(fmt::format("{} bytes are given for an array of {}", a.size, bytes));
  const auto copy = [out = a.out, strides, own = strides_in(b.order, b.dims, itemsize), dims = b.dims, itemsize](const Array& x) {
    const Ref<detail::Buffer> elements = detail::on_host(detail::as_concrete(x)->buffer);
    copy_strided(out, strides, elements->data(), own, dims, itemsize);
  };
  Content source = b.content();
  auto event = std::make_unique<Event>();
  if (!source.promise) {
    copy(source.value);
  } else {
    event->progress = std::make_shared<Progress>();
    const std::shared_ptr<Progress> given = source.promise->done;
    given->then([copy, done = event->progress, source = std::move(source)](const std::optional<Error>& failed) mutable {
      done->finish(failed ? failed : error_of([&] { copy(source.take()); }));
    });
  }
  a.event = event.release();
}

namespace {

void copy_part(const Buffer& b, std::int64_t offset, std::int64_t size, void* out) {
  const auto all = static_cast<std::int64_t>(b.bytes());
  if (offset < 0 || size < 0 || offset > all || size > all - offset)
    invalid(fmt::format("bytes {} to {} of a buffer of {}", offset, offset + size, all));
  if (size > 0) std::memcpy(out, static_cast<const char*>(host_elements(b)->data()) + offset, static_cast<std::size_t>(size));
}

}  // namespace

void Buffer_CopyRawToHost(RawToHostArgs& a) {
  copy_part(*a.buffer, a.offset, a.size, a.out);
  a.event = ready_event();
}

// The caller gives the memory later, by the function that it gets.
void Buffer_CopyRawToHostFuture(RawToHostLaterArgs& a) {
  struct Later {
    Ref<detail::Buffer> elements;
    std::int64_t offset, size;
    std::shared_ptr<Progress> done;
  };
  const auto all = static_cast<std::int64_t>(a.buffer->bytes());
  if (a.offset < 0 || a.size < 0 || a.offset > all || a.size > all - a.offset)
    invalid(fmt::format("bytes {} to {} of a buffer of {}", a.offset, a.offset + a.size, all));
  auto later = std::make_unique<Later>(Later{host_elements(*a.buffer), a.offset, a.size, std::make_shared<Progress>()});
  a.event = new Event{later->done};
  a.data = later.release();
  a.ready = [](RawToHostLaterCallbackArgs* c) {
    const std::unique_ptr<Later> l(static_cast<Later*>(c->data));
    if (c->code != Code::ok)
      return l->done->finish(Error{c->code, std::string(c->message ? c->message : "", c->message ? c->message_size : 0)});
    if (l->size > 0) std::memcpy(c->out, static_cast<const char*>(l->elements->data()) + l->offset, static_cast<std::size_t>(l->size));
    l->done->finish({});
  };
}

void Buffer_UnsafePointer(ValueArgs<Buffer, std::uintptr_t>& a) {
  a.value = reinterpret_cast<std::uintptr_t>(a.object->elements()->data());
}
void Buffer_OpaqueDeviceMemoryDataPointer(ValueArgs<Buffer, void*>& a) { a.value = a.object->elements()->data(); }
void Buffer_IncreaseExternalReferenceCount(ObjectArgs<Buffer>& a) { a.object->hold(); }
void Buffer_DecreaseExternalReferenceCount(ObjectArgs<Buffer>& a) { Buffer::release(a.object); }

// What is donated is there: the call waits for it.
void Buffer_DonateWithControlDependency(DonateLaterArgs& a) {
  auto moved = std::make_unique<Buffer>(a.buffer->device, a.buffer->memory, a.buffer->type, a.buffer->dims, a.buffer->order);
  struct Later {
    std::shared_ptr<Progress> done;
  };
  auto later = std::make_unique<Later>(Later{std::make_shared<Progress>()});
  moved->set(a.buffer->take().take());
  moved->set_pending(later->done);
  a.data = later.release();
  a.ready = [](DonateLaterCallbackArgs* c) {
    const std::unique_ptr<Later> l(static_cast<Later*>(c->data));
    if (c->code == Code::ok)
      l->done->finish({});
    else
      l->done->finish(Error{c->code, std::string(c->message ? c->message : "", c->message ? c->message_size : 0)});
  };
  a.donated = moved.release();
}

}  // namespace calls
}  // namespace weft::pjrt
