#pragma once
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft::detail {

// What is declared here only to ask the compiler about it is never defined, also for types of an anonymous namespace.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif

// One conversion to everything counts the initialisers that an aggregate takes. Not constexpr: it is never defined.
template <class Owner>
struct AnyField {
  template <class T>
    requires(!std::is_same_v<T, Owner>)
  operator T() const;
};
template <class Owner>
struct AnyBase {
  template <class B>
    requires(std::is_base_of_v<B, Owner> && !std::is_same_v<B, Owner>)
  operator B() const;
};
template <class T, std::size_t>
using repeat_t = T;
template <class T, std::size_t... I>
constexpr bool takes_initialisers(std::index_sequence<I...>) {
  return requires { T{repeat_t<AnyField<T>, I>{}...}; };
}
inline constexpr std::size_t max_fields = 16;
template <class T, std::size_t N = max_fields + 1>
constexpr std::size_t count_fields() {
  if constexpr (N == 0)
    return 0;
  else if constexpr (takes_initialisers<T>(std::make_index_sequence<N>{}))
    return N;
  else
    return count_fields<T, N - 1>();
}
template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

// The fields of an aggregate as a tuple of references.
template <class T>
constexpr auto fields_of(T& t) {
  using U = std::remove_const_t<T>;
  constexpr std::size_t n = field_count<U>;
  static_assert(n <= max_fields, "weft: a pytree struct has at most 16 fields; use WEFT_PYTREE(Type, fields...) for more");
  static_assert(!requires { U{AnyBase<U>{}}; }, "weft: a pytree struct has no base class; use WEFT_PYTREE(Type, fields...)");
  if constexpr (n == 0) {
    return std::tie();
  } else if constexpr (n == 1) {
    auto& [a] = t;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = t;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = t;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = t;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = t;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = t;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = t;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = t;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = t;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o);
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q);
  }
}

// The fields' names, for messages, without a macro: a pointer to a member of an object that is declared only is a constant, and
// __PRETTY_FUNCTION__ spells it (g++: `& fake<Layer>.Fake<Layer>::value.Layer::w`, clang: `&fake.value.w`).
template <class T>
struct Fake {
  const T value;
};
template <class T>
extern const Fake<T> fake;
template <auto Member>
constexpr const char* spell() {
  return __PRETTY_FUNCTION__;
}
constexpr std::string_view last_word(std::string_view s) {
  auto in_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  std::size_t end = s.size();
  while (end > 0 && !in_word(s[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && in_word(s[begin - 1])) --begin;
  return s.substr(begin, end - begin);
}
template <class T, std::size_t I>
constexpr const auto* member_of_fake() {
  return &std::get<I>(fields_of(fake<T>.value));
}
template <class T, std::size_t I>
inline constexpr std::string_view field_name = last_word(spell<member_of_fake<T, I>()>());
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace weft::detail
