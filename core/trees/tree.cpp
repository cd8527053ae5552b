#include "weft/core/trees/tree.h"

#include <fmt/core.h>

#include <cmath>
#include <complex>

#include "weft/core/errors/error_context.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

void throw_leaf_count(std::size_t wanted, std::size_t given, SourceLoc loc) {
  throw PytreeError(fmt::format("tree::unflatten: the structure has {} leaves, but {} arrays were given", wanted, given), loc);
}
void name_leaf(const Skeleton& tree, std::size_t leaf) {
  try {
    throw;
  } catch (Error& e) {
    ErrorContext::name_place(e, fmt::format("in tree::map, at {}", leaf_paths(tree)[leaf]));
  } catch (...) {
    // An exception of the user's is passed on as it is.
  }
}
std::string label_of_tree(std::size_t k) { return fmt::format("trees[{}]", k); }

Array ravel_leaves(const std::vector<Array>& leaves, SourceLoc loc) {
  LocScope scope(loc);
  if (leaves.empty()) return fill_shape(make_literal(Number(0.f), float32), Shape{0}, loc);
  DType dtype = leaves[0].dtype();
  for (const Array& x : leaves) dtype = promote_types(dtype, x.dtype());
  std::vector<Array> flat;
  for (const Array& x : leaves) flat.push_back(reshape_to(convert(x, dtype), Shape{x.size()}, loc));
  return flat.size() == 1 ? flat[0] : concatenate_along(flat, 0, loc);
}

std::vector<Array> unravel_leaves(const Array& flat, const std::vector<Aval>& avals, SourceLoc loc) {
  LocScope scope(loc);
  std::int64_t total = 0;
  std::vector<std::int64_t> sizes;
  for (const Aval& a : avals) sizes.push_back(a.size()), total += a.size();
  if (flat.ndim() != 1 || flat.size() != total)
    throw ShapeError(
        fmt::format("unravel: given {}, but the tree has {} numbers in all; give a vector of that length", to_string(flat.aval()), total),
        loc);
  const std::vector<Array> parts = sizes.size() < 2 ? std::vector<Array>(sizes.size(), flat) : split_along(flat, sizes, 0, loc);
  std::vector<Array> out;
  for (std::size_t i = 0; i < avals.size(); ++i) out.push_back(reshape_to(convert(parts[i], avals[i].dtype), avals[i].shape, loc));
  return out;
}

namespace {
template <class T>
bool close(const Array& a, const Array& b, double rtol, double atol) {
  const std::vector<T> x = a.to_vector<T>(), y = b.to_vector<T>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(x[i] == y[i] || std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i]))) return false;
  return true;
}
}  // namespace

bool leaves_close(const std::vector<Array>& a, const std::vector<Array>& b, double rtol, double atol) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape()) return false;
    if (!(a[i].dtype().is_complex() || b[i].dtype().is_complex() ? close<std::complex<double>>(a[i], b[i], rtol, atol)
                                                                 : close<double>(a[i], b[i], rtol, atol)))
      return false;
  }
  return true;
}

}  // namespace weft::detail

bool weft::tree::all_close(const Array& a, const Array& b, double rtol, double atol) { return detail::leaves_close({a}, {b}, rtol, atol); }
