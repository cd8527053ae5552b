// Tree prefixes against trees. Internal.
#pragma once
#include <fmt/core.h>

#include "weft/core/errors/error.h"
#include "weft/core/trees/skeleton.h"

namespace weft::detail {

/// For messages: the operation and the option, "vmap" and "in_axes".
struct PrefixNames {
  std::string operation, option;
  SourceLoc loc;
};

/// Calls `emit(entry)` for each leaf of the tree, in order, with the entry of the prefix that stands for it. P has is_list() and
/// children(). Throws PytreeError where a list has not as many entries as the tree has elements.
template <class P, class Emit>
void resolve_prefix(const P& prefix, const Skeleton& tree, const PrefixNames& names, Emit&& emit, const std::string& above = {}) {
  const std::string path = above + tree.label;
  if (!prefix.is_list()) {
    for (std::size_t n = tree.num_leaves(); n > 0; --n) emit(prefix);
    return;
  }
  const std::vector<P>& entries = prefix.children();
  if (tree.kind == Skeleton::Kind::fixed) return;
  if (tree.kind == Skeleton::Kind::leaf) {
    if (entries.size() != 1)
      throw PytreeError(fmt::format("{}: {} has {} entries for {}, which is one array; give one axis or none", names.operation,
                                    names.option, entries.size(), path),
                        names.loc);
    return resolve_prefix(entries[0], tree, names, emit, above);
  }
  std::vector<const Skeleton*> elements;
  for (const Skeleton& child : tree.children) elements.push_back(&child);
  if (entries.size() != elements.size()) std::erase_if(elements, [](const Skeleton* s) { return s->kind == Skeleton::Kind::fixed; });
  if (entries.size() != elements.size())
    throw PytreeError(fmt::format("{}: {} has {} {} for {}, which {} {} {}; give one for each, or a single one for all", names.operation,
                                  names.option, entries.size(), entries.size() == 1 ? "entry" : "entries", path,
                                  tree.label == "args" ? "are" : "has", elements.size(), elements.size() == 1 ? "element" : "elements"),
                      names.loc);
  for (std::size_t i = 0; i < entries.size(); ++i) resolve_prefix(entries[i], *elements[i], names, emit, path);
}

}  // namespace weft::detail
