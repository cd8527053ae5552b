#include "weft/library/optim/wrappers.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/trace/trace.h"
#include "weft/library/optim/rules.h"
#include "weft/library/random/random.h"

namespace weft::optim {

namespace {

/// apply_if_finite: keeps how many updates in a row were not finite, whether the last one was, and how many were not in all, before what
/// `inner` keeps.
class IfFinite final : public Rule {
 public:
  IfFinite(GradientTransformation inner, std::int64_t most) : inner_(std::move(inner)), most_(most) {}
  std::vector<Array> init(const Leaves& params) const override {
    std::vector<Array> state{zeros({}, int32), ones({}, bool_), zeros({}, int32)};
    for (const Array& x : inner_.rule().init(params)) state.push_back(x);
    return state;
  }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves* params,
                            std::vector<Array>& next) const override {
    const auto counts = take(state, 3);
    Array finite(true);
    for (const Array& g : updates.arrays) finite = finite & all(isfinite(g));
    const Array in_a_row = where(finite, 0, counts[0] + 1);
    next.insert(next.end(), {in_a_row, finite, where(finite, counts[2], counts[2] + 1)});
    const Array made = finite | (in_a_row > most_);
    return update_where(made, inner_, updates, state, params, next);
  }

 private:
  GradientTransformation inner_;
  std::int64_t most_;
};

/// add_noise: keeps the number of updates and a key.
class Noise final : public Rule {
 public:
  Noise(double eta, double gamma, Array key) : eta_(eta), gamma_(gamma), key_(std::move(key)) {}
  std::vector<Array> init(const Leaves&) const override { return {zeros({}, int32), key_}; }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves*, std::vector<Array>& next) const override {
    const auto kept = take(state, 2);
    const Array count = kept[0] + 1, deviation = sqrt(eta_ / pow(count.astype(float32), gamma_));
    const auto [key, now] = random::split<2>(kept[1]);
    next.push_back(count);
    next.push_back(key);
    const Array keys = random::split(now, static_cast<std::int64_t>(updates.arrays.size()));
    std::vector<Array> out;
    for (std::size_t i = 0; i < updates.arrays.size(); ++i) {
      const Array& g = updates.arrays[i];
      out.push_back(g + as(deviation, g) * random::normal(keys[static_cast<std::int64_t>(i)], g.shape(), g.dtype()));
    }
    return out;
  }

 private:
  double eta_, gamma_;
  Array key_;
};

Array inner_product(const std::vector<Array>& a, const std::vector<Array>& b) {
  Array total(0.f);
  for (std::size_t i = 0; i < a.size(); ++i) total = total + sum(real(conj(detail::as_wide(a[i])) * b[i]));
  return total;
}

