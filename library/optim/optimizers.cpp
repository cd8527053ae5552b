// The optimisers: how each makes an update of a gradient and of what it keeps for a parameter (rules.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/trace/trace.h"
#include "weft/library/optim/optim.h"
#include "weft/library/optim/rules.h"
#include "weft/library/optim/wrappers.h"

namespace weft::optim {

namespace {

using Kept = std::vector<Array>;

Array moved(double decay, const Array& mean, const Array& x) { return (1 - decay) * x + decay * mean; }
Array square_of(const Array& g) { return g.dtype().is_complex() ? square(abs(g)) : square(g); }
Array unbiased(const Array& mean, double decay, const Array& count) { return mean / as(1 - power_of(decay, count), mean); }
/// The mean of the gradients as the step uses it.
Array first_moment(const AdamOptions& o, const Array& g, const Array& mean, const Array& count) {
  if (!o.nesterov) return unbiased(mean, o.b1, count);
  return o.b1 * unbiased(mean, o.b1, count + 1) + (1 - o.b1) * unbiased(g, o.b1, count);
}

/// Adam and its relatives: `squares` replaces the mean of the squares, of the gradient and the new mean; `step` gives the update.
GradientTransformation adam_like(const char* name, LeafInit init,
                                 std::function<Array(const Array& g, Kept& kept, const Array& count)> update) {
  return by_leaf({.name = name,
                  .counts = true,
                  .init = std::move(init),
                  .update = [update = std::move(update)](const Array& g, const Array*, Kept& kept, const Array& count) {
                    return update(g, kept, count);
                  }});
}
AdamOptions adam_options(const AdamwOptions& o, double eps, bool nesterov) {
  return {.b1 = o.b1, .b2 = o.b2, .eps = o.eps.value_or(eps), .eps_root = o.eps_root, .nesterov = nesterov};
}

/// The learning rate among the options of an optimiser, which is taken out of them.
template <class Options>
Schedule named_rate(Options& options, const char* name) {
  if (!options.learning_rate)
    throw Error(fmt::format("{0}: the learning rate is missing: {0}(1e-3) or {0}({{.learning_rate = 1e-3}})", name),
                detail::effective_loc({}));
  return *std::exchange(options.learning_rate, std::nullopt);
}
/// Throws Error where the options have a learning rate, and the arguments, or a transformation without one, do not need it.
template <class Options>
void no_second_rate(const Options& options, const char* name) {
  if (options.learning_rate)
    throw Error(
        fmt::format("{}: the learning rate among the options is one too many; other options are given by name, {{.b1 = 0.9}}", name),
        detail::effective_loc({}));
}

/// The two largest dimensions, the smaller one first, if that one has at least so many elements.
std::optional<std::pair<int, int>> factored_dimensions(const Shape& shape, bool factored, std::int64_t least) {
  if (!factored || shape.size() < 2) return {};
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return shape[i] < shape[j]; });
  const std::pair<int, int> two{order[order.size() - 2], order.back()};
  if (shape[two.first] < least) return {};
  return two;
}

}  // namespace

