// Whether the thread's next call of a program is to be timed step by step. Internal to the host's executables.
#pragma once

namespace weft::detail {

/// Set by CpuExecutable::time_steps for the call that it makes.
bool steps_are_timed();

}  // namespace weft::detail
