#include "weft/library/optim/schedules.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "weft/core/array/constants.h"
#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/trace/trace.h"

namespace weft::optim {

namespace {

void need_steps(const char* name, const char* what, std::int64_t steps, SourceLoc loc) {
  if (steps <= 0) throw Error(fmt::format("{}: {} is {}; it must be positive", name, what, steps), detail::effective_loc(loc));
}
Array as_float(const Array& count) { return count.astype(float32); }

}  // namespace

Schedule constant_schedule(double value) { return Schedule(value); }

Schedule polynomial_schedule(double init_value, double end_value, double power, Int transition_steps, Int transition_begin, SourceLoc loc) {
  const std::int64_t steps = transition_steps, begin = transition_begin;
  need_steps("polynomial_schedule", "transition_steps", steps, loc);
  return Schedule([=](const Array& count) {
    const Array rest = 1 - clip(as_float(count - begin), 0, steps) / static_cast<double>(steps);
    return Array((init_value - end_value) * (power == 1 ? rest : pow(rest, power)) + end_value);
  });
}
Schedule linear_schedule(double init_value, double end_value, Int transition_steps, Int transition_begin, SourceLoc loc) {
  return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin, loc);
}
Schedule exponential_decay(double init_value, Int transition_steps, double decay_rate, DecayOptions options, SourceLoc loc) {
  const std::int64_t steps = transition_steps, begin = options.transition_begin;
  need_steps("exponential_decay", "transition_steps", steps, loc);
  return Schedule([=](const Array& count) {
    const Array since = as_float(count - begin), passed = since / static_cast<double>(steps);
    const Array decayed = where(since > 0, init_value * pow(decay_rate, options.staircase ? floor(passed) : passed), init_value);
    if (!options.end_value) return decayed;
    return decay_rate < 1 ? maximum(decayed, *options.end_value) : minimum(decayed, *options.end_value);
  });
}
Schedule cosine_decay_schedule(double init_value, Int decay_steps, double alpha, double exponent, SourceLoc loc) {
  const std::int64_t steps = decay_steps;
  need_steps("cosine_decay_schedule", "decay_steps", steps, loc);
  return Schedule([=](const Array& count) {
    const Array cosine = 0.5 * (1 + cos(constants::pi / static_cast<double>(steps) * minimum(as_float(count), static_cast<double>(steps))));
    return Array(init_value * ((1 - alpha) * (exponent == 1 ? cosine : pow(cosine, exponent)) + alpha));
  });
}
Schedule piecewise_constant_schedule(double init_value, std::vector<std::pair<Int, double>> boundaries_and_scales) {
  return Schedule([init_value, steps = std::move(boundaries_and_scales)](const Array& count) {
    Array value = full({}, init_value, float32);
    for (const auto& [boundary, factor] : steps) value = where(count >= std::int64_t{boundary}, value * factor, value);
    return value;
  });
}
Schedule join_schedules(std::vector<Schedule> schedules, std::vector<Int> boundaries, SourceLoc loc) {
  if (schedules.empty() || boundaries.size() + 1 != schedules.size())
    throw Error(fmt::format("join_schedules: {} schedules have {} boundaries; there must be one between any two", schedules.size(),
                            boundaries.size()),
                detail::effective_loc(loc));
  return Schedule([all = std::move(schedules), from = std::move(boundaries)](const Array& count) {
    Array value = all[0](count);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int64_t begin = from[i];
      value = where(count < begin, value, all[i + 1](count - begin));
    }
    return value;
  });
}
Schedule warmup_constant_schedule(double init_value, double peak_value, Int warmup_steps, SourceLoc loc) {
  return linear_schedule(init_value, peak_value, warmup_steps, 0, loc);
}
Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, Int warmup_steps, Int decay_steps, double end_value,
                                      double exponent, SourceLoc loc) {
  const std::int64_t warm = warmup_steps, all = decay_steps;
  if (all <= warm)
    throw Error(
        fmt::format("warmup_cosine_decay_schedule: decay_steps is {} and warmup_steps {}; decay_steps counts both parts", all, warm),
        detail::effective_loc(loc));
  const Schedule decay = cosine_decay_schedule(peak_value, all - warm, peak_value == 0 ? 0 : end_value / peak_value, exponent, loc);
  if (warm <= 0) return decay;
  return join_schedules({linear_schedule(init_value, peak_value, warm, 0, loc), decay}, {warm}, loc);
}
Schedule warmup_exponential_decay_schedule(double init_value, double peak_value, Int warmup_steps, Int transition_steps, double decay_rate,
                                           DecayOptions options, SourceLoc loc) {
  return join_schedules({linear_schedule(init_value, peak_value, warmup_steps, 0, loc),
                         exponential_decay(peak_value, transition_steps, decay_rate, options, loc)},
                        {warmup_steps}, loc);
}

Schedule exponential_decay(ExponentialSchedule s, SourceLoc loc) {
  return exponential_decay(s.init_value, s.transition_steps, s.decay_rate, {s.transition_begin, s.staircase, s.end_value}, loc);
}
Schedule cosine_decay_schedule(CosineSchedule s, SourceLoc loc) {
  return cosine_decay_schedule(s.init_value, s.decay_steps, s.alpha, s.exponent, loc);
}
Schedule warmup_cosine_decay_schedule(WarmupCosineSchedule s, SourceLoc loc) {
  return warmup_cosine_decay_schedule(s.init_value, s.peak_value, s.warmup_steps, s.decay_steps, s.end_value, s.exponent, loc);
}

}  // namespace weft::optim
