// Collectives of a pmap whose devices each have several rows (chunk): an axis that is longer than there are devices. Internal.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Rows of a mapped axis that are in blocks of `rounds` on the devices of a mesh axis of the same name, process by process; a process's
/// last blocks are filled up by rows that don't count.
struct RowsInRounds {
  std::string axis;
  std::int64_t rows = 0;                 ///< of one process
  std::int64_t rounds = 0, devices = 0;  ///< rows of one device, devices of one process
  std::int64_t processes = 1;
};

/// For as long as a program is batched over the rows of a device.
class [[nodiscard]] RowsScope {
 public:
  explicit RowsScope(RowsInRounds rows);
  ~RowsScope();
  RowsScope(const RowsScope&) = delete;
  RowsScope& operator=(const RowsScope&) = delete;
};
/// The rows in scope, if an equation batched over this axis is a collective over all of them; else null.
const RowsInRounds* rows_joined_by(const Primitive& op, const ParamsBase& params, const MappedAxis& axis);
/// Such a collective: of sums each device gathers those that the others made of their rows; of others every device gathers all rows that
/// count, does what one device does that has them, and keeps its own of the result.
BatchResult batch_over_rounds(const RowsInRounds& rows, const BatchContext& c);

}  // namespace weft::detail
