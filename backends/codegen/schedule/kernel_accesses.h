// How a kernel uses its memory and its results, as far as schedules depend on it: what the scheduler looks for, what is checked
// of a schedule that was stated, and what the emitter finds again.
#pragma once
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Whether the iterations of a loop run one by one: in order, or as loops inside have a limit that depends on them.
bool runs_singly(const Kernel& k, int dim);

/// Whether the node compares the loop's coordinate alone with a border.
bool is_border(const Kernel& k, const Node& n, int dim);
/// Where all such comparisons hold: in [low, high).
void inside_borders(const Kernel& k, int dim, std::int64_t& low, std::int64_t& high);
/// Whether only the first vector of the loop and its last ones are at a border.
bool can_peel(const Kernel& k, int dim, std::int64_t lanes);

/// A term of a sum over that sum, whose terms are all at least 0 (a softmax), in float32: its quotients may be products with the inverse.
bool divides_by_sum(const Kernel& k, const Node& n);
/// How many terms it has.
std::int64_t terms_of_sum(const Kernel& k, const Node& n);

/// Whether lanes along `vector` are strided in memory while the iterations of `other` are neighbours.
bool is_square(const Kernel& k, NodeId position, int vector, int other);

/// Loads without a condition of memory that nothing in the kernel writes, in the order of nodes.
std::vector<NodeId> plain_loads(const Kernel& k);

/// Whether each vector of what is stored, along the loop, is whole and aligned.
bool is_aligned(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes);
/// The same of vectors of whole records, whose elements the loops `records` go through.
bool is_aligned_record(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes, const std::vector<int>& records);
/// Whether the kernel reads the argument.
bool is_loaded(const Kernel& k, int arg);

/// Each nest's loops as they are run, the outer ones first, and the one that is run by vectors (-1: none).
struct NestLoops {
  std::vector<LoopPlan> loops;
  int vector = -1;
};
std::vector<NestLoops> nest_loops(const Schedule& s);
/// What a nest loads and what it stores.
struct Access {
  int arg = -1;
  NodeId position = -1, load = -1;  ///< load: the node; -1: a store
};
std::vector<Access> accesses(const Kernel& k, const Nest& t);

}  // namespace weft::detail
