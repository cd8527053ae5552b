// float16 and bfloat16 as stored numbers, converted in software: round to nearest even, subnormals kept.
#pragma once
#include <bit>
#include <cstdint>

namespace weft::detail {

/// The bits of the nearest number of a format with these widths. A double is rounded once; any float is exact as a double.
constexpr std::uint16_t round_to_small_float(double value, int exponent_bits, int mantissa_bits) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff), bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1), infinity = ((std::uint64_t{1} << exponent_bits) - 1)
                                                                                   << mantissa_bits;
  if (biased == 0x7ff) return static_cast<std::uint16_t>(sign | infinity | (mantissa ? 1u << (mantissa_bits - 1) : 0u));
  const int exponent = biased - 1023, lowest = 1 - bias;
  const int shift = 52 - mantissa_bits + (exponent < lowest ? lowest - exponent : 0);
  if (biased == 0 || shift > 54) return sign;
  const std::uint64_t significand = mantissa | std::uint64_t{1} << 52, half = std::uint64_t{1} << (shift - 1);
  std::uint64_t rounded = significand >> shift;
  const std::uint64_t rest = significand & (2 * half - 1);
  if (rest > half || (rest == half && (rounded & 1))) ++rounded;
  if (exponent >= lowest) rounded += static_cast<std::uint64_t>(exponent + bias - 1) << mantissa_bits;
  return static_cast<std::uint16_t>(sign | (rounded < infinity ? rounded : infinity));
}

/// IEEE binary16.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  constexpr explicit Float16(double v) : bits(round_to_small_float(v, 5, 10)) {}
  static constexpr Float16 from_bits(std::uint16_t b) {
    Float16 h;
    h.bits = b;
    return h;
  }
  constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7fffu;
    if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x0400) return std::bit_cast<float>(sign | ((rest << 13) + ((127 - 15) << 23)));
    const float magnitude = static_cast<float>(rest) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
};

/// The upper half of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  constexpr explicit BFloat16(double v) : bits(round_to_small_float(v, 8, 7)) {}
  static constexpr BFloat16 from_bits(std::uint16_t b) {
    BFloat16 h;
    h.bits = b;
    return h;
  }
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace weft::detail
