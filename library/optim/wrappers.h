// Rarer transformations of gradients, and those that wrap others (optax).
#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/trees/tree.h"
#include "weft/library/optim/optim.h"

namespace weft::detail {
/// Throws Error where no transformation has the label.
void check_label(const std::string& label, const std::string& path, const std::vector<std::string>& names);
}  // namespace weft::detail

namespace weft::optim {

/// Options of novograd.
struct NovogradOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double b1 = 0.9;                             ///< the decay of the mean of the gradients
  double b2 = 0.25;                            ///< the decay of the mean of their squared norms
  double eps = 1e-6;                           ///< added to the root
  double eps_root = 0;                         ///< added below the root
  double weight_decay = 0;                     ///< the part of the weights that is added to the gradients
};
/// Adam by one mean square for each leaf (B. Ginsburg et al., 2019).
GradientTransformation novograd(Schedule learning_rate, NovogradOptions options = {});
GradientTransformation novograd(NovogradOptions options);
/// Steps in proportion to the weights' norm, whose growth is taken back (J. Bernstein et al., 2020).
GradientTransformation fromage(double learning_rate, double min_norm = 1e-6);
/// Options of adadelta.
struct AdadeltaOptions {
  std::optional<Schedule> learning_rate = {};  ///< where it is no argument
  double rho = 0.9;                            ///< the decay of the means of the squares
  double eps = 1e-6;                           ///< added below the roots
};
/// By the roots of the mean squares of the updates and of the gradients (M. Zeiler, 2012).
GradientTransformation adadelta(Schedule learning_rate = 1, AdadeltaOptions options = {});
GradientTransformation adadelta(AdadeltaOptions options);
/// The part of adadelta that scales the gradients.
GradientTransformation scale_by_adadelta(AdadeltaOptions options = {});
/// The part of a centered rmsprop that scales the gradients: they are divided by their standard deviation.
GradientTransformation scale_by_stddev(RmsOptions options = {});

/// The updates of `inner` where all gradients are finite. Where one isn't, the parameters and the state stay as they are, but for at most
/// `max_consecutive_errors` updates in a row: the next one is made as it is.
GradientTransformation apply_if_finite(GradientTransformation inner, Int max_consecutive_errors);
/// Each leaf by the transformation of its label, which is a function of the leaf's path (as of tree::map_with_path), or of the path and the
/// leaf: `multi_transform({{"slow", sgd(1e-4)}, {"fast", adam(1e-2)}}, [](const std::string& path) { return path == ".w" ? "fast" : "slow";
/// })`. Throws Error in init and update where a label has no transformation.
template <class F>
GradientTransformation multi_transform(std::vector<std::pair<std::string, GradientTransformation>> transforms, F label) {
  const auto label_of = [label](const std::string& path, const Array& leaf) {
    if constexpr (std::is_invocable_r_v<std::string, const F&, const std::string&>)
      return std::string(label(path));
    else
      return std::string(label(path, leaf));
  };
  std::vector<std::string> names;
  for (const auto& [name, transform] : transforms) names.push_back(name);
  std::vector<GradientTransformation> parts{masked(identity(), [names, label_of](const std::string& path, const Array& leaf) {
    detail::check_label(label_of(path, leaf), path, names);
    return false;
  })};
  for (auto& [name, transform] : transforms)
    parts.push_back(masked(std::move(transform),
                           [mine = name, label_of](const std::string& path, const Array& leaf) { return label_of(path, leaf) == mine; }));
  return chain(std::move(parts));
}
/// Each unit's gradient (a column of a matrix, an output of a convolution), scaled to a norm of at most `clipping` times that of its
/// weights (A. Brock et al., 2021); a weight's norm counts as eps at least.
GradientTransformation adaptive_grad_clip(double clipping, double eps = 1e-3);
/// Plus normal noise of variance eta / k^gamma in the k-th update (A. Neelakantan et al., 2015), of a key or a seed.
GradientTransformation add_noise(double eta, double gamma, Arg key);
/// Updates that don't make parameters negative: those that would, make them 0.
GradientTransformation keep_params_nonnegative();
/// The part of sm3 that scales the gradients.
GradientTransformation scale_by_sm3(double b1 = 0.9, double b2 = 1, double eps = 1e-8);
/// By the roots of sums of squares that are kept for each row, column, ... of a leaf (R. Anil et al., 2019).
GradientTransformation sm3(Schedule learning_rate, double momentum = 0.9);
/// Options of scale_by_lbfgs and lbfgs.
struct LbfgsOptions {
  Int memory_size = 10;            ///< how many differences of parameters and gradients are kept
  bool scale_init_precond = true;  ///< whether the first guess of the inverse Hessian is scaled by the last differences; else it is 1
};
/// The gradients times an approximation of the inverse Hessian, by the differences of the last parameters and gradients (D. Liu,
/// J. Nocedal, 1989).
GradientTransformation scale_by_lbfgs(LbfgsOptions options = {});
/// The quasi-Newton method of limited memory, with a given step and without a line search; optimize::minimize searches.
GradientTransformation lbfgs(Schedule learning_rate, LbfgsOptions options = {});
template <class T = void>
GradientTransformation lbfgs() {
  static_assert(!std::is_void_v<T>,
                "weft: lbfgs has no line search: give it a step, lbfgs(0.1), or use optimize::minimize, which searches");
  return lbfgs(1);
}

