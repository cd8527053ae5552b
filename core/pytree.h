// Pytrees as values: walking, rebuilding and comparing trees of arrays. A structure is kept as a prototype: a tree of the
// traced type whose leaves don't matter; its container sizes, map keys and static fields are the structure.
#pragma once
#include <cstring>
#include <span>

#include "core/pytree_types.h"
#include "core/skeleton.h"

namespace weft::detail {

/// Several arrays, up to eight of them in place: the flat inputs of one call.
class Leaves {
 public:
  Leaves() = default;
  Leaves(const Leaves&) = delete;
  Leaves& operator=(const Leaves&) = delete;
  void push_back(const Array& x) {
    if (size_ < kInline)
      in_place_[size_] = x;
    else
      spill(x);
    ++size_;
  }
  std::size_t size() const { return size_; }
  std::span<const Array> span() const {
    return size_ <= kInline ? std::span<const Array>(in_place_, size_) : std::span<const Array>(heap_);
  }

 private:
  void spill(const Array& x) {
    if (heap_.empty()) heap_.assign(in_place_, in_place_ + kInline);
    heap_.push_back(x);
  }
  static constexpr std::size_t kInline = 8;
  Array in_place_[kInline];
  std::vector<Array> heap_;
  std::size_t size_ = 0;
};

/// The tuple of references to a struct's fields, in order.
template <class T>
auto tie_fields(T& t) {
  if constexpr (Registered<T>)
    return t.weft_fields();
  else
    return fields_of(t);
}
template <class T>
inline constexpr bool is_struct = std::is_class_v<T> && !Container<T>::value && !std::is_same_v<T, Array>;

/// A container of type Target, made of t's elements by f.
template <class Target, class T, class F>
Target map_elements(const T& t, F&& f) {
  if constexpr (is_optional<T>) {
    return t ? Target(f(*t)) : Target();
  } else if constexpr (is_vector<T>) {
    Target out;
    out.reserve(t.size());
    for (const auto& e : t) out.push_back(f(e));
    return out;
  } else if constexpr (is_map<T>) {
    Target out;
    for (const auto& [key, e] : t) out.emplace_hint(out.end(), key, f(e));
    return out;
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> Target {
      if constexpr (is_std_array<T> && sizeof...(I) > 0)
        return Target{{f(std::get<I>(t))...}};
      else
        return Target{f(std::get<I>(t))...};
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  }
}

/// What a callable is given for t: numbers as arrays.
template <class T>
traced_t<T> to_traced(const T& t) {
  if constexpr (std::is_same_v<traced_t<T>, value_t<T>> || Scalar<T> || std::is_same_v<T, ShapeDtypeStruct>)
    return t;
  else
    return map_elements<traced_t<T>>(t, [](const auto& e) { return to_traced(e); });
}

/// Calls f on each leaf, in order. T is a traced type: numbers in it are static.
template <class T, class F>
void for_each_leaf(const T& t, F&& f) {
  if constexpr (std::is_same_v<T, Array>) {
    f(t);
  } else if constexpr (!HasArrays<T>::value) {
  } else if constexpr (is_optional<T>) {
    if (t) for_each_leaf(*t, f);
  } else if constexpr (is_vector<T>) {
    for (const auto& e : t) for_each_leaf(e, f);
  } else if constexpr (is_map<T>) {
    for (const auto& [key, e] : t) for_each_leaf(e, f);
  } else if constexpr (is_struct<T>) {
    std::apply([&](const auto&... field) { (for_each_leaf(field, f), ...); }, tie_fields(t));
  } else {
    std::apply([&](const auto&... e) { (for_each_leaf(e, f), ...); }, t);
  }
}

/// The same tree with f of each leaf, in order.
template <class T, class F>
T map_leaves(const T& t, F&& f) {
  if constexpr (std::is_same_v<T, Array>) {
    return f(t);
  } else if constexpr (!HasArrays<T>::value) {
    return t;
  } else if constexpr (Container<T>::value) {
    return map_elements<T>(t, [&](const auto& e) { return map_leaves(e, f); });
  } else if constexpr (Registered<T>) {
    T out = t;
    auto set = [&]<class E>(E& field) {
      if constexpr (HasArrays<E>::value) field = map_leaves(static_cast<const E&>(field), f);
    };
    std::apply([&](auto&... field) { (set(field), ...); }, out.weft_fields());
    return out;
  } else {
    return std::apply([&](const auto&... field) { return T{map_leaves(field, f)...}; }, fields_of(t));
  }
}

/// Equality of static values: floats bit by bit, so that NaN equals itself and the zeros differ; structs without == field by field.
template <class T, class U>
bool static_equal(const T& a, const U& b) {
  if constexpr (std::is_convertible_v<const T&, std::string_view> && std::is_convertible_v<const U&, std::string_view>) {
    return std::string_view(a) == std::string_view(b);
  } else {
    static_assert(std::is_same_v<T, U>);
    if constexpr (std::is_same_v<T, long double>) {
      return a == b || (a != a && b != b);
    } else if constexpr (std::is_floating_point_v<T> || ComplexLike<T>) {
      return std::memcmp(&a, &b, sizeof a) == 0;
    } else if constexpr (std::is_class_v<T> && std::is_empty_v<T>) {
      return true;
    } else if constexpr (is_optional<T>) {
      return a.has_value() == b.has_value() && (!a || static_equal(*a, *b));
    } else if constexpr (is_vector<T>) {
      bool same = a.size() == b.size();
      for (std::size_t i = 0; same && i < a.size(); ++i) same = static_equal<typename T::value_type, typename T::value_type>(a[i], b[i]);
      return same;
    } else if constexpr (is_map<T>) {
      bool same = a.size() == b.size();
      for (auto i = a.begin(), j = b.begin(); same && i != a.end(); ++i, ++j)
        same = i->first == j->first && static_equal(i->second, j->second);
      return same;
    } else if constexpr (Container<T>::value) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return (static_equal(std::get<I>(a), std::get<I>(b)) && ...);
      }(std::make_index_sequence<std::tuple_size_v<T>>{});
    } else if constexpr (requires { static_cast<bool>(a == b); }) {
      return static_cast<bool>(a == b);
    } else {
      static_assert(
          Registered<T> || std::is_aggregate_v<T>,
          "weft: an argument, or a field of one, must be an array, a pytree of arrays, or comparable with == (it is then static)");
      auto x = tie_fields(a), y = tie_fields(b);
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return (static_equal(std::get<I>(x), std::get<I>(y)) && ...);
      }(std::make_index_sequence<std::tuple_size_v<decltype(x)>>{});
    }
  }
}

