#include "weft/backends/codegen/schedule/row_partition.h"

#include <algorithm>
#include <bit>

namespace weft::detail {
void partition_rows(const Kernel& k, const Target& target, Schedule& s) {
  const double total = target.update_cycles * static_cast<double>(k.dag.dims[static_cast<std::size_t>(k.row_partition.loop)]);
  if (total < target.fork_cycles) return;
  const KernelArg& written = k.args[static_cast<std::size_t>(k.nests[0].stores[0].arg)];
  const std::int64_t row_bytes = written.elements * written.dtype.itemsize() / k.row_partition.rows;
  int bits = 0;
  while (row_bytes << bits < target.line_bytes || k.row_partition.rows >> bits > target.row_partition_pieces) ++bits;
  const std::int64_t pieces = k.row_partition.rows >> bits;
  if (pieces < 2) return;
  s.row_bits = bits;
  s.num_blocks = std::min(target.row_partition_blocks, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(pieces))));
  const double least = static_cast<double>(s.num_blocks) * std::min(1.0, target.task_cycles / total);
  s.grain = -std::max<std::int64_t>(1, static_cast<std::int64_t>(least));
}

}  // namespace weft::detail
