#include "weft/core/trees/print_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "weft/core/array/format.h"

namespace weft::detail {
namespace {

constexpr std::size_t kWidth = 100;

/// Text in lines.
using Block = std::vector<std::string>;

Block lines_of(const std::string& text) {
  Block out;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    if (end == text.npos) return out;
    at = end + 1;
  }
}

class TreeText {
 public:
  explicit TreeText(const std::vector<Array>& leaves) : leaves_(leaves) {}

  Block of(const Skeleton& tree) {
    if (tree.kind == Skeleton::Kind::leaf) return leaves_.empty() ? Block{"*"} : lines_of(fmt::format("{}", leaves_[next_++]));
    if (tree.children.empty()) {
      if (!tree.text.empty()) return {tree.text};
      return {tree.kind == Skeleton::Kind::fixed ? "..." : "[]"};
    }
    const bool named = tree.children[0].label.substr(0, 1) == ".", keyed = tree.children[0].label.substr(0, 2) == "[\"";
    std::vector<Block> parts;
    for (const Skeleton& child : tree.children) {
      Block part = of(child);
      // A field `.w` is written `w:`, an entry `["w"]` of a map `"w":`.
      std::string name = named   ? child.label.substr(1) + ": "
                         : keyed ? child.label.substr(1, child.label.size() - 2) + ": "
                                 : std::string();
      for (std::size_t i = 0; i < part.size(); ++i) part[i] = (i == 0 ? name : std::string(name.size(), ' ')) + part[i];
      parts.push_back(std::move(part));
    }
    return bracketed(parts, named || keyed ? "{}" : "[]");
  }

 private:
  static Block bracketed(const std::vector<Block>& parts, const char* brackets) {
    const bool short_parts = std::all_of(parts.begin(), parts.end(), [](const Block& b) { return b.size() == 1; });
    if (short_parts) {
      std::string line(1, brackets[0]);
      for (const Block& b : parts) line += (&b == &parts[0] ? "" : ", ") + b[0];
      line += brackets[1];
      if (line.size() <= kWidth) return {line};
    }
    Block out;
    for (const Block& b : parts)
      for (std::size_t i = 0; i < b.size(); ++i) {
        out.push_back((out.empty() ? std::string(1, brackets[0]) : " ") + b[i]);
        if (i + 1 == b.size()) out.back() += &b == &parts.back() ? brackets[1] : ',';
      }
    return out;
  }

  const std::vector<Array>& leaves_;
  std::size_t next_ = 0;
};

}  // namespace

std::string tree_text(const Skeleton& tree, const std::vector<Array>& leaves) {
  return fmt::format("{}", fmt::join(TreeText(leaves).of(tree), "\n"));
}
std::ostream& write_text(std::ostream& os, const std::string& text) { return os << text; }

}  // namespace weft::detail
