#include "weft/runtime/host/warm_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "weft/core/errors/error.h"
#include "weft/runtime/host/allocator.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace weft::detail {

namespace {
constexpr int kDevice = 0;  // all host devices share the memory
constexpr std::size_t kMost = std::size_t{64} << 20, kLeast = 16 << 10, kHugePage = 2 << 20;
}  // namespace

WarmMemory::~WarmMemory() {
  for (const Piece& b : blocks_) release_host(b.begin, b.bytes, kDevice);
}

void WarmMemory::add(std::size_t bytes) {
  if (bytes < kLeast || bytes > kMost - bytes_) return;
  try {
    blocks_.push_back({static_cast<char*>(allocate_host(bytes, kDevice)), bytes});
  } catch (const DeviceError&) {
    return;  // the allocation that needs the memory reports it
  }
  bytes_ += bytes;
  for (std::size_t at = 0; at < bytes; at += kHugePage) pieces_.push_back({blocks_.back().begin + at, std::min(kHugePage, bytes - at)});
}

void WarmMemory::map(std::int64_t piece) const {
  const Piece& p = pieces_[static_cast<std::size_t>(piece)];
  // One access maps a whole huge page. Small pages are mapped by one system call, since page faults cost more than the mapping.
  *static_cast<volatile char*>(p.begin) = 0;
  if (p.bytes == kHugePage) return;
  const auto page = static_cast<std::uintptr_t>(getpagesize()), begin = reinterpret_cast<std::uintptr_t>(p.begin) / page * page;
  madvise(reinterpret_cast<void*>(begin), reinterpret_cast<std::uintptr_t>(p.begin) + p.bytes - begin, MADV_POPULATE_WRITE);
}

}  // namespace weft::detail
