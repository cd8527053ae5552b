// Which C++ types are trees of arrays, and what a transformed function sees of them.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/array.h"
#include "core/reflect.h"

/// Written inside a class that is no aggregate, or has more than 16 fields: makes it a pytree of the named fields.
#define WEFT_PYTREE(Type, ...)                                             \
  auto weft_fields() { return std::tie(__VA_ARGS__); }                     \
  auto weft_fields() const { return std::tie(__VA_ARGS__); }               \
  static constexpr const char* weft_field_names() { return #__VA_ARGS__; } \
  static constexpr const char* weft_type_name() { return #Type; }

namespace weft::detail {

template <class T>
concept Registered = requires(T& t) { t.weft_fields(); };

// Std containers of pytrees, and how to rebuild one over other elements.
template <class T>
struct Container : std::false_type {};
template <class... T>
struct Container<std::tuple<T...>> : std::true_type {
  template <template <class> class M>
  using map = std::tuple<M<T>...>;
  template <template <class> class P>
  static constexpr bool any = (P<T>::value || ... || false);
};
template <class A, class B>
struct Container<std::pair<A, B>> : std::true_type {
  template <template <class> class M>
  using map = std::pair<M<A>, M<B>>;
  template <template <class> class P>
  static constexpr bool any = P<A>::value || P<B>::value;
};
template <class T>
struct Container<std::vector<T>> : std::true_type {
  template <template <class> class M>
  using map = std::vector<M<T>>;
  template <template <class> class P>
  static constexpr bool any = P<T>::value;
};
template <class T, std::size_t N>
struct Container<std::array<T, N>> : std::true_type {
  template <template <class> class M>
  using map = std::array<M<T>, N>;
  template <template <class> class P>
  static constexpr bool any = P<T>::value;
};
template <class T>
struct Container<std::map<std::string, T>> : std::true_type {
  template <template <class> class M>
  using map = std::map<std::string, M<T>>;
  template <template <class> class P>
  static constexpr bool any = P<T>::value;
};
template <class T>
struct Container<std::optional<T>> : std::true_type {
  template <template <class> class M>
  using map = std::optional<M<T>>;
  template <template <class> class P>
  static constexpr bool any = P<T>::value;
};
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;

/// Whether a T can hold an Array: only such types are traced, all others are static.
template <class T>
struct HasArrays;
template <class Tuple>
struct AnyFieldHasArrays;
template <class... T>
struct AnyFieldHasArrays<std::tuple<T&...>> : std::bool_constant<(HasArrays<std::remove_const_t<T>>::value || ... || false)> {};
template <class T>
struct HasArrays {
  static constexpr bool compute() {
    if constexpr (std::is_same_v<T, Array> || std::is_same_v<T, ShapeDtypeStruct>)
      return true;
    else if constexpr (!std::is_class_v<T> || std::is_empty_v<T>)
      return false;
    else if constexpr (Container<T>::value)
      return Container<T>::template any<HasArrays>;
    else if constexpr (Registered<T>)
      return AnyFieldHasArrays<decltype(std::declval<T&>().weft_fields())>::value;
    else if constexpr (std::is_aggregate_v<T>)
      return AnyFieldHasArrays<decltype(fields_of(std::declval<T&>()))>::value;
    else
      return false;
  }
  static constexpr bool value = compute();
};

/// What a callable sees of an argument: numbers become arrays, also inside std containers; all else keeps its type.
template <class T>
struct TracedType {
  using type = T;
};
template <class T>
using traced_element_t = typename TracedType<T>::type;
template <Scalar T>
struct TracedType<T> {
  using type = Array;
};
template <>
struct TracedType<ShapeDtypeStruct> {
  using type = Array;
};
template <class T>
  requires Container<T>::value
struct TracedType<T> {
  using type = typename Container<T>::template map<traced_element_t>;
};
/// As passed by value. By way of const&: "text" deduces char[5], which decays to char*, not to const char*.
template <class T>
struct ValueType {
  using type = std::decay_t<const T&>;
};
template <>
struct ValueType<void> {
  using type = None;  // a function that returns nothing returns the empty tree
};
template <class T>
using value_t = typename ValueType<T>::type;
template <class T>
using traced_t = typename TracedType<value_t<T>>::type;

/// The type of a tangent or cotangent: `none` stands for a static argument's.
template <class T>
using tangent_t = std::conditional_t<HasArrays<T>::value, T, None>;
template <class Tuple>
struct TangentsOf;
template <class... P>
struct TangentsOf<std::tuple<P...>> {
  using type = std::tuple<tangent_t<P>...>;
};
template <class Tuple>
using tangents_t = typename TangentsOf<Tuple>::type;

/// How a static value is kept: text is copied.
template <class T>
struct KeptType {
  using type = T;
};
template <>
struct KeptType<const char*> {
  using type = std::string;
};
template <>
struct KeptType<char*> {
  using type = std::string;
};
template <class Tuple>
struct KeptArguments;
template <class... P>
struct KeptArguments<std::tuple<P...>> {
  using type = std::tuple<typename KeptType<P>::type...>;
};
template <class Params>
using kept_args_t = typename KeptArguments<Params>::type;

}  // namespace weft::detail
