#include "weft/backends/codegen/schedule/row_division.h"

#include <algorithm>
#include <bit>

namespace weft::detail {
namespace {

constexpr double kForkCycles = 60e3, kTaskCycles = 30e3;   // of a kernel that is divided; of a task
constexpr double kUpdateCycles = 8;                        // of an update that is made on its own
constexpr std::int64_t kMostBlocks = 256, kPieces = 4096;  // pieces are rows that lie together in one block
constexpr std::int64_t kCacheLine = 64;

}  // namespace

void divide_rows(const Kernel& k, Schedule& s) {
  const double total = kUpdateCycles * static_cast<double>(k.dag.dims[static_cast<std::size_t>(k.division.loop)]);
  if (total < kForkCycles) return;
  const KernelArg& written = k.args[static_cast<std::size_t>(k.nests[0].stores[0].arg)];
  const std::int64_t row_bytes = written.elements * written.dtype.itemsize() / k.division.rows;
  int bits = 0;
  while (row_bytes << bits < kCacheLine || k.division.rows >> bits > kPieces) ++bits;
  const std::int64_t pieces = k.division.rows >> bits;
  if (pieces < 2) return;
  s.row_bits = bits;
  s.num_blocks = std::min(kMostBlocks, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(pieces))));
  const double least = static_cast<double>(s.num_blocks) * std::min(1.0, kTaskCycles / total);
  s.grain = -std::max<std::int64_t>(1, static_cast<std::int64_t>(least));
}

}  // namespace weft::detail
