// The properties of a kernel's memory accesses on which schedules depend: the scheduler looks for them, the check of a stated schedule
// requires them, and the emitter uses them.
#pragma once
#include <optional>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Whether the iterations of a loop run one at a time: because of their order, or because the limit of an inner loop depends on them.
bool runs_singly(const Kernel& k, int dim);

/// Whether the node compares the loop's coordinate alone with a border.
bool is_border(const Kernel& k, const Node& n, int dim);
/// The range [low, high) in which all such comparisons hold.
void inside_borders(const Kernel& k, int dim, std::int64_t& low, std::int64_t& high);
/// Whether only the first vector of the loop and its last ones are at a border.
bool can_peel(const Kernel& k, int dim, std::int64_t lanes);

/// Whether the node divides a term of a sum by that sum, all terms >= 0 (a softmax), in float32: it may multiply by the inverse.
bool divides_by_sum(const Kernel& k, const Node& n);
/// The number of terms of that sum.
std::int64_t terms_of_sum(const Kernel& k, const Node& n);

/// Whether lanes along `vector` are strided in memory while the iterations of `other` are neighbours.
bool is_square(const Kernel& k, NodeId position, int vector, int other);

/// The unconditional loads of memory that the kernel does not write, in the order of nodes.
std::vector<NodeId> plain_loads(const Kernel& k);

/// Whether each vector of what is stored, along the loop, is whole and aligned.
bool is_aligned(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes);
/// The same of vectors of whole records, whose elements the loops `records` go through.
bool is_aligned_record(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes, const std::vector<int>& records);
/// Whether the kernel reads the argument.
bool is_loaded(const Kernel& k, int arg);

/// Lanes along `vector` that gather elements of a row by computed indices, where an iteration of the loop `rows` goes on to another row.
struct GatheredRow {
  std::int64_t first = 0, elements = 0;  ///< the row's place beside where the loops are, and its length
  std::int64_t apart = 0;                ///< from one row to the next
};
std::optional<GatheredRow> gathered_row(const Kernel& k, NodeId position, int vector, int rows);
/// The same where nothing but the computed indices tells the lanes apart, no element of the row is outside of the argument wherever the
/// loops are, and the kernel doesn't write it: the row may be read before its loop, whole.
std::optional<GatheredRow> whole_row(const Kernel& k, NodeId load, int vector);
/// How many bytes of the row each lane stands for, if all iterations of `vector` together read the whole row once.
std::int64_t bytes_of_lane(const Kernel& k, const GatheredRow& row, int arg, int vector);

/// A nest's loops in execution order, the outer ones first, and the vectorised one (-1: none).
struct NestLoops {
  std::vector<LoopPlan> loops;
  int vector = -1;
};
std::vector<NestLoops> nest_loops(const Schedule& s);
/// A load or store of a nest.
struct Access {
  int arg = -1;
  NodeId position = -1, load = -1;  ///< load: the node; -1: a store
};
std::vector<Access> accesses(const Kernel& k, const Nest& t);

}  // namespace weft::detail
