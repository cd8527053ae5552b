// Whether a text is XML as far as pictures go: elements closed in order, attributes quoted, no character that XML has no place for.
#pragma once
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// What is wrong, empty if nothing is.
inline std::string xml_problem(std::string_view text) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '&') {
      const std::size_t end = text.find(';', i);
      if (end == std::string_view::npos || end - i > 8) return "a bare &";
      i = end + 1;
      continue;
    }
    if (c == '>') return "a bare >";
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') return "a control character";
    if (c != '<') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    char quote = 0;
    for (; end < text.size() && (quote || text[end] != '>'); ++end) {
      if (text[end] == '<') return "a < within a tag";
      if (quote ? text[end] == quote : (text[end] == '"' || text[end] == '\'')) quote = quote ? 0 : text[end];
    }
    if (end >= text.size()) return "a tag without an end";
    const std::string_view tag = text.substr(i + 1, end - i - 1);
    const bool closing = tag.starts_with("/"), empty = tag.ends_with("/");
    std::string name;
    for (const char n : tag.substr(closing)) {
      if (!std::isalnum(static_cast<unsigned char>(n))) break;
      name += n;
    }
    if (closing) {
      if (open.empty() || open.back() != name) return "an end of " + name + " that is not open";
      open.pop_back();
    } else {
      if (open.empty() && ++roots > 1) return "a second root";
      if (!empty) open.push_back(name);
    }
    i = end + 1;
  }
  return open.empty() && roots == 1 ? "" : "an element without an end";
}

/// How often a part occurs.
inline int count_of(std::string_view text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

}  // namespace weft::test
