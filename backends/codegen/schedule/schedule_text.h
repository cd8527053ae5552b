// Schedules as text: a list of steps, each of which changes one thing about a kernel whose loops run in the order of its text, one
// iteration after the other, on one thread. Takes and gives `Schedule`; loops (`i0`), arguments (`a0`) and values (`%6`) have the names
// that the kernel's own text has (to_string(Kernel)).
//
//   reorder i1 i0             the order of loops of one list: the outer ones, or the parallel or the reducing ones of a nest
//   vectorize i1 by 16        steps of the loop are vectors of so many lanes
//   unroll i0 by 6            so many iterations (or vectors) side by side
//   join_records i2           the few elements of records, all side by side: whole vectors are read and written for lanes that many apart
//   flatten_records           lanes are neighbouring elements of these records
//   reduce_by_rows i2         a nest's reducing loop runs outside of its parallel ones, with sums in memory
//   peel i1                   the parts between its borders are loops of their own
//   split i0 by 64            blocks of so many iterations; of the first outer loops, in their order
//   partition_rows by 8 into 256 a scatter's rows, so many in a piece, are dealt to so many blocks
//   parallel by 3             tasks of so many blocks (of a kernel that is partitioned by rows: at least) go to threads
//   transpose a0              squares are transposed in registers, along a loop that is unrolled as far as there are lanes
//   transpose_records a0 by 5 records that lanes read are transposed in registers; shuffled together up to so many elements
//   stream a1                 whole vectors are stored past the caches
//   prefetch_stored a1 by 4096 lines that are about to be written are fetched, so many bytes ahead
//   prefetch by 16 beyond 1024  so many rows ahead, where rows are at least so many bytes apart
//   prefetch_steps by 3       what vectors are read and written so many steps of the innermost loop later
//   interleave by 8           so many values are computed side by side, their instructions interleaved
//   call exp                  the function is called, not written out where it is used
//   by_inverse %20            a quotient by a sum of exponentials is a product with its inverse
//
// Steps that change the order of independent work keep all bits of results. `vectorize` and `unroll` of a reducing loop change how many
// partial sums there are, and by_inverse rounds quotients below 2^-100 otherwise.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// The steps, each on a line of its own that begins with two spaces.
std::string to_string(const Schedule& s, const Kernel& k);

/// The schedule that the steps describe. Throws CompileError, naming kernel and step, for malformed steps and where check_schedule
/// throws.
Schedule parse_schedule(std::string_view steps, const Kernel& k, int vector_bytes);

/// `kernel0:`, then its steps, for each kernel.
std::string schedules_text(const std::vector<Kernel>& kernels, const std::vector<Schedule>& schedules);

/// Replaces the schedules of the kernels that the text names, and proves again that these kernels stay inside their memory.
void state_schedules(std::string_view text, const std::vector<Kernel>& kernels, int vector_bytes, std::vector<Schedule>& schedules);

/// Throws a CompileError that names kernel and step where the emitter could not make code of the schedule that computes what the kernel
/// says: a loop that must run in order is unrolled, blocks cut a vector in two, rows that are read are streamed.
void check_schedule(const Schedule& s, const Kernel& k, int vector_bytes);

}  // namespace weft::detail
