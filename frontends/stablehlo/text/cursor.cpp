// Walking over MLIR text (see cursor.h).
#include "weft/frontends/stablehlo/text/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "weft/core/array/storage.h"

namespace weft::detail::mlir {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '$' || c == '.'; }

}  // namespace

char Cursor::peek() {
  for (; at_ < text_.size(); ++at_) {
    if (is_space(text_[at_])) continue;
    if (text_.compare(at_, 2, "//") != 0) return text_[at_];
    at_ = std::min(text_.find('\n', at_), text_.size() - 1);
  }
  return '\0';
}

bool Cursor::looking_at(std::string_view what) {
  peek();
  return text_.compare(std::min(at_, text_.size()), what.size(), what) == 0;
}

bool Cursor::looking_at_name(std::string_view name) {
  return looking_at(name) && (at_ + name.size() >= text_.size() || !continues_name(text_[at_ + name.size()]));
}

bool Cursor::take(std::string_view what) {
  if (!looking_at(what)) return false;
  at_ += what.size();
  return true;
}

bool Cursor::take_name(std::string_view name) {
  if (!looking_at_name(name)) return false;
  at_ += name.size();
  return true;
}

void Cursor::expect(std::string_view what) {
  if (!take(what)) fail(fmt::format("`{}` is missing", what));
}

bool Cursor::line_ends() {
  const std::size_t from = at_;
  peek();
  return at_ == text_.size() || text_.substr(from, at_ - from).find('\n') != std::string_view::npos;
}

bool Cursor::at_name() { return starts_name(peek()); }

std::string_view Cursor::name() {
  if (!starts_name(peek()) && !is_digit(next())) fail("a name is missing");
  const std::size_t begin = at_;
  while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string Cursor::symbol() {
  expect("@");
  if (next() == '"') return string();
  const std::size_t begin = at_;
  while (at_ < text_.size() && (continues_name(text_[at_]) || text_[at_] == '-')) ++at_;
  if (begin == at_) fail("a name is missing after `@`");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Cursor::string() {
  expect("\"");
  std::string out;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return out;
    }
    if (c == '\n') break;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char e = ++at_ < text_.size() ? text_[at_] : '\0';
    unsigned char byte = 0;
    if (e == 'n')
      out += '\n';
    else if (e == 't')
      out += '\t';
    else if (e == '"' || e == '\\')
      out += e;
    else if (const char* digits = text_.data() + at_;
             at_ + 2 <= text_.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2)
      out += static_cast<char>(byte), ++at_;
    else
      fail("a string has an escape that MLIR doesn't know");
  }
  fail("a string doesn't end on its line");
}

std::string_view Cursor::number() {
  peek();
  const std::size_t begin = at_;
  if (next() == '-' || next() == '+') ++at_;
  if (!is_digit(next())) {
    at_ = begin;
    fail("a number is missing");
  }
  if (text_.compare(at_, 2, "0x") == 0 && at_ + 2 < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[at_ + 2]))) {
    at_ += 2;
    while (std::isxdigit(static_cast<unsigned char>(next()))) ++at_;
  } else {
    while (is_digit(next())) ++at_;
    if (next() == '.') ++at_;
    while (is_digit(next())) ++at_;
    if (next() == 'e' || next() == 'E') {
      std::size_t exponent = at_ + 1;
      if (exponent < text_.size() && (text_[exponent] == '-' || text_[exponent] == '+')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent]))
        for (at_ = exponent; is_digit(next());) ++at_;
    }
  }
  return text_.substr(begin, at_ - begin);
}

std::int64_t Cursor::integer() {
  const std::string_view written = number();
  std::string bits;
  append_number(*this, written, written[0] == '-' ? int64 : uint64, bits);
  std::int64_t v;
  std::memcpy(&v, bits.data(), sizeof v);
  if (v < 0 && written[0] != '-') fail("an integer is too large");
  return v;
}

