// Functions of pytrees that name each leaf by its path, and reductions over leaves.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "weft/core/trees/skeleton.h"
#include "weft/core/trees/tree.h"

namespace weft::tree {

/// The arrays of a tree, each with its path: `.layers[0].w` for a field of a struct in a vector in a field.
template <class T>
std::vector<std::pair<std::string, Array>> leaves_with_path(const T& t) {
  const auto& traced = detail::to_traced(t);
  const std::vector<std::string> paths = detail::leaf_paths(detail::skeleton_of(traced));
  std::vector<std::pair<std::string, Array>> out;
  std::size_t k = 0;
  for (const Array& leaf : detail::leaves_of(traced)) out.emplace_back(paths[k++], leaf);
  return out;
}
/// A tree of f(path, leaf) for each leaf: to treat biases otherwise than weights, or to say which gradient is not finite.
template <class F, class T>
detail::traced_t<T> map_with_path(F f, const T& t) {
  const auto& traced = detail::to_traced(t);
  const std::vector<std::string> paths = detail::leaf_paths(detail::skeleton_of(traced));
  std::size_t k = 0;
  return detail::map_leaves(traced, [&](const Array& leaf) -> Array { return f(paths[k++], leaf); });
}
/// All leaves combined from the first to the last: f(f(init, leaf 0), leaf 1), ...
template <class F, class T, class Init>
detail::traced_t<Init> reduce(F f, const T& t, const Init& init) {
  detail::traced_t<Init> out = detail::to_traced(init);
  for (const Array& leaf : leaves(t)) out = f(std::move(out), leaf);
  return out;
}

/// f(f(leaf 0, leaf 1), leaf 2), ... of a tree that has leaves.
template <class F = BinaryFunction, class T>
Array reduce(F f, const T& t, SourceLoc loc = SourceLoc::here()) {
  const std::vector<Array> all = leaves(t);
  if (all.empty()) detail::throw_leaf_count(1, 0, loc);
  Array out = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) out = f(std::move(out), all[i]);
  return out;
}

}  // namespace weft::tree
