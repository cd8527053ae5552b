// The primitives on keys in elementwise primitives on unsigned integers: what expand_random makes programs of. Keys become uint64 by
// bitcast_convert_type, their first word in the low half.
#pragma once
#include <span>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// The result of a primitive of kind random, or an array that broadcasts to it.
struct RandomExpansionTransform {
  static constexpr std::string_view name = "random_expansion", doc = "It is written out in operations on unsigned integers.";
  static constexpr Kind every = Kind::random;
  using Function = Array(const ParamsBase& params, std::span<const Array> in);
};
RandomExpansionTransform::Function expand_seed, expand_wrap, expand_unwrap, expand_fold_in, expand_split, expand_bits;

}  // namespace weft::detail
