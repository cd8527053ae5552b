// map_rows: in the body of a map over devices, a function of one row on each of the rows that a device has (pmap's chunk).
#pragma once
#include <string>
#include <vector>

#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ops/collective/rows_in_rounds.h"

namespace weft::detail {

struct MapRowsParams {
  std::int64_t devices = 0;   ///< of one process, along the axis
  std::vector<int> in_axes;   ///< where each operand has the device's rows; kNotMapped: it has one value for all rows
  Jaxpr jaxpr;                ///< of one row; collectives over the axis join the rows of all devices
  MeshAxes mesh;              ///< the axis, with its rows, those of all processes
  std::vector<int> out_axes;  ///< where each result has the device's rows; kNotMapped: it is the same for all rows
  std::int64_t processes = 1;
  std::int64_t rounds = 0;  ///< rows of one device; the last ones of a process may be filling
  friend bool operator==(const MapRowsParams&, const MapRowsParams&) = default;
};

std::vector<Array> bind_map_rows(MapRowsParams params, std::span<const Array> inputs, SourceLoc loc);
/// Where the results have the rows of the device's program, as far as the function decides; kNotMapped where one is the same for all rows.
std::vector<int> axes_of_row_results(const MapRowsParams& params);

}  // namespace weft::detail
