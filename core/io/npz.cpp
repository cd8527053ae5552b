// .npz files: zip archives (PKWARE's APPNOTE.TXT, with its 64-bit extension) of .npy files, stored or deflated.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/host.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/io/io.h"
#include "weft/core/io/npy.h"
#include "weft/core/text/text.h"

namespace weft {
namespace detail {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;

/// Little-endian numbers out of a file that may be corrupt: each access is checked.
class Bytes {
 public:
  Bytes(std::string_view s, const std::string& path, SourceLoc loc) : s_(s), path_(path), loc_(loc) {}
  [[noreturn]] void fail(const std::string& problem) const { throw IoError("load_npz: " + path_ + ": " + problem, loc_); }
  std::string_view piece(std::uint64_t at, std::uint64_t size) const {
    if (at > s_.size() || size > s_.size() - at) fail("the archive is cut short or corrupt");
    return s_.substr(at, size);
  }
  std::uint64_t number(std::uint64_t at, int bytes) const {
    const std::string_view p = piece(at, static_cast<std::uint64_t>(bytes));
    std::uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; --i) v = v << 8 | static_cast<unsigned char>(p[static_cast<std::size_t>(i)]);
    return v;
  }
  std::uint64_t u16(std::uint64_t at) const { return number(at, 2); }
  std::uint64_t u32(std::uint64_t at) const { return number(at, 4); }
  std::uint64_t u64(std::uint64_t at) const { return number(at, 8); }
  std::size_t size() const { return s_.size(); }

 private:
  std::string_view s_;
  const std::string& path_;
  SourceLoc loc_;
};

struct Entry {
  std::string name;
  std::uint64_t method, crc, compressed, size, local_header;
};

/// Where the list of entries begins, and how many there are.
std::pair<std::uint64_t, std::uint64_t> find_directory(const Bytes& b) {
  constexpr std::size_t kEndSize = 22, kLongestComment = 65535;
  if (b.size() < kEndSize) b.fail("this is not an .npz file");
  for (std::size_t at = b.size() - kEndSize;; --at) {
    if (b.u32(at) == kEnd) {
      std::uint64_t count = b.u16(at + 10), begin = b.u32(at + 16);
      if (at >= 20 && b.u32(at - 20) == kEnd64Locator) {
        const std::uint64_t wide = b.u64(at - 12);
        if (b.u32(wide) != kEnd64) b.fail("the archive's directory is corrupt");
        count = b.u64(wide + 32), begin = b.u64(wide + 48);
      }
      return {begin, count};
    }
    if (at == 0 || b.size() - at > kEndSize + kLongestComment) b.fail("this is not an .npz file, or it is cut short");
  }
}

std::vector<Entry> read_directory(const Bytes& b) {
  auto [at, count] = find_directory(b);
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (b.u32(at) != kCentral) b.fail("the archive's directory is corrupt");
    if (b.u16(at + 8) & 1) b.fail("the archive is encrypted");
    Entry e{"", b.u16(at + 10), b.u32(at + 16), b.u32(at + 20), b.u32(at + 24), b.u32(at + 42)};
    const std::uint64_t name = b.u16(at + 28), extra = b.u16(at + 30), comment = b.u16(at + 32);
    e.name = std::string(b.piece(at + 46, name));
    // Sizes of more than 32 bits are in an extra field, those that need it only.
    for (std::uint64_t x = at + 46 + name, end = x + extra; x + 4 <= end; x += 4 + b.u16(x + 2)) {
      if (b.u16(x) != 1) continue;
      std::uint64_t field = x + 4;
      for (std::uint64_t* v : {&e.size, &e.compressed, &e.local_header})
        if (*v == 0xffffffff) *v = b.u64(field), field += 8;
    }
    entries.push_back(std::move(e));
    at += 46 + name + extra + comment;
  }
  return entries;
}

