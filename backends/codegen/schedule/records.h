// Lanes that are a few elements apart, such as pixels of several channels: the elements of a record that is between neighbouring lanes
// run side by side, so that whole vectors are read and written (emit/emit_records.cpp). Says where that can be, and plans it.
#pragma once
#include <vector>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Elements between neighbouring lanes; further apart they are gathered.
inline constexpr int kLongestRecord = 8;

/// For lanes along an outer loop that are `stride` elements apart, of a kernel that only has outer loops: the size of the loop over
/// elements in between; 0: there is none.
int record_of(const Kernel& k, NodeId position, int vector, std::int64_t stride);
/// The loop over the elements between lanes, if there is one, is run as a whole inside of the other loops. `nodes`: those of the only nest.
void join_records(const Kernel& k, const std::vector<NodeId>& nodes, Schedule& schedule);

}  // namespace weft::detail
