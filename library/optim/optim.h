// Optimisers (optax): gradient transformations, which are chained, and the usual chains by their names.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/integer.h"
#include "weft/core/base/ref.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/trees/skeleton.h"
#include "weft/core/trees/tree_math.h"
#include "weft/library/optim/schedules.h"

namespace weft::optim {

namespace losses = ::weft::optim;
namespace tree = ::weft::tree;

/// What an optimiser keeps between two updates: a tree of arrays, to be carried through loops and kept in checkpoints.
struct OptState {
  std::vector<Array> arrays;  ///< of all its transformations, in order
};

/// Whether F, a function of these arguments, says yes or no.
template <class F, class... A>
concept Chooses = std::is_constructible_v<bool, std::invoke_result_t<F&, A...>>;
/// Which leaves a transformation is applied to: a function of a leaf, or of its path, as of tree::map_with_path, or of both.
class Mask {
 public:
  template <class F>
    requires(!std::is_same_v<F, Mask> && (Chooses<F, Array> || Chooses<F, std::string> || Chooses<F, std::string, Array>))
  Mask(F f) : function_(detail::make_ref<Kept<F>>(std::move(f))) {}
  /// The leaves for which a tree like the parameters has true, a bool or an Array: `tree::map([](Array p) { return p.ndim() > 1; },
  /// params)`.
  template <class T>
    requires(!std::is_same_v<T, Mask>) && (!std::is_convertible_v<const T&, Array>) && (!std::is_invocable_v<const T&, const Array&>) &&
            (!std::is_invocable_v<const T&, const std::string&>) && (!std::is_invocable_v<const T&, const std::string&, const Array&>) &&
            (detail::HasArrays<T>::value)
  Mask(const T& tree) : Mask(detail::leaf_paths(detail::skeleton_of(detail::to_traced(tree))), tree::leaves(tree)) {}
  bool operator()(const std::string& path, const Array& leaf) const { return function_->call(path, leaf); }

 private:
  Mask(const std::vector<std::string>& paths, const std::vector<Array>& chosen);
  struct Function : detail::RefCounted {
    virtual bool call(const std::string& path, const Array& leaf) const = 0;
  };
  template <class F>
  struct Kept final : Function {
    explicit Kept(F f) : function(std::move(f)) {}
    bool call(const std::string& path, const Array& leaf) const override {
      if constexpr (Chooses<F, Array>)
        return bool(function(leaf));
      else if constexpr (Chooses<F, std::string>)
        return bool(function(path));
      else
        return bool(function(path, leaf));
    }
    mutable F function;
  };
  detail::KeptRef<const Function> function_;
};

/// For the library: the leaves of a tree.
struct Leaves {
  std::vector<Array> arrays;
  std::vector<std::string> paths;
};
/// For the library: one transformation, without the types of trees.
class Rule : public detail::RefCounted {
 public:
  virtual std::vector<Array> init(const Leaves& params) const = 0;
  /// The transformed updates; appends what is kept to `next`. `state` begins with what was kept, and loses it. `params` may be null.
  virtual std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves* params,
                                    std::vector<Array>& next) const = 0;
};

/// Makes updates of gradients: `state = t.init(params)`, then `auto [updates, next] = t.update(gradients, state, params)` and
/// `params = optim::apply_updates(params, updates)`, in jit, scan, vmap or shard_map.
class GradientTransformation {
 public:
  /// The state before the first update.
  OptState init(const auto& params, SourceLoc loc = SourceLoc::here()) const { return first_state(leaves_of_tree(params), loc); }
  /// The updates, which are to be added to the parameters, and the next state. Throws PytreeError where the trees differ, Error where the
  /// state is not that of such a tree.
  template <class T, class P>
  std::pair<detail::traced_t<T>, OptState> update(const T& updates, const OptState& state, const P& params,
                                                  SourceLoc loc = SourceLoc::here()) const {
    static_assert(std::is_same_v<detail::traced_t<P>, detail::traced_t<T>>,
                  "weft: update(gradients, state, params): the gradients have the parameters' type");
    detail::check_same_structure("update", detail::to_traced(updates), "the updates", detail::to_traced(params), "the parameters", loc);
    const Leaves given = leaves_of_tree(params);
    return updated(updates, state, &given, loc);
  }
  /// The same without parameters, which most transformations don't need: Error for those that do.
  template <class T>
  std::pair<detail::traced_t<T>, OptState> update(const T& updates, const OptState& state, SourceLoc loc = SourceLoc::here()) const {
    return updated(updates, state, nullptr, loc);
  }

  /// For the library.
  explicit GradientTransformation(detail::Ref<const Rule> rule) : rule_(std::move(rule)) {}
  const Rule& rule() const { return *rule_; }

