// Lanes that are a few elements apart, such as pixels of several channels: the elements of a record that is between neighbouring lanes
// run side by side, so that whole vectors are read and written (emit/emit_records.cpp). Says where that can be, and plans it.
#pragma once
#include <vector>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Elements between neighbouring lanes; further apart they are gathered.
inline constexpr int kLongestRecord = 8;

/// For lanes along an outer loop that are `stride` elements apart in nest t, forwards or (of loads) backwards: the loops over the elements
/// in between, the fastest first, each of which goes on where the one before ends. None: there are no such loops, or they can't run side by
/// side.
std::vector<int> record_loops(const Kernel& k, const Nest& t, NodeId position, int vector, std::int64_t stride);
/// The elements of such a record that these loops go through; 0: there are no such loops.
std::int64_t record_of(const Kernel& k, const Nest& t, NodeId position, int vector, std::int64_t stride);
/// The loops over the elements between lanes, where there are such, run as a whole inside of the others. `nodes`: those of each nest,
/// of which all copies together are at most `most_nodes`.
/// If all that is computed of records is computed element by element, lanes take neighbouring elements instead.
void join_records(const Kernel& k, const std::vector<std::vector<NodeId>>& nodes, std::size_t most_nodes, Schedule& schedule);

/// Whether the lanes of a schedule that joins records may be neighbouring elements: the kernel goes through whole records in memory's
/// order, and does the same with each element.
bool can_flatten_records(const Kernel& k, const Schedule& s);

}  // namespace weft::detail
