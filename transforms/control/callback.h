// Calls back into C++ from compiled programs: pure_callback, io_callback, debug::print, debug::callback.
#pragma once
#include "weft/transforms/flat.h"

namespace weft {

/// Options of io_callback (jax.experimental.io_callback).
struct CallbackOptions {
  bool ordered = false;  ///< the ordered callbacks of a program run in program order; vmap can't map them
};
/// Options of pure_callback (jax.pure_callback).
struct PureCallbackOptions {
  /// How vmap calls it. "sequential": once for each lane. "expand_dims": once, with a leading axis on each operand, of size 1 where that
  /// isn't mapped. "broadcast_all": once, with each operand broadcast to all lanes. The last two need a function that takes batches.
  std::string vmap_method = "sequential";
};

namespace detail {

/// A callback over flat arrays; programs hold it as long as they live.
struct FlatCallback : RefCounted {
  virtual std::vector<Array> call(std::span<const Array> leaves) const = 0;
};
/// One call of a callback, with the leaves of its arguments.
struct CallbackCall {
  std::string name;  ///< of the function
  Ref<const FlatCallback> function;
  std::vector<Array> leaves;
  SourceLoc loc;
};
std::vector<Array> flat_pure_callback(const CallbackCall& c, std::span<const Array> shapes, const PureCallbackOptions& options);
std::vector<Array> flat_io_callback(const CallbackCall& c, std::span<const Array> shapes, const CallbackOptions& options);
void flat_debug_callback(const CallbackCall& c);
void flat_debug_print(const TextArg& format, std::span<const Skeleton> args, std::span<const Array> leaves);

/// F on arguments of types P; static arguments are kept in it. Result: the type that F returns; None where the result is dropped.
template <class F, class Result, class... P>
class CallbackOf final : public FlatCallback {
 public:
  using Kept = kept_args_t<std::tuple<P...>>;
  CallbackOf(F f, Kept args) : f_(std::move(f)), args_(std::move(args)) {}
  std::vector<Array> call(std::span<const Array> leaves) const override {
    const Kept args = with_leaves(args_, leaves);
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> std::vector<Array> {
      if constexpr (std::is_same_v<Result, None>) {
        static_cast<void>(f_(as_parameter<P>(std::get<I>(args))...));
        return {};
      } else {
        return leaves_of<Result>(to_traced(f_(as_parameter<P>(std::get<I>(args))...)));
      }
    }(std::index_sequence_for<P...>());
  }

 private:
  template <class T, class K>
  static decltype(auto) as_parameter(const K& kept) {
    if constexpr (std::is_same_v<T, K>)
      return (kept);
    else if constexpr (std::is_same_v<T, std::string_view>)
      return T(kept);
    else
      return const_cast<T>(kept.c_str());  // text, kept as a std::string
  }
  mutable F f_;
  Kept args_;
};

template <class Result, class F, class... P>
CallbackCall callback_call(const F& f, const std::tuple<P...>& args, SourceLoc loc) {
  using Function = CallbackOf<F, Result, P...>;
  CallbackCall c{name_of_function<F>(), Ref<const FlatCallback>(new Function(f, keep_arguments<typename Function::Kept>(args))), {}, loc};
  std::apply([&](const P&... p) { (for_each_leaf(p, [&](const Array& x) { c.leaves.push_back(x); }), ...); }, args);
  return c;
}

// Function objects, so that the last parameter can be the user's line: no default can follow a pack.
template <class Options, std::vector<Array> (*Flat)(const CallbackCall&, std::span<const Array>, const Options&)>
struct CallbackWithResult : Callable<CallbackWithResult<Options, Flat>> {
  using Callable<CallbackWithResult>::operator();
  using L = SourceLoc;
  auto operator()(const auto& f, const auto& shapes, const Options& o, L loc = L::here()) const { return run(loc, o, f, shapes); }
  auto operator()(const auto& f, const auto& shapes, const Options& o, const auto& a, L loc = L::here()) const {
    return run(loc, o, f, shapes, a);
  }
  auto operator()(const auto& f, const auto& shapes, const Options& o, const auto& a, const auto& b, L loc = L::here()) const {
    return run(loc, o, f, shapes, a, b);
  }
  auto operator()(const auto& f, const auto& shapes, const Options& o, const auto& a, const auto& b, const auto& c,
                  L loc = L::here()) const {
    return run(loc, o, f, shapes, a, b, c);
  }
  auto operator()(const auto& f, const auto& shapes, const Options& o, const auto& a, const auto& b, const auto& c, const auto& d,
                  L loc = L::here()) const {
    return run(loc, o, f, shapes, a, b, c, d);
  }
  template <class F, class S, class... A>
  auto call(L loc, const F& f, const S& shapes, const A&... args) const {
    return run(loc, Options(), f, shapes, args...);
  }

