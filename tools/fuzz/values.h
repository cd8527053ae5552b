// Arrays as inputs of random programs, and as text.
#pragma once
#include <string>

#include "random.h"
#include "weft/core/array/array_impl.h"

namespace weft::fuzz {

/// What inputs look like.
enum class Values {
  tame,     ///< floats of moderate size without a pattern; integers around 0
  special,  ///< among them zeros of both signs, infinities, NaN, subnormal, huge and extreme ones
};
Array random_value(const detail::Aval& aval, Random& random, Values values);

/// A type and its elements, as parse_value reads them and no bit is lost: `f32[2] 1 -0x1p-3`.
std::string print_value(const Array& x);
/// Throws Error if the text is no such value.
Array parse_value(std::string_view text);

/// The array's elements as bytes in host memory.
std::vector<std::byte> bytes_of(const Array& x);

}  // namespace weft::fuzz