/// The parameters of lookahead: `fast` ones, of which gradients are taken, and `slow` ones, which are the result.
template <class T>
struct LookaheadParams {
  T fast;  ///< of which gradients are taken
  T slow;  ///< the result of the training
  /// Both the same.
  static LookaheadParams init_synced(const T& params) { return {params, params}; }
};
/// What lookahead makes: as GradientTransformation, of LookaheadParams.
class Lookahead {
 public:
  /// The state before the first update.
  template <class T>
  OptState init(const LookaheadParams<T>& params, SourceLoc loc = SourceLoc::here()) const {
    return with_steps(Array(0), fast_.init(params.fast, loc));
  }
  /// The updates of both, for gradients in the fast parameters, and the next state.
  template <class T>
  std::pair<LookaheadParams<detail::traced_t<T>>, OptState> update(const T& gradients, const OptState& state,
                                                                   const LookaheadParams<T>& params,
                                                                   SourceLoc loc = SourceLoc::here()) const {
    const auto [steps, of_fast] = without_steps(state, loc);
    const Array last = steps == period_ - 1;
    auto [updates, next] = fast_.update(gradients, of_fast, params.fast, loc);
    const auto ahead = tree::map([&](const Array& u, const Array& f, const Array& s) { return where(last, f + u - s, zeros_like(u)); },
                                 updates, params.fast, params.slow, loc);
    auto slow = tree::map([&](const Array& d) { return Array(step_ * d); }, ahead, loc);
    auto fast = tree::map([&](const Array& u, const Array& d) { return Array(u - (1 - step_) * d); }, updates, ahead, loc);
    if (reset_)
      next = tree::map([&](const Array& a, const Array& b) { return where(last, a, b); }, fast_.init(params.fast, loc), next, loc);
    return {{std::move(fast), std::move(slow)}, with_steps(where(last, 0, steps + 1), std::move(next))};
  }

  /// For the library.
  Lookahead(GradientTransformation fast, Int sync_period, double slow_step_size, bool reset_state)
      : fast_(std::move(fast)), period_(sync_period), step_(slow_step_size), reset_(reset_state) {}

 private:
  static OptState with_steps(const Array& steps, OptState state);
  static std::pair<Array, OptState> without_steps(const OptState& state, SourceLoc loc);
  GradientTransformation fast_;
  Int period_;
  double step_;
  bool reset_;
};
/// Options of lookahead.
struct LookaheadOptions {
  Int sync_period;           ///< after so many updates the fast parameters become the slow ones
  double slow_step_size;     ///< the part of the difference that the slow parameters move by then
  bool reset_state = false;  ///< whether the state of `fast` then begins anew
};
/// Slow parameters that follow those of `fast` from time to time (M. Zhang et al., 2019). Throws Error where the period is below 1.
Lookahead lookahead(GradientTransformation fast, LookaheadOptions options, SourceLoc loc = SourceLoc::here());
inline Lookahead lookahead(GradientTransformation fast, Int sync_period, double slow_step_size, bool reset_state = false,
                           SourceLoc loc = SourceLoc::here()) {
  return lookahead(std::move(fast), LookaheadOptions{sync_period, slow_step_size, reset_state}, loc);
}

}  // namespace weft::optim
