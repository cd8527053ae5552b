// What the code generator knows of a processor beyond its instructions: registers, caches, what starting threads costs, and from where on
// one way of running a loop is better than another. The scheduler, the planner and the emitter take their numbers from here; a schedule
// (schedule.h) holds what they come to for one kernel.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::detail {

struct Target {
  int vector_bytes = 64;

  // Threads. Cycles are of one core.
  double fork_cycles = 60e3;                ///< a kernel with less work than this runs on one thread
  double task_cycles = 30e3;                ///< of a task
  double block_cycles = 1024;               ///< the least work of a block, where one loop has many small steps
  std::int64_t enough_blocks = 256;         ///< outer loops are split into blocks until there are so many
  double update_cycles = 8;                 ///< of an update that a scatter makes on its own
  std::int64_t row_partition_blocks = 256;  ///< at most, of a kernel that is partitioned by rows
  std::int64_t row_partition_pieces = 4096;

  // Memory.
  std::int64_t line_bytes = 64;
  double bytes_per_cycle = 8;       ///< that a core moves beyond its caches
  double beyond_caches = 24 << 20;  ///< bytes that are not in the caches when they are needed again
  std::int64_t streamed_result =
      4 << 20;                        ///< results from this size on are written past the caches: a core has but a part of the last level
  double streaming_total = 12 << 20;  ///< if the kernel moves this much altogether: less stays in the last level until the next reader
  std::int64_t prepared_result = 1 << 20;       ///< lines of other results from this size on are fetched before they are written,
  int stored_ahead = 4096;                      ///< so many bytes ahead
  double column_bytes = 4 << 20;                ///< columns of larger matrices are gone through several vectors at a time
  std::int64_t far_row = 1024;                  ///< bytes between rows that hardware does not prefetch
  std::int64_t tile_lines = 4, tile_rows = 32;  ///< of an array that is read across its rows: what stays in the first cache meanwhile
  int rows_ahead = 16;                          ///< rows that are prefetched
  int steps_ahead = 3;                          ///< steps of squares that are transposed, which are prefetched
  std::int64_t gathered_ahead = 4096;           ///< bytes that are prefetched ahead of rows that lanes gather elements of
  std::int64_t middle_cache = 512 << 10;        ///< what stays in a core's second cache
  std::int64_t lane_scratch = 256 * 1024;       ///< scratch of one vector of outer points
  std::int64_t column_scratch = 640 * 1024;     ///< scratch of several such vectors side by side
  std::int64_t row_scratch = 64 * 1024;         ///< scratch of rows that are gone through together
  std::int64_t most_scratch = 2 << 20;          ///< of one thread, on its stack, whoever states the schedule
  std::int64_t accumulators = 64 * 1024;        ///< sums in memory, where reducing loops run outside

  // Registers and instructions.
  /// Bytes of a row that is kept in registers for lanes to pick elements from; 0: there is no instruction that does.
  std::int64_t looked_up_bytes() const { return vector_bytes >= 64 ? 4 * vector_bytes : 0; }
  /// The cost of an instruction on vectors of so many bytes: processors may run the longest ones in two halves.
  double instruction(int bytes) const { return bytes < 64 && bytes < vector_bytes ? narrow_vector : 1; }
  double narrow_vector = 0.6;
  int narrowest_vector = 16;   ///< bytes
  double gathered_lane = 1.4;  ///< the cost of a lane that is loaded from a place of its own
  std::int64_t vector_registers() const { return vector_bytes >= 64 ? 32 : 16; }
  double multiply_latency = 4;      ///< cycles from one multiply-add to the next that adds to its sum
  double multiplies_per_cycle = 2;  ///< of vectors
  double loads_per_cycle = 2;
  int rows_reduced = 8;                    ///< rows that a reduction by rows takes at a time
  std::int64_t whole_row = 12;             ///< vectors; shorter rows of memory are reduced whole, all their sums in registers
  int column_vectors = 8;                  ///< vectors of sums that registers hold
  std::int64_t rows_together = 4;          ///< of a matmul whose left operand's rows are in scratch
  std::int64_t short_row = 4;              ///< vectors; so short rows that are reduced and read again are taken four at a time
  std::size_t few_nodes = 40;              ///< larger expressions are not computed for several points side by side
  std::size_t square_nodes = 1500;         ///< of all copies of an expression whose operands are transposed in registers
  double light_work = 20, some_work = 60;  ///< costs of a loop's body, up to which four and two vectors are computed side by side
  double transposed_points = 4096;  ///< fewer elements are loaded one by one: transposing records of them in registers takes more code
  int shuffled_record = 5;          ///< elements; of longer records vectors are transposed instead of shuffled together
  int values_at_once = 8;           ///< that are computed side by side, as registers hold so many
  int most_expansions = 24;         ///< of one mathematical function in a kernel: where there are more, they are calls of one function
  std::int64_t peeled_vectors = 8;  ///< loops of so many vectors have their borders peeled
  /// Other loops have, where all sections together have at most so many nodes, and each at least such a part of the iterations.
  std::size_t peeled_nodes = 300;
  std::int64_t peeled_share = 32;
  std::int64_t long_row = 1024;  ///< quotients by the sum of so many terms take the sum's inverse: shorter rows hide how long they take

  // What follows a reduction, by vectors of its own.
  double expensive_epilogue = 20;  ///< its cost for an element, from which on vectors are worth a nest
  double epilogue_share = 0.1;     ///< of the whole, that vectors must save
  std::int64_t epilogue_block = 64, epilogue_points = 512;

  /// How many rows of so many vectors are reduced side by side.
  int rows_of_vectors(std::int64_t vectors) const { return vectors == 0 ? 1 : vectors <= short_row ? 4 : vectors <= 2 * short_row ? 2 : 1; }
};

/// How many iterations of a loop are taken at a time: about n, and of a short loop so that none are left over.
inline std::int64_t evenly(std::int64_t size, std::int64_t n) {
  for (std::int64_t fewer = n; 2 * fewer > n && size <= 4 * n; --fewer)
    if (size % fewer == 0) return fewer;
  return n;
}

}  // namespace weft::detail
