// Scalars in a Jaxpr's text, such that each keeps all its bits: `2.0`, `-0.0`, `nan`, `(1+2j)`, `True`.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "weft/core/array/storage.h"
#include "weft/core/base/decimal.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/text/text.h"

namespace weft::detail {
namespace {

template <class T>
struct BitsOf {
  using type = std::uint16_t;
};
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};
template <class T>
using bits_t = typename BitsOf<T>::type;

template <class T>
constexpr int mantissa_bits() {
  if constexpr (std::is_same_v<T, float>) return 23;
  if constexpr (std::is_same_v<T, double>) return 52;
  if constexpr (std::is_same_v<T, Float16>) return 10;
  return 7;
}
/// The one NaN that is written just `nan`: quiet, positive, no payload.
template <class T>
constexpr bits_t<T> plain_nan() {
  constexpr int m = mantissa_bits<T>();
  constexpr auto all = static_cast<bits_t<T>>(~bits_t<T>{0});
  return static_cast<bits_t<T>>((all >> 1 >> (m - 1)) << (m - 1));
}
template <class T>
constexpr bits_t<T> sign_bit() {
  return static_cast<bits_t<T>>(bits_t<T>{1} << (8 * sizeof(T) - 1));
}

template <class T>
std::string print_real(T v) {
  const double wide = static_cast<double>(v);
  if (!std::isnan(wide)) return print_double(wide);
  const auto bits = std::bit_cast<bits_t<T>>(v);
  std::string s = bits & sign_bit<T>() ? "-nan" : "nan";
  if ((bits & ~sign_bit<T>()) == plain_nan<T>()) return s;
  char hex[20];
  return s + "(0x" + std::string(hex, std::to_chars(hex, hex + sizeof hex, static_cast<std::uint64_t>(bits & ~sign_bit<T>()), 16).ptr) +
         ")";
}

/// Consumes `token` at the reader's position, whatever follows it.
bool take(ParamReader& r, std::string_view token) {
  if (r.text().substr(r.offset(), r.end() - r.offset()).substr(0, token.size()) != token) return false;
  r.seek(r.offset() + token.size());
  return true;
}
/// Consumes as much as is a number of type N; `base` is for integers.
template <class N>
N take_number(ParamReader& r, const char* expected, int base = 10) {
  const char* const begin = r.text().data() + r.offset();
  N v{};
  std::from_chars_result end;
  if constexpr (std::is_floating_point_v<N>)
    end = std::from_chars(begin, r.text().data() + r.end(), v);
  else
    end = std::from_chars(begin, r.text().data() + r.end(), v, base);
  if (end.ec == std::errc::invalid_argument) r.fail(std::string("expected ") + expected);
  if (end.ec == std::errc::result_out_of_range) {
    // C's function says whether a floating number is too large or too small.
    if constexpr (std::is_floating_point_v<N>)
      v = decimal_double(std::string(begin, end.ptr));
    else
      r.fail("the number " + std::string(begin, end.ptr) + " is out of range");
  }
  r.seek(static_cast<std::size_t>(end.ptr - r.text().data()));
  return v;
}

template <class T>
T read_real(ParamReader& r) {
  r.peek();
  const bool negative = take(r, "-");
  if (!negative) take(r, "+");
  if (!take(r, "nan")) {
    const double v = take_number<double>(r, "a number");
    return static_cast<T>(negative ? -v : v);
  }
  bits_t<T> bits = plain_nan<T>();
  if (take(r, "(0x")) {
    const auto value = take_number<std::uint64_t>(r, "hexadecimal digits", 16);
    bits = static_cast<bits_t<T>>(value & ~std::uint64_t{sign_bit<T>()});
    if (bits != value || !std::isnan(static_cast<double>(std::bit_cast<T>(bits)))) r.fail("expected the bits of a NaN");
    r.expect(")");
  }
  return std::bit_cast<T>(static_cast<bits_t<T>>(bits | (negative ? sign_bit<T>() : 0)));
}

/// A part of a complex number: as a float, but without the `.0` of whole numbers.
template <class T>
std::string print_part(T v) {
  std::string s = print_real(v);
  if (s.size() > 2 && s.compare(s.size() - 2, 2, ".0") == 0) s.resize(s.size() - 2);
  return s;
}

template <class T>
std::string print_complex(std::complex<T> z) {
  std::string re = print_part(z.real()), im = print_part(z.imag());
  if (z.real() == 0 && !std::signbit(z.real())) return im + "j";
  return "(" + re + (im[0] == '-' ? "" : "+") + im + "j)";
}

/// `a`, `bj`, or `(a+bj)`.
template <class T>
std::complex<T> read_complex(ParamReader& r) {
  const bool braced = r.accept("(");
  T re = read_real<T>(r), im = 0;
  if (take(r, "j")) {
    im = re, re = 0;
  } else if (r.looking_at("+") || r.looking_at("-")) {
    im = read_real<T>(r);
    if (!take(r, "j")) r.fail("expected the imaginary part of a complex number");
  }
  if (braced) r.expect(")");
  return {re, im};
}

template <class T>
T read_integer(ParamReader& r) {
  r.peek();
  return take_number<T>(r, "an integer");
}

}  // namespace

std::string print_literal(const Literal& literal) {
  const StandardFloats floats;
  return with_storage(literal.aval.dtype, [&]<class T>() -> std::string {
    T v;
    std::memcpy(&v, literal.bits.data(), sizeof v);
    if constexpr (std::is_same_v<T, bool>)
      return v ? "True" : "False";
    else if constexpr (is_complex_storage<T>)
      return print_complex(v);
    else if constexpr (is_floating_storage<T>)
      return print_real(v);
    else
      return std::to_string(v);
  });
}

Literal read_literal(ParamReader& r, const Aval& aval) {
  if (!aval.shape.empty()) r.fail("a literal is a scalar; an array must be an input or a constant");
  Literal out{aval, {}};
  with_storage(aval.dtype, [&]<class T>() {
    T v{};
    if constexpr (std::is_same_v<T, bool>)
      v = r.read_bool();
    else if constexpr (is_complex_storage<T>)
      v = read_complex<typename T::value_type>(r);
    else if constexpr (is_floating_storage<T>)
      v = read_real<T>(r);
    else
      v = read_integer<T>(r);
    std::memcpy(out.bits.data(), &v, sizeof v);
  });
  return out;
}

}  // namespace weft::detail
