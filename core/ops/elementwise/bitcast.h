// bitcast_convert_type, which is two primitives: between dtypes of one size it is elementwise, else the last dimension holds an element's
// parts.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct BitcastParams {
  DType new_dtype = float32;
  friend bool operator==(const BitcastParams&, const BitcastParams&) = default;
};

/// Of dtypes of one size.
Array bitcast_elements(const Array& x, DType dtype, SourceLoc loc);
/// The name of that primitive, which is also how the other one is printed.
inline constexpr std::string_view kBitcastName = "bitcast_convert_type";
/// The primitive for elements of different sizes.
const Primitive& bitcast_between_sizes();
/// The primitive `copy`: the values in memory of their own.
Array copied(const Array& x, SourceLoc loc);

}  // namespace weft::detail
