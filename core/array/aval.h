// Types of arrays, without elements.
#pragma once
#include <string>

#include "weft/core/array/dtype.h"
#include "weft/core/array/shape.h"

namespace weft {

/// A shape and a dtype without data: an argument of eval_shape, lower and pure_callback.
struct ShapeDtypeStruct {
  Shape shape;            ///< the sizes of the dimensions
  DType dtype = float32;  ///< of the elements
  friend bool operator==(const ShapeDtypeStruct&, const ShapeDtypeStruct&) = default;
};

namespace detail {

/// An abstract value: all that a trace knows of an array.
struct Aval {
  Shape shape;
  DType dtype = float32;
  bool weak = false;  ///< weakly typed: the type of a C++ number, which yields in promotion
  int ndim() const { return shape.size(); }
  std::int64_t size() const { return shape.num_elements(); }
  /// The size of all elements in bytes, at most 2^63 - 1.
  std::int64_t bytes() const {
    std::int64_t n;
    return __builtin_mul_overflow(size(), std::int64_t{dtype.itemsize()}, &n) ? INT64_MAX : n;
  }
  WeakDType weak_dtype() const { return {dtype, weak}; }
  /// The same with another shape, or another dtype.
  Aval with_shape(Shape s) const { return {std::move(s), dtype, weak}; }
  Aval with_dtype(DType d) const { return {shape, d, false}; }
  friend bool operator==(const Aval&, const Aval&) = default;
};

/// As a Jaxpr writes it: `f32[3,4]`, `i32[]`.
std::string to_string(const Aval& aval);
std::string to_string(const ShapeDtypeStruct& aval);

}  // namespace detail
}  // namespace weft
