#include "weft/core/io/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "weft/core/array/host.h"
#include "weft/core/base/files.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/io/io.h"
#include "weft/core/text/text.h"

namespace weft {
namespace detail {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
  std::size_t data_begin = 0;
};

[[noreturn]] void fail(const std::string& name, const std::string& problem, SourceLoc loc) {
  throw IoError("load: " + name + ": " + problem, loc);
}

Header read_header(std::string_view bytes, const std::string& name, SourceLoc loc) {
  if (bytes.substr(0, 4) == "PK\x03\x04") fail(name, "this is an .npz file with several arrays; use load_npz", loc);
  if (bytes.substr(0, kMagic.size()) != kMagic) fail(name, "this is not a .npy file", loc);
  auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t version = bytes.size() > 7 ? byte(6) : 0;
  if (version < 1 || version > 3) fail(name, "version " + std::to_string(version) + " of the .npy format is not known", loc);
  const std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) fail(name, "the header is cut short", loc);
  std::size_t size = byte(8) | byte(9) << 8;
  if (version > 1) size |= byte(10) << 16 | byte(11) << 24;
  if (size > bytes.size() - begin) fail(name, "the header is cut short", loc);

  Header h;
  h.data_begin = begin + size;
  try {
    ParamReader r(bytes, begin, begin + size);
    bool has_descr = false, has_order = false, has_shape = false;
    r.expect("{");
    while (!r.accept("}")) {
      const std::string key = r.read_string();
      r.expect(":");
      if (key == "descr" && r.peek() == '[') r.fail("arrays of records are not supported");
      if (key == "descr")
        h.descr = r.read_string(), has_descr = true;
      else if (key == "fortran_order")
        h.fortran_order = r.read_bool(), has_order = true;
      else if (key == "shape")
        read_param(r, h.shape), has_shape = true;
      else
        r.fail("the header has an unknown entry '" + key + "'");
      if (r.peek() != '}') r.expect(",");
    }
    if (!has_descr || !has_order || !has_shape) r.fail("the header lacks descr, fortran_order or shape");
  } catch (const Error& e) {
    fail(name, std::string("in the header: ") + e.message(), loc);
  }
  return h;
}

DType dtype_of(const Header& h, const std::string& name, SourceLoc loc) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"b1", bool_},   {"i1", int8},    {"i2", int16},     {"i4", int32},       {"i8", int64},
      {"u1", uint8},   {"u2", uint16},  {"u4", uint32},    {"u8", uint64},      {"f2", float16},
      {"f4", float32}, {"f8", float64}, {"c8", complex64}, {"c16", complex128}, {"V2", bfloat16},
  };
  const std::string_view order = std::string_view(h.descr).substr(0, 1), rest = h.descr.empty() ? "" : std::string_view(h.descr).substr(1);
  if (order == "<" || order == ">" || order == "|" || order == "=")
    for (const auto& [code, dtype] : kTypes)
      if (code == rest) return dtype;
  fail(name, "elements of the type '" + h.descr + "' cannot be those of an Array", loc);
}

/// Copies elements that are in Fortran order to C order.
void to_c_order(const Shape& shape, std::size_t itemsize, const char* in, char* out) {
  std::vector<std::size_t> stride(static_cast<std::size_t>(shape.size()));
  std::size_t n = itemsize;
  for (int i = 0; i < shape.size(); ++i) {
    stride[static_cast<std::size_t>(i)] = n;
    n *= static_cast<std::size_t>(shape[i]);
  }
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.size()));
  std::size_t from = 0;
  for (std::size_t to = 0; to < n; to += itemsize) {
    std::memcpy(out + to, in + from, itemsize);
    for (std::size_t d = index.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[static_cast<int>(d)]) break;
      from -= stride[d] * static_cast<std::size_t>(index[d]);
      index[d] = 0;
    }
  }
}

}  // namespace

Array decode_npy(std::string_view bytes, const std::string& name, SourceLoc loc) {
  const Header h = read_header(bytes, name, loc);
  const DType dtype = dtype_of(h, name, loc);
  const auto itemsize = static_cast<std::size_t>(dtype.itemsize());
  const std::optional<std::int64_t> bytes_of_shape = checked_bytes({h.shape.begin(), h.shape.end()}, dtype.itemsize());
  if (!bytes_of_shape) fail(name, "the shape " + to_string(h.shape) + " is not possible", loc);
  const auto size = static_cast<std::size_t>(*bytes_of_shape);
  if (size > bytes.size() - h.data_begin)
    fail(name,
         "the file is cut short: " + to_string(Aval{h.shape, dtype}) + " has " + std::to_string(size) + " bytes, there are " +
             std::to_string(bytes.size() - h.data_begin),
         loc);

  std::string data(bytes.substr(h.data_begin, size));
  if (h.descr[0] == '>') {
    const std::size_t part = static_cast<std::size_t>(dtype.real_part().itemsize());
    for (std::size_t i = 0; i < size; i += part)
      std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i), data.begin() + static_cast<std::ptrdiff_t>(i + part));
  }
  if (dtype == bool_)
    for (char& c : data) c = c != 0;  // any other byte would be no bool
  if (h.fortran_order && h.shape.size() > 1) {
    std::string ordered(size, '\0');
    to_c_order(h.shape, itemsize, data.data(), ordered.data());
    data = std::move(ordered);
  }
  return make_concrete(Aval{h.shape, dtype}, data.data());
}

std::string npy_header(const Aval& aval) {
  std::string descr;
  const DType d = aval.dtype;
  if (d == bfloat16)
    descr = "<V2";
  else
    descr = std::string(d.itemsize() == 1 ? "|" : "<") +
            (d.is_bool()       ? 'b'
             : d.is_signed()   ? 'i'
             : d.is_unsigned() ? 'u'
             : d.is_complex()  ? 'c'
                               : 'f') +
            std::to_string(d.itemsize());
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + to_string(aval.shape) + ", }";
  // The data begins at a multiple of 64 bytes.
  const std::size_t bare = 10 + dict.size() + 1;
  dict.append((64 - bare % 64) % 64, ' ');
  dict += '\n';
  std::string s(kMagic);
  s += '\x01', s += '\0';
  s += static_cast<char>(dict.size() & 0xff), s += static_cast<char>(dict.size() >> 8);
  return s + dict;
}

std::string npy_data(const Array& x, SourceLoc loc) {
  if (x.dtype().is_key())
    throw DTypeError("save: " + to_string(x.aval()) + " holds keys, which a NumPy file can't; save random::key_data of it", loc);
  std::string data(static_cast<std::size_t>(x.aval().bytes()), '\0');
  read_elements(x, x.dtype(), data.data(), "save", loc);
  return data;
}

}  // namespace detail

using namespace detail;

Array load(const std::string& path, SourceLoc loc) try { return decode_npy(read_file(path, loc), path, loc); } catch (...) {
  detail::rethrow_as_error("load", loc);
}

void save(const std::string& path, const Array& x, SourceLoc loc) try {
  write_file(path, {npy_header(x.aval()), npy_data(x, loc)}, loc);
} catch (...) {
  detail::rethrow_as_error("save", loc);
}

}  // namespace weft
