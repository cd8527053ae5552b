#include "tools/fuzz/values.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "weft/core/array/host.h"
#include "weft/core/array/storage.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/runtime/host/buffer.h"

namespace weft::fuzz {

using namespace detail;

namespace {

template <class T>
T real_value(Random& r, Values values) {
  if (values == Values::special && r.chance(0.25)) {
    const double inf = std::numeric_limits<double>::infinity();
    return static_cast<T>(r.pick({0., -0., inf, -inf, std::nan(""), 1., -1., 0.5, 1e-41, -3e-320, 3e38, -6e4, 1e4, 1e-6, 255., -2.}));
  }
  return static_cast<T>(r.chance(0.1) ? r.between(-2, 2) : 3 * r.uniform() - 1.5);
}

template <class T>
T value_of(Random& r, Values values) {
  if constexpr (std::is_same_v<T, bool>) {
    return r.coin();
  } else if constexpr (is_complex_storage<T>) {
    using P = typename T::value_type;
    return T(real_value<P>(r, values), real_value<P>(r, values));
  } else if constexpr (is_floating_storage<T>) {
    return real_value<T>(r, values);
  } else {
    using L = std::numeric_limits<T>;
    if (r.chance(values == Values::special ? 0.3 : 0.02))
      return r.pick({L::min(), L::max(), static_cast<T>(L::max() / 2 + 1), static_cast<T>(r.bits())});
    return static_cast<T>(r.between(L::is_signed ? -6 : 0, 9));
  }
}

template <class P>
std::string text_of_real(P v) {
  const double d = static_cast<double>(v);
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  return d == std::floor(d) && std::abs(d) < 1e6 && !std::signbit(d) ? fmt::format("{}", static_cast<long>(d)) : fmt::format("{:a}", d);
}

double read_real(const char*& at) {
  char* end = nullptr;
  const double d = std::strtod(at, &end);
  if (end == at) throw Error(fmt::format("expected a number at `{:.20}`", at));
  at = end;
  return d;
}

}  // namespace

std::vector<std::byte> bytes_of(const Array& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.aval().bytes()));
  if (!bytes.empty()) std::memcpy(bytes.data(), host_data(x), bytes.size());
  return bytes;
}

Array random_value(const Aval& aval, Random& random, Values values) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(aval.bytes()));
  with_storage(aval.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      const T v = aval.dtype.is_key() ? static_cast<T>(random.bits()) : value_of<T>(random, values);
      std::memcpy(&bytes[i], &v, sizeof(T));
    }
  });
  return make_concrete({aval.shape, aval.dtype}, bytes.data());
}

std::string print_value(const Array& x) {
  std::string s = to_string(x.aval());
  const std::vector<std::byte> bytes = bytes_of(x);
  with_storage(x.dtype(), [&]<class T>() {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T v;
      std::memcpy(&v, &bytes[i], sizeof(T));
      if constexpr (is_complex_storage<T>)
        s += " " + text_of_real(v.real()) + " " + text_of_real(v.imag());
      else if constexpr (is_floating_storage<T>)
        s += " " + text_of_real(v);
      else
        s += fmt::format(" {}", static_cast<std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>>(v));
    }
  });
  return s;
}

Array parse_value(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string type(text.substr(0, space)), rest(text.substr(space));
  const Aval aval = parse("{ lambda ; a:" + type + ". let  in (a,) }").data().avals[0];
  std::vector<std::byte> bytes(static_cast<std::size_t>(aval.bytes()));
  const char* at = rest.c_str();
  with_storage(aval.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T v;
      if constexpr (is_complex_storage<T>) {
        const double re = read_real(at), im = read_real(at);
        v = T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
      } else if constexpr (is_floating_storage<T>) {
        v = static_cast<T>(read_real(at));
      } else {
        char* end = nullptr;
        v = static_cast<T>(std::is_unsigned_v<T> ? std::strtoull(at, &end, 10)
                                                 : static_cast<unsigned long long>(std::strtoll(at, &end, 10)));
        if (end == at) throw Error(fmt::format("expected an integer at `{:.20}`", at));
        at = end;
      }
      std::memcpy(&bytes[i], &v, sizeof(T));
    }
  });
  return make_concrete(aval, bytes.data());
}

}  // namespace weft::fuzz
