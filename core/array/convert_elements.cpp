#include "weft/core/array/convert_elements.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "weft/core/array/storage.h"
#include "weft/core/base/float_environment.h"

namespace weft::detail {
namespace {

template <class To, class From>
To convert_one(From v) {
  if constexpr (is_complex_storage<To>) {
    using Part = typename To::value_type;
    if constexpr (is_complex_storage<From>)
      return To(static_cast<Part>(v.real()), static_cast<Part>(v.imag()));
    else
      return To(static_cast<Part>(v), 0);
  } else if constexpr (is_complex_storage<From>) {
    if constexpr (std::is_same_v<To, bool>)
      return v.real() != 0 || v.imag() != 0;
    else
      return convert_one<To>(v.real());
  } else if constexpr (std::is_same_v<To, bool>) {
    if constexpr (is_floating_storage<From>)
      return static_cast<double>(v) != 0;
    else
      return v != 0;
  } else if constexpr (is_floating_storage<From> && std::is_integral_v<To>) {
    const double d = static_cast<double>(v);
    constexpr double lo = static_cast<double>(std::numeric_limits<To>::min()), hi = static_cast<double>(std::numeric_limits<To>::max());
    if (std::isnan(d)) return 0;
    if (d <= lo) return std::numeric_limits<To>::min();
    // hi may have been rounded up to a power of two that To cannot hold.
    if (d >= hi) return std::numeric_limits<To>::max();
    return static_cast<To>(d);
  } else if constexpr (std::is_same_v<To, float> && std::is_integral_v<From>) {
    return static_cast<float>(v);  // one rounding, not two by way of double
  } else if constexpr (is_floating_storage<To>) {
    return static_cast<To>(static_cast<double>(v));
  } else {
    return static_cast<To>(v);
  }
}

template <class From, class To>
void convert_all(const void* from, void* to, std::int64_t n) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(To));
  } else {
    const From* in = static_cast<const From*>(from);
    To* out = static_cast<To*>(to);
    for (std::int64_t i = 0; i < n; ++i) out[i] = convert_one<To>(in[i]);
  }
}

}  // namespace

void convert_elements(const void* from, DType from_dtype, void* to, DType to_dtype, std::int64_t n) {
  if (n == 0) return;
  const StandardFloats floats;
  with_storage(from_dtype, [&]<class From>() { with_storage(to_dtype, [&]<class To>() { convert_all<From, To>(from, to, n); }); });
}

}  // namespace weft::detail