GradientTransformation scale_by_sign() {
  return by_leaf({.name = "sign_sgd", .update = [](const Array& g, const Array*, Kept&, const Array&) { return sign(g); }});
}
GradientTransformation scale_by_adam(AdamOptions o) {
  no_second_rate(o, "adam");
  const double eps = o.eps.value_or(1e-8), root = o.eps_root.value_or(0);
  return adam_like("adam", zeros_for(2), [o, eps, root](const Array& g, Kept& kept, const Array& count) {
    kept[0] = moved(o.b1, kept[0], g);
    kept[1] = moved(o.b2, kept[1], square_of(g));
    return Array(first_moment(o, g, kept[0], count) / (sqrt(unbiased(kept[1], o.b2, count) + root) + eps));
  });
}
GradientTransformation scale_by_amsgrad(AdamOptions o) {
  no_second_rate(o, "amsgrad");
  const double eps = o.eps.value_or(1e-8), root = o.eps_root.value_or(0);
  return adam_like("amsgrad", zeros_for(3), [o, eps, root](const Array& g, Kept& kept, const Array& count) {
    kept[0] = moved(o.b1, kept[0], g);
    kept[1] = moved(o.b2, kept[1], square_of(g));
    kept[2] = maximum(kept[2], unbiased(kept[1], o.b2, count));
    return Array(first_moment(o, g, kept[0], count) / (sqrt(kept[2] + root) + eps));
  });
}
GradientTransformation scale_by_adamax(AdamOptions o) {
  no_second_rate(o, "adamax");
  const double eps = o.eps.value_or(1e-8);
  return adam_like("adamax", zeros_for(2), [o, eps](const Array& g, Kept& kept, const Array& count) {
    kept[0] = moved(o.b1, kept[0], g);
    kept[1] = maximum(abs(g) + eps, o.b2 * kept[1]);
    return Array(first_moment(o, g, kept[0], count) / kept[1]);
  });
}
GradientTransformation scale_by_radam(AdamOptions o) {
  no_second_rate(o, "radam");
  const double eps = o.eps.value_or(1e-8), root = o.eps_root.value_or(0);
  return adam_like("radam", zeros_for(2), [o, eps, root](const Array& g, Kept& kept, const Array& count) {
    kept[0] = moved(o.b1, kept[0], g);
    kept[1] = moved(o.b2, kept[1], square_of(g));
    const double most = 2 / (1 - o.b2) - 1;
    // What is left of the difference has few digits in float32.
    const Array steps = count.astype(float64), power = pow(o.b2, steps);
    const Array length = most - 2 * steps * power / (1 - power), enough = length >= 5;
    const Array used = where(enough, length, 5);
    const Array factor = sqrt((used - 4) * (used - 2) * most / ((most - 4) * (most - 2) * used));
    const Array mean = first_moment(o, g, kept[0], count);
    return where(enough, as(factor, g) * mean / (sqrt(unbiased(kept[1], o.b2, count) + root) + eps), mean);
  });
}
GradientTransformation scale_by_belief(AdamOptions o) {
  no_second_rate(o, "adabelief");
  const double eps = o.eps.value_or(1e-16), root = o.eps_root.value_or(1e-16);
  return adam_like("adabelief", zeros_for(2), [o, eps, root](const Array& g, Kept& kept, const Array& count) {
    kept[0] = moved(o.b1, kept[0], g);
    kept[1] = moved(o.b2, kept[1], square_of(g - kept[0])) + root;
    return Array(first_moment(o, g, kept[0], count) / (sqrt(unbiased(kept[1], o.b2, count)) + eps));
  });
}
GradientTransformation scale_by_yogi(AdamOptions o) {
  no_second_rate(o, "yogi");
  const double eps = o.eps.value_or(1e-3), root = o.eps_root.value_or(0);
  const auto init = [](const Array& p) { return Kept{full_like(p, 1e-6), full_like(p, 1e-6)}; };
  return adam_like("yogi", init, [o, eps, root](const Array& g, Kept& kept, const Array& count) {
    const Array squares = square_of(g);
    kept[0] = moved(o.b1, kept[0], g);
    kept[1] = kept[1] - (1 - o.b2) * sign(kept[1] - squares) * squares;
    return Array(first_moment(o, g, kept[0], count) / (sqrt(unbiased(kept[1], o.b2, count) + root) + eps));
  });
}
GradientTransformation scale_by_rss(AdagradOptions o) {
  no_second_rate(o, "adagrad");
  return by_leaf({.name = "adagrad",
                  .init = [o](const Array& p) { return Kept{full_like(p, o.initial_accumulator_value)}; },
                  .update =
                      [o](const Array& g, const Array*, Kept& kept, const Array&) {
                        kept[0] = kept[0] + square_of(g);
                        const Array some = kept[0] > 0;
                        return where(some, g * rsqrt(where(some, kept[0], 1) + o.eps), zeros_like(g));
                      }});
}
GradientTransformation scale_by_adadelta(AdadeltaOptions o) {
  no_second_rate(o, "adadelta");
  return by_leaf({.name = "adadelta", .init = zeros_for(2), .update = [o](const Array& g, const Array*, Kept& kept, const Array&) {
                    kept[0] = moved(o.rho, kept[0], square_of(g));
                    const Array step = sqrt(kept[1] + o.eps) / sqrt(kept[0] + o.eps) * g;
                    kept[1] = moved(o.rho, kept[1], square_of(step));
                    return step;
                  }});
}
GradientTransformation scale_by_lion(double b1, double b2) {
  return by_leaf({.name = "lion", .init = zeros_for(1), .update = [=](const Array& g, const Array*, Kept& kept, const Array&) {
                    const Array step = sign(moved(b1, kept[0], g));
                    kept[0] = moved(b2, kept[0], g);
                    return step;
                  }});
}
GradientTransformation scale_by_rms(RmsOptions o) {
  return by_leaf({.name = "rmsprop",
                  .init = [o](const Array& p) { return Kept{full_like(p, o.initial_scale)}; },
                  .update =
                      [o](const Array& g, const Array*, Kept& kept, const Array&) {
                        kept[0] = moved(o.decay, kept[0], square_of(g));
                        return Array(g * rsqrt(kept[0] + o.eps));
                      }});
}
GradientTransformation scale_by_stddev(RmsOptions o) {
  return by_leaf({.name = "rmsprop",
                  .init = [o](const Array& p) { return Kept{full_like(p, o.initial_scale), zeros_like(p)}; },
                  .update =
                      [o](const Array& g, const Array*, Kept& kept, const Array&) {
                        kept[0] = moved(o.decay, kept[0], square_of(g));
                        kept[1] = moved(o.decay, kept[1], g);
                        return Array(g * rsqrt(kept[0] - square_of(kept[1]) + o.eps));
                      }});
}

