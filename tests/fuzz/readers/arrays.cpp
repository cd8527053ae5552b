// .npy and .npz files, and arrays of other libraries (DLPack).
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/weft.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "tests/fuzz/readers/readers.h"
#include "weft/core/io/npy.h"

namespace weft::fuzz {
namespace {

template <class T>
T take(std::string_view& bytes) {
  T v{};
  const std::size_t n = std::min(sizeof v, bytes.size());
  std::memcpy(&v, bytes.data(), n);
  bytes.remove_prefix(n);
  return v;
}
void append(std::string& s, const auto& v) { s.append(reinterpret_cast<const char*>(&v), sizeof v); }

std::vector<Array> examples() {
  const Array x = reshape(arange(6, float32), {2, 3});
  return {x,     convert(x, bfloat16), convert(x, float64), convert(x, complex128), convert(x, uint16), arange(5, int64),
          x > 2, zeros({0, 4}),        array(3.f)};
}

// As the C ABI of a DLManagedTensor has it.
struct ManagedTensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
  void* context;
  void (*deleter)(ManagedTensor*);
};

}  // namespace

void read_npy(std::string_view bytes) {
  try {
    const Array x = detail::decode_npy(bytes, "input", {});
    // What was read is written as a file that holds the same.
    const std::string header = detail::npy_header(x.aval()), data = detail::npy_data(x, {});
    const Array again = detail::decode_npy(header + data, "what was written", {});
    if (again.shape() != x.shape() || again.dtype() != x.dtype() || detail::npy_data(again, {}) != data)
      broken("what was written is read as another array", header);
  } catch (const Error&) {
  }
}
std::vector<std::string> npy_seeds() {
  std::vector<std::string> seeds;
  for (const Array& x : examples()) seeds.push_back(detail::npy_header(x.aval()) + detail::npy_data(x, {}));
  const std::string data(24, '\1');
  for (const std::string_view text :
       {"{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }\n", "{'descr': '>c8', 'fortran_order': True, 'shape': (3, 1)}"}) {
    seeds.push_back(std::string("\x93NUMPY\2\0", 8) + static_cast<char>(text.size()) + std::string(3, '\0') + std::string(text) + data);
    seeds.push_back(std::string("\x93NUMPY\1\0", 8) + static_cast<char>(text.size()) + std::string(1, '\0') + std::string(text) + data);
  }
  return seeds;
}

void read_npz(std::string_view bytes) {
  static const int file = memfd_create("weft-npz", 0);
  static const std::string path = fmt::format("/proc/self/fd/{}", file);
  if (ftruncate(file, 0) != 0 || pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return;
  try {
    for (const auto& [name, x] : load_npz(path)) detail::npy_data(x, {});
  } catch (const Error&) {
  }
}
std::vector<std::string> npz_seeds() {
  std::vector<std::string> seeds;
  const std::vector<Array> x = examples();
  const std::string path = scratch_folder() + "/seed.npz";
  for (const std::map<std::string, Array>& arrays : {std::map<std::string, Array>{{"a", x[0]}, {"b", x[1]}}, {{"c", x[7]}}, {}}) {
    save_npz(path, arrays);
    seeds.push_back(contents_of(path));
  }
  // One that is compressed: the first entry of a stored archive packed anew, the sizes in both headers changed.
  std::string entry = detail::npy_header(x[0].aval()) + detail::npy_data(x[0], {}), packed(compressBound(entry.size()), '\0');
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(entry.data()), z.avail_in = static_cast<uInt>(entry.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data()), z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  const auto common = [&] {
    std::string s("\x14\0\0\0\x08\0\0\0\0\0", 10);
    append(s, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(entry.data()), entry.size())));
    append(s, static_cast<std::uint32_t>(packed.size())), append(s, static_cast<std::uint32_t>(entry.size()));
    return s + std::string("\x05\0\0\0", 4);
  }();
  const std::string local = "PK\3\4" + common + "a.npy" + packed;
  std::string central = std::string("PK\1\2\x14\0", 6) + common + std::string(14, '\0') + "a.npy";
  std::string end = std::string("PK\5\6\0\0\0\0\1\0\1\0", 12);
  append(end, static_cast<std::uint32_t>(central.size())), append(end, static_cast<std::uint32_t>(local.size()));
  seeds.push_back(local + central + end + std::string(2, '\0'));
  return seeds;
}

