// The attributes and types of a bytecode file, decoded when they are first asked for.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "weft/frontends/stablehlo/bytecode/container.h"

namespace weft::detail::mlir {

class Table {
 public:
  /// Both outlive the table. Lines of the program that was written down are added to `sources`.
  Table(const Container& container, std::vector<SourceLine>& sources);

  const Attribute& attribute(std::size_t index);
  const Type& type(std::size_t index);
  /// Those whose numbers come next.
  const Attribute& attribute(Bytes& b) { return attribute(b.index(c_.attributes.size(), "attribute")); }
  const Type& type(Bytes& b) { return type(b.index(c_.types.size(), "type")); }
  /// A copy of one, counted (see spend).
  Attribute copy(Bytes& b);
  Type copy_type(Bytes& b);
  /// With a flag in the lowest bit of its number: null where there is none.
  const Attribute* optional_attribute(Bytes& b);
  std::string string(Bytes& b) { return std::string(c_.strings[b.index(c_.strings.size(), "string")]); }
  const Container::Resource& resource(Bytes& b) { return c_.resources[b.index(c_.resources.size(), "resource")]; }

  /// Of an attribute that is a location: the line of the program that was written down, as a number in `sources`.
  std::uint32_t source(std::size_t index);
  std::uint32_t source(Bytes& b) { return source(b.index(c_.attributes.size(), "attribute")); }
  /// The name that it gives, or an empty text.
  std::string location_name(std::size_t index);

  /// Counts what is made of the file: things that are in each other several times could otherwise grow without bound.
  void spend(std::size_t things, const Bytes& at);

 private:
  enum class State : unsigned char { untouched, in_progress, done };
  template <class T>
  struct Slot {
    State state = State::untouched;
    std::size_t size = 1;
    T value = {};
  };
  template <class T>
  const T& read(std::vector<Slot<T>>& slots, const std::vector<Container::Entry>& entries, std::size_t index, const char* what);
  Attribute decode(const Container::Entry& entry, Attribute*);
  Type decode(const Container::Entry& entry, Type*);

  const Container& c_;
  std::vector<SourceLine>& sources_;
  std::vector<Slot<Attribute>> attributes_;
  std::vector<Slot<Type>> types_;
  std::vector<std::int64_t> source_of_;  // by attribute; -1: not asked for yet
  std::size_t budget_;
};

/// A dialect's own encodings, each of which begins with a code.
struct DialectEncoding {
  std::string_view dialect;
  Attribute (*attribute)(Table& t, Bytes& b);
  Type (*type)(Table& t, Bytes& b);
};
extern const DialectEncoding kBuiltinEncoding, kVhloEncoding, kStablehloEncoding, kChloEncoding, kShardyEncoding;

// What encodings share.

Attribute make_attribute(Attribute::Kind kind, const Bytes& b, std::string text = {});
Attribute make_integer(const Bytes& b, std::int64_t value);
void add_entry(Attribute& dictionary, const char* key, Attribute value);
Attribute read_attribute_list(Table& t, Bytes& b);
Attribute read_dictionary(Table& t, Bytes& b);
/// A part of a mesh axis: the product of the sizes before it, and its own.
Attribute read_sub_axis(Bytes& b);
Attribute read_integer_list(Bytes& b);
/// `names[code]`, as an enumerator.
Attribute read_enumerator(Bytes& b, std::span<const char* const> names);
/// An integer or a float of the type, whose number of bits says how it is encoded.
Attribute read_integer_of(const Type& type, Bytes& b, bool is_index);
Attribute read_float_of(const Type& type, Bytes& b);
/// The elements of an array, as bytes with a length before.
Attribute read_elements_of(const Type& type, Bytes& b);
/// The same, of bytes.
Attribute elements_of(const Type& type, Bytes data, const Place& place);
Type scalar_type(const char* name, DType dtype);
Type narrow_type(const NarrowFormat& f);
Type other_type(std::string text);
/// A tensor of that element type; sizes that are not known make it one that weft has no array of.
Type tensor_type(const std::vector<std::int64_t>& sizes, const Type& element, const Bytes& b);
std::vector<std::int64_t> read_sizes(Bytes& b);
std::vector<Type> read_type_list(Table& t, Bytes& b);
Type tuple_type(std::vector<Type> elements);
/// What an operation that runs beside others will give: a tuple of its results.
Type future_type(std::vector<Type> elements);
Type function_type(std::vector<Type> inputs, std::vector<Type> results);

}  // namespace weft::detail::mlir
