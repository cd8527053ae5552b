#include "weft/library/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weft/core/base/files.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/text/json.h"
#include "weft/library/io/foreign_memory.h"
#include "weft/library/io/mapped_file.h"
#include "weft/library/io/safetensors_header.h"

namespace weft {
namespace detail {
namespace {

constexpr std::size_t kMostHeader = 100'000'000;  // the format's own limit
constexpr std::pair<const char*, DType> kDTypes[] = {
    {"BOOL", bool_}, {"I8", int8},    {"I16", int16},   {"I32", int32},     {"I64", int64},   {"U8", uint8},    {"U16", uint16},
    {"U32", uint32}, {"U64", uint64}, {"F16", float16}, {"BF16", bfloat16}, {"F32", float32}, {"F64", float64}, {"C64", complex64},
};

std::uint64_t little_endian(const char* bytes) {
  std::uint64_t n = 0;
  for (int i = 8; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
  return n;
}

/// Reads the file's parts; `view` makes an array of the bytes of one.
template <class View>
Safetensors read(std::string_view bytes, const std::string& name, SourceLoc loc, View&& view) {
  const auto fail = [&](const std::string& problem) { throw IoError("load_safetensors: " + name + ": " + problem, loc); };
  if (bytes.size() < 8) fail("this is not a safetensors file: it is shorter than 8 bytes");
  const std::uint64_t size = little_endian(bytes.data());
  if (size > kMostHeader || size > bytes.size() - 8)
    fail(fmt::format("this is not a safetensors file, or it is cut short: its header would have {} bytes of {}", size, bytes.size() - 8));
  SafetensorsHeader header;
  try {
    header = parse_safetensors_header(bytes.substr(8, size));
  } catch (const Error& e) {
    fail("in the header, " + e.message());
  }
  const std::string_view data = bytes.substr(8 + size);
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  Safetensors out{{}, std::move(header.metadata)};
  std::int64_t next = 0;
  for (const TensorEntry& t : header.tensors) {
    const auto* const known = std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const auto& d) { return d.first == t.dtype; });
    if (known == std::end(kDTypes)) fail(fmt::format("\"{}\" has the dtype {}, which weft does not support", t.name, t.dtype));
    const std::optional<std::int64_t> wanted = checked_bytes(t.shape, known->second.itemsize());
    if (!wanted) fail(fmt::format("\"{}\" has a shape that is not possible", t.name));
    if (t.begin != next || t.end < t.begin || t.end - t.begin != *wanted || t.end > static_cast<std::int64_t>(data.size()))
      fail(fmt::format("\"{}\" is at bytes {} to {} of {}; it should be {} bytes from {} on", t.name, t.begin, t.end, data.size(), *wanted,
                       next));
    next = t.end;
    if (t.shape.size() > 64) fail(fmt::format("\"{}\" has more than 64 dimensions", t.name));
    out.arrays.emplace(t.name, view(data.data() + t.begin, Shape(t.shape), known->second));
  }
  if (next != static_cast<std::int64_t>(data.size()))
    fail(fmt::format("{} bytes at its end belong to no array", data.size() - static_cast<std::size_t>(next)));
  return out;
}

}  // namespace

Safetensors decode_safetensors(std::string_view bytes, const std::string& name, SourceLoc loc) {
  return read(bytes, name, loc, [&](const char* data, const Shape& shape, DType dtype) {
    return copy_of(described_elements(data, shape, dtype, {}, "load_safetensors", loc), loc);
  });
}

}  // namespace detail

Safetensors load_safetensors(const std::string& path, SourceLoc loc) try {
  const auto file = detail::make_ref<detail::MappedFile>(path, "load_safetensors", loc);
  return detail::read(file->bytes(), path, loc, [&](const char* data, const Shape& shape, DType dtype) {
    return from_memory(data, shape, dtype, [file] {}, {}, loc);
  });
} catch (...) {
  detail::rethrow_as_error("load_safetensors", loc);
}

const Array& Safetensors::at(const std::string& name, SourceLoc loc) const {
  const auto found = arrays.find(name);
  if (found != arrays.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, array] : arrays) names.push_back(known);
  throw IoError(fmt::format("Safetensors::at: there is no array '{}'; there are {}", name, fmt::join(names, ", ")), loc);
}

void save_safetensors(const std::string& path, const std::map<std::string, Array>& arrays,
                      const std::map<std::string, std::string>& metadata, SourceLoc loc) try {
  std::vector<std::pair<std::string, Array>> order(arrays.begin(), arrays.end());
  // The widest elements first, so that all begin at multiples of their size.
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.dtype().itemsize() > b.second.dtype().itemsize(); });
  std::string header = "{", data;
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
      header += (header.back() == '{' ? "" : ",") + detail::json_string(key) + ":" + detail::json_string(value);
    header += "}";
  }
  for (const auto& [name, x] : order) {
    const DType dtype = x.dtype();
    const auto* const known =
        std::find_if(std::begin(detail::kDTypes), std::end(detail::kDTypes), [&](const auto& d) { return d.second == dtype; });
    if (known == std::end(detail::kDTypes))
      throw DTypeError(fmt::format("save_safetensors: \"{}\" is {}, a dtype that the format lacks", name, detail::to_string(x.aval())),
                       loc);
    if (name == "__metadata__") throw IoError("save_safetensors: " + path + ": no array can be called __metadata__", loc);
    const std::size_t begin = data.size();
    data.resize(begin + static_cast<std::size_t>(x.aval().bytes()));
    detail::read_elements(x, dtype, data.data() + begin, "save_safetensors", loc);
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", header.size() > 1 ? "," : "",
                          detail::json_string(name), known->first, fmt::join(x.shape(), ","), begin, data.size());
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string size;
  for (std::size_t i = 0, n = header.size(); i < 8; ++i, n >>= 8) size += static_cast<char>(n & 0xff);
  detail::write_file(path, {size, header, data}, loc, "save_safetensors");
} catch (...) {
  detail::rethrow_as_error("save_safetensors", loc);
}

}  // namespace weft
