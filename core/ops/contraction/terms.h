// What contractions cost, which is not proportional to the number of their elements.
#pragma once
#include <span>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// The number of products that an equation sums, over all elements of its result.
struct TermsTransform {
  using Function = double(const ParamsBase& params, std::span<const Aval> in, const Aval& out);
};
/// The same for any equation: 0 if its primitive has no rule.
inline double summed_terms(const Primitive& op, const ParamsBase& params, std::span<const Aval> in, std::span<const Aval> out) {
  TermsTransform::Function* const rule = find_rule<TermsTransform>(op);
  return rule ? rule(params, in, out[0]) : 0;
}

}  // namespace weft::detail
