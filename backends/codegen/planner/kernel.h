// A kernel: an outer parallel iteration space, and inside it nests that run one after the other for each outer point.
//
// Loop dimensions are numbered through the kernel: the outer ones, then those of each nest. A nest runs its parallel loops; inside
// them its reducing loops, which reduce values into locals; then stores, which may use those locals, as may all later nests. A store may
// also be within the reducing loops. Scratch is memory that one outer point's nests share; each thread has its own.
#pragma once
#include <string>
#include <vector>

#include "weft/backends/codegen/planner/dag.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Memory that a kernel reads or writes. Complex elements count as two real ones.
struct KernelArg {
  DType dtype = float32;  ///< of a (real) element in memory
  std::int64_t elements = 0;
  bool scratch = false;  ///< private to an outer point
  bool written = false;
};

/// A reduction over a nest's reducing loops.
struct Reduction {
  enum class Kind { reduce, arg_max, arg_min, complex_product };
  Kind kind = Kind::reduce;
  Combiner combiner = Combiner::sum;
  DType dtype = float32;  ///< of the accumulator
  NodeId value = -1;
  int local = -1;        ///< where the result goes; of an arg_max and arg_min the extremum, its position follows in local + 1
  NodeId position = -1;  ///< arg_max, arg_min: the position as a number; complex_product: the imaginary part, its result in local + 1
  bool running = false;  ///< the local is read within the loop, after each step: a cumulative operation
};

struct Store {
  int arg = -1;
  NodeId position = -1;
  NodeId value = -1;
  NodeId guard = -1;          ///< only where this holds; -1: always
  bool in_reduction = false;  ///< for each step of the reducing loops; else once after them
};

/// A loop whose trip count depends on another loop: the chunks of a split reduction, the last of which may be shorter.
struct LoopLimit {
  int outer = -1;          ///< the chunk's loop dimension; -1: no limit
  std::int64_t total = 0;  ///< steps of all chunks together
};

/// A loop within one point of a nest, whose carried values are locals: lanes of a vector go through it side by side, until all are done.
struct Repeat {
  int dim = -1;       ///< its loop dimension: as many iterations, or (with `go_on`) just a number for the loop
  NodeId go_on = -1;  ///< asked before each iteration; a lane for which it is false keeps its values. -1: a counted loop
  struct Carried {
    int local = -1, result = -1;  ///< within the loop, and after it
    NodeId start = -1, next = -1;
  };
  std::vector<Carried> carried;
  std::vector<Repeat> inner;  ///< in each iteration, one after the other
  std::vector<Store> stores;  ///< in each iteration
};

struct Nest {
  std::vector<int> parallel, reduce;  ///< loop dimensions, outermost first
  std::vector<Reduction> reductions;
  std::vector<Repeat> repeats;  ///< one after the other, before the stores; such a nest has no loops of its own
  std::vector<Store> stores;
};

/// A kernel of one nest whose first loop may be partitioned by what it writes: iterations with different rows touch different elements of
/// what the kernel writes. Each part of the rows may then be updated on its own, by the iterations that have its rows, in their order.
struct RowPartition {
  int loop = -1;  ///< -1: it can't be partitioned
  NodeId row = -1;
  std::int64_t rows = 0;
};

/// Expected cost of a whole kernel.
struct KernelCost {
  double flops = 0, bytes = 0;
  double cycles = 0;  ///< of one core at full vector width, data in cache
};

struct Kernel {
  std::string name;
  Dag dag;
  std::vector<int> outer;  ///< the loop dimensions of the outer parallel space, slowest first
  std::vector<Nest> nests;
  std::vector<KernelArg> args;
  std::vector<DType> locals;
  std::vector<LoopLimit> limits;  ///< one for each loop dimension
  std::uint64_t sequential = 0;   ///< loop dimensions whose iterations run one after the other
  RowPartition row_partition;
  KernelCost cost;
};

/// All that the kernel does, for people and golden files.
std::string to_string(const Kernel& k);
/// Equal kernels hash equally.
std::uint64_t structural_hash(const Kernel& k);
/// Whether both compute the same, names aside.
bool same_code(const Kernel& a, const Kernel& b);
/// Estimates flops, bytes and cycles for vectors of the given size in bytes.
KernelCost estimate_cost(const Kernel& k, int vector_bytes);
/// Which nodes any store or reduction needs.
std::vector<char> live_nodes(const Kernel& k);
/// Whether its indices, or the numbers that they are multiplied by, divided by or compared with, may not fit 32 bits.
bool needs_wide_indices(const Kernel& k);
/// The nodes that a nest computes for their own sake, and the loop dimensions of its repeats.
std::vector<NodeId> wanted_nodes(const Nest& t);
std::vector<int> repeat_dims(const Nest& t);
/// Whether all that a nest does is to copy arguments to others, each element to its own position: from where to where, as numbers of
/// arguments.
std::optional<std::vector<std::pair<int, int>>> copied_arguments(const Kernel& k, const Nest& t);
/// How many points these dimensions have, those of repeats left out: code must not depend on a loop's number of steps.
double points_along(const Kernel& k, std::uint64_t dims);
/// Proves that all that is read and written without a condition is inside of its memory; CompileError where it may not. What has a
/// condition is taken on trust.
void check_bounds(const Kernel& k);
/// Makes adjacent loops one where all positions allow it.
void collapse_loops(Kernel& k);

}  // namespace weft::detail
