// See narrow.h. The formats are those of LLVM's APFloat and of ml_dtypes (OCP 8-bit and microscaling formats, 2023).
#include "weft/frontends/stablehlo/module/narrow.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/bitcast.h"

namespace weft::detail::mlir {
namespace {

using Values = NarrowFormat::Values;

constexpr NarrowFormat integer(std::string_view mlir, std::string_view name, DType wide, int bits) {
  return {mlir, name, wide, Values::integers, bits, 0, 0, 0, 0, 0};
}
constexpr std::array kFormats{
    integer("i2", "int2", int8, 2),
    integer("i4", "int4", int8, 4),
    integer("ui2", "uint2", uint8, 2),
    integer("ui4", "uint4", uint8, 4),
    NarrowFormat{"f8E5M2", "float8_e5m2", float32, Values::with_infinities, 8, 2, 15, 0x7e, 0x7c, 57344},
    NarrowFormat{"f8E4M3", "float8_e4m3", float32, Values::with_infinities, 8, 3, 7, 0x7c, 0x78, 240},
    NarrowFormat{"f8E3M4", "float8_e3m4", float32, Values::with_infinities, 8, 4, 3, 0x78, 0x70, 15.5f},
    NarrowFormat{"f8E4M3FN", "float8_e4m3fn", float32, Values::one_nan, 8, 3, 7, 0x7f, 0x7f, 448},
    NarrowFormat{"f8E4M3FNUZ", "float8_e4m3fnuz", float32, Values::no_negative_zero, 8, 3, 8, 0x80, 0x80, 240},
    NarrowFormat{"f8E5M2FNUZ", "float8_e5m2fnuz", float32, Values::no_negative_zero, 8, 2, 16, 0x80, 0x80, 57344},
    NarrowFormat{"f8E4M3B11FNUZ", "float8_e4m3b11fnuz", float32, Values::no_negative_zero, 8, 3, 11, 0x80, 0x80, 30},
    NarrowFormat{"f4E2M1FN", "float4_e2m1fn", float32, Values::finite, 4, 1, 1, 0x8, 0x7, 6},
    NarrowFormat{"f8E8M0FNU", "float8_e8m0fnu", float32, Values::powers, 8, 0, 127, 0xff, 0xff, 0x1p127f},
};

/// What NaN becomes: a format without one has negative zero in its place.
float nan_of(const NarrowFormat& f) { return f.values == Values::finite ? -0.0F : std::numeric_limits<float>::quiet_NaN(); }

Array number(double v, DType dtype) { return make_literal(Number(v), dtype); }
Array bits_of(std::uint32_t v) { return make_literal(Number(v), uint32); }

/// 2 to the exponent of the format's numbers as large as x, at least that of its smallest normal ones.
Array power_below(const NarrowFormat& f, const Array& size) {
  const Array power = bitcast_elements(bitcast_elements(size, uint32, {}) & bits_of(0x7f800000U), float32, {});
  return maximum(power, number(std::ldexp(1.0, 1 - f.bias), float32));
}

/// Of numbers of the format `powers`: the exponent, rounded. The smallest of them, 2^-127, is a subnormal float.
Array exponent_code(const Array& x) {
  const Array bits = bitcast_elements(x, uint32, {});
  const Array half = where(bits < bits_of(0x800000U), bits_of(0x200000U), bits_of(0x400000U));
  const Array code = minimum(shift_right_logical(bits + half, bits_of(23)), bits_of(0xff));
  // The largest of NaN's bits overflow when they are rounded.
  return where((bits == bits_of(0)) | (x != x), bits_of(0xff), code);
}
Array power_of_code(const Array& code) {
  const Array bits = where(code == bits_of(0), bits_of(0x400000U), code << bits_of(23));
  return bitcast_elements(where(code == bits_of(0xff), bits_of(0x7fc00000U), bits), float32, {});
}

}  // namespace

const NarrowFormat* find_narrow(std::string_view mlir) {
  for (const NarrowFormat& f : kFormats)
    if (f.mlir == mlir) return &f;
  return nullptr;
}

double narrow_value(const NarrowFormat& f, std::uint8_t byte) {
  const auto bits = static_cast<std::uint32_t>(byte) & ((1U << f.bits) - 1);
  if (f.values == Values::integers)
    return f.wide == int8 && bits >> (f.bits - 1) ? static_cast<double>(bits) - std::ldexp(1.0, f.bits) : static_cast<double>(bits);
  if (f.values == Values::powers)
    return bits == f.nan ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - f.bias);
  const std::uint32_t sign_bit = 1U << (f.bits - 1), magnitude = bits & (sign_bit - 1);
  const double sign = bits & sign_bit ? -1 : 1;
  const bool is_nan = f.values == Values::with_infinities    ? magnitude > f.infinity
                      : f.values == Values::one_nan          ? magnitude == f.nan
                      : f.values == Values::no_negative_zero ? bits == f.nan
                                                             : false;
  if (is_nan) return std::numeric_limits<double>::quiet_NaN();
  if (f.values == Values::with_infinities && magnitude == f.infinity) return sign * std::numeric_limits<double>::infinity();
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits), least = 1 - f.bias - f.mantissa_bits;
  const auto mantissa = static_cast<int>(magnitude & ((1U << f.mantissa_bits) - 1));
  return sign * (exponent == 0 ? std::ldexp(mantissa, least) : std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - 1 + least));
}

