// How a kernel is run by vectors and threads of a CPU: which loop becomes lanes, how far loops are unrolled, what one task of a parallel
// loop is. Depends on the kernel and the vector size only, so that results do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

struct LoopPlan {
  int dim = 0;
  int unroll = 1;       ///< iterations (or vectors) side by side
  bool vector = false;  ///< steps are vectors
};
struct NestSchedule {
  std::vector<LoopPlan> parallel, reduce;
  /// The reducing loop runs outside of the parallel ones, so that what they read is read in order; accumulators of all points are in
  /// memory.
  bool by_rows = false;
};
struct Schedule {
  int lanes = 1;
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
  /// Of a kernel that is divided by rows (`Kernel::division`): neighbouring ones are a piece, and pieces are dealt to the blocks in turn,
  /// whose number is a power of two. -1: it runs in one piece.
  int row_bits = -1;  ///< a piece has 2 to this
  /// Columns of far memory are gone through: what inner loops read and write rows apart is fetched ahead.
  bool fetches_rows = false;
  /// Records that lanes read are transposed in registers.
  bool transposes_records = true;
  /// Cycles that a whole run takes longer if the code generator keeps nothing in registers across iterations.
  double slack = 0;
};

/// Fewer elements than this are fetched one by one, where they lie apart: turning records of them in registers takes more code.
inline constexpr double kWorthTransposing = 4096;

Schedule make_schedule(const Kernel& k, int vector_bytes);

/// Whether several threads take part in a kernel of so many blocks.
inline bool is_forked(std::int64_t num_blocks, std::int64_t grain) { return grain < 0 || (grain > 0 && grain < num_blocks); }
/// How many blocks a task takes, which is not for the schedule alone to say where `grain` is negative.
inline std::int64_t blocks_of_task(std::int64_t num_blocks, std::int64_t grain, int threads) {
  return grain > 0 ? grain : std::max(-grain, (num_blocks + threads - 1) / threads);
}

/// The same blocks and the same sums by less code: loops are unrolled only where sums or squares depend on it.
Schedule lean_schedule(Schedule s);

}  // namespace weft::detail
