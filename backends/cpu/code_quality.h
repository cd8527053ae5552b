// Which code of a program is made quickly, which well: the first call should end soon, and many calls too.
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

/// The schedules that quick code has: lean ones where the code saved is worth more than the time that it wastes.
std::vector<Schedule> quick_schedules(const KernelProgram& p, const std::vector<Schedule>& schedules);

/// Cycles that each run of the step takes longer by quick code than by good code.
double slack(const ControlStep& c, const std::vector<Schedule>& schedules);

/// How good WEFT_CODE says that code is to be at least; nothing: it doesn't say. Throws CompileError if there is no such quality.
std::optional<CodeQuality> least_quality();

/// Good is what wastes more in its first run by quick code than good code takes longer to make.
Qualities first_qualities(const KernelProgram& p, const std::vector<Schedule>& schedules);

/// What is left to be made better.
struct Improvement {
  std::vector<Qualities> stages;  ///< good for all that is not yet, one part after the other: first what wastes most for what it costs
  std::int64_t waste = 0;         ///< cycles of each call that quick code wastes
  std::int64_t tier_budget = 0;   ///< cycles that may be wasted before it is made better
};
Improvement improvement(const KernelProgram& p, const std::vector<Schedule>& schedules, const Qualities& made);

}  // namespace weft::detail