 private:
  template <class T>
  static Leaves leaves_of_tree(const T& t) {
    const auto& traced = detail::to_traced(t);
    return {detail::leaves_of(traced), detail::leaf_paths(detail::skeleton_of(traced))};
  }
  template <class T>
  std::pair<detail::traced_t<T>, OptState> updated(const T& updates, const OptState& state, const Leaves* params, SourceLoc loc) const {
    auto [arrays, next] = next_updates(leaves_of_tree(updates), state, params, loc);
    return {detail::with_leaves(detail::to_traced(updates), std::span<const Array>(arrays)), std::move(next)};
  }
  OptState first_state(const Leaves& params, SourceLoc loc) const;
  std::pair<std::vector<Array>, OptState> next_updates(const Leaves& updates, const OptState& state, const Leaves* params,
                                                       SourceLoc loc) const;
  detail::KeptRef<const Rule> rule_;
};

/// The parameters plus the updates, in the parameters' dtypes.
template <class P, class T>
detail::traced_t<P> apply_updates(const P& params, const T& updates, SourceLoc loc = SourceLoc::here()) {
  static_assert(std::is_same_v<detail::traced_t<P>, detail::traced_t<T>>,
                "weft: apply_updates(params, updates): the updates have the parameters' type");
  return tree::map([&](const Array& p, const Array& u) { return Array(detail::added_leaf(p, u, loc)).astype(p.dtype()); }, params, updates,
                   loc);
}
/// old + step_size (now - old): moving averages of parameters.
template <class T>
detail::traced_t<T> incremental_update(const T& now, const T& old, Arg step_size) {
  return tree::map([&](const Array& n, const Array& o) { return o + detail::scaled_leaf(n - o, step_size); }, now, old, step_size.where());
}
/// `now` in every update_period-th step, else `old`: copies of parameters, as of a target network.
template <class T>
detail::traced_t<T> periodic_update(const T& now, const T& old, Arg steps, Int update_period) {
  const Array due = steps.array() % static_cast<std::int64_t>(update_period) == 0;
  return tree::map([&](const Array& n, const Array& o) { return where(due, n, o); }, now, old, steps.where());
}
/// The Euclidean norm of all elements together: tree::norm(t).
inline Array global_norm(const auto& t, SourceLoc loc = SourceLoc::here()) { return tree::norm(t, loc); }

/// Several transformations, one after the other: `chain({clip_by_global_norm(1.), adam(1e-3)})`.
GradientTransformation chain(std::vector<GradientTransformation> transformations);
template <class... T>
  requires(std::is_same_v<T, GradientTransformation> && ...)
GradientTransformation chain(const GradientTransformation& first, const T&... rest) {
  return chain(std::vector<GradientTransformation>{first, rest...});
}
/// A transformation of some leaves; the others stay as they are.
GradientTransformation masked(GradientTransformation inner, Mask mask);
/// The mean of `every` updates in a row is one update of `inner`; the other times the updates are 0 (optax.MultiSteps).
GradientTransformation multi_steps(GradientTransformation inner, Int every, SourceLoc loc = SourceLoc::here());
GradientTransformation MultiSteps(GradientTransformation inner, Int every, SourceLoc loc = SourceLoc::here());

/// The updates as they are.
GradientTransformation identity();
/// Zeros: parameters that stay.
GradientTransformation set_to_zero();
/// Times a number.
GradientTransformation scale(double factor);
/// Times a number that changes.
GradientTransformation scale_by_schedule(Schedule schedule);
/// Times minus the learning rate.
GradientTransformation scale_by_learning_rate(Schedule learning_rate);
/// Each element between -limit and limit.
GradientTransformation clip(double limit);
/// All leaves together, scaled to a norm of at most this.
GradientTransformation clip_by_global_norm(double max_norm);
/// Each leaf, scaled to a root of the mean square of at most this.
GradientTransformation clip_by_block_rms(double threshold);
/// 0 instead of NaN.
GradientTransformation zero_nans();
/// Each leaf of two or more dimensions without its mean over all but the first of them.
GradientTransformation centralize();
/// Plus weight_decay times the parameters, of all leaves or of those of the mask.
GradientTransformation add_decayed_weights(Schedule weight_decay, std::optional<Mask> mask = {});
/// Momentum: the sum of the updates, each `decay` times smaller than the one after it.
GradientTransformation trace(double decay, bool nesterov = false);
/// The exponential moving average of the updates; `debias` divides by 1 - decay^k after k updates.
GradientTransformation ema(double decay, bool debias = true);
/// Each leaf times the norm of the parameter over its own (Y. You et al., Large Batch Training of Convolutional Networks, 2017).
GradientTransformation scale_by_trust_ratio(double min_norm = 0, double trust_coefficient = 1, double eps = 0);