/// scale_by_lbfgs: keeps the number of updates, 1 / <difference of gradients, difference of parameters> for each of the last steps, the
/// newest first, the last parameters and gradients, and the differences of the last steps.
class LimitedMemory final : public Rule {
 public:
  explicit LimitedMemory(LbfgsOptions options) : options_(options) {}
  std::vector<Array> init(const Leaves& params) const override {
    std::vector<Array> state{zeros({}, int32), zeros({options_.memory_size})};
    for (int last = 0; last < 2; ++last)
      for (const Array& p : params.arrays) state.push_back(zeros_like(p));
    for (int difference = 0; difference < 2; ++difference)
      for (const Array& p : params.arrays) state.push_back(zeros(p.shape().inserted(0, options_.memory_size), p.dtype()));
    return state;
  }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves* params,
                            std::vector<Array>& next) const override {
    const std::size_t n = updates.arrays.size();
    const std::vector<Array>& p = need_params(params, "scale_by_lbfgs").arrays;
    const Array count = take(state, 1)[0], weights = take(state, 1)[0], begun = count > 0;
    const auto last_p = take(state, n), last_g = take(state, n), moves = take(state, n), bends = take(state, n);
    std::vector<Array> move(n), bend(n), kept_moves(n), kept_bends(n);
    for (std::size_t i = 0; i < n; ++i) {
      move[i] = where(begun, p[i] - last_p[i], zeros_like(p[i]));
      bend[i] = where(begun, updates.arrays[i] - last_g[i], zeros_like(p[i]));
      kept_moves[i] = pushed(move[i], moves[i]);
      kept_bends[i] = pushed(bend[i], bends[i]);
    }
    const Array product = inner_product(bend, move), some = product != 0;
    const Array kept_weights = pushed(where(some, 1 / where(some, product, 1), 0).astype(float32), weights);
    next.insert(next.end(), {count + 1, kept_weights});
    for (const auto& part : {p, updates.arrays, kept_moves, kept_bends}) next.insert(next.end(), part.begin(), part.end());

    Array scale(1.f);
    if (options_.scale_init_precond) {
      const Array squares = inner_product(bend, bend), bent = squares > 0;
      const Array first = minimum(1, 1 / sqrt(inner_product(updates.arrays, updates.arrays)));
      scale = where(begun, where(bent, product / where(bent, squares, 1), 1), first);
    }
    return times_inverse(updates.arrays, kept_moves, kept_bends, kept_weights, scale);
  }

 private:
  static Array pushed(const Array& newest, const Array& kept) { return concatenate({expand_dims(newest, 0), kept(slice(0, -1))}, 0); }
  static std::vector<Array> at(const std::vector<Array>& kept, std::int64_t i) {
    std::vector<Array> out;
    for (const Array& x : kept) out.push_back(x[i]);
    return out;
  }
  static void add_scaled(std::vector<Array>& v, const Array& factor, const std::vector<Array>& direction) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = v[i] + as(factor, v[i]) * direction[i];
  }
  /// J. Nocedal, S. Wright, Numerical Optimization, 2006, algorithm 7.4.
  std::vector<Array> times_inverse(std::vector<Array> v, const std::vector<Array>& moves, const std::vector<Array>& bends,
                                   const Array& weights, const Array& scale) const {
    const std::int64_t m = options_.memory_size;
    std::vector<Array> alphas;
    for (std::int64_t i = 0; i < m; ++i) {
      alphas.push_back(weights[i] * inner_product(at(moves, i), v));
      add_scaled(v, -alphas.back(), at(bends, i));
    }
    for (Array& x : v) x = as(scale, x) * x;
    for (std::int64_t i = m - 1; i >= 0; --i) {
      const Array beta = weights[i] * inner_product(at(bends, i), v);
      add_scaled(v, alphas[static_cast<std::size_t>(i)] - beta, at(moves, i));
    }
    return v;
  }
  LbfgsOptions options_;
};

/// The norm of each unit, broadcast to the leaf's shape.
Array unit_norms(const Array& x) {
  std::int64_t longest = 1;
  for (std::int64_t n : x.shape()) longest = std::max(longest, n);
  if (x.ndim() > 5)
    throw ShapeError(fmt::format("adaptive_grad_clip: a leaf is {}; what a unit is, is known of up to 5 dimensions. Leave it out (masked)",
                                 detail::to_string(x.aval())),
                     detail::effective_loc({}));
  std::vector<int> axes;
  if (x.size() == longest)
    for (int d = 0; d < x.ndim(); ++d) axes.push_back(d);
  else
    for (int d = 0; d < (x.ndim() < 4 ? 1 : x.ndim() - 1); ++d) axes.push_back(d);
  const Array wide = detail::as_wide(x), squares = real(wide * conj(wide));
  const Array norms = sqrt(axes.empty() ? squares : sum(squares, axes, {.keepdims = true}));
  return broadcast_to(detail::as_dtype(norms, x.dtype().real_part()), x.shape());
}

}  // namespace

