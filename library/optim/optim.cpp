#include "weft/library/optim/optim.h"

#include <fmt/format.h>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/trace/trace.h"
#include "weft/library/optim/rules.h"

namespace weft::optim {

std::span<const Array> take(std::span<const Array>& state, std::size_t count) {
  if (state.size() < count)
    throw Error("update: the state is not one of this transformation and these parameters: it has too few arrays; begin with init(params)",
                detail::effective_loc({}));
  const auto mine = state.first(count);
  state = state.subspan(count);
  return mine;
}
const Leaves& need_params(const Leaves* params, const char* name) {
  if (!params) throw Error(fmt::format("{}: it needs the parameters: update(updates, state, params)", name), detail::effective_loc({}));
  return *params;
}
Array power_of(double value, const Array& count) { return pow(value, count.astype(float32)); }
Array as(const Array& x, const Array& like) { return x.astype(like.dtype()); }

std::vector<Array> update_where(const Array& condition, const GradientTransformation& inner, const Leaves& updates,
                                std::span<const Array>& state, const Leaves* params, std::vector<Array>& next) {
  std::vector<Array> after;
  const std::span<const Array> before = state;
  std::vector<Array> out = inner.rule().update(updates, state, params, after);
  for (Array& x : out) x = where(condition, x, zeros_like(x));
  for (std::size_t i = 0; i < after.size(); ++i) next.push_back(where(condition, after[i], before[i]));
  return out;
}

LeafInit zeros_for(std::size_t count) {
  return [count](const Array& p) {
    std::vector<Array> out;
    // Each has memory of its own, so that a state can be donated.
    for (std::size_t i = 0; i < count; ++i) out.push_back(zeros_like(p));
    return out;
  };
}

namespace {

class ByLeaf final : public Rule {
 public:
  explicit ByLeaf(LeafRule rule) : rule_(std::move(rule)) {}
  std::vector<Array> init(const Leaves& params) const override {
    std::vector<Array> state;
    if (rule_.counts) state.push_back(zeros({}, int32));
    for (std::size_t i = 0; i < params.arrays.size(); ++i) {
      const std::vector<Array> kept = rule_.init(params.arrays[i]);
      if (!kept.empty() && !params.arrays[i].dtype().is_inexact()) refuse_integers(params.arrays[i], params.paths[i]);
      state.insert(state.end(), kept.begin(), kept.end());
    }
    return state;
  }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves* params,
                            std::vector<Array>& next) const override {
    if (rule_.needs_params) need_params(params, rule_.name);
    Array count(0);
    if (rule_.counts) next.push_back(count = take(state, 1)[0] + 1);
    std::vector<Array> out;
    for (std::size_t i = 0; i < updates.arrays.size(); ++i) {
      const Array& g = updates.arrays[i];
      const std::vector<Array> first = rule_.init(g);
      const auto mine = take(state, first.size());
      std::vector<Array> kept(mine.begin(), mine.end());
      for (std::size_t k = 0; k < kept.size(); ++k)
        if (kept[k].shape() != first[k].shape()) refuse(kept[k], g, updates.paths[i]);
      out.push_back(as(rule_.update(g, params ? &params->arrays[i] : nullptr, kept, count), g));
      for (std::size_t k = 0; k < kept.size(); ++k) next.push_back(as(kept[k], mine[k]));
    }
    return out;
  }

 private:
  [[noreturn]] void refuse_integers(const Array& p, const std::string& path) const {
    throw DTypeError(fmt::format("{}: the parameter{}{} is {}, and its updates would be rounded to whole numbers; convert it to a floating "
                                 "type, or leave it out (masked)",
                                 rule_.name, path.empty() ? "" : " ", path, detail::to_string(p.aval())),
                     detail::effective_loc({}));
  }
  [[noreturn]] void refuse(const Array& kept, const Array& g, const std::string& path) const {
    throw ShapeError(
        fmt::format("{}: the update{}{} is {}, and what the state keeps of it {}; the state must be that of the same parameters",
                    rule_.name, path.empty() ? "" : " ", path, detail::to_string(g.aval()), detail::to_string(kept.aval())),
        detail::effective_loc({}));
  }
  LeafRule rule_;
};

class Chain final : public Rule {
 public:
  explicit Chain(std::vector<GradientTransformation> parts) : parts_(std::move(parts)) {}
  std::vector<Array> init(const Leaves& params) const override {
    std::vector<Array> state;
    for (const auto& part : parts_)
      for (const Array& x : part.rule().init(params)) state.push_back(x);
    return state;
  }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves* params,
                            std::vector<Array>& next) const override {
    Leaves now = updates;
    for (const auto& part : parts_) now.arrays = part.rule().update(now, state, params, next);
    return now.arrays;
  }

 private:
  std::vector<GradientTransformation> parts_;
};

}  // namespace

