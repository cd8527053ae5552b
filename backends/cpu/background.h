// Work that nobody waits for: better code for what turns out to be used a lot.
#pragma once
#include <functional>

namespace weft::detail {

/// Runs the job on the process's one background thread, after those given before. Jobs that have not begun when the process ends are
/// dropped; what a job throws is dropped too.
void in_background(std::function<void()> job);
/// Whether the process is at its end and waits for the job that is running.
bool background_is_ending();

}  // namespace weft::detail
