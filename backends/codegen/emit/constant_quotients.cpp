// Quotients of floating-point vectors by constants: a product and a multiply-add instead of a division, with the same bits. Brisebarre,
// Muller, Raina, "Accelerating correctly rounded floating-point division when the divisor is known in advance", IEEE Transactions on
// Computers 53 (2004).
#include "weft/backends/codegen/emit/constant_quotients.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace weft::detail {
namespace {

/// The inverse of c in two parts of the same sign: towards zero, so that infinities and zeros keep their signs in the sum of both products.
template <class T>
InverseParts parts(T c) {
  T first = 1 / c;
  if (std::fma(-c, first, T(1)) < 0) first = std::nextafter(first, T(0));
  return {first, std::fma(-c, first, T(1)) / c};
}

/// Whether x (1 / c) in two parts is x / c, rounded, for all x whose quotient is not tiny. The sum is off by less than 2^(3 - 2p) of itself
/// before it is rounded, p being the digits: it can be rounded wrongly only where the quotient X / C of integers of p digits is so near the
/// middle between two numbers, M / 2^e for an odd M, that X 2^e and M C differ by 16 at most. Those X are tried.
template <class T>
bool is_right_everywhere(T c) {
  constexpr int p = std::numeric_limits<T>::digits;
  using Wide = unsigned __int128;
  int exponent = 0;
  const T mantissa = std::ldexp(std::frexp(std::abs(c), &exponent), p);  // an integer of p digits
  const auto all = static_cast<std::uint64_t>(mantissa);
  const InverseParts inverse = parts(mantissa);
  int zeros = 0;
  while (!(all >> zeros & 1)) ++zeros;
  if (zeros > 4) return true;  // the difference is a multiple of 2^zeros
  const std::uint64_t odd = all >> zeros;
  std::uint64_t inverted = odd;  // modulo 2^64, by Newton's method
  for (int i = 0; i < 6; ++i) inverted *= 2 - odd * inverted;
  for (const int e : {p, p + 1})
    for (int times = -15; times <= 15; times += 2) {
      const std::int64_t difference = std::int64_t{times} * (std::int64_t{1} << zeros);
      if (std::abs(difference) > 16) continue;
      const std::uint64_t modulus = std::uint64_t{1} << (e - zeros);
      const std::uint64_t first = (std::uint64_t{0} - static_cast<std::uint64_t>(std::int64_t{times}) * inverted) & (modulus - 1);
      for (std::uint64_t m = first; m < std::uint64_t{2} << p; m += modulus) {
        if (m < std::uint64_t{1} << p) continue;
        const Wide product = static_cast<Wide>(m) * all + static_cast<Wide>(static_cast<__int128>(difference));
        const auto x = static_cast<std::uint64_t>(product >> e);
        if (x >> (p - 1) != 1) continue;
        const auto value = static_cast<T>(x);
        if (std::fma(value, static_cast<T>(inverse.first), value * static_cast<T>(inverse.second)) != value / mantissa) return false;
      }
    }
  return true;
}

template <class T>
std::optional<InverseParts> inverse_of(T c) {
  constexpr int furthest = std::numeric_limits<T>::max_exponent / 2;
  const T size = std::abs(c);
  if (!(size > std::ldexp(T(1), -furthest) && size < std::ldexp(T(1), furthest))) return std::nullopt;
  const InverseParts inverse = parts(c);
  if (inverse.second != 0 && !is_right_everywhere(c)) return std::nullopt;
  return inverse;
}

}  // namespace

std::optional<InverseParts> inverse_by_parts(double c, bool is_double) {
  return is_double ? inverse_of(c) : inverse_of(static_cast<float>(c));
}

double least_dividend(double c, bool is_double) {
  const int p = is_double ? std::numeric_limits<double>::digits : std::numeric_limits<float>::digits;
  const int least = is_double ? std::numeric_limits<double>::min_exponent : std::numeric_limits<float>::min_exponent;
  return std::ldexp(std::abs(c), least + p + 6);
}

}  // namespace weft::detail
