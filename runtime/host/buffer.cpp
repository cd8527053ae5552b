#include "weft/runtime/host/buffer.h"

#include "weft/core/errors/error.h"
#include "weft/runtime/host/allocator.h"

namespace weft::detail {

HostBuffer::HostBuffer(std::size_t bytes, int device) : data_(allocate_host(bytes, device)), bytes_(bytes), device_(device) {}
HostBuffer::~HostBuffer() { release_host(data_, bytes_, device_); }

const void* host_data(const Array& x) {
  if (const LiteralArray* l = as_literal(x)) return l->bits.data();
  const ConcreteArray* c = as_concrete(x);
  if (!c) throw Error("an array without a value was read: " + to_string(x.aval()));
  if (!c->buffer || !c->buffer->on_host()) throw DeviceError("the array " + to_string(x.aval()) + " is not in one buffer on the host");
  return c->buffer->data();
}

Array wrap_buffer(const Aval& aval, Ref<Buffer> buffer) { return Array(Ref<ArrayImpl>(new ConcreteArray(aval, std::move(buffer)))); }

}  // namespace weft::detail
