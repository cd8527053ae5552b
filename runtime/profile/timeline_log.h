// What timelines hold once they are recorded. Internal to profiles.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/base/function_ref.h"
#include "weft/runtime/profile/timeline.h"

namespace weft::detail {

struct TimelineEvent {
  std::string name;           ///< empty where there is a label
  const WorkLabel* label;     ///< null: the name is all
  std::int64_t begun, ended;  ///< nanoseconds since the start
  int device, thread;
  Work work;
};
struct MemorySample {
  std::int64_t time;  ///< nanoseconds since the start
  std::int64_t bytes;
  int device;
};

/// Takes the timeline for one who records; false where somebody has it.
bool take_timeline();
void return_timeline();
/// Forgets what was recorded, and records from now on.
void start_timeline();
void stop_timeline();
/// All that was recorded, thread by thread.
void each_event(FunctionRef<void(const TimelineEvent&)> f);
/// How much memory devices had in use, in the order of time.
std::vector<MemorySample> memory_samples();

}  // namespace weft::detail
