// See table.h.
#include "weft/frontends/stablehlo/bytecode/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/base/nesting.h"
#include "weft/core/base/sizes.h"
#include "weft/frontends/stablehlo/text/reader.h"

namespace weft::detail::mlir {
namespace {

std::size_t size_of(const Type& t) {
  std::size_t n = 1;
  for (const Type& e : t.elements) n += size_of(e);
  return n;
}
std::size_t size_of(const Attribute& a) {
  std::size_t n = 1 + a.text.size() / sizeof(Attribute) + a.type.elements.size();
  for (const Attribute& item : a.items) n += size_of(item);
  return n;
}

// The codes of locations.
enum LocationCode : std::uint64_t { kCallSite = 10, kFileLine = 11, kFused = 12, kFusedWithMetadata = 13, kNamed = 14, kFileRange = 22 };

constexpr std::string_view kBuiltin = "builtin";

}  // namespace

Table::Table(const Container& container, std::vector<SourceLine>& sources)
    : c_(container),
      sources_(sources),
      attributes_(container.attributes.size()),
      types_(container.types.size()),
      source_of_(container.attributes.size(), -1) {
  std::size_t bytes = container.ir.left();
  for (const Container::Entry& e : container.attributes) bytes += e.data.left();
  for (const Bytes& p : container.properties) bytes += p.left();
  budget_ = 4 * bytes + (1 << 16);
}

void Table::spend(std::size_t things, const Bytes& at) {
  if (things > budget_) at.fail("attributes expand to more than a file of this size may hold");
  budget_ -= things;
}

Attribute Table::copy(Bytes& b) {
  const std::size_t index = b.index(c_.attributes.size(), "attribute");
  const Attribute& a = attribute(index);
  spend(attributes_[index].size, b);
  return a;
}

Type Table::copy_type(Bytes& b) {
  const std::size_t index = b.index(c_.types.size(), "type");
  const Type& t = type(index);
  spend(types_[index].size, b);
  return t;
}

const Attribute* Table::optional_attribute(Bytes& b) {
  bool present = false;
  const std::uint64_t index = b.varint_with_flag(present);
  if (!present) return nullptr;
  if (index >= c_.attributes.size()) b.fail(fmt::format("there is no attribute {}; there are {}", index, c_.attributes.size()));
  return &attribute(static_cast<std::size_t>(index));
}

template <class T>
const T& Table::read(std::vector<Slot<T>>& slots, const std::vector<Container::Entry>& entries, std::size_t index, const char* what) {
  Slot<T>& slot = slots[index];
  if (slot.state == State::done) return slot.value;
  const Container::Entry& entry = entries[index];
  if (slot.state == State::in_progress) entry.data.fail(fmt::format("{} {} contains itself", what, index));
  check_nesting("attributes inside attributes");
  slot.state = State::in_progress;
  try {
    slot.value = decode(entry, static_cast<T*>(nullptr));
    slot.size = size_of(slot.value);
    spend(slot.size, entry.data);
  } catch (...) {
    slot.state = State::untouched;
    throw;
  }
  slot.state = State::done;
  return slot.value;
}

const Attribute& Table::attribute(std::size_t index) { return read(attributes_, c_.attributes, index, "attribute"); }
const Type& Table::type(std::size_t index) { return read(types_, c_.types, index, "type"); }

namespace {

const DialectEncoding* encoding_of(std::string_view dialect) {
  for (const DialectEncoding* e : {&kBuiltinEncoding, &kVhloEncoding, &kStablehloEncoding, &kChloEncoding, &kShardyEncoding})
    if (e->dialect == dialect) return e;
  return nullptr;
}

/// What is written as text, read by the reader of texts.
template <class Read>
auto from_text(const Bytes& data, Read read) {
  Bytes b = data;
  const std::string_view text = b.text();
  try {
    AttributeReader reader(text, "its text", data.origin().loc);
    auto out = read(reader);
    if (reader.c.peek() != '\0') reader.c.fail("there is more text after it");
    return out;
  } catch (const Error& e) {
    data.fail(e.message());
  }
}

}  // namespace

Attribute Table::decode(const Container::Entry& entry, Attribute*) {
  if (!entry.is_encoded) {
    // Texts of other dialects are kept as they are: nothing here asks for them.
    Attribute a = from_text(entry.data, [](AttributeReader& r) { return r.read_attribute(); });
    a.place = entry.data.place();
    return a;
  }
  const DialectEncoding* const encoding = encoding_of(entry.dialect);
  if (!encoding) return make_attribute(Attribute::Kind::opaque, entry.data, std::string(entry.dialect));
  Bytes b = entry.data;
  return encoding->attribute(*this, b);
}

Type Table::decode(const Container::Entry& entry, Type*) {
  if (!entry.is_encoded) return from_text(entry.data, [](AttributeReader& r) { return r.read_type(); });
  const DialectEncoding* const encoding = encoding_of(entry.dialect);
  if (!encoding || !encoding->type) return other_type(fmt::format("!{}.type", entry.dialect));
  Bytes b = entry.data;
  return encoding->type(*this, b);
}

// Locations nest deeply, so they are followed without being read as attributes.

std::uint32_t Table::source(std::size_t index) {
  std::vector<std::size_t> way;
  std::uint32_t found = 0;
  while (way.size() <= c_.attributes.size()) {
    if (source_of_[index] >= 0) {
      found = static_cast<std::uint32_t>(source_of_[index]);
      break;
    }
    way.push_back(index);
    const Container::Entry& entry = c_.attributes[index];
    if (!entry.is_encoded || entry.dialect != kBuiltin) break;
    Bytes b = entry.data;
    const std::uint64_t code = b.varint();
    if (code == kFileLine || code == kFileRange) {
      SourceLine line;
      line.file = attribute(b).text;
      std::size_t n = code == kFileLine ? 2 : b.count("numbers of a location");
      if (n > 0) line.line = static_cast<int>(std::min<std::uint64_t>(b.varint(), 1 << 30)), --n;
      if (n > 0) line.column = static_cast<int>(std::min<std::uint64_t>(b.varint(), 1 << 30));
      if (!line.file.empty() && line.line > 0) {
        found = static_cast<std::uint32_t>(sources_.size());
        sources_.push_back(std::move(line));
      }
      break;
    }
    if (code == kNamed) {
      b.index(c_.attributes.size(), "attribute");
    } else if (code == kFused || code == kFusedWithMetadata) {
      if (b.count("locations") == 0) break;
    } else if (code != kCallSite) {
      break;
    }
    index = b.index(c_.attributes.size(), "attribute");
  }
  for (const std::size_t i : way) source_of_[i] = found;
  return found;
}

std::string Table::location_name(std::size_t index) {
  const Container::Entry& entry = c_.attributes[index];
  if (!entry.is_encoded || entry.dialect != kBuiltin) return {};
  Bytes b = entry.data;
  return b.varint() == kNamed ? attribute(b).text : std::string();
}

// What encodings share.

Attribute make_attribute(Attribute::Kind kind, const Bytes& b, std::string text) { return {kind, b.place(), std::move(text)}; }

Attribute make_integer(const Bytes& b, std::int64_t value) {
  Attribute a = make_attribute(Attribute::Kind::integer, b);
  a.integer = value, a.real = static_cast<double>(value);
  return a;
}

void add_entry(Attribute& dictionary, const char* key, Attribute value) {
  dictionary.keys.emplace_back(key);
  dictionary.items.push_back(std::move(value));
}

Attribute read_attribute_list(Table& t, Bytes& b) {
  Attribute list = make_attribute(Attribute::Kind::list, b);
  for (std::size_t n = b.count("attributes"); n > 0; --n) list.items.push_back(t.copy(b));
  return list;
}

Attribute read_dictionary(Table& t, Bytes& b) {
  Attribute a = make_attribute(Attribute::Kind::dictionary, b);
  for (std::size_t n = b.count("attributes"); n > 0; --n) {
    a.keys.push_back(t.attribute(b).text);
    a.items.push_back(t.copy(b));
  }
  return a;
}

Attribute read_sub_axis(Bytes& b) {
  Attribute a = make_attribute(Attribute::Kind::dictionary, b);
  add_entry(a, "before", make_integer(b, b.signed_varint()));
  add_entry(a, "size", make_integer(b, b.signed_varint()));
  return a;
}

Attribute read_integer_list(Bytes& b) {
  Attribute list = make_attribute(Attribute::Kind::list, b);
  for (std::size_t n = b.count("numbers"); n > 0; --n) list.items.push_back(make_integer(b, b.signed_varint()));
  return list;
}

Attribute read_enumerator(Bytes& b, std::span<const char* const> names) {
  Attribute a = make_attribute(Attribute::Kind::word, b);
  a.text = names[b.index(names.size(), "enumerator")];
  return a;
}

namespace {
/// The bits of a number of that many: a byte where it has room, else of variable length.
std::uint64_t read_bits(Bytes& b, int width) {
  const std::uint64_t bits = width <= 8 ? b.byte() : static_cast<std::uint64_t>(b.signed_varint());
  return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}
}  // namespace

Attribute read_integer_of(const Type& type, Bytes& b, bool is_index) {
  if (is_index) return make_integer(b, b.signed_varint());
  const Place place = b.place();
  if (type.kind != Type::Kind::tensor || type.narrow || (!type.tensor.dtype.is_integer() && !type.tensor.dtype.is_bool())) {
    b.take(b.left());
    return {Attribute::Kind::opaque, place, type.text};
  }
  const int width = type.tensor.dtype.is_bool() ? 1 : 8 * static_cast<int>(type.tensor.dtype.itemsize());
  const std::uint64_t bits = read_bits(b, width);
  Attribute a(type.tensor.dtype.is_bool() ? Attribute::Kind::boolean : Attribute::Kind::integer, place);
  a.integer = static_cast<std::int64_t>(bits);
  if (width > 1 && width < 64 && !type.tensor.dtype.is_unsigned() && bits >> (width - 1)) a.integer -= std::int64_t{1} << width;
  a.real = static_cast<double>(a.integer);
  return a;
}

Attribute read_float_of(const Type& type, Bytes& b) {
  const Place place = b.place();
  if (type.kind != Type::Kind::tensor || type.narrow || !type.tensor.dtype.is_floating()) {
    b.take(b.left());
    return {Attribute::Kind::opaque, place, type.text};
  }
  const DType dtype = type.tensor.dtype;
  Attribute a(Attribute::Kind::real, place);
  a.real = float_of_bits(read_bits(b, 8 * static_cast<int>(dtype.itemsize())), dtype);
  return a;
}

Attribute elements_of(const Type& type, Bytes data, const Place& place) {
  Attribute a(Attribute::Kind::dense, place);
  a.type = type;
  const std::string_view bytes = data.rest();
  if (type.kind != Type::Kind::tensor) return a;
  const ShapeDtypeStruct& t = type.tensor;
  const auto n = static_cast<std::size_t>(t.shape.num_elements()),
             itemsize = type.narrow ? 1 : static_cast<std::size_t>(t.dtype.itemsize());
  if (!t.dtype.is_bool()) {
    a.is_splat = bytes.size() == itemsize && n != 1;
    if (!a.is_splat && (n > bytes.size() || bytes.size() != n * itemsize))
      data.fail(fmt::format("there are {} bytes for {}, which has {}", bytes.size(), type.text, n * itemsize));
    if (type.narrow)
      a.text = widened_elements(*type.narrow, bytes);
    else
      a.outside = bytes;
    return a;
  }
  // Eight bools a byte, the first one in its lowest bit; one byte of all ones, or of none, stands for as many as there are. Files of old
  // have a byte for each.
  const auto is_all = [&](char c) { return bytes.size() == 1 && bytes[0] == c; };
  if (is_all('\xff') || (is_all('\0') && n != 1)) {
    a.is_splat = n != 1;
    a.text = bytes[0] ? '\1' : '\0';
  } else if (bytes.size() == n / 8 + (n % 8 != 0) && bytes.size() != n) {
    a.text.resize(n);
    for (std::size_t i = 0; i < n; ++i) a.text[i] = static_cast<char>(static_cast<unsigned char>(bytes[i / 8]) >> (i % 8) & 1);
  } else if (bytes.size() == n || bytes.size() == 1) {
    a.is_splat = bytes.size() == 1 && n != 1;
    for (const char c : bytes) {
      if (c != 0 && c != 1) data.fail("a byte of a bool is neither 0 nor 1");
      a.text += c;
    }
  } else {
    data.fail(fmt::format("there are {} bytes for {}", bytes.size(), type.text));
  }
  return a;
}

Attribute read_elements_of(const Type& type, Bytes& b) {
  const Place place = b.place();
  return elements_of(type, b.take(b.varint()), place);
}

Type scalar_type(const char* name, DType dtype) {
  Type t(Type::Kind::tensor, name);
  t.tensor = {{}, dtype};
  return t;
}

Type narrow_type(const NarrowFormat& f) {
  Type t(Type::Kind::tensor, std::string(f.mlir));
  t.tensor = {{}, f.wide};
  t.narrow = &f;
  return t;
}

Type other_type(std::string text) { return {Type::Kind::other, std::move(text)}; }

Type tensor_type(const std::vector<std::int64_t>& sizes, const Type& element, const Bytes& b) {
  std::string text = "tensor<";
  bool known = true;
  for (const std::int64_t n : sizes) {
    known &= n >= 0;
    text += n < 0 ? "?x" : fmt::format("{}x", n);
  }
  text += element.text + ">";
  if (element.kind != Type::Kind::tensor || element.tensor.shape.size() != 0) return other_type(std::move(text));
  if (!known) {
    Type t(Type::Kind::open_tensor, std::move(text));
    t.tensor.dtype = element.tensor.dtype, t.narrow = element.narrow;
    for (const std::int64_t n : sizes) t.sizes.push_back(std::max<std::int64_t>(n, -1));
    return t;
  }
  if (!checked_bytes(sizes, element.tensor.dtype.itemsize())) b.fail(text + " is too large");
  Type t(Type::Kind::tensor, std::move(text));
  t.tensor = {Shape(sizes), element.tensor.dtype};
  t.narrow = element.narrow;
  return t;
}

std::vector<std::int64_t> read_sizes(Bytes& b) {
  std::vector<std::int64_t> sizes;
  for (std::size_t n = b.count("sizes"); n > 0; --n) sizes.push_back(b.signed_varint());
  return sizes;
}

std::vector<Type> read_type_list(Table& t, Bytes& b) {
  std::vector<Type> types;
  for (std::size_t n = b.count("types"); n > 0; --n) types.push_back(t.copy_type(b));
  return types;
}

namespace {
std::string joined(const std::vector<Type>& types) {
  std::string text;
  for (const Type& t : types) text += (text.empty() ? "" : ", ") + t.text;
  return text;
}
}  // namespace

Type tuple_type(std::vector<Type> elements) {
  Type t(Type::Kind::tuple, fmt::format("tuple<{}>", joined(elements)));
  t.elements = std::move(elements);
  return t;
}

Type future_type(std::vector<Type> elements) {
  Type t = tuple_type(std::move(elements));
  t.text = fmt::format("!stablehlo.future<{}>", joined(t.elements));
  return t;
}

Type function_type(std::vector<Type> inputs, std::vector<Type> results) {
  Type t(Type::Kind::function, fmt::format("({}) -> ({})", joined(inputs), joined(results)));
  t.elements = std::move(results);
  return t;
}

}  // namespace weft::detail::mlir
