// Another name for the axis of a map in a map.
#pragma once
#include <string>

#include "weft/core/ir/rules.h"
#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

/// Rules for operations with programs that name an axis themselves, beside collectives and maps; they return the renamed parameters.
struct RenameAxisTransform {
  static constexpr std::string_view name = "rename_axis", doc = "It names an axis of a map among its parameters.";
  using Function = ParamsRef(const ParamsBase& params, const std::string& from, const std::string& to);
};

/// The program with collectives over axis `to` where they are over `from`, but in maps that have an axis `from` of their own.
Jaxpr rename_axis(const Jaxpr& j, const std::string& from, const std::string& to);
/// The params with names of their own for axes of maps of one axis in the body, where a map around has an axis of the same name.
ShardMapParams without_shadowing(const ShardMapParams& p);

}  // namespace weft::detail
