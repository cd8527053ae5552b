// What all transformed functions share: a call with any arguments, and the function inside.
#pragma once
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "weft/core/errors/boundary.h"

namespace weft {
class Arg;
class Array;
}  // namespace weft

namespace weft::detail {

/// F is the user's function, or a transform of one, which names the function that it wraps as `weft_inner`: which parameters are static is
/// decided by the user's function.
template <class F>
struct Innermost {
  using type = F;
};
template <class F>
  requires requires { typename F::weft_inner; }
struct Innermost<F> {
  using type = typename Innermost<typename F::weft_inner>::type;
};

/// Stands for an argument in braces where the type of the function's parameter isn't known.
template <class F>
struct UnknownParameter {
  template <class... T>
  UnknownParameter(const T&...) {
    static_assert(!sizeof(F),
                  "weft: an argument in braces takes the type of the function's parameter, which isn't known here (auto, an overloaded "
                  "function, or another number of parameters): write its type, f(Params{w, b})");
  }
};
/// The types of a function's parameters; no type where there isn't one list of them (a generic or an overloaded call operator).
template <class F>
struct ParameterList {};
template <class R, class... P>
struct ParameterList<R (*)(P...)> {
  using type = std::tuple<std::remove_cvref_t<P>...>;
};
template <class R, class C, class... P>
struct ParameterList<R (C::*)(P...)> : ParameterList<R (*)(P...)> {};
template <class R, class C, class... P>
struct ParameterList<R (C::*)(P...) const> : ParameterList<R (*)(P...)> {};
template <class F>
  requires requires { &F::operator(); }
struct ParameterList<F> : ParameterList<decltype(&F::operator())> {};

/// Whether F is a transform of a function with a parameter I of known type.
template <class F, std::size_t I>
constexpr bool declares_parameter() {
  if constexpr (requires { typename ParameterList<typename Innermost<F>::type>::type; })
    return I < std::tuple_size_v<typename ParameterList<typename Innermost<F>::type>::type>;
  return false;
}
/// The type of parameter I of the function that F is a transform of: an argument in braces is made one.
template <class F, std::size_t I>
struct DeclaredParameter {};
template <class F, std::size_t I>
  requires requires { typename F::weft_inner; } && (!declares_parameter<F, I>())
struct DeclaredParameter<F, I> {
  using type = UnknownParameter<F>;
};
template <class F, std::size_t I>
  requires requires { typename F::weft_inner; } && (declares_parameter<F, I>())
struct DeclaredParameter<F, I> {
  using declared = std::tuple_element_t<I, typename ParameterList<typename Innermost<F>::type>::type>;
  using type = std::conditional_t<std::is_same_v<declared, Arg>, Array, declared>;
};

/// The call operator of every transformed function. One overload an arity, so that the last parameter can be the user's line. An argument
/// in braces, `jit(f)({w, b})`, has no type of its own, and gets that of the function's parameter.
/// Self has `call(SourceLoc, const A&...) const`.
template <class Self>
struct Callable {
  using L = SourceLoc;
  template <class S, std::size_t I>
  using Declared = typename DeclaredParameter<S, I>::type;
  auto operator()(L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc); });
  }
  template <class S = Self, class A = Declared<S, 0>>
  auto operator()(const A& a, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>>
  auto operator()(const A& a, const B& b, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>>
  auto operator()(const A& a, const B& b, const C& c, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>, class D = Declared<S, 3>>
  auto operator()(const A& a, const B& b, const C& c, const D& d, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>, class D = Declared<S, 3>,
            class E = Declared<S, 4>>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>, class D = Declared<S, 3>,
            class E = Declared<S, 4>, class F = Declared<S, 5>>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>, class D = Declared<S, 3>,
            class E = Declared<S, 4>, class F = Declared<S, 5>, class G = Declared<S, 6>>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>, class D = Declared<S, 3>,
            class E = Declared<S, 4>, class F = Declared<S, 5>, class G = Declared<S, 6>, class H = Declared<S, 7>>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, const H& h, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g, h); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>, class D = Declared<S, 3>,
            class E = Declared<S, 4>, class F = Declared<S, 5>, class G = Declared<S, 6>, class H = Declared<S, 7>,
            class I = Declared<S, 8>>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, const H& h, const I& i,
                  L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g, h, i); });
  }
  template <class S = Self, class A = Declared<S, 0>, class B = Declared<S, 1>, class C = Declared<S, 2>, class D = Declared<S, 3>,
            class E = Declared<S, 4>, class F = Declared<S, 5>, class G = Declared<S, 6>, class H = Declared<S, 7>,
            class I = Declared<S, 8>, class J = Declared<S, 9>>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, const H& h, const I& i, const J& j,
                  L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g, h, i, j); });
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace weft::detail
