// Control flow that stays control flow in the compiled program: cond, switch_, while_loop, fori_loop, scan, map, associative_scan.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/functions/shaping.h"
#include "weft/transforms/control/control_options.h"
#include "weft/transforms/flat.h"
#include "weft/transforms/maps/vmap.h"

namespace weft {

namespace detail {

/// The branches are in the order of the index and have the same arguments. Returns the leaves of the result.
/// `names`: what errors call the branches; empty: their numbers.
std::vector<Array> flat_cond(const char* what, const Array& index, const std::vector<FlatFunction*>& branches,
                             const std::vector<const char*>& names, SourceLoc loc);
/// The index of cond's branches {false, true}; throws unless pred is one bool or number.
Array index_of_predicate(const Array& pred, SourceLoc loc);
Array index_of_switch(const Array& which, SourceLoc loc);
/// Returns the leaves of the final carry; the arguments of both functions are the carry.
std::vector<Array> flat_while(FlatFunction& cond, FlatFunction& body, const WhileOptions& options, SourceLoc loc);
/// The arguments of the body are the step's number and the carry.
std::vector<Array> flat_fori(const Array& lower, const Array& upper, FlatFunction& body, const WhileOptions& options, SourceLoc loc);
/// The arguments of the body are the carry and xs, whose slices it is called with. Returns the leaves of its result, ys stacked.
std::vector<Array> flat_scan(CalledAs function, FlatFunction& body, const ScanOptions& options, SourceLoc loc);

/// Calls `go` with one FlatCall for each function of the tuple.
template <std::size_t I = 0, class Fs, class Go, class... A>
void with_flat_calls(Fs& functions, std::vector<FlatFunction*>& calls, const Go& go, SourceLoc loc, const A&... args) {
  if constexpr (I == std::tuple_size_v<Fs>) {
    go();
  } else {
    FlatCall<std::tuple_element_t<I, Fs>, A...> flat(std::get<I>(functions), loc, args...);
    calls.push_back(&flat);
    with_flat_calls<I + 1>(functions, calls, go, loc, args...);
  }
}

// Strided slices of an array along an axis, and their inverse, for associative_scan.
Array strided_part(const Array& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step);
Array interleave(const Array& even, const Array& odd, int axis);
/// Throws unless the number of elements of a batch is positive.
std::int64_t checked_batch(std::int64_t size, SourceLoc loc);
int associative_axis(const std::vector<Array>& leaves, int axis, SourceLoc loc);
/// Throws unless what associative_scan's function returned has the types of its arguments.
void check_combined(const std::vector<Array>& result, const std::vector<Array>& operands);

// Combine neighbours, scan those, fill in the elements between (G. Blelloch, Prefix Sums and Their Applications, 1990).
template <class F, class T>
T associative_scan_tree(F& f, const T& xs, int axis) {
  const std::int64_t n = leaves_of(xs)[0].shape()[axis];
  if (n < 2) return as_copy(xs);
  auto part = [&](const T& t, std::int64_t start, std::int64_t stop, std::int64_t step) {
    return map_leaves(t, [&](const Array& x) { return strided_part(x, axis, start, stop, step); });
  };
  auto two = [&](const T& a, const T& b, auto g) {
    const std::vector<Array> others = leaves_of(b);
    std::size_t next = 0;
    return map_leaves(a, [&](const Array& x) { return g(x, others[next++]); });
  };
  auto combine = [&](const T& a, const T& b) -> T {
    T c = to_traced(f(a, b));
    check_combined(leaves_of(c), leaves_of(a));
    return c;
  };
  const T odd = associative_scan_tree(f, combine(part(xs, 0, n - 1, 2), part(xs, 1, n, 2)), axis);
  T even = part(xs, 0, 1, 1);
  if (n > 2) {
    const T before = n % 2 == 0 ? part(odd, 0, n / 2 - 1, 1) : T(as_copy(odd));
    even = two(even, combine(before, part(xs, 2, n, 2)), [&](const Array& a, const Array& b) { return concatenate({a, b}, axis); });
  }
  return two(even, odd, [&](const Array& a, const Array& b) { return interleave(a, b, axis); });
}

/// map without options: a scan over the slices.
template <class F, class X>
out_t<F, X> map_sequentially(F& f, const X& xs, SourceLoc loc) {
  auto step = [&f](None, const X& x) { return std::pair<None, out_t<F, X>>(none, to_traced(f(x))); };
  FlatCall<decltype(step), None, X> flat(step, loc, none, xs);
  return flat.make_result(flat_scan(CalledAs::map, flat, {}, loc)).second;
}

/// map in batches: a scan over vmap of f, then one smaller batch for the remainder.
template <class F, class Xs>
auto map_in_batches(F f, const Xs& xs, std::int64_t batch, SourceLoc loc);

}  // namespace detail

/// `cond(pred, true_fn, false_fn, operands...)`: the result of one of two functions (jax.lax.cond). Under vmap with a predicate that
/// differs from lane to lane both run and each lane selects. Throws PytreeError or ShapeError if the branches return different types.
template <class T, class F, class... A>
auto cond(Arg pred, T true_fn, F false_fn, const A&... operands) {
  constexpr bool functions = !std::is_convertible_v<T, Array> && !std::is_convertible_v<F, Array>;
  static_assert(functions, "weft: cond calls one of two functions: cond(c, f, g, x); where(c, x, y) chooses between arrays");
  if constexpr (!functions) {
    return Array();
  } else {
    static_assert(std::is_same_v<detail::out_t<T, A...>, detail::out_t<F, A...>>, "weft: both branches of cond return the same type");
    const SourceLoc loc = pred.where();
    detail::FlatCall<T, A...> yes(true_fn, loc, operands...);
    detail::FlatCall<F, A...> no(false_fn, loc, operands...);
    return yes.make_result(
        detail::flat_cond("cond", detail::index_of_predicate(pred.array(), loc), {&no, &yes}, {"false_fn", "true_fn"}, loc));
  }
}

/// `switch_(index, std::tuple{f, g, ...}, operands...)`: the result of the function that the index names, clamped to those there are
/// (jax.lax.switch).
template <class F, class... Fs, class... A>
detail::out_t<F, A...> switch_(Arg index, const std::tuple<F, Fs...>& branches, const A&... operands) {
  using Out = detail::out_t<F, A...>;
  static_assert((std::is_same_v<Out, detail::out_t<Fs, A...>> && ...), "weft: all branches of switch_ return the same type");
  const SourceLoc loc = index.where();
  std::tuple<F, Fs...> functions = branches;
  std::vector<detail::FlatFunction*> calls;
  std::optional<Out> result;
  detail::with_flat_calls(
      functions, calls,
      [&] {
        const std::vector<Array> leaves = detail::flat_cond("switch_", detail::index_of_switch(index.array(), loc), calls, {}, loc);
        result.emplace(static_cast<detail::FlatCall<F, A...>*>(calls[0])->make_result(leaves));
      },
      loc, operands...);
  return std::move(*result);
}
/// The branches in a vector: all of one type.
template <class F, class... A>
detail::out_t<F, A...> switch_(Arg index, const std::vector<F>& branches, const A&... operands) {
  const SourceLoc loc = index.where();
  std::vector<F> functions = branches;
  // A FlatCall can't be moved, but it can be constructed in place in an optional.
  std::vector<std::optional<detail::FlatCall<F, A...>>> flat(functions.size());
  std::vector<detail::FlatFunction*> calls;
  for (std::size_t i = 0; i < functions.size(); ++i) calls.push_back(&flat[i].emplace(functions[i], loc, operands...));
  const std::vector<Array> leaves = detail::flat_cond("switch_", detail::index_of_switch(index.array(), loc), calls, {}, loc);
  return flat[0]->make_result(leaves);
}

/// Repeats `body` on the carry while `condition` of it holds (jax.lax.while_loop). Reverse mode needs
/// `{.max_steps = n}` or `{.checkpoints = ...}`.
template <class C, class B, class Init>
detail::traced_t<Init> while_loop(C condition, B body, const Init& init, WhileOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  using Carry = detail::traced_t<Init>;
  static_assert(std::is_convertible_v<detail::out_t<C, Carry>, Array>, "weft: while_loop's condition returns one bool");
  static_assert(std::is_same_v<Carry, detail::out_t<B, Carry>>, "weft: while_loop's body returns its carry's type");
  const Carry carry = detail::to_traced(init);
  detail::FlatCall<C, Carry> flat_condition(condition, loc, carry);
  detail::FlatCall<B, Carry> flat_body(body, loc, carry);
  return detail::with_leaves(carry, std::span<const Array>(detail::flat_while(flat_condition, flat_body, options, loc)));
}

/// `carry = body(i, carry)` for i from lower to upper - 1 (jax.lax.fori_loop). With constant bounds it is reverse-differentiable.
template <class B, class Init>
detail::traced_t<Init> fori_loop(Arg lower, Arg upper, B body, const Init& init, WhileOptions options = {}) {
  using Carry = detail::traced_t<Init>;
  static_assert(std::is_same_v<Carry, detail::out_t<B, Array, Carry>>,
                "weft: fori_loop's body(i, carry) returns its carry's type; i arrives as a weft::Array");
  const Carry carry = detail::to_traced(init);
  detail::FlatCall<B, Array, Carry> flat(body, lower.where(), lower.array(), carry);
  return detail::with_leaves(carry, std::span<const Array>(detail::flat_fori(lower.array(), upper.array(), flat, options, lower.where())));
}

/// `carry, y = f(carry, x)` for each slice x of xs along the leading axis; the pair of the last carry and the ys, stacked (jax.lax.scan).
/// xs and y may be `none`.
template <class F, class Init, class Xs>
auto scan(F f, const Init& init, const Xs& xs, ScanOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  using Carry = detail::traced_t<Init>;
  using R = detail::out_t<F, Carry, detail::traced_t<Xs>>;
  static_assert(detail::kIsPair<R>, "weft: scan's function returns std::pair{carry, y}; y may be weft::none");
  if constexpr (detail::kIsPair<R>) {
    static_assert(std::is_same_v<Carry, std::tuple_element_t<0, R>>,
                  "weft: scan's function returns std::pair{carry, y}, the carry of init's type");
    detail::FlatCall<F, Carry, detail::traced_t<Xs>> flat(f, loc, detail::to_traced(init), detail::to_traced(xs));
    R both = flat.make_result(detail::flat_scan(detail::CalledAs::operation, flat, options, loc));
    return std::pair<Carry, std::tuple_element_t<1, R>>(std::get<0>(std::move(both)), std::get<1>(std::move(both)));
  }
}

/// The same without xs: `scan(f, init, {}, {.length = n})`.
template <class F, class Init>
auto scan(F f, const Init& init, std::initializer_list<None>, ScanOptions options, SourceLoc loc = SourceLoc::here()) {
  return scan(std::move(f), init, none, std::move(options), loc);
}
template <class F, class Init>
auto scan(F f, const Init& init, None xs, Int length, SourceLoc loc = SourceLoc::here()) {
  return scan(std::move(f), init, xs, ScanOptions{.length = length}, loc);
}

/// f of each slice of xs along the leading axis, in sequence, with the results stacked (jax.lax.map). vmap computes all at once.
template <class F = UnaryFunction, class Xs>
detail::out_t<F, Xs> map(F f, const Xs& xs, MapOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  if (options.batch_size)
    return detail::map_in_batches(std::move(f), detail::to_traced(xs), detail::checked_batch(*options.batch_size, loc), loc);
  return detail::map_sequentially(f, detail::to_traced(xs), loc);
}

/// All prefixes x0, f(x0, x1), f(f(x0, x1), x2), ... along an axis, for an associative f of two elements (of whole trees), in a logarithmic
/// number of steps (jax.lax.associative_scan). f is called on slices of many elements at once.
template <class F = BinaryFunction, class Xs>
detail::traced_t<Xs> associative_scan(F f, const Xs& xs, AssociativeScanOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  using T = detail::traced_t<Xs>;
  static_assert(std::is_same_v<T, detail::out_t<F, T, T>>, "weft: associative_scan combines two elements into one of the same type");
  const T all = detail::to_traced(xs);
  const int axis = detail::associative_axis(detail::leaves_of(all), options.axis, loc);
  auto in_order = [&](const T& t) {
    return options.reverse ? detail::map_leaves(t, [&](const Array& x) { return flip(x, axis); }) : T(detail::as_copy(t));
  };
  return in_order(detail::associative_scan_tree(f, in_order(all), axis));
}

namespace detail {

template <class F, class Xs>
auto map_in_batches(F f, const Xs& xs, std::int64_t batch, SourceLoc loc) {
  const std::vector<Array> leaves = leaves_of(xs);
  const std::int64_t n = leaves.empty() || leaves[0].ndim() == 0 ? 0 : leaves[0].shape()[0], whole = n / batch * batch;
  auto mapped = vmap(std::move(f));
  if (whole == 0) return mapped(xs);
  auto first = map_leaves(xs, [&](const Array& x) {
    Shape shape = x.shape().inserted(0, whole / batch);
    shape[1] = batch;
    return reshape(strided_part(x, 0, 0, whole, 1), shape);
  });
  auto flattened = map_leaves(map_sequentially(mapped, first, loc), [&](const Array& y) {
    Shape shape = y.shape().erased(0);
    shape[0] = whole;
    return reshape(y, shape);
  });
  if (whole == n) return flattened;
  const std::vector<Array> rest = leaves_of(mapped(map_leaves(xs, [&](const Array& x) { return strided_part(x, 0, whole, n, 1); })));
  std::size_t next = 0;
  return map_leaves(flattened, [&](const Array& y) { return concatenate({y, rest[next++]}, 0); });
}

}  // namespace detail
}  // namespace weft
