// Ordinary differential equations (jax.experimental.ode).
#pragma once
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/integer.h"
#include "weft/core/base/function_ref.h"
#include "weft/core/trees/tree.h"
#include "weft/transforms/call_types.h"
#include "weft/transforms/control/control_options.h"

namespace weft {

/// Options of odeint.
struct OdeOptions {
  double rtol = 1.4e-8;             ///< the error of a step: at most rtol times the state's modulus; at least 8 units in the last place
  double atol = 1.4e-8;             ///< added to that
  std::optional<Int> mxstep = {};   ///< the most steps between two times; absent: no limit
  std::optional<double> hmax = {};  ///< the longest step; absent: no limit
  Checkpoints checkpoints = Checkpoints::logarithmic;  ///< how many states between two times reverse mode keeps
};

namespace detail {
/// A leaf of the state: a number with a fractional part.
Array ode_leaf(const Array& x, SourceLoc loc);
using OdeFunction = FunctionRef<Array(const Array& y, const Array& t)>;
/// The states at the times, one after the other in the leading dimension; y0 is a vector.
Array solve_ode(OdeFunction f, const Array& y0, const Arg& t, const OdeOptions& options);
/// The derivative as one vector. Throws unless its leaves have the shapes of the state's.
Array ode_derivative(const std::vector<Array>& derivative, const std::vector<Array>& state, const DType& dtype, SourceLoc loc);
/// The states at all times, from vectors to the leaves' shapes.
std::vector<Array> ode_results(const Array& flat, const std::vector<Array>& leaves);
template <class T>
inline constexpr bool is_ode_options = std::is_same_v<std::remove_cvref_t<T>, OdeOptions>;

template <class F, class Y, class... A>
traced_t<Y> odeint(F& f, const Y& given, const Arg& t, const OdeOptions& options, const A&... args) {
  using State = traced_t<Y>;
  const State y0 = map_leaves(to_traced(given), [&](const Array& x) { return ode_leaf(x, t.where()); });
  static_assert(std::is_same_v<out_t<F, State, Array, A...>, State>,
                "weft: odeint's function f(y, t) returns a tree of y's type, the derivative of y");
  const auto [flat, unravel] = tree::ravel(y0, t.where());
  const std::vector<Array> leaves = leaves_of(y0);
  const DType dtype = flat.dtype();
  const auto derivative = [&](const Array& y, const Array& now) {
    State state = with_leaves(y0, std::span<const Array>(leaves_of(unravel(y, t.where()))));
    return ode_derivative(leaves_of(to_traced(f(state, now, to_traced(args)...))), leaves, dtype, t.where());
  };
  const Array states = solve_ode(derivative, flat, t, options);
  return with_leaves(y0, std::span<const Array>(ode_results(states, leaves)));
}
}  // namespace detail

/// The solution of dy/dt = f(y, t) with y(t[0]) = y0 at the times t, which ascend or descend: a tree like y0 whose leaves have the times as
/// their leading dimension (jax.experimental.ode.odeint). By the method of Dormand and Prince with steps that keep the error within the
/// tolerances (E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993, II.5 and II.6). Derivatives of any order,
/// forwards and backwards, by y0, t, args and whatever f holds, are those of the steps that were taken, whose lengths count as constants.
/// What is behind mxstep, or where f is not finite, is NaN. Throws ShapeError, DTypeError or PytreeError where f's result is not like y0.
template <class F, class Y>
detail::traced_t<Y> odeint(F f, const Y& y0, Arg t, OdeOptions options = {}) {
  return detail::odeint(f, y0, t, options);
}
/// The same with further arguments: f(y, t, args...); options come last, `odeint(f, y0, t, a, b, OdeOptions{.rtol = 1e-6})`.
template <class F, class Y, class A, class... B>
  requires(!detail::is_ode_options<A>)
detail::traced_t<Y> odeint(F f, const Y& y0, Arg t, const A& arg, const B&... args) {
  if constexpr (sizeof...(B) == 0) {
    return detail::odeint(f, y0, t, OdeOptions(), arg);
  } else {
    const auto all = std::tie(arg, args...);
    if constexpr (detail::is_ode_options<std::tuple_element_t<sizeof...(B), decltype(all)>>) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return detail::odeint(f, y0, t, std::get<sizeof...(B)>(all), std::get<I>(all)...);
      }(std::make_index_sequence<sizeof...(B)>());
    } else {
      return detail::odeint(f, y0, t, OdeOptions(), arg, args...);
    }
  }
}

}  // namespace weft
