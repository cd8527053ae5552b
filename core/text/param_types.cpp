// The text of every parameter type of core/ir/params.h, written and read.
#include <charconv>
#include <cmath>
#include <limits>

#include "weft/core/array/rank.h"
#include "weft/core/base/decimal.h"
#include "weft/core/text/text.h"

namespace weft::detail {
namespace {

bool is_word_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Whether a string can be written without quotes and read back as one word.
bool is_plain_word(const std::string& s) {
  if (s.empty() || s == "None" || s == "True" || s == "False") return false;
  int depth = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (c == '<') ++depth;
    if (c == '>' && --depth < 0) return false;
    const bool in_word = is_word_char(c) || c == '.' || c == '<' || c == '>' || (depth > 0 && c == ' ');
    if (!in_word) return false;
  }
  return depth == 0 && !(s[0] >= '0' && s[0] <= '9') && s[0] != '.';
}

template <class T, class F>
std::string print_tuple(const std::vector<T>& v, F&& item) {
  std::string s = "(";
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + item(v[i]);
  return s + (v.size() == 1 ? ",)" : ")");
}

int narrow(ParamReader& r, std::int64_t v) {
  if (v < std::numeric_limits<int>::min() || v > std::numeric_limits<int>::max())
    r.fail("the integer " + std::to_string(v) + " is out of range");
  return static_cast<int>(v);
}

template <class T>
void read_vector(ParamReader& r, std::vector<T>& v) {
  v.clear();
  r.read_list([&] {
    T item{};
    read_param(r, item);
    v.push_back(std::move(item));
  });
}

template <class T>
std::string print_pairs(const std::vector<std::pair<T, T>>& v) {
  return print_tuple(v, [](const std::pair<T, T>& p) { return "(" + std::to_string(p.first) + ", " + std::to_string(p.second) + ")"; });
}
template <class T>
void read_pairs(ParamReader& r, std::vector<std::pair<T, T>>& v) {
  v.clear();
  r.read_list([&] {
    std::vector<T> pair;
    read_vector(r, pair);
    if (pair.size() != 2) r.fail("expected a pair of integers");
    v.emplace_back(pair[0], pair[1]);
  });
}

}  // namespace

TextPosition position_in(std::string_view text, std::size_t offset) {
  TextPosition p;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    ++p.column;
    if (text[i] == '\n') ++p.line, p.column = 1;
  }
  return p;
}

void ParamReader::fail(const std::string& message) const {
  const TextPosition p = position_in(text_, at_);
  throw Error("parse: line " + std::to_string(p.line) + ", column " + std::to_string(p.column) + ": " + message);
}

