// Collectives of a pmap whose devices each have several rows (chunk): an axis that is longer than there are devices. Internal.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Rows of a mapped axis, distributed in blocks of `rounds` over the devices of a mesh axis of the same name, process by process. The last
/// blocks of a process are padded with rows that are ignored.
struct RowsInRounds {
  std::string axis;
  std::int64_t rows = 0;                 ///< of one process
  std::int64_t rounds = 0, devices = 0;  ///< rows of one device, devices of one process
  std::int64_t processes = 1;
};

/// A scope during which a program is batched over the rows of a device.
class [[nodiscard]] RowsScope {
 public:
  explicit RowsScope(RowsInRounds rows);
  ~RowsScope();
  RowsScope(const RowsScope&) = delete;
  RowsScope& operator=(const RowsScope&) = delete;
};
/// The rows in scope, if the equation is a collective over this axis, which then joins all rows; else null.
const RowsInRounds* rows_joined_by(const Primitive& op, const ParamsBase& params, const MappedAxis& axis);
/// Batches such a collective. For a sum, each device adds up its own rows and the devices' sums are gathered and added. For any other,
/// every device gathers all rows that count, computes the collective as one device that has them all, and keeps its own rows of the result.
BatchResult batch_over_rounds(const RowsInRounds& rows, const BatchContext& c);

}  // namespace weft::detail
