// Trees of arrays as text: structs print with the names of their fields.
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "weft/core/base/fmt_formatter.h"
#include "weft/core/trees/tree.h"

namespace weft {

namespace detail {

/// The tree with its arrays; without any, a `*` for each leaf. In one line where it fits into 100 columns and no array takes more.
std::string tree_text(const Skeleton& tree, const std::vector<Array>& leaves);
std::ostream& write_text(std::ostream& os, const std::string& text);

template <class T>
constexpr bool prints_as_tree() {
  if constexpr (!std::is_class_v<T> || std::is_empty_v<T>)
    return false;
  else if constexpr (named_in_std<T>())
    return holds_arrays<false, T>();
  else if constexpr (requires(const T& t) { t.begin(); })  // a range prints as one, by <fmt/ranges.h>
    return false;
  else if constexpr (tree_kind<T> == TreeKind::fields)
    return holds_arrays<false, T>();
  else
    return false;
}
/// A struct or a container of the standard library with arrays somewhere, or a class that names its fields by WEFT_PYTREE.
template <class T>
concept PrintedTree = prints_as_tree<T>();

}  // namespace detail

namespace tree {
/// Any tree as text: structs and maps in braces with the names of their fields and their keys, other containers in brackets, arrays as
/// NumPy prints them. Each array that takes several lines begins a line.
std::string to_string(const auto& t) {
  const auto& traced = detail::to_traced(t);
  return detail::tree_text(detail::skeleton_of(traced), detail::leaves_of(traced));
}
template <class T>
std::string to_string(const TreeDef<T>& def) {
  return detail::tree_text(detail::skeleton_of(def.prototype()), {});
}
}  // namespace tree

namespace detail {
struct TreeFormatter : TextFormatter {
  auto format(const auto& t, auto& ctx) const { return write(tree::to_string(t), ctx.out()); }
};
}  // namespace detail

/// A tree of arrays, a struct with the names of its fields: `{w: [1. 2.], b: 3.0}`.
std::ostream& operator<<(std::ostream& os, const detail::PrintedTree auto& t) { return detail::write_text(os, tree::to_string(t)); }

}  // namespace weft

/// `fmt::format("{}", params)`: a tree of arrays, such as a struct, a pair or a list, as tree::to_string gives it.
template <weft::detail::PrintedTree T>
struct fmt::formatter<T, char, void> : weft::detail::TreeFormatter {};
// <fmt/ranges.h>, where it is included, has formatters of its own for pairs and containers; they ask these.
namespace fmt {
inline namespace WEFT_FMT_NAMESPACE {
template <typename T>
struct is_tuple_like;
template <typename T, typename Char>
struct is_range;
}  // namespace WEFT_FMT_NAMESPACE
}  // namespace fmt
template <weft::detail::PrintedTree T>
struct fmt::is_tuple_like<T> : std::false_type {};
template <weft::detail::PrintedTree T>
struct fmt::is_range<T, char> : std::false_type {};
/// A tree's structure: a `*` for each array.
template <class T>
struct fmt::formatter<weft::tree::TreeDef<T>, char, void> : weft::detail::TreeFormatter {};
