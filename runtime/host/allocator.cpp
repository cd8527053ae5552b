#include "weft/runtime/host/allocator.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/profile/timeline.h"

namespace weft::detail {
namespace {

constexpr std::size_t kSmallest = 64, kHugePage = 2 << 20;
constexpr std::size_t kSlab = 256 << 10;  // small blocks are cut from slabs of this size
constexpr int kClasses = 4 * 48;
constexpr int kSmallClasses = 4 * 10;
constexpr int kThreadBlocks = 32;  // blocks of a size class that a thread caches
constexpr int kMaxDevices = 1024;

// Four classes to each doubling, all multiples of 64: 64, 128, 192, 256, 320, 384, 448, 512, 640, ...
int class_of(std::size_t bytes) {
  const std::size_t units = (std::max(bytes, kSmallest) + kSmallest - 1) / kSmallest;  // of 64 bytes, 1 or more
  if (units <= 8) return static_cast<int>(units) - 1;
  const int log = static_cast<int>(std::bit_width(units - 1)) - 1;  // 2^log < units <= 2^(log+1)
  const std::size_t step = std::size_t{1} << (log - 2);
  const std::size_t quarter = (units - (std::size_t{1} << log) + step - 1) / step;  // 1 to 4
  return 8 + 4 * (log - 3) + static_cast<int>(quarter) - 1;
}
std::size_t class_bytes(int c) {
  if (c < 8) return static_cast<std::size_t>(c + 1) * kSmallest;
  const int log = 3 + (c - 8) / 4;
  const std::size_t quarter = static_cast<std::size_t>((c - 8) % 4 + 1);
  return ((std::size_t{1} << log) + quarter * (std::size_t{1} << (log - 2))) * kSmallest;
}

struct FreeBlock {
  FreeBlock* next;
};

struct alignas(64) Account {
  std::atomic<std::int64_t> in_use{0}, peak{0};
  void add(std::int64_t n) {
    const std::int64_t now = in_use.fetch_add(n, std::memory_order_relaxed) + n;
    std::int64_t p = peak.load(std::memory_order_relaxed);
    while (now > p && !peak.compare_exchange_weak(p, now, std::memory_order_relaxed)) {
    }
  }
};

struct Pool {
  ProcessMutex mutex{LockRank::allocator};
  std::array<FreeBlock*, kSmallClasses> small{};
  struct Kept {
    void* block;
    std::uint64_t since;
  };
  std::array<std::vector<Kept>, kClasses> large;  // of each class: since when, oldest first
  std::uint64_t clock = 0;
  char* slab = nullptr;
  std::size_t slab_left = 0;
  std::atomic<std::int64_t> cached{0};  // of large blocks
  std::atomic<std::int64_t> total{0}, total_peak{0};
  std::array<Account, kMaxDevices> accounts;

