// Arrays as NumPy 2.4 prints them with str(): aligned columns, the fewest digits that identify a number of the dtype (at most 8 behind
// the point), exponents where the magnitudes ask for them, `...` in place of the middle of more than 1000 elements.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <ostream>
#include <tuple>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/format.h"
#include "weft/core/array/storage.h"
#include "weft/core/base/decimal.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/text/text.h"

namespace weft::detail {
namespace {

constexpr std::size_t kLineWidth = 75;
constexpr std::int64_t kThreshold = 1000, kEdge = 3;
constexpr int kPrecision = 8;

std::string to_text(double v, std::chars_format format, int precision) {
  char buffer[400];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, format, precision).ptr);
}
void trim_zeros(std::string& s) {
  while (!s.empty() && s.back() == '0') s.pop_back();
}

/// A nonnegative finite number in decimal: 0.d1 d2 d3... times 10^point, with no zeros at the end.
struct Decimal {
  std::string digits;
  int point;
};
Decimal parse_scientific(const std::string& s) {
  const std::size_t e = s.find('e');
  Decimal d{s.substr(0, 1), std::stoi(s.substr(e + 1)) + 1};
  if (e > 2) d.digits += s.substr(2, e - 2);
  trim_zeros(d.digits);
  return d;
}
bool gives_back_half(const std::string& s, double v) { return static_cast<double>(Float16(decimal_double(s))) == v; }
/// A float16 with the given number of digits behind the point. Below a power of two the numbers are closer than above it, so that the
/// nearest decimal may be another number's where the next larger one is not.
std::string half_scientific(double v, int digits) {
  const std::string nearest = to_text(v, std::chars_format::scientific, digits);
  if (gives_back_half(nearest, v)) return nearest;
  const double step = decimal_double("1" + nearest.substr(nearest.find('e'))) * std::pow(10., -digits);
  const std::string larger = to_text(decimal_double(nearest) + step, std::chars_format::scientific, digits);
  return gives_back_half(larger, v) ? larger : nearest;
}
/// The fewest digits that give back the value of the dtype.
Decimal shortest(double v, DType dtype) {
  char buffer[40];
  if (dtype == float64)
    return parse_scientific(std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr));
  if (dtype == float32)
    return parse_scientific(
        std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(v), std::chars_format::scientific).ptr));
  for (int digits = 0;; ++digits) {
    const std::string s = half_scientific(v, digits);
    if (gives_back_half(s, v)) return parse_scientific(s);
  }
}

/// `int.frac` with at most kPrecision digits behind the point; for v >= 0.
std::pair<std::string, std::string> positional(double v, DType dtype, int max_digits = kPrecision) {
  const Decimal d = shortest(v, dtype);
  const int n = static_cast<int>(d.digits.size());
  if (n - d.point > max_digits) {
    // The exact value is rounded, not the shortest digits.
    const std::string s = to_text(v, std::chars_format::fixed, max_digits);
    std::string frac = s.substr(s.find('.') + 1);
    trim_zeros(frac);
    return {s.substr(0, s.find('.')), frac};
  }
  if (n == 0) return {"0", ""};
  if (d.point <= 0) return {"0", std::string(static_cast<std::size_t>(-d.point), '0') + d.digits};
  const auto whole = static_cast<std::size_t>(d.point);
  if (n <= d.point) return {d.digits + std::string(whole - d.digits.size(), '0'), ""};
  return {d.digits.substr(0, whole), d.digits.substr(whole)};
}

/// `d.ddd` and the exponent.
struct Scientific {
  std::string whole, frac;
  int exponent;
};
Scientific split_scientific(const std::string& s) {
  const std::size_t e = s.find('e');
  return {s.substr(0, 1), e > 2 ? s.substr(2, e - 2) : "", std::stoi(s.substr(e + 1))};
}
std::string exponent_text(int exponent, std::size_t digits) {
  const std::string s = std::to_string(std::abs(exponent));
  return (exponent < 0 ? "e-" : "e+") + std::string(digits > s.size() ? digits - s.size() : 0, '0') + s;
}
std::string sign_of(double v, bool plus) { return std::signbit(v) ? "-" : plus ? "+" : ""; }

