// The operations that read a range of each dimension, or reverse dimensions: for rules of other layers on them.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

const Primitive& slice_primitive();
const Primitive& reverse_primitive();

}  // namespace weft::detail
