// jax.tree_util's names of the functions on trees.
#pragma once
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/trees/tree.h"
#include "weft/core/trees/tree_math.h"
#include "weft/core/trees/tree_paths.h"

namespace weft {

/// jax.tree_util: the functions of `tree::` with the prefix that they have there.
namespace tree_util {

/// tree::map(f, t, rest...): a tree of f of each leaf.
template <class F = UnaryFunction, class T>
detail::traced_t<T> tree_map(F f, const T& t, SourceLoc loc = SourceLoc::here()) {
  return tree::map(std::move(f), t, loc);
}
template <class F = BinaryFunction, class T, class U>
detail::traced_t<T> tree_map(F f, const T& t, const U& u, SourceLoc loc = SourceLoc::here()) {
  return tree::map(std::move(f), t, u, loc);
}
inline auto tree_map(auto f, const auto& t, const auto& u, const auto& v, SourceLoc loc = SourceLoc::here()) {
  return tree::map(std::move(f), t, u, v, loc);
}
inline auto tree_map(auto f, const auto& t, const auto& u, const auto& v, const auto& w, SourceLoc loc = SourceLoc::here()) {
  return tree::map(std::move(f), t, u, v, w, loc);
}
/// tree::leaves(t): the arrays of a tree.
inline std::vector<Array> tree_leaves(const auto& t) { return tree::leaves(t); }
/// tree::ravel(t): all leaves in one vector, and the function that makes the tree again.
inline auto ravel_pytree(const auto& t, SourceLoc loc = SourceLoc::here()) { return tree::ravel(t, loc); }
/// tree::structure(t).
inline auto tree_structure(const auto& t) { return tree::structure(t); }
/// tree::flatten(t): the leaves and the structure.
inline auto tree_flatten(const auto& t) { return tree::flatten(t); }
/// tree::unflatten(def, leaves): the tree of these leaves.
template <class T>
T tree_unflatten(const tree::TreeDef<T>& def, const std::vector<Array>& leaves, SourceLoc loc = SourceLoc::here()) {
  return tree::unflatten(def, leaves, loc);
}
/// tree::reduce(f, t): f(f(leaf 0, leaf 1), leaf 2), ...
template <class F = BinaryFunction, class T>
Array tree_reduce(F f, const T& t, SourceLoc loc = SourceLoc::here()) {
  return tree::reduce(std::move(f), t, loc);
}
/// tree::reduce(f, t, init): f(f(init, leaf 0), leaf 1), ...
template <class F, class T, class Init>
  requires(!std::is_same_v<Init, SourceLoc>)
auto tree_reduce(F f, const T& t, const Init& init) {
  return tree::reduce(std::move(f), t, init);
}
/// tree::leaves_with_path(t): the arrays of a tree with their paths.
inline auto tree_leaves_with_path(const auto& t) { return tree::leaves_with_path(t); }
/// tree::map_with_path(f, t): a tree of f(path, leaf).
template <class F, class T>
detail::traced_t<T> tree_map_with_path(F f, const T& t) {
  return tree::map_with_path(std::move(f), t);
}
/// Whether all elements of all leaves are other than 0: one bool.
inline Array tree_all(const auto& t, SourceLoc loc = SourceLoc::here()) { return detail::all_of_leaves(tree::leaves(t), loc); }

}  // namespace tree_util

using tree_util::ravel_pytree, tree_util::tree_all, tree_util::tree_flatten, tree_util::tree_leaves, tree_util::tree_leaves_with_path,
    tree_util::tree_map, tree_util::tree_map_with_path, tree_util::tree_reduce, tree_util::tree_structure, tree_util::tree_unflatten;

}  // namespace weft
