// Types, attributes and constants as MLIR writes them (see writer.h).
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <cstring>

#include "weft/core/array/storage.h"
#include "weft/core/base/decimal.h"
#include "weft/frontends/stablehlo/export/writer.h"

namespace weft::detail::mlir {
namespace {

/// The bits of a float as an unsigned integer.
template <class T>
std::uint64_t bits_of(T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

/// A decimal number where a short one is exactly this float, whatever precision it is read in; else its bits.
template <class T>
std::string float_text(T v) {
  const auto value = static_cast<double>(v);
  if (std::isfinite(value))
    if (std::string decimal = fmt::format("{:.6e}", value); decimal_double(decimal) == value) return decimal;
  return fmt::format("0x{:0{}X}", bits_of(v), 2 * sizeof v);
}

template <class T>
std::string element_text(T v) {
  if constexpr (is_complex_storage<T>)
    return "(" + float_text(v.real()) + ", " + float_text(v.imag()) + ")";
  else if constexpr (std::is_same_v<T, bool>)
    return v ? "true" : "false";
  else if constexpr (is_floating_storage<T>)
    return float_text(v);
  else
    return fmt::format("{}", v);
}

/// Elements in brackets, one pair for each dimension.
template <class T>
std::string nested_text(const unsigned char*& at, const Shape& shape, int d) {
  if (d == shape.size()) {
    T v;
    std::memcpy(&v, at, sizeof v);
    at += sizeof v;
    return element_text(v);
  }
  std::string s = "[";
  for (std::int64_t i = 0; i < shape[d]; ++i) s += (i ? ", " : "") + nested_text<T>(at, shape, d + 1);
  return s + "]";
}

}  // namespace

std::string type_text(DType dtype) {
  if (dtype.is_bool()) return "i1";
  if (dtype.is_key()) return "ui64";
  if (dtype.is_complex()) return fmt::format("complex<f{}>", 4 * dtype.itemsize());
  if (dtype.is_integer()) return fmt::format("{}i{}", dtype.is_unsigned() ? "u" : "", 8 * dtype.itemsize());
  return std::string(dtype.short_name());
}

std::string type_text(const Aval& aval) {
  std::string s = "tensor<";
  for (const std::int64_t n : aval.shape) s += fmt::format("{}x", n);
  return s + type_text(aval.dtype) + ">";
}

std::string function_type(std::span<const Aval> in, std::span<const Aval> out) {
  auto listed = [](std::span<const Aval> avals) {
    std::string s;
    for (const Aval& a : avals) s += (s.empty() ? "" : ", ") + type_text(a);
    return s;
  };
  return "(" + listed(in) + ") -> " + (out.size() == 1 ? listed(out) : "(" + listed(out) + ")");
}
std::vector<Aval> avals_of(const Names& names) {
  std::vector<Aval> out;
  for (const Name& n : names) out.push_back(n.aval);
  return out;
}
std::string function_type(const Names& in, std::span<const Aval> out) { return function_type(avals_of(in), out); }

std::string list_text(std::span<const std::int64_t> values) { return fmt::format("{}", fmt::join(values, ", ")); }
std::string list_text(const std::vector<int>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

std::string attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  return fmt::format("{} = array<i64{}{}>", name, values.empty() ? "" : ": ", list_text(values));
}
std::string attribute(std::string_view name, const std::vector<int>& values) {
  return attribute(name, std::vector<std::int64_t>(values.begin(), values.end()));
}
std::string attribute(std::string_view name, const Shape& values) {
  return attribute(name, std::vector<std::int64_t>(values.begin(), values.end()));
}
std::string attribute(std::string_view name, std::int64_t value) { return fmt::format("{} = {} : i64", name, value); }

std::string matrix_attribute(std::string_view name, const std::vector<std::vector<std::int64_t>>& rows, std::size_t columns) {
  std::string s;
  for (const std::vector<std::int64_t>& r : rows) s += (s.empty() ? "[" : ", [") + list_text(r) + "]";
  const bool none = rows.empty() || columns == 0;
  return fmt::format("{} = dense<{}> : tensor<{}x{}xi64>", name, none ? "" : "[" + s + "]", rows.size(), columns);
}

std::string quoted(std::string_view text) {
  std::string s = "\"";
  for (const char ch : text) {
    const auto byte = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\' || byte < 0x20 || byte == 0x7f)
      s += fmt::format("\\{:02X}", byte);
    else
      s += ch;
  }
  return s + "\"";
}

std::string symbol(const std::string& name) {
  bool plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9') && name[0] != '.' && name[0] != '$';
  for (const char ch : name)
    plain =
        plain && ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' || ch == '$');
  return "@" + (plain ? name : quoted(name));
}

std::string dense_text(const void* elements, const Aval& aval) {
  constexpr std::int64_t kMostListed = 64;
  const std::int64_t n = aval.size();
  if (n == 0) return "dense<>";
  return with_storage(aval.dtype, [&]<class T>() -> std::string {
    const auto* at = static_cast<const unsigned char*>(elements);
    bool splat = true;
    for (std::int64_t i = 1; splat && i < n; ++i) splat = std::memcmp(at, at + static_cast<std::size_t>(i) * sizeof(T), sizeof(T)) == 0;
    if (splat) {
      const Shape scalar;
      return "dense<" + nested_text<T>(at, scalar, 0) + ">";
    }
    if (n <= kMostListed || std::is_same_v<T, bool>) return "dense<" + nested_text<T>(at, aval.shape, 0) + ">";
    std::string digits;
    digits.reserve(static_cast<std::size_t>(n) * sizeof(T) * 2);
    constexpr char kDigits[] = "0123456789ABCDEF";
    for (std::size_t i = 0; i < static_cast<std::size_t>(n) * sizeof(T); ++i) digits += kDigits[at[i] >> 4], digits += kDigits[at[i] & 15];
    return "dense<\"0x" + digits + "\">";
  });
}

}  // namespace weft::detail::mlir
