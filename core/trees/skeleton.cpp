#include "weft/core/trees/skeleton.h"

#include <fmt/core.h>

#include <algorithm>

#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trees/pytree.h"

namespace weft::detail {
namespace {

void collect_paths(const Skeleton& tree, const std::string& prefix, std::vector<std::string>& out) {
  const std::string path = prefix + tree.label;
  if (tree.kind == Skeleton::Kind::leaf) out.push_back(path);
  for (const Skeleton& child : tree.children) collect_paths(child, path, out);
}

std::string kind_of(const Skeleton& s) {
  switch (s.kind) {
    case Skeleton::Kind::leaf: return s.text.empty() ? "an array" : s.text;
    case Skeleton::Kind::fixed: return s.text.empty() ? "a static value" : s.text;
    case Skeleton::Kind::node:
      return s.text.empty() ? fmt::format("a tree of {} {}", s.children.size(), s.children.size() == 1 ? "element" : "elements") : s.text;
  }
  return {};
}

std::string two_kinds(const Skeleton& a, const Skeleton& b, const std::string& path_a, const std::string& path_b) {
  return path_a == path_b ? fmt::format("{} is {}, not {}", path_a, kind_of(b), kind_of(a))
                          : fmt::format("{} is {}, {} is {}", path_a, kind_of(a), path_b, kind_of(b));
}
// How two trees differ; with one name for both, how a tree (b) differs from what it is expected to be (a).
std::string difference(const Skeleton& a, const Skeleton& b, const std::string& path_a, const std::string& path_b) {
  const bool same_name = path_a == path_b;
  if (a.kind == Skeleton::Kind::fixed && b.kind == a.kind && a.text != b.text)
    return two_kinds(a, b, path_a, path_b) +
           " (what is no array is a constant of the program: declare a field that changes, such as a counter, as Array)";
  if (a.kind != b.kind || a.text != b.text || a.children.size() != b.children.size()) return two_kinds(a, b, path_a, path_b);
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    const Skeleton &x = a.children[i], &y = b.children[i];
    if (x.label != y.label)
      return same_name ? fmt::format("{} has {}, not {}", path_a, y.label, x.label)
                       : fmt::format("{} has {}, {} has {}", path_a, x.label, path_b, y.label);
    if (std::string d = difference(x, y, path_a + x.label, path_b + y.label); !d.empty()) return d;
  }
  return {};
}

}  // namespace

std::size_t Skeleton::num_leaves() const {
  std::size_t n = kind == Kind::leaf ? 1 : 0;
  for (const Skeleton& child : children) n += child.num_leaves();
  return n;
}

std::string describe_number(double v) { return fmt::format("{}", v); }
std::string describe_text(std::string_view s) { return fmt::format("\"{}\"", s); }
std::string describe_alternative(std::size_t i) { return fmt::format("alternative {} of its variant", i); }
std::string label_of_position(std::size_t i) { return fmt::format("[{}]", i); }
std::string label_of_number(std::int64_t i) { return fmt::format("[{}]", i); }
std::string label_of_key(std::string_view key) { return fmt::format("[\"{}\"]", key); }
std::string label_of_field(std::string_view name) { return fmt::format(".{}", name); }
std::string label_of_field(std::string_view names, std::size_t i) {
  for (; i > 0; --i) names.remove_prefix(std::min(names.find(',') + 1, names.size()));
  names = names.substr(0, names.find(','));
  while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
  while (!names.empty() && names.back() == ' ') names.remove_suffix(1);
  return label_of_field(names);
}

std::vector<std::string> leaf_paths(const Skeleton& tree) {
  std::vector<std::string> out;
  collect_paths(tree, {}, out);
  return out;
}

std::string structure_difference(const Skeleton& a, const Skeleton& b) { return difference(a, b, a.label, b.label); }

void throw_structure_mismatch(const std::string& what, const Skeleton& a, const Skeleton& b, SourceLoc loc) {
  const std::string d = structure_difference(a, b);
  throw PytreeError(fmt::format("{}: trees of different structure: {}", what, d.empty() ? "their static fields are not equal" : d), loc);
}

void throw_too_deep() {
  throw PytreeError(
      fmt::format("a pytree is more than {} levels deep, or its pointers lead in a circle; keep a long chain in a vector", kMaxTreeDepth),
      effective_loc({}));
}
void throw_valueless() {
  throw PytreeError("a std::variant in a pytree holds nothing, as an exception was thrown while it was assigned to");
}

void sort_pointers(std::vector<const void*>& pointers, bool (*less)(const void* a, const void* b)) {
  std::sort(pointers.begin(), pointers.end(), less);
}

}  // namespace weft::detail