char ParamReader::peek() {
  while (at_ < end_ && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  return at_ < end_ ? text_[at_] : '\0';
}

bool ParamReader::looking_at(std::string_view token) {
  peek();
  if (text_.substr(at_, end_ - at_).substr(0, token.size()) != token) return false;
  const std::size_t after = at_ + token.size();
  return token.empty() || !is_word_char(token.back()) || after >= end_ || !is_word_char(text_[after]);
}

bool ParamReader::accept(std::string_view token) {
  if (!looking_at(token)) return false;
  at_ += token.size();
  return true;
}

void ParamReader::expect(std::string_view token) {
  if (accept(token)) return;
  const std::string found =
      at_end() ? "the text ends" : "found '" + std::string(text_.substr(at_, std::min<std::size_t>(end_ - at_, 16))) + "'";
  fail("expected '" + std::string(token) + "', " + found.substr(0, found.find('\n')));
}

bool accept_wrapper(ParamReader& r) {
  for (const char* name : {"np.", "numpy.", "jnp."})
    if (r.accept(name)) {
      r.read_identifier();
      r.expect("(");
      return true;
    }
  return false;
}

std::string_view ParamReader::number_text() {
  peek();
  const std::size_t begin = at_;
  if (at_ < end_ && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
  while (at_ < end_) {
    const char c = text_[at_];
    const bool exponent_sign = (c == '-' || c == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    if (!is_word_char(c) && c != '.' && !exponent_sign) break;
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

std::int64_t ParamReader::read_int() {
  const bool wrapped = accept_wrapper(*this);
  const std::size_t begin = (peek(), at_);
  const std::string_view s = number_text();
  std::int64_t v = 0;
  const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || stop != s.data() + s.size()) {
    at_ = begin;
    fail(error == std::errc::result_out_of_range ? "the integer '" + std::string(s) + "' is out of range" : "expected an integer");
  }
  if (wrapped) expect(")");
  return v;
}

double ParamReader::read_double() {
  const bool wrapped = accept_wrapper(*this);
  const std::size_t begin = (peek(), at_);
  std::string_view s = number_text();
  double v = 0;
  const bool negative = !s.empty() && s[0] == '-';
  const std::string_view digits = negative || (!s.empty() && s[0] == '+') ? s.substr(1) : s;
  const bool digits_first = !digits.empty() && ((digits[0] >= '0' && digits[0] <= '9') || digits[0] == '.');
  if (digits == "inf" || digits == "nan") {
    v = digits == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (!digits_first || stop != digits.data() + digits.size() || error == std::errc::invalid_argument) {
      at_ = begin;
      fail("expected a number");
    }
    // Out of range: too large for a double, or so small that it is zero. C's function says which.
    if (error == std::errc::result_out_of_range) v = decimal_double(std::string(digits));
  }
  if (wrapped) expect(")");
  return negative ? -v : v;
}

bool ParamReader::read_bool() {
  const bool wrapped = accept_wrapper(*this);
  bool v = false;
  if (accept("True"))
    v = true;
  else if (!accept("False"))
    fail("expected True or False");
  if (wrapped) expect(")");
  return v;
}

std::string ParamReader::read_identifier() {
  peek();
  const std::size_t begin = at_;
  while (at_ < end_ && is_word_char(text_[at_])) ++at_;
  if (at_ == begin) fail("expected a name");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string ParamReader::read_string() {
  const char first = peek();
  std::string s;
  if (first == '\'' || first == '"') {
    const std::size_t begin = at_++;
    while (at_ < end_ && text_[at_] != first) {
      char c = text_[at_++];
      if (c == '\\' && at_ < end_) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'r') c = '\r';
        if (c == 'x') {
          unsigned code = 0;
          const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + std::min(at_ + 2, end_), code, 16);
          if (error != std::errc() || stop != text_.data() + at_ + 2) fail("expected two hexadecimal digits");
          c = static_cast<char>(code);
          at_ += 2;
        }
      }
      s += c;
    }
    if (at_ >= end_) {
      at_ = begin;
      fail("the string is not closed");
    }
    ++at_;
    return s;
  }
  int depth = 0;
  while (at_ < end_) {
    const char c = text_[at_];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth < 0 || (depth == 0 && !is_word_char(c) && c != '.' && c != '>')) break;
    s += c;
    ++at_;
  }
  if (s.empty()) fail("expected a string");
  return s;
}

char ParamReader::open_list() {
  if (accept("frozenset(")) {
    if (looking_at(")")) return ')';
    ++wrappers_;
  }
  if (accept("[")) return ']';
  if (accept("{")) return '}';
  const char c = peek();
  if (c != '(' && (is_word_char(c) && !(c >= '0' && c <= '9'))) read_identifier();  // Name(x=..., y=...)
  expect("(");
  return ')';
}

void ParamReader::close_list() {
  if (wrappers_ == 0 || text_[at_ - 1] != '}') return;
  --wrappers_;
  expect(")");
}

void ParamReader::accept_label() {
  const char c = peek();
  if (!is_word_char(c) || (c >= '0' && c <= '9')) return;
  const std::size_t begin = at_;
  read_identifier();
  if (!accept("=")) at_ = begin;
}

std::string_view ParamReader::rest() {
  const std::string_view s = text_.substr(at_, end_ - at_);
  at_ = end_;
  return s;
}

std::string quoted(std::string_view s) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : s) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (u < 0x20)
      out += "\\x", out += kHex[u >> 4], out += kHex[u & 15];
    else
      out += c;
  }
  return out + "'";
}

std::string print_double(double v) {
  if (std::isnan(v)) return std::signbit(v) ? "-nan" : "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[40];
  const double magnitude = std::abs(v);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16)) {
    const std::string s(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::fixed).ptr);
    return s.find('.') == std::string::npos ? s + ".0" : s;
  }
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr);
}

