#include "weft/core/text/json.h"

#include <fmt/format.h>

#include "weft/core/errors/error.h"

namespace weft::detail {

std::string json_string(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

void JsonCursor::fail(const std::string& problem) const { throw Error(fmt::format("{}at byte {}: {}", what_, at_, problem)); }

std::string_view JsonCursor::rest() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  return text_.substr(at_);
}

bool JsonCursor::accept(char c) {
  if (!rest().starts_with(c)) return false;
  ++at_;
  return true;
}

void JsonCursor::expect(char c) {
  if (!accept(c)) fail(fmt::format("expected '{}'", c));
}

std::string JsonCursor::read_string() {
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

unsigned JsonCursor::read_hex() {
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

void JsonCursor::read_escape(std::string& s) {
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

}  // namespace weft::detail
