// What the comparisons ask, for readers of programs that compare.
#pragma once
#include <optional>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// For which pairs (x, y) a comparison holds.
struct Order {
  bool less = false, equal = false, greater = false;  ///< x < y, x = y, x > y
  bool unordered = false;                             ///< where one of them is NaN
  bool total = false;                                 ///< by the total order, in which -0 < 0 and NaNs have places
  friend bool operator==(const Order&, const Order&) = default;
};
inline constexpr Order kLess{.less = true}, kGreater{.greater = true}, kEqual{.equal = true}, kLessInTotal{.less = true, .total = true};

/// What the primitive asks, if it is a comparison.
std::optional<Order> order_of(const Primitive& op);

}  // namespace weft::detail
