// Calls whose last operands are the sizes of their results, which their types leave open.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {

/// The call without the operands at these positions, one for each result, whose type has the sizes that its operand states.
Values with_stated_sizes(const OpCall& c, const std::vector<std::int64_t>& shapes, ImportFunction import);

}  // namespace weft::detail::mlir
