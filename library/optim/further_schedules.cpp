#include "weft/library/optim/further_schedules.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "weft/core/array/constants.h"
#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/trace/trace.h"

namespace weft::optim {

namespace {

/// A value between two, for the part of the way that is behind it.
Array interpolated(bool cosine, double from, double to, const Array& part) {
  return cosine ? to + (from - to) / 2 * (cos(constants::pi * part) + 1) : from + (to - from) * part;
}
std::int64_t part_of(std::int64_t steps, double part) { return static_cast<std::int64_t>(part * static_cast<double>(steps)); }

Schedule interpolated_schedule(const char* name, const InterpolatedSchedule& s, SourceLoc loc) {
  const bool cosine = s.interpolate_type == "cosine";
  if (!cosine && s.interpolate_type != "linear")
    throw Error(fmt::format("{}: interpolate_type is \"{}\"; it must be \"linear\" or \"cosine\"", name, s.interpolate_type),
                detail::effective_loc(loc));
  std::vector<std::int64_t> bounds{0};
  std::vector<double> values{s.init_value};
  for (const auto& [boundary, factor] : s.boundaries_and_scales) {
    if (boundary <= bounds.back())
      throw Error(fmt::format("{}: a part of the schedule would be from update {} to update {}; each must end after it begins", name,
                              bounds.back(), std::int64_t{boundary}),
                  detail::effective_loc(loc));
    bounds.push_back(boundary);
    values.push_back(values.back() * factor);
  }
  return Schedule([=](const Array& count) {
    Array value = full({}, values.back(), float32);
    for (std::size_t i = bounds.size() - 1; i-- > 0;) {
      const Array part = (count - bounds[i]).astype(float32) / static_cast<double>(bounds[i + 1] - bounds[i]);
      value = where(count < bounds[i + 1], interpolated(cosine, values[i], values[i + 1], part), value);
    }
    return value;
  });
}

}  // namespace

Schedule piecewise_interpolate_schedule(InterpolatedSchedule s, SourceLoc loc) {
  return interpolated_schedule("piecewise_interpolate_schedule", s, loc);
}
Schedule linear_onecycle_schedule(LinearCycle s, SourceLoc loc) {
  return interpolated_schedule("linear_onecycle_schedule",
                               {.interpolate_type = "linear",
                                .init_value = s.peak_value / s.div_factor,
                                .boundaries_and_scales = {{part_of(s.transition_steps, s.pct_start), s.div_factor},
                                                          {part_of(s.transition_steps, s.pct_final), 1 / s.div_factor},
                                                          {s.transition_steps, 1 / s.final_div_factor}}},
                               loc);
}
Schedule cosine_onecycle_schedule(CosineCycle s, SourceLoc loc) {
  return interpolated_schedule("cosine_onecycle_schedule",
                               {.interpolate_type = "cosine",
                                .init_value = s.peak_value / s.div_factor,
                                .boundaries_and_scales = {{part_of(s.transition_steps, s.pct_start), s.div_factor},
                                                          {s.transition_steps, 1 / (s.div_factor * s.final_div_factor)}}},
                               loc);
}
Schedule sgdr_schedule(const std::vector<WarmupCosineSchedule>& cycles, SourceLoc loc) {
  if (cycles.empty()) throw Error("sgdr_schedule: there must be at least one cycle", detail::effective_loc(loc));
  std::vector<Schedule> schedules;
  std::vector<Int> boundaries;
  std::int64_t end = 0;
  for (const WarmupCosineSchedule& cycle : cycles) {
    if (!schedules.empty()) boundaries.push_back(end);
    schedules.push_back(warmup_cosine_decay_schedule(cycle, loc));
    end += std::int64_t{cycle.decay_steps};
  }
  return join_schedules(std::move(schedules), std::move(boundaries), loc);
}

}  // namespace weft::optim
