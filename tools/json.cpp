#include "tools/json.h"

#include <cctype>
#include <charconv>
#include <cstdlib>

#include "weft/core/errors/error.h"

namespace weft::tools {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json read_all() {
    Json value = read();
    skip_space();
    if (at_ != text_.size()) fail("unexpected text after the value");
    return value;
  }

 private:
  static constexpr int kDeepest = 100;

  [[noreturn]] void fail(const std::string& problem) const { throw Error("json: at byte " + std::to_string(at_) + ": " + problem); }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char c) {
    if (peek() != c) fail(std::string("expected `") + c + "`");
    ++at_;
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool accept_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json read() {
    if (++depth_ > kDeepest) fail("nested too deep");
    Json value;
    switch (peek()) {
      case '{':
        value.kind = Json::Kind::object;
        read_object(value);
        break;
      case '[':
        value.kind = Json::Kind::list;
        read_list(value);
        break;
      case '"':
        value.kind = Json::Kind::string;
        value.string = read_string();
        break;
      default: read_plain(value);
    }
    --depth_;
    return value;
  }
  void read_object(Json& value) {
    expect('{');
    if (accept('}')) return;
    do {
      skip_space();
      const std::string name = read_string();
      expect(':');
      value.object.insert_or_assign(name, read());
    } while (accept(','));
    expect('}');
  }
  void read_list(Json& value) {
    expect('[');
    if (accept(']')) return;
    do value.list.push_back(read());
    while (accept(','));
    expect(']');
  }
  void read_plain(Json& value) {
    if (accept_word("null")) return;
    if (accept_word("true") || accept_word("false")) {
      value.kind = Json::Kind::boolean;
      value.boolean = text_[at_ - 2] == 'u';
      return;
    }
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isdigit(static_cast<unsigned char>(text_[end])) || std::string_view("+-.eE").find(text_[end]) != std::string_view::npos))
      ++end;
    if (end == at_) fail("expected a value");
    value.kind = Json::Kind::number;
    const char* const begin = text_.data() + at_;
    const auto [stop, problem] = std::from_chars(begin, text_.data() + end, value.number);
    if (problem == std::errc::invalid_argument || stop != text_.data() + end) fail("expected a number");
    // C's function says whether a number out of range is too large or too small.
    if (problem == std::errc::result_out_of_range) value.number = std::strtod(std::string(begin, stop).c_str(), nullptr);
    at_ = end;
  }
  std::string read_string() {
    expect('"');
    std::string s;
    for (;;) {
      if (at_ >= text_.size()) fail("a string is not closed");
      const char c = text_[at_++];
      if (c == '"') return s;
      if (c != '\\') {
        s += c;
        continue;
      }
      if (at_ >= text_.size()) fail("a string is not closed");
      read_escape(s);
    }
  }
  void read_escape(std::string& s) {
    const char c = text_[at_++];
    constexpr std::string_view names = "nrtbf\"\\/", values = "\n\r\t\b\f\"\\/";
    if (const std::size_t i = names.find(c); i != std::string_view::npos) {
      s += values[i];
      return;
    }
    if (c != 'u' || at_ + 4 > text_.size()) fail("an unknown escape");
    unsigned code = 0;
    if (std::from_chars(text_.data() + at_, text_.data() + at_ + 4, code, 16).ptr != text_.data() + at_ + 4) fail("an unknown escape");
    at_ += 4;
    if (code < 0x80) {
      s += static_cast<char>(code);
    } else if (code < 0x800) {
      s += static_cast<char>(0xc0 | code >> 6);
      s += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      s += static_cast<char>(0xe0 | code >> 12);
      s += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      s += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

const Json* Json::find(const std::string& name) const {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &found->second;
}
const Json& Json::at(const std::string& name) const {
  if (const Json* found = find(name)) return *found;
  throw Error("json: there is no member `" + name + "`");
}

Json parse_json(std::string_view text) { return Reader(text).read_all(); }

}  // namespace weft::tools
