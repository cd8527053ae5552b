// The associative operations of reductions and cumulative operations on host elements, for reference values.
#pragma once
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "weft/core/array/storage.h"
#include "weft/core/base/extrema.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ops/elementwise/wrapping.h"

namespace weft::detail {

/// Positions of all elements that differ in the given dimensions only, in row-major order, relative to the first.
std::vector<std::int64_t> offsets_along(const Shape& shape, const std::vector<int>& dims);
/// The dimensions in [0, ndim) that are not in `dims`, ascending.
std::vector<int> other_dims(int ndim, const std::vector<int>& dims);

/// The reduction of no elements. V is the type of computation of elements stored as T.
template <Combiner C, class T, class V = compute_t<T>>
V reduction_identity() {
  if constexpr (C == Combiner::prod) {
    return V(1);
  } else if constexpr (C == Combiner::logsumexp) {
    return -std::numeric_limits<V>::infinity();
  } else if constexpr (C == Combiner::max) {
    if constexpr (is_floating_storage<T>)
      return -std::numeric_limits<V>::infinity();
    else
      return std::numeric_limits<V>::lowest();
  } else if constexpr (C == Combiner::min) {
    if constexpr (is_floating_storage<T>)
      return std::numeric_limits<V>::infinity();
    else
      return std::numeric_limits<V>::max();
  } else if constexpr (C == Combiner::logical_and) {
    return std::is_same_v<V, bool> ? V(1) : static_cast<V>(~std::uint64_t{0});
  } else {
    return V(0);
  }
}

/// Whether the combiner is defined for elements stored as T; types are checked by abstract_eval.
template <Combiner C, class T>
inline constexpr bool combines = (C == Combiner::sum || C == Combiner::prod)  ? !std::is_same_v<T, bool>
                                 : (C == Combiner::max || C == Combiner::min) ? !is_complex_storage<T>
                                 : C == Combiner::logsumexp                   ? is_floating_storage<T>
                                                                              : std::is_integral_v<T>;

template <Combiner C, class V>
V combine(V a, V b) {
  if constexpr (C == Combiner::sum || C == Combiner::prod) {
    if constexpr (std::is_integral_v<V>) {  // through 64 unsigned bits: wraps around
      const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
      return static_cast<V>(C == Combiner::sum ? x + y : x * y);
    } else {
      return C == Combiner::sum ? a + b : wrapping_mul(a, b);
    }
  } else if constexpr (C == Combiner::max) {
    return larger(a, b);
  } else if constexpr (C == Combiner::min) {
    return smaller(a, b);
  } else if constexpr (C == Combiner::logical_and) {
    return static_cast<V>(a & b);
  } else if constexpr (C == Combiner::logical_or) {
    return static_cast<V>(a | b);
  } else if constexpr (C == Combiner::bit_xor) {
    return static_cast<V>(a ^ b);
  } else {
    if (a == b && std::isinf(a)) return a;
    return std::fmax(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  }
}

}  // namespace weft::detail
