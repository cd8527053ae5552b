// A C++ function over trees as one over flat arrays: the templates' interface to the transforms, which are not templates.
#pragma once
#include "weft/core/ir/jaxpr.h"
#include "weft/transforms/call_types.h"

// A sentence for arguments that are passed to a transform instead of to the function that it gives.
#define WEFT_GIVES_A_FUNCTION(name)                                                                               \
  template <class F, std::same_as<Array> A, class... More>                                                        \
  auto name(F f, const A&, const More&...) {                                                                      \
    static_assert(!sizeof(F), "weft: " #name "(f) gives a function, which takes the arguments: " #name "(f)(x)"); \
    return f;                                                                                                     \
  }

namespace weft::detail {

/// Whether a function gives a std::pair, or a std::tuple of two: a result and what comes with it.
template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;
template <class A, class B>
inline constexpr bool kIsPair<std::tuple<A, B>> = true;

/// One call of a function, flattened.
class FlatFunction {
 public:
  FlatFunction(std::string function, SourceLoc where) : name(std::move(function)), loc(where) {}
  FlatFunction(const FlatFunction&) = delete;
  FlatFunction& operator=(const FlatFunction&) = delete;
  virtual ~FlatFunction() = default;
  /// Calls the function with other leaves.
  virtual std::vector<Array> run(std::span<const Array> leaves) = 0;
  virtual Skeleton arguments() const = 0;
  /// The structure of the last run's result.
  virtual Skeleton result() const = 0;

  const std::string name;  ///< for messages
  const SourceLoc loc;     ///< the user's call
  std::vector<Array> args;
  std::vector<std::size_t> offsets;  ///< args[offsets[i]] is the first leaf of argument i; one more at the end
  bool has_aux = false;              ///< the result is a pair, whose second part is not differentiated
  std::size_t num_primary = 0;       ///< leaves of the last run's result, or of its first part if it has an auxiliary one
};

/// Throws Error, with the path, if an array among the arguments is empty (default-constructed or moved from).
void check_no_array_is_empty(const FlatFunction& f);

/// The function F called with arguments of types A.
template <class F, class... A>
class FlatCall final : public FlatFunction {
 public:
  using Params = params_t<F, A...>;
  using Out = out_t<F, A...>;

  FlatCall(F& f, SourceLoc where, const A&... given) : FlatCall(f, where, std::index_sequence_for<A...>(), given...) {}

  std::vector<Array> run(std::span<const Array> leaves) override {
    auto call = [&]() -> Out {
      if constexpr (std::is_void_v<returned_t<F, A...>>) {
        apply_at(loc, f_, with_leaves(params, leaves));
        return None();
      } else {
        return to_traced(apply_at(loc, f_, with_leaves(params, leaves)));
      }
    };
    const Out returned = call();
    out.emplace(without_leaves(returned));
    std::vector<Array> leaves_out = leaves_of(returned);
    num_primary = leaves_out.size();
    if constexpr (kIsPair<Out>)
      if (has_aux) num_primary = leaves_of(std::get<0>(*out)).size();
    return leaves_out;
  }
  Skeleton arguments() const override { return skeleton_of_args(params); }
  Skeleton result() const override { return skeleton_of(*out, "result"); }
  /// A result of the function's own type, made of these leaves.
  Out make_result(std::span<const Array> leaves) const { return with_leaves(*out, leaves); }

  Params params;           ///< the arguments as the function takes them
  std::optional<Out> out;  ///< the structure of the last result

 private:
  template <std::size_t... I>
  FlatCall(F& f, SourceLoc where, std::index_sequence<I...>, const A&... given)
      : FlatFunction(name_of_function<F>(), where), params{as_copy(pass_as<std::tuple_element_t<I, Params>>(given))...}, f_(f) {
    offsets.push_back(0);
    (
        [&] {
          for_each_leaf(std::get<I>(params), [&](const Array& x) { args.push_back(x); });
          offsets.push_back(args.size());
        }(),
        ...);
  }
  F& f_;
};

}  // namespace weft::detail
