// Tree prefixes: one value for a whole subtree, as in vmap's in_axes.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "weft/core/array/axis.h"

namespace weft {

/// A tree prefix of axes: `0`, `none`, `{0, none}`, `{{0, none}, 1}`: one entry for all that is below, or braces with one entry for
/// each element, down to the leaves (a struct's fields in order, static ones may be left out). `{}` is the list of no entries.
class Axes {
 public:
  Axes() = default;
  template <detail::WholeNumber T>
  Axes(T axis, SourceLoc loc = SourceLoc::here()) : kind_(Kind::axis), axis_(detail::axis_number(Int(axis, loc), loc)) {}
  Axes(detail::NoneValue auto) : kind_(Kind::unmapped) {}
  Axes(std::initializer_list<Axes> children) : children_(children) {}
  /// A list of entries that are known when the program runs.
  static Axes of(std::vector<Axes> children) {
    Axes out;
    out.children_ = std::move(children);
    return out;
  }

  bool is_list() const { return kind_ == Kind::list; }
  bool is_none() const { return kind_ == Kind::unmapped; }
  /// The axis as given; meaningful where it is neither a list nor none.
  int axis() const { return axis_; }
  const std::vector<Axes>& children() const { return children_; }

 private:
  enum class Kind { list, unmapped, axis } kind_ = Kind::list;
  int axis_ = 0;
  std::vector<Axes> children_;
};

}  // namespace weft
