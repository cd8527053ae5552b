// The primitives on keys. A key array is indexed like any other; its elements are the two words of a threefry key.
#pragma once
#include <string>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Keys from integers (of a 64-bit seed both words count), from their two words in a last dimension, and back to these.
Array random_seed(const Array& seeds, SourceLoc loc);
Array random_wrap(const Array& words, SourceLoc loc);
Array random_unwrap(const Array& keys, SourceLoc loc);
/// `shape` new keys of each key, along dimensions behind the keys' own.
Array random_split(const Array& keys, const Shape& shape, SourceLoc loc);
/// One new key of each key and uint32, broadcast together.
Array random_fold_in(const Array& keys, const Array& data, SourceLoc loc);
/// Unsigned integers of 8, 16, 32 or 64 bits: `shape` of them for each key, along dimensions behind the keys' own.
Array random_bits(const Array& keys, int bit_width, const Shape& shape, SourceLoc loc);
/// A gamma variate (log_space: its logarithm) for each element of alpha; the keys' shape is a prefix of alpha's.
Array random_gamma(const Array& keys, const Array& alpha, bool log_space, SourceLoc loc);

// The primitives of gamma variates, and whether the variates of an equation are logarithms.
const Primitive& random_gamma_primitive();
const Primitive& random_gamma_grad_primitive();
bool is_log_gamma(const ParamsBase& params);

/// The equation's program in elementwise primitives on unsigned integers, with the operands as inputs, for a backend that fuses those:
/// keys become uint64 by bitcast_convert_type, their first word in the low half. For all primitives of kind random.
Jaxpr expand_random(const Eqn& eqn, std::span<const Aval> in);

}  // namespace weft::detail
