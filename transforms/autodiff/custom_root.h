// Roots of equations that a user's function finds, with derivatives from the equation (the implicit function theorem).
#pragma once
#include "weft/transforms/autodiff/custom.h"
#include "weft/transforms/autodiff/jvp.h"

namespace weft {

namespace detail {

/// The function as a program whose leading inputs are the arrays that it captures. Throws PytreeError, ShapeError or DTypeError unless the
/// function returns values of its argument's types, or where these aren't floating.
Hoisted trace_residual(FlatFunction& f, SourceLoc loc);
/// The program's results for these values.
std::vector<Array> call_residual(const Jaxpr& program, std::span<const Array> captured, std::vector<Array> leaves);
/// Of a function with a custom rule that is being traced: values that it captures are constants to differentiation.
void captures_have_no_derivative();

}  // namespace detail

/// The x near `guess` with f(x) = 0, found by solve(f, guess) (jax.lax.custom_root): of any tree, to which f gives one like it. Derivatives
/// don't go through the steps of `solve`, which may be a while_loop: with respect to the arrays that f captures, dx is the solution of
/// J dx = -df, where J is f's derivative at the root. It is found by tangent_solve(J, df), where J is a linear function of such trees; for
/// reverse mode it must be linear in df by operations that can be transposed, as matmul or custom_linear_solve. There is no derivative with
/// respect to the guess, nor to what `solve` captures. Throws PytreeError, ShapeError or DTypeError where f or a solver returns another
/// type than the guess's.
template <class F, class X, class S, class T>
detail::traced_t<X> custom_root(F f, const X& guess, S solve, T tangent_solve, SourceLoc loc = SourceLoc::here()) {
  using Tree = detail::traced_t<X>;
  using Leaves = std::vector<Array>;
  const Tree start = detail::to_traced(guess);
  detail::FlatCall<F, Tree> flat(f, loc, start);
  static_assert(std::is_same_v<detail::out_t<F, Tree>, Tree>, "weft: custom_root's function returns the type of its argument");
  const detail::Hoisted residual = detail::trace_residual(flat, loc);
  // Trees without leaves: what is kept outlives the call.
  auto of = [program = residual.jaxpr, shape = detail::without_leaves(start)](const Leaves& captured, const Tree& x) {
    return detail::with_leaves(shape, std::span<const Array>(detail::call_residual(program, captured, detail::leaves_of(x))));
  };
  auto find = [of, solve = std::move(solve)](const Leaves& captured, const Tree& x) mutable {
    detail::captures_have_no_derivative();
    const auto root = detail::to_traced(solve([&](const Tree& y) { return of(captured, y); }, x));
    static_assert(std::is_same_v<decltype(root), const Tree>, "weft: custom_root's solve returns the guess's type");
    return root;
  };
  auto rule = [of, tangent_solve = std::move(tangent_solve)](const auto& self, const auto& primals, const auto& tangents) mutable {
    const Leaves& captured = std::get<0>(primals);
    const Tree x = self(captured, std::get<1>(primals));
    const Tree df = jvp([&](const Leaves& c) { return of(c, x); }, std::tuple{captured}, std::tuple{std::get<0>(tangents)}).second;
    auto linear = [&](const Tree& v) { return jvp([&](const Tree& y) { return of(captured, y); }, std::tuple{x}, std::tuple{v}).second; };
    const auto dx = detail::to_traced(tangent_solve(linear, df));
    static_assert(std::is_same_v<decltype(dx), const Tree>, "weft: custom_root's tangent_solve returns the guess's type");
    return std::pair{x, detail::map_leaves(dx, [](const Array& a) { return Array(-a); })};
  };
  return custom_jvp(std::move(find), std::move(rule)).call(loc, residual.consts, start);
}

}  // namespace weft
