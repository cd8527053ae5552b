// custom_jvp and custom_vjp: functions with derivatives of the user's.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/ir/checkpoint_policy.h"
#include "weft/transforms/flat.h"

namespace weft {

namespace detail {

/// The user's rule of a custom_jvp function, over leaves: the primals, then the tangents.
struct FlatJvpRule : RefCounted {
  virtual std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc loc) const = 0;
};
struct FlatBackward : RefCounted {
  virtual std::vector<Array> apply(std::span<const Array> residuals, std::span<const Array> cotangents) const = 0;
  std::vector<bool> is_zero;  ///< of each cotangent of the arguments: none stands for it, and apply gives an empty array
};
struct FlatForward {
  std::vector<Array> results, residuals;
  Ref<const FlatBackward> backward;
};
struct FlatVjpRule : RefCounted {
  virtual FlatForward forward(std::span<const Array> primals, SourceLoc loc) const = 0;
};
std::vector<Array> flat_custom_jvp(FlatFunction& f, Ref<const FlatJvpRule> rule, const std::string& rule_name);
std::vector<Array> flat_custom_vjp(FlatFunction& f, Ref<const FlatVjpRule> rule, const std::string& fwd_name, const std::string& bwd_name);
std::vector<Array> flat_checkpoint(FlatFunction& f, const CheckpointPolicy& policy, bool prevent_cse);

/// A callable on the heap: programs refer to it and may outlive the function that made it.
template <class F>
struct SharedCallable : RefCounted {
  explicit SharedCallable(F f) : call(std::move(f)) {}
  mutable F call;
};

/// What a rule returns, as a pair; it may be a std::tuple of two.
template <class A, class B>
std::pair<A, B> as_pair(std::pair<A, B> both) {
  return both;
}
template <class A, class B>
std::pair<A, B> as_pair(std::tuple<A, B> both) {
  return {std::get<0>(std::move(both)), std::get<1>(std::move(both))};
}
template <class T>
concept PairLike = requires(T both) { as_pair(std::move(both)); };

/// Calls a rule of custom_jvp; one with three parameters gets the function itself first.
template <class Rule, class Self, class Params, class Tangents>
auto call_jvp_rule(Rule& rule, const Self& self, const Params& primals, const Tangents& tangents) {
  if constexpr (std::is_invocable_v<Rule&, Params, Tangents>)
    return rule(primals, tangents);
  else
    return rule(self, primals, tangents);
}
/// Self: the function that has the rule.
template <class Self, class Rule, class Params, class Out>
struct JvpRuleOf final : FlatJvpRule {
  JvpRuleOf(Self s, Ref<const SharedCallable<Rule>> r, const Params& p)
      : self(std::move(s)), rule(std::move(r)), params(without_leaves(p)) {}
  const Self self;
  const Ref<const SharedCallable<Rule>> rule;
  const Params params;

  std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc loc) const override {
    const auto both =
        as_pair(to_traced(call_jvp_rule(rule->call, self, with_leaves(params, primals), with_leaves(tangent_structure(params), tangents))));
    check_same_structure("custom_jvp", both.first, "output", both.second, "tangent", loc);
    return leaves_of(both);
  }
};

/// Whether a rule that returns Given gives for each argument a cotangent, or none.
template <class Given, class Cts>
inline constexpr bool kGivesCotangents = false;
template <template <class...> class Given, class... G, class... Ct>
  requires(sizeof...(G) == sizeof...(Ct))
inline constexpr bool kGivesCotangents<Given<G...>, std::tuple<Ct...>> = ((std::is_same_v<G, Ct> || std::is_same_v<G, None>) && ...);

