// The reader of types and attributes. Internal to the parser's files.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/frontends/stablehlo/text/cursor.h"

namespace weft::detail::mlir {

/// Types and attributes, and the names (`#a`, `!t`) that stand for them.
class AttributeReader {
 public:
  AttributeReader(std::string_view text, std::string file, SourceLoc loc)
      : c(text, std::move(file), loc), budget_(text.size() * 8 + 4096) {}

  Type read_type();
  /// Any attribute; behind a number, a type (`1 : i64`).
  Attribute read_attribute();
  /// `{name = value, ...}`, added to `into`.
  void read_dictionary(Attribute& into);
  /// What follows `dense`, without that word.
  Attribute read_dense(Place place);
  /// `#name = value` or `!name = type`; false if there is none here.
  bool read_alias();
  bool at_attribute_of_type();
  /// Skips `loc(...)` if it is here.
  void skip_location();
  /// `loc(...)`, if it is here: the name that it gives, which may be empty.
  std::string read_location_name();
  /// What `#name` stands for, or null.
  const Attribute* find_alias(std::string_view name) const {
    const auto found = attributes_.find(name);
    return found == attributes_.end() ? nullptr : &found->second;
  }
  /// Types separated by commas; in parentheses, where there may be none, and each may have attributes.
  std::vector<Type> read_type_list();
  std::vector<Type> read_types_in_parentheses(std::vector<Attribute>* attributes = nullptr);
  // Shardy's attributes, without the name before (see sharding.cpp).
  Attribute read_mesh();
  Attribute read_sharding();
  Attribute read_shardings();
  Attribute read_axes();

  Cursor c;

 private:
  Type read_tensor(std::size_t begin);
  Attribute read_number(Place place);
  Attribute read_list(Place place);
  Attribute read_dialect_attribute(Place place);
  /// `(...)` behind `loc`: a dictionary of `name`, `file`, `line` and `column`, or the `alias` that stands for these; what is known of
  /// them.
  Attribute read_location(Place place);
  Attribute read_place(Place place);
  /// `<...>` behind `#sdy.NAME`, or nothing where that is none of the dialect's.
  std::optional<Attribute> read_shardy_attribute(const std::string& name);
  bool at_sharding();
  Attribute read_axis();
  Attribute read_dimension();
  Attribute read_array(Place place);
  void read_elements(Attribute& dense, std::size_t begin, std::size_t end);
  void read_nested(Attribute& dense, int dim, std::int64_t& count, Shape& sizes);
  void read_hex(Attribute& dense);
  /// Counts what is made of the text: names that stand for each other could otherwise grow without bound.
  void spend(std::size_t things);
  std::size_t size_of(const Attribute& a) const;

  std::size_t budget_;
  std::map<std::string, Attribute, std::less<>> attributes_;
  std::map<std::string, Type, std::less<>> types_;
};

}  // namespace weft::detail::mlir
