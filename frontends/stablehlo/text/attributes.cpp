// Reading types and attributes of MLIR text.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "weft/core/base/nesting.h"
#include "weft/core/base/sizes.h"
#include "weft/frontends/stablehlo/text/reader.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

struct ElementName {
  std::string_view name;
  DType dtype;
};
constexpr ElementName kElements[] = {{"i1", bool_},
                                     {"i8", int8},
                                     {"i16", int16},
                                     {"i32", int32},
                                     {"i64", int64},
                                     {"si8", int8},
                                     {"si16", int16},
                                     {"si32", int32},
                                     {"si64", int64},
                                     {"ui8", uint8},
                                     {"ui16", uint16},
                                     {"ui32", uint32},
                                     {"ui64", uint64},
                                     {"f16", float16},
                                     {"bf16", bfloat16},
                                     {"f32", float32},
                                     {"f64", float64},
                                     {"complex<f32>", complex64},
                                     {"complex<f64>", complex128}};

const ElementName* find_element(std::string_view name) {
  for (const ElementName& e : kElements)
    if (e.name == name) return &e;
  return nullptr;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Splits `2x?xf32` behind its last `x` of a dimension; -1 for a size that is not stated. Returns false for tensors without a rank (`*`).
bool split_dimensions(std::string_view s, std::vector<std::int64_t>& sizes, std::string_view& element) {
  while (!s.empty() && (is_digit(s[0]) || s[0] == '?')) {
    if (s.starts_with("?x")) {
      sizes.push_back(-1);
      s.remove_prefix(2);
      continue;
    }
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (error != std::errc() || end == s.data() + s.size() || *end != 'x') return false;
    sizes.push_back(n);
    s.remove_prefix(static_cast<std::size_t>(end - s.data()) + 1);
  }
  element = s;
  return true;
}

}  // namespace

void AttributeReader::spend(std::size_t things) {
  if (things > budget_) c.fail("names expand to more than a text of this size may hold");
  budget_ -= things;
}

std::size_t AttributeReader::size_of(const Attribute& a) const {
  std::size_t n = 1 + a.text.size() + a.type.text.size();
  for (const Attribute& item : a.items) n += size_of(item);
  return n;
}

Type AttributeReader::read_tensor(std::size_t begin) {
  const std::string_view body = c.balanced();
  Type t(Type::Kind::other, std::string(c.text().substr(begin, c.offset() - begin)));
  std::string inner;
  for (char ch : body.substr(1, body.size() - 2))
    if (ch != ' ' && ch != '\n') inner += ch;
  std::string_view element;
  std::vector<std::int64_t> sizes;
  if (!split_dimensions(inner, sizes, element)) return t;
  const bool is_open = std::find(sizes.begin(), sizes.end(), -1) != sizes.end();
  // What is behind a comma (an encoding) changes nothing about the elements, but for bounds of sizes that are not stated.
  if (const std::size_t comma = element.find(','); comma != std::string_view::npos && element.find('<') > comma && !is_open)
    element = element.substr(0, comma);
  const ElementName* found = find_element(element);
  t.narrow = find_narrow(element);
  if (!found && !t.narrow) return t;
  const DType dtype = found ? found->dtype : t.narrow->wide;
  if (is_open) {
    t.kind = Type::Kind::open_tensor, t.tensor.dtype = dtype, t.sizes = std::move(sizes);
    return t;
  }
  if (!checked_bytes(sizes, dtype.itemsize())) c.fail(fmt::format("{} is too large", t.text));
  t.kind = Type::Kind::tensor;
  t.tensor = {Shape(sizes), dtype};
  return t;
}

