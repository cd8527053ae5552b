// What each C++ type is to a pytree: an array, a node that is walked, a value without arrays (static), or a type that is refused with
// one sentence. A type whose members can't be inspected is refused unless it can't hold an Array; it is never taken for static.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/trees/reflect.h"

/// Written inside a class that has private members, a base class with members or more than 64 fields: makes it a pytree of the named
/// fields, those of a base among them. The class is copied and then the fields are assigned.
#define WEFT_PYTREE(Type, ...)                                             \
  static constexpr const Type* weft_pytree_type() { return nullptr; }      \
  auto weft_fields() { return std::tie(__VA_ARGS__); }                     \
  auto weft_fields() const { return std::tie(__VA_ARGS__); }               \
  static constexpr const char* weft_field_names() { return #__VA_ARGS__; } \
  static constexpr const char* weft_type_name() { return #Type; }
/// Written inside a class that holds no arrays where weft can't see that: makes it static. jit compares it with ==.
#define WEFT_STATIC(Type) \
  static constexpr const Type* weft_static_type() { return nullptr; }

namespace weft {

/// WEFT_STATIC for a class that can't be edited: `template <> inline constexpr bool weft::is_static<Theirs> = true;`.
template <class T>
inline constexpr bool is_static = false;

namespace detail {

template <class T>
concept HasPytree = requires { T::weft_pytree_type(); };
// A class derived from one with WEFT_PYTREE inherits the members that the macro declares, but they describe the base only.
template <class T>
concept Registered = HasPytree<T> && requires { requires std::is_same_v<decltype(T::weft_pytree_type()), const T*>; };
template <class T>
concept MarkedStatic = is_static<T> || requires { requires std::is_same_v<decltype(T::weft_static_type()), const T*>; };
template <class T>
concept Comparable = requires(const T& a) { static_cast<bool>(a == a); };

enum class TreeKind {
  array,       ///< an Array, or what stands for one
  fixed,       ///< a value that holds no arrays
  text,        ///< one that is text
  product,     ///< std::tuple, pair, array
  optional,    ///< std::optional
  pointer,     ///< std::unique_ptr, shared_ptr: each occurrence is a subtree of its own, null an empty one
  sequence,    ///< std::vector, deque, list, forward_list
  map,         ///< std::map, multimap, unordered_map: in the order of the keys, which are static
  set,         ///< of static values
  variant,     ///< std::variant: which alternative it holds is structure
  c_array,     ///< T[N]
  fields,      ///< an aggregate, or a class with WEFT_PYTREE
  opaque,      ///< a class that can't be looked into
  too_many,    ///< an aggregate whose fields are too many, or can't be counted
  base,        ///< an aggregate with a base class that has members
  derived,     ///< of a class with WEFT_PYTREE, without one of its own
  reference,   ///< T&
  address,     ///< a raw pointer
  incomplete,  ///< declared only
};

template <class T>
constexpr bool named_in_std() {
  constexpr std::string_view spelled = spell_type<T>();
  constexpr std::string_view before = "T = ";
  return spelled.substr(spelled.find(before) + before.size()).substr(0, 5) == "std::";
}
template <class T>
inline constexpr bool is_product = false;
template <class... T>
inline constexpr bool is_product<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_product<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

// The other classes of std are known by their members, so that their headers need not be included.
template <class T>
constexpr TreeKind kind_in_std() {
  if constexpr (is_product<T> || is_std_array<T>)
    return TreeKind::product;
  else if constexpr (is_optional<T>)
    return TreeKind::optional;
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return TreeKind::text;
  else if constexpr (requires(const T& t) { t.index(), t.valueless_by_exception(); })
    return TreeKind::variant;
  else if constexpr (requires { typename T::element_type; } && requires(const T& t) { t.get(), static_cast<bool>(t); })
    return TreeKind::pointer;
  else if constexpr (requires { typename T::key_type; } && requires(const T& t) { t.begin(), t.end(); })
    return requires { typename T::mapped_type; } ? TreeKind::map : TreeKind::set;
  else if constexpr (requires { typename T::value_type; } &&
                     (requires(T& t, typename T::value_type& e) { t.push_back(std::move(e)); } || requires(T& t) { t.before_begin(); }))
    return TreeKind::sequence;
  return TreeKind::opaque;
}
template <class T>
constexpr TreeKind find_kind() {
  if constexpr (std::is_same_v<T, Array> || std::is_same_v<T, ShapeDtypeStruct>)
    return TreeKind::array;
  else if constexpr (std::is_reference_v<T>)
    return TreeKind::reference;
  else if constexpr (std::is_bounded_array_v<T>)
    return TreeKind::c_array;
  else if constexpr (std::is_pointer_v<T>)
    return std::is_convertible_v<T, const char*>          ? TreeKind::text
           : std::is_function_v<std::remove_pointer_t<T>> ? TreeKind::fixed
                                                          : TreeKind::address;
  else if constexpr (!requires { sizeof(T); })
    return TreeKind::incomplete;
  else if constexpr (!(std::is_class_v<T> || std::is_union_v<T>) || ScalarType<T> || std::is_empty_v<T>)
    return TreeKind::fixed;
  else if constexpr (MarkedStatic<T>)
    return TreeKind::fixed;
  else if constexpr (Registered<T>)
    return TreeKind::fields;
  else if constexpr (HasPytree<T>)
    return TreeKind::derived;
  else if constexpr (named_in_std<T>())
    return kind_in_std<T>();
  else if constexpr (std::is_union_v<T> || !std::is_aggregate_v<T>)
    return TreeKind::opaque;
  else if constexpr (has_full_base<T>())
    return TreeKind::base;
  else
    return field_count<T> <= max_fields ? TreeKind::fields : TreeKind::too_many;
}
template <class T>
inline constexpr TreeKind tree_kind = find_kind<T>();

/// The tuple of references to a struct's fields, in order.
template <class T>
auto tie_fields(T& t) {
  if constexpr (Registered<std::remove_const_t<T>>)
    return t.weft_fields();
  else
    return fields_of(t);
}

/// The types of a node's elements.
template <class... T>
struct Types {};
template <class T>
struct TypesOf;
template <template <class...> class C, class... T>
struct TypesOf<C<T...>> {
  static constexpr std::size_t count = sizeof...(T);
  using type = Types<std::remove_cvref_t<T>...>;
};
template <class T>
auto types_of_elements() {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::fields)
    return typename TypesOf<decltype(tie_fields(std::declval<T&>()))>::type();
  else if constexpr (is_std_array<T> || kind == TreeKind::optional || kind == TreeKind::sequence)
    return Types<std::remove_cv_t<typename T::value_type>>();
  else if constexpr (kind == TreeKind::product || kind == TreeKind::variant)
    return typename TypesOf<T>::type();
  else if constexpr (kind == TreeKind::pointer)
    return Types<std::remove_cv_t<typename T::element_type>>();
  else if constexpr (kind == TreeKind::map)
    return Types<typename T::mapped_type>();
  else if constexpr (kind == TreeKind::c_array)
    return Types<std::remove_cv_t<std::remove_extent_t<T>>>();
  else
    return Types<>();
}
template <class T>
using element_types = decltype(types_of_elements<T>());

template <class P>
constexpr bool owns_one_object() {
  if constexpr (requires(const P& p) { p[0]; })
    return false;
  else if constexpr (requires { typename P::deleter_type; })
    return spell_type<typename P::deleter_type>().find("default_delete<") != std::string_view::npos;
  return true;
}

template <bool Strict, class T, class... Above>
constexpr bool holds_arrays();
// Whether the template arguments of a class that can't be looked into name a type with arrays; a function's are those that it takes and
// returns. A struct of which it is not known yet is taken to have some.
template <class T, class... Above>
constexpr bool names_arrays();
template <class R, class... P, class... Above>
constexpr bool function_names_arrays(Types<R(P...)>, Types<Above...>) {
  return names_arrays<R, Above...>() || (names_arrays<P, Above...>() || ... || false);
}
template <class T, class... Above>
constexpr bool names_arrays() {
  using U = std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<T>>>;
  if constexpr ((std::is_same_v<U, Above> || ... || false))
    return true;
  else if constexpr (std::is_void_v<U>)
    return false;
  else if constexpr (requires { function_names_arrays(Types<U>(), Types<Above...>()); })
    return function_names_arrays(Types<U>(), Types<Above...>());
  else
    return holds_arrays<false, U, Above...>();
}
template <class... Above>
constexpr bool arguments_name_arrays(...) {
  return false;
}
template <class... Above, template <class...> class C, class... T>
constexpr bool arguments_name_arrays(const C<T...>*) {
  return (names_arrays<T, Above...>() || ... || false);
}
template <class... Above, template <class, auto, auto...> class C, class T, auto N, auto... M>
constexpr bool arguments_name_arrays(const C<T, N, M...>*) {
  return names_arrays<T, Above...>();
}

// The sentences with which a type is refused, each in a function of its own, so that the compiler prints it once. True if accepted.
template <class T, bool Key, bool Value>
constexpr bool check_map() {
  static_assert(!Key, "weft: the keys of a map are static and hold no arrays; keep arrays in its values");
  constexpr bool ordered = !Value || requires { typename T::key_compare; } || requires(T& t) { t.insert(*t.begin()).second; };
  static_assert(ordered, "weft: the entries of one key of an unordered_multimap have no order; use a std::multimap, or a map of vectors");
  constexpr bool less = !Value || requires { typename T::key_compare; } ||
                        requires(const typename T::key_type& a, const typename T::key_type& b) { static_cast<bool>(a < b); };
  static_assert(less, "weft: the entries of an unordered map are taken in the order of their keys, which needs operator<; use a std::map");
  return !Key && ordered && less;
}
template <class T, bool Key>
constexpr void check_set() {
  static_assert(!Key, "weft: the elements of a set are static and hold no arrays; use a vector, or the values of a map");
}
template <class T>
constexpr bool check_pointer() {
  using E = std::remove_cv_t<typename T::element_type>;
  constexpr bool whole = [] {
    if constexpr (tree_kind<E> == TreeKind::fields) return !std::is_polymorphic_v<E> || std::is_final_v<E>;
    return true;
  }();
  static_assert(whole,
                "weft: a pointer to a base class is not a pytree: what it points to can't be made anew; use a std::variant of the "
                "classes, or a class that is final");
  static_assert(
      owns_one_object<T>(),
      "weft: a smart pointer to an array, or with a deleter of its own, is not a pytree; use a std::vector, or the default deleter");
  return whole && owns_one_object<T>();
}
template <class T, bool NamesArrays>
constexpr void check_opaque() {
  if constexpr (named_in_std<T>()) {
    static_assert(!NamesArrays && Comparable<T>,
                  "weft: no arrays are found in this type of the standard library, and it isn't known to have none; a vector, deque, list, "
                  "map, optional, variant, tuple or smart pointer is a pytree; a function captures what it needs beside its arguments");
  } else {
    constexpr bool known = !NamesArrays && std::is_trivially_copyable_v<T>;
    static_assert(known,
                  "weft: a class that is not an aggregate must say what it is: WEFT_PYTREE(Type, fields...) inside it if it holds arrays, "
                  "WEFT_STATIC(Type) if it holds none, or weft::is_static<Type> beside it");
  }
}
template <class T>
constexpr void check_other() {
  constexpr TreeKind kind = tree_kind<T>;
  static_assert(kind != TreeKind::too_many,
                "weft: a struct is a pytree of at most 64 fields that can be counted; use WEFT_PYTREE(Type, fields...) for another");
  static_assert(
      kind != TreeKind::base,
      "weft: a struct with a base class that has members is a pytree by WEFT_PYTREE(Type, fields...) only, with the inherited fields");
  static_assert(kind != TreeKind::derived,
                "weft: a class derived from one with WEFT_PYTREE needs a WEFT_PYTREE(Type, fields...) of its own, "
                "with the inherited fields");
  static_assert(kind != TreeKind::address,
                "weft: a raw pointer is neither a pytree nor static; pass what it points to, a std::vector, or a std::shared_ptr");
  static_assert(kind != TreeKind::reference, "weft: a tree holds values and no references; use std::make_tuple in place of std::tie");
  static_assert(kind != TreeKind::incomplete,
                "weft: a pointer to a class that is declared only is neither a pytree nor static; define the class before");
}

/// Types of text that don't own it (const char*, std::string_view).
template <class T>
inline constexpr bool is_borrowed_text = tree_kind<T> == TreeKind::text && std::is_trivially_copyable_v<T>;
template <class... T>
constexpr void check_text(Types<T...>) {
  static_assert(!(is_borrowed_text<T> || ... || false),
                "weft: text in a struct or a container must be its own, as a static value is kept and compared; use std::string");
}

// Above: the structs whose fields are being looked at. One of them among its own fields adds nothing.
template <bool Strict, class... T, class... Above>
constexpr bool any_holds_arrays(Types<T...>, Types<Above...>) {
  return (static_cast<int>(holds_arrays<Strict, T, Above...>()) + ... + 0) > 0;
}
/// Strict: a type that is refused stops the compiler.
template <bool Strict, class T, class... Above>
constexpr bool holds_arrays() {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::array) {
    return true;
  } else if constexpr (kind == TreeKind::fixed || kind == TreeKind::text || (std::is_same_v<T, Above> || ... || false)) {
    return false;
  } else if constexpr (kind == TreeKind::fields) {
    if constexpr (Strict) check_text(element_types<T>());
    return any_holds_arrays<Strict>(element_types<T>(), Types<T, Above...>());
  } else if constexpr (kind == TreeKind::map) {
    if constexpr (Strict) check_text(Types<typename T::key_type, typename T::mapped_type>());
    constexpr bool key = holds_arrays<Strict, typename T::key_type, Above...>();
    constexpr bool value = any_holds_arrays<Strict>(element_types<T>(), Types<Above...>());
    if constexpr (Strict) return check_map<T, key, value>() && value;
    return key || value;
  } else if constexpr (kind == TreeKind::set) {
    constexpr bool key = holds_arrays<Strict, typename T::key_type, Above...>();
    if constexpr (Strict) check_text(Types<typename T::key_type>());
    if constexpr (Strict) check_set<T, key>();
    return !Strict && key;
  } else if constexpr (kind == TreeKind::opaque) {
    constexpr bool arguments = arguments_name_arrays<Above...>(static_cast<const T*>(nullptr));
    if constexpr (Strict) check_opaque<T, arguments>();
    return !Strict && arguments;
  } else if constexpr (kind >= TreeKind::too_many) {
    if constexpr (Strict) check_other<T>();
    return !Strict;
  } else {
    constexpr bool some = any_holds_arrays<Strict>(element_types<T>(), Types<Above...>());
    if constexpr (Strict && kind != TreeKind::product)
      check_text(element_types<T>());  // a tuple may be a call's arguments: they are copied
    if constexpr (Strict && kind == TreeKind::pointer) return check_pointer<T>() && some;
    return some;
  }
}

/// Whether a T can hold an Array: only such types are traced, all others are static.
template <class T>
struct HasArrays {
  static constexpr bool value = holds_arrays<true, std::remove_cv_t<T>>();
};

// std::is_copy_constructible is true of a vector of std::unique_ptr, which can't be copied.
template <class T, class... Above>
constexpr bool can_be_copied();
template <class... T, class... Above>
constexpr bool can_all_be_copied(Types<T...>, Types<Above...>) {
  return (can_be_copied<T, Above...>() && ...);
}
template <class T, class... Above>
constexpr bool can_be_copied() {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::c_array)
    return can_be_copied<std::remove_extent_t<T>, Above...>();
  else if constexpr (!std::is_copy_constructible_v<T>)
    return false;
  else if constexpr (kind == TreeKind::pointer || (std::is_same_v<T, Above> || ... || false))
    return true;
  else if constexpr (kind == TreeKind::fields)
    return can_all_be_copied(element_types<T>(), Types<T, Above...>());
  else
    return can_all_be_copied(element_types<T>(), Types<Above...>());
}
template <class T>
inline constexpr bool copyable = can_be_copied<T>();

}  // namespace detail
}  // namespace weft