/// Whether two trees differ in their leaves only.
template <class T, class U>
bool same_structure(const T& a, const U& b) {
  if constexpr (!HasArrays<T>::value) {
    return static_equal(a, b);
  } else if constexpr (std::is_same_v<T, Array>) {
    return true;
  } else if constexpr (is_optional<T>) {
    return a.has_value() == b.has_value() && (!a || same_structure(*a, *b));
  } else if constexpr (is_vector<T>) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) same = same_structure(a[i], b[i]);
    return same;
  } else if constexpr (is_map<T>) {
    bool same = a.size() == b.size();
    for (auto i = a.begin(), j = b.begin(); same && i != a.end(); ++i, ++j)
      same = i->first == j->first && same_structure(i->second, j->second);
    return same;
  } else {
    auto parts = []<class V>(const V& v) -> decltype(auto) {
      if constexpr (is_struct<V>)
        return tie_fields(v);
      else
        return (v);
    };
    auto&& x = parts(a);
    auto&& y = parts(b);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same_structure(std::get<I>(x), std::get<I>(y)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(x)>>>{});
  }
}

template <class T>
T without_leaves(const T& t);

/// Of arguments as they were kept (see KeptType) and as they are given.
template <class Kept, class Given>
bool same_arguments(const Kept& kept, const Given& given) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same_structure(std::get<I>(kept), std::get<I>(given)) && ...);
  }(std::make_index_sequence<std::tuple_size_v<Kept>>());
}
/// Arguments with text copied and without leaves.
template <class Kept, class Given>
Kept keep_arguments(const Given& given) {
  return std::apply([](const auto&... p) { return Kept(without_leaves(p)...); }, given);
}

template <class T>
std::vector<Array> leaves_of(const T& t) {
  std::vector<Array> out;
  for_each_leaf(t, [&](const Array& x) { out.push_back(x); });
  return out;
}
/// The prototype's structure over other leaves, of which there must be enough.
template <class T>
T with_leaves(const T& prototype, std::span<const Array> leaves) {
  if constexpr (std::is_same_v<T, Array>) {
    return leaves[0];
  } else {
    std::size_t next = 0;
    return map_leaves(prototype, [&](const Array&) { return leaves[next++]; });
  }
}
/// The structure alone: the leaves are empty handles, so that it keeps no memory alive.
template <class T>
T without_leaves(const T& t) {
  return map_leaves(t, [](const Array&) { return Array(); });
}