/// Rank, type code, bits, lanes, device, offset, whether there are strides, then sizes and strides. Memory that the struct claims to have
/// is there: what it says of it can't be told.
void read_dlpack(std::string_view bytes) {
  static std::vector<std::byte> memory(1 << 16);
  ManagedTensor t{};
  t.data = memory.data();
  t.ndim = take<std::int32_t>(bytes);
  t.code = take<std::uint8_t>(bytes), t.bits = take<std::uint8_t>(bytes), t.lanes = take<std::uint8_t>(bytes);
  t.device_type = take<std::uint8_t>(bytes);
  t.byte_offset = take<std::uint8_t>(bytes);
  const bool has_strides = take<std::uint8_t>(bytes) & 1;
  std::vector<std::int64_t> shape, strides;
  // A rank beyond what any library has needs no shape: it must be refused by itself.
  for (int i = 0; i < std::clamp(t.ndim, 0, 4096); ++i) shape.push_back(take<std::int64_t>(bytes));
  for (std::size_t i = 0; i < shape.size(); ++i) strides.push_back(take<std::int64_t>(bytes));
  t.shape = shape.data();
  if (has_strides) t.strides = strides.data();
  using Wide = __int128;
  constexpr Wide far = Wide{1} << 63;
  Wide count = 1;
  bool negative = false;
  for (const std::int64_t n : shape) {
    negative |= n < 0;
    if (!negative && count < far) count *= n;
  }
  // What can't be must be refused. Of the rest only what lies in the memory may be read.
  if (!negative && count != 0 && count < far) {
    if (count > 4096) return;
    Wide row = 1, low = 0, high = 0;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const Wide reach = static_cast<Wide>(shape[i] - 1) * (has_strides ? static_cast<Wide>(strides[i]) : row);
      (reach < 0 ? low : high) += std::clamp(reach, -far, far);
      row *= shape[i];
    }
    if (low < 0 || (high + 1) * 16 + t.byte_offset > static_cast<Wide>(memory.size())) return;
  }
  static int released;
  t.deleter = [](ManagedTensor*) { ++released; };
  const int before = released;
  try {
    from_dlpack(&t).block_until_ready();
    if (negative) broken("a negative size was taken", fmt::format("{}", fmt::join(shape, ", ")));
    if (released != before + 1) broken("what was taken is not released once", "");
  } catch (const Error&) {
  }
}
std::vector<std::string> dlpack_seeds() {
  const auto tensor = [](std::int32_t ndim, int code, int bits, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    std::string s;
    append(s, ndim);
    s += static_cast<char>(code), s += static_cast<char>(bits), s += '\1', s += '\1', s += '\0';
    s += static_cast<char>(!strides.empty());
    for (const std::int64_t n : shape) append(s, n);
    for (const std::int64_t n : strides) append(s, n);
    return s;
  };
  return {
      tensor(2, 2, 32, {2, 3}, {}),  tensor(2, 2, 64, {2, 3}, {1, 2}), tensor(1, 0, 8, {5}, {2}),
      tensor(0, 5, 64, {}, {}),      tensor(2, 6, 8, {0, 4}, {}),      tensor(-1, 2, 32, {}, {}),
      tensor(2, 2, 32, {-1, 3}, {}), tensor(1, 2, 32, {3}, {0}),       tensor(2, 2, 32, {std::numeric_limits<std::int64_t>::max(), 4}, {})};
}

}  // namespace weft::fuzz
