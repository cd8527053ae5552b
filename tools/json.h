// JSON texts as values.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

/// A value of a JSON text (RFC 8259).
struct Json {
  enum class Kind { null, boolean, number, string, list, object } kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<Json> list;
  std::map<std::string, Json> object;

  /// A member of an object; throws Error where it is missing.
  const Json& at(const std::string& name) const;
  /// A member of an object, or null.
  const Json* find(const std::string& name) const;
};

/// Throws Error, with the byte at which the text stops being JSON.
Json parse_json(std::string_view text);

}  // namespace weft::tools
