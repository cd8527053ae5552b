// Axes as parameters: one, several, or all.
#pragma once
#include <concepts>
#include <vector>

#include "weft/core/array/integer.h"
#include "weft/core/array/scalar.h"

namespace weft {

namespace detail {
/// The number of an axis; throws AxisError for one that no array can have.
int axis_number(std::int64_t axis, SourceLoc loc);
}  // namespace detail

/// The number of one axis, from any integer; a negative one counts from the end.
class AxisNumber {
 public:
  template <detail::WholeNumber T>
  AxisNumber(T axis, SourceLoc loc = SourceLoc::here()) : axis_(detail::axis_number(Int(axis, loc), loc)) {}
  AxisNumber(Int axis, SourceLoc loc = SourceLoc::here()) : axis_(detail::axis_number(axis, loc)) {}
  /// As given: neither checked nor made positive.
  operator int() const { return axis_; }

 private:
  int axis_;
};

/// One axis, several (`{0, 2}`), or none (all of them). One class, not overloads: `{0}` is one axis. Negative axes count from the end.
class Axis {
 public:
  Axis(detail::NoneValue auto) : is_none_(true) {}
  template <detail::WholeNumber T>
  Axis(T axis, SourceLoc loc = SourceLoc::here()) : axes_{detail::axis_number(Int(axis, loc), loc)} {}
  Axis(AxisNumber axis) : axes_{axis} {}
  // Not of an initializer_list: g++ makes one of `{.ddof = 1}`, and would take options for axes.
  template <std::convertible_to<Int> A, std::convertible_to<Int> B, std::convertible_to<Int>... More>
  Axis(A a, B b, More... more) {
    for (Int axis : {Int(a), Int(b), Int(more)...}) axes_.push_back(detail::axis_number(axis, {}));
  }
  template <detail::WholeNumber T>
  Axis(const std::vector<T>& axes, SourceLoc loc = SourceLoc::here()) {
    for (T axis : axes) axes_.push_back(detail::axis_number(Int(axis, loc), loc));
  }
  template <std::same_as<char> T>
  Axis(const T*) {
    static_assert(!sizeof(T),
                  "weft: an axis is a number or none, sum(x, 0); over an axis that a map names: psum(x, \"i\"), pmean, pmax, ...");
  }
  /// Whether it is `none`; then axes() is empty.
  bool is_none() const { return is_none_; }
  /// As given: neither checked nor made positive.
  const std::vector<int>& axes() const { return axes_; }

 private:
  std::vector<int> axes_;
  bool is_none_ = false;
};

/// The axis of concatenate, stack, split and their relatives by name.
struct AxisOption {
  detail::NamedFields named = detail::NamedFields();
  AxisNumber axis = 0;  ///< along which
};

}  // namespace weft