  void* large_block(int c);
  FreeBlock* small_blocks(int c, int count);
  void trim(std::int64_t keep);
};
Pool& pool() {
  static Pool* p = new Pool;  // never destroyed: arrays in static storage outlive everything else
  return *p;
}

void* from_system(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kBufferAlignment;
  void* p = nullptr;
  if (posix_memalign(&p, alignment, bytes) != 0) return nullptr;
  if (bytes >= kHugePage) madvise(p, bytes, MADV_HUGEPAGE);  // only advice: without huge pages it just stays slower
  return p;
}

void* Pool::large_block(int c) {
  {
    std::lock_guard lock(mutex);
    auto& blocks = large[static_cast<std::size_t>(c)];
    if (!blocks.empty()) {
      void* p = blocks.back().block;
      blocks.pop_back();
      cached.fetch_sub(static_cast<std::int64_t>(class_bytes(c)), std::memory_order_relaxed);
      return p;
    }
  }
  if (void* p = from_system(class_bytes(c))) return p;
  std::lock_guard lock(mutex);
  trim(0);
  return from_system(class_bytes(c));
}

// Up to `count` linked blocks; at least one, or null if there is no memory.
FreeBlock* Pool::small_blocks(int c, int count) {
  std::lock_guard lock(mutex);
  const std::size_t bytes = class_bytes(c);
  FreeBlock* chain = nullptr;
  for (; count > 0; --count) {
    FreeBlock*& head = small[static_cast<std::size_t>(c)];
    FreeBlock* block = head;
    if (block) {
      head = block->next;
    } else {
      if (slab_left < bytes) {
        if (chain) return chain;
        void* fresh = from_system(kSlab);
        if (!fresh) return nullptr;
        slab = static_cast<char*>(fresh), slab_left = kSlab;  // the rest of the old slab is wasted: less than one block of its class
      }
      block = reinterpret_cast<FreeBlock*>(slab);
      slab += bytes, slab_left -= bytes;
    }
    block->next = chain;
    chain = block;
  }
  return chain;
}

// The least recently used blocks are freed first, so that a program that has moved to other sizes keeps blocks of those.
void Pool::trim(std::int64_t keep) {
  while (cached.load(std::memory_order_relaxed) > keep) {
    std::vector<Kept>* oldest = nullptr;
    for (std::vector<Kept>& blocks : large)
      if (!blocks.empty() && (!oldest || blocks.front().since < oldest->front().since)) oldest = &blocks;
    if (!oldest) return;
    std::free(oldest->front().block);
    oldest->erase(oldest->begin());
    cached.fetch_sub(static_cast<std::int64_t>(class_bytes(static_cast<int>(oldest - large.data()))), std::memory_order_relaxed);
  }
}

// A thread's own free blocks. Trivially destructible, so that it may still be read when the thread's other objects are gone.
struct ThreadCache {
  FreeBlock* head[kSmallClasses];
  int count[kSmallClasses];
  bool registered, closed;
};
thread_local ThreadCache cache;

void give_back(int c, FreeBlock* first) {
  FreeBlock* last = first;
  while (last->next) last = last->next;
  std::lock_guard lock(pool().mutex);
  last->next = pool().small[static_cast<std::size_t>(c)];
  pool().small[static_cast<std::size_t>(c)] = first;
}
void close_cache(ThreadNode*) {
  for (int c = 0; c < kSmallClasses; ++c) {
    if (cache.head[c]) give_back(c, cache.head[c]);
    cache.head[c] = nullptr, cache.count[c] = 0;
  }
  cache.closed = true;
}
void register_thread() {
  static constinit thread_local ThreadNode end{close_cache};
  at_thread_end(&end);
  cache.registered = true;
}

Account& account(int device) { return pool().accounts[static_cast<std::size_t>(device) % kMaxDevices]; }

[[noreturn]] void out_of_memory(std::size_t bytes, int device) {
  throw MemoryError(fmt::format("out of memory: {} bytes requested on cpu:{}, {} bytes in use", bytes, device,
                                account(device).in_use.load(std::memory_order_relaxed)));
}

}  // namespace

void* allocate_host(std::size_t bytes, int device) {
  if (bytes > (std::size_t{1} << 46)) out_of_memory(bytes, device);
  const int c = class_of(bytes);
  const auto size = static_cast<std::int64_t>(class_bytes(c));
  void* block = nullptr;
  if (c < kSmallClasses) {
    FreeBlock*& head = cache.head[c];
    if (head) {
      block = head;
      head = head->next;
      --cache.count[c];
    } else {
      if (!cache.registered) register_thread();
      FreeBlock* chain = pool().small_blocks(c, cache.closed ? 1 : kThreadBlocks / 4);
      if (!chain) out_of_memory(bytes, device);
      block = chain;
      if (!cache.closed) {
        head = chain->next;
        cache.count[c] = 0;
        for (const FreeBlock* b = head; b; b = b->next) ++cache.count[c];
      }
    }
  } else {
    Pool& p = pool();
    block = p.large_block(c);
    if (!block) out_of_memory(bytes, device);
    const std::int64_t now = p.total.fetch_add(size, std::memory_order_relaxed) + size;
    std::int64_t peak = p.total_peak.load(std::memory_order_relaxed);
    while (now > peak && !p.total_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  Account& of_device = account(device);
  of_device.add(size);
  if (timeline_is_on.load(std::memory_order_relaxed)) note_memory(device, of_device.in_use.load(std::memory_order_relaxed));
  return block;
}

void release_host(void* p, std::size_t bytes, int device) noexcept {
  const int c = class_of(bytes);
  const auto size = static_cast<std::int64_t>(class_bytes(c));
  const std::int64_t left = account(device).in_use.fetch_sub(size, std::memory_order_relaxed) - size;
  if (timeline_is_on.load(std::memory_order_relaxed)) note_memory(device, left);
  if (c < kSmallClasses) {
    auto* block = static_cast<FreeBlock*>(p);
    if (cache.closed) {
      block->next = nullptr;
      return give_back(c, block);
    }
    if (!cache.registered) register_thread();
    block->next = cache.head[c];
    cache.head[c] = block;
    if (++cache.count[c] < kThreadBlocks) return;
    // Half of them go to the shared pool, since one thread may free what another allocates.
    for (int i = 0; i < kThreadBlocks / 2 - 1; ++i) block = block->next;
    FreeBlock* rest = block->next;
    block->next = nullptr;
    give_back(c, std::exchange(cache.head[c], rest));
    cache.count[c] -= kThreadBlocks / 2;
    return;
  }
  Pool& all = pool();
  all.total.fetch_sub(size, std::memory_order_relaxed);
  std::lock_guard lock(all.mutex);
  try {
    all.large[static_cast<std::size_t>(c)].push_back({p, ++all.clock});
    all.cached.fetch_add(size, std::memory_order_relaxed);
  } catch (...) {
    std::free(p);
  }
  // Never keep more than was ever in use at once: the process stays within twice its peak.
  all.trim(std::max<std::int64_t>(all.total_peak.load(std::memory_order_relaxed), 64 << 20));
}

AllocatorStats host_allocator_stats(int device) {
  const Account& a = account(device);
  return {a.in_use.load(std::memory_order_relaxed), a.peak.load(std::memory_order_relaxed)};
}

std::int64_t host_cached_bytes() { return pool().cached.load(std::memory_order_relaxed); }

void trim_host_cache() {
  std::lock_guard lock(pool().mutex);
  pool().trim(0);
}

std::int64_t host_memory_limit() {
  const auto physical = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  std::int64_t limit = physical;
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (std::FILE* f = std::fopen(path, "r")) {
      long long value = 0;
      if (std::fscanf(f, "%lld", &value) == 1 && value > 0) limit = std::min<std::int64_t>(limit, value);
      std::fclose(f);
    }
  return limit;
}

}  // namespace weft::detail
