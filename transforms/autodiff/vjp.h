// vjp, linearize and linear_transpose: reverse-mode derivatives as functions.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/base/function_ref.h"
#include "weft/transforms/flat.h"

namespace weft {

namespace detail {

/// A function linearized at a point: what vjp, linearize and linear_transpose return refers to one.
struct LinearState : RefCounted {};
struct FlatLinear {
  std::vector<Array> results;
  Ref<const LinearState> state;
};
FlatLinear flat_vjp(FlatFunction& f);
FlatLinear flat_linearize(FlatFunction& f);
/// For a function that is itself linear; the results are abstract.
FlatLinear flat_linear_transpose(FlatFunction& f);
/// The arguments' cotangents from the results'; the results' tangents from the arguments'. `given` describes the user's values.
std::vector<Array> pull_back(const LinearState& s, std::vector<Array> cotangents, FunctionRef<Skeleton()> given, SourceLoc loc);
std::vector<Array> push_forward(const LinearState& s, std::vector<Array> tangents, FunctionRef<Skeleton()> given, SourceLoc loc);

/// What vjp returns: a function of the result's cotangent that returns a tuple with one cotangent for each argument.
template <class Out, class... Ct>
class Pull {
 public:
  Pull(Ref<const LinearState> state, const Out& out, std::tuple<Ct...> args)
      : state_(std::move(state)), out_(without_leaves(out)), args_(std::move(args)) {}
  std::tuple<Ct...> operator()(const Out& ct, SourceLoc loc = SourceLoc::here()) const {
    check_same_structure("vjp", out_, "result", ct, "cotangent", loc);
    return with_leaves(args_, std::span<const Array>(pull_back(*state_, leaves_of(ct), [&] { return skeleton_of(ct, "cotangent"); }, loc)));
  }

 private:
  KeptRef<const LinearState> state_;
  Out out_;
  std::tuple<Ct...> args_;
};

/// What linearize returns: a function of the arguments' tangents that returns the result's.
template <class Out, class... P>
class Push {
 public:
  Push(Ref<const LinearState> state, const Out& out, std::tuple<P...> args)
      : state_(std::move(state)), out_(without_leaves(out)), args_(std::move(args)) {}
  Out operator()(const P&... tangents, SourceLoc loc = SourceLoc::here()) const {
    const std::tuple<P...> given(as_copy(tangents)...);
    auto paths = [&] {
      Skeleton s = skeleton_of_args(given);
      s.label = "tangents";
      return s;
    };
    if (!same_structure(args_, given)) throw_structure_mismatch("linearize", skeleton_of_args(args_), paths(), loc);
    return with_leaves(out_, std::span<const Array>(push_forward(*state_, leaves_of(given), paths, loc)));
  }

 private:
  KeptRef<const LinearState> state_;
  Out out_;
  std::tuple<P...> args_;
};

// Function objects, so that the last parameter can be the user's line: no default can follow a pack.
template <template <class, class...> class Map, FlatLinear (*Flat)(FlatFunction&)>
struct LinearizeFunction : Callable<LinearizeFunction<Map, Flat>> {
  using Callable<LinearizeFunction>::operator();
  // For the name of an overloaded function, this chooses the overload on arrays.
  template <class A>
  auto operator()(UnaryFunction f, const A& a, SourceLoc loc = SourceLoc::here()) const {
    return Callable<LinearizeFunction>::operator()(f, a, loc);
  }
  template <class A, class B>
  auto operator()(BinaryFunction f, const A& a, const B& b, SourceLoc loc = SourceLoc::here()) const {
    return Callable<LinearizeFunction>::operator()(f, a, b, loc);
  }
  template <class F, class... A>
  auto call(SourceLoc loc, const F& f, const A&... args) const {
    using G = value_t<F>;
    using Out = out_t<G, A...>;
    using M = typename StageOf<Map, Out, tangents_t<params_t<G, A...>>>::type;
    G g = f;
    FlatCall<G, A...> flat(g, loc, args...);
    FlatLinear l = Flat(flat);
    return std::pair<Out, M>(flat.make_result(l.results), M(std::move(l.state), *flat.out, tangent_structure(flat.params)));
  }
  template <class F, class... A>
  auto call(SourceLoc loc, const F& f, HasAux, const A&... args) const {
    using G = value_t<F>;
    using Both = out_t<G, A...>;
    static_assert(kIsPair<Both>, "weft: with has_aux the function returns std::pair{result, aux}");
    using Out = std::tuple_element_t<0, Both>;
    using M = typename StageOf<Map, Out, tangents_t<params_t<G, A...>>>::type;
    G g = f;
    FlatCall<G, A...> flat(g, loc, args...);
    flat.has_aux = true;
    FlatLinear l = Flat(flat);
    Both both = flat.make_result(l.results);
    return std::tuple<Out, M, std::tuple_element_t<1, Both>>(std::get<0>(std::move(both)),
                                                             M(std::move(l.state), std::get<0>(*flat.out), tangent_structure(flat.params)),
                                                             std::get<1>(std::move(both)));
  }
};
struct LinearTranspose : Callable<LinearTranspose> {
  template <class F, class... A>
  auto call(SourceLoc loc, const F& f, const A&... args) const {
    using G = value_t<F>;
    G g = f;
    FlatCall<G, A...> flat(g, loc, args...);
    FlatLinear l = flat_linear_transpose(flat);
    using M = typename StageOf<Pull, out_t<G, A...>, tangents_t<params_t<G, A...>>>::type;
    return M(std::move(l.state), *flat.out, tangent_structure(flat.params));
  }
};

}  // namespace detail

/// `auto [y, pull] = vjp(f, x, ...)`: the result and a function from its cotangent to a std::tuple of the arguments' cotangents (jax.vjp).
/// `auto [y, pull, aux] = vjp(f, has_aux, x, ...)` where f returns a pair {y, aux}. Integer arguments get zeros of dtype bool, static ones
/// `none`.
inline constexpr detail::LinearizeFunction<detail::Pull, detail::flat_vjp> vjp{};
/// `auto [y, push] = linearize(f, x, ...)`: the result and the derivative at x, a function from tangents to the result's (jax.linearize).
inline constexpr detail::LinearizeFunction<detail::Push, detail::flat_linearize> linearize{};
/// `linear_transpose(f, x, ...)`: the transpose of a linear f, a function from a cotangent of the result to a std::tuple of the arguments'.
/// Only the shapes and dtypes of x matter (jax.linear_transpose). What doesn't depend on x may be anything: a loop's counter, a mask.
/// Throws TracerError with the operation and its line where f is not linear, DTypeError for arguments or results that are integers.
inline constexpr detail::LinearTranspose linear_transpose{};

}  // namespace weft
