// What partition rules send between devices, beside whole reshardings (Partition::reshard).
#pragma once
#include "weft/core/ir/partition_rule.h"

namespace weft::detail {

/// The device's position along the axes, the first of them major: int32[]. Of no axes, 0.
Array position_along(const Partition& p, const std::vector<std::string>& axes, SourceLoc loc);
/// The sum over the axis of values of which all but one device's are zeros: the same bits as that one's. Nothing for dtypes that don't have
/// an integer of their width.
std::optional<Array> sum_of_one(const Array& x, const std::vector<std::string>& axes, SourceLoc loc);
/// Another sharding of an operand of this shape, in which the dimension is whole: what divided it divides another dimension, so that parts
/// are exchanged and nothing is gathered. Nothing where no other dimension can be divided so.
std::optional<DimAxes> exchanged(const Partition& p, const Shape& whole, const DimAxes& axes, int dimension);

}  // namespace weft::detail
