// Reverse mode of loops that keep few of their states: takes a while or a scan whose parameter `checkpoints` says how many, and gives its
// results and the linear map of its tangents. Going backwards, states that were not kept are computed again from those that were
// (core/ops/control/checkpoint_schedule.h). All of it is loops over a buffer of states, in the IR.
#pragma once
#include "weft/core/ops/control/control.h"

namespace weft::detail {

/// `carry`: which carries have a tangent in the end; at least one does.
JvpResult linearize_checkpointed(const While::Params& p, const JvpContext& c, const std::vector<bool>& carry);
/// The same of a scan with at least one step, in which carries or ys have tangents.
JvpResult linearize_checkpointed(const Scan::Params& p, const JvpContext& c, const std::vector<bool>& carry);

}  // namespace weft::detail
