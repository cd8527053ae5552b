// Which C++ types are trees of arrays, and what a transformed function sees of them.
#pragma once
#include "weft/core/trees/pytree_kinds.h"

namespace weft::random {
class KeyPair;  // an Array
}

namespace weft::detail {

// The classes of std that are rebuilt over other elements: map<M> is the class whose elements are M of these.
template <class T>
struct Container : std::false_type {};
template <class... T>
struct Container<std::tuple<T...>> : std::true_type {
  template <template <class> class M>
  using map = std::tuple<M<T>...>;
};
template <class A, class B>
struct Container<std::pair<A, B>> : std::true_type {
  template <template <class> class M>
  using map = std::pair<M<A>, M<B>>;
};
template <class T, std::size_t N>
struct Container<std::array<T, N>> : std::true_type {
  template <template <class> class M>
  using map = std::array<M<T>, N>;
};
// An allocator belongs to its element type: a container of other elements has the default one.
template <template <class...> class C, class T, class... Rest>
  requires(tree_kind<C<T, Rest...>> == TreeKind::sequence || tree_kind<C<T, Rest...>> == TreeKind::optional)
struct Container<C<T, Rest...>> : std::true_type {
  template <template <class> class M>
  using map = std::conditional_t<std::is_same_v<M<T>, T>, C<T, Rest...>, C<M<T>>>;
};
template <template <class...> class C, class K, class T, class Less, class Allocator>
  requires(tree_kind<C<K, T, Less, Allocator>> == TreeKind::map && requires { typename C<K, T, Less, Allocator>::key_compare; })
struct Container<C<K, T, Less, Allocator>> : std::true_type {
  template <template <class> class M>
  using map = std::conditional_t<std::is_same_v<M<T>, T>, C<K, T, Less, Allocator>, C<K, M<T>, Less>>;
};
template <template <class...> class C, class K, class T, class Hash, class Equal, class Allocator>
  requires(tree_kind<C<K, T, Hash, Equal, Allocator>> == TreeKind::map && requires { typename C<K, T, Hash, Equal, Allocator>::hasher; })
struct Container<C<K, T, Hash, Equal, Allocator>> : std::true_type {
  template <template <class> class M>
  using map = std::conditional_t<std::is_same_v<M<T>, T>, C<K, T, Hash, Equal, Allocator>, C<K, M<T>, Hash, Equal>>;
};

/// What a callable sees of an argument: numbers become arrays, also inside containers; all else keeps its type, the
/// numbers of a struct, a variant or behind a pointer too.
template <class T>
struct TracedType {
  using type = T;
};
// Elements of a std::tie or a forward_as_tuple.
template <class T>
struct TracedType<T&> : TracedType<std::remove_const_t<T>> {};
template <class T>
struct TracedType<T&&> : TracedType<std::remove_const_t<T>> {};
template <class T>
using traced_element_t = typename TracedType<T>::type;
template <class T>
  requires ScalarType<T> || std::is_same_v<T, ShapeDtypeStruct> || std::is_same_v<T, random::KeyPair>
struct TracedType<T> {
  using type = Array;
};
template <class T>
  requires Container<T>::value
struct TracedType<T> {
  using type = typename Container<T>::template map<traced_element_t>;
};
/// The type of an argument passed by value. It decays from const&: "text" would deduce char[5], which decays to char*.
template <class T>
struct ValueType {
  using type = std::decay_t<const T&>;
};
template <>
struct ValueType<random::KeyPair> : TracedType<random::KeyPair> {};
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
struct KeptType<std::string_view> {
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
