// Types of elements.
#pragma once
#include <cstdint>
#include <string_view>

#include "weft/core/errors/source_loc.h"

namespace weft {

/// The type of an array's elements. Prints as NumPy names it.
class DType {
 public:
  constexpr explicit DType(int id) : id_(static_cast<std::uint8_t>(id)) {}
  /// Position in the list of all dtypes: those of numbers first, 0 to count - 1, then that of keys.
  constexpr int id() const { return id_; }
  /// NumPy's name: "float32", "bool", ...
  std::string_view name() const;
  /// The name inside a Jaxpr: "f32", "bool", "bf16", ...
  std::string_view short_name() const;
  /// Bytes per element.
  int itemsize() const;
  /// An array of this dtype, as of jnp.float32(3): `float32(3)`, `int8(x)`.
  template <class T>
  auto operator()(const T& value, SourceLoc loc = SourceLoc::here()) const {
    return asarray(value, *this, loc);  // of core/array and library/jnp, found by this argument
  }
  friend constexpr bool operator==(DType, DType) = default;
  static constexpr int count = 15;

  constexpr bool is_bool() const { return id_ == 0; }
  constexpr bool is_signed() const { return id_ >= 1 && id_ <= 4; }
  constexpr bool is_unsigned() const { return id_ >= 5 && id_ <= 8; }
  /// Signed or unsigned integer, bool not included.
  constexpr bool is_integer() const { return id_ >= 1 && id_ <= 8; }
  constexpr bool is_floating() const { return id_ >= 9 && id_ <= 12; }
  constexpr bool is_complex() const { return id_ == 13 || id_ == 14; }
  /// Floating or complex: what can be differentiated.
  constexpr bool is_inexact() const { return id_ >= 9 && id_ <= 14; }
  /// Keys of random numbers (library/random/random.h): they can be moved, indexed, chosen among and compared, but not computed with.
  constexpr bool is_key() const { return id_ == 15; }
  /// The dtype of a complex number's parts; the dtype itself otherwise.
  constexpr DType real_part() const { return id_ == 13 ? DType(11) : id_ == 14 ? DType(12) : *this; }

 private:
  std::uint8_t id_;
};

inline constexpr DType bool_{0}, int8{1}, int16{2}, int32{3}, int64{4}, uint8{5}, uint16{6}, uint32{7}, uint64{8}, float16{9}, bfloat16{10},
    float32{11}, float64{12}, complex64{13}, complex128{14};

namespace detail {
/// The dtype of threefry keys, two uint32 next to each other; Jaxprs write it `key<fry>`.
inline constexpr DType key_dtype{15};
/// A dtype and whether it is weak: a C++ number's, which yields to an array's (JAX's weak types).
struct WeakDType {
  DType dtype;
  bool weak = false;
  friend constexpr bool operator==(const WeakDType&, const WeakDType&) = default;
};
/// The common type of two operands by JAX's promotion lattice
/// (https://docs.jax.dev/en/latest/type_promotion.html), 64-bit types always available. Throws DTypeError for a key and a number.
WeakDType promote_types(WeakDType a, WeakDType b);
/// Finds a dtype by NumPy's or a Jaxpr's name. Returns false if there is none of that name.
bool find_dtype(std::string_view name, DType& out);
}  // namespace detail

/// The dtype of the result of an operation on both: `promote_types(int32, float16) == float16`.
DType promote_types(DType a, DType b);

}  // namespace weft
