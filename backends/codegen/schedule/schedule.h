// The schedule of a kernel on a CPU: the vectorised loop, unrolling, the tasks of the parallel loop, and how memory is read and written.
// The emitter takes all of this from here. Depends on the kernel and the vector size only, so that results do not depend on the number of
// threads. As text it is a list of steps: schedule_text.h.
#pragma once
#include <algorithm>
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"
#include "weft/backends/codegen/schedule/target.h"

namespace weft::detail {

struct LoopPlan {
  int dim = 0;
  int unroll = 1;       ///< iterations (or vectors) side by side
  bool vector = false;  ///< steps are vectors
  bool peeled = false;  ///< its sections (kernel_accesses.h) are loops of their own, in which comparisons with borders are decided
  friend bool operator==(const LoopPlan&, const LoopPlan&) = default;
};
struct NestSchedule {
  std::vector<LoopPlan> parallel, reduce;
  /// The reducing loop runs outside of the parallel ones, so that memory is read in order; the accumulators of all points are in
  /// memory.
  bool by_rows = false;
  friend bool operator==(const NestSchedule&, const NestSchedule&) = default;
};
struct Schedule {
  int lanes = 1;  ///< 1 where no loop is run by vectors
  std::vector<LoopPlan> outer;
  std::vector<NestSchedule> nests;
  int vector_dim = -1;  ///< of the outer loops; -1: each nest has its own, or none
  // Tasks are blocks of the first `task_loops` outer loops.
  int task_loops = 0;
  std::vector<std::int64_t> block;   ///< iterations of each of these loops in a block
  std::vector<std::int64_t> blocks;  ///< how many blocks along each
  std::int64_t num_blocks = 1;
  /// The number of blocks in a task; 0: all, as the kernel is not worth a fork. Negative: at least -grain, and so many that there is one
  /// task for each thread, because every task has a fixed cost.
  std::int64_t grain = 0;
  /// For a kernel that is partitioned by rows (`Kernel::row_partition`): pieces of neighbouring rows are assigned to the blocks in turn;
  /// both counts are powers of two. -1: it is not partitioned.
  int row_bits = -1;  ///< a piece has 2 to this
  /// Rows that inner loops access at distances of at least `row_bytes` are prefetched this many rows ahead. 0: no prefetching.
  int rows_ahead = 0;
  std::int64_t row_bytes = 0;
  /// Whatever vectors are read and written so many steps of the innermost loop later is prefetched. 0: nothing is.
  int steps_ahead = 0;
  int gathered_ahead = 0;  ///< of `gathered`: rows
  int stored_ahead = 0;    ///< of `prepared`: bytes
  // Arguments by number, ascending.
  std::vector<int> gathered;    ///< rows that lanes gather elements of are prefetched, as hardware does not see their order
  std::vector<int> streamed;    ///< whole vectors are stored past the caches
  std::vector<int> prepared;    ///< lines that are about to be written are fetched, as hardware fetches few of them by itself
  std::vector<int> transposed;  ///< squares are transposed in registers, along a loop that is unrolled as far as there are lanes
  std::vector<int> records;     ///< records that lanes read are transposed in registers
  int shuffled_record = 0;      ///< elements up to which such records, if they fill memory, are shuffled together from whole vectors
  /// The number of values whose instructions are interleaved. 0: none.
  int at_once = 0;
  std::vector<MathFunction> called;  ///< functions that the kernel calls; code of the others stands wherever they are used
  std::vector<NodeId> by_inverse;    ///< quotients by a sum that are products with its inverse (divides_by_sum), ascending
  /// Loops over the few elements of records, the fastest first, all of whose iterations run side by side.
  std::vector<int> record_dims;
  /// Of these records lanes take neighbouring elements, a copy of the body each vector of them, instead of one record each.
  bool flat_records = false;
  /// The additional cycles of a run if the code generator keeps nothing in registers across iterations.
  double slack = 0;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

Schedule make_schedule(const Kernel& k, int vector_bytes);
/// The same for another description of the processor. `vector_loop`: the outer loop to vectorise, if any; -1: the cheapest
/// one.
Schedule make_schedule(const Kernel& k, const Target& target, int vector_loop = -1);

/// Whether several threads run a kernel of this many blocks.
inline bool is_forked(std::int64_t num_blocks, std::int64_t grain) { return grain < 0 || (grain > 0 && grain < num_blocks); }
/// The number of blocks in a task; if `grain` is negative, it depends on the number of threads.
inline std::int64_t blocks_of_task(std::int64_t num_blocks, std::int64_t grain, int threads) {
  return grain > 0 ? grain : std::max(-grain, (num_blocks + threads - 1) / threads);
}
template <class T>
bool contains(const std::vector<T>& list, T what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

/// The same blocks and the same sums by less code: loops are unrolled only where sums or squares depend on it.
Schedule lean_schedule(Schedule s);

/// The value of `Schedule::slack` for a schedule's loops.
double expected_slack(const Kernel& k, const Schedule& s);

}  // namespace weft::detail
