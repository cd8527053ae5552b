// The types of gradients and Jacobians.
#pragma once
#include "weft/core/trees/pytree.h"

namespace weft::detail {

/// The type of grad's result for the arguments numbered N... of Tuple: one gradient, or a tuple of several; argument 0 if N is empty.
template <class Tuple, int... N>
struct Gradient {
  static_assert(((N >= 0 && N < static_cast<int>(std::tuple_size_v<Tuple>)) && ...), "weft: an argument number that the call doesn't have");
  using type = std::tuple<std::tuple_element_t<static_cast<std::size_t>(N), Tuple>...>;
  static_assert((HasArrays<std::tuple_element_t<static_cast<std::size_t>(N), Tuple>>::value && ...),
                "weft: grad of an argument that holds no arrays");
  static constexpr int argnums[] = {N...};
  static type of(const Tuple& params) { return type{as_copy(std::get<static_cast<std::size_t>(N)>(params))...}; }
};
template <class Tuple, int N>
struct Gradient<Tuple, N> {
  static_assert(N >= 0 && N < static_cast<int>(std::tuple_size_v<Tuple>), "weft: an argument number that the call doesn't have");
  using type = std::tuple_element_t<static_cast<std::size_t>(N), Tuple>;
  static_assert(HasArrays<type>::value, "weft: grad of an argument that holds no arrays");
  static constexpr int argnums[] = {N};
  static const type& of(const Tuple& params) { return std::get<static_cast<std::size_t>(N)>(params); }
};
template <class Tuple>
struct Gradient<Tuple> : Gradient<Tuple, 0> {};

/// The type of a Jacobian: Out with each Array replaced by an In.
template <class Out, class In>
struct Jacobian {
  static_assert(std::is_same_v<In, Array>,
                "weft: a Jacobian from a struct to a struct has no C++ type: flatten one of them with tree::ravel");
  using type = Out;
};
template <class In>
struct Jacobian<Array, In> {
  using type = In;
};
template <class Out, class In>
  requires Container<Out>::value
struct Jacobian<Out, In> {
  template <class T>
  using each = typename Jacobian<T, In>::type;
  using type = typename Container<Out>::template map<each>;
};

/// A Jacobian made of its leaves: for each leaf of the result, in order, one for each leaf of the argument.
template <class Out, class In>
typename Jacobian<Out, In>::type make_jacobian(const Out& out, const In& in, std::span<const Array> leaves, std::size_t& next) {
  if constexpr (std::is_same_v<Out, Array>)
    return map_leaves(in, [&](const Array&) { return leaves[next++]; });
  else if constexpr (Container<Out>::value)
    return map_elements<typename Jacobian<Out, In>::type>(out, [&](const auto& e) { return make_jacobian(e, in, leaves, next); });
  else
    return map_leaves(out, [&](const Array&) { return leaves[next++]; });
}

}  // namespace weft::detail
