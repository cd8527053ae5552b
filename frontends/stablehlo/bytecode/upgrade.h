// Operations of VHLO, whichever version of it, as those of today's StableHLO.
#pragma once
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

/// Renames the operation, and gathers the attributes that StableHLO has in one (dimension numbers). What later versions have beside, an
/// older one means by leaving it out; what it states to be nothing is left out. The operation's name is `vhlo.NAME_vN`.
void upgrade(Operation& op);

}  // namespace weft::detail::mlir