Type AttributeReader::read_type() {
  check_nesting("types inside types");
  c.peek();
  const std::size_t begin = c.offset();
  spend(1);
  if (c.take_name("tensor")) return read_tensor(begin);
  // What an operation that runs beside others will give is a tuple of its results.
  const auto read_tuple = [&] {
    Type t(Type::Kind::tuple, {});
    c.expect("<");
    if (!c.looking_at(">")) t.elements = read_type_list();
    c.expect(">");
    t.text = std::string(c.text().substr(begin, c.offset() - begin));
    spend(t.text.size());
    return t;
  };
  if (c.take_name("tuple")) return read_tuple();
  if (c.take("!")) {
    const std::string name(c.name());
    if (name == "stablehlo.future") return read_tuple();
    if (name == "stablehlo.token") return {Type::Kind::token, "!stablehlo.token"};
    if (const auto alias = types_.find(name); alias != types_.end()) {
      spend(alias->second.text.size());
      return alias->second;
    }
    if (c.next() == '<') c.balanced();
    return {Type::Kind::other, std::string(c.text().substr(begin, c.offset() - begin))};
  }
  if (c.looking_at("(")) {
    Type t(Type::Kind::function, {});
    read_types_in_parentheses();
    if (c.take("->")) t.elements = c.looking_at("(") ? read_types_in_parentheses() : std::vector<Type>{read_type()};
    t.text = std::string(c.text().substr(begin, c.offset() - begin));
    return t;
  }
  if (!c.at_name()) c.fail("a type is missing");
  const std::string_view name = c.name();
  if (c.next() == '<') c.balanced();
  const std::string_view all = c.text().substr(begin, c.offset() - begin);
  const ElementName* scalar = find_element(all);
  const NarrowFormat* narrow = find_narrow(all);
  if (scalar || narrow) {
    Type t(Type::Kind::tensor, std::string(all));
    t.tensor = {{}, scalar ? scalar->dtype : narrow->wide};
    t.narrow = narrow;
    return t;
  }
  if (name != "index" && name != "none" && name != "memref" && name != "vector" && name != "complex" && name.substr(0, 1) != "f" &&
      name.substr(0, 1) != "i" && name.substr(0, 2) != "ui" && name.substr(0, 2) != "si") {
    c.seek(begin);
    c.fail(fmt::format("`{}` is not a type", name));
  }
  return {Type::Kind::other, std::string(all)};
}

std::vector<Type> AttributeReader::read_type_list() {
  std::vector<Type> out;
  do out.push_back(read_type());
  while (c.take(","));
  return out;
}

std::vector<Type> AttributeReader::read_types_in_parentheses(std::vector<Attribute>* attributes) {
  std::vector<Type> out;
  c.expect("(");
  if (c.take(")")) return out;
  do {
    out.push_back(read_type());
    Attribute beside(Kind::dictionary, c.place());
    if (c.looking_at("{")) read_dictionary(beside);
    if (attributes) attributes->push_back(std::move(beside));
    skip_location();
  } while (c.take(","));
  c.expect(")");
  return out;
}

bool AttributeReader::read_alias() {
  const char sign = c.peek();
  if (sign != '#' && sign != '!') return false;
  c.expect(std::string_view(&sign, 1));
  const std::string name(c.name());
  c.expect("=");
  if (sign == '!')
    types_.insert_or_assign(name, read_type());
  else
    attributes_.insert_or_assign(name, read_attribute());
  return true;
}

bool AttributeReader::at_attribute_of_type() {
  if (!c.looking_at(":") || c.looking_at("::")) return false;
  const std::size_t here = c.offset();
  c.take(":");
  bool is_scalar = c.at_name();
  if (is_scalar) {
    const std::string_view name = c.name();
    is_scalar = name == "index" || (name.size() > 1 && std::string_view("iusfb").find(name[0]) != std::string_view::npos &&
                                    std::any_of(name.begin(), name.end(), is_digit));
  }
  c.seek(here);
  return is_scalar;
}

Attribute AttributeReader::read_number(Place place) {
  const std::string written(c.number());
  const std::size_t behind = c.offset();
  Attribute a(Kind::integer, place);
  Type type;
  if (at_attribute_of_type()) c.expect(":"), type = read_type();
  const bool floating = type.kind == Type::Kind::tensor ? type.tensor.dtype.is_floating()
                                                        : written.find_first_of(".eE") != std::string::npos && written.substr(0, 2) != "0x";
  const std::size_t end = c.offset();
  c.seek(behind);  // what is wrong with it is said where it is
  std::string bits;
  if (floating) {
    a.kind = Kind::real;
    const DType as = type.kind == Type::Kind::tensor ? type.tensor.dtype : float64;
    append_number(c, written, as, bits);
    std::uint64_t value = 0;
    std::memcpy(&value, bits.data(), bits.size());
    a.real = float_of_bits(value, as);
  } else {
    append_number(c, written, written[0] == '-' ? int64 : uint64, bits);
    std::memcpy(&a.integer, bits.data(), sizeof a.integer);
    a.real = static_cast<double>(a.integer);
  }
  c.seek(end);
  return a;
}

Attribute AttributeReader::read_list(Place place) {
  Attribute list(Kind::list, place);
  c.expect("[");
  if (!c.take("]")) {
    do list.items.push_back(read_attribute());
    while (c.take(","));
    c.expect("]");
  }
  return list;
}

void AttributeReader::read_dictionary(Attribute& into) {
  c.expect("{");
  if (c.take("}")) return;
  do {
    std::string key = c.looking_at("\"") ? c.string() : std::string(c.name());
    Attribute value(Kind::unit, c.place());
    if (c.take("=")) value = read_attribute();
    into.keys.push_back(std::move(key));
    into.items.push_back(std::move(value));
  } while (c.take(","));
  c.expect("}");
}

