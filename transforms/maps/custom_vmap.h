// custom_vmap and sequential_vmap: functions with a batching rule of the user's.
#pragma once
#include "weft/transforms/autodiff/custom.h"
#include "weft/transforms/control/control_flow.h"
#include "weft/transforms/flat.h"

namespace weft {

namespace detail {

/// The user's rule of a custom_vmap function, over leaves.
struct FlatVmapRule : RefCounted {
  struct Batched {
    std::vector<Array> results;
    std::vector<bool> batched;
  };
  virtual Batched apply(std::int64_t axis_size, const std::vector<bool>& batched, std::span<const Array> args) const = 0;
};
std::vector<Array> flat_custom_vmap(FlatFunction& f, Ref<const FlatVmapRule> rule, const std::string& rule_name);

/// Which of n results are batched, of what a rule says: a bool for all of them, a std::vector<bool>, or a tuple of bools.
template <class Said>
std::vector<bool> batched_results(const Said& said, std::size_t n) {
  if constexpr (std::is_same_v<Said, bool>)
    return std::vector<bool>(n, said);
  else if constexpr (std::is_same_v<Said, std::vector<bool>>)
    return said;
  else
    return std::apply([](auto... each) { return std::vector<bool>{each...}; }, said);
}

template <class Rule, class Params, class Out>
struct VmapRuleOf final : FlatVmapRule {
  VmapRuleOf(Ref<const SharedCallable<Rule>> r, const Params& p) : rule(std::move(r)), params(without_leaves(p)) {}
  const Ref<const SharedCallable<Rule>> rule;
  const Params params;

  Batched apply(std::int64_t axis_size, const std::vector<bool>& batched, std::span<const Array> args) const override {
    const auto given = std::apply([&](const auto&... a) { return rule->call(axis_size, batched, a...); }, with_leaves(params, args));
    static_assert(std::tuple_size_v<std::remove_const_t<decltype(given)>> == 2 &&
                      std::is_same_v<traced_t<std::remove_cvref_t<decltype(std::get<0>(given))>>, Out>,
                  "weft: a vmap rule returns std::pair{results of all lanes, which of them are batched}");
    std::vector<Array> results = leaves_of(to_traced(std::get<0>(given)));
    std::vector<bool> which = batched_results(std::get<1>(given), results.size());
    return {std::move(results), std::move(which)};
  }
};

template <class F, class Rule>
class CustomVmap : public Callable<CustomVmap<F, Rule>> {
 public:
  using weft_inner = F;
  CustomVmap(F f, Rule rule) : f_(std::move(f)), rule_(make_ref<SharedCallable<Rule>>(std::move(rule))) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    using P = params_t<F, A...>;
    FlatCall<F, A...> flat(f_, loc, args...);
    const std::vector<Array> results =
        flat_custom_vmap(flat, make_ref<VmapRuleOf<Rule, P, out_t<F, A...>>>(rule_, flat.params), name_of_function<Rule>());
    return flat.make_result(results);
  }

 private:
  mutable F f_;
  KeptRef<const SharedCallable<Rule>> rule_;
};

/// A function that waits for its rule.
template <class F>
struct WithoutVmapRule {
  F f;
  template <class Rule>
  [[nodiscard]] CustomVmap<F, Rule> def_vmap(Rule rule) const {
    return {f, std::move(rule)};
  }
  template <class... A>
  auto operator()(const A&...) const {
    static_assert(!sizeof(F), "weft: a rule is missing: custom_vmap(f, rule), or auto g = custom_vmap(f).def_vmap(rule)");
    return Array();
  }
};

/// f of each lane of the batched arrays, one after another.
template <class F, class Args>
auto in_sequence(F& f, const std::vector<bool>& batched, const Args& args) {
  const std::vector<Array> leaves = leaves_of(args);
  std::vector<Array> mapped;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (batched[i]) mapped.push_back(leaves[i]);
  return map(
      [&](const std::vector<Array>& lane) {
        std::vector<Array> all = leaves;
        for (std::size_t i = 0, next = 0; i < all.size(); ++i)
          if (batched[i]) all[i] = lane[next++];
        return std::apply(f, with_leaves(args, all));
      },
      mapped);
}

}  // namespace detail

/// f with the user's rule for vmap (jax.custom_batching.custom_vmap): rule(axis_size, in_batched, arguments...) computes f of all lanes at
/// once. `in_batched`, a std::vector<bool>, says of each array among the arguments, in order, whether its axis 0 is the mapped one; the
/// others are the same for all lanes. It returns std::pair{f's results, batched}: a result that is batched has the lanes along its axis 0.
/// `batched` is a bool for all results, or a std::vector<bool> or std::tuple with one for each array. Under nested vmaps the inner one
/// calls the rule; the outer one maps the operations of the rule, and calls the rules of custom_vmap functions among them. Derivatives are
/// those of f; a custom_vjp around it gives them rules of their own.
///
/// Throws ShapeError, DTypeError or PytreeError if the rule's results are not what it says, and TracerError if f captures a mapped value.
template <class F = UnaryFunction, class Rule>
detail::CustomVmap<F, Rule> custom_vmap(F f, Rule rule) {
  return {std::move(f), std::move(rule)};
}
/// `auto g = custom_vmap(f).def_vmap(rule)`: the same as custom_vmap(f, rule).
template <class F = UnaryFunction>
detail::WithoutVmapRule<F> custom_vmap(F f) {
  return {std::move(f)};
}
/// f whose vmap computes one lane after another, as `map` does, and needs the memory of one (jax.custom_batching.sequential_vmap).
template <class F = UnaryFunction>
auto sequential_vmap(F f) {
  auto rule = [f](std::int64_t, const std::vector<bool>& batched, const auto&... args) mutable {
    return std::pair(detail::in_sequence(f, batched, std::tuple(args...)), true);
  };
  return custom_vmap(std::move(f), std::move(rule));
}

}  // namespace weft
