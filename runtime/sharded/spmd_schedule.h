// In which order the program of a device runs: which equations are compiled as one segment, and where collectives begin and are waited for.
//
// Between processes a collective goes on by itself beside kernels: it begins as soon as its operand is there, and is waited for where its
// result is first read, so that what it sends is under way meanwhile. For that a segment is cut where a large operand is ready or a large
// result is needed, if enough is computed on both sides of the cut. The order depends on the program alone, not on which processes the
// devices are in, so that the same number of devices gives the same bits.
#pragma once
#include <cstddef>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// What is done with an equation, and how many joins of devices come before it.
struct EqnRole {
  enum class Kind {
    segment,   ///< compiled, with others
    join,      ///< a collective: one for each operand
    control,   ///< a loop or branch that communicates
    view,      ///< its result is its operand's memory
    position,  ///< a constant of each device
  };
  Kind kind = Kind::segment;
  int level = 0;
};

struct ScheduledStep {
  enum class Kind { segment, join, start, wait, control } kind;
  std::vector<std::size_t> eqns;  ///< indices; of all but segments one
  std::size_t operand = 0;        ///< of join, start and wait
};

/// Each join is either one step or a start and, later, a wait. `early`: without it each level is one segment, then its joins.
std::vector<ScheduledStep> schedule_steps(const JaxprData& d, const std::vector<EqnRole>& roles, bool early);

}  // namespace weft::detail