/// The structure of the tangents of arguments.
template <class... P>
tangents_t<std::tuple<P...>> tangent_structure(const std::tuple<P...>& params) {
  auto one = []<class T>(const T& p) -> tangent_t<T> {
    if constexpr (HasArrays<T>::value)
      return without_leaves(p);
    else
      return none;
  };
  return std::apply([&](const P&... p) { return tangents_t<std::tuple<P...>>{one(p)...}; }, params);
}

/// The tree without types, for messages and tree prefixes.
template <class T>
Skeleton skeleton_of(const T& t, std::string label = {}) {
  if constexpr (std::is_same_v<T, Array>) {
    return Skeleton(Skeleton::Kind::leaf, std::move(label));
  } else if constexpr (!HasArrays<T>::value && (std::is_arithmetic_v<T> || std::is_enum_v<T>)) {
    return Skeleton(Skeleton::Kind::fixed, std::move(label), describe_number(static_cast<double>(t)));
  } else if constexpr (!HasArrays<T>::value && std::is_convertible_v<const T&, std::string_view>) {
    return Skeleton(Skeleton::Kind::fixed, std::move(label), describe_text(t));
  } else if constexpr (!HasArrays<T>::value) {
    Skeleton out(Skeleton::Kind::fixed, std::move(label));
    if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T> && !Container<T>::value &&
                  !requires(const T& a) { static_cast<bool>(a == a); })
      [&]<std::size_t... I>(auto fields, std::index_sequence<I...>) {
        (out.children.push_back(skeleton_of(std::get<I>(fields), label_of_field(field_name<T, I>))), ...);
      }(fields_of(t), std::make_index_sequence<field_count<T>>{});
    return out;
  } else if constexpr (is_optional<T>) {
    return t ? skeleton_of(*t, std::move(label)) : Skeleton(Skeleton::Kind::node, std::move(label), "nullopt");
  } else {
    Skeleton out(Skeleton::Kind::node, std::move(label));
    if constexpr (is_vector<T>) {
      for (const auto& e : t) out.children.push_back(skeleton_of(e, label_of_position(out.children.size())));
    } else if constexpr (is_map<T>) {
      for (const auto& [key, e] : t) out.children.push_back(skeleton_of(e, label_of_key(key)));
    } else if constexpr (Container<T>::value) {
      std::apply([&](const auto&... e) { (out.children.push_back(skeleton_of(e, label_of_position(out.children.size()))), ...); }, t);
    } else if constexpr (Registered<T>) {
      auto name = [&] { return label_of_field(T::weft_field_names(), out.children.size()); };
      std::apply([&](const auto&... e) { (out.children.push_back(skeleton_of(e, name())), ...); }, t.weft_fields());
    } else {
      auto fields = fields_of(t);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (out.children.push_back(skeleton_of(std::get<I>(fields), label_of_field(field_name<T, I>))), ...);
      }(std::make_index_sequence<field_count<T>>{});
    }
    return out;
  }
}
/// Of the arguments of a call: the path of each begins with `args[i]`.
template <class... P>
Skeleton skeleton_of_args(const std::tuple<P...>& args) {
  Skeleton out(Skeleton::Kind::node, "args");
  std::apply([&](const auto&... e) { (out.children.push_back(skeleton_of(e, label_of_position(out.children.size()))), ...); }, args);
  return out;
}

/// A prototype whose type is forgotten.
struct Structure : RefCounted {};
template <class T>
struct StructureOf final : Structure {
  explicit StructureOf(T v) : value(std::move(v)) {}
  const T value;
};
template <class T>
Ref<const Structure> keep_structure(const T& t) {
  return make_ref<StructureOf<T>>(without_leaves(t));
}
/// A type's identity, for comparison only.
template <class T>
inline char type_tag = 0;

/// Throws PytreeError if the trees differ in more than their leaves: "<what> differ: args[0] has 1 element, args[1] 2".
template <class T>
void check_same_structure(const std::string& what, const T& a, const std::string& name_a, const T& b, const std::string& name_b,
                          SourceLoc loc) {
  if (!same_structure(a, b)) throw_structure_mismatch(what, skeleton_of(a, name_a), skeleton_of(b, name_b), loc);
}

}  // namespace weft::detail
