// Which tier of code each part of a program gets: interpreted or baseline code so that the first call ends soon, optimised code where that
// pays.
#pragma once
#include <optional>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/schedule/schedule.h"
#include "weft/backends/cpu/jit.h"

namespace weft::detail {

/// About how many instructions of LLVM's are emitted for it as it is scheduled.
double emission_work(const Kernel& k, const Schedule& s);
double emission_work(const ControlStep& c, const KernelProgram& root, const std::vector<Schedule>& schedules);

/// The schedules that baseline code has: lean ones where the code saved is worth more than the time that they cost.
std::vector<Schedule> baseline_schedules(const KernelProgram& p, const std::vector<Schedule>& schedules);

/// Cycles that each run of the step takes longer by baseline code than by optimised code.
double slack(const ControlStep& c, const std::vector<Schedule>& schedules);

/// The lowest tier that WEFT_CODE allows; nothing: it doesn't say. Throws CompileError if there is no such tier.
std::optional<CodeTier> lowest_tier();

/// What takes longer in its first run by baseline code than optimised code takes to make is optimised at once.
CodeTiers first_tiers(const KernelProgram& p, const std::vector<Schedule>& schedules);

/// What is left to be optimised.
struct Improvement {
  std::vector<CodeTiers> stages;  ///< one part after the other: first what has the largest excess for what its code costs to make
  std::int64_t excess = 0;        ///< cycles of each call in excess of optimised code
  std::int64_t tier_budget = 0;   ///< cycles of excess after which it is optimised
};
Improvement improvement(const KernelProgram& p, const std::vector<Schedule>& schedules, const CodeTiers& made);

}  // namespace weft::detail
