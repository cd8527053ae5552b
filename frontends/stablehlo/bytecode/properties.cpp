// Reading properties (see properties.h).
#include "weft/frontends/stablehlo/bytecode/properties.h"

#include <fmt/format.h>

namespace weft::detail::mlir {
namespace {

// Since this version of the format, lengths of operands' parts stand as numbers behind the attributes; before, as an attribute at the
// front.
constexpr std::uint64_t kNativeSegments = 6;

/// Numbers, most of which may be zero: all of them, or pairs of a position and a number in one.
Attribute read_sparse_numbers(Bytes& b, std::size_t count) {
  std::vector<std::int64_t> numbers(count, 0);
  bool sparse = false;
  const std::uint64_t n = b.varint_with_flag(sparse);
  if (n > count) b.fail("there are more lengths of parts than parts");
  if (n > 0 && !sparse) {
    for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<std::int64_t>(b.varint());
  } else if (n > 0) {
    const std::uint64_t width = b.varint();
    if (width > 32) b.fail("a part's number has more than 32 bits");
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t both = b.varint(), at = both & ((std::uint64_t{1} << width) - 1);
      if (at >= count) b.fail("there is a length for a part that does not exist");
      numbers[static_cast<std::size_t>(at)] = static_cast<std::int64_t>(both >> width);
    }
  }
  Attribute list = make_attribute(Attribute::Kind::list, b);
  for (const std::int64_t v : numbers) list.items.push_back(make_integer(b, v));
  return list;
}

/// Whether the layout fits. What it gives is added to the dictionary only then.
bool read_by(Table& t, Bytes b, std::string_view layout, std::uint64_t version, Attribute& dictionary) {
  Attribute found(Attribute::Kind::dictionary, b.place());
  while (!layout.empty()) {
    const std::size_t end = std::min(layout.find(' '), layout.size());
    std::string_view name = layout.substr(0, end);
    layout.remove_prefix(std::min(end + 1, layout.size()));
    if (b.empty()) return false;
    if (const std::size_t sign = name.find('#'); sign != std::string_view::npos) {
      const auto count = static_cast<std::size_t>(name[sign + 1] - '0');
      found.keys.emplace_back(name.substr(0, sign));
      found.items.push_back(version >= kNativeSegments ? read_sparse_numbers(b, count) : t.copy(b));
    } else if (name.back() == '?') {
      const Attribute* const a = t.optional_attribute(b);
      if (!a) continue;
      t.spend(1 + a->items.size(), b);
      found.keys.emplace_back(name.substr(0, name.size() - 1));
      found.items.push_back(*a);
    } else {
      found.keys.emplace_back(name);
      found.items.push_back(t.copy(b));
    }
  }
  if (!b.empty()) return false;
  for (std::size_t i = 0; i < found.keys.size(); ++i) {
    dictionary.keys.push_back(std::move(found.keys[i]));
    dictionary.items.push_back(std::move(found.items[i]));
  }
  return true;
}

}  // namespace

void read_properties(Table& t, Bytes properties, std::string_view dialect, std::string_view name, std::uint64_t version,
                     Attribute& dictionary) {
  const std::span<const OperationLayout> layouts = layouts_of(dialect, name);
  if (layouts.empty()) properties.fail(fmt::format("the properties of {}.{} are not known", dialect, name));
  for (const OperationLayout& layout : layouts.first(layouts.size() - 1)) {
    try {
      if (read_by(t, properties, layout.properties, version, dictionary)) return;
    } catch (const Error&) {
      // An older layout may fit; what is wrong with the last one is said.
    }
  }
  if (!read_by(t, properties, layouts.back().properties, version, dictionary))
    properties.fail(fmt::format("the properties of {}.{} are not the parts `{}`", dialect, name, layouts.back().properties));
}

}  // namespace weft::detail::mlir