std::pair<double, double> range_of(const NarrowFormat& f) {
  const double largest = std::ldexp(1.0, f.bits - (f.wide == int8 ? 1 : 0)) - 1;
  return {f.wide == int8 ? -largest - 1 : 0, largest};
}

std::string widened_elements(const NarrowFormat& f, std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const double value = narrow_value(f, static_cast<std::uint8_t>(c));
    if (f.wide == float32) {
      const auto bits = std::bit_cast<std::array<char, sizeof(float)>>(static_cast<float>(value));
      out.append(bits.data(), bits.size());
    } else {
      out += static_cast<char>(static_cast<int>(value));
    }
  }
  return out;
}

void round_last_element(const NarrowFormat& f, std::string& bytes) {
  if (f.values == Values::integers) {
    const auto bits = static_cast<unsigned>(static_cast<unsigned char>(bytes.back())) & ((1U << f.bits) - 1);
    const bool negative = f.wide == int8 && bits >> (f.bits - 1) != 0;
    bytes.back() = static_cast<char>(negative ? static_cast<int>(bits) - (1 << f.bits) : static_cast<int>(bits));
    return;
  }
  float x;
  char* const at = bytes.data() + bytes.size() - sizeof x;
  std::memcpy(&x, at, sizeof x);
  if (std::isnan(x)) {
    x = nan_of(f);
    std::memcpy(at, &x, sizeof x);
    return;
  }
  if (f.values == Values::powers) {
    const double least = std::ldexp(1.0, -f.bias), v = std::max(static_cast<double>(x), x > 0 ? least : 0.0);
    const double below = v > 0 && std::isfinite(v) ? std::ldexp(1.0, std::ilogb(v)) : 0;
    const double power = v >= 1.5 * below ? 2 * below : below;
    x = below == 0 || power > static_cast<double>(f.largest) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(power);
    std::memcpy(at, &x, sizeof x);
    return;
  }
  const double largest = static_cast<double>(f.largest), size = std::min(std::abs(static_cast<double>(x)), 4 * largest);
  const int exponent = std::max(size > 0 ? std::ilogb(size) : 1 - f.bias, 1 - f.bias);
  const double unit = std::ldexp(1.0, exponent - f.mantissa_bits);
  double out = std::nearbyint(size / unit) * unit;
  if (out > largest)
    out = f.values == Values::finite            ? largest
          : f.values == Values::with_infinities ? std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::quiet_NaN();
  if (!(f.values == Values::no_negative_zero && out == 0)) out = std::copysign(out, static_cast<double>(x));
  x = static_cast<float>(out);
  std::memcpy(at, &x, sizeof x);
}

Array rounded_to(const NarrowFormat& f, const Array& x) {
  if (f.values == Values::integers) {
    if (f.wide == uint8) return x & make_literal(Number((1 << f.bits) - 1), uint8);
    const Array by = make_literal(Number(8 - f.bits), int8);
    return (x << by) >> by;
  }
  if (f.values == Values::powers) return power_of_code(exponent_code(x));
  // What is far beyond the largest, an infinity too, counts as a finite number that is.
  const Array size = minimum(abs(x), number(4 * static_cast<double>(f.largest), float32)),
              unit = power_below(f, size) * number(std::ldexp(1.0, -f.mantissa_bits), float32);
  Array out = round(size / unit) * unit;
  const double above = f.values == Values::finite            ? static_cast<double>(f.largest)
                       : f.values == Values::with_infinities ? std::numeric_limits<double>::infinity()
                                                             : std::numeric_limits<double>::quiet_NaN();
  out = where(out > number(static_cast<double>(f.largest), float32), number(above, float32), out);
  out = copysign(out, x);
  if (f.values == Values::no_negative_zero) out = where(out == number(0, float32), number(0, float32), out);
  return where(x == x, out, number(static_cast<double>(nan_of(f)), float32));
}

Array from_bits(const NarrowFormat& f, const Array& bits) {
  std::array<float, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(narrow_value(f, static_cast<std::uint8_t>(i)));
  const Array table = array_of_elements(values.data(), float32, 256, {256}, {}, {});
  return convert(take(table, convert(bits, int32)), f.wide);
}

Array to_bits(const NarrowFormat& f, const Array& x) {
  const Array mask = make_literal(Number((1 << f.bits) - 1), uint8);
  if (f.values == Values::integers) return (f.wide == uint8 ? x : bitcast_elements(x, uint8, {})) & mask;
  if (f.values == Values::powers) return convert(exponent_code(x), uint8);
  const Array size = abs(x), power = power_below(f, size);
  // How many of the smallest units, of numbers with the same exponent, and so many exponents above the least.
  const Array units = convert(size / power * number(std::ldexp(1.0, f.mantissa_bits), float32), uint32);
  const Array exponent =
      shift_right_logical(bitcast_elements(power, uint32, {}), bits_of(23)) - bits_of(static_cast<std::uint32_t>(128 - f.bias));
  Array code = (exponent << bits_of(static_cast<std::uint32_t>(f.mantissa_bits))) + units;
  code = where(size <= number(static_cast<double>(f.largest), float32), code, bits_of(f.infinity));
  const Array sign = shift_right_logical(bitcast_elements(x, uint32, {}), bits_of(31)) << bits_of(static_cast<std::uint32_t>(f.bits - 1));
  code = where(x == x, code | sign, bits_of(f.nan));
  if (f.values == Values::no_negative_zero) code = where(x == number(0, float32), bits_of(0), code);
  return convert(code, uint8);
}

}  // namespace weft::detail::mlir
