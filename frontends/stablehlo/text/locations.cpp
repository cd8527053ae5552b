// Reading locations (see locations.h).
#include "weft/frontends/stablehlo/text/locations.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/base/nesting.h"
#include "weft/frontends/stablehlo/text/reader.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

/// Without a file where none is given.
SourceLine line_of(const Attribute& location) {
  SourceLine line;
  const Attribute *file = location.find("file"), *number = location.find("line"), *column = location.find("column");
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (!file || !number || number->integer < 1 || number->integer > kMost) return line;
  line.file = file->text, line.line = static_cast<int>(number->integer);
  if (column && column->integer >= 0 && column->integer <= kMost) line.column = static_cast<int>(column->integer);
  return line;
}

}  // namespace

std::uint32_t SourceLines::number_of(const Attribute& location) {
  const Attribute* const alias = location.find("alias");
  const SourceLine line = line_of(location);
  if (!alias && line.file.empty()) return 0;
  const std::string key = alias ? "#" + alias->text : fmt::format("{}:{}:{}", line.line, line.column, line.file);
  const auto [known, is_new] = known_.emplace(key, static_cast<std::uint32_t>(lines_.size()));
  if (is_new) {
    lines_.push_back(line);
    if (alias) later_.emplace_back(alias->text, known->second);
  }
  return known->second;
}

std::vector<SourceLine> SourceLines::finish(const AttributeReader& names) {
  constexpr int kMostNames = 64;  // that stand for each other
  for (const auto& [name, number] : later_) {
    const Attribute* found = names.find_alias(name);
    for (int i = 0; found && i < kMostNames; ++i) {
      const Attribute* const next = found->find("alias");
      if (!next) break;
      found = names.find_alias(next->text);
    }
    if (found) lines_[number] = line_of(*found);
  }
  return std::move(lines_);
}

void AttributeReader::skip_location() {
  if (c.take_name("loc")) c.balanced();
}

Attribute AttributeReader::read_location(Place place) {
  const std::size_t begin = c.offset();
  c.balanced();
  const std::size_t end = c.offset();
  c.seek(begin);
  c.expect("(");
  Attribute location = read_place(place);
  c.seek(end);
  return location;
}

Attribute AttributeReader::read_place(Place place) {
  check_nesting("locations inside locations");
  Attribute location(Kind::opaque, place, "loc");
  spend(1);
  auto add = [&](const char* key, Attribute value) { location.keys.emplace_back(key), location.items.push_back(std::move(value)); };
  auto add_place = [&](const Attribute& of) {
    for (std::size_t i = 0; i < of.keys.size(); ++i)
      if (of.keys[i] != "name") add(of.keys[i].c_str(), of.items[i]);
  };
  if (c.looking_at("\"")) {
    // `"name"` or `"name"(where)`; a file has a line and a column behind it.
    std::string name = c.string();
    if (c.next() != ':') {
      add("name", {Kind::string, place, std::move(name)});
      if (c.take("(")) add_place(read_place(place));
      return location;
    }
    Attribute line(Kind::integer, place), column(Kind::integer, place);
    c.expect(":");
    line.integer = c.integer();
    if (c.take(":")) column.integer = c.integer();
    add("file", {Kind::string, place, std::move(name)}), add("line", std::move(line)), add("column", std::move(column));
  } else if (c.take("#")) {
    const std::string name(c.name());
    if (const auto alias = attributes_.find(name); alias != attributes_.end()) {
      spend(size_of(alias->second));
      return alias->second;
    }
    add("alias", {Kind::string, place, name});
  } else if (c.take_name("callsite")) {
    // The innermost line of the program that was written down.
    if (c.take("(")) return read_place(place);
  } else if (c.take_name("fused")) {
    if (c.looking_at("<")) c.balanced();
    if (c.take("[")) return read_place(place);
  }
  return location;
}

std::string AttributeReader::read_location_name() {
  if (!c.looking_at_name("loc")) return {};
  const Attribute location = read_attribute();
  return location.find("name") ? location.find("name")->text : std::string();
}

}  // namespace weft::detail::mlir