/// Formats the numbers of an array alike.
class FloatFormat {
 public:
  FloatFormat(const std::vector<double>& data, DType dtype, bool plus) : dtype_(dtype), plus_(plus) {
    std::vector<double> finite;
    std::copy_if(data.begin(), data.end(), std::back_inserter(finite), [](double v) { return std::isfinite(v); });
    choose_mode(finite);
    for (const double v : finite) measure(v);
    if (exponent_mode_) right_ = exponent_digits_ + 2 + precision_;
    if (finite.size() == data.size()) return;
    const bool negative_infinity = plus || std::any_of(data.begin(), data.end(), [](double v) { return std::isinf(v) && v < 0; });
    const std::size_t room = right_ + 1, need = 3 + (negative_infinity ? 1 : 0);
    if (need > room) left_ = std::max(left_, need - room);
  }

  std::string operator()(double v) const {
    if (!std::isfinite(v)) {
      const std::string s = std::isnan(v) ? (plus_ ? "+nan" : "nan") : sign_of(v, plus_) + "inf";
      const std::size_t width = left_ + right_ + 1;
      return std::string(width > s.size() ? width - s.size() : 0, ' ') + s;
    }
    std::string whole, rest;
    if (exponent_mode_) {
      const Scientific s = split_scientific(scientific(std::abs(v), static_cast<int>(precision_)));
      whole = s.whole;
      rest = s.frac + exponent_text(s.exponent, exponent_digits_);
    } else {
      std::tie(whole, rest) = positional(std::abs(v), dtype_);
      rest.resize(std::max(rest.size(), right_), ' ');
    }
    whole = sign_of(v, plus_) + whole;
    return std::string(left_ > whole.size() ? left_ - whole.size() : 0, ' ') + whole + "." + rest;
  }

 private:
  void choose_mode(const std::vector<double>& finite) {
    double largest = 0, smallest = 0;
    for (const double v : finite) {
      const double m = std::abs(v);
      if (m == 0) continue;
      largest = std::max(largest, m);
      smallest = smallest == 0 ? m : std::min(smallest, m);
    }
    if (largest == 0) return;
    // In the arithmetic of the dtype, as NumPy compares.
    const double limit = dtype_ == float16 ? 1e3 : dtype_ == float32 ? 1e6 : 1e8;
    const double tiny = dtype_ == float16 ? static_cast<double>(Float16(1e-4)) : dtype_ == float32 ? static_cast<double>(1e-4f) : 1e-4;
    double ratio = largest / smallest;
    if (dtype_ == float16) ratio = static_cast<double>(Float16(ratio));
    if (dtype_ == float32) ratio = static_cast<double>(static_cast<float>(largest) / static_cast<float>(smallest));
    exponent_mode_ = largest >= limit || smallest < tiny || ratio > 1000;
  }
  void measure(double v) {
    std::string whole;
    std::size_t frac = 0;
    if (exponent_mode_) {
      const Decimal d = shortest(std::abs(v), dtype_);
      Scientific s = split_scientific(scientific(std::abs(v), std::clamp(static_cast<int>(d.digits.size()) - 1, 0, kPrecision)));
      trim_zeros(s.frac);
      whole = s.whole;
      frac = s.frac.size();
      exponent_digits_ = std::max(exponent_digits_, exponent_text(s.exponent, 2).size() - 2);
      precision_ = std::max(precision_, frac);
    } else {
      const auto [w, f] = positional(std::abs(v), dtype_);
      whole = w, frac = f.size();
    }
    left_ = std::max(left_, whole.size() + sign_of(v, plus_).size());
    right_ = std::max(right_, frac);
  }

  std::string scientific(double v, int digits) const {
    return dtype_ == float16 ? half_scientific(v, digits) : to_text(v, std::chars_format::scientific, digits);
  }

  DType dtype_;
  bool plus_;
  bool exponent_mode_ = false;
  std::size_t left_ = 0, right_ = 0, precision_ = 0, exponent_digits_ = 0;
};