template <class Bwd, class Res, class Out, class Given, class Cts>
struct BackwardOf final : FlatBackward {
  BackwardOf(Ref<const SharedCallable<Bwd>> b, Res r, Out o, Cts c)
      : bwd(std::move(b)), res(std::move(r)), out(std::move(o)), structure(std::move(c)) {
    auto mark = [this](std::size_t leaves, bool zero) { is_zero.insert(is_zero.end(), leaves, zero); };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (mark(leaves_of(std::get<I>(structure)).size(), std::is_same_v<std::tuple_element_t<I, Given>, None>), ...);
    }(std::make_index_sequence<std::tuple_size_v<Cts>>());
  }
  const Ref<const SharedCallable<Bwd>> bwd;
  const Res res;
  const Out out;
  const Cts structure;

  std::vector<Array> apply(std::span<const Array> residuals, std::span<const Array> cotangents) const override {
    const Given given = to_traced(bwd->call(with_leaves(res, residuals), with_leaves(out, cotangents)));
    Cts all = structure;
    auto put = [](auto& to, const auto& from) {
      if constexpr (std::is_assignable_v<decltype(to), decltype(from)>) to = from;
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (put(std::get<I>(all), std::get<I>(given)), ...);
    }(std::make_index_sequence<std::tuple_size_v<Cts>>());
    return leaves_of(all);
  }
};

template <class Fwd, class Bwd, class Params, class Out, class Pair>
struct VjpRuleOf final : FlatVjpRule {
  VjpRuleOf(Ref<const SharedCallable<Fwd>> f, Ref<const SharedCallable<Bwd>> b, const Params& p)
      : fwd(std::move(f)), bwd(std::move(b)), params(without_leaves(p)) {}
  const Ref<const SharedCallable<Fwd>> fwd;
  const Ref<const SharedCallable<Bwd>> bwd;
  const Params params;

  FlatForward forward(std::span<const Array> primals, SourceLoc loc) const override {
    using Res = typename Pair::second_type;
    const Pair both = as_pair(to_traced(apply_at(loc, fwd->call, with_leaves(params, primals))));
    using Given = traced_t<decltype(bwd->call(std::declval<Res>(), std::declval<Out>()))>;
    using Backward = BackwardOf<Bwd, Res, Out, Given, tangents_t<Params>>;
    return {leaves_of(both.first), leaves_of(both.second),
            make_ref<Backward>(bwd, without_leaves(both.second), without_leaves(both.first), tangent_structure(params))};
  }
};

template <class F, class Rule>
class CustomJvp : public Callable<CustomJvp<F, Rule>> {
 public:
  using weft_inner = F;
  CustomJvp(F f, Rule rule) : f_(std::move(f)), rule_(make_ref<SharedCallable<Rule>>(std::move(rule))) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    using P = params_t<F, A...>;
    using Out = out_t<F, A...>;
    static_assert(std::is_invocable_v<Rule&, P, tangents_t<P>> || std::is_invocable_v<Rule&, const CustomJvp&, P, tangents_t<P>>,
                  "weft: a jvp rule takes two std::tuples, of the primals and of their tangents, one element for each argument");
    using R = traced_t<decltype(call_jvp_rule(rule_->call, *this, std::declval<P>(), std::declval<tangents_t<P>>()))>;
    static_assert(std::is_same_v<R, std::pair<Out, Out>> || std::is_same_v<R, std::tuple<Out, Out>>,
                  "weft: a jvp rule returns std::pair{output, output tangent}");
    FlatCall<F, A...> flat(f_, loc, args...);
    const std::vector<Array> results =
        flat_custom_jvp(flat, make_ref<JvpRuleOf<CustomJvp, Rule, P, Out>>(*this, rule_, flat.params), name_of_function<Rule>());
    return flat.make_result(results);
  }

 private:
  mutable F f_;
  KeptRef<const SharedCallable<Rule>> rule_;
};

