// The recorded events of timelines. Internal to profiles.
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

/// Acquires the timeline for a recorder; false if another one has it.
bool take_timeline();
void return_timeline();
/// Clears the recorded events and starts recording.
void start_timeline();
void stop_timeline();
/// Calls f for each recorded event, thread by thread.
void each_event(FunctionRef<void(const TimelineEvent&)> f);
/// The memory in use on devices, in the order of time.
std::vector<MemorySample> memory_samples();

}  // namespace weft::detail
