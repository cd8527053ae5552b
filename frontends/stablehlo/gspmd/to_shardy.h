// Takes a module whose shardings are stated as XLA's SPMD partitioner reads them (GSPMD: `mhlo.sharding`, the calls of @Sharding,
// @SPMDFullToShardShape and @SPMDShardToFullShape), as JAX wrote them before 0.7 and still does where jax_use_shardy_partitioner is off;
// gives the same module as Shardy states it, for which the importer is written.
#pragma once
#include <string>

#include "weft/core/errors/source_loc.h"
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

/// Adds `sdy.sharding` to arguments and results that have an `mhlo.sharding` only, makes sdy.sharding_constraint of the calls of
/// @Sharding, and sdy.manual_computation of each call of a function between @SPMDFullToShardShape and @SPMDShardToFullShape, all over one
/// mesh that the module then declares. Shardings that can't be read, or that no axes of one mesh state, stay as they are, as they change no
/// value; around one device's program they are an Error, with the place in `file`, as is such a program that is not one call. A module that
/// declares meshes is Shardy's already.
void to_shardy(Module& module, const std::string& file, SourceLoc loc);

}  // namespace weft::detail::mlir
