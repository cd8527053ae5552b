// See options.h. The numbers of fields are those of xla/pjrt/proto/compile_options.proto and xla/xla_data.proto.
#include "weft/frontends/pjrt/options.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "weft/frontends/pjrt/status.h"

namespace weft::pjrt {
namespace {

/// A message's fields, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}
  /// The next field, or false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    number = tag >> 3;
    switch (tag & 7) {
      case 0: value = varint(), is_bytes = false; return true;
      case 1: take(8), is_bytes = false; return true;
      case 2: bytes = take(varint()), is_bytes = true; return true;
      case 5: take(4), is_bytes = false; return true;
      default: damaged();
    }
  }
  std::uint64_t number = 0, value = 0;
  std::string_view bytes;
  bool is_bytes = false;

  /// An integer that was written as one of many signed ones.
  int integer() const { return to_int(value); }
  std::string_view message() const { return is_bytes ? bytes : damaged(); }
  /// The field's integers, packed or single.
  std::vector<int> integers() const {
    if (!is_bytes) return {integer()};
    std::vector<int> out;
    Fields packed(bytes);
    while (!packed.rest_.empty()) out.push_back(to_int(packed.varint()));
    return out;
  }

 private:
  [[noreturn]] static std::string_view damaged() { throw Failure(Code::invalid_argument, "weft: the compile options are damaged"); }
  static int to_int(std::uint64_t v) {
    const auto s = static_cast<std::int64_t>(v);
    if (s < std::numeric_limits<int>::min() || s > std::numeric_limits<int>::max()) damaged();
    return static_cast<int>(s);
  }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) damaged();
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      v |= static_cast<std::uint64_t>(byte & 127u) << shift;
      if (!(byte & 128u)) return v;
    }
    damaged();
  }
  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) damaged();
    const std::string_view out = rest_.substr(0, static_cast<std::size_t>(n));
    rest_.remove_prefix(static_cast<std::size_t>(n));
    return out;
  }
  std::string_view rest_;
};

/// DeviceAssignmentProto: for each partition the devices of its replicas.
std::vector<int> parse_assignment(std::string_view bytes) {
  std::vector<std::vector<int>> partitions;
  int replicas = 0, count = 0;
  for (Fields f(bytes); f.next();) {
    if (f.number == 1) replicas = f.integer();
    if (f.number == 2) count = f.integer();
    if (f.number != 3) continue;
    partitions.emplace_back();
    for (Fields d(f.message()); d.next();)
      if (d.number == 1)
        for (int id : d.integers()) partitions.back().push_back(id);
  }
  if (replicas < 1 || count < 1 || partitions.size() != static_cast<std::size_t>(count)) invalid("a device assignment is not complete");
  std::vector<int> out;
  for (int r = 0; r < replicas; ++r)
    for (const std::vector<int>& p : partitions) {
      if (p.size() != static_cast<std::size_t>(replicas)) invalid("a device assignment is not complete");
      out.push_back(p[static_cast<std::size_t>(r)]);
    }
  return out;
}

void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 128; v >>= 7) out.push_back(static_cast<char>((v & 127u) | 128u));
  out.push_back(static_cast<char>(v));
}
void put_integer(std::string& out, unsigned number, std::uint64_t v) { put_varint(out, number << 3), put_varint(out, v); }
void put_message(std::string& out, unsigned number, const std::string& bytes) {
  put_varint(out, (number << 3) | 2), put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace

CompileOptions parse_options(std::string_view bytes) {
  CompileOptions out;
  for (Fields f(bytes); f.next();) {
    if (f.number == 4) out.is_portable = f.value != 0;
    if (f.number == 7)
      for (Fields entry(f.message()); entry.next();)
        if (entry.number == 1) out.overrides.emplace_back(entry.message());
    if (f.number != 3) continue;
    for (Fields b(f.message()); b.next();) {
      if (b.number == 4) out.num_replicas = b.integer();
      if (b.number == 5) out.num_partitions = b.integer();
      if (b.number == 9) out.devices = parse_assignment(b.message());
    }
  }
  if (out.num_replicas < 1 || out.num_partitions < 1)
    invalid(fmt::format("there can't be {} replicas of {} partitions", out.num_replicas, out.num_partitions));
  if (!out.devices.empty() &&
      out.devices.size() != static_cast<std::size_t>(out.num_replicas) * static_cast<std::size_t>(out.num_partitions))
    invalid(
        fmt::format("{} devices are assigned to {} replicas of {} partitions", out.devices.size(), out.num_replicas, out.num_partitions));
  return out;
}

std::string device_assignment_bytes(const std::vector<int>& devices, int num_replicas, int num_partitions) {
  std::string out;
  put_integer(out, 1, static_cast<std::uint64_t>(num_replicas)), put_integer(out, 2, static_cast<std::uint64_t>(num_partitions));
  for (int p = 0; p < num_partitions; ++p) {
    std::string one;
    for (int r = 0; r < num_replicas; ++r)
      put_integer(one, 1, static_cast<std::uint64_t>(devices[static_cast<std::size_t>(r * num_partitions + p)]));
    put_message(out, 3, one);
  }
  return out;
}

}  // namespace weft::pjrt
