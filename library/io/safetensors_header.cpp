#include "weft/library/io/safetensors_header.h"

#include <fmt/format.h>

#include <set>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  SafetensorsHeader read() {
    SafetensorsHeader out;
    std::set<std::string> names;
    read_object([&](const std::string& name) {
      if (!names.insert(name).second) fail("the name \"" + name + "\" is there twice");
      if (name == "__metadata__")
        read_object([&](const std::string& key) { out.metadata[key] = read_string(); });
      else
        out.tensors.push_back(read_tensor(name));
    });
    skip_space();
    if (at_ != text_.size()) fail("there is more text after the header's object");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { throw Error(fmt::format("at byte {}: {}", at_, problem)); }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}'", c));
  }
  template <class F>
  void read_object(F&& member) {
    expect('{');
    if (accept('}')) return;
    do {
      const std::string name = read_string();
      expect(':');
      member(name);
    } while (accept(','));
    expect('}');
  }
  template <class F>
  void read_list(F&& element) {
    expect('[');
    if (accept(']')) return;
    do element();
    while (accept(','));
    expect(']');
  }
  TensorEntry read_tensor(const std::string& name) {
    TensorEntry t;
    t.name = name;
    bool dtype = false, shape = false, offsets = false;
    const auto once = [&](bool& seen) {
      if (seen) fail("a member is given twice");
      seen = true;
    };
    read_object([&](const std::string& key) {
      if (key == "dtype") {
        once(dtype);
        t.dtype = read_string();
      } else if (key == "shape") {
        once(shape);
        read_list([&] { t.shape.push_back(read_size()); });
      } else if (key == "data_offsets") {
        once(offsets);
        std::vector<std::int64_t> both;
        read_list([&] { both.push_back(read_size()); });
        if (both.size() != 2) fail("data_offsets are two numbers");
        t.begin = both[0], t.end = both[1];
      } else {
        fail("\"" + key + "\" is not a member of a tensor");
      }
    });
    if (!dtype || !shape || !offsets) fail("the tensor \"" + name + "\" lacks dtype, shape or data_offsets");
    return t;
  }
  std::int64_t read_size() {
    skip_space();
    const std::size_t begin = at_;
    std::int64_t n = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, text_[at_] - '0', &n)) fail("a number beyond 2^63 - 1");
    if (at_ == begin) fail("expected a whole number that is not negative");
    return n;
  }
  unsigned read_hex() {
    if (text_.size() - at_ < 4) fail("a \\u escape has four digits");
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = text_[at_++];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) fail("a \\u escape has four digits");
      code = code * 16 + static_cast<unsigned>(digit);
    }
    return code;
  }
  std::string read_string() {
    expect('"');
    std::string s;
    for (;;) {
      if (at_ >= text_.size()) fail("a string is not closed");
      const char c = text_[at_++];
      if (c == '"') return s;
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      if (c != '\\') {
        s += c;
        continue;
      }
      if (at_ >= text_.size()) fail("a string is not closed");
      read_escape(s);
    }
  }
  void read_escape(std::string& s) {
    constexpr std::string_view names = "nrtbf\"\\/", values = "\n\r\t\b\f\"\\/";
    const char c = text_[at_++];
    if (const std::size_t i = names.find(c); i != std::string_view::npos) {
      s += values[i];
      return;
    }
    if (c != 'u') fail("an unknown escape");
    unsigned code = read_hex();
    if (code >= 0xdc00 && code < 0xe000) fail("half of a surrogate pair");
    if (code >= 0xd800 && code < 0xdc00) {
      if (text_.substr(at_, 2) != "\\u") fail("half of a surrogate pair");
      at_ += 2;
      const unsigned low = read_hex();
      if (low < 0xdc00 || low >= 0xe000) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    const auto continuation = [&](int shift) { s += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
      s += static_cast<char>(code);
    } else if (code < 0x800) {
      s += static_cast<char>(0xc0 | code >> 6);
      continuation(0);
    } else if (code < 0x10000) {
      s += static_cast<char>(0xe0 | code >> 12);
      continuation(6), continuation(0);
    } else {
      s += static_cast<char>(0xf0 | code >> 18);
      continuation(12), continuation(6), continuation(0);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text) { return HeaderReader(text).read(); }

std::string json_string(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace weft::detail
