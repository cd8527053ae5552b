// Pytrees as values: walking, rebuilding and comparing trees of arrays. A structure is represented by a prototype, a tree of the traced
// type whose leaves are ignored: its container sizes, map keys and static fields are the structure.
#pragma once
#include <span>

#include "weft/core/trees/pytree_types.h"
#include "weft/core/trees/skeleton.h"

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

/// Counts the depth of a recursion over a tree's nodes, whose pointers may form cycles: throws PytreeError beyond kMaxTreeDepth. Returns
/// the depth of the level below.
inline constexpr int kMaxTreeDepth = 1000;
[[noreturn]] void throw_too_deep();
inline int below(int depth) {
  if (depth >= kMaxTreeDepth) throw_too_deep();
  return depth + 1;
}
[[noreturn]] void throw_valueless();
/// Sorts pointers by the objects that they point to.
void sort_pointers(std::vector<const void*>& pointers, bool (*less)(const void* a, const void* b));

/// Calls f(key, value) for each entry of a map, in the order of the keys.
template <class T, class F>
void for_each_entry(const T& map, F&& f) {
  if constexpr (requires { typename T::key_compare; }) {
    for (const auto& [key, e] : map) f(key, e);
  } else {
    using Key = typename T::key_type;
    using Entry = typename T::value_type;
    if constexpr (requires(const Key& a, const Key& b) { static_cast<bool>(a < b); }) {
      std::vector<const void*> entries;
      entries.reserve(map.size());
      for (const Entry& e : map) entries.push_back(&e);
      sort_pointers(entries, [](const void* a, const void* b) {
        return static_cast<bool>(static_cast<const Entry*>(a)->first < static_cast<const Entry*>(b)->first);
      });
      for (const void* e : entries) f(static_cast<const Entry*>(e)->first, static_cast<const Entry*>(e)->second);
    }
  }
}
/// Calls f(std::integral_constant<size_t, I>(), alternative) with the alternative that a variant holds.
template <std::size_t I = 0, class T, class F>
auto with_alternative(const T& variant, F&& f) {
  using std::get;
  if (I == 0 && variant.valueless_by_exception()) throw_valueless();
  if constexpr (I + 1 < TypesOf<T>::count) {
    if (variant.index() != I) return with_alternative<I + 1>(variant, f);
  }
  return f(std::integral_constant<std::size_t, I>(), get<I>(variant));
}

/// A container of type Target whose elements are f of t's.
template <class Target, class T, class F>
Target map_elements(const T& t, F&& f) {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::optional) {
    return t ? Target(f(*t)) : Target();
  } else if constexpr (kind == TreeKind::sequence) {
    Target out;
    if constexpr (requires { out.reserve(t.size()); }) out.reserve(t.size());
    if constexpr (requires { out.before_begin(); }) {
      auto last = out.before_begin();
      for (const auto& e : t) last = out.insert_after(last, f(e));
    } else {
      for (const auto& e : t) out.push_back(f(e));
    }
    return out;
  } else if constexpr (kind == TreeKind::map) {
    if constexpr (requires { typename T::key_compare; }) {
      Target out(t.key_comp());
      for (const auto& [key, e] : t) out.emplace_hint(out.end(), key, f(e));
      return out;
    } else {
      Target out(t.size(), t.hash_function(), t.key_eq());
      for_each_entry(t, [&](const auto& key, const auto& e) { out.emplace(key, f(e)); });
      return out;
    }
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> Target {
      if constexpr (is_std_array<T> && sizeof...(I) > 0)
        return Target{{f(std::get<I>(t))...}};
      else
        return Target{f(std::get<I>(t))...};
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  }
}

/// Calls f on each leaf, in order. T is a traced type: numbers in it are static.
template <class T, class F>
void for_each_leaf(const T& t, F&& f, [[maybe_unused]] int depth = 0) {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (std::is_same_v<T, Array>) {
    f(t);
  } else if constexpr (!HasArrays<T>::value || kind == TreeKind::array) {
  } else if constexpr (kind == TreeKind::optional || kind == TreeKind::pointer) {
    if (t) for_each_leaf(*t, f, below(depth));
  } else if constexpr (kind == TreeKind::sequence || kind == TreeKind::c_array) {
    for (const auto& e : t) for_each_leaf(e, f, below(depth));
  } else if constexpr (kind == TreeKind::map) {
    for_each_entry(t, [&](const auto&, const auto& e) { for_each_leaf(e, f, below(depth)); });
  } else if constexpr (kind == TreeKind::variant) {
    with_alternative(t, [&](auto, const auto& e) { for_each_leaf(e, f, below(depth)); });
  } else if constexpr (kind == TreeKind::fields) {
    std::apply([&](const auto&... field) { (for_each_leaf(field, f, depth), ...); }, tie_fields(t));
  } else {
    std::apply([&](const auto&... e) { (for_each_leaf(e, f, below(depth)), ...); }, t);
  }
}

