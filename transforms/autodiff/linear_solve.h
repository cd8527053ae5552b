// Linear systems that a user's function solves, with derivatives from the equation (implicit differentiation).
#pragma once
#include <optional>

#include "weft/core/base/function_ref.h"
#include "weft/transforms/autodiff/vjp.h"

namespace weft {

namespace detail {
template <class Tree>
using TransposeSolve = FunctionRef<Tree(FunctionRef<Tree(const Tree&)>, const Tree&)>;
}  // namespace detail
/// Options of custom_linear_solve, for right-hand sides of type Tree.
template <class Tree>
struct LinearSolveOptions {
  std::optional<detail::TransposeSolve<Tree>> transpose_solve = {};  ///< transpose_solve(vecmat, b) solves the transposed system
  bool symmetric = false;                                            ///< matvec is its own transpose, so that `solve` solves that too
};

namespace detail {

/// Traces a function that takes and gives values of the same types. For messages: the operation that it is for, what it is there, and whose
/// leaves its argument's are. Throws PytreeError, ShapeError or DTypeError where it gives other types, or the argument isn't floating.
Jaxpr trace_keeping_types(const char* operation, const char* what, const char* argument, FlatFunction& f, SourceLoc loc);

/// The leaves of x. Each function takes and returns arrays shaped like b's leaves; `vecmat` and `transpose_solve` may be null.
std::vector<Array> flat_linear_solve(FlatFunction& matvec, FlatFunction* vecmat, FlatFunction& solve, FlatFunction* transpose_solve,
                                     SourceLoc loc);

/// Whether F maps a tree of type B to another of the same type, as custom_linear_solve requires.
template <class F, class B>
constexpr bool keeps_type = std::is_same_v<out_t<F, B>, B>;

}  // namespace detail

/// The x with matvec(x) = b, computed by solve(matvec, b) (jax.lax.custom_linear_solve). Its derivatives are those of the equation: forward
/// mode solves for the tangent, reverse mode needs transpose_solve(vecmat, b), which solves with the transposed map. b is any tree; the
/// functions return trees like it. Throws PytreeError, ShapeError or DTypeError where they don't.
template <class M, class B, class S, class T>
  requires(!std::is_same_v<T, LinearSolveOptions<detail::traced_t<B>>>)
detail::traced_t<B> custom_linear_solve(M matvec, const B& b, S solve, T transpose_solve, SourceLoc loc = SourceLoc::here()) {
  using Tree = detail::traced_t<B>;
  const Tree rhs = detail::to_traced(b);
  auto vecmat = [&](const Tree& x) { return std::get<0>(linear_transpose(matvec, rhs)(x)); };
  auto forward = [&](const Tree& x) { return detail::to_traced(solve(matvec, x)); };
  auto backward = [&](const Tree& x) { return detail::to_traced(transpose_solve(vecmat, x)); };
  static_assert(detail::keeps_type<M, Tree> && detail::keeps_type<decltype(forward), Tree> && detail::keeps_type<decltype(backward), Tree>,
                "weft: custom_linear_solve's functions return the type of b");
  detail::FlatCall<M, Tree> a(matvec, loc, rhs);
  detail::FlatCall<decltype(vecmat), Tree> at(vecmat, loc, rhs);
  detail::FlatCall<decltype(forward), Tree> s(forward, loc, rhs);
  detail::FlatCall<decltype(backward), Tree> st(backward, loc, rhs);
  return detail::with_leaves(rhs, std::span<const Array>(detail::flat_linear_solve(a, &at, s, &st, loc)));
}
/// The same with options, `{.symmetric = true}`. Without transpose_solve reverse mode throws TracerError, unless matvec is symmetric.
template <class M, class B, class S, class Tree = detail::traced_t<B>>
Tree custom_linear_solve(M matvec, const B& b, S solve, LinearSolveOptions<detail::traced_t<B>> options = {},
                         SourceLoc loc = SourceLoc::here()) {
  const auto transpose = [&](const auto& vecmat, const Tree& x) { return (*options.transpose_solve)(vecmat, x); };
  if (options.transpose_solve) return custom_linear_solve(matvec, b, solve, transpose, loc);
  const Tree rhs = detail::to_traced(b);
  auto forward = [&](const Tree& x) { return detail::to_traced(solve(matvec, x)); };
  static_assert(detail::keeps_type<M, Tree> && detail::keeps_type<decltype(forward), Tree>,
                "weft: custom_linear_solve's functions return the type of b");
  detail::FlatCall<M, Tree> a(matvec, loc, rhs);
  detail::FlatCall<decltype(forward), Tree> s(forward, loc, rhs);
  const bool symmetric = options.symmetric;
  return detail::with_leaves(
      rhs, std::span<const Array>(detail::flat_linear_solve(a, symmetric ? &a : nullptr, s, symmetric ? &s : nullptr, loc)));
}

}  // namespace weft