std::string inflate_entry(const Bytes& b, const Entry& e, std::string_view packed) {
  // No more than 1032 bytes come out of one: a size beyond that is false, not to be allocated.
  if (e.size / 1032 > e.compressed + 1) b.fail("the size of '" + e.name + "' is not possible");
  std::string out(e.size, '\0');
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) b.fail("zlib could not be started");
  std::size_t in_at = 0, out_at = 0;
  int status = Z_OK;
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  unsigned char nothing = 0;
  while (status == Z_OK) {
    const std::size_t in_now = std::min(kPiece, packed.size() - in_at), out_now = std::min(kPiece, out.size() - out_at);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in_at));
    z.avail_in = static_cast<uInt>(in_now);
    z.next_out = out_now ? reinterpret_cast<Bytef*>(out.data() + out_at) : &nothing;
    z.avail_out = static_cast<uInt>(out_now);
    status = inflate(&z, Z_NO_FLUSH);
    in_at += in_now - z.avail_in, out_at += out_now - z.avail_out;
    if (status == Z_OK && in_at == packed.size() && z.avail_out != 0) break;
  }
  inflateEnd(&z);
  if (status != Z_STREAM_END || out_at != out.size()) b.fail("the compressed data of '" + e.name + "' is corrupt");
  return out;
}

std::string read_entry(const Bytes& b, const Entry& e) {
  if (b.u32(e.local_header) != kLocal) b.fail("the archive is corrupt at '" + e.name + "'");
  const std::uint64_t begin = e.local_header + 30 + b.u16(e.local_header + 26) + b.u16(e.local_header + 28);
  const std::string_view packed = b.piece(begin, e.compressed);
  if (e.method != 0 && e.method != 8) b.fail("'" + e.name + "' is compressed by a method other than deflate");
  if (e.method == 0 && e.size != e.compressed) b.fail("the sizes of '" + e.name + "' do not agree");
  std::string data = e.method == 0 ? std::string(packed) : inflate_entry(b, e, packed);
  if (crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()) != e.crc) b.fail("the checksum of '" + e.name + "' is wrong");
  return data;
}

bool remove_suffix(std::string& s, std::string_view suffix) {
  if (s.size() < suffix.size() || s.compare(s.size() - suffix.size(), suffix.size(), suffix) != 0) return false;
  s.resize(s.size() - suffix.size());
  return true;
}

void put(std::string& s, std::uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) s += static_cast<char>(v >> (8 * i) & 0xff);
}

}  // namespace
}  // namespace detail

using namespace detail;

NamedArrays::NamedArrays(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (i + 1 < entries_.size() && entries_[i].first == entries_[i + 1].first) continue;
    if (kept != i) entries_[kept] = std::move(entries_[i]);
    ++kept;
  }
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(kept), entries_.end());
}
const Array* NamedArrays::find(std::string_view name) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), name, [](const Entry& e, std::string_view n) { return e.first < n; });
  return at != entries_.end() && at->first == name ? &at->second : nullptr;
}
const Array& NamedArrays::at(std::string_view name, SourceLoc loc) const {
  if (const Array* found = find(name)) return *found;
  std::string names;
  for (const Entry& e : entries_) names += (names.empty() ? "" : ", ") + e.first;
  throw Error("NamedArrays: there is no array `" + std::string(name) + "`; " + (names.empty() ? "it is empty" : "there are: " + names),
              loc);
}

NamedArrays load_npz(const std::string& path, SourceLoc loc) try {
  const std::string file = read_file(path, loc, "load_npz");
  const Bytes bytes(file, path, loc);
  std::vector<NamedArrays::Entry> arrays;
  for (const Entry& e : read_directory(bytes)) {
    std::string name = e.name;
    if (!remove_suffix(name, ".npy")) bytes.fail("'" + e.name + "' is not a .npy file");
    Array x = decode_npy(read_entry(bytes, e), path + ": " + name, loc);
    if (x.dtype() == uint16 && remove_suffix(name, ".bf16")) {
      const std::string bits = npy_data(x, loc);
      x = make_concrete(Aval{x.shape(), bfloat16}, bits.data());
    }
    arrays.emplace_back(std::move(name), std::move(x));
  }
  return NamedArrays(std::move(arrays));
} catch (...) {
  detail::rethrow_as_error("load_npz", loc);
}

