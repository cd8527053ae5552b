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

/// The first call's tiers. Code whose first baseline run would take longer than optimising it is optimised at once, and for a share of the
/// time that baseline code takes what pays off within a few calls.
CodeTiers first_tiers(const KernelProgram& p, const std::vector<Schedule>& schedules);

/// The parts that are not optimised yet.
struct Improvement {
  struct Stage {
    CodeTiers tiers;        ///< the parts that are optimised together
    std::int64_t runs = 0;  ///< of the program after which they are due: baseline code has cost as much as optimising will
  };
  std::vector<Stage> stages;  ///< ascending by runs: first what has the largest excess for what its code costs to make
  std::int64_t excess = 0;    ///< cycles of each call in excess of optimised code
  std::int64_t due() const { return stages.empty() ? 0 : stages[0].runs; }
};
Improvement improvement(const KernelProgram& p, const std::vector<Schedule>& schedules, const CodeTiers& made);

}  // namespace weft::detail
