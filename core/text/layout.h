// A document whose lines break where they must: groups print on one line if they fit, else each of their breaks is a line end.
// P. Wadler, "A prettier printer" (1998); C. Lindig, "Strictly pretty" (2000), where only the group itself has to fit.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

class Layout {
 public:
  void text(std::string_view s) { add({Item::text, s.size(), std::string(s)}); }
  /// A line end, or `flat` where the enclosing group fits on its line.
  void brk(std::string_view flat = " ") { add({Item::brk, flat.size(), std::string(flat)}); }
  void begin_nest(std::size_t indent) { items_.push_back({Item::nest, indent, {}}); }
  void end_nest() { items_.push_back({Item::end_nest, 0, {}}); }
  /// A group that `breaks` is never put on one line.
  void begin_group(bool breaks = false);
  void end_group();
  /// A place that takes no room; its line begins with `>` in the result.
  void mark() { items_.push_back({Item::mark, 0, {}}); }
  std::string format(std::size_t width = 80) const;

 private:
  struct Item {
    enum Kind { text, brk, nest, end_nest, group, end_group, mark } kind;
    std::size_t size;  // of the text; the indentation of a nest; a group's width on one line
    std::string s;
  };
  void add(Item item);
  std::vector<Item> items_;
  std::vector<std::size_t> open_;  // groups not yet ended
};

}  // namespace weft::detail
