// The user's sorts, searches and choices of the largest.
#pragma once
#include <concepts>
#include <optional>
#include <string>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft {

// Sorting and searching. Numbers ascend, NaN comes last, -0 equals 0; equal elements keep their order.

/// Options of sort and argsort.
struct SortOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = std::vector<int>();  ///< along which, where no axis is an argument; none: of the flattened array; absent: the last one
  bool stable = true;              ///< both ways are stable
  bool descending = false;         ///< the largest first, after NaN; equal elements keep their order
};
/// x sorted along an axis, by `none` the flattened x.
Array sort(Arg x, AxisNumber axis, SortOptions options = {});
inline Array sort(Arg x) { return sort(std::move(x), -1); }
Array sort(Arg x, SortOptions options);
Array sort(Arg x, detail::NoneValue auto, SortOptions options = {}) { return options.axis = none, sort(std::move(x), options); }
/// The positions, as int32, that would sort x along an axis, by `none` the flattened x: `take_along_axis(x, argsort(x), -1)` is sorted.
Array argsort(Arg x, AxisNumber axis, SortOptions options = {});
inline Array argsort(Arg x) { return argsort(std::move(x), -1); }
Array argsort(Arg x, SortOptions options);
Array argsort(Arg x, detail::NoneValue auto, SortOptions options = {}) { return options.axis = none, argsort(std::move(x), options); }
/// Result of top_k.
struct TopK {
  Array values;   ///< the elements
  Array indices;  ///< where they were, int32
};
/// Options of top_k.
struct TopKOptions {
  AxisNumber axis = -1;  ///< along which
};
/// The k largest elements along an axis, largest first, and their positions (int32); of equal ones the first comes first.
TopK top_k(Arg x, Int k, TopKOptions options);
inline TopK top_k(Arg x, Int k) { return top_k(std::move(x), k, {}); }

struct SearchOptions {
  std::string side = "left";  ///< "left": before equal elements, "right": after them
};
/// For each element of v the position (int32) where it is to be inserted into `sorted`, of one dimension, so that it stays sorted.
Array searchsorted(Arg sorted, Arg v, SearchOptions options = {});
Array searchsorted(Arg sorted, Arg v, std::convertible_to<std::string> auto side) {
  return searchsorted(std::move(sorted), std::move(v), SearchOptions{side});
}

struct UniqueOptions {
  Int size = 0;                          ///< of the result; 0: as many as there are, which takes x's value
  std::optional<Array> fill_value = {};  ///< is behind if there are fewer; default: the smallest element
};
/// The different elements of x, sorted; of more than `size`, the smallest.
Array unique(Arg x, UniqueOptions options);
inline Array unique(Arg x) { return unique(std::move(x), {}); }

struct BincountOptions {
  std::optional<Array> weights = {};  ///< added up in place of ones; of x's shape
  Int minlength = 0;                  ///< the least size of the result where no length is given
  std::optional<Int> length = {};     ///< of the result; larger numbers are left out. Absent: the largest number + 1, which takes x's value
};
/// How often each of 0, 1, ... occurs in x, of integers and one dimension; negative numbers count as 0.
Array bincount(Arg x, BincountOptions options);
inline Array bincount(Arg x) { return bincount(std::move(x), {}); }
/// The same of a length: `bincount(x, 10)`.
Array bincount(Arg x, detail::WholeNumber auto length) { return bincount(std::move(x), BincountOptions{.length = length}); }
/// The same with weights as the second argument, as in jax.numpy: `bincount(x, w)`.
Array bincount(Arg x, const std::same_as<Array> auto& weights, BincountOptions options = {}) {
  options.weights = weights;
  return bincount(std::move(x), std::move(options));
}

}  // namespace weft
