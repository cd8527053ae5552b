// JSON texts (RFC 8259): what their readers share, and strings as they are written.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::detail {

/// The string in quotes, with escapes.
std::string json_string(std::string_view s);

/// A place in a text that is being read. Each function throws Error, with `what` and the byte, where the text is not what it reads.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text, std::string_view what = {}) : text_(text), what_(what) {}

  /// What is left of the text, after white space.
  std::string_view rest();
  /// Goes on behind the next bytes.
  void skip(std::size_t bytes) { at_ += bytes; }
  /// Reads the character if it comes next.
  bool accept(char c);
  void expect(char c);
  std::string read_string();
  /// Calls `member` with each name, to read its value.
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
  /// Calls `element` to read each one.
  template <class F>
  void read_list(F&& element) {
    expect('[');
    if (accept(']')) return;
    do element();
    while (accept(','));
    expect(']');
  }
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  unsigned read_hex();
  void read_escape(std::string& s);

  std::string_view text_, what_;
  std::size_t at_ = 0;
};

}  // namespace weft::detail
