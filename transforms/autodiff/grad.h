// grad and value_and_grad.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/transforms/autodiff/gradient_types.h"
#include "weft/transforms/flat.h"
#include "weft/transforms/options.h"

namespace weft {

namespace detail {

/// What grad computes: the function's flat results (only if they are wanted), and the gradients of the chosen arguments' leaves.
struct FlatGradient {
  std::vector<Array> results, gradients;
};
/// The gradient of a function whose first result is the scalar to differentiate. `operation` names the transform in messages.
FlatGradient flat_gradient(FlatFunction& f, std::span<const int> argnums, bool want_value, bool want_aux, GradOptions options,
                           const char* operation);

template <class F, bool Value, bool Aux, int... N>
class Grad : public Callable<Grad<F, Value, Aux, N...>> {
 public:
  using weft_inner = F;
  Grad(F f, GradOptions options) : f_(std::move(f)), options_(options) {}
  template <class... A>
  auto call(SourceLoc loc, const A&... args) const {
    static_assert(sizeof...(A) > 0, "weft: grad of a function without arguments");
    using Params = params_t<F, A...>;
    using G = Gradient<Params, N...>;
    using Out = out_t<F, A...>;
    constexpr bool jaxpr = std::is_same_v<typename Innermost<F>::type, Jaxpr>;
    if constexpr (Aux)
      static_assert(std::is_same_v<std::tuple_element_t<0, std::conditional_t<kIsPair<Out>, Out, std::pair<None, None>>>, Array>,
                    "weft: with has_aux the function returns std::pair{scalar loss, aux}");
    else
      static_assert(jaxpr || std::is_same_v<Out, Array>,
                    "weft: grad differentiates a function with a scalar result; has_aux, or vjp, else");
    FlatCall<F, A...> flat(f_, loc, args...);
    const FlatGradient r = flat_gradient(flat, G::argnums, Value, Aux, options_, Value ? "value_and_grad" : "grad");
    typename G::type gradient = with_leaves<typename G::type>(G::of(flat.params), r.gradients);
    if constexpr (Aux && Value)
      return std::pair<Out, typename G::type>(flat.make_result(r.results), std::move(gradient));
    else if constexpr (Aux)
      return std::pair<typename G::type, std::tuple_element_t<1, Out>>(
          std::move(gradient), with_leaves(std::get<1>(*flat.out), std::span(r.results).subspan(1)));
    else if constexpr (Value)
      return std::pair<Array, typename G::type>(r.results[0], std::move(gradient));
    else
      return gradient;
  }

 private:
  mutable F f_;
  GradOptions options_;
};

}  // namespace detail

/// The gradient of a function with a scalar result, as a function of the same arguments (jax.grad). `grad(f)` differentiates argument 0
/// and returns what is shaped like it; `grad<0, 2>(f)` several, and returns a tuple. With `has_aux` the function returns a pair {loss,
/// aux}, and the gradient function {gradient, aux}. Throws ShapeError if the result is not a scalar, DTypeError if it or an argument is not
/// floating.
template <int... N, class F = UnaryFunction>
detail::Grad<F, false, false, N...> grad(F f, GradOptions options = {}) {
  return {std::move(f), options};
}
template <int... N, class F = UnaryFunction>
detail::Grad<F, false, true, N...> grad(F f, HasAux, GradOptions options = {}) {
  return {std::move(f), options};
}
/// The value and the gradient, a pair (jax.value_and_grad); with `has_aux`: {{loss, aux}, gradient}.
template <int... N, class F = UnaryFunction>
detail::Grad<F, true, false, N...> value_and_grad(F f, GradOptions options = {}) {
  return {std::move(f), options};
}
template <int... N, class F = UnaryFunction>
detail::Grad<F, true, true, N...> value_and_grad(F f, HasAux, GradOptions options = {}) {
  return {std::move(f), options};
}

WEFT_NUMBERS_OF_ARGUMENTS(grad)
WEFT_NUMBERS_OF_ARGUMENTS(value_and_grad)
WEFT_GIVES_A_FUNCTION(grad)
WEFT_GIVES_A_FUNCTION(value_and_grad)

}  // namespace weft
