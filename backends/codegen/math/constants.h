// Written by scripts/derive-constants: numbers of range reductions, in words of which each is the rounded rest of those before. Do not edit.
#pragma once
#include <cstdint>

namespace weft::detail::constants {

inline constexpr double pi = 0x1.921fb54442d18p+1;
inline constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
inline constexpr double half_pi_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
inline constexpr double half_pi_f32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
inline constexpr std::uint64_t two_over_pi_bits[] = {0x0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};  // in words of 32 bits, 32 zeros in front of the point
inline constexpr double tan_eighth_pi = 0x1.a827999fcef32p-2;
inline constexpr double ln2_f64[] = {0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45};  // the product of the first and an exponent is exact
inline constexpr double ln2_f32[] = {0x1.62e4p-1, 0x1.7f7d1cp-20};  // the same
inline constexpr double ln2 = 0x1.62e42fefa39efp-1;
inline constexpr double log2e_f64[] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
inline constexpr double log2e_f32[] = {0x1.715476p+0, 0x1.4ae0cp-26};
inline constexpr double root_half = 0x1.6a09e667f3bcdp-1;
inline constexpr double two_thirds[] = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
inline constexpr double two_over_root_pi_less_one = 0x1.06eba8214db69p-3;
inline constexpr double lgamma_constant = 0x1.acfe390c97d69p-2;

}  // namespace weft::detail::constants
