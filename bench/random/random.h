// Random workloads, and fixed ones, that are written for JAX too: `weft-bench --random SEED N`, `weft-bench --rows`.
#pragma once
#include <cstdint>

#include "../harness.h"

namespace bench {

/// Runs the workloads of the seeds first, first + 1, ..., and prints for each a JSON line as other workloads do, with the fields `inputs`
/// and `python`: what each input is filled with, and the body of the function of them in JAX (random_programs.py).
void random_workloads(const Options& o, std::uint64_t first, int count);

/// The fixed ones of rows.h likewise.
void written_rows(const Options& o);

}  // namespace bench
