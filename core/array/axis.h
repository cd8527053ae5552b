#pragma once
#include <concepts>
#include <initializer_list>
#include <vector>

#include "weft/core/array/scalar.h"

namespace weft {

/// One axis, several, or none (all of them). One class, not overloads: `{0}` is a list of one axis. Negative axes count from the end.
class Axis {
 public:
  Axis(None) : is_none_(true) {}
  template <std::integral T>
  Axis(T axis) : axes_{static_cast<int>(axis)} {}
  Axis(std::initializer_list<int> axes) : axes_(axes) {}
  Axis(const std::vector<int>& axes) : axes_(axes) {}
  /// Whether it is `none`; then axes() is empty.
  bool is_none() const { return is_none_; }
  /// As given: neither checked nor made positive.
  const std::vector<int>& axes() const { return axes_; }

 private:
  std::vector<int> axes_;
  bool is_none_ = false;
};

}  // namespace weft