template <class T, class F>
T map_leaves(const T& t, F&& f, int depth = 0);
/// Assigns to a field of a struct; for a C array, to its elements.
template <class E, class F>
void map_field(E& field, F& f, int depth) {
  if constexpr (tree_kind<E> == TreeKind::c_array)
    for (auto& e : field) map_field(e, f, depth);
  else if constexpr (HasArrays<E>::value)
    field = map_leaves(static_cast<const E&>(field), f, depth);
}
template <class T>
constexpr bool has_c_array() {
  return []<class... F>(Types<F...>) { return ((tree_kind<F> == TreeKind::c_array) || ... || false); }(element_types<T>());
}
/// The tree with each leaf replaced by f of it, in order.
template <class T, class F>
T map_leaves(const T& t, F&& f, int depth) {
  constexpr TreeKind kind = tree_kind<T>;
  [[maybe_unused]] auto each = [&](const auto& e) { return map_leaves(e, f, below(depth)); };
  if constexpr (std::is_same_v<T, Array>) {
    return f(t);
  } else if constexpr ((!HasArrays<T>::value && copyable<T>) || kind == TreeKind::array) {
    return t;
  } else if constexpr (Container<T>::value) {
    return map_elements<T>(t, each);
  } else if constexpr (kind == TreeKind::pointer) {
    return t ? T(new typename T::element_type(each(*t))) : T();
  } else if constexpr (kind == TreeKind::variant) {
    return with_alternative(
        t, [&]<std::size_t I>(std::integral_constant<std::size_t, I>, const auto& e) { return T(std::in_place_index<I>, each(e)); });
  } else if constexpr (kind == TreeKind::fields && (Registered<T> || has_c_array<T>())) {
    static_assert(copyable<T>,
                  "weft: a class with WEFT_PYTREE, and a struct with a C array, is rebuilt from a copy: it needs a copy "
                  "constructor, and no std::unique_ptr in it");
    T out = t;
    std::apply([&](auto&... field) { (map_field(field, f, depth), ...); }, tie_fields(out));
    return out;
  } else if constexpr (kind == TreeKind::fields) {
    return [&]<std::size_t... Base>(std::index_sequence<Base...>) {
      return std::apply([&](const auto&... field) { return T{repeat_t<EmptyBase<T>, Base>{}..., map_leaves(field, f, depth)...}; },
                        fields_of(t));
    }(std::make_index_sequence<empty_base_count<T>>());
  } else {
    static_assert(copyable<T>, "weft: a static value that can't be copied; keep it in a std::shared_ptr");
    return t;
  }
}

/// A copy of a tree. Objects behind a std::unique_ptr are copied too; a tree without any is copied by C++.
template <class T>
decltype(auto) as_copy(const T& t) {
  if constexpr (copyable<T>)
    return (t);
  else
    return map_leaves(t, [](const Array& x) { return x; });
}

/// The value that a callable is given for t: numbers are converted to arrays.
template <class T>
traced_t<T> to_traced(const T& t) {
  if constexpr (std::is_same_v<value_t<T>, Array>)
    return t;
  else if constexpr (std::is_same_v<traced_t<T>, value_t<T>>)
    return as_copy(t);
  else if constexpr (ScalarType<T> || std::is_same_v<T, ShapeDtypeStruct>)
    return t;
  else
    return map_elements<traced_t<T>>(t, [](const auto& e) { return to_traced(e); });
}