Attribute AttributeReader::read_dialect_attribute(Place place) {
  c.expect("#");
  const std::string name(c.name());
  if (const auto alias = attributes_.find(name); alias != attributes_.end()) {
    spend(size_of(alias->second));
    return alias->second;
  }
  Attribute a(Kind::opaque, place, name);
  if (c.next() != '<') return a;
  const std::string_view dialect = std::string_view(name).substr(0, name.find('.'));
  if (std::optional<Attribute> known = read_shardy_attribute(name)) return std::move(*known);
  if (dialect != "stablehlo" && dialect != "chlo") {
    c.balanced();
    return a;
  }
  // Either named entries, or an enumerator behind the name of its kind, or lists.
  c.expect("<");
  a.kind = Kind::dictionary;
  std::vector<Attribute> words;
  while (!c.take(">")) {
    const std::size_t before = c.offset();
    Place here = c.place();
    if (c.at_name()) {
      const std::string word(c.name());
      if (c.take("=")) {
        a.keys.push_back(word);
        a.items.push_back(read_attribute());
      } else {
        words.emplace_back(Kind::word, here, word);
      }
    } else {
      words.push_back(read_attribute());
    }
    c.take(",");
    if (c.offset() == before) c.fail("an attribute is never closed");
  }
  if (!a.keys.empty()) return a;
  if (words.empty()) return a;
  return std::move(words.back());  // `<comparison_direction LT>`, `<LT>`, `<[b, f]x[i, o]->[b, f]>`
}

Attribute AttributeReader::read_array(Place place) {
  Attribute list(Kind::list, place);
  c.expect("<");
  read_type();
  if (c.take(":")) {
    do list.items.push_back(read_attribute());
    while (c.take(","));
  }
  c.expect(">");
  return list;
}

Attribute AttributeReader::read_attribute() {
  check_nesting("attributes inside attributes");
  spend(1);
  const Place place = c.place();
  const char ch = c.peek();
  if (is_digit(ch) || ch == '-' || ch == '+') return read_number(place);
  if (ch == '"') {
    Attribute a(Kind::string, place, c.string());
    if (c.looking_at(":") && at_attribute_of_type()) c.expect(":"), read_type();
    return a;
  }
  if (ch == '@') {
    Attribute a(Kind::symbol, place, c.symbol());
    while (c.take("::")) a.text += "::" + c.symbol();
    return a;
  }
  if (ch == '#') return read_dialect_attribute(place);
  if (ch == '[') {
    Attribute list = read_list(place);
    // Dimensions of two or three operands: `[1] x [0]`, `[b, f]x[i, o]->[b, f]`.
    if (!c.looking_at("x[") && !(c.looking_at_name("x"))) return list;
    c.expect("x");
    Attribute product(Kind::list, place, "x");
    product.items.push_back(std::move(list));
    product.items.push_back(read_list(c.place()));
    if (c.take("->")) product.items.push_back(read_list(c.place()));
    return product;
  }
  if (ch == '{') {
    Attribute dictionary(Kind::dictionary, place);
    read_dictionary(dictionary);
    return dictionary;
  }
  if (ch == '<') {
    if (at_sharding()) return read_sharding();
    c.balanced();
    return {Kind::opaque, place};
  }
  auto of_type = [&] {
    Attribute a(Kind::type, place);
    a.type = read_type();
    return a;
  };
  if (ch == '!' || ch == '(') return of_type();
  if (ch == '?') {
    c.expect("?");
    return {Kind::word, place, "?"};
  }
  if (c.looking_at("^")) c.fail("a branch to another block: regions have one block, so that loops and conditions are operations");
  if (!c.at_name()) c.fail("an attribute is missing");
  const std::size_t begin = c.offset();
  const std::string word(c.name());
  if (word == "true" || word == "false") {
    Attribute a(Kind::boolean, place);
    a.integer = word == "true";
    return a;
  }
  if (word == "unit") return {Kind::unit, place};
  if (word == "dense") return read_dense(place);
  if (word == "array" && c.next() == '<') return read_array(place);
  if (word == "loc") return read_location(place);
  if (word == "affine_map" || word == "dense_resource" || word == "sparse" || word == "opaque") {
    c.balanced();
    return {Kind::opaque, place, word};
  }
  if (c.next() == '<' || word == "index" || word == "none" || find_element(word)) {
    c.seek(begin);
    return of_type();
  }
  return {Kind::word, place, word};
}

