// The types of gradients and Jacobians.
#pragma once
#include "weft/core/trees/pytree.h"

// An overload that says how the numbers of arguments are given.
#define WEFT_NUMBERS_OF_ARGUMENTS(name)                                                                                      \
  template <class F, std::same_as<int> I>                                                                                    \
  void name(F, I) {                                                                                                          \
    static_assert(!sizeof(F), "weft: the numbers of arguments are template arguments: " #name "<1>(f), " #name "<0, 2>(f)"); \
  }

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

/// The position i as one of `rows`. Throws ShapeError where i is out of range, or where `expected` isn't the number of rows.
std::size_t checked_row(std::int64_t i, std::size_t expected, std::size_t rows);

}  // namespace weft::detail
namespace weft {

/// The Jacobian of a function that gives a struct with respect to a struct or tuple: for each array of the result an In of its derivatives,
/// `jacobian[&Out::weight].bias`, or by the array's number, `jacobian[0].bias`.
template <class Out, class In>
struct StructJacobian {
  std::vector<In> rows;  ///< of each array of the result, in order
  const In& operator[](detail::WholeNumber auto i) const { return rows[detail::checked_row(Int(i), rows.size(), rows.size())]; }
  const In& operator[](Array Out::* array) const {
    const Out prototype{};
    std::int64_t count = 0, at = 0;
    detail::for_each_leaf(prototype, [&](const Array& x) {
      if (&x == &(prototype.*array)) at = count;
      ++count;
    });
    return rows[detail::checked_row(at, static_cast<std::size_t>(count), rows.size())];
  }
};
}  // namespace weft
namespace weft::detail {

/// The type of a Jacobian: Out with each Array replaced by an In.
template <class Out, class In>
struct Jacobian {
  using type = std::conditional_t<std::is_same_v<In, Array>, Out, StructJacobian<Out, In>>;
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
  else if constexpr (std::is_same_v<In, Array>)
    return map_leaves(out, [&](const Array&) { return leaves[next++]; });
  else {
    StructJacobian<Out, In> jacobian;
    for_each_leaf(out, [&](const Array& leaf) { jacobian.rows.push_back(make_jacobian(leaf, in, leaves, next)); });
    return jacobian;
  }
}

}  // namespace weft::detail