void save_npz(const std::string& path, const NamedArrays& arrays, SourceLoc loc) try {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kDate = 1 << 5 | 1;  // the first day that the format knows, so that equal arrays give equal files
  std::string file, directory;
  for (const auto& [name, x] : arrays) {
    const bool bits = x.dtype() == bfloat16;
    const std::string entry = name + (bits ? ".bf16" : "") + ".npy";
    if (entry.size() > 65535) throw IoError("save_npz: " + path + ": the name of an array is too long", loc);
    const std::string data = npy_header(bits ? Aval{x.shape(), uint16} : x.aval()) + npy_data(x, loc);
    if (data.size() >= kLimit || file.size() >= kLimit - data.size())
      throw IoError("save_npz: " + path + ": the arrays are larger than 4 GiB together; save them one by one", loc);
    // Version needed, flags, method (stored), time, date, checksum, sizes; the same in both headers.
    std::string common;
    put(common, 20, 2), put(common, 0x800, 2), put(common, 0, 2), put(common, 0, 2), put(common, kDate, 2);
    put(common, crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()), 4);
    put(common, data.size(), 4), put(common, data.size(), 4), put(common, entry.size(), 2), put(common, 0, 2);
    put(directory, kCentral, 4), put(directory, 20, 2);
    directory += common;
    put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 4), put(directory, file.size(), 4);
    directory += entry;
    put(file, kLocal, 4);
    file += common + entry + data;
  }
  if (arrays.size() > 65534) throw IoError("save_npz: " + path + ": there are too many arrays", loc);
  std::string end;
  put(end, kEnd, 4), put(end, 0, 4), put(end, arrays.size(), 2), put(end, arrays.size(), 2), put(end, directory.size(), 4),
      put(end, file.size(), 4);
  put(end, 0, 2);
  write_file(path, {file, directory, end}, loc, "save_npz");
} catch (...) {
  detail::rethrow_as_error("save_npz", loc);
}

namespace detail {
namespace {
std::string name_of_leaf(const std::string& path) { return path.empty() ? "arr_0" : path.starts_with('.') ? path.substr(1) : path; }
}  // namespace

NamedArrays named_leaves(const std::vector<std::string>& paths, std::span<const Array> leaves) {
  std::vector<NamedArrays::Entry> entries;
  for (std::size_t i = 0; i < leaves.size(); ++i) entries.emplace_back(name_of_leaf(paths[i]), leaves[i]);
  return NamedArrays(std::move(entries));
}

std::vector<Array> npz_leaves(const std::string& path, const std::vector<std::string>& paths, std::span<const Array> like, SourceLoc loc) {
  const NamedArrays arrays = load_npz(path, loc);
  const auto fail = [&](const std::string& problem) { throw IoError("load_npz: " + path + ": " + problem, loc); };
  std::vector<Array> out;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < like.size(); ++i) {
    names.push_back(name_of_leaf(paths[i]));
    const Array* x = arrays.find(names[i]);
    if (!x) fail("it has no array `" + names[i] + "`, which the tree has");
    if (x->shape() != like[i].shape() || x->dtype() != like[i].dtype())
      fail("its `" + names[i] + "` is " + to_string(x->aval()) + ", the tree's " + to_string(like[i].aval()));
    out.push_back(*x);
  }
  for (const auto& [name, x] : arrays)
    if (std::find(names.begin(), names.end(), name) == names.end()) fail("it has an array `" + name + "`, which the tree has not");
  return out;
}
}  // namespace detail

Jaxpr load_jaxpr(const std::string& path, const std::string& constants, SourceLoc loc) try {
  const std::string text = read_file(path, loc, "load_jaxpr");
  std::vector<Array> values;
  if (!constants.empty()) {
    const NamedArrays arrays = load_npz(constants, loc);
    for (const Array* x = arrays.find("const0"); x; x = arrays.find("const" + std::to_string(values.size()))) values.push_back(*x);
  }
  const Jaxpr j = [&] {
    try {
      return parse_program(text, values, path, {});
    } catch (const Error& e) {
      throw Error("load_jaxpr: " + path + ": " + e.message(), loc);
    }
  }();
  if (values.empty() && !j.data().consts.empty())
    throw IoError("load_jaxpr: " + path + ": the program has constants; give the .npz file that holds their values as const0, const1, ...",
                  loc);
  return j;
} catch (...) {
  detail::rethrow_as_error("load_jaxpr", loc);
}

}  // namespace weft
