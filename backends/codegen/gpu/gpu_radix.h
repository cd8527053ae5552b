// Kernels of a radix sort for GPUs, least significant digit first: a pass counts the digits of each tile, sums the counts, and moves each
// tile's elements, in order, to where its digits begin. Declared without LLVM's headers.
#pragma once
#include <cstdint>
#include <string>

#include "weft/backends/codegen/gpu/gpu_emit.h"

namespace weft::detail {

struct RadixKernels {
  static constexpr int kDigitBits = 8, kDigits = 256, kThreads = 256;
  /// The number of elements in a block's tile: as many as fit into shared memory beside the counts.
  static constexpr std::int64_t tile(int code_bits) { return code_bits == 64 ? 2048 : 4096; }
  /// Flags of a move.
  static constexpr std::int64_t kReadsPositions = 1;  ///< else an element's position is its number
  static constexpr std::int64_t kWritesCodes = 2;
  static constexpr std::int64_t kWritesPositions = 4;

  static std::string count_name(int code_bits) { return "radix_count_" + std::to_string(code_bits); }
  static std::string sum_name() { return "radix_sum"; }
  static std::string move_name(int code_bits) { return "radix_move_" + std::to_string(code_bits); }
};

/// Adds the kernels for codes of 32 or 64 bits to the module; `prefix` is put before their names. Each line of n codes is sorted by itself,
/// in `tiles` tiles. All parameters have 64 bits; a block has kThreads threads.
/// - count(codes, counts, n, first bit, tiles): lines * tiles blocks. counts[line][digit][tile], of 32 bits.
/// - sum(counts, totals, tiles): lines * kDigits blocks. Counts become those of the tiles before; totals[line][digit].
/// - move(codes, positions, codes out, positions out, counts, totals, n, first bit, tiles, flags): lines * tiles blocks. With one tile
///   nothing is read of the counts.
void emit_radix_kernels(llvm::Module& module, const GpuTarget& target, int code_bits, const std::string& prefix);

}  // namespace weft::detail