/// Options of sgd.
struct SgdOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  std::optional<double> momentum = {};         ///< the decay of the sum of the gradients; absent: only the last gradient counts
  bool nesterov = false;                       ///< looks one step ahead
};
/// Gradient descent, with momentum or not.
GradientTransformation sgd(Schedule learning_rate, SgdOptions options = {});
GradientTransformation sgd(SgdOptions options);
GradientTransformation sgd(Schedule learning_rate, double momentum, bool nesterov = false);
/// The signs of the gradients.
GradientTransformation sign_sgd(Schedule learning_rate);

/// Options of adam and of those that differ from it in one point.
struct AdamOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double b1 = 0.9, b2 = 0.999;                 ///< the decays of the means of the gradients and of their squares
  std::optional<double> eps = {};              ///< added to the root; absent: 1e-8, of adabelief 1e-16, of yogi 1e-3
  std::optional<double> eps_root = {};         ///< added below the root; absent: 0, of adabelief 1e-16
  bool nesterov = false;                       ///< looks one step ahead
};
/// Adam (D. Kingma, J. Ba, 2015).
GradientTransformation adam(Schedule learning_rate, AdamOptions options = {});
GradientTransformation adam(AdamOptions options);
GradientTransformation adam(Schedule learning_rate, double b1, double b2 = 0.999, double eps = 1e-8);
/// Adam, that looks one step ahead (T. Dozat, 2016).
GradientTransformation nadam(Schedule learning_rate, AdamOptions options = {});
GradientTransformation nadam(AdamOptions options);
/// Adam by the greatest of the means of the squares so far (S. Reddi et al., 2018).
GradientTransformation amsgrad(Schedule learning_rate, AdamOptions options = {});
GradientTransformation amsgrad(AdamOptions options);
/// Adam by the greatest modulus instead of the mean of the squares. Of the options b1, b2 and eps count.
GradientTransformation adamax(Schedule learning_rate, AdamOptions options = {});
GradientTransformation adamax(AdamOptions options);
/// Adam that begins without squares while there are too few (L. Liu et al., 2020).
GradientTransformation radam(Schedule learning_rate, AdamOptions options = {});
GradientTransformation radam(AdamOptions options);
/// Adam by the squares of the differences from the mean (J. Zhuang et al., 2020).
GradientTransformation adabelief(Schedule learning_rate, AdamOptions options = {});
GradientTransformation adabelief(AdamOptions options);
/// Adam whose squares change by steps of their own size (M. Zaheer et al., 2018).
GradientTransformation yogi(Schedule learning_rate, AdamOptions options = {});
GradientTransformation yogi(AdamOptions options);
/// Options of adamw, nadamw and lamb.
struct AdamwOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double b1 = 0.9, b2 = 0.999;                 ///< as of AdamOptions
  std::optional<double> eps = {};              ///< as of AdamOptions; absent: 1e-8, of lamb 1e-6
  double eps_root = 0;                         ///< as of AdamOptions
  std::optional<double> weight_decay =
      {};                         ///< times the learning rate: the part of the weights that is taken away; absent: 1e-4, of lamb 0
  std::optional<Mask> mask = {};  ///< which leaves decay; absent: all
  bool nesterov = false;          ///< as of AdamOptions; not of lamb
};
/// Adam with weights that decay (I. Loshchilov, F. Hutter, 2019).
GradientTransformation adamw(Schedule learning_rate, AdamwOptions options = {});
GradientTransformation adamw(AdamwOptions options);
GradientTransformation nadamw(Schedule learning_rate, AdamwOptions options = {});
GradientTransformation nadamw(AdamwOptions options);
/// Adam with steps in proportion to the weights' norm (Y. You et al., 2020).
GradientTransformation lamb(Schedule learning_rate, AdamwOptions options = {});
GradientTransformation lamb(AdamwOptions options);
/// Options of lion.
struct LionOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double b1 = 0.9;                             ///< the weight of the mean in a step
  double b2 = 0.99;                            ///< the decay of the mean
  double weight_decay = 1e-3;                  ///< as of AdamwOptions
  std::optional<Mask> mask = {};               ///< as of AdamwOptions
};
/// The signs of a mean of the gradients (X. Chen et al., 2023).
GradientTransformation lion(Schedule learning_rate, LionOptions options = {});
GradientTransformation lion(LionOptions options);
/// Options of lars.
struct LarsOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double weight_decay = 0;                     ///< as of AdamwOptions
  std::optional<Mask> weight_decay_mask = {};  ///< which leaves decay; absent: all
  double trust_coefficient = 0.001;            ///< as of scale_by_trust_ratio
  double eps = 0;                              ///< as of scale_by_trust_ratio
  std::optional<Mask> trust_ratio_mask = {};   ///< which leaves are scaled; absent: all
  double momentum = 0.9;                       ///< as of SgdOptions
  bool nesterov = false;                       ///< as of SgdOptions
};
/// Gradient descent with steps in proportion to the weights' norm (Y. You et al., 2017).
GradientTransformation lars(Schedule learning_rate, LarsOptions options = {});
GradientTransformation lars(LarsOptions options);
/// Options of adagrad.
struct AdagradOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double initial_accumulator_value = 0.1;      ///< what the sum of the squares begins with
  double eps = 1e-7;                           ///< added below the root
};
/// By the root of the sum of the squares of all gradients (J. Duchi et al., 2011).
GradientTransformation adagrad(Schedule learning_rate, AdagradOptions options = {});
GradientTransformation adagrad(AdagradOptions options);
/// Options of rmsprop.
struct RmspropOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double decay = 0.9;                          ///< of the mean of the squares
  double eps = 1e-8;                           ///< added below the root
  double initial_scale = 0;                    ///< what the mean of the squares begins with
  bool centered = false;                       ///< by the standard deviation instead of the root of the mean square
  std::optional<double> momentum = {};         ///< as of SgdOptions
  bool nesterov = false;                       ///< as of SgdOptions
};
/// By the root of the mean square of the gradients (T. Tieleman, G. Hinton, 2012).
GradientTransformation rmsprop(Schedule learning_rate, RmspropOptions options = {});
GradientTransformation rmsprop(RmspropOptions options);
/// Options of adafactor.
struct AdafactorOptions {
  std::optional<Schedule> learning_rate = {};      ///< where it is no argument
  Int min_dim_size_to_factor = 128;                ///< matrices smaller than this keep all squares
  double decay_rate = 0.8;                         ///< the mean after k updates decays by 1 - k^-decay_rate
  bool multiply_by_parameter_scale = true;         ///< steps in proportion to the weights
  std::optional<double> clipping_threshold = 1.0;  ///< as of clip_by_block_rms; `none`: no limit
  std::optional<double> momentum = {};             ///< the decay of a mean of the updates; absent: there is none
  double weight_decay_rate = 0;                    ///< the part of the weights that is taken away
  double eps = 1e-30;                              ///< added to the squares
  bool factored = true;                            ///< whether means of rows and columns stand for all squares of a matrix
};
/// By root mean squares of which only the means of rows and columns are kept (N. Shazeer, M. Stern, 2018).
GradientTransformation adafactor(Schedule learning_rate, AdafactorOptions options = {});
GradientTransformation adafactor(AdafactorOptions options);

