// Chooses the tier of code for each part of a program: interpreted or baseline code for a fast first call, optimised code where it pays
// off.
#pragma once
#include <optional>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/schedule/schedule.h"
#include "weft/backends/cpu/jit.h"

namespace weft::detail {

/// The estimated number of LLVM instructions emitted for the kernel under the schedule.
double emission_work(const Kernel& k, const Schedule& s);
double emission_work(const ControlStep& c, const KernelProgram& root, const std::vector<Schedule>& schedules);

/// The schedules of baseline code: lean ones where the smaller code outweighs the slower execution.
std::vector<Schedule> baseline_schedules(const KernelProgram& p, const std::vector<Schedule>& schedules);

/// The additional cycles of each run of the step with baseline code instead of optimised code.
double slack(const ControlStep& c, const std::vector<Schedule>& schedules);

/// The lowest tier that WEFT_CODE allows; nothing if it is not set. Throws CompileError for an unknown tier.
std::optional<CodeTier> lowest_tier();

/// The first call's tiers. Code whose first baseline run would take longer than optimising it is optimised at once.
CodeTiers first_tiers(const KernelProgram& p, const std::vector<Schedule>& schedules);

/// The parts that are not optimised yet.
struct Improvement {
  std::vector<CodeTiers> stages;  ///< one part after the other: first what has the largest excess for what its code costs to make
  std::int64_t excess = 0;        ///< cycles of each call in excess of optimised code
  std::int64_t tier_budget = 0;   ///< cycles of excess after which it is optimised
};
Improvement improvement(const KernelProgram& p, const std::vector<Schedule>& schedules, const CodeTiers& made);

}  // namespace weft::detail
