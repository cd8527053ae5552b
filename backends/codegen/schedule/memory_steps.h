// The steps of a schedule that are chosen after its loops: how memory is read and written, and which values are interleaved.
#pragma once
#include <span>

#include "weft/backends/codegen/schedule/kernel_accesses.h"

namespace weft::detail {

/// Takes a schedule whose loops and blocks are chosen.
void choose_memory_steps(const Kernel& k, const Target& target, Schedule& s);

/// Whether lanes of the loop read several elements of strided records of the argument; `loads`: plain_loads.
bool reads_records(const Kernel& k, const std::vector<NodeId>& loads, const Access& a, int vector, int lanes);

/// How many of these stores, from the first on, write neighbouring elements in order, where each lane of the loop has a record of them of
/// its own; 0: fewer than are worth to be transposed.
std::size_t written_record(const Kernel& k, std::span<const Store* const> stores, int vector);
/// Whether a nest has such stores to the argument.
bool writes_records(const Kernel& k, const Nest& t, int arg, int vector);

/// Whether a loop, by vectors of so many lanes or by single iterations, is worth to be peeled.
bool is_worth_peeling(const Kernel& k, const Target& target, int dim, std::int64_t lanes);

}  // namespace weft::detail
