// Functions of pytrees: map, flatten, structures.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/trees/pytree.h"

namespace weft {

namespace detail {
[[noreturn]] void throw_leaf_count(std::size_t wanted, std::size_t given, SourceLoc loc);
std::string label_of_tree(std::size_t k);
Array ravel_leaves(const std::vector<Array>& leaves, SourceLoc loc);
std::vector<Array> unravel_leaves(const Array& flat, const std::vector<Aval>& avals, SourceLoc loc);
/// Says in the Error that is being handled, if it is one, at which leaf tree::map's function was called.
void name_leaf(const Skeleton& tree, std::size_t leaf);
bool leaves_close(const std::vector<Array>& a, const std::vector<Array>& b, double rtol, double atol);

/// f of the corresponding leaves of trees of one type and structure.
template <class F, class T, class... Rest>
T map_trees(F& f, [[maybe_unused]] SourceLoc loc, const T& first, const Rest&... rest) {
  static_assert((std::is_same_v<T, Rest> && ...), "weft: tree::map's trees have one type");
  static_assert(std::is_convertible_v<decltype(f(std::declval<Array>(), leaves_of(rest)[0]...)), Array>,
                "weft: tree::map's function returns an Array");
  [[maybe_unused]] std::size_t k = 0;
  std::size_t next = 0;
  (check_same_structure("tree::map", first, label_of_tree(0), rest, label_of_tree(++k), loc), ...);
  return [&](const auto&... others) {
    return map_leaves(first, [&](const Array& x) -> Array {
      const std::size_t i = next++;
      try {
        return f(x, others[i]...);
      } catch (...) {
        name_leaf(skeleton_of(first, sizeof...(rest) ? label_of_tree(0) : "the tree"), i);
        throw;
      }
    });
  }(leaves_of(rest)...);
}
}  // namespace detail

/// Functions on pytrees as values (jax.tree).
namespace tree {

/// A tree's structure: container sizes, map keys and static fields, without the leaves.
template <class T>
class TreeDef {
 public:
  explicit TreeDef(const T& prototype) : prototype_(detail::without_leaves(prototype)) {}
  /// The number of arrays in such a tree.
  int num_leaves() const {
    int n = 0;
    detail::for_each_leaf(prototype_, [&](const Array&) { ++n; });
    return n;
  }
  friend bool operator==(const TreeDef& a, const TreeDef& b) { return detail::same_structure(a.prototype_, b.prototype_); }
  /// For the library.
  const T& prototype() const { return prototype_; }

