#include "weft/core/text/layout.h"

namespace weft::detail {
namespace {
constexpr std::size_t kNeverFits = std::size_t{1} << 40;
}

void Layout::add(Item item) {
  for (const std::size_t g : open_) items_[g].size += item.size;
  items_.push_back(std::move(item));
}

void Layout::begin_group(bool breaks) {
  open_.push_back(items_.size());
  items_.push_back({Item::group, breaks ? kNeverFits : 0, {}});
}

void Layout::end_group() {
  open_.pop_back();
  items_.push_back({Item::end_group, 0, {}});
}

std::string Layout::format(std::size_t width) const {
  std::string out;
  std::size_t line_begin = 0, indent = 0;
  std::vector<std::size_t> nests, marked_lines;
  std::vector<bool> flat{false};
  for (const Item& item : items_) switch (item.kind) {
      case Item::text: out += item.s; break;
      case Item::brk:
        if (flat.back()) {
          out += item.s;
        } else {
          out += '\n';
          line_begin = out.size();
          out.append(indent, ' ');
        }
        break;
      case Item::nest:
        nests.push_back(item.size);
        indent += item.size;
        break;
      case Item::end_nest:
        indent -= nests.back();
        nests.pop_back();
        break;
      case Item::group: flat.push_back(flat.back() || out.size() - line_begin + item.size <= width); break;
      case Item::end_group: flat.pop_back(); break;
      case Item::mark: marked_lines.push_back(line_begin); break;
    }
  for (const std::size_t at : marked_lines)
    if (at < out.size() && out[at] == ' ') out[at] = '>';
  return out;
}

}  // namespace weft::detail
