// See bytes.h.
#include "weft/frontends/stablehlo/bytecode/bytes.h"

#include <fmt/format.h>

#include <bit>

namespace weft::detail::mlir {

void fail_at(const Origin& origin, const Place& place, const std::string& problem) {
  throw Error(fmt::format("{}: {}", place_text(origin.file, place), problem), origin.loc);
}

Place Bytes::place() const {
  Place p;
  p.byte = static_cast<std::int64_t>(base_ + at_);
  return p;
}
void Bytes::fail(const std::string& problem) const { fail_at(*origin_, place(), problem); }

std::uint8_t Bytes::byte() {
  if (empty()) fail("the bytecode ends in the middle of an item");
  return static_cast<std::uint8_t>(data_[at_++]);
}

std::uint64_t Bytes::varint() {
  const std::uint64_t first = byte();
  const int more = first == 0 ? 8 : std::countr_zero(first);
  if (left() < static_cast<std::size_t>(more)) fail("the bytecode ends in the middle of a number");
  std::uint64_t value = 0;
  for (int i = 0; i < more; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(data_[at_++])) << (8 * i);
  // The first byte's own bits are the lowest ones; of the longest form it has none.
  return more == 8 ? value : value << (7 - more) | first >> (more + 1);
}

std::int64_t Bytes::signed_varint() {
  const std::uint64_t v = varint();
  return static_cast<std::int64_t>(v >> 1 ^ (~(v & 1) + 1));
}

std::uint64_t Bytes::varint_with_flag(bool& flag) {
  const std::uint64_t v = varint();
  flag = (v & 1) != 0;
  return v >> 1;
}

std::size_t Bytes::count(const char* what) {
  const Place here = place();
  const std::uint64_t n = varint();
  if (n > left()) fail_at(*origin_, here, fmt::format("there are to be {} {}, of which {} bytes can't be", n, what, left()));
  return static_cast<std::size_t>(n);
}

std::size_t Bytes::index(std::size_t size, const char* what) {
  const Place here = place();
  const std::uint64_t i = varint();
  if (i >= size) fail_at(*origin_, here, fmt::format("there is no {} {}; there are {}", what, i, size));
  return static_cast<std::size_t>(i);
}

Bytes Bytes::take(std::uint64_t n) {
  if (n > left()) fail(fmt::format("{} bytes must follow, but there are {}", n, left()));
  const Bytes taken(data_.substr(at_, static_cast<std::size_t>(n)), base_ + at_, *origin_);
  at_ += static_cast<std::size_t>(n);
  return taken;
}

std::string_view Bytes::text() {
  const std::size_t end = data_.find('\0', at_);
  if (end == std::string_view::npos) fail("a text has no end");
  const std::string_view t = data_.substr(at_, end - at_);
  at_ = end + 1;
  return t;
}

void Bytes::align(std::uint64_t alignment) {
  constexpr std::uint8_t kPadding = 0xcb;
  if (!std::has_single_bit(alignment)) fail(fmt::format("the alignment {} is not a power of two", alignment));
  while ((base_ + at_) % alignment != 0)
    if (byte() != kPadding) fail("bytes before an alignment are not padding");
}

Bytes Bytes::section(std::uint8_t& id) {
  const std::uint8_t head = byte();
  id = head & 0x7f;
  const std::uint64_t length = varint();
  if (head & 0x80) align(varint());
  return take(length);
}

}  // namespace weft::detail::mlir