GradientTransformation apply_if_finite(GradientTransformation inner, Int max_consecutive_errors) {
  return GradientTransformation(detail::make_ref<IfFinite>(std::move(inner), std::int64_t{max_consecutive_errors}));
}
GradientTransformation adaptive_grad_clip(double clipping, double eps) {
  return by_leaf({.name = "adaptive_grad_clip",
                  .needs_params = true,
                  .update = [=](const Array& g, const Array* p, std::vector<Array>&, const Array&) {
                    const Array norm = unit_norms(g), most = clipping * maximum(unit_norms(*p), eps);
                    return where(norm < most, g, g * as(most / maximum(norm, 1e-6), g));
                  }});
}
GradientTransformation add_noise(double eta, double gamma, Arg key) {
  const Array given = key.array();
  return GradientTransformation(detail::make_ref<Noise>(eta, gamma, given.dtype().is_key() ? given : random::key(given, key.where())));
}
GradientTransformation keep_params_nonnegative() {
  return by_leaf({.name = "keep_params_nonnegative",
                  .needs_params = true,
                  .update = [](const Array& g, const Array* p, std::vector<Array>&, const Array&) { return where(*p + g < 0, -*p, g); }});
}
GradientTransformation scale_by_sm3(double b1, double b2, double eps) {
  const auto init = [](const Array& p) {
    std::vector<Array> kept{zeros_like(p)};
    for (std::int64_t n : p.shape()) kept.push_back(zeros({n}, p.dtype()));
    return kept;
  };
  const auto update = [=](const Array& g, const Array*, std::vector<Array>& kept, const Array&) {
    const int n = g.ndim();
    Array sums;
    for (int d = 0; d < n; ++d) {
      std::vector<std::int64_t> along(static_cast<std::size_t>(n), 1);
      along[static_cast<std::size_t>(d)] = g.shape()[d];
      const Array mine = reshape(kept[static_cast<std::size_t>(d) + 1], Shape(along));
      sums = d == 0 ? mine : minimum(sums, mine);
    }
    sums = (b2 == 1 ? 1 : 1 - b2) * square(g) + (n == 0 ? Array(0) : Array(b2 * sums));
    const Array some = sums > 0;
    kept[0] = (1 - b1) * (g * where(some, rsqrt(where(some, sums, 1) + eps), 0)) + b1 * kept[0];
    for (int d = 0; d < n; ++d) {
      std::vector<int> others;
      for (int e = 0; e < n; ++e)
        if (e != d) others.push_back(e);
      kept[static_cast<std::size_t>(d) + 1] = n < 2 ? sums : max(sums, others);
    }
    return kept[0];
  };
  return by_leaf({.name = "sm3", .init = init, .update = update});
}
GradientTransformation sm3(Schedule learning_rate, double momentum) {
  return chain({scale_by_sm3(momentum), scale_by_learning_rate(std::move(learning_rate))});
}
GradientTransformation scale_by_lbfgs(LbfgsOptions options) {
  if (options.memory_size < 1)
    throw Error(fmt::format("scale_by_lbfgs: memory_size is {}; it must be 1 at least", std::int64_t{options.memory_size}),
                detail::effective_loc({}));
  return GradientTransformation(detail::make_ref<LimitedMemory>(options));
}
GradientTransformation lbfgs(Schedule learning_rate, LbfgsOptions options) {
  return chain({scale_by_lbfgs(options), scale_by_learning_rate(std::move(learning_rate))});
}

OptState Lookahead::with_steps(const Array& steps, OptState state) {
  state.arrays.insert(state.arrays.begin(), steps);
  return state;
}
std::pair<Array, OptState> Lookahead::without_steps(const OptState& state, SourceLoc loc) {
  if (state.arrays.empty()) throw Error("lookahead: the state holds nothing; begin with init(params)", detail::effective_loc(loc));
  return {state.arrays[0], OptState{{state.arrays.begin() + 1, state.arrays.end()}}};
}
Lookahead lookahead(GradientTransformation fast, LookaheadOptions options, SourceLoc loc) {
  if (options.sync_period < 1)
    throw Error(fmt::format("lookahead: sync_period is {}; it must be 1 at least", std::int64_t{options.sync_period}),
                detail::effective_loc(loc));
  return Lookahead(std::move(fast), options.sync_period, options.slow_step_size, options.reset_state);
}

}  // namespace weft::optim

namespace weft::detail {
void check_label(const std::string& label, const std::string& path, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), label) != names.end()) return;
  throw Error(fmt::format("multi_transform: the label of the leaf {} is `{}`; there are transformations for {}",
                          path.empty() ? "itself" : path, label, fmt::join(names, ", ")),
              effective_loc({}));
}
}  // namespace weft::detail
