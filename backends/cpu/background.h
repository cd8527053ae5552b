// Background work: optimised code for programs that are used a lot, and files for other processes.
#pragma once
#include <functional>

namespace weft::detail {

/// Runs the job on the process's one background thread, after those given before. Jobs that have not begun when the process ends are
/// dropped; what a job throws is dropped too.
void in_background(std::function<void()> job);
/// The same with high priority: before all jobs of the other kind and, at the process's end, for another fifth of a second. Dropped if very
/// many are waiting.
void soon_in_background(std::function<void()> job);
/// Whether the process is ending, so that a job of in_background should stop.
bool background_is_ending();
/// Whether a job of soon_in_background should stop too.
bool background_has_ended();

}  // namespace weft::detail
