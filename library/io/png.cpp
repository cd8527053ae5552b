#include "weft/library/io/png.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/base/files.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"

namespace weft {
namespace {

using Byte = unsigned char;
constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
/// Pictures of more bytes are taken to be damaged files.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 34;

std::uint32_t big_endian(std::string_view b) {
  std::uint32_t n = 0;
  for (int i = 0; i < 4; ++i) n = n << 8 | static_cast<Byte>(b[static_cast<std::size_t>(i)]);
  return n;
}
std::string big_endian(std::uint32_t n) {
  std::string s;
  for (int shift = 24; shift >= 0; shift -= 8) s += static_cast<char>(n >> shift & 0xff);
  return s;
}
std::uint32_t check_sum(std::string_view bytes) {
  return static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

/// What the header says.
struct Header {
  std::int64_t width = 0, height = 0;
  int depth = 0, color = 0, channels = 0;
  bool interlaced = false;
  std::int64_t bits_per_pixel() const { return std::int64_t{depth} * channels; }
  std::int64_t row_bytes(std::int64_t w) const { return (w * bits_per_pixel() + 7) / 8; }
};
/// Some of the picture's pixels, every dx-th of every dy-th row; an interlaced file has seven such passes.
struct Pass {
  std::int64_t x, y, dx, dy;
};

class PngReader {
 public:
  PngReader(std::string_view bytes, const std::string& name, SourceLoc loc) : bytes_(bytes), name_(name), loc_(loc) {}

  Array read() {
    if (bytes_.substr(0, kSignature.size()) != kSignature) fail("this is not a PNG file");
    read_chunks();
    if (!has_header_) fail("there is no header");
    if (head_.color == 3 && palette_.empty()) fail("there is no palette");
    unpack();
    return result();
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { throw IoError("load_png: " + name_ + ": " + problem, loc_); }

  void read_chunks() {
    for (std::size_t at = kSignature.size();;) {
      if (bytes_.size() - at < 12) fail("the file is cut short");
      const std::size_t size = big_endian(bytes_.substr(at, 4));
      if (size > bytes_.size() - at - 12) fail("the file is cut short");
      const std::string_view type = bytes_.substr(at + 4, 4), data = bytes_.substr(at + 8, size);
      if (check_sum(bytes_.substr(at + 4, size + 4)) != big_endian(bytes_.substr(at + 8 + size, 4)))
        fail(fmt::format("the check sum of the chunk at byte {} is wrong", at));
      at += size + 12;
      if (!has_header_ && type != "IHDR") fail("the first chunk is not a header");
      if (type == "IHDR")
        read_header(data);
      else if (type == "PLTE")
        palette_ = data;
      else if (type == "tRNS")
        transparent_ = data;
      else if (type == "IDAT")
        packed_ += data;
      else if (type == "IEND")
        return;
      else if (!(type[0] & 0x20))
        fail(fmt::format("it needs an unknown extension, {}", std::string(type)));
    }
  }
  void read_header(std::string_view data) {
    if (has_header_ || data.size() != 13) fail("the header is damaged");
    has_header_ = true;
    head_.width = big_endian(data.substr(0, 4)), head_.height = big_endian(data.substr(4, 4));
    head_.depth = static_cast<Byte>(data[8]), head_.color = static_cast<Byte>(data[9]);
    static constexpr int channels[] = {1, 0, 3, 1, 2, 0, 4};
    head_.channels = head_.color < 7 ? channels[head_.color] : 0;
    const int d = head_.depth;
    const bool whole = d == 8 || d == 16, part = d == 1 || d == 2 || d == 4;
    const bool known = head_.color == 0 ? whole || part : head_.color == 3 ? part || d == 8 : whole;
    if (head_.width == 0 || head_.height == 0 || head_.width > INT32_MAX || head_.height > INT32_MAX || head_.channels == 0 || !known)
      fail(fmt::format("a picture of {} x {} pixels, {} bits and colour type {} is not possible", head_.width, head_.height, d,
                       head_.color));
    if (data[10] != 0 || data[11] != 0 || static_cast<Byte>(data[12]) > 1) fail("its compression, filter or interlacing method is unknown");
    head_.interlaced = data[12] == 1;
    const auto size = detail::checked_product(head_.width * 8, head_.height);
    if (!size || *size > kMostBytes) fail("the picture is too large");
  }
  std::vector<Pass> passes() const {
    if (!head_.interlaced) return {{0, 0, 1, 1}};
    return {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  }
  /// The samples of all pixels, each in 16 bits.
  void unpack() {
    std::int64_t wanted = 0;
    for (const Pass& p : passes()) wanted += rows_of(p) * (columns_of(p) > 0 ? head_.row_bytes(columns_of(p)) + 1 : 0);
    // A file can't promise more than it could hold: deflate packs at most 1032 to 1.
    if (static_cast<std::size_t>(wanted) / 1100 > packed_.size() + 1) fail("the file is cut short");
    std::vector<Byte> lines(static_cast<std::size_t>(wanted));
    inflate_to(lines);
    samples_.resize(static_cast<std::size_t>(head_.width * head_.height * head_.channels));
    Byte* line = lines.data();
    for (const Pass& p : passes()) {
      const std::int64_t columns = columns_of(p), bytes = head_.row_bytes(columns);
      if (columns == 0) continue;
      std::vector<Byte> above(static_cast<std::size_t>(bytes));
      for (std::int64_t y = p.y; y < head_.height; y += p.dy, line += bytes + 1) {
        unfilter(line[0], line + 1, above.data(), bytes);
        std::copy_n(line + 1, bytes, above.data());
        for (std::int64_t i = 0; i < columns * head_.channels; ++i) {
          const std::int64_t x = p.x + i / head_.channels * p.dx, sample = (y * head_.width + x) * head_.channels + i % head_.channels;
          samples_[static_cast<std::size_t>(sample)] = sample_of(line + 1, i);
        }
      }
    }
  }
  std::int64_t columns_of(const Pass& p) const { return std::max<std::int64_t>(0, (head_.width - p.x + p.dx - 1) / p.dx); }
  std::int64_t rows_of(const Pass& p) const { return std::max<std::int64_t>(0, (head_.height - p.y + p.dy - 1) / p.dy); }
  void inflate_to(std::vector<Byte>& out) {
    ::z_stream stream{};
    if (::inflateInit(&stream) != Z_OK) fail("zlib can't be used");
    std::size_t read = 0, written = 0;
    int status = Z_OK;
    while (status == Z_OK && written < out.size()) {
      const std::size_t in = std::min<std::size_t>(packed_.size() - read, 1u << 30),
                        room = std::min<std::size_t>(out.size() - written, 1u << 30);
      stream.next_in = reinterpret_cast<Bytef*>(packed_.data() + read), stream.avail_in = static_cast<uInt>(in);
      stream.next_out = out.data() + written, stream.avail_out = static_cast<uInt>(room);
      status = ::inflate(&stream, Z_NO_FLUSH);
      const std::size_t taken = in - stream.avail_in, given = room - stream.avail_out;
      read += taken, written += given;
      if (taken == 0 && given == 0) break;
    }
    ::inflateEnd(&stream);
    if (written < out.size())
      fail(status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END ? "the file is cut short" : "the packed pixels are damaged");
  }
  void unfilter(int filter, Byte* line, const Byte* above, std::int64_t bytes) const {
    const std::int64_t step = std::max<std::int64_t>(1, head_.bits_per_pixel() / 8);
    for (std::int64_t i = 0; i < bytes; ++i) {
      const int left = i >= step ? line[i - step] : 0, up = above[i], corner = i >= step ? above[i - step] : 0;
      int guess = 0;
      switch (filter) {
        case 0: break;
        case 1: guess = left; break;
        case 2: guess = up; break;
        case 3: guess = (left + up) / 2; break;
        case 4: {
          const int p = left + up - corner, a = std::abs(p - left), b = std::abs(p - up), c = std::abs(p - corner);
          guess = a <= b && a <= c ? left : b <= c ? up : corner;
          break;
        }
        default: fail("a row has an unknown filter");
      }
      line[i] = static_cast<Byte>(line[i] + guess);
    }
  }
  std::uint16_t sample_of(const Byte* line, std::int64_t i) const {
    if (head_.depth == 16) return static_cast<std::uint16_t>(line[2 * i] << 8 | line[2 * i + 1]);
    if (head_.depth == 8) return line[i];
    const std::int64_t bit = i * head_.depth;
    return static_cast<std::uint16_t>(line[bit / 8] >> (8 - head_.depth - bit % 8) & ((1 << head_.depth) - 1));
  }
  Array result() {
    const std::size_t pixels = samples_.size() / static_cast<std::size_t>(head_.channels);
    const int most = (1 << std::min(head_.depth, 8)) - 1;
    std::vector<std::uint16_t> out;
    int channels = head_.channels;
    if (head_.color == 3) {
      channels = transparent_.empty() ? 3 : 4;
      out.reserve(pixels * static_cast<std::size_t>(channels));
      for (const std::uint16_t entry : samples_) {
        if (std::size_t{3} * entry + 3 > palette_.size()) fail("a pixel has a colour that is not in the palette");
        for (std::size_t c = 0; c < 3; ++c) out.push_back(static_cast<Byte>(palette_[std::size_t{3} * entry + c]));
        if (channels == 4) out.push_back(entry < transparent_.size() ? static_cast<Byte>(transparent_[entry]) : 255);
      }
    } else {
      const std::size_t n = static_cast<std::size_t>(channels);
      const bool alpha = !transparent_.empty() && (head_.color == 0 || head_.color == 2);
      if (alpha && transparent_.size() != 2 * n) fail("its transparent colour is damaged");
      channels += alpha;
      out.reserve(pixels * static_cast<std::size_t>(channels));
      for (std::size_t p = 0; p < pixels; ++p) {
        bool clear = alpha;
        for (std::size_t c = 0; c < n; ++c) {
          const std::uint16_t s = samples_[p * n + c];
          if (alpha) clear &= s == (static_cast<Byte>(transparent_[2 * c]) << 8 | static_cast<Byte>(transparent_[2 * c + 1]));
          out.push_back(head_.depth < 8 ? static_cast<std::uint16_t>(s * 255 / most) : s);
        }
        if (alpha) out.push_back(clear ? 0 : head_.depth == 16 ? 65535 : 255);
      }
    }
    Shape shape{head_.height, head_.width};
    if (channels > 1) shape.push_back(channels);
    return array(out, shape, head_.depth == 16 ? uint16 : uint8, loc_);
  }

  const std::string_view bytes_;
  const std::string& name_;
  const SourceLoc loc_;
  bool has_header_ = false;
  Header head_;
  std::string_view palette_, transparent_;
  std::string packed_;
  std::vector<std::uint16_t> samples_;
};

std::string chunk(const std::string& type, const std::string& data) {
  return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(check_sum(type + data));
}

}  // namespace

namespace detail {
Array decode_png(std::string_view bytes, const std::string& name, SourceLoc loc) { return PngReader(bytes, name, loc).read(); }
}  // namespace detail

Array load_png(const std::string& path, SourceLoc loc) try {
  return detail::decode_png(detail::read_file(path, loc, "load_png"), path, loc);
} catch (...) {
  detail::rethrow_as_error("load_png", loc);
}

namespace detail {
std::string encode_png(const Array& picture, const std::string& who, SourceLoc loc) {
  const Shape& shape = picture.shape();
  if ((shape.size() != 2 && shape.size() != 3) || (shape.size() == 3 && (shape[2] < 1 || shape[2] > 4)) || picture.size() == 0 ||
      shape[0] > INT32_MAX || shape[1] > INT32_MAX)
    throw ShapeError(fmt::format("{}: {} is not a picture; it must have the shape [height, width] or [height, width, 1 to 4]", who,
                                 to_string(picture.aval())),
                     loc);
  Array x = picture;
  if (x.dtype().is_bool())
    x = convert(x, uint8) * 255;
  else if (x.dtype().is_floating())
    x = convert(round(clip(convert(x, float32), 0, 1) * 255), uint8);
  if (x.dtype() != uint8 && x.dtype() != uint16)
    throw DTypeError(
        fmt::format("{}: {} is not a picture; give uint8, uint16, bool, or floats from 0 to 1", who, to_string(picture.aval())), loc);
  const std::int64_t height = shape[0], width = shape[1], channels = shape.size() == 3 ? shape[2] : 1;
  const auto wide = static_cast<std::size_t>(x.dtype().itemsize());
  std::vector<Byte> elements(static_cast<std::size_t>(x.aval().bytes()));
  read_elements(x, x.dtype(), elements.data(), who.c_str(), loc);
  // Each row less the one above it, which pictures are mostly like.
  const std::size_t row = static_cast<std::size_t>(width * channels) * wide;
  std::vector<Byte> lines;
  lines.reserve((row + 1) * static_cast<std::size_t>(height));
  const auto byte_at = [&](std::size_t y, std::size_t i) {
    return elements[y * row + (wide == 2 ? i ^ 1u : i)];  // the high byte first
  };
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    lines.push_back(2);
    for (std::size_t i = 0; i < row; ++i) lines.push_back(static_cast<Byte>(byte_at(y, i) - (y > 0 ? byte_at(y - 1, i) : 0)));
  }
  uLongf size = ::compressBound(static_cast<uLong>(lines.size()));
  std::string packed(size, '\0');
  if (::compress2(reinterpret_cast<Bytef*>(packed.data()), &size, lines.data(), static_cast<uLong>(lines.size()), 6) != Z_OK)
    throw IoError(who + ": the picture can't be packed", loc);
  packed.resize(size);
  static constexpr int colors[] = {0, 4, 2, 6};
  std::string header = big_endian(static_cast<std::uint32_t>(width)) + big_endian(static_cast<std::uint32_t>(height));
  header += static_cast<char>(8 * wide);
  header += static_cast<char>(colors[channels - 1]);
  header += std::string(3, '\0');
  std::string data;
  // A chunk has less than 2^31 bytes.
  for (std::size_t at = 0; at < packed.size(); at += 1u << 30) data += chunk("IDAT", packed.substr(at, 1u << 30));
  return std::string(kSignature) + chunk("IHDR", header) + data + chunk("IEND", "");
}
}  // namespace detail

void save_png(const std::string& path, const Array& picture, SourceLoc loc) try {
  detail::write_file(path, {detail::encode_png(picture, "save_png", loc)}, loc, "save_png");
} catch (...) {
  detail::rethrow_as_error("save_png", loc);
}

}  // namespace weft
