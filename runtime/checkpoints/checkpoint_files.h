// Checkpoints in folders, written by one process or by several.
#pragma once
#include <string>
#include <vector>

#include "weft/runtime/sharded/sharding.h"

namespace weft {

namespace detail {
void save_leaves(const std::string& folder, const std::vector<std::string>& paths, const std::vector<Array>& leaves, SourceLoc loc);
std::vector<Array> load_leaves(const std::string& folder, const std::vector<std::string>& paths, const std::vector<Array>& like,
                               SourceLoc loc);
}  // namespace detail

/// Writes the arrays of a tree into a folder, in place of what was saved there before. Each process writes the parts that it has; all
/// processes call it, and see one file system. The earlier save is removed only when the new one is complete, checksums included: a process
/// that is killed at any moment leaves one of the two whole. An array that is not global must be the same in all processes. Throws IoError
/// if a file can't be written, DistributedError if another process fails.
void save_checkpoint(const std::string& folder, const auto& tree, SourceLoc loc = SourceLoc::here()) {
  const auto arrays = detail::to_traced(tree);
  detail::save_leaves(folder, detail::leaf_paths(detail::skeleton_of(arrays)), detail::leaves_of(arrays), loc);
}
/// The tree that save_checkpoint wrote, with the structure, shapes and dtypes of `like`; each array gets the placement of its counterpart
/// in `like`; the mesh and the number of processes may differ from those that saved. Arrays of `like` may be abstract (ShapeDtypeStruct).
/// Throws IoError if there is no checkpoint, if its structure differs, or if its checksums are wrong.
template <class T>
detail::traced_t<T> load_checkpoint(const std::string& folder, const T& like, SourceLoc loc = SourceLoc::here()) {
  const auto arrays = detail::to_traced(like);
  const std::vector<Array> leaves =
      detail::load_leaves(folder, detail::leaf_paths(detail::skeleton_of(arrays)), detail::leaves_of(arrays), loc);
  return detail::with_leaves<detail::traced_t<T>>(arrays, std::span<const Array>(leaves));
}

}  // namespace weft
