// The positions of a mapped axis in the arguments and results of a function. Internal.
#pragma once
#include <optional>

#include "weft/core/ir/rewrite.h"
#include "weft/core/trees/prefix.h"
#include "weft/core/trees/resolve_prefix.h"
#include "weft/transforms/flat.h"

namespace weft::detail {

/// The mapped axis of each leaf of the arguments, counted from the front. Throws AxisError for one that a leaf doesn't have.
std::vector<int> resolve_in_axes(const FlatFunction& f, const Axes& in_axes, const char* operation);
/// The size that the mapped axes have in common, or the given one where nothing is mapped. Throws ShapeError if they differ.
std::int64_t mapped_size(const FlatFunction& f, const std::vector<int>& dims, const std::optional<Int>& asked, const char* operation);
/// For each leaf of the tree the position, counted from the front, at which an axis is inserted into an array of that type; nothing where
/// none is.
std::vector<std::optional<int>> resolve_added_axes(const Axes& prefix, const Skeleton& tree, std::span<const Aval> avals,
                                                   const PrefixNames& names);
/// Throws AxisError if a result with out_axes none depends on the mapped axis.
void check_unmapped(const std::vector<std::optional<int>>& wanted, const std::vector<int>& dims, const Skeleton& tree,
                    std::span<const Aval> avals, const PrefixNames& names);

}  // namespace weft::detail
