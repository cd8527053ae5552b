// The caching allocator of the host devices. Host devices share one machine's memory, so blocks are recycled among them; the bytes in use
// are counted for each device.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::detail {

inline constexpr std::size_t kBufferAlignment = 64;

/// At least `bytes` uninitialised bytes, aligned to 64, counted for the host device with the given id. Blocks come in size classes and are
/// recycled: first by the thread (small ones), then by the process. Large blocks are backed by huge pages where the system has them.
/// Throws DeviceError if there is no memory.
void* allocate_host(std::size_t bytes, int device);
/// Frees a block; `bytes` and `device` are those it was allocated with.
void release_host(void* p, std::size_t bytes, int device) noexcept;

struct AllocatorStats {
  std::int64_t bytes_in_use = 0, peak_bytes_in_use = 0;
};
AllocatorStats host_allocator_stats(int device);
/// Bytes of free blocks that are kept for reuse.
std::int64_t host_cached_bytes();
/// Returns cached blocks to the system, except small ones.
void trim_host_cache();
/// The machine's memory, or the container's part of it.
std::int64_t host_memory_limit();

}  // namespace weft::detail
