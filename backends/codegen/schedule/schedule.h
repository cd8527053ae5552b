// How a kernel is run by vectors and threads of a CPU: which loop becomes lanes, how far loops are unrolled, what one task of a parallel
// loop is, which memory is read and written in which way. The emitter takes all of this from here. Depends on the kernel and the vector
// size only, so that results do not depend on the number of threads. As text it is a list of steps: schedule_text.h.
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
  bool peeled = false;  ///< the first vector and the last ones, which may be at a border, are in front of the loop and behind it
  friend bool operator==(const LoopPlan&, const LoopPlan&) = default;
};
struct NestSchedule {
  std::vector<LoopPlan> parallel, reduce;
  /// The reducing loop runs outside of the parallel ones, so that what they read is read in order; accumulators of all points are in
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
  /// How many blocks one task takes; 0: all, the kernel is not worth a fork. Negative: at least as many as its opposite, and more, as each
  /// task has work of its own, so that there is but one for each thread.
  std::int64_t grain = 0;
  /// For a kernel that is divided by rows (`Kernel::division`): neighbouring ones are a piece, and pieces are dealt to the blocks in turn,
  /// whose number is a power of two. -1: it runs in one piece.
  int row_bits = -1;  ///< a piece has 2 to this
  /// What inner loops read and write at least `row_bytes` apart is prefetched so many rows ahead. 0: nothing is.
  int rows_ahead = 0;
  std::int64_t row_bytes = 0;
  // Arguments by number, ascending.
  std::vector<int> streamed;    ///< whole vectors are stored past the caches
  std::vector<int> transposed;  ///< squares are transposed in registers, along a loop that is unrolled as far as there are lanes
  std::vector<int> records;     ///< records that lanes read are transposed in registers
  int shuffled_record = 0;      ///< elements up to which such records, if they fill memory, are shuffled together from whole vectors
  /// Values that are computed side by side, and whether their chains of instructions are interleaved. 0: one after the other.
  int at_once = 0;
  std::vector<MathFunction> called;  ///< functions that the kernel calls; code of the others stands wherever they are used
  std::vector<NodeId> by_inverse;    ///< quotients by a sum that are products with its inverse (divides_by_sum), ascending
  /// Loops over the few elements of records, the fastest first, all of whose iterations run side by side.
  std::vector<int> record_dims;
  /// Cycles that a whole run takes longer if the code generator keeps nothing in registers across iterations.
  double slack = 0;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

Schedule make_schedule(const Kernel& k, int vector_bytes);
/// The same for a processor with other numbers. `vector_loop`: the outer loop that is run by vectors, if one of them is; -1: the one that
/// costs least.
Schedule make_schedule(const Kernel& k, const Target& target, int vector_loop = -1);

/// Whether several threads take part in a kernel of so many blocks.
inline bool is_forked(std::int64_t num_blocks, std::int64_t grain) { return grain < 0 || (grain > 0 && grain < num_blocks); }
/// How many blocks a task takes, which is not for the schedule alone to say where `grain` is negative.
inline std::int64_t blocks_of_task(std::int64_t num_blocks, std::int64_t grain, int threads) {
  return grain > 0 ? grain : std::max(-grain, (num_blocks + threads - 1) / threads);
}
template <class T>
bool contains(const std::vector<T>& list, T what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

/// The same blocks and the same sums by less code: loops are unrolled only where sums or squares depend on it.
Schedule lean_schedule(Schedule s);

/// What `Schedule::slack` is of the loops.
double expected_slack(const Kernel& k, const Schedule& s);

}  // namespace weft::detail
