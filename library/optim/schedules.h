// Learning rates and other numbers that change with the number of updates (optax's schedules).
#pragma once
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/integer.h"
#include "weft/library/jnp/array_function.h"

namespace weft::optim {

/// A number, or a function of the number of updates so far, which arrives as an int32 Array: of C++'s functions or of those below.
class Schedule {
 public:
  Schedule(ScalarType auto value) : function_([value](const Array&) { return Array(value); }) {}
  Schedule(const Array& value) : function_([value](const Array&) { return value; }) {}
  template <class F>
    requires(!std::is_same_v<F, Schedule> && !std::is_convertible_v<F, Array> && std::is_invocable_r_v<Array, F&, const Array&>)
  Schedule(F f) : function_(std::move(f)), constant_(false) {}
  /// The number after so many updates.
  Array operator()(const Array& count) const { return function_(count); }
  /// For the library: whether it is one number.
  bool constant() const { return constant_; }

 private:
  ArrayFunction function_;
  bool constant_ = true;
};

/// Always the same number.
Schedule constant_schedule(double value);
/// From init_value to end_value in transition_steps updates, behind transition_begin updates.
Schedule linear_schedule(double init_value, double end_value, Int transition_steps, Int transition_begin = 0,
                         SourceLoc loc = SourceLoc::here());
/// (init_value - end_value) (1 - k / transition_steps)^power + end_value, k counted from transition_begin on.
Schedule polynomial_schedule(double init_value, double end_value, double power, Int transition_steps, Int transition_begin = 0,
                             SourceLoc loc = SourceLoc::here());
/// Options of exponential_decay and warmup_exponential_decay_schedule.
struct DecayOptions {
  Int transition_begin = 0;              ///< the number of updates before it begins
  bool staircase = false;                ///< only every transition_steps updates
  std::optional<double> end_value = {};  ///< where it ends
};
/// init_value decay_rate^(k / transition_steps).
Schedule exponential_decay(double init_value, Int transition_steps, double decay_rate, DecayOptions options = {},
                           SourceLoc loc = SourceLoc::here());
/// The parameters of exponential_decay by name.
struct ExponentialSchedule {
  double init_value;                     ///< at the beginning
  Int transition_steps;                  ///< after so many updates it is decay_rate times as large
  double decay_rate;                     ///< the factor
  Int transition_begin = 0;              ///< the number of updates before it begins
  bool staircase = false;                ///< only every transition_steps updates
  std::optional<double> end_value = {};  ///< where it ends
};
Schedule exponential_decay(ExponentialSchedule s, SourceLoc loc = SourceLoc::here());
/// Along half a period of the cosine from init_value to alpha init_value in decay_steps updates (I. Loshchilov, F. Hutter, SGDR, 2017).
Schedule cosine_decay_schedule(double init_value, Int decay_steps, double alpha = 0, double exponent = 1,
                               SourceLoc loc = SourceLoc::here());
/// The parameters of cosine_decay_schedule by name.
struct CosineSchedule {
  double init_value;    ///< at the beginning
  Int decay_steps;      ///< how many updates it takes
  double alpha = 0;     ///< times init_value: the end
  double exponent = 1;  ///< of the cosine
};
Schedule cosine_decay_schedule(CosineSchedule s, SourceLoc loc = SourceLoc::here());
/// init_value, times each of the factors from its number of updates on: `piecewise_constant_schedule(1., {{100, 0.1}, {200, 0.1}})`.
Schedule piecewise_constant_schedule(double init_value, std::vector<std::pair<Int, double>> boundaries_and_scales);
/// Several schedules one after the other: each from its boundary on, where its count begins at 0. Throws Error for another number of
/// boundaries.
Schedule join_schedules(std::vector<Schedule> schedules, std::vector<Int> boundaries, SourceLoc loc = SourceLoc::here());
/// Linear to peak_value in warmup_steps updates, then constant.
Schedule warmup_constant_schedule(double init_value, double peak_value, Int warmup_steps, SourceLoc loc = SourceLoc::here());
/// Linear to peak_value in warmup_steps updates, then along a cosine to end_value after decay_steps updates in all.
Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, Int warmup_steps, Int decay_steps, double end_value = 0,
                                      double exponent = 1, SourceLoc loc = SourceLoc::here());
/// The parameters of warmup_cosine_decay_schedule by name.
struct WarmupCosineSchedule {
  double init_value = 0;  ///< at the beginning
  double peak_value;      ///< after warmup_steps updates
  Int warmup_steps;       ///< how many updates go up
  Int decay_steps;        ///< how many there are in all
  double end_value = 0;   ///< at the end
  double exponent = 1;    ///< of the cosine
};
Schedule warmup_cosine_decay_schedule(WarmupCosineSchedule s, SourceLoc loc = SourceLoc::here());
/// Linear to peak_value in warmup_steps updates, then as exponential_decay.
Schedule warmup_exponential_decay_schedule(double init_value, double peak_value, Int warmup_steps, Int transition_steps, double decay_rate,
                                           DecayOptions options = {}, SourceLoc loc = SourceLoc::here());

}  // namespace weft::optim
