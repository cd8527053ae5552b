// Memory that is about to be allocated, mapped beforehand by idle threads. The first touch of a page costs a microsecond and more, that of
// a huge page some hundred.
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
  /// Gives all blocks back to the allocator, which keeps them for those who ask for as much.
  ~WarmMemory();
  /// Takes a block that will be asked for while those before are in use. Nothing beyond the 64 MB that the allocator keeps in any case.
  void add(std::size_t bytes);
  std::int64_t pieces() const { return static_cast<std::int64_t>(pieces_.size()); }
  /// Maps one of them. For different pieces from several threads at once.
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