Attribute AttributeReader::read_dense(Place place) {
  Attribute dense(Kind::dense, place);
  const std::size_t begin = c.offset();
  c.balanced();
  const std::size_t end = c.offset();
  c.expect(":");
  dense.type = read_type();
  const std::size_t behind = c.offset();
  if (dense.type.kind == Type::Kind::tensor) read_elements(dense, begin, end);
  c.seek(behind);
  return dense;
}

void AttributeReader::read_elements(Attribute& dense, std::size_t begin, std::size_t end) {
  const ShapeDtypeStruct& type = dense.type.tensor;
  c.seek(begin);
  c.expect("<");
  if (c.looking_at("\"")) {
    read_hex(dense);  // the bits of the elements as they are in memory
    if (dense.type.narrow) c.fail_at(dense.place, fmt::format("elements of {} are written as numbers", dense.type.text));
  } else if (!c.looking_at(">")) {
    Shape sizes;
    std::int64_t count = 0;
    dense.is_splat = !c.looking_at("[");
    read_nested(dense, 0, count, sizes);
    if (!dense.is_splat && sizes != type.shape)
      c.fail_at(dense.place, fmt::format("the elements have shape {}, their type is {}", to_string(sizes), dense.type.text));
  } else if (type.shape.num_elements() != 0) {
    c.fail_at(dense.place, fmt::format("there are no elements for {}", dense.type.text));
  }
  c.expect(">");
  if (c.offset() != end) c.fail("the elements of a constant end in the middle");
}

void AttributeReader::read_nested(Attribute& dense, int dim, std::int64_t& count, Shape& sizes) {
  check_nesting("lists of elements");
  const DType dtype = dense.type.tensor.dtype;
  if (c.take("[")) {
    const bool first = dim == sizes.size();
    if (first && count > 0) c.fail("rows are nested differently");
    if (first) sizes.push_back(0);
    std::int64_t rows = 0;
    if (!c.take("]")) {
      do {
        read_nested(dense, dim + 1, count, sizes);
        ++rows;
      } while (c.take(","));
      c.expect("]");
    }
    if (first) sizes[dim] = rows;
    if (sizes[dim] != rows) c.fail("rows have different sizes");
    return;
  }
  if (dim != sizes.size()) c.fail("rows are nested differently");
  ++count;
  if (dtype.is_complex()) {
    c.expect("(");
    append_number(c, c.number(), dtype.real_part(), dense.text);
    c.expect(",");
    append_number(c, c.number(), dtype.real_part(), dense.text);
    c.expect(")");
    return;
  }
  if (dtype.is_bool() && c.at_name()) {
    const bool value = c.take_name("true");
    if (!value && !c.take_name("false")) c.fail("an element is neither true nor false");
    dense.text += static_cast<char>(value);
    return;
  }
  const std::string_view number = c.number();
  if (const NarrowFormat* narrow = dense.type.narrow;
      narrow && narrow->values != NarrowFormat::Values::integers && number.substr(0, 2) == "0x") {
    std::string bits;  // of the format itself
    append_number(c, number, uint8, bits);
    if (static_cast<unsigned char>(bits[0]) >> narrow->bits != 0) c.fail(fmt::format("{} has more bits than {}", number, narrow->mlir));
    dense.text += widened_elements(*narrow, bits);
    return;
  }
  append_number(c, number, dtype, dense.text);
  if (dense.type.narrow) round_last_element(*dense.type.narrow, dense.text);
}

void AttributeReader::read_hex(Attribute& dense) {
  const Place place = c.place();
  const std::string digits = c.string();
  const ShapeDtypeStruct& type = dense.type.tensor;
  const auto itemsize = static_cast<std::size_t>(type.dtype.itemsize()), bytes = digits.size() / 2 - (digits.size() >= 2 ? 1 : 0);
  const auto wanted = static_cast<std::size_t>(type.shape.num_elements()) * itemsize;
  if (digits.substr(0, 2) != "0x" || digits.size() % 2 != 0) c.fail_at(place, "bytes are written as `0x` and two digits each");
  dense.is_splat = bytes == itemsize && wanted != bytes;
  if (bytes != wanted && !dense.is_splat)
    c.fail_at(place, fmt::format("there are {} bytes for {}, which has {}", bytes, dense.type.text, wanted));
  dense.text.reserve(bytes);
  for (std::size_t i = 2; i < digits.size(); i += 2) {
    unsigned char byte = 0;
    const char* from = digits.data() + i;
    if (std::from_chars(from, from + 2, byte, 16).ptr != from + 2) c.fail_at(place, "bytes are written with other than hexadecimal digits");
    if (type.dtype.is_bool() && byte > 1) c.fail_at(place, "a byte of a bool is neither 0 nor 1");
    dense.text += static_cast<char>(byte);
  }
}

}  // namespace weft::detail::mlir
