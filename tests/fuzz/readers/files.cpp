// Files of other programs: safetensors, CSV, PNG.
#include <fmt/format.h>
#include <weft/weft.h>
#include <zlib.h>

#include <cstring>

#include "tests/fuzz/readers/readers.h"

namespace weft::fuzz {
namespace {

std::string scratch(const char* name) { return scratch_folder() + "/" + name; }
bool same(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const auto bytes = [](const Array& x) {
    std::string s(static_cast<std::size_t>(x.aval().bytes()), '\0');
    detail::read_elements(x, x.dtype(), s.data(), "fuzz", {});
    return s;
  };
  return bytes(a) == bytes(b);
}

}  // namespace

void read_safetensors(std::string_view bytes) {
  Safetensors read;
  try {
    read = detail::decode_safetensors(bytes, "input", {});
  } catch (const Error&) {
    return;
  }
  // What was read is written as a file that holds the same.
  const std::string path = scratch("again.safetensors");
  save_safetensors(path, read.arrays, read.metadata);
  const Safetensors again = load_safetensors(path);
  if (again.metadata != read.metadata || again.arrays.size() != read.arrays.size())
    broken("what was written is read as something else", "");
  for (const auto& [name, x] : read.arrays)
    if (!again.arrays.contains(name) || !same(again.arrays.at(name), x)) broken("what was written is read as another array", name);
}
std::vector<std::string> safetensors_seeds() {
  std::vector<std::string> seeds;
  const std::string path = scratch("seed.safetensors");
  const Array x = reshape(arange(6, float32), {2, 3});
  using Arrays = std::map<std::string, Array>;
  for (const Arrays& arrays :
       {Arrays{{"a", x}, {"b", x > 2}, {"c", convert(x, bfloat16)}}, {{"empty", zeros({0, 4})}, {"s", array(3.f)}}, {}}) {
    save_safetensors(path, arrays, {{"made \"by\"", "a test\n"}});
    seeds.push_back(contents_of(path));
  }
  return seeds;
}

void read_csv(std::string_view bytes) {
  // The first byte says how.
  const unsigned how = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  CsvOptions options{.delimiter = how & 1 ? ';' : ',', .dtype = how & 2 ? int16 : float64};
  if (how & 4) options.missing = 0;
  if (how & 8) options.header = how & 16;
  options.skip_lines = static_cast<int>(how >> 6);
  try {
    const Csv table = parse_csv(std::string(bytes.substr(std::min<std::size_t>(bytes.size(), 1))), options);
    if (table.values.ndim() != 2 || (!table.names.empty() && static_cast<std::int64_t>(table.names.size()) != table.values.shape()[1]))
      broken("a table of another shape", fmt::format("{}", table.values.shape()));
    const std::string path = scratch("again.csv");
    if (table.values.size() == 0) return;
    save_csv(path, table.values);
    if (const Csv again = load_csv(path, {.header = false, .dtype = options.dtype});
        !same(again.values, table.values) && !any(isnan(table.values)).item<bool>())
      broken("what was written is read as other numbers", "");
  } catch (const Error&) {
  }
}
std::vector<std::string> csv_seeds() {
  return {std::string(1, '\0') + "a,b\n1,2.5\n-3,nan\n", std::string(1, '\5') + "1;2;;4\r\n5;6;7;8\r\n",
          std::string(1, '\2') + "\"x \"\"y\"\"\",\"z\n\"\n1,2\n", std::string(1, '\x0c') + "\xef\xbb\xbf 1 , true\n\n,2e3",
          std::string(1, '\x42') + "a title\n1,2\n3,4"};
}

void read_png(std::string_view bytes) {
  Array x;
  // The check sums are right: else hardly any change would be read any further.
  std::string valid(bytes);
  for (std::size_t at = 8; at + 12 <= valid.size();) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(valid[at + i]);
    if (size > valid.size() - at - 12) break;
    const auto sum = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(valid.data() + at + 4), size + 4));
    for (std::size_t i = 0; i < 4; ++i) valid[at + 8 + size + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xff);
    at += size + 12;
  }
  try {
    x = detail::decode_png(valid, "input", {});
  } catch (const Error&) {
    return;
  }
  const std::string path = scratch("again.png");
  save_png(path, x);
  if (!same(load_png(path), x)) broken("what was written is read as another picture", fmt::format("{} {}", x.shape(), x.dtype()));
}
std::vector<std::string> png_seeds() {
  std::vector<std::string> seeds;
  const std::string path = scratch("seed.png");
  for (const DType dtype : {uint8, uint16})
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 2}, Shape{4, 2, 3}, Shape{2, 2, 4}}) {
      save_png(path, convert(reshape(arange(shape.num_elements()) * 7, shape), dtype));
      seeds.push_back(contents_of(path));
    }
  // As others write them: a palette with a transparent entry, one bit a pixel, interlaced.
  const auto chunk = [](std::string_view type, const std::string& data) {
    const auto number = [](std::uint32_t n) { return std::string{char(n >> 24), char(n >> 16), char(n >> 8), char(n)}; };
    const std::string both = std::string(type) + data;
    return number(static_cast<std::uint32_t>(data.size())) + both +
           number(static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(both.data()), both.size())));
  };
  const auto file = [&](std::string header, const std::string& more, const std::string& lines) {
    std::string packed(compressBound(lines.size()), '\0');
    uLongf size = packed.size();
    ::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(lines.data()), lines.size());
    packed.resize(size);
    return std::string("\x89PNG\r\n\x1a\n") + chunk("IHDR", header) + more + chunk("IDAT", packed) + chunk("IEND", "");
  };
  const auto header = [](char width, char height, char depth, char color, char interlaced) {
    return std::string(3, '\0') + width + std::string(3, '\0') + height + depth + color + std::string(2, '\0') + interlaced;
  };
  seeds.push_back(file(header(3, 2, 2, 3, 0), chunk("PLTE", "abcdefghi") + chunk("tRNS", "\x10"), std::string("\0\x18\0\x90", 4)));
  seeds.push_back(file(header(5, 2, 1, 0, 0), "", std::string("\0\xa8\1\x50", 4)));
  seeds.push_back(file(header(2, 2, 8, 0, 1), chunk("tRNS", std::string("\0a", 2)), std::string("\0a\0b\0cd", 7)));
  return seeds;
}

}  // namespace weft::fuzz
