// What stands between the brackets of an index: positions, ranges, arrays, new axes.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>

#include "weft/core/array/integer.h"
#include "weft/core/array/scalar.h"
#include "weft/core/base/ref.h"
#include "weft/core/errors/source_loc.h"

namespace weft {

class Array;
namespace detail {
struct ArrayImpl;
}

namespace detail {
/// An integer as a position. An unsigned one that is too large becomes the largest int64, a position beyond every end.
template <WholeNumber T>
constexpr std::int64_t as_position(T i) {
  if constexpr (!std::is_enum_v<T>)
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t))
      if (i > static_cast<T>(INT64_MAX)) return INT64_MAX;
  return static_cast<std::int64_t>(i);
}
}  // namespace detail

/// A range of positions along an axis, with Python's meaning of negative and absent bounds.
class Slice {
 public:
  struct Bound {
    std::optional<std::int64_t> value;
    Bound(detail::NoneValue auto) {}
    template <detail::WholeNumber T>
    Bound(T v) : value(detail::as_position(v)) {}
  };
  Slice(Bound start, Bound stop, Bound step) : start_(start.value), stop_(stop.value), step_(step.value) {}
  const std::optional<std::int64_t>& start() const { return start_; }
  const std::optional<std::int64_t>& stop() const { return stop_; }
  const std::optional<std::int64_t>& step() const { return step_; }
  friend bool operator==(const Slice&, const Slice&) = default;

 private:
  std::optional<std::int64_t> start_, stop_, step_;
};
/// The whole axis, Python's `:`.
inline Slice slice() { return Slice(none, none, none); }
/// `:stop`
inline Slice slice(Slice::Bound stop) { return Slice(none, stop, none); }
/// `start:stop` or `start:stop:step`
inline Slice slice(Slice::Bound start, Slice::Bound stop, Slice::Bound step = none) { return Slice(start, stop, step); }

namespace detail {
template <class T>
concept IndexEntry = std::is_same_v<T, Slice> || NoneValue<T> || std::is_same_v<T, Ellipsis>;
}  // namespace detail
/// For `x[slice(), 0]`, which would be x[0]: up to C++20, what stands between the brackets is one expression.
template <class A, class B>
  requires(detail::IndexEntry<A> || detail::IndexEntry<B>)
Slice operator,(const A&, const B&) {
  static_assert(!sizeof(A), "weft: x[a, b] is x[b] up to C++20: write x(a, b), or x[{a, b}]");
  return slice();
}

/// One entry of an index: a position, a slice, newaxis, ellipsis, or an array of positions (int) or a mask (bool).
class Index {
 public:
  enum class Kind { absent, position, slice, new_axis, whole_axes, array };
  template <detail::WholeNumber T>
  Index(T i, SourceLoc loc = SourceLoc::here()) : kind_(Kind::position), position_(detail::as_position(i)), loc_(loc) {}
  Index(std::same_as<Int> auto i, SourceLoc loc = SourceLoc::here()) : kind_(Kind::position), position_(i), loc_(loc) {}
  Index(const Array& indices, SourceLoc loc = SourceLoc::here());
  Index(Slice s, SourceLoc loc = SourceLoc::here()) : kind_(Kind::slice), slice_(s), loc_(loc) {}
  Index(detail::NoneValue auto, SourceLoc loc = SourceLoc::here()) : kind_(Kind::new_axis), loc_(loc) {}
  Index(Ellipsis, SourceLoc loc = SourceLoc::here()) : kind_(Kind::whole_axes), loc_(loc) {}
  template <detail::WholeNumber T>
  Index(std::initializer_list<T>, SourceLoc = SourceLoc::here()) {
    static_assert(!sizeof(T),
                  "weft: x({0, 1}) might mean an element or two rows: write x(0, 1) for the element, x(array({0, 1})) for the rows");
  }
  Index(const Index&);
  Index& operator=(const Index&);
  ~Index();
  /// A place left empty in a call with fewer indices.
  static Index absent() { return Index(); }

  Kind kind() const { return kind_; }
  std::int64_t position() const { return position_; }
  const Slice& as_slice() const { return slice_; }
  Array as_array() const;
  SourceLoc where() const { return loc_; }

 private:
  Index() = default;
  Kind kind_ = Kind::absent;
  std::int64_t position_ = 0;
  Slice slice_{none, none, none};
  detail::Ref<detail::ArrayImpl> array_;
  SourceLoc loc_;
};

}  // namespace weft
