// Takes elements in memory and the dtype that they are to be read as; gives the first that it can't hold, for the error. For reads by
// which numbers leave arrays (`item`, `to_vector`): within programs conversions wrap around and saturate, as XLA's do.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "weft/core/array/dtype.h"

namespace weft::detail {

struct Misfit {
  std::int64_t position;
  std::string number;  ///< as text
};
/// The first of n elements that isn't in the range of `to`: for an integer dtype also NaN, for one of real numbers what has an imaginary
/// part. Rounding is no misfit, nor is a fraction that is cut off; bool holds everything.
std::optional<Misfit> first_misfit(const void* from, DType from_dtype, DType to, std::int64_t n);

}  // namespace weft::detail