template <class F, class Fwd, class Bwd>
class CustomVjp : public Callable<CustomVjp<F, Fwd, Bwd>> {
 public:
  using weft_inner = F;
  CustomVjp(F f, Fwd fwd, Bwd bwd)
      : f_(std::move(f)), fwd_(make_ref<SharedCallable<Fwd>>(std::move(fwd))), bwd_(make_ref<SharedCallable<Bwd>>(std::move(bwd))) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    using P = params_t<F, A...>;
    using Out = out_t<F, A...>;
    using Returned = traced_t<decltype(std::apply(fwd_->call, std::declval<P>()))>;
    static_assert(PairLike<Returned>, "weft: fwd returns std::pair{output, residuals}");
    using Pair = decltype(as_pair(std::declval<Returned>()));
    static_assert(std::is_same_v<typename Pair::first_type, Out>, "weft: fwd returns std::pair{output, residuals}");
    static_assert(
        requires { bwd_->call(std::declval<typename Pair::second_type>(), std::declval<Out>()); },
        "weft: bwd takes (residuals, cotangent), and numbers among the residuals as Array; what it needs of a static argument, fwd returns "
        "among the residuals");
    using Ct = traced_t<decltype(bwd_->call(std::declval<typename Pair::second_type>(), std::declval<Out>()))>;
    static_assert(kGivesCotangents<Ct, tangents_t<P>>,
                  "weft: bwd returns a std::tuple with one cotangent for each argument, of its type, or none for a zero or a static one");
    FlatCall<F, A...> flat(f_, loc, args...);
    using RuleType = VjpRuleOf<Fwd, Bwd, P, Out, Pair>;
    const std::vector<Array> results =
        flat_custom_vjp(flat, make_ref<RuleType>(fwd_, bwd_, flat.params), name_of_function<Fwd>(), name_of_function<Bwd>());
    return flat.make_result(results);
  }

 private:
  mutable F f_;
  KeptRef<const SharedCallable<Fwd>> fwd_;
  KeptRef<const SharedCallable<Bwd>> bwd_;
};

}  // namespace detail

/// f with the user's forward derivative: rule(std::tuple of primals, std::tuple of tangents) returns std::pair{result, its tangent}, or a
/// std::tuple of them, the tangent linear in the tangents. It serves forward and reverse mode and their compositions (jax.custom_jvp). A
/// rule that calls f, so that derivatives of any order use it, takes it as a first parameter: `[](auto f, auto primals, auto tangents)`.
template <class F = UnaryFunction, class Rule>
detail::CustomJvp<F, Rule> custom_jvp(F f, Rule rule) {
  return {std::move(f), std::move(rule)};
}
/// f with a reverse derivative given by the user: fwd(arguments...) returns std::pair{result, residuals}, or a std::tuple of them, and
/// bwd(residuals, cotangent) a std::tuple with one cotangent for each argument, `none` for a static argument, or in place of a zero
/// (jax.custom_vjp). Forward mode throws TracerError.
template <class F = UnaryFunction, class Fwd, class Bwd>
detail::CustomVjp<F, Fwd, Bwd> custom_vjp(F f, Fwd fwd, Bwd bwd) {
  return {std::move(f), std::move(fwd), std::move(bwd)};
}

