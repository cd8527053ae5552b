// Arithmetic of whole trees: what optimizers and solvers do with parameters and gradients (optax.tree).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/trees/tree.h"

namespace weft {

namespace detail {
Array sum_of_leaves(std::span<const Array> leaves, SourceLoc loc);
/// The sum of the products of corresponding leaves, the first one conjugated.
Array product_of_leaves(std::span<const Array> a, std::span<const Array> b, SourceLoc loc);
Array all_of_leaves(std::span<const Array> leaves, SourceLoc loc);
Array norm_of_leaves(std::span<const Array> leaves, SourceLoc loc);
/// The leaves of each tree at one place, stacked. Throws PytreeError where there is no tree.
std::vector<Array> stacked_leaves(std::span<const std::vector<Array>> trees, SourceLoc loc);
Array filled_leaf(const Array& like, const Arg& value);
Array added_leaf(const Array& a, const Array& b, SourceLoc loc);
Array subtracted_leaf(const Array& a, const Array& b, SourceLoc loc);
Array scaled_leaf(const Array& x, const Arg& factor);
}  // namespace detail

/// Waits until the arrays of a tree are computed, and returns the tree (jax.block_until_ready).
template <class T>
const T& block_until_ready(const T& t) {
  for (const Array& x : tree::leaves(t)) x.block_until_ready();
  return t;
}

namespace tree {

/// A tree with the structure, shapes and dtypes of t, of zeros, ones or one value.
template <class T>
detail::traced_t<T> full_like(const T& t, Arg value) {
  return map([&](const Array& x) { return detail::filled_leaf(x, value); }, t, value.where());
}
template <class T>
detail::traced_t<T> zeros_like(const T& t, SourceLoc loc = SourceLoc::here()) {
  return full_like(t, Arg(0, loc));
}
template <class T>
detail::traced_t<T> ones_like(const T& t, SourceLoc loc = SourceLoc::here()) {
  return full_like(t, Arg(1, loc));
}
/// The number of elements of all leaves together, of a model its parameters.
template <class T>
std::int64_t size(const T& t) {
  std::int64_t n = 0;
  for (const Array& x : leaves(t)) n += x.size();
  return n;
}
/// Whether all elements of all leaves are true (jax.tree.all).
inline Array all(const auto& t, SourceLoc loc = SourceLoc::here()) { return detail::all_of_leaves(leaves(t), loc); }
/// The sum of all elements of all leaves.
inline Array sum(const auto& t, SourceLoc loc = SourceLoc::here()) { return detail::sum_of_leaves(leaves(t), loc); }
/// The sum of the products of corresponding elements of two trees of one structure; those of the first are conjugated.
template <class T>
Array vdot(const T& a, const T& b, SourceLoc loc = SourceLoc::here()) {
  detail::check_same_structure("tree::vdot", detail::to_traced(a), "a", detail::to_traced(b), "b", loc);
  return detail::product_of_leaves(leaves(a), leaves(b), loc);
}
/// The Euclidean norm of all elements together (optax.global_norm).
inline Array norm(const auto& t, SourceLoc loc = SourceLoc::here()) { return detail::norm_of_leaves(leaves(t), loc); }
/// The sum and the difference of two trees of one structure, leaf by leaf.
template <class T>
detail::traced_t<T> add(const T& a, const T& b, SourceLoc loc = SourceLoc::here()) {
  return map([&](const Array& x, const Array& y) { return detail::added_leaf(x, y, loc); }, a, b, loc);
}
template <class T>
detail::traced_t<T> sub(const T& a, const T& b, SourceLoc loc = SourceLoc::here()) {
  return map([&](const Array& x, const Array& y) { return detail::subtracted_leaf(x, y, loc); }, a, b, loc);
}
/// Each leaf times a number, in the leaf's dtype: `tree::scale(0.1, gradient)`.
template <class T>
detail::traced_t<T> scale(Arg factor, const T& t) {
  return map([&](const Array& x) { return detail::scaled_leaf(x, factor); }, t, factor.where());
}
/// Trees of one structure as one tree, whose leaves are theirs stacked along a new leading axis: for vmap, and for scan over layers.
template <class T>
detail::traced_t<T> stack(const std::vector<T>& trees, SourceLoc loc = SourceLoc::here()) {
  std::vector<std::vector<Array>> all;
  for (std::size_t k = 0; k < trees.size(); ++k) {
    if (k > 0)
      detail::check_same_structure("tree::stack", detail::to_traced(trees[0]), detail::label_of_tree(0), detail::to_traced(trees[k]),
                                   detail::label_of_tree(k), loc);
    all.push_back(leaves(trees[k]));
  }
  const std::vector<Array> stacked = detail::stacked_leaves(all, loc);
  return detail::with_leaves(detail::to_traced(trees[0]), std::span<const Array>(stacked));
}
/// Tolerances of tree::allclose.
struct AllcloseOptions {
  double rtol = 1e-5;  ///< relative to b
  double atol = 1e-6;  ///< added to that
};
/// The same as all_close, with tolerances by name: `tree::allclose(a, b, {.rtol = 1e-3})`.
template <class T>
bool allclose(const T& a, const T& b, AllcloseOptions options = {}) {
  return all_close(a, b, options.rtol, options.atol);
}

}  // namespace tree
}  // namespace weft
