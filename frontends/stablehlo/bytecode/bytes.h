// Walks over the bytes of MLIR bytecode. Nothing of them is trusted: what doesn't fit is an Error that names the byte, and no more memory
// is asked for than the bytes that are left can stand for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/errors/error.h"
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

/// What errors name.
struct Origin {
  std::string file;
  SourceLoc loc;
};

class Bytes {
 public:
  Bytes() = default;
  /// `base`: where the first of them is in the file. The origin outlives them.
  Bytes(std::string_view data, std::size_t base, const Origin& origin) : data_(data), base_(base), origin_(&origin) {}

  bool empty() const { return at_ == data_.size(); }
  std::size_t left() const { return data_.size() - at_; }
  std::uint8_t byte();
  /// A number in the format's variable length: the zeros below the lowest one of the first byte say how many bytes follow.
  std::uint64_t varint();
  /// The same with the sign in the lowest bit.
  std::int64_t signed_varint();
  /// The same with a flag in the lowest bit.
  std::uint64_t varint_with_flag(bool& flag);
  /// How many things follow, each of which takes a byte or more.
  std::size_t count(const char* what);
  /// An index into a table of that size.
  std::size_t index(std::size_t size, const char* what);
  /// The next n bytes.
  Bytes take(std::uint64_t n);
  std::string_view rest() const { return data_.substr(at_); }
  /// Text up to the next zero byte, which is skipped.
  std::string_view text();
  /// Skips the bytes that bring the file's position to a multiple of this.
  void align(std::uint64_t alignment);
  /// A section: its number, and what it holds.
  Bytes section(std::uint8_t& id);

  Place place() const;
  [[noreturn]] void fail(const std::string& problem) const;
  const Origin& origin() const { return *origin_; }

 private:
  std::string_view data_;
  std::size_t at_ = 0, base_ = 0;
  const Origin* origin_ = nullptr;
};

/// Throws Error: `FILE:byte N: problem`.
[[noreturn]] void fail_at(const Origin& origin, const Place& place, const std::string& problem);

}  // namespace weft::detail::mlir