std::string_view Cursor::balanced() {
  peek();
  const std::size_t begin = at_;
  std::string open;
  do {
    const char c = next();
    if (c == '\0' && at_ >= text_.size()) fail_at(place_of(begin), "a bracket is never closed");
    if (c == '"') {
      string();
      continue;
    }
    if (c == '(' || c == '[' || c == '{' || c == '<') open += c;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && text_[at_ - 1] != '-')) {
      const char wanted = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
      if (open.empty() || open.back() != wanted) fail("brackets don't match");
      open.pop_back();
    }
    ++at_;
  } while (!open.empty());
  return text_.substr(begin, at_ - begin);
}

Place Cursor::place_of(std::size_t offset) {
  if (offset < counted_) counted_ = line_start_ = 0, line_ = 1;
  for (; counted_ < offset && counted_ < text_.size(); ++counted_)
    if (text_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
  return {line_, static_cast<int>(offset - line_start_) + 1};
}

Place Cursor::place() {
  peek();
  return place_of(at_);
}

void Cursor::fail(const std::string& problem) { fail_at(place(), problem); }

void Cursor::fail_at(Place place, const std::string& problem) const {
  throw Error(fmt::format("{}:{}:{}: {}", file_, place.line, place.column, problem), loc_);
}

namespace {

/// The magnitude of an integer and whether it is negative.
struct Integer {
  std::uint64_t magnitude = 0;
  bool negative = false;
};
Integer read_integer(Cursor& c, std::string_view s) {
  Integer out;
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) out.negative = s[0] == '-', s.remove_prefix(1);
  const bool hex = s.substr(0, 2) == "0x";
  if (hex) s.remove_prefix(2);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out.magnitude, hex ? 16 : 10);
  if (error != std::errc() || end != s.data() + s.size()) c.fail(fmt::format("{} is not an integer of 64 bits", s));
  return out;
}

}  // namespace

void append_number(Cursor& c, std::string_view number, DType dtype, std::string& out) {
  with_storage(dtype, [&]<class T>() {
    T value{};
    if constexpr (std::is_same_v<T, bool>) {
      const Integer i = read_integer(c, number);
      if (i.magnitude > 1) c.fail(fmt::format("{} is not a bool; write true or false", number));
      value = i.magnitude == 1;
    } else if constexpr (std::is_integral_v<T>) {
      const Integer i = read_integer(c, number);
      const auto bits = i.negative ? 0 - i.magnitude : i.magnitude;
      value = static_cast<T>(bits);
      // Bits beyond the type are copies of its sign; an unsigned number of all bits may be written for a signed one, in base 16.
      const bool fits = i.negative ? value < T{1} && static_cast<std::int64_t>(value) == static_cast<std::int64_t>(bits)
                                   : static_cast<std::make_unsigned_t<T>>(value) == bits &&
                                         (std::is_unsigned_v<T> || value >= T{0} || number.substr(0, 2) == "0x");
      if (!fits) c.fail(fmt::format("{} doesn't fit {}", number, std::string(dtype.name())));
    } else if constexpr (is_floating_storage<T>) {
      if (number.substr(0, 2) == "0x") {
        const Integer i = read_integer(c, number);
        if (sizeof(T) < 8 && i.magnitude >> (8 * sizeof(T) % 64))
          c.fail(fmt::format("{} has more bits than {}", number, std::string(dtype.name())));
        out.append(reinterpret_cast<const char*>(&i.magnitude), sizeof(T));  // little-endian
        return;
      } else {
        double v = 0;
        if (number[0] == '+') number.remove_prefix(1);
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), v);
        if (end != number.data() + number.size()) c.fail(fmt::format("{} is not a number", number));
        if (error == std::errc::result_out_of_range) c.fail(fmt::format("{} is out of the range of float64", number));
        value = static_cast<T>(v);
      }
    } else {
      c.fail(fmt::format("a number of {} is written as a pair", std::string(dtype.name())));
    }
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  });
}

}  // namespace weft::detail::mlir