/// A number that is alone, as NumPy writes a scalar; `part`: of a complex number, which has no `.0`.
std::string scalar_text(double v, DType dtype, bool part) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const double magnitude = std::abs(v), limit = dtype == float16 ? 1e3 : dtype == float32 ? 1e6 : 1e16;
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < limit)) {
    const auto [whole, frac] = positional(magnitude, dtype, 100);
    return sign_of(v, false) + whole + (frac.empty() ? (part ? "" : ".0") : "." + frac);
  }
  const Decimal d = shortest(magnitude, dtype);
  return sign_of(v, false) + d.digits.substr(0, 1) + (d.digits.size() > 1 ? "." + d.digits.substr(1) : "") + exponent_text(d.point - 1, 2);
}
std::string complex_scalar_text(std::complex<double> z, DType part) {
  const std::string im = scalar_text(z.imag(), part, true) + "j";
  if (z.real() == 0 && !std::signbit(z.real())) return im;
  return "(" + scalar_text(z.real(), part, true) + (im[0] == '-' ? "" : "+") + im + ")";
}
/// As C's %g: how bfloat16's scalar type prints.
std::string short_text(double v) {
  if (std::isnan(v)) return "nan";
  char buffer[40];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::general, 6).ptr);
}

/// The texts of all elements that are shown, and how they are laid out.
class ArrayPrinter {
 public:
  ArrayPrinter(const Shape& shape, const std::byte* data, DType dtype, std::string_view spec = {})
      : shape_(shape), strides_(row_major_strides(shape)), summary_(shape.num_elements() > kThreshold) {
    collect(0, 0);
    words_.resize(shown_.size());
    with_storage(dtype, [&]<class T>() {
      if (spec.empty())
        format_elements(reinterpret_cast<const T*>(data), dtype);
      else
        format_by(spec, reinterpret_cast<const T*>(data));
    });
  }
  std::string text() {
    next_word_ = 0;
    return level(0, " ", kLineWidth);
  }

 private:
  /// The indices along an axis that are shown; -1 means `...`.
  std::vector<std::int64_t> shown_along(int axis) const {
    std::vector<std::int64_t> out;
    const std::int64_t n = shape_[axis];
    for (std::int64_t i = 0; i < n; ++i) {
      if (summary_ && n > 2 * kEdge && i == kEdge) {
        out.push_back(-1);
        i = n - kEdge;
      }
      out.push_back(i);
    }
    return out;
  }
  void collect(int axis, std::int64_t offset) {
    if (axis == shape_.size()) {
      shown_.push_back(offset);
      return;
    }
    for (const std::int64_t i : shown_along(axis))
      if (i >= 0) collect(axis + 1, offset + i * strides_[static_cast<std::size_t>(axis)]);
  }

