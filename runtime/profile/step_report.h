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
  std::string name;                    ///< a kernel's name as in `kernels` and `asm`; for other steps, what they do
  std::vector<int> eqns;               ///< of the program whose step it is, in order
  double flops = 0, bytes = 0;         ///< estimated; for a loop, the total of all iterations if their number is known
  std::vector<StepReport> steps = {};  ///< of a loop or a branch: the steps of its programs, one program after the other
};

/// An interface that an Executable may also implement, which reports its steps.
class StepReporter {
 public:
  virtual ~StepReporter() = default;
  /// The program whose equations the steps name: the one from which kernels were formed.
  virtual const Jaxpr& program_of_steps() const = 0;
  virtual std::vector<StepReport> step_reports() const = 0;
  /// Runs it once, as Executable::call does, and returns the seconds of each of its steps (not of those within loops).
  virtual std::vector<double> time_steps(std::span<const Array> inputs, int device) = 0;
};

}  // namespace weft::detail
