// Finds the fastest of several schedules of a kernel by measurement. Takes a kernel, its usual schedule and others; each is compiled and
// run on the calling thread, on arrays made for it, of the kernel's own shapes: nothing of the user's is read or written, so that donated
// inputs are untouched. Callbacks, collectives and random state are never part of a kernel. Results are kept, with their times, in the
// cache of compiled code. tiers.cpp calls this in the background, once a program has run for long, if the user asked for it.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Whether a search may find something that counts: a run takes much longer than a call of the function, but not so long that a process
/// that ends would wait for it; the arrays are not too large to be made once more; the kernel doesn't update what it reads; and several
/// threads, where it is run by them, don't share the memory's bandwidth, which one thread alone cannot measure.
bool is_worth_searching(const Kernel& k, const Schedule& usual);

/// The schedule that a search found for an equal kernel, in this process or another on the same processor. nullopt if there is none, or if
/// it can't be read, does not satisfy check_schedule, or would not keep the bits of `usual`.
std::optional<Schedule> found_schedule(const Kernel& k, const Schedule& usual);

struct SearchResult {
  Schedule schedule;             ///< the fastest
  double before = 0, after = 0;  ///< seconds of processor time of a run by the usual schedule and by that one, the least of many
  int measured = 0;              ///< how many were measured beside the usual one
  int different = 0;             ///< how many gave other bits, and were left out
};
/// Measures these schedules beside the usual one, which they replace only where one is faster by more than repeated measurements of one
/// schedule differ, in two series. nullopt: `stop` said so, or other work had the processor half of the time.
std::optional<SearchResult> search_schedule(const Kernel& k, const Schedule& usual, const std::vector<Schedule>& others,
                                            const std::function<bool()>& stop);
void keep_schedule(const Kernel& k, const SearchResult& found);

/// Whether all kernels of the stored program with this key were searched; and notes that they were.
bool is_searched_program(const std::string& program_key);
void note_searched_program(const std::string& program_key);

/// Processor time that the process may still spend on searches now, in seconds: a twentieth of what it has used, at most two seconds.
double search_seconds_left();
/// Records time that a search has taken.
void spend_search_seconds(double seconds);
/// The processor time of the calling thread, in seconds.
double thread_seconds();

}  // namespace weft::detail