GradientTransformation sgd(Schedule learning_rate, SgdOptions options) {
  no_second_rate(options, "sgd");
  GradientTransformation last = scale_by_learning_rate(std::move(learning_rate));
  if (!options.momentum) return last;
  return chain({trace(*options.momentum, options.nesterov), std::move(last)});
}
GradientTransformation sgd(Schedule learning_rate, double momentum, bool nesterov) {
  return sgd(std::move(learning_rate), {.momentum = momentum, .nesterov = nesterov});
}
GradientTransformation sign_sgd(Schedule learning_rate) {
  return chain({scale_by_sign(), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation adam(Schedule learning_rate, AdamOptions options) {
  return chain({scale_by_adam(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation adam(Schedule learning_rate, double b1, double b2, double eps) {
  return adam(std::move(learning_rate), {.b1 = b1, .b2 = b2, .eps = eps});
}
GradientTransformation nadam(Schedule learning_rate, AdamOptions options) {
  options.nesterov = true;
  return adam(std::move(learning_rate), options);
}
GradientTransformation amsgrad(Schedule learning_rate, AdamOptions options) {
  return chain({scale_by_amsgrad(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation adamax(Schedule learning_rate, AdamOptions options) {
  return chain({scale_by_adamax(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation radam(Schedule learning_rate, AdamOptions options) {
  return chain({scale_by_radam(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation adabelief(Schedule learning_rate, AdamOptions options) {
  return chain({scale_by_belief(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation yogi(Schedule learning_rate, AdamOptions options) {
  return chain({scale_by_yogi(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation adamw(Schedule learning_rate, AdamwOptions options) {
  no_second_rate(options, "adamw");
  return chain({scale_by_adam(adam_options(options, 1e-8, options.nesterov)),
                add_decayed_weights(options.weight_decay.value_or(1e-4), options.mask), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation nadamw(Schedule learning_rate, AdamwOptions options) {
  options.nesterov = true;
  return adamw(std::move(learning_rate), std::move(options));
}
GradientTransformation lamb(Schedule learning_rate, AdamwOptions options) {
  no_second_rate(options, "lamb");
  if (options.nesterov) throw Error("lamb: takes no nesterov; nadamw does", detail::effective_loc({}));
  return chain({scale_by_adam(adam_options(options, 1e-6, false)), add_decayed_weights(options.weight_decay.value_or(0), options.mask),
                scale_by_trust_ratio(), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation lion(Schedule learning_rate, LionOptions options) {
  no_second_rate(options, "lion");
  return chain({scale_by_lion(options.b1, options.b2), add_decayed_weights(options.weight_decay, options.mask),
                scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation lars(Schedule learning_rate, LarsOptions o) {
  no_second_rate(o, "lars");
  GradientTransformation scaled = scale_by_trust_ratio(0, o.trust_coefficient, o.eps);
  return chain({add_decayed_weights(o.weight_decay, o.weight_decay_mask), o.trust_ratio_mask ? masked(scaled, *o.trust_ratio_mask) : scaled,
                scale_by_learning_rate(std::move(learning_rate)), trace(o.momentum, o.nesterov)});
}
GradientTransformation novograd(Schedule learning_rate, NovogradOptions o) {
  no_second_rate(o, "novograd");
  const auto init = [](const Array& p) { return Kept{zeros_like(p), zeros({}, p.dtype().real_part())}; };
  const auto update = [o](const Array& g, const Array* p, Kept& kept, const Array& count) {
    const Array squares = sum(square_of(g)), first = count == 1;
    kept[1] = where(first, squares, moved(o.b2, kept[1], squares));
    const Array step = g / as(sqrt(kept[1] + o.eps_root) + o.eps, g) + o.weight_decay * *p;
    kept[0] = where(first, step, o.b1 * kept[0] + step);
    return kept[0];
  };
  return chain({by_leaf({.name = "novograd", .counts = true, .needs_params = true, .init = init, .update = update}),
                scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation fromage(double learning_rate, double min_norm) {
  const double shrink = 1 / std::sqrt(1 + learning_rate * learning_rate);
  return chain({scale_by_trust_ratio(min_norm), scale_by_learning_rate(learning_rate * shrink), add_decayed_weights(shrink - 1)});
}
GradientTransformation adagrad(Schedule learning_rate, AdagradOptions options) {
  return chain({scale_by_rss(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation adadelta(Schedule learning_rate, AdadeltaOptions options) {
  return chain({scale_by_adadelta(options), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation rmsprop(Schedule learning_rate, RmspropOptions o) {
  no_second_rate(o, "rmsprop");
  const RmsOptions scaling{.decay = o.decay, .eps = o.eps, .initial_scale = o.initial_scale};
  std::vector<GradientTransformation> parts{o.centered ? scale_by_stddev(scaling) : scale_by_rms(scaling),
                                            scale_by_learning_rate(std::move(learning_rate))};
  if (o.momentum) parts.push_back(trace(*o.momentum, o.nesterov));
  return chain(std::move(parts));
}
GradientTransformation adafactor(Schedule learning_rate, AdafactorOptions o) {
  no_second_rate(o, "adafactor");
  const std::int64_t least = o.min_dim_size_to_factor;
  const auto dimensions = [=](const Array& p) { return factored_dimensions(p.shape(), o.factored, least); };
  const auto init = [=](const Array& p) {
    const auto two = dimensions(p);
    if (!two) return Kept{zeros_like(p)};
    return Kept{zeros(p.shape().erased(two->second), p.dtype()), zeros(p.shape().erased(two->first), p.dtype())};
  };
  const auto update = [=](const Array& g, const Array*, Kept& kept, const Array& count) {
    const Array decay = as(1 - pow(count.astype(float32), -o.decay_rate), g), squares = square_of(g) + o.eps;
    const auto mean_with = [&](const Array& mean, const Array& x) { return Array(decay * mean + (1 - decay) * x); };
    const auto two = dimensions(g);
    if (!two) {
      kept[0] = mean_with(kept[0], squares);
      return Array(g * rsqrt(kept[0]));
    }
    const auto [small, large] = *two;
    kept[0] = mean_with(kept[0], mean(squares, large));
    kept[1] = mean_with(kept[1], mean(squares, small));
    const int row = small > large ? small - 1 : small;
    const Array rows = rsqrt(kept[0] / mean(kept[0], row, {.keepdims = true}));
    return Array(g * expand_dims(rows, large) * expand_dims(rsqrt(kept[1]), small));
  };
  std::vector<GradientTransformation> parts{by_leaf({.name = "adafactor", .counts = true, .init = init, .update = update})};
  if (o.clipping_threshold) parts.push_back(clip_by_block_rms(*o.clipping_threshold));
  parts.push_back(scale_by_schedule(std::move(learning_rate)));
  if (o.multiply_by_parameter_scale)
    parts.push_back(by_leaf({.name = "adafactor", .needs_params = true, .update = [](const Array& g, const Array* p, Kept&, const Array&) {
                               return Array(g * as(maximum(sqrt(mean(square_of(*p))), 1e-3), g));
                             }}));
  if (o.momentum) parts.push_back(ema(*o.momentum, false));
  if (o.weight_decay_rate != 0) parts.push_back(add_decayed_weights(o.weight_decay_rate));
  parts.push_back(scale(-1));
  return chain(std::move(parts));
}

// With the learning rate among the options.
GradientTransformation sgd(SgdOptions options) {
  Schedule rate = named_rate(options, "sgd");
  return sgd(std::move(rate), std::move(options));
}
GradientTransformation adam(AdamOptions options) {
  Schedule rate = named_rate(options, "adam");
  return adam(std::move(rate), std::move(options));
}
GradientTransformation nadam(AdamOptions options) {
  Schedule rate = named_rate(options, "nadam");
  return nadam(std::move(rate), std::move(options));
}
GradientTransformation amsgrad(AdamOptions options) {
  Schedule rate = named_rate(options, "amsgrad");
  return amsgrad(std::move(rate), std::move(options));
}
GradientTransformation adamax(AdamOptions options) {
  Schedule rate = named_rate(options, "adamax");
  return adamax(std::move(rate), std::move(options));
}
GradientTransformation radam(AdamOptions options) {
  Schedule rate = named_rate(options, "radam");
  return radam(std::move(rate), std::move(options));
}
GradientTransformation adabelief(AdamOptions options) {
  Schedule rate = named_rate(options, "adabelief");
  return adabelief(std::move(rate), std::move(options));
}
GradientTransformation yogi(AdamOptions options) {
  Schedule rate = named_rate(options, "yogi");
  return yogi(std::move(rate), std::move(options));
}
GradientTransformation adamw(AdamwOptions options) {
  Schedule rate = named_rate(options, "adamw");
  return adamw(std::move(rate), std::move(options));
}
GradientTransformation nadamw(AdamwOptions options) {
  Schedule rate = named_rate(options, "nadamw");
  return nadamw(std::move(rate), std::move(options));
}
GradientTransformation lamb(AdamwOptions options) {
  Schedule rate = named_rate(options, "lamb");
  return lamb(std::move(rate), std::move(options));
}
GradientTransformation lion(LionOptions options) {
  Schedule rate = named_rate(options, "lion");
  return lion(std::move(rate), std::move(options));
}
GradientTransformation lars(LarsOptions options) {
  Schedule rate = named_rate(options, "lars");
  return lars(std::move(rate), std::move(options));
}
GradientTransformation novograd(NovogradOptions options) {
  Schedule rate = named_rate(options, "novograd");
  return novograd(std::move(rate), std::move(options));
}
GradientTransformation adagrad(AdagradOptions options) {
  Schedule rate = named_rate(options, "adagrad");
  return adagrad(std::move(rate), std::move(options));
}
GradientTransformation rmsprop(RmspropOptions options) {
  Schedule rate = named_rate(options, "rmsprop");
  return rmsprop(std::move(rate), std::move(options));
}
GradientTransformation adafactor(AdafactorOptions options) {
  Schedule rate = named_rate(options, "adafactor");
  return adafactor(std::move(rate), std::move(options));
}
GradientTransformation adadelta(AdadeltaOptions options) {
  Schedule rate = options.learning_rate ? named_rate(options, "adadelta") : Schedule(1);
  return adadelta(std::move(rate), std::move(options));
}

}  // namespace weft::optim
