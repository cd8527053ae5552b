#include "weft/runtime/host/nan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/core/array/storage.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/ops/control/callback.h"
#include "weft/core/text/text.h"

namespace weft::detail {
namespace {

using Flags = unsigned char;
constexpr Flags kNan = 1, kInfinite = 2;

template <class T>
Flags flags_of(const T& v) {
  if constexpr (is_complex_storage<T>) {
    return static_cast<Flags>(flags_of(v.real()) | flags_of(v.imag()));
  } else if constexpr (is_floating_storage<T>) {
    const double wide = static_cast<double>(v);
    return std::isnan(wide) ? kNan : std::isinf(wide) ? kInfinite : Flags{0};
  } else {
    return 0;
  }
}

/// The flags of each element.
std::vector<Flags> all_flags(const HostTensor& x) {
  std::vector<Flags> flags(static_cast<std::size_t>(x.aval.size()));
  with_storage(x.aval.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = flags_of(x.as<const T>()[i]);
  });
  return flags;
}
Flags any_flags(const HostTensor& x) {
  Flags all = 0;
  with_storage(x.aval.dtype, [&]<class T>() {
    const std::int64_t n = x.aval.size();
    for (std::int64_t i = 0; i < n && all != (kNan | kInfinite); ++i) all |= flags_of(x.as<const T>()[i]);
  });
  return all;
}

std::string element_text(const HostTensor& x, std::int64_t i) {
  Literal literal{x.aval.with_shape({}), {}};
  const auto size = static_cast<std::ptrdiff_t>(x.aval.dtype.itemsize());
  std::copy_n(x.as<const std::byte>() + i * size, size, literal.bits.begin());
  const std::string text = print_literal(literal);
  return text.rfind("-nan", 0) == 0 ? text.substr(1) : text;  // a NaN's sign means nothing
}
std::string position_text(const Shape& shape, std::int64_t i) {
  std::string s;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  for (int d = 0; d < shape.size(); ++d) {
    const std::int64_t stride = strides[static_cast<std::size_t>(d)];
    s += (d ? ", " : "") + std::to_string(i / stride);
    i %= stride;
  }
  return s;
}

[[noreturn]] void report(const Primitive& op, std::span<const HostTensor> in, const HostTensor& out, std::int64_t at, SourceLoc loc) {
  std::string message = fmt::format("{}: makes {}", op.name, element_text(out, at));
  if (out.aval.ndim() > 0) message += fmt::format(", element [{}] of {}", position_text(out.aval.shape, at), to_string(out.aval));
  const bool here =
      std::all_of(in.begin(), in.end(), [&](const HostTensor& x) { return x.aval.shape == out.aval.shape || x.aval.size() == 1; });
  for (std::size_t k = 0; k < in.size(); ++k) {
    message += k ? ", " : " out of ";
    message += here ? element_text(in[k], in[k].aval.size() == 1 ? 0 : at) : to_string(in[k].aval);
  }
  if (const std::string where = callback_label(); !where.empty()) message += " on " + where;
  Error error(message + " (config.debug_nans is on)", loc);
  ErrorContext::concern_equation(error);
  throw error;
}

}  // namespace

void check_made_finite(const Primitive& op, std::span<const HostTensor> in, std::span<const HostTensor> out, SourceLoc loc) {
  for (const HostTensor& result : out) {
    if (!result.aval.dtype.is_inexact() || any_flags(result) == 0) continue;
    std::vector<Flags> made = all_flags(result);
    for (const HostTensor& x : in) {
      if (!x.aval.dtype.is_inexact()) continue;
      if (op.kind == Kind::elementwise && x.aval.shape == result.aval.shape) {
        const std::vector<Flags> had = all_flags(x);
        for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<Flags>(made[i] & ~had[i]);
      } else if (const Flags had = any_flags(x); had != 0) {
        for (Flags& m : made) m = static_cast<Flags>(m & ~had);
      }
    }
    const auto first = std::find_if(made.begin(), made.end(), [](Flags f) { return f != 0; });
    if (first != made.end()) report(op, in, result, first - made.begin(), loc);
  }
}

}  // namespace weft::detail
