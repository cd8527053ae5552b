// Descriptions of a compiled program's steps, for profiles and for the page of a program.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// One step of a compiled program: a kernel, a routine, or a loop with the steps within it.
struct StepReport {
  enum class Kind { kernel, routine, loop };
  Kind kind = Kind::kernel;
  std::string name;                    ///< of a kernel as `kernels` and `asm` have it; of others what they do
  std::vector<int> eqns;               ///< of the program whose step it is, in order
  double flops = 0, bytes = 0;         ///< that it is expected to take; of a loop those of all its iterations, where their number is known
  std::vector<StepReport> steps = {};  ///< of a loop or a branch: those of its programs, one program behind the other
};

/// What an Executable may be besides: one that tells of its steps.
class StepReporter {
 public:
  virtual ~StepReporter() = default;
  /// The program whose equations the steps name: as it was when kernels were formed.
  virtual const Jaxpr& program_of_steps() const = 0;
  virtual std::vector<StepReport> step_reports() const = 0;
  /// Runs it once, as Executable::call does, and gives the seconds of each of its steps (not of those within loops).
  virtual std::vector<double> time_steps(std::span<const Array> inputs, int device) = 0;
};

}  // namespace weft::detail