 private:
  template <class F, class S, class... A>
  traced_t<S> run(L loc, const Options& options, const F& f, const S& shapes, const A&... args) const {
    using G = value_t<F>;
    using Result = traced_t<S>;
    using Params = params_t<G, A...>;
    static_assert(std::is_convertible_v<out_t<G, A...>, Result>, "weft: a callback returns what the shapes that it is given promise");
    const Result result = to_traced(shapes);
    const Params params = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Params{as_copy(pass_as<std::tuple_element_t<I, Params>>(args))...};
    }(std::index_sequence_for<A...>());
    const CallbackCall c = callback_call<Result, G>(f, params, loc);
    const std::vector<Array> out = Flat(c, leaves_of(result), options);
    return with_leaves(result, std::span<const Array>(out));
  }
};
struct DebugCallbackFunction : Callable<DebugCallbackFunction> {
  template <class F, class... A>
  void call(SourceLoc loc, const F& f, const A&... args) const {
    using G = value_t<F>;
    using Params = params_t<G, A...>;
    const Params params = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Params{as_copy(pass_as<std::tuple_element_t<I, Params>>(args))...};
    }(std::index_sequence_for<A...>());
    flat_debug_callback(callback_call<None, G>(f, params, loc));
  }
};

}  // namespace detail

/// `pure_callback(f, shapes, args...)`: f(args...) as an operation of a program, called with concrete arrays when the program runs
/// (jax.pure_callback). `shapes` is a tree like f's result, of ShapeDtypeStructs. f must have no side effects: it may be called any number
/// of times, also not at all. Differentiating it throws TracerError unless a custom_jvp or custom_vjp is around it. A result that differs
/// from `shapes` throws ShapeError or DTypeError when the program runs. `pure_callback(f, shapes, {.vmap_method = "..."}, args...)`.
inline constexpr detail::CallbackWithResult<PureCallbackOptions, detail::flat_pure_callback> pure_callback{};
/// The same for an f with side effects: it is called once each time that the program reaches it (jax.experimental.io_callback).
/// `io_callback(f, shapes, {.ordered = true}, args...)`.
inline constexpr detail::CallbackWithResult<CallbackOptions, detail::flat_io_callback> io_callback{};

/// Printing and callbacks from compiled programs, for debugging (jax.debug). Under vmap they happen once for each lane; lines are labelled
/// with the lane and, under pmap and shard_map, with the device: `[cpu:1, lane 2] x = 3.0`. Derivatives see the primal values. As in JAX, a
/// batched loop runs until its last lane ends and calls them for all lanes, and where lanes take different branches all branches run.
namespace debug {
/// `debug::print("x = {}, {:.3f}", x, y)`: one line on stdout, when the program runs. Arrays are printed as NumPy does, trees in brackets;
/// scalars may have fmt's specifications. Fields may be numbered, `{0}`. Throws Error where the fields don't fit the arguments.
template <class... A>
void print(TextArg format, const A&... args) {
  std::vector<Array> leaves;
  (detail::for_each_leaf(detail::to_traced(args), [&](const Array& x) { leaves.push_back(x); }), ...);
  const std::vector<detail::Skeleton> trees{detail::skeleton_of(detail::to_traced(args))...};
  detail::flat_debug_print(format, trees, leaves);
}
/// `debug::callback(f, args...)`: calls f with concrete arrays when the program runs; what it returns is dropped.
inline constexpr detail::DebugCallbackFunction callback{};
/// Within a callback: the lane and device that it is called for, as printed lines are labelled; empty where there is only one.
std::string label();
}  // namespace debug

/// Waits until the callbacks and prints of all programs started so far have happened (jax.effects_barrier).
void effects_barrier(SourceLoc loc = SourceLoc::here());

}  // namespace weft
