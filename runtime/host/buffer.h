// Blocks of memory of host devices.
#pragma once
#include <cstddef>

#include "weft/core/array/array_impl.h"

namespace weft::detail {

/// Memory of a host device, from the caching allocator.
class HostBuffer final : public Buffer {
 public:
  /// Uninitialised.
  HostBuffer(std::size_t bytes, int device);
  ~HostBuffer() override;
  void* data() override { return data_; }
  std::size_t bytes() const override { return bytes_; }
  int device_id() const override { return device_; }
  bool on_host() const override { return true; }

 private:
  void* data_;
  std::size_t bytes_;
  int device_;
};

/// Memory that another object owns: a view of another buffer, also for another host device, or memory of the caller.
class BorrowedBuffer final : public Buffer {
 public:
  /// A view of `bytes` bytes of another buffer, kept alive by this one.
  BorrowedBuffer(Ref<Buffer> owner, std::size_t offset, std::size_t bytes, int device)
      : owner_(std::move(owner)), data_(static_cast<char*>(owner_->data()) + offset), bytes_(bytes), device_(device) {}
  /// Foreign memory; `release(context)` is called when the last handle goes.
  BorrowedBuffer(void* data, std::size_t bytes, int device, void (*release)(void*), void* context)
      : data_(data), bytes_(bytes), device_(device), release_(release), context_(context) {}
  ~BorrowedBuffer() override {
    if (release_) release_(context_);
  }
  void* data() override { return data_; }
  std::size_t bytes() const override { return bytes_; }
  int device_id() const override { return device_; }
  bool on_host() const override { return true; }
  bool exclusive() const override { return false; }
  /// The owner, if this is a view of all of it; null for a view of a part, and for foreign memory.
  Ref<Buffer> whole_owner() const { return owner_ && owner_->data() == data_ && owner_->bytes() == bytes_ ? owner_ : Ref<Buffer>(); }

  /// Moves the owner out, to be put back later; only for the holder of the only handle to this buffer. Null for foreign memory.
  Ref<Buffer> take_owner() { return std::move(owner_); }
  void put_owner(Ref<Buffer> owner) { owner_ = std::move(owner); }

 private:
  Ref<Buffer> owner_;
  void* data_;
  std::size_t bytes_;
  int device_;
  void (*release_)(void*) = nullptr;
  void* context_ = nullptr;
};

/// The elements of a concrete array in one buffer of the host, or of a literal. Throws Error for any other array.
const void* host_data(const Array& x);
/// An uncommitted concrete array over the buffer.
Array wrap_buffer(const Aval& aval, Ref<Buffer> buffer);

}  // namespace weft::detail
