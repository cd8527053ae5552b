// config.explain_recompiles: why a function is traced again.
#pragma once
#include <utility>

#include "weft/core/array/aval.h"
#include "weft/core/trees/skeleton.h"

namespace weft::detail {

/// What a traced program is kept for.
struct Signature {
  Skeleton arguments;
  std::vector<Aval> avals;                        ///< of the arguments' leaves
  std::vector<std::pair<std::string, int>> axes;  ///< named axes in scope
};
/// One line: what is different from the signature before that is most like it, `argument 2: f32[8,3] -> f32[9,3]`.
std::string explain_retracing(const std::string& what, const std::vector<Signature>& before, const Signature& now, SourceLoc loc);

}  // namespace weft::detail