Mask::Mask(const std::vector<std::string>& paths, const std::vector<Array>& chosen)
    : Mask([paths, chosen](const std::string& path, const Array&) {
        const auto at = std::find(paths.begin(), paths.end(), path);
        if (at == paths.end()) throw PytreeError(fmt::format("mask: the tree of bools has no leaf {}, as the parameters have", path));
        const Array& there = chosen[static_cast<std::size_t>(at - paths.begin())];
        if (there.size() != 1)
          throw PytreeError(
              fmt::format("mask: leaf {} is {}; it must be one bool for the whole leaf", path, detail::to_string(there.aval())));
        return static_cast<bool>(there);
      }) {}

namespace {

class Masked final : public Rule {
 public:
  Masked(GradientTransformation inner, Mask mask) : inner_(std::move(inner)), mask_(std::move(mask)) {}
  std::vector<Array> init(const Leaves& params) const override { return inner_.rule().init(chosen(params, params)); }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves* params,
                            std::vector<Array>& next) const override {
    // The mask is asked of the parameters, where there are any: gradients of integers have other dtypes.
    const Leaves& asked = params ? *params : updates;
    Leaves some;
    if (params) some = chosen(asked, *params);
    const std::vector<Array> changed = inner_.rule().update(chosen(asked, updates), state, params ? &some : nullptr, next);
    std::vector<Array> out = updates.arrays;
    std::size_t k = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (mask_(asked.paths[i], asked.arrays[i])) out[i] = changed[k++];
    return out;
  }

 private:
  Leaves chosen(const Leaves& asked, const Leaves& from) const {
    Leaves out;
    for (std::size_t i = 0; i < from.arrays.size(); ++i)
      if (mask_(asked.paths[i], asked.arrays[i])) {
        out.arrays.push_back(from.arrays[i]);
        out.paths.push_back(from.paths[i]);
      }
    return out;
  }
  GradientTransformation inner_;
  Mask mask_;
};

class MultiStepsRule final : public Rule {
 public:
  MultiStepsRule(GradientTransformation inner, std::int64_t every) : inner_(std::move(inner)), every_(every) {}
  std::vector<Array> init(const Leaves& params) const override {
    std::vector<Array> state{zeros({}, int32)};
    for (const Array& p : params.arrays) state.push_back(zeros_like(p));
    for (const Array& x : inner_.rule().init(params)) state.push_back(x);
    return state;
  }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>& state, const Leaves* params,
                            std::vector<Array>& next) const override {
    const Array step = take(state, 1)[0], last = step == every_ - 1;
    const auto sums = take(state, updates.arrays.size());
    Leaves means{{}, updates.paths};
    next.push_back(where(last, 0, step + 1));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      means.arrays.push_back(sums[i] + as((updates.arrays[i] - sums[i]) / (step + 1), sums[i]));
      next.push_back(where(last, zeros_like(sums[i]), means.arrays[i]));
    }
    return update_where(last, inner_, means, state, params, next);
  }

 private:
  GradientTransformation inner_;
  std::int64_t every_;
};

/// By a function of all leaves together.
class OfAll final : public Rule {
 public:
  explicit OfAll(std::function<std::vector<Array>(const std::vector<Array>&)> f) : f_(std::move(f)) {}
  std::vector<Array> init(const Leaves&) const override { return {}; }
  std::vector<Array> update(const Leaves& updates, std::span<const Array>&, const Leaves*, std::vector<Array>&) const override {
    return f_(updates.arrays);
  }

 private:
  std::function<std::vector<Array>(const std::vector<Array>&)> f_;
};
GradientTransformation stateless(std::function<Array(const Array&)> f) {
  return GradientTransformation(detail::make_ref<OfAll>([f = std::move(f)](const std::vector<Array>& all) {
    std::vector<Array> out;
    for (const Array& x : all) out.push_back(as(f(x), x));
    return out;
  }));
}

/// A number of a schedule: the count of updates before this one is kept, if it matters.
GradientTransformation by_schedule(const char* name, Schedule schedule, bool needs_params,
                                   std::function<Array(const Array& g, const Array* p, const Array& number)> f) {
  const bool counts = !schedule.constant();
  return by_leaf({.name = name,
                  .counts = counts,
                  .needs_params = needs_params,
                  .update = [=](const Array& g, const Array* p, std::vector<Array>&, const Array& count) {
                    return f(g, p, schedule(counts ? count - 1 : count));
                  }});
}

}  // namespace

GradientTransformation by_leaf(LeafRule rule) { return GradientTransformation(detail::make_ref<ByLeaf>(std::move(rule))); }

OptState GradientTransformation::first_state(const Leaves& params, SourceLoc loc) const {
  detail::LocScope scope(loc);
  return {rule_->init(params)};
}
std::pair<std::vector<Array>, OptState> GradientTransformation::next_updates(const Leaves& updates, const OptState& state,
                                                                             const Leaves* params, SourceLoc loc) const {
  detail::LocScope scope(loc);
  std::span<const Array> left = state.arrays;
  OptState next;
  std::vector<Array> out = rule_->update(updates, left, params, next.arrays);
  if (!left.empty())
    throw Error(fmt::format("update: the state is not one of this transformation and these parameters: it has {} arrays, and {} are used; "
                            "begin with init(params)",
                            state.arrays.size(), state.arrays.size() - left.size()),
                detail::effective_loc(loc));
  return {std::move(out), std::move(next)};
}

