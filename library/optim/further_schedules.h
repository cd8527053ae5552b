// Schedules whose parameters are given by name, as optax has them, and those of one or several cycles.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/library/optim/schedules.h"

namespace weft::optim {

/// The parameters of linear_schedule by name.
struct LinearSchedule {
  double init_value;         ///< at the beginning
  double end_value;          ///< at the end
  Int transition_steps;      ///< how many updates it takes
  Int transition_begin = 0;  ///< the number of updates before it begins
};
inline Schedule linear_schedule(LinearSchedule s, SourceLoc loc = SourceLoc::here()) {
  return linear_schedule(s.init_value, s.end_value, s.transition_steps, s.transition_begin, loc);
}
/// The parameters of polynomial_schedule by name.
struct PolynomialSchedule {
  double init_value;         ///< at the beginning
  double end_value;          ///< at the end
  double power;              ///< of the part that is left
  Int transition_steps;      ///< how many updates it takes
  Int transition_begin = 0;  ///< the number of updates before it begins
};
inline Schedule polynomial_schedule(PolynomialSchedule s, SourceLoc loc = SourceLoc::here()) {
  return polynomial_schedule(s.init_value, s.end_value, s.power, s.transition_steps, s.transition_begin, loc);
}
/// The parameters of piecewise_constant_schedule by name.
struct PiecewiseConstantSchedule {
  double init_value;                                               ///< at the beginning
  std::vector<std::pair<Int, double>> boundaries_and_scales = {};  ///< numbers of updates, and the factor from there on
};
inline Schedule piecewise_constant_schedule(PiecewiseConstantSchedule s) {
  return piecewise_constant_schedule(s.init_value, std::move(s.boundaries_and_scales));
}
/// The parameters of warmup_constant_schedule by name.
struct WarmupConstantSchedule {
  double init_value;  ///< at the beginning
  double peak_value;  ///< from warmup_steps updates on
  Int warmup_steps;   ///< how many updates go up
};
inline Schedule warmup_constant_schedule(WarmupConstantSchedule s, SourceLoc loc = SourceLoc::here()) {
  return warmup_constant_schedule(s.init_value, s.peak_value, s.warmup_steps, loc);
}
/// The parameters of warmup_exponential_decay_schedule by name.
struct WarmupExponentialSchedule {
  double init_value;                     ///< at the beginning
  double peak_value;                     ///< after warmup_steps updates
  Int warmup_steps;                      ///< how many updates go up
  Int transition_steps;                  ///< after so many further updates it is decay_rate times as large
  double decay_rate;                     ///< the factor
  Int transition_begin = 0;              ///< the number of updates behind the peak before it decays
  bool staircase = false;                ///< only every transition_steps updates
  std::optional<double> end_value = {};  ///< where it ends
};
inline Schedule warmup_exponential_decay_schedule(WarmupExponentialSchedule s, SourceLoc loc = SourceLoc::here()) {
  return warmup_exponential_decay_schedule(s.init_value, s.peak_value, s.warmup_steps, s.transition_steps, s.decay_rate,
                                           {s.transition_begin, s.staircase, s.end_value}, loc);
}

/// The parameters of piecewise_interpolate_schedule.
struct InterpolatedSchedule {
  std::string interpolate_type;  ///< between two values: "linear", or "cosine" along half a period of it
  double init_value;             ///< at the beginning
  /// numbers of updates, ascending, and by what the value has been multiplied there
  std::vector<std::pair<Int, double>> boundaries_and_scales = {};
};
/// From init_value to init_value times each of the factors, one after the other. Throws Error for another interpolate_type, or for
/// boundaries that don't ascend from above 0.
Schedule piecewise_interpolate_schedule(InterpolatedSchedule s, SourceLoc loc = SourceLoc::here());
/// The parameters of linear_onecycle_schedule.
struct LinearCycle {
  Int transition_steps;           ///< how many updates it takes
  double peak_value;              ///< the largest value
  double pct_start = 0.3;         ///< the part of the updates that go up
  double pct_final = 0.85;        ///< the part after which it is where it began
  double div_factor = 25;         ///< it begins at peak_value / div_factor
  double final_div_factor = 1e4;  ///< it ends at that divided by final_div_factor
};
/// Linearly up, down again, and further down (L. Smith, N. Topin, 2018). Throws Error where a part has no updates.
Schedule linear_onecycle_schedule(LinearCycle s, SourceLoc loc = SourceLoc::here());
/// The parameters of cosine_onecycle_schedule.
struct CosineCycle {
  Int transition_steps;           ///< how many updates it takes
  double peak_value;              ///< the largest value
  double pct_start = 0.3;         ///< the part of the updates that go up
  double div_factor = 25;         ///< it begins at peak_value / div_factor
  double final_div_factor = 1e4;  ///< it ends at that divided by final_div_factor
};
/// Up along half a period of the cosine, and down along another. Throws Error where a part has no updates.
Schedule cosine_onecycle_schedule(CosineCycle s, SourceLoc loc = SourceLoc::here());
/// Several warmup_cosine_decay_schedules, each of its decay_steps updates, one after the other (I. Loshchilov, F. Hutter, SGDR, 2017).
/// Throws Error for none.
Schedule sgdr_schedule(const std::vector<WarmupCosineSchedule>& cycles, SourceLoc loc = SourceLoc::here());

}  // namespace weft::optim
