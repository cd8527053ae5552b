// The caching allocator of the host devices, and buffers.
#include "weft/runtime/host/allocator.h"

#include <cstdint>
#include <cstring>
#include <thread>

#include "tests/runtime/devices.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/process_end.h"

using namespace weft;
using namespace weft::detail;
using namespace weft::test;

TEST_CASE("there is one process-wide lock of each rank, as a fork takes one of each") {
  release_host(allocate_host(1, 0), 1, 0);  // the allocator has its own
  CHECK_THROWS_WITH_AS(ProcessMutex(LockRank::allocator), doctest::Contains("two process-wide locks of rank"), Error);
}

TEST_CASE("blocks are aligned, of their size, and apart from each other") {
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{500}, std::size_t{513},
                            std::size_t{4096}, std::size_t{40000}, std::size_t{1} << 20, (std::size_t{3} << 20) + 7}) {
    char* p = static_cast<char*>(allocate_host(bytes, 0));
    CHECK(reinterpret_cast<std::uintptr_t>(p) % kBufferAlignment == 0);
    std::memset(p, static_cast<int>(blocks.size() + 1), bytes);
    blocks.emplace_back(p, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [p, bytes] = blocks[i];
    for (std::size_t k = 0; k < bytes; ++k) REQUIRE(p[k] == static_cast<char>(i + 1));
    release_host(p, bytes, 0);
  }
}

TEST_CASE("released blocks are used again") {
  for (std::size_t bytes : {std::size_t{100}, std::size_t{5} << 20}) {
    void* first = allocate_host(bytes, 0);
    release_host(first, bytes, 0);
    void* second = allocate_host(bytes, 3);
    CHECK(first == second);
    release_host(second, bytes, 3);
  }
  CHECK(host_cached_bytes() > 0);
  trim_host_cache();
  CHECK(host_cached_bytes() == 0);
}

TEST_CASE("where too much is kept, the oldest goes: a program that goes on with other sizes has its blocks again") {
  // More than was ever in use before, and never touched.
  const std::size_t bytes = std::size_t{24} << 20, other = std::size_t{40} << 20;
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(allocate_host(bytes, 0));
  for (void* p : blocks) release_host(p, bytes, 0);
  release_host(allocate_host(other, 0), other, 0);
  const std::int64_t kept = host_cached_bytes();
  void* again = allocate_host(other, 0);
  CHECK(host_cached_bytes() <= kept - static_cast<std::int64_t>(other));
  release_host(again, other, 0);
  trim_host_cache();
  CHECK(host_cached_bytes() == 0);
}

TEST_CASE("each device's bytes are counted") {
  const AllocatorStats before = host_allocator_stats(5);
  {
    const Ref<Buffer> b(new HostBuffer(1 << 20, 5));
    CHECK(b->device_id() == 5);
    CHECK(b->exclusive());
    CHECK(host_allocator_stats(5).bytes_in_use - before.bytes_in_use >= 1 << 20);
    const Ref<Buffer> part(new BorrowedBuffer(b, 64, 128, 6));
    CHECK(static_cast<char*>(part->data()) == static_cast<char*>(b->data()) + 64);
    CHECK(part->device_id() == 6);
    CHECK_FALSE(part->exclusive());
    CHECK_FALSE(b->exclusive());
  }
  CHECK(host_allocator_stats(5).bytes_in_use == before.bytes_in_use);
  CHECK(host_allocator_stats(5).peak_bytes_in_use >= before.bytes_in_use + (1 << 20));
  CHECK(devices()[5].memory_stats().bytes_limit > 0);
}

TEST_CASE("foreign memory is given back to whom it belongs") {
  int released = 0;
  float values[2] = {1, 2};
  {
    const Ref<Buffer> b(new BorrowedBuffer(values, sizeof values, 0, [](void* n) { ++*static_cast<int*>(n); }, &released));
  }
  CHECK(released == 1);
}

TEST_CASE("blocks may be released by another thread than the one that allocated them") {
  const AllocatorStats before = host_allocator_stats(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(allocate_host(256, 7));
    std::thread([&] {
      for (void* p : blocks) release_host(p, 256, 7);
    }).join();
  }
  CHECK(host_allocator_stats(7).bytes_in_use == before.bytes_in_use);
}

TEST_CASE("memory that isn't there is an error") {
  CHECK(has(message_of<DeviceError>([] { allocate_host(std::size_t{1} << 60, 2); }), "cpu:2"));
}
