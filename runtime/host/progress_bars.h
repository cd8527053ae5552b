// Progress of loops on stderr: moving bars if that is a terminal, otherwise a whole line from time to time.
//
// On a terminal the bars are at the bottom, with the cursor at the beginning of the first: other output begins there, on a line of its own.
// All bars are drawn by one write.
#pragma once
#include <cstdint>
#include <string>

#include "weft/core/base/ref.h"

namespace weft::detail {

/// The progress of one loop. Thread-safe.
struct ProgressBar : RefCounted {};

/// Whether progress is shown: not if WEFT_PROGRESS is 0 or off. Its values `lines` and `bars` choose the form, whatever stderr is. Throws
/// Error for any other value.
bool progress_is_on();
/// `total`: the number of steps, negative if unknown. Null if progress is switched off.
Ref<ProgressBar> begin_progress(const std::string& name, std::int64_t total);
/// Adds `steps` to the steps that are done.
void advance_progress(ProgressBar& bar, std::int64_t steps = 1) noexcept;
/// Ends the bar of a loop that ran to its end or (`complete` false) was left before it. Its last line stays on the screen.
void end_progress(ProgressBar& bar, bool complete) noexcept;

/// A scope that states the number of steps of the loop whose body is being traced.
class [[nodiscard]] LoopSteps {
 public:
  explicit LoopSteps(std::int64_t steps);
  ~LoopSteps();
  LoopSteps(const LoopSteps&) = delete;
  LoopSteps& operator=(const LoopSteps&) = delete;
  /// The number of steps of the innermost loop that this thread is tracing; -1 if unknown.
  static std::int64_t current();

 private:
  std::int64_t outer_;
};

}  // namespace weft::detail