GradientTransformation chain(std::vector<GradientTransformation> transformations) {
  return GradientTransformation(detail::make_ref<Chain>(std::move(transformations)));
}
GradientTransformation masked(GradientTransformation inner, Mask mask) {
  return GradientTransformation(detail::make_ref<Masked>(std::move(inner), std::move(mask)));
}
GradientTransformation multi_steps(GradientTransformation inner, Int every, SourceLoc loc) {
  if (every < 1)
    throw Error(fmt::format("multi_steps: every is {}; it must be 1 at least", std::int64_t{every}), detail::effective_loc(loc));
  return GradientTransformation(detail::make_ref<MultiStepsRule>(std::move(inner), std::int64_t{every}));
}
GradientTransformation MultiSteps(GradientTransformation inner, Int every, SourceLoc loc) {
  return multi_steps(std::move(inner), every, loc);
}

GradientTransformation identity() {
  return stateless([](const Array& x) { return x; });
}
GradientTransformation set_to_zero() {
  return stateless([](const Array& x) { return zeros_like(x); });
}
GradientTransformation scale(double factor) {
  return stateless([=](const Array& x) { return Array(factor * x); });
}
GradientTransformation scale_by_schedule(Schedule schedule) {
  return by_schedule("scale_by_schedule", std::move(schedule), false,
                     [](const Array& g, const Array*, const Array& s) { return Array(as(s, g) * g); });
}
GradientTransformation scale_by_learning_rate(Schedule learning_rate) {
  return by_schedule("scale_by_learning_rate", std::move(learning_rate), false,
                     [](const Array& g, const Array*, const Array& s) { return Array(-as(s, g) * g); });
}
GradientTransformation clip(double limit) {
  return stateless([=](const Array& x) { return weft::clip(x, -limit, limit); });
}
GradientTransformation clip_by_global_norm(double max_norm) {
  return GradientTransformation(detail::make_ref<OfAll>([=](const std::vector<Array>& all) {
    std::vector<Array> wide, out;
    for (const Array& x : all) wide.push_back(detail::as_wide(x));
    const Array norm = detail::norm_of_leaves(wide, {});
    for (std::size_t i = 0; i < all.size(); ++i)
      out.push_back(where(norm < max_norm, all[i], as(wide[i] / as(norm, wide[i]) * max_norm, all[i])));
    return out;
  }));
}
GradientTransformation clip_by_block_rms(double threshold) {
  return stateless([=](const Array& x) { return Array(x / maximum(1, sqrt(mean(square(abs(x)))) / threshold)); });
}
GradientTransformation zero_nans() {
  return stateless([](const Array& x) { return where(isnan(x), zeros_like(x), x); });
}
GradientTransformation centralize() {
  return stateless([](const Array& x) {
    if (x.ndim() < 2) return x;
    std::vector<int> axes;
    for (int i = 1; i < x.ndim(); ++i) axes.push_back(i);
    return Array(x - mean(x, axes, {.keepdims = true}));
  });
}
GradientTransformation add_decayed_weights(Schedule weight_decay, std::optional<Mask> mask) {
  GradientTransformation all = by_schedule("add_decayed_weights", std::move(weight_decay), true,
                                           [](const Array& g, const Array* p, const Array& s) { return Array(g + as(s, g) * as(*p, g)); });
  return mask ? masked(std::move(all), std::move(*mask)) : all;
}
GradientTransformation trace(double decay, bool nesterov) {
  return by_leaf(
      {.name = "trace", .init = zeros_for(1), .update = [=](const Array& g, const Array*, std::vector<Array>& kept, const Array&) {
         kept[0] = g + decay * kept[0];
         return nesterov ? Array(g + decay * kept[0]) : kept[0];
       }});
}
GradientTransformation ema(double decay, bool debias) {
  return by_leaf({.name = "ema",
                  .counts = true,
                  .init = zeros_for(1),
                  .update = [=](const Array& g, const Array*, std::vector<Array>& kept, const Array& count) {
                    kept[0] = (1 - decay) * g + decay * kept[0];
                    return debias ? Array(kept[0] / as(1 - power_of(decay, count), g)) : kept[0];
                  }});
}
GradientTransformation scale_by_trust_ratio(double min_norm, double trust_coefficient, double eps) {
  const auto norm = [=](const Array& x) {
    const Array squares = sum(square(abs(detail::as_wide(x))));
    return where(squares > min_norm * min_norm, sqrt(where(squares > 0, squares, 1)), min_norm);
  };
  return by_leaf({.name = "scale_by_trust_ratio",
                  .needs_params = true,
                  .update = [=](const Array& g, const Array* p, std::vector<Array>&, const Array&) {
                    const Array weights = norm(*p), update = norm(g);
                    const Array none_there = (weights == 0) | (update == 0), below = update + eps;
                    return Array(g * as(where(none_there, 1, trust_coefficient * weights / where(below == 0, 1, below)), g));
                  }});
}

}  // namespace weft::optim
