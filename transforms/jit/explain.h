// Why a function is traced again: config.explain_recompiles, and the warning of static values that change all the time.
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
/// Which argument is another number or text, and nothing else is: `argument 2 (0.1, now 0.2)`. Empty where the signatures differ in more,
/// or in what is no single value.
std::string changed_static_value(const Signature& before, const Signature& now);
/// The warning for a function that was traced `programs` times for other values of an argument.
std::string warn_of_static_values(const std::string& what, int programs, const std::string& changed, SourceLoc loc);
/// How many such programs there may be before it is given (config.warn_after_recompiles); negative: any number.
int recompiles_before_warning();

}  // namespace weft::detail
