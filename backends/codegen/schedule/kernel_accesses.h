// The properties of a kernel's memory accesses on which schedules depend: the scheduler looks for them, the check of a stated schedule
// requires them, and the emitter uses them.
#pragma once
#include <optional>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Whether the iterations of a loop run one at a time: because of their order, or because the limit of an inner loop depends on them.
bool runs_singly(const Kernel& k, int dim);

/// Whether all lanes go through the loops of the nests' repeats equally often.
bool counts_loops(const Kernel& k);

/// Whether the node compares the loop's coordinate alone with a border.
bool is_border(const Kernel& k, const Node& n, int dim);
/// Whether such a comparison holds at the coordinate.
bool holds_at(const Kernel& k, const Node& n, std::int64_t coordinate);
/// A part of a loop, of whole vectors except at the loop's end.
struct Section {
  std::int64_t from = 0, to = 0;
  bool uniform = false;  ///< each comparison with a border has one outcome in all of it
};
/// The sections of a loop in order: between neighbouring borders whatever whole vectors fit, and the vectors that borders cut.
std::vector<Section> sections(const Kernel& k, int dim, std::int64_t lanes);
/// Whether a loop has borders, and so few that nearly all of its vectors lie in sections without one.
bool can_peel(const Kernel& k, int dim, std::int64_t lanes);
/// Whether a condition, or nothing else in it, compares coordinates of these loops alone with borders: sections decide it.
bool is_decided(const Kernel& k, NodeId condition, std::uint64_t dims);

/// Whether the node divides a term of a sum by that sum, all terms >= 0 (a softmax), in float32: it may multiply by the inverse.
bool divides_by_sum(const Kernel& k, const Node& n);
/// The number of terms of that sum.
std::int64_t terms_of_sum(const Kernel& k, const Node& n);

/// Where lanes along `vector` are strided in memory while the iterations of `other` are neighbours: 1 if these go forwards, -1 if they go
/// backwards. 0: elsewhere.
int square_direction(const Kernel& k, NodeId position, int vector, int other);
/// Whether lanes along an outer loop, of a nest among others that computes each point by itself, access elements far apart of which the
/// nest's innermost loop goes through neighbours: squares of them are transposed in registers.
bool maps_squares(const Kernel& k, std::size_t nest, NodeId position, int vector, int lanes);

/// The unconditional loads of memory that the kernel does not write, in the order of nodes.
std::vector<NodeId> plain_loads(const Kernel& k);

/// Whether each vector of what is stored, along the loop, is whole and aligned.
bool is_aligned(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes);
/// The same of vectors of whole records, whose elements the loops `records` go through.
bool is_aligned_record(const Kernel& k, const Store& s, int vector, int lanes, int vector_bytes, const std::vector<int>& records);
/// Whether the kernel reads the argument.
bool is_loaded(const Kernel& k, int arg);

/// Whether the value is a load, of 32 or 64 bits, whose lanes along the loop are at computed places.
bool is_gathered(const Kernel& k, NodeId value, int vector);

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
/// Whether the innermost loop, of vectors, writes one line after the other; `records`: loops over the elements of whole records.
bool fills_lines(const Kernel& k, const Store& s, const NestLoops& nest, const std::vector<int>& records);
/// A load or store of a nest.
struct Access {
  int arg = -1;
  NodeId position = -1, load = -1;  ///< load: the node; -1: a store
};
std::vector<Access> accesses(const Kernel& k, const Nest& t);
/// By how many elements a step of the nest's innermost loop moves what is read or written by whole vectors: by neighbouring lanes, or by
/// rows of squares that are transposed. 0: by nothing.
std::int64_t advances(const Kernel& k, const Schedule& s, const Access& a, const NestLoops& nest);

}  // namespace weft::detail
