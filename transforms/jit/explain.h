// Explains why a function is traced again: config.explain_recompiles, and the warning about a static argument that changes at each call.
#pragma once
#include <utility>

#include "weft/core/array/aval.h"
#include "weft/core/trees/skeleton.h"

namespace weft::detail {

/// The key of a traced program in jit's cache.
struct Signature {
  Skeleton arguments;
  std::vector<Aval> avals;                        ///< of the arguments' leaves
  std::vector<std::pair<std::string, int>> axes;  ///< named axes in scope
};
/// One line that says how `now` differs from the most similar signature among those before: `argument 2: f32[8,3] -> f32[9,3]`.
std::string explain_retracing(const std::string& what, const std::vector<Signature>& before, const Signature& now, SourceLoc loc);
/// The static argument whose number or text differs, if nothing else does: `argument 2 (0.1, now 0.2)`. Empty where the signatures differ
/// in more than one value.
std::string changed_static_value(const Signature& before, const Signature& now);
/// The warning about a function that was traced `programs` times because of different values of one static argument.
std::string warn_of_static_values(const std::string& what, int programs, const std::string& changed, SourceLoc loc);
/// The number of such programs after which the warning is given (config.warn_after_recompiles); negative: never.
int recompiles_before_warning();

}  // namespace weft::detail
