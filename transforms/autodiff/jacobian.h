// jacfwd, jacrev and hessian.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/transforms/autodiff/gradient_types.h"
#include "weft/transforms/flat.h"
#include "weft/transforms/options.h"

namespace weft {

namespace detail {

/// The derivative of each result leaf with respect to each leaf of the chosen arguments, in that order; its shape is the result's followed
/// by the argument's. The auxiliary results follow, if the function has any.
std::vector<Array> flat_jacfwd(FlatFunction& f, std::span<const int> argnums);
std::vector<Array> flat_jacrev(FlatFunction& f, std::span<const int> argnums);

template <class F, bool Forward, bool Aux, int... N>
class JacobianOf : public Callable<JacobianOf<F, Forward, Aux, N...>> {
 public:
  using weft_inner = F;
  explicit JacobianOf(F f) : f_(std::move(f)) {}
  template <class... A>
  auto call(SourceLoc loc, const A&... args) const {
    static_assert(sizeof...(A) > 0, "weft: the Jacobian of a function without arguments");
    using G = Gradient<params_t<F, A...>, N...>;
    using Out = out_t<F, A...>;
    FlatCall<F, A...> flat(f_, loc, args...);
    flat.has_aux = Aux;
    const std::vector<Array> blocks = [&] { return Forward ? flat_jacfwd(flat, G::argnums) : flat_jacrev(flat, G::argnums); }();
    std::size_t next = 0;
    if constexpr (Aux) {
      static_assert(kIsPair<Out>, "weft: with has_aux the function returns std::pair{result, aux}");
      auto jacobian =
          make_jacobian<std::tuple_element_t<0, Out>, typename G::type>(std::get<0>(*flat.out), G::of(flat.params), blocks, next);
      return std::pair<decltype(jacobian), std::tuple_element_t<1, Out>>(
          std::move(jacobian), with_leaves(std::get<1>(*flat.out), std::span(blocks).subspan(next)));
    } else {
      return make_jacobian<Out, typename G::type>(*flat.out, G::of(flat.params), blocks, next);
    }
  }

 private:
  mutable F f_;
};

}  // namespace detail

/// The Jacobian by forward mode, one column at a time, all at once by vmap (jax.jacfwd): the result with each array replaced by its
/// derivatives, of the result's shape followed by the argument's. Argument numbers as for grad. Cheap for few inputs. With `has_aux` the
/// function returns a pair {result, aux}, and its Jacobian {Jacobian, aux}.
template <int... N, class F = UnaryFunction>
detail::JacobianOf<F, true, false, N...> jacfwd(F f) {
  return detail::JacobianOf<F, true, false, N...>(std::move(f));
}
template <int... N, class F>
detail::JacobianOf<F, true, true, N...> jacfwd(F f, HasAux) {
  return detail::JacobianOf<F, true, true, N...>(std::move(f));
}
/// The Jacobian by reverse mode, one row at a time (jax.jacrev). Cheap for few outputs.
template <int... N, class F = UnaryFunction>
detail::JacobianOf<F, false, false, N...> jacrev(F f) {
  return detail::JacobianOf<F, false, false, N...>(std::move(f));
}
template <int... N, class F>
detail::JacobianOf<F, false, true, N...> jacrev(F f, HasAux) {
  return detail::JacobianOf<F, false, true, N...>(std::move(f));
}
/// jacrev, by jax.jacobian's name.
template <int... N, class F = UnaryFunction, class... Aux>
auto jacobian(F f, Aux... aux) {
  return jacrev<N...>(std::move(f), aux...);
}
/// The matrix of second derivatives, forward over reverse (jax.hessian).
template <int... N, class F = UnaryFunction>
detail::JacobianOf<detail::JacobianOf<F, false, false, N...>, true, false, N...> hessian(F f) {
  return jacfwd<N...>(jacrev<N...>(std::move(f)));
}
template <int... N, class F>
detail::JacobianOf<detail::JacobianOf<F, false, true, N...>, true, true, N...> hessian(F f, HasAux) {
  return jacfwd<N...>(jacrev<N...>(std::move(f), has_aux), has_aux);
}
#define WEFT_NUMBERS_OF_ARGUMENTS(name)                                                                                      \
  template <class F, std::same_as<int> I>                                                                                    \
  void name(F, I) {                                                                                                          \
    static_assert(!sizeof(F), "weft: the numbers of arguments are template arguments: " #name "<1>(f), " #name "<0, 2>(f)"); \
  }
WEFT_NUMBERS_OF_ARGUMENTS(jacfwd)
WEFT_NUMBERS_OF_ARGUMENTS(jacrev)
WEFT_NUMBERS_OF_ARGUMENTS(hessian)
#undef WEFT_NUMBERS_OF_ARGUMENTS

}  // namespace weft