  /// Each element by the format; columns are aligned.
  template <class T>
  void format_by(std::string_view spec, const T* data) {
    const std::string one = "{:" + std::string(spec) + "}";
    const auto text = [&](const auto& v) { return fmt::vformat(one, fmt::make_format_args(v)); };
    // A format of floats is good for integers too.
    const bool as_float = std::string_view("aAeEfFgG").find(spec.back()) != std::string_view::npos;
    std::size_t width = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const T v = data[shown_[i]];
      if constexpr (is_complex_storage<T>) {
        const std::string imaginary = text(v.imag());
        words_[i] = text(v.real()) + (imaginary[0] == '-' || imaginary[0] == '+' ? "" : "+") + imaginary + "j";
      } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool>) {
        words_[i] = text(v);
      } else if constexpr (is_floating_storage<T>) {
        words_[i] = text(static_cast<float>(v));
      } else {
        words_[i] = as_float ? text(static_cast<double>(v))
                             : text(static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(v));
      }
      width = std::max(width, words_[i].size());
    }
    for (std::string& w : words_) w.insert(0, width - w.size(), ' ');
  }
  template <class T>
  void format_elements(const T* data, DType dtype) {
    auto element = [&](std::size_t i) { return data[shown_[i]]; };
    auto reals = [&](auto&& part) {
      std::vector<double> out;
      for (std::size_t i = 0; i < shown_.size(); ++i) out.push_back(static_cast<double>(part(element(i))));
      return out;
    };
    const bool scalar = shape_.empty();
    if constexpr (std::is_same_v<T, bool>) {
      for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = element(i) ? (scalar ? "True" : " True") : "False";
    } else if constexpr (is_complex_storage<T>) {
      const std::vector<double> re = reals([](T v) { return v.real(); }), im = reals([](T v) { return v.imag(); });
      if (scalar) {
        words_[0] = complex_scalar_text({re[0], im[0]}, dtype.real_part());
        return;
      }
      const FloatFormat real(re, dtype.real_part(), false), imaginary(im, dtype.real_part(), true);
      for (std::size_t i = 0; i < words_.size(); ++i) {
        std::string s = imaginary(im[i]);
        s.insert(s.find_last_not_of(' ') + 1, "j");
        words_[i] = real(re[i]) + s;
      }
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = short_text(static_cast<double>(element(i)));
    } else if constexpr (is_floating_storage<T>) {
      const std::vector<double> values = reals([](T v) { return v; });
      if (scalar) {
        words_[0] = scalar_text(values[0], dtype, false);
        return;
      }
      const FloatFormat format(values, dtype, false);
      for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = format(values[i]);
    } else {
      std::size_t width = 0;
      for (std::size_t i = 0; i < words_.size(); ++i) width = std::max(width, (words_[i] = std::to_string(element(i))).size());
      for (std::string& w : words_) w.insert(0, width - w.size(), ' ');
    }
  }

  std::string level(int axis, const std::string& indent, std::size_t width) {
    if (axis == shape_.size()) return words_[next_word_++];
    const bool row = axis == shape_.size() - 1;
    const std::string gap(row ? 0 : static_cast<std::size_t>(shape_.size() - 1 - axis), '\n');
    std::string s, line = indent;
    bool first = true;
    for (const std::int64_t i : shown_along(axis)) {
      if (!row) {
        s += (first ? "" : gap) + indent + (i < 0 ? "..." : level(axis + 1, indent + " ", width - 1));
      } else {
        if (!first) line += ' ';
        const std::string word = i < 0 ? "..." : words_[next_word_++];
        if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
          line.resize(line.find_last_not_of(' ') + 1);
          s += line + "\n";
          line = indent;
        }
        line += word;
      }
      first = false;
    }
    if (row) s += line;
    return "[" + s.substr(indent.size()) + "]";
  }

  const Shape& shape_;
  std::vector<std::int64_t> strides_;
  bool summary_;
  std::vector<std::int64_t> shown_;
  std::vector<std::string> words_;
  std::size_t next_word_ = 0;
};

}  // namespace

std::string formatted(const Array& x, std::string_view format) {
  const StandardFloats floats;
  if (x.is_empty_handle()) return "<empty>";
  if (x.impl()->kind == ArrayImpl::Kind::traced) return "Traced<" + to_string(x.aval()) + ">";
  if (x.impl()->kind == ArrayImpl::Kind::abstract) return "Abstract<" + to_string(x.aval()) + ">";
  if (x.size() == 0) return "[]";
  std::vector<std::byte> data(static_cast<std::size_t>(x.aval().bytes()));
  read_elements(x, x.dtype(), data.data(), "print", {});
  if (x.dtype().is_key())
    return "Array(" + to_string(x.shape()) + ", dtype=key<fry>) overlaying:\n" +
           ArrayPrinter(x.shape().inserted(x.ndim(), 2), data.data(), uint32).text();
  return ArrayPrinter(x.shape(), data.data(), x.dtype(), format).text();
}

std::string padded(std::string_view text, std::string_view format) {
  return fmt::format(fmt::runtime("{:" + std::string(format) + "}"), fmt::string_view(text.data(), text.size()));
}

std::string array_text(const Array& x) { return formatted(x, {}); }

}  // namespace weft::detail

namespace weft {
std::ostream& operator<<(std::ostream& os, const Array& x) { return os << detail::array_text(x); }
std::ostream& operator<<(std::ostream& os, const Shape& shape) { return os << detail::to_string(shape); }
std::ostream& operator<<(std::ostream& os, DType dtype) { return os << dtype.name(); }
std::ostream& operator<<(std::ostream& os, const ShapeDtypeStruct& type) { return os << detail::to_string(type); }
}  // namespace weft
