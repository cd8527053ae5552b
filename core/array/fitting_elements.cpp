#include "weft/core/array/fitting_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "weft/core/array/convert_elements.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kBlock = 512;  // elements that are widened at a time

int value_bits(DType integer) { return 8 * integer.itemsize() - (integer.is_signed() ? 1 : 0); }

/// The first element for which fits(v) is false, where v is the element as a Wide, whose dtype is `wide`.
template <class Wide, class Fits>
std::optional<Misfit> first_of(const void* from, DType dtype, DType wide, std::int64_t n, Fits fits) {
  Wide block[kBlock];
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, n - begin);
    convert_elements(static_cast<const std::byte*>(from) + begin * dtype.itemsize(), dtype, block, wide, count);
    for (std::int64_t i = 0; i < count; ++i)
      if (!fits(block[i])) {
        if constexpr (std::is_same_v<Wide, std::complex<double>>)
          return Misfit{begin + i, fmt::format("{}{:+}i", block[i].real(), block[i].imag())};
        else
          return Misfit{begin + i, fmt::format("{}", block[i])};
      }
  }
  return {};
}

std::optional<Misfit> first_integer_misfit(const void* from, DType dtype, DType to, std::int64_t n) {
  const int bits = value_bits(to);
  if (dtype.is_unsigned()) {
    if (value_bits(dtype) <= bits) return {};
    return first_of<std::uint64_t>(from, dtype, uint64, n, [&](std::uint64_t v) { return v >> bits == 0; });
  }
  if (to.is_signed() && value_bits(dtype) <= bits) return {};
  return first_of<std::int64_t>(from, dtype, int64, n, [&](std::int64_t v) {
    return to.is_signed() ? v >> bits == 0 || v >> bits == -1 : v >= 0 && (bits == 64 || v >> bits == 0);
  });
}

}  // namespace

std::optional<Misfit> first_misfit(const void* from, DType dtype, DType to, std::int64_t n) {
  if (dtype == to || dtype.is_bool() || dtype.is_key() || to.is_bool() || to.is_complex()) return {};
  const double above = to.is_integer() ? std::ldexp(1., value_bits(to)) : HUGE_VAL;
  const auto in_range = [&](double v) {
    return !to.is_integer() || (std::trunc(v) < above && std::trunc(v) >= (to.is_signed() ? -above : 0));
  };
  if (dtype.is_complex())
    return first_of<std::complex<double>>(from, dtype, complex128, n,
                                          [&](std::complex<double> v) { return v.imag() == 0 && in_range(v.real()); });
  if (!to.is_integer()) return {};
  if (dtype.is_integer()) return first_integer_misfit(from, dtype, to, n);
  return first_of<double>(from, dtype, float64, n, in_range);
}

}  // namespace weft::detail
