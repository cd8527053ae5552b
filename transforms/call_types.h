// The types with which a transformed function calls the user's function: which arguments are traced, which are static, and the result.
#pragma once
#include "weft/core/trace/callable.h"
#include "weft/core/trees/pytree.h"

namespace weft::detail {

template <class F, class... P>
concept TakesAll = requires(F& f, P&&... p) { f(std::forward<P>(p)...); };

// Each argument can be passed with its numbers traced (as Arrays), or unchanged (static): bit i of Mask means that argument i is static.
// The lowest mask with which the call is well-formed is the one that makes nothing static but what is declared so. A call that fails for
// the type of a parameter never instantiates the body of a generic lambda.
template <unsigned Mask, class F, class Indices, class... A>
struct TakesMask;
template <unsigned Mask, class F, std::size_t... I, class... A>
struct TakesMask<Mask, F, std::index_sequence<I...>, A...> {
  static constexpr bool redundant = ((((Mask >> I) & 1) && std::is_same_v<traced_t<A>, value_t<A>>) || ... || false);
  static constexpr bool test() {
    if constexpr (!redundant) return TakesAll<F, std::conditional_t<(Mask >> I) & 1, value_t<A>, traced_t<A>>...>;
    return false;
  }
};
template <class F, unsigned Mask, class... A>
constexpr unsigned find_mask() {
  if constexpr (TakesMask<Mask, F, std::index_sequence_for<A...>, A...>::test())
    return Mask;
  else if constexpr (Mask + 1 < (1u << sizeof...(A)))
    return find_mask<F, Mask + 1, A...>();
  return ~0u;
}

/// The number of a function's parameters; -1 where there isn't one number (a generic or an overloaded call operator).
template <class F>
inline constexpr int parameter_count = -1;
template <class R, class... P>
inline constexpr int parameter_count<R (*)(P...)> = sizeof...(P);
template <class R, class C, class... P>
inline constexpr int parameter_count<R (C::*)(P...)> = sizeof...(P);
template <class R, class C, class... P>
inline constexpr int parameter_count<R (C::*)(P...) const> = sizeof...(P);
template <class F>
  requires requires { &F::operator(); }
inline constexpr int parameter_count<F> = parameter_count<decltype(&F::operator())>;

template <class F, class Indices, class... A>
struct CallImpl;
template <class F, std::size_t... I, class... A>
struct CallImpl<F, std::index_sequence<I...>, A...> {
  static constexpr unsigned mask = find_mask<typename Innermost<F>::type, 0, A...>();
  static constexpr int wanted = parameter_count<typename Innermost<F>::type>;
  // Two mistakes of loops that have a sentence of their own.
  template <bool Wrong>
  static constexpr bool asks_array_of_none_if() {
    if constexpr (Wrong)
      return (std::is_same_v<traced_t<A>, None> || ...) &&
             TakesAll<typename Innermost<F>::type, std::conditional_t<std::is_same_v<traced_t<A>, None>, Array, traced_t<A>>...>;
    return false;
  }
  template <bool Wrong>
  static constexpr bool asks_number_of_array_if() {
    if constexpr (Wrong)
      return ((I == 0 && std::is_same_v<value_t<A>, Array>) || ...) &&
             TakesAll<typename Innermost<F>::type, std::conditional_t<I == 0, int, traced_t<A>>...>;
    return false;
  }
  static constexpr bool asks_array_of_none = asks_array_of_none_if<mask == ~0u>();
  static constexpr bool asks_number_of_array = asks_number_of_array_if<mask == ~0u && !asks_array_of_none>();
  static constexpr bool other_number = mask == ~0u && wanted >= 0 && wanted != static_cast<int>(sizeof...(A));
  static_assert(!std::is_member_pointer_v<F>,
                "weft: a member function is passed in a lambda: [](const Model& m, Array x) { return m.apply(x); }");
  static_assert(!other_number || std::is_member_pointer_v<F>,
                "weft: the function is called with another number of arguments than it has parameters");
  static_assert(!asks_array_of_none,
                "weft: there are no xs: the function gets weft::None for a slice of them; declare that parameter as None, as in "
                "[](const Carry& c, None)");
  static_assert(!asks_number_of_array,
                "weft: the first argument arrives as weft::Array (the counter of a loop, too): declare the parameter as Array; a traced "
                "value is no C++ number");
  static_assert(
      mask != ~0u || other_number || asks_array_of_none || asks_number_of_array,
      "weft: the function can't be called with these arguments (is it another number of them?): numbers arrive as weft::Array, "
      "or as they are where the parameter is declared int, double, bool, ...; in loops the counter and all numbers of the carry are "
      "weft::Array, and of xs = none the function gets weft::None; parameters are values or const references");
  /// The types with which the function is called.
  using params = std::tuple<std::conditional_t<(mask >> I) & 1, value_t<A>, traced_t<A>>...>;
  using returned = decltype(std::declval<F&>()(std::declval<std::tuple_element_t<I, params>>()...));
};
/// A call of an F with arguments of types A: `mask`, `params`, `returned`.
template <class F, class... A>
using Call = CallImpl<F, std::index_sequence_for<A...>, A...>;
template <class F, class... A>
using params_t = typename Call<F, A...>::params;
template <class F, class... A>
using returned_t = typename Call<F, A...>::returned;
template <class F, class... A>
using out_t = traced_t<returned_t<F, A...>>;

/// Stage<Out, P...> for a tuple of P.
template <template <class, class...> class Stage, class Out, class Tuple>
struct StageOf;
template <template <class, class...> class Stage, class Out, class... P>
struct StageOf<Stage, Out, std::tuple<P...>> {
  using type = Stage<Out, P...>;
};

std::string function_name(std::string_view spelled_type);
/// The function's name for messages and printed programs: `<lambda>`, or the type's name.
template <class F>
std::string name_of_function() {
  return function_name(spell_type<typename Innermost<F>::type>());
}

/// An Array handed to one of weft's own functions, whose parameter (an Arg) remembers the line on which it was passed.
struct LocatedArray {
  const Array& array;
  SourceLoc loc;
  operator const Array&() const { return array; }
  operator Arg() const { return Arg(array, loc); }
};
/// Calls f with the elements of a tuple on behalf of the user's call at `loc`: f's own SourceLoc parameter gets that line, not one in the
/// library or in std::apply.
template <class F, class... P>
decltype(auto) apply_at(SourceLoc loc, F& f, std::tuple<P...> args) {
  return std::apply(
      [&](P&... p) -> decltype(auto) {
        if constexpr (std::is_base_of_v<Callable<F>, F>) {
          return f.call(loc, p...);
        } else if constexpr (std::is_pointer_v<F>) {
          auto located = [&]<class T>(const T& v) -> decltype(auto) {
            if constexpr (std::is_same_v<T, Array>)
              return LocatedArray{v, loc};
            else
              return (v);
          };
          return calling_user([&]() -> decltype(auto) { return f(located(p)...); });
        } else {
          return calling_user([&]() -> decltype(auto) { return f(std::move(p)...); });
        }
      },
      args);
}

/// An argument as the function takes it: unchanged (static), or with its numbers converted to arrays.
template <class P, class A>
decltype(auto) pass_as(const A& a) {
  if constexpr (std::is_same_v<P, A>)
    return (a);
  else if constexpr (std::is_same_v<P, value_t<A>>)
    return static_cast<P>(a);
  else
    return to_traced(a);
}

}  // namespace weft::detail
