// The lines that tell how far loops are, on stderr: bars that move where that is a terminal, now and then a whole line where it isn't.
//
// On a terminal the bars are at the bottom, and the cursor at the beginning of the first: what anybody else prints begins there, on a
// line of its own. All bars are drawn by one write.
#pragma once
#include <cstdint>
#include <string>

#include "weft/core/base/ref.h"

namespace weft::detail {

/// A loop of somebody's. Thread-safe.
struct ProgressBar : RefCounted {};

/// Whether anything is to be told: not where WEFT_PROGRESS is 0 or off. `lines` and `bars` there choose how, whatever stderr is. Throws
/// Error for another text.
bool progress_is_on();
/// `total`: of how many steps; negative: nobody knows. Null where nothing is to be told.
Ref<ProgressBar> begin_progress(const std::string& name, std::int64_t total);
/// So many more steps are done.
void advance_progress(ProgressBar& bar, std::int64_t steps = 1) noexcept;
/// The loop is over, at its end or (`complete` false) before. What is told of it stays on the screen.
void end_progress(ProgressBar& bar, bool complete) noexcept;

/// While a loop's body is traced: how many steps the loop will have.
class [[nodiscard]] LoopSteps {
 public:
  explicit LoopSteps(std::int64_t steps);
  ~LoopSteps();
  LoopSteps(const LoopSteps&) = delete;
  LoopSteps& operator=(const LoopSteps&) = delete;
  /// The number of the innermost loop that this thread traces; -1 where that is not known.
  static std::int64_t current();

 private:
  std::int64_t outer_;
};

}  // namespace weft::detail