/// Whether two trees have one structure. Static values are compared with ==, but floats bit by bit, so that NaN equals itself and the two
/// zeros differ; structs without == field by field; text by its characters.
template <class T, class U>
bool same_structure(const T& a, const U& b, [[maybe_unused]] int depth = 0) {
  if constexpr (tree_kind<T> == TreeKind::text && tree_kind<U> == TreeKind::text) {
    return std::string_view(a) == std::string_view(b);
  } else {
    static_assert(std::is_same_v<T, U>);
    constexpr TreeKind kind = tree_kind<T>;
    [[maybe_unused]] auto same = [&]<class V>(const V& x, const V& y) { return same_structure(x, y, below(depth)); };
    if constexpr (std::is_same_v<T, Array> || std::is_empty_v<T>) {
      return true;
    } else if constexpr (std::is_same_v<T, long double>) {
      return (a == b && (a != 0 || 1 / a == 1 / b)) || (a != a && b != b);
    } else if constexpr (std::is_floating_point_v<T>) {
      return __builtin_memcmp(&a, &b, sizeof a) == 0;
    } else if constexpr (ComplexLike<T>) {
      return same(a.real(), b.real()) && same(a.imag(), b.imag());
    } else if constexpr (kind == TreeKind::optional || kind == TreeKind::pointer) {
      return static_cast<bool>(a) == static_cast<bool>(b) && (!a || same(*a, *b));
    } else if constexpr (kind == TreeKind::sequence || kind == TreeKind::c_array) {
      auto i = std::begin(a);
      auto j = std::begin(b);
      for (; i != std::end(a) && j != std::end(b); ++i, ++j)
        if (!same_structure<std::remove_cvref_t<decltype(*i)>, std::remove_cvref_t<decltype(*i)>>(*i, *j, below(depth))) return false;
      return i == std::end(a) && j == std::end(b);
    } else if constexpr (kind == TreeKind::map || kind == TreeKind::set) {
      if (a.size() != b.size()) return false;
      auto same_entry = [&](const auto& x, const auto& y) {
        if constexpr (kind == TreeKind::map)
          return same(x.first, y.first) && same(x.second, y.second);
        else
          return same(x, y);
      };
      if constexpr (requires { typename T::key_compare; }) {
        for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j)
          if (!same_entry(*i, *j)) return false;
      } else if constexpr (!requires(T& t) { t.insert(*t.begin()).second; }) {
        return a == b;  // several elements may have one key
      } else {
        for (const auto& entry : a) {
          const auto [from, to] = b.equal_range([&]() -> const auto& {
            if constexpr (kind == TreeKind::map)
              return entry.first;
            else
              return entry;
          }());
          bool found = false;
          for (auto j = from; j != to && !found; ++j) found = same_entry(entry, *j);
          if (!found) return false;
        }
      }
      return true;
    } else if constexpr (kind == TreeKind::variant) {
      using std::get;
      return a.index() == b.index() &&
             with_alternative(a, [&]<std::size_t I>(std::integral_constant<std::size_t, I>, const auto& x) { return same(x, get<I>(b)); });
    } else if constexpr (kind == TreeKind::fields && (HasArrays<T>::value || !Comparable<T>)) {
      auto x = tie_fields(a), y = tie_fields(b);
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return (same_structure(std::get<I>(x), std::get<I>(y), depth) && ...);
      }(std::make_index_sequence<std::tuple_size_v<decltype(x)>>{});
    } else if constexpr (kind == TreeKind::product) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return (same(std::get<I>(a), std::get<I>(b)) && ...);
      }(std::make_index_sequence<std::tuple_size_v<T>>{});
    } else if constexpr (Comparable<T>) {
      return static_cast<bool>(a == b);
    } else {
      static_assert(kind >= TreeKind::too_many || named_in_std<T>(),
                    "weft: a static argument, or a static field of one, is compared with == here, and this class has none");
      return true;
    }
  }
}

template <class T>
T without_leaves(const T& t);

/// The same for arguments that were kept (see KeptType) and arguments that are given.
template <class Kept, class Given>
bool same_arguments(const Kept& kept, const Given& given) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same_structure(std::get<I>(kept), std::get<I>(given)) && ...);
  }(std::make_index_sequence<std::tuple_size_v<Kept>>());
}
/// The arguments to keep: text is copied, leaves are dropped.
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
/// A tree of the prototype's structure with other leaves, of which there must be enough.
template <class T>
T with_leaves(const T& prototype, std::span<const Array> leaves) {
  if constexpr (std::is_same_v<T, Array>) {
    return leaves[0];
  } else {
    std::size_t next = 0;
    return map_leaves(prototype, [&](const Array&) { return leaves[next++]; });
  }
}
/// The tree with empty handles as leaves: its structure, which keeps no memory alive.
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

