// jvp: forward-mode derivatives.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/transforms/flat.h"

namespace weft {

namespace detail {

struct FlatJvp {
  std::vector<Array> results, tangents;
};
/// `tangents`: one for each leaf; `tangent_paths`: their names in messages.
FlatJvp flat_jvp(FlatFunction& f, std::vector<Array> tangents, const Skeleton& tangent_paths);

/// Zeros, the tangent of an integer array. Throws DTypeError for another one.
Array tangent_of_integer(const Array& primal, SourceLoc loc);
/// The tangents, of which `none` may stand for that of an argument of integers.
template <class... P, class... T>
auto with_tangents_of_integers(const std::tuple<P...>& params, const std::tuple<T...>& given, SourceLoc loc) {
  const auto filled = [&]<class A, class G>(const A& p, const G& g) {
    if constexpr (std::is_same_v<G, None> && HasArrays<A>::value)
      return map_leaves(p, [&](const Array& x) { return tangent_of_integer(x, loc); });
    else
      return g;
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<decltype(filled(std::get<I>(params), std::get<I>(given)))...>(filled(std::get<I>(params), std::get<I>(given))...);
  }(std::index_sequence_for<P...>());
}
/// The tangents as the function's arguments: each has its argument's structure, static ones have none.
template <class Params, class Given>
std::vector<Array> tangent_leaves(const Params& params, const Given& given, SourceLoc loc) {
  static_assert(std::is_convertible_v<Given, tangents_t<Params>>,
                "weft: a tangent has its argument's type, and none stands for a static argument's or an integer's; the primals and the "
                "tangents of several arguments are tuples: jvp(f, std::tuple{x, y}, std::tuple{dx, dy})");
  const tangents_t<Params> tangents(given);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto check = [&]<class P, class T>(const P& p, const T& t, std::size_t i) {
      if constexpr (std::is_same_v<P, T>)
        check_same_structure("jvp", p, "primals" + label_of_position(i), t, "tangents" + label_of_position(i), loc);
    };
    (check(std::get<I>(params), std::get<I>(tangents), I), ...);
  }(std::make_index_sequence<std::tuple_size_v<Params>>());
  return leaves_of(tangents);
}

template <class F, class... A>
struct JvpCall {
  FlatCall<F, A...> flat;
  FlatJvp result;
  template <class... T>
  JvpCall(F& f, const std::tuple<A...>& primals, const std::tuple<T...>& tangents, SourceLoc loc)
      : flat(std::apply([&](const A&... a) { return FlatCall<F, A...>(f, loc, a...); }, primals)) {
    static_assert(sizeof...(A) == sizeof...(T), "weft: one tangent for each argument; std::make_tuple(p) if p is itself a tuple or a pair");
    const std::tuple<traced_t<T>...> traced = to_traced(tangents);
    const auto filled = with_tangents_of_integers(flat.params, traced, loc);
    result = flat_jvp(flat, tangent_leaves(flat.params, filled, loc), skeleton_of(filled, "tangents"));
  }
};

}  // namespace detail

/// The function's result at the primals and its directional derivative along the tangents: std::pair{y, dy} (jax.jvp). The tangent of an
/// integer argument is `none`, or an integer that is ignored; that of a static argument is `none`. Throws ShapeError or DTypeError if a
/// tangent is not like its primal.
template <class F = UnaryFunction, class... A, class... T>
auto jvp(F f, const std::tuple<A...>& primals, const std::tuple<T...>& tangents, SourceLoc loc = SourceLoc::here()) {
  using Out = detail::out_t<F, A...>;
  const detail::JvpCall<F, A...> c(f, primals, tangents, loc);
  return std::pair<Out, Out>(c.flat.make_result(c.result.results), c.flat.make_result(c.result.tangents));
}
/// The same for a function of one argument: `jvp(f, x, dx)`.
template <class F = UnaryFunction>
auto jvp(F f, const Array& primal, const Array& tangent, SourceLoc loc = SourceLoc::here()) {
  return jvp(std::move(f), std::tuple<Array>(primal), std::tuple<Array>(tangent), loc);
}
template <class F = UnaryFunction, class A, class T>
auto jvp(F f, const A& primal, const T& tangent, SourceLoc loc = SourceLoc::here()) {
  return jvp(std::move(f), std::tuple<A>(primal), std::tuple<T>(tangent), loc);
}
/// With a function that returns a pair {y, aux}: std::tuple{y, dy, aux}.
template <class F = UnaryFunction, class... A, class... T>
auto jvp(F f, HasAux, const std::tuple<A...>& primals, const std::tuple<T...>& tangents, SourceLoc loc = SourceLoc::here()) {
  using Pair = detail::out_t<F, A...>;
  static_assert(detail::kIsPair<Pair>, "weft: with has_aux the function returns std::pair{result, aux}");
  using Out = std::tuple_element_t<0, Pair>;
  const detail::JvpCall<F, A...> c(f, primals, tangents, loc);
  Pair value = c.flat.make_result(c.result.results), tangent = c.flat.make_result(c.result.tangents);
  return std::tuple<Out, Out, std::tuple_element_t<1, Pair>>(std::get<0>(std::move(value)), std::get<0>(std::move(tangent)),
                                                             std::get<1>(std::move(value)));
}
template <class F = UnaryFunction, class... A, class... T>
auto jvp(F f, const std::tuple<A...>& primals, const std::tuple<T...>& tangents, HasAux, SourceLoc loc = SourceLoc::here()) {
  return jvp(std::move(f), has_aux, primals, tangents, loc);
}
template <class F = UnaryFunction, class A, class T>
auto jvp(F f, const A& primal, const T& tangent, HasAux, SourceLoc loc = SourceLoc::here()) {
  return jvp(std::move(f), has_aux, std::tuple<A>(primal), std::tuple<T>(tangent), loc);
}

}  // namespace weft
