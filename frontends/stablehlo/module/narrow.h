// Elements of 8 bits and fewer that weft has no dtype for: small floats and integers of 2 and 4 bits. A program computes with them as with
// elements of a wider dtype, whose numbers are rounded to theirs after each operation; as bits they stand only at a program's ends and
// where a bitcast asks for them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/array/array.h"

namespace weft::detail::mlir {

struct NarrowFormat {
  enum class Values {
    integers,
    with_infinities,   ///< as IEEE 754 has it
    one_nan,           ///< no infinities: all bits set is NaN, which is what is too large
    no_negative_zero,  ///< no infinities: the bits of -0 are NaN, which is what is too large
    finite,            ///< neither: what is too large becomes the largest
    powers,            ///< an exponent alone: powers of 2; NaN is what is negative, zero or too large. Halfway goes up
  };
  std::string_view mlir, name;  ///< f8E5M2, float8_e5m2
  DType wide;                   ///< int8, uint8 or float32
  Values values;
  int bits, mantissa_bits, bias;
  std::uint32_t nan, infinity;  ///< bits of one NaN, and of infinity or what is in its place
  float largest;
};

/// The format of MLIR's name, or null.
const NarrowFormat* find_narrow(std::string_view mlir);
/// The number of one element's bits.
double narrow_value(const NarrowFormat& f, std::uint8_t bits);

/// The least and the largest number of a format of integers.
std::pair<double, double> range_of(const NarrowFormat& f);

/// The bytes of elements of the wide dtype, of one byte each.
std::string widened_elements(const NarrowFormat& f, std::string_view bytes);

/// Rounds the last element of `bytes`, elements of the wide dtype, as rounded_to does.
void round_last_element(const NarrowFormat& f, std::string& bytes);

/// x of the wide dtype, rounded to numbers of the format: to the nearest, of two the even one; integers are cut off to their low bits.
Array rounded_to(const NarrowFormat& f, const Array& x);
/// Numbers of the wide dtype for bits, uint8.
Array from_bits(const NarrowFormat& f, const Array& bits);
/// The bits, uint8, of numbers of the format.
Array to_bits(const NarrowFormat& f, const Array& x);

}  // namespace weft::detail::mlir