std::string print_param(bool v) { return v ? "True" : "False"; }
std::string print_param(int v) { return std::to_string(v); }
std::string print_param(std::int64_t v) { return std::to_string(v); }
std::string print_param(double v) { return print_double(v); }
std::string print_param(DType v) { return std::string(v.name()); }
std::string print_param(const std::string& v) { return is_plain_word(v) ? v : quoted(v); }
std::string print_param(const Shape& v) { return to_string(v); }
std::string print_param(const std::vector<int>& v) {
  return print_tuple(v, [](int i) { return std::to_string(i); });
}
std::string print_param(const std::vector<std::int64_t>& v) {
  return print_tuple(v, [](std::int64_t i) { return std::to_string(i); });
}
std::string print_param(const std::vector<bool>& v) {
  return print_tuple(v, [](bool b) { return print_param(b); });
}
std::string print_param(const std::vector<std::string>& v) {
  return print_tuple(v, [](const std::string& s) { return quoted(s); });
}
std::string print_param(const std::vector<std::vector<int>>& v) {
  return print_tuple(v, [](const std::vector<int>& i) { return print_param(i); });
}
std::string print_param(const std::vector<std::pair<int, int>>& v) { return print_pairs(v); }
std::string print_param(const std::vector<std::pair<std::int64_t, std::int64_t>>& v) { return print_pairs(v); }

void read_param(ParamReader& r, bool& v) { v = r.read_bool(); }
void read_param(ParamReader& r, int& v) { v = narrow(r, r.read_int()); }
void read_param(ParamReader& r, std::int64_t& v) { v = r.read_int(); }
void read_param(ParamReader& r, double& v) { v = r.read_double(); }
void read_param(ParamReader& r, DType& v) {
  const std::size_t begin = r.offset();
  const std::string name = r.read_identifier();
  if (find_dtype(name, v)) return;
  r.seek(begin);
  r.fail("there is no dtype '" + name + "'");
}
void read_param(ParamReader& r, std::string& v) { v = r.read_string(); }
void read_param(ParamReader& r, Shape& v) {
  std::vector<std::int64_t> dims;
  read_vector(r, dims);
  for (const std::int64_t d : dims)
    if (d < 0) r.fail("the size " + std::to_string(d) + " is negative");
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) r.fail("an array has at most " + std::to_string(kMaxRank) + " dimensions");
  v = Shape(dims);
}
void read_param(ParamReader& r, std::vector<int>& v) { read_vector(r, v); }
void read_param(ParamReader& r, std::vector<std::int64_t>& v) { read_vector(r, v); }
void read_param(ParamReader& r, std::vector<bool>& v) {
  v.clear();
  r.read_list([&] { v.push_back(r.read_bool()); });
}
void read_param(ParamReader& r, std::vector<std::string>& v) {
  // A single name is read as a list of one, as in axis_name=i.
  const char c = r.peek();
  if (c != '(' && c != '[' && c != '{')
    v = {r.read_string()};
  else
    read_vector(r, v);
}
void read_param(ParamReader& r, std::vector<std::vector<int>>& v) { read_vector(r, v); }
void read_param(ParamReader& r, std::vector<std::pair<int, int>>& v) { read_pairs(r, v); }
void read_param(ParamReader& r, std::vector<std::pair<std::int64_t, std::int64_t>>& v) { read_pairs(r, v); }
bool read_none(ParamReader& r) { return r.accept("None"); }

void read_param(ParamReader& r, Jaxpr& v) { v = r.read_jaxpr(); }
void read_param(ParamReader& r, std::vector<Jaxpr>& v) {
  // JAX separates branches by spaces, and writes custom_linear_solve's programs as a named tuple, in which one may be None.
  v.clear();
  if (r.peek() != '(') r.read_identifier();
  r.expect("(");
  while (!r.accept(")")) {
    const std::size_t begin = r.offset();
    if (r.peek() != '{') {
      r.read_identifier();
      if (!r.accept("=")) r.seek(begin);
    }
    v.push_back(read_none(r) ? Jaxpr() : r.read_jaxpr());
    r.accept(",");
  }
}

}  // namespace weft::detail
