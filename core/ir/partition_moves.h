// Exchanges between devices that partition rules share, beside whole reshardings (Partition::reshard).
#pragma once
#include "weft/core/ir/partition_rule.h"

namespace weft::detail {

/// The device's position along the axes in row-major order, an int32 scalar; 0 for no axes.
Array position_along(const Partition& p, const std::vector<std::string>& axes, SourceLoc loc);
/// The sum over the axes of values that are zero on all devices but one: bit for bit that device's value. nullopt for dtypes of whose width
/// there is no integer type.
std::optional<Array> sum_of_one(const Array& x, const std::vector<std::string>& axes, SourceLoc loc);
/// Another sharding of an operand of this shape in which `dimension` is not sharded: its axes shard another dimension, so that an
/// all_to_all takes the place of an all_gather. nullopt where no other dimension can be sharded so.
std::optional<DimAxes> exchanged(const Partition& p, const Shape& whole, const DimAxes& axes, int dimension);

}  // namespace weft::detail