/// The label of a map's i-th entry.
template <class K>
std::string label_of_entry(const K& key, std::size_t i) {
  if constexpr (tree_kind<K> == TreeKind::text)
    return label_of_key(key);
  else if constexpr (std::is_integral_v<K> && std::is_signed_v<K>)
    return label_of_number(static_cast<std::int64_t>(key));
  else if constexpr (std::is_integral_v<K>)
    return label_of_position(static_cast<std::size_t>(key));
  else if constexpr (std::is_enum_v<K>)
    return label_of_entry(static_cast<std::underlying_type_t<K>>(key), i);
  else
    return label_of_position(i);
}
/// The tree without types, for messages and tree prefixes. Optionals, pointers and variants are replaced by what they hold.
template <class T>
Skeleton skeleton_of(const T& t, std::string label = {}, [[maybe_unused]] int depth = 0) {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (std::is_same_v<T, Array>) {
    return Skeleton(Skeleton::Kind::leaf, std::move(label));
  } else if constexpr (!HasArrays<T>::value && (std::is_arithmetic_v<T> || std::is_enum_v<T>)) {
    return Skeleton(Skeleton::Kind::fixed, std::move(label), describe_number(static_cast<double>(t)));
  } else if constexpr (kind == TreeKind::text) {
    return Skeleton(Skeleton::Kind::fixed, std::move(label), describe_text(t));
  } else if constexpr (!HasArrays<T>::value && (kind != TreeKind::fields || Comparable<T>)) {
    return Skeleton(Skeleton::Kind::fixed, std::move(label));
  } else if constexpr (kind == TreeKind::optional || kind == TreeKind::pointer) {
    return t ? skeleton_of(*t, std::move(label), below(depth))
             : Skeleton(Skeleton::Kind::node, std::move(label), kind == TreeKind::optional ? "nullopt" : "nullptr");
  } else if constexpr (kind == TreeKind::variant) {
    Skeleton out = with_alternative(t, [&](auto, const auto& e) { return skeleton_of(e, std::move(label), below(depth)); });
    if (out.kind != Skeleton::Kind::fixed) out.text = describe_alternative(t.index());
    return out;
  } else {
    Skeleton out(HasArrays<T>::value ? Skeleton::Kind::node : Skeleton::Kind::fixed, std::move(label));
    [[maybe_unused]] auto add = [&](const auto& e, std::string name) {
      out.children.push_back(skeleton_of(e, std::move(name), below(depth)));
    };
    if constexpr (kind == TreeKind::sequence || kind == TreeKind::c_array) {
      for (const auto& e : t) add(e, label_of_position(out.children.size()));
    } else if constexpr (kind == TreeKind::map) {
      constexpr bool unique = requires(T& m) { m.insert(*m.begin()).second; };  // in a multimap several entries have one key
      for_each_entry(t, [&](const auto& key, const auto& e) {
        add(e, unique ? label_of_entry(key, out.children.size()) : label_of_position(out.children.size()));
      });
    } else if constexpr (kind == TreeKind::product) {
      std::apply([&](const auto&... e) { (add(e, label_of_position(out.children.size())), ...); }, t);
    } else if constexpr (Registered<T>) {
      auto name = [&] { return label_of_field(T::weft_field_names(), out.children.size()); };
      std::apply([&](const auto&... e) { (add(e, name()), ...); }, t.weft_fields());
    } else {
      auto fields = fields_of(t);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (add(std::get<I>(fields), label_of_field(field_name<T, I>)), ...);
      }(std::make_index_sequence<std::tuple_size_v<decltype(fields)>>{});
    }
    return out;
  }
}
/// The skeleton of a call's arguments; the path of each begins with `args[i]`.
template <class... P>
Skeleton skeleton_of_args(const std::tuple<P...>& args) {
  Skeleton out(Skeleton::Kind::node, "args");
  std::apply([&](const auto&... e) { (out.children.push_back(skeleton_of(e, label_of_position(out.children.size()))), ...); }, args);
  return out;
}

/// A type-erased prototype.
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
[[gnu::visibility("default")]] inline char type_tag = 0;

/// Throws PytreeError if the trees differ in more than their leaves: "<what> differ: args[0] has 1 element, args[1] 2".
template <class T>
void check_same_structure(const std::string& what, const T& a, const std::string& name_a, const T& b, const std::string& name_b,
                          SourceLoc loc) {
  if (!same_structure(a, b)) throw_structure_mismatch(what, skeleton_of(a, name_a), skeleton_of(b, name_b), loc);
}

}  // namespace weft::detail