namespace detail {
std::vector<Array> sum_of_tangents(const std::vector<Array>& results, const std::vector<std::vector<Array>>& tangents);
/// The rule of custom_jvp that adds up the tangents of rules for each argument.
template <class... Rules>
auto rule_of_each(Rules... rules) {
  return [each = std::tuple(std::move(rules)...)]<class Self, class... P, class T>(const Self& f, const std::tuple<P...>& primals,
                                                                                   const T& tangents) mutable {
    static_assert(sizeof...(P) == sizeof...(Rules), "weft: defjvps takes one rule for each argument, or none");
    const auto out = std::apply(f, primals);
    std::vector<std::vector<Array>> parts;
    const auto add = [&](auto& rule, const auto& t) {
      if constexpr (!NoneValue<std::decay_t<decltype(rule)>>)
        parts.push_back(leaves_of(to_traced(std::apply([&](const auto&... p) { return rule(t, out, p...); }, primals))));
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add(std::get<I>(each), std::get<I>(tangents)), ...);
    }(std::index_sequence_for<P...>());
    return std::pair(out, with_leaves(out, sum_of_tangents(leaves_of(out), parts)));
  };
}
/// A function that waits for its rules.
template <class F>
struct WithoutRules {
  F f;
  template <class Rule>
  [[nodiscard]] CustomJvp<F, Rule> defjvp(Rule rule) const {
    return {f, std::move(rule)};
  }
  template <class... Rules>
  [[nodiscard]] auto defjvps(Rules... rules) const {
    return custom_jvp(f, rule_of_each(std::move(rules)...));
  }
  template <class Fwd, class Bwd>
  [[nodiscard]] CustomVjp<F, Fwd, Bwd> defvjp(Fwd fwd, Bwd bwd) const {
    return {f, std::move(fwd), std::move(bwd)};
  }
  template <class... A>
  auto operator()(const A&...) const {
    static_assert(
        !sizeof(F),
        "weft: a custom rule is missing: custom_jvp(f, rule), custom_vjp(f, fwd, bwd), or auto g = custom_vjp(f).defvjp(fwd, bwd)");
    return Array();
  }
};
}  // namespace detail
/// `auto g = custom_jvp(f).defjvp(rule)`: the same as custom_jvp(f, rule). `.defjvps(rules...)` takes a rule for each argument in its
/// place, or none where the result does not depend on it: rule(tangent of the argument, result, arguments...) is its part of the result's
/// tangent.
template <class F = UnaryFunction>
detail::WithoutRules<F> custom_jvp(F f) {
  return {std::move(f)};
}
/// `auto g = custom_vjp(f).defvjp(fwd, bwd)`: the same as custom_vjp(f, fwd, bwd).
template <class F = UnaryFunction>
detail::WithoutRules<F> custom_vjp(F f) {
  return {std::move(f)};
}

/// Options of checkpoint (jax.checkpoint).
struct CheckpointOptions {
  CheckpointPolicy policy = policies::nothing_saveable;  ///< what is saved for the derivative
  bool prevent_cse = true;                               ///< keeps the compiler from replacing the recomputation by the first one (CSE)
};

namespace detail {
template <class F>
class Checkpoint : public Callable<Checkpoint<F>> {
 public:
  using weft_inner = F;
  Checkpoint(F f, CheckpointOptions options) : f_(std::move(f)), options_(std::move(options)) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    FlatCall<F, A...> flat(f_, loc, args...);
    const std::vector<Array> results = flat_checkpoint(flat, options_.policy, options_.prevent_cse);
    return flat.make_result(results);
  }

 private:
  mutable F f_;
  CheckpointOptions options_;
};
Array stop_gradient_leaf(const Array& x, SourceLoc loc);
}  // namespace detail

/// f as it is, with a derivative that computes f's intermediate values again instead of keeping them (jax.checkpoint, jax.remat).
template <class F = UnaryFunction>
detail::Checkpoint<F> checkpoint(F f, CheckpointOptions options = {}) {
  return {std::move(f), std::move(options)};
}
template <class F = UnaryFunction>
detail::Checkpoint<F> remat(F f, CheckpointOptions options = {}) {
  return {std::move(f), std::move(options)};
}

/// The tree as it is (jax.lax.optimization_barrier). Nothing is needed to keep a recomputation from being merged with the first computation
/// but checkpoint, which does so.
template <class T>
detail::traced_t<T> optimization_barrier(const T& tree) {
  return detail::to_traced(tree);
}
/// The tree as a constant to differentiation (jax.lax.stop_gradient).
template <class T>
detail::traced_t<T> stop_gradient(const T& tree, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(detail::to_traced(tree), [&](const Array& x) { return detail::stop_gradient_leaf(x, loc); });
}

}  // namespace weft