 private:
  T prototype_;
};

/// A tree of f of each leaf, or of the corresponding leaves of up to seven trees of one structure. Throws PytreeError if they differ
/// in more than their leaves.
template <class F = UnaryFunction, class T>
detail::traced_t<T> map(F f, const T& t, SourceLoc loc = SourceLoc::here()) {
  return detail::map_trees(f, loc, detail::to_traced(t));
}
template <class F = BinaryFunction, class T, class U>
detail::traced_t<T> map(F f, const T& t, const U& u, SourceLoc loc = SourceLoc::here()) {
  return detail::map_trees(f, loc, detail::to_traced(t), detail::to_traced(u));
}
template <class F, class T, class U, class V>
detail::traced_t<T> map(F f, const T& t, const U& u, const V& v, SourceLoc loc = SourceLoc::here()) {
  return detail::map_trees(f, loc, detail::to_traced(t), detail::to_traced(u), detail::to_traced(v));
}
template <class F, class T, class U, class V, class W>
detail::traced_t<T> map(F f, const T& t, const U& u, const V& v, const W& w, SourceLoc loc = SourceLoc::here()) {
  return detail::map_trees(f, loc, detail::to_traced(t), detail::to_traced(u), detail::to_traced(v), detail::to_traced(w));
}
template <class F, class T, class U, class V, class W, class X>
detail::traced_t<T> map(F f, const T& t, const U& u, const V& v, const W& w, const X& x, SourceLoc loc = SourceLoc::here()) {
  using detail::to_traced;
  return detail::map_trees(f, loc, to_traced(t), to_traced(u), to_traced(v), to_traced(w), to_traced(x));
}
template <class F, class T, class U, class V, class W, class X, class Y>
detail::traced_t<T> map(F f, const T& t, const U& u, const V& v, const W& w, const X& x, const Y& y, SourceLoc loc = SourceLoc::here()) {
  using detail::to_traced;
  return detail::map_trees(f, loc, to_traced(t), to_traced(u), to_traced(v), to_traced(w), to_traced(x), to_traced(y));
}
template <class F, class T, class U, class V, class W, class X, class Y, class Z>
detail::traced_t<T> map(F f, const T& t, const U& u, const V& v, const W& w, const X& x, const Y& y, const Z& z,
                        SourceLoc loc = SourceLoc::here()) {
  using detail::to_traced;
  return detail::map_trees(f, loc, to_traced(t), to_traced(u), to_traced(v), to_traced(w), to_traced(x), to_traced(y), to_traced(z));
}
/// The arrays of a tree, in order: fields as declared, map entries by key.
inline std::vector<Array> leaves(const auto& t) { return detail::leaves_of(detail::to_traced(t)); }
template <class T>
TreeDef<detail::traced_t<T>> structure(const T& t) {
  return TreeDef<detail::traced_t<T>>(detail::to_traced(t));
}
/// The leaves and the structure: `auto [leaves, def] = tree::flatten(t)`, and back by `tree::unflatten(def, leaves)`.
template <class T>
std::pair<std::vector<Array>, TreeDef<detail::traced_t<T>>> flatten(const T& t) {
  return {leaves(t), structure(t)};
}
/// Throws PytreeError if the number of leaves is not the structure's.
template <class T>
T unflatten(const TreeDef<T>& def, const std::vector<Array>& leaves, SourceLoc loc = SourceLoc::here()) {
  const auto wanted = static_cast<std::size_t>(def.num_leaves());
  if (leaves.size() != wanted) detail::throw_leaf_count(wanted, leaves.size(), loc);
  return detail::with_leaves(def.prototype(), std::span<const Array>(leaves));
}

/// Makes a tree of one flat vector: what tree::ravel returns.
template <class T>
class Unravel {
 public:
  Unravel(const T& prototype, std::vector<detail::Aval> avals) : prototype_(detail::without_leaves(prototype)), avals_(std::move(avals)) {}
  T operator()(const Array& flat, SourceLoc loc = SourceLoc::here()) const {
    return detail::with_leaves(prototype_, std::span<const Array>(detail::unravel_leaves(flat, avals_, loc)));
  }

 private:
  T prototype_;
  std::vector<detail::Aval> avals_;
};
/// All leaves in one vector of their common dtype, and the function that makes the tree again (jax.flatten_util.ravel_pytree).
template <class T>
std::pair<Array, Unravel<detail::traced_t<T>>> ravel(const T& t, SourceLoc loc = SourceLoc::here()) {
  const auto& u = detail::to_traced(t);
  const std::vector<Array> leaves = detail::leaves_of(u);
  std::vector<detail::Aval> avals;
  for (const Array& x : leaves) avals.push_back(x.aval());
  return {detail::ravel_leaves(leaves, loc), Unravel<detail::traced_t<T>>(u, std::move(avals))};
}

/// Whether two trees have one structure and everywhere |a - b| <= atol + rtol |b|. Shapes must be equal, dtypes need not; NaN is close to
/// nothing.
template <class T>
bool all_close(const T& a, const T& b, double rtol = 1e-5, double atol = 1e-6) {
  const auto &x = detail::to_traced(a), &y = detail::to_traced(b);
  return detail::same_structure(x, y) && detail::leaves_close(detail::leaves_of(x), detail::leaves_of(y), rtol, atol);
}
bool all_close(const Array& a, const Array& b, double rtol = 1e-5, double atol = 1e-6);

}  // namespace tree
}  // namespace weft
