// Reflection of aggregates: their fields, as references and by name.
#pragma once
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/core/trees/field_bindings.h"

namespace weft::detail {

// What is declared here only to ask the compiler about it is never defined, also for types of an anonymous namespace.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif

// One conversion to everything counts the initialisers that an aggregate takes.
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
/// Of an empty base, also to make one.
template <class Owner>
struct EmptyBase {
  template <class B>
    requires(std::is_base_of_v<B, Owner> && !std::is_same_v<B, Owner> && std::is_empty_v<B>)
  operator B() const {
    return B();
  }
};
template <class T, std::size_t>
using repeat_t = T;
template <class T, std::size_t... I>
constexpr bool takes_initialisers(std::index_sequence<I...>) {
  return requires { T{repeat_t<AnyField<T>, I>{}...}; };
}
template <class T, std::size_t N>
inline constexpr bool takes = takes_initialisers<T>(std::make_index_sequence<N>());

/// More initialisers than this are not counted: an aggregate takes one for each element of a C array.
inline constexpr std::size_t max_initialisers = 1024;
inline constexpr std::size_t not_counted = ~std::size_t{0};
// An aggregate takes any number of initialisers from that of the last field that needs one to that of all fields.
template <class T, std::size_t N = 0>
constexpr std::size_t least_initialisers() {
  if constexpr (takes<T, N>)
    return N;
  else if constexpr (N < 4 * max_fields)
    return least_initialisers<T, N + 1>();
  return not_counted;
}
template <class T, std::size_t Taken, std::size_t Refused>
constexpr std::size_t most_initialisers_between() {
  constexpr std::size_t middle = Taken + (Refused - Taken) / 2;
  if constexpr (middle == Taken)
    return Taken;
  else if constexpr (takes<T, middle>)
    return most_initialisers_between<T, middle, Refused>();
  else
    return most_initialisers_between<T, Taken, middle>();
}
template <class T, std::size_t Taken, std::size_t Step = 1>
constexpr std::size_t most_initialisers() {
  if constexpr (Taken + Step > max_initialisers)
    return not_counted;
  else if constexpr (takes<T, Taken + Step>)
    return most_initialisers<T, Taken + Step, 2 * Step>();
  else
    return most_initialisers_between<T, Taken, Taken + Step>();
}
template <class T>
constexpr std::size_t count_initialisers() {
  constexpr std::size_t least = least_initialisers<T>();
  if constexpr (least != not_counted) return most_initialisers<T, least>();
  return not_counted;
}
template <class T>
inline constexpr std::size_t initialiser_count = count_initialisers<T>();

/// Whether T takes `Before` initialisers, then `{}` for one whole field, then `After` more.
template <class T, std::size_t... Before, std::size_t... After>
constexpr bool takes_braces(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { T{repeat_t<AnyField<T>, Before>{}..., {}, repeat_t<AnyField<T>, After>{}...}; };
}
template <class T, std::size_t Before, std::size_t After>
inline constexpr bool takes_braces_at = takes_braces<T>(std::make_index_sequence<Before>(), std::make_index_sequence<After>());
// Whether each initialiser is for one field: there is no brace elision between parentheses, and no initialiser for an array.
template <class T, std::size_t... I>
constexpr bool takes_fields(std::index_sequence<I...>) {
  return requires { T(repeat_t<AnyField<T>, I>{}...); };
}
/// How many initialisers the field takes that comes after `Before` initialisers: more than one for a C array of several elements.
template <class T, std::size_t Before, std::size_t Total, std::size_t N = 1>
constexpr std::size_t initialisers_of_field() {
  if constexpr (takes_braces_at<T, Before, Total - Before - N>)
    return N;
  else if constexpr (Before + N < Total)
    return initialisers_of_field<T, Before, Total, N + 1>();
  return 1;  // of a type that braces don't initialise
}
template <class T, std::size_t Before, std::size_t Total>
constexpr std::size_t fields_after() {
  if constexpr (Before < Total) return 1 + fields_after<T, Before + initialisers_of_field<T, Before, Total>(), Total>();
  return 0;
}
/// Empty bases, which are initialised before the fields.
template <class T, std::size_t... I>
constexpr bool takes_empty_bases(std::index_sequence<I...>) {
  return requires { T{repeat_t<EmptyBase<T>, I>{}...}; };
}
template <class T, std::size_t N = 0>
constexpr std::size_t count_empty_bases() {
  if constexpr (N < max_fields && takes_empty_bases<T>(std::make_index_sequence<N + 1>())) return count_empty_bases<T, N + 1>();
  return N;
}
struct AnythingElse {};  // from which a field is initialised that takes whatever it is given, as a std::any
template <class T>
inline constexpr bool has_base = requires { T{AnyBase<T>{}}; } && !requires { T{AnythingElse{}}; };
template <class T>
constexpr std::size_t empty_bases() {
  if constexpr (has_base<T>) return count_empty_bases<T>();
  return 0;
}
template <class T>
inline constexpr std::size_t empty_base_count = empty_bases<T>();
template <class T, std::size_t... Empty>
constexpr bool takes_base_after(std::index_sequence<Empty...>) {
  return requires { T{repeat_t<EmptyBase<T>, Empty>{}..., AnyBase<T>{}}; };
}
/// Whether an aggregate has a base with members, whose fields can't be bound together with its own.
template <class T>
constexpr bool has_full_base() {
  if constexpr (has_base<T>) return takes_base_after<T>(std::make_index_sequence<empty_base_count<T>>());
  return false;
}
template <class T>
constexpr std::size_t count_fields() {
  constexpr std::size_t n = initialiser_count<T>;
  if constexpr (n == not_counted || n == 0)
    return n;
  else if constexpr (takes_fields<T>(std::make_index_sequence<n>()))
    return n - empty_base_count<T>;
  else
    return fields_after<T, empty_base_count<T>, n>();
}
template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

/// The fields of an aggregate as a tuple of references.
template <class T>
constexpr auto fields_of(T& t) {
  using U = std::remove_const_t<T>;
  static_assert(!has_full_base<U>() && field_count<U> <= max_fields);
  return bind_members<field_count<U>, U>(t);
}

/// The compiler's spelling of a type, inside a longer text.
template <class T>
constexpr std::string_view spell_type() {
  return __PRETTY_FUNCTION__;
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
