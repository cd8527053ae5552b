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
std::vector<Array> flat_jacfwd(FlatFunction& f, std::span<const int> argnums, bool holomorphic);
std::vector<Array> flat_jacrev(FlatFunction& f, std::span<const int> argnums, bool holomorphic);

template <class F, bool Forward, bool Aux, int... N>
class JacobianOf : public Callable<JacobianOf<F, Forward, Aux, N...>> {
 public:
  using weft_inner = F;
  JacobianOf(F f, JacobianOptions options) : f_(std::move(f)), holomorphic_(options.holomorphic) {}
  template <class... A>
  auto call(SourceLoc loc, const A&... args) const {
    static_assert(sizeof...(A) > 0, "weft: the Jacobian of a function without arguments");
    using G = Gradient<params_t<F, A...>, N...>;
    using Out = out_t<F, A...>;
    FlatCall<F, A...> flat(f_, loc, args...);
    flat.has_aux = Aux;
    const std::vector<Array> blocks = (Forward ? flat_jacfwd : flat_jacrev)(flat, std::span(G::argnums), holomorphic_);
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
  bool holomorphic_;
};

}  // namespace detail

/// The Jacobian by forward mode, one column at a time, all at once by vmap (jax.jacfwd): the result with each array replaced by its
/// derivatives, of the result's shape followed by the argument's. Argument numbers as for grad. Cheap for few inputs. With `has_aux` the
/// function returns a pair {result, aux}, and its Jacobian {Jacobian, aux}. Throws DTypeError for an argument that is not real and
/// floating; with `holomorphic` for an argument or a result that is not complex.
template <int... N, class F = UnaryFunction>
detail::JacobianOf<F, true, false, N...> jacfwd(F f, JacobianOptions options = {}) {
  return {std::move(f), options};
}
template <int... N, class F>
detail::JacobianOf<F, true, true, N...> jacfwd(F f, HasAux, JacobianOptions options = {}) {
  return {std::move(f), options};
}
/// The Jacobian by reverse mode, one row at a time (jax.jacrev). Cheap for few outputs. Throws DTypeError for a result that is not real and
/// floating; with `holomorphic` for an argument or a result that is not complex.
template <int... N, class F = UnaryFunction>
detail::JacobianOf<F, false, false, N...> jacrev(F f, JacobianOptions options = {}) {
  return {std::move(f), options};
}
template <int... N, class F>
detail::JacobianOf<F, false, true, N...> jacrev(F f, HasAux, JacobianOptions options = {}) {
  return {std::move(f), options};
}
/// jacrev, by jax.jacobian's name.
template <int... N, class F = UnaryFunction>
auto jacobian(F f, JacobianOptions options = {}) {
  return jacrev<N...>(std::move(f), options);
}
template <int... N, class F>
auto jacobian(F f, HasAux, JacobianOptions options = {}) {
  return jacrev<N...>(std::move(f), has_aux, options);
}
/// The matrix of second derivatives, forward over reverse (jax.hessian).
template <int... N, class F = UnaryFunction>
auto hessian(F f, JacobianOptions options = {}) {
  return jacfwd<N...>(jacrev<N...>(std::move(f), options), options);
}
template <int... N, class F>
auto hessian(F f, HasAux, JacobianOptions options = {}) {
  return jacfwd<N...>(jacrev<N...>(std::move(f), has_aux, options), has_aux, options);
}
WEFT_NUMBERS_OF_ARGUMENTS(jacfwd)
WEFT_NUMBERS_OF_ARGUMENTS(jacrev)
WEFT_NUMBERS_OF_ARGUMENTS(hessian)

}  // namespace weft
