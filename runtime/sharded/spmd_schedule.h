// The order in which a device's program runs: which equations form a segment, and where collectives start and are waited for.
//
// Between processes, collectives overlap with kernels: a collective starts as soon as its operand is computed and is waited for where its
// result is first read. To this end a segment is divided where a large operand is ready or a large result is needed, if there is enough
// computation on both sides. The order depends on the program alone, not on which processes the devices are in, so that the same number of
// devices gives the same bits.
#pragma once
#include <cstddef>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// How an equation is executed, and the number of joins of devices before it.
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

/// Each join becomes one step, or a start and, later, a wait. Without `early`, each level is one segment followed by its joins.
std::vector<ScheduledStep> schedule_steps(const JaxprData& d, const std::vector<EqnRole>& roles, bool early);

}  // namespace weft::detail
