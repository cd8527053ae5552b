// Programs of functions: make_jaxpr, eval_shape, and transforms of programs.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/transforms/flat.h"
#include "weft/transforms/options.h"

namespace weft {

/// Options of batch_jaxpr: those of vmap; axes are those of the program's inputs and outputs.
struct BatchOptions {
  detail::NamedFields named = detail::NamedFields();
  Axes in_axes = 0;                   ///< which axis of each input is mapped; none: it is the same for all
  Axes out_axes = 0;                  ///< where the mapped axis is in each output
  std::string axis_name = {};         ///< for collectives
  std::optional<Int> axis_size = {};  ///< needed only where no input is mapped
};

namespace detail {

Jaxpr flat_make_jaxpr(FlatFunction& f);
/// The function's results as abstract arrays.
std::vector<Array> flat_eval_shape(FlatFunction& f);

template <class F>
class MakeJaxpr : public Callable<MakeJaxpr<F>> {
 public:
  using weft_inner = F;
  explicit MakeJaxpr(F f) : f_(std::move(f)) {}
  template <class... A>
  Jaxpr call(SourceLoc loc, const A&... args) const {
    FlatCall<F, A...> flat(f_, loc, args...);
    return flat_make_jaxpr(flat);
  }

 private:
  mutable F f_;
};

// A function object, so that the last parameter can be the user's line: no default can follow a pack.
struct EvalShape : Callable<EvalShape> {
  using Callable::operator();
  // For the name of an overloaded function, this chooses the overload on arrays.
  template <class A>
  auto operator()(UnaryFunction f, const A& a, SourceLoc loc = SourceLoc::here()) const {
    return Callable::operator()(f, a, loc);
  }
  template <class F, class... A>
  auto call(SourceLoc loc, const F& f, const A&... args) const {
    using G = value_t<F>;
    G g = f;
    FlatCall<G, A...> flat(g, loc, args...);
    const std::vector<Array> results = flat_eval_shape(flat);
    return flat.make_result(results);
  }
};

}  // namespace detail

/// `make_jaxpr(f)(x, ...)`: f traced as a program for arguments like x (jax.make_jaxpr). Only their shapes and dtypes matter.
template <class F = UnaryFunction>
detail::MakeJaxpr<F> make_jaxpr(F f) {
  return detail::MakeJaxpr<F>(std::move(f));
}
/// `eval_shape(f, x, ...)`: f's result with abstract arrays, which know their shape and dtype only; nothing is computed (jax.eval_shape).
inline constexpr detail::EvalShape eval_shape{};

/// The forward derivative as a program: (inputs, tangents of the floating and complex inputs) -> (results, tangents of the floating and
/// complex results).
Jaxpr jvp_jaxpr(const Jaxpr& j, SourceLoc loc = SourceLoc::here());
/// The transpose of a program that is linear in all its inputs: cotangents of the results -> cotangents of the inputs. Throws TracerError
/// if it is not linear.
Jaxpr transpose_jaxpr(const Jaxpr& j, SourceLoc loc = SourceLoc::here());
/// The program mapped over an axis, as vmap does it.
Jaxpr batch_jaxpr(const Jaxpr& j, BatchOptions options = {}, SourceLoc loc = SourceLoc::here());

}  // namespace weft
