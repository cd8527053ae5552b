// Prefaults memory that is about to be allocated, on idle threads: the first touch of a page costs a microsecond or more, that of a huge
// page some hundred.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::detail {

class WarmMemory {
 public:
  WarmMemory() = default;
  WarmMemory(const WarmMemory&) = delete;
  WarmMemory& operator=(const WarmMemory&) = delete;
  /// Frees all blocks to the allocator, which keeps them for allocations of these sizes.
  ~WarmMemory();
  /// Reserves a block of a size that will be allocated while the earlier ones are in use. Limited to the 64 MB that the allocator caches.
  void add(std::size_t bytes);
  std::int64_t pieces() const { return static_cast<std::int64_t>(pieces_.size()); }
  /// Maps one piece. Different pieces may be mapped by several threads at once.
  void map(std::int64_t piece) const;

 private:
  struct Piece {
    char* begin;
    std::size_t bytes;
  };
  std::vector<Piece> blocks_, pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::detail
