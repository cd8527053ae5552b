#include "weft/library/io/missing_values.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/array/storage.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

bool rounds_to_infinity(double value, DType dtype) {
  return std::isfinite(value) && with_storage(dtype, [&]<class S>() {
           if constexpr (is_complex_storage<S> || std::is_integral_v<S>)
             return false;
           else
             return !std::isfinite(static_cast<double>(static_cast<S>(value)));
         });
}

void check_stand_in(double value, DType dtype, const char* operation, const char* option, SourceLoc loc) {
  if (!dtype.is_bool() && !dtype.is_integer()) {
    if (rounds_to_infinity(value, dtype))
      throw DTypeError(fmt::format("{}: {} = {} is beyond the range of {}", operation, option, value, dtype.name()), loc);
    return;
  }
  const int bits = dtype.is_bool() ? 1 : 8 * dtype.itemsize();
  const bool is_signed = !dtype.is_bool() && dtype.is_signed();
  const double end = std::ldexp(1., is_signed ? bits - 1 : bits);
  if (std::trunc(value) == value && value >= (is_signed ? -end : 0.) && value < end) return;
  throw DTypeError(fmt::format("{}: {} = {} can't mark a missing value, as no {} has that value; give another number, or read a "
                               "floating dtype",
                               operation, option, value, dtype.name()),
                   loc);
}

}  // namespace weft::detail