/// The parts of these optimisers that scale the gradients, for chains of your own: without the learning rate and its sign, weight decay and
/// momentum. `chain({clip_by_global_norm(1.), scale_by_adam(), add_decayed_weights(1e-4), scale_by_learning_rate(1e-3)})` is adamw of
/// clipped gradients.
GradientTransformation scale_by_adam(AdamOptions options = {});
/// The part of amsgrad that scales the gradients.
GradientTransformation scale_by_amsgrad(AdamOptions options = {});
/// The part of adamax that scales the gradients.
GradientTransformation scale_by_adamax(AdamOptions options = {});
/// The part of radam that scales the gradients.
GradientTransformation scale_by_radam(AdamOptions options = {});
/// The part of adabelief that scales the gradients.
GradientTransformation scale_by_belief(AdamOptions options = {});
/// The part of yogi that scales the gradients.
GradientTransformation scale_by_yogi(AdamOptions options = {});
/// The part of lion that scales the gradients.
GradientTransformation scale_by_lion(double b1 = 0.9, double b2 = 0.99);
/// The part of sign_sgd that scales the gradients.
GradientTransformation scale_by_sign();
/// The part of adagrad that scales the gradients: they are divided by the root of the sum of their squares.
GradientTransformation scale_by_rss(AdagradOptions options = {});
/// Options of scale_by_rms and scale_by_stddev.
struct RmsOptions {
  double decay = 0.9;        ///< as of RmspropOptions
  double eps = 1e-8;         ///< as of RmspropOptions
  double initial_scale = 0;  ///< as of RmspropOptions
};
/// The part of rmsprop that scales the gradients: they are divided by the root of their mean square.
GradientTransformation scale_by_rms(RmsOptions options = {});

}  // namespace weft::optim

namespace weft {
namespace optax = optim;
}  // namespace weft
