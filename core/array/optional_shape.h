// A shape as a parameter that may be left out.
#pragma once
#include <concepts>

#include "weft/core/array/scalar.h"
#include "weft/core/array/shape.h"

namespace weft {

namespace detail {
/// `Nothing auto...` behind a function's parameters is always empty. It makes the function a template, which a call with `{}` prefers less
/// than a function that isn't one.
template <class T>
concept Nothing = std::same_as<T, void>;
}  // namespace detail

/// A shape, or none. std::optional<Shape> can't be made from `{2, 3}`.
class OptionalShape {
 public:
  /// `{}`, the shape of a scalar.
  OptionalShape() : has_value_(true) {}
  OptionalShape(detail::NoneValue auto) {}
  OptionalShape(const Shape& shape) : shape_(shape), has_value_(true) {}
  OptionalShape(Int a, Int b) : OptionalShape(Shape(a, b)) {}
  OptionalShape(Int a, Int b, Int c) : OptionalShape(Shape(a, b, c)) {}
  OptionalShape(Int a, Int b, Int c, Int d) : OptionalShape(Shape(a, b, c, d)) {}
  template <std::convertible_to<Int>... More>
  OptionalShape(Int a, Int b, Int c, Int d, Int e, More... more) : OptionalShape(Shape(a, b, c, d, e, Int(more)...)) {}
  OptionalShape(detail::WholeNumber auto n, SourceLoc loc = SourceLoc::here()) : shape_(n, loc), has_value_(true) {}
  OptionalShape(const detail::WholeNumbers auto& dims, SourceLoc loc = SourceLoc::here())
      : shape_(detail::whole_numbers(dims, loc)), has_value_(true) {}
  bool has_value() const { return has_value_; }
  const Shape& value() const { return shape_; }

 private:
  Shape shape_;
  bool has_value_ = false;
};

}  // namespace weft
