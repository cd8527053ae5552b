// Meshes and shardings of a module's attributes (the forms that text/sharding.cpp describes) as weft's.
#pragma once
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/program.h"

namespace weft::detail::mlir {

/// Throws through the importer for what is no mesh, and for axes or devices that don't fit together.
ProgramMesh mesh_of(const Attribute& mesh, const std::string& name, const Importer& importer);
/// The sharding of an array with that many dimensions. Throws for meshes and axes that the module doesn't declare, and for parts of axes,
/// of which weft has none.
ProgramSharding sharding_of(const Attribute& sharding, int ndim, const Importer& importer);

}  // namespace weft::detail::mlir
