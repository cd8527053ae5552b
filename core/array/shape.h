// Sizes of dimensions.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/core/array/integer.h"

namespace weft {

namespace detail {
/// A contiguous range of integers: a vector, an array, a span.
template <class R>
concept WholeNumbers = requires(const R& r) {
  std::data(r);
  std::size(r);
} && WholeNumber<std::remove_cvref_t<decltype(*std::data(std::declval<const R&>()))>>;
template <WholeNumbers R>
std::vector<std::int64_t> whole_numbers(const R& r, SourceLoc loc) {
  std::vector<std::int64_t> out;
  for (auto i = std::data(r), end = std::data(r) + std::size(r); i != end; ++i) out.push_back(Int(*i, loc));
  return out;
}
}  // namespace detail

/// The sizes of an array's dimensions, e.g. `{2, 3}`, `3` or `{}`. Up to six are stored in place.
class Shape {
 public:
  Shape() = default;
  // Not of an initializer_list: g++ makes one of `{.n = 3}`, and would take options for a shape.
  Shape(Int a, Int b) : Shape(Listed(), {a, b}) {}
  Shape(Int a, Int b, Int c) : Shape(Listed(), {a, b, c}) {}
  Shape(Int a, Int b, Int c, Int d) : Shape(Listed(), {a, b, c, d}) {}
  Shape(Int a, Int b, Int c, Int d, Int e) : Shape(Listed(), {a, b, c, d, e}) {}
  Shape(Int a, Int b, Int c, Int d, Int e, Int f) : Shape(Listed(), {a, b, c, d, e, f}) {}
  template <std::convertible_to<Int>... More>
  Shape(Int a, Int b, Int c, Int d, Int e, Int f, Int g, More... more) : Shape(Listed(), {a, b, c, d, e, f, g, Int(more)...}) {}
  template <detail::WholeNumber T>
  Shape(T n, SourceLoc loc = SourceLoc::here()) : Shape(Int(n, loc)) {}
  Shape(Int n) : size_(1), inline_{n} {}
  template <detail::WholeNumber T, std::size_t N>
  explicit Shape(const T (&dims)[N], SourceLoc loc = SourceLoc::here()) : Shape(detail::whole_numbers(dims, loc)) {}
  Shape(const std::vector<int>& dims);
  Shape(const std::vector<std::int64_t>& dims);
  /// From a vector, an array or a span of integers of any type.
  template <detail::WholeNumbers R>
  Shape(const R& dims, SourceLoc loc = SourceLoc::here()) : Shape(detail::whole_numbers(dims, loc)) {}
  // A template, so that the sizes {0, 0} are no null pointers.
  template <class P>
    requires(std::is_pointer_v<P> && std::is_same_v<std::remove_cv_t<std::remove_pointer_t<P>>, std::int64_t>)
  Shape(P begin, P end) {
    copy_sizes(begin, end);
  }
  Shape(const Shape& o) : Shape(o.begin(), o.end()) {}
  Shape(Shape&& o) noexcept;
  Shape& operator=(const Shape& o);
  Shape& operator=(Shape&& o) noexcept;
  ~Shape() { delete[] heap_; }

  /// Size of dimension i; a negative i counts from the end. Throws ShapeError if there is no such dimension.
  template <detail::WholeNumber I>
  std::int64_t operator[](I i) const {
    return begin()[position(i)];
  }
  template <detail::WholeNumber I>
  std::int64_t& operator[](I i) {
    return begin()[position(i)];
  }
  /// Size of the last dimension. Throws ShapeError if there is none.
  std::int64_t back() const { return (*this)[-1]; }
  /// The number of dimensions.
  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::int64_t* begin() const { return heap_ ? heap_ : inline_; }
  const std::int64_t* end() const { return begin() + size_; }
  std::int64_t* begin() { return heap_ ? heap_ : inline_; }
  std::int64_t* end() { return begin() + size_; }
  /// The number of elements: the product of all sizes, 1 for `{}`, at most 2^63 - 1.
  std::int64_t num_elements() const {
    std::int64_t n = 1;
    bool overflows = false;
    for (std::int64_t d : *this) {
      if (d == 0) return 0;
      overflows |= __builtin_mul_overflow(n, d, &n);
    }
    return overflows ? INT64_MAX : n;
  }
  void push_back(std::int64_t d);
  /// A copy with `d` before dimension `at`, or with dimension `at` removed, or replaced. Throws ShapeError if there is no such dimension.
  Shape inserted(int at, std::int64_t d) const;
  Shape erased(int at) const;
  Shape with(int at, std::int64_t d) const;
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.size_ != b.size_) return false;
    const std::int64_t *x = a.begin(), *y = b.begin();
    for (int i = 0; i < a.size_; ++i)
      if (x[i] != y[i]) return false;
    return true;
  }

 private:
  struct Listed {};
  Shape(Listed, std::initializer_list<std::int64_t> dims) { copy_sizes(dims.begin(), dims.end()); }
  void copy_sizes(const std::int64_t* first, const std::int64_t* last);
  void reserve_exact(int n);
  template <detail::WholeNumber I>
  std::int64_t position(I i) const {
    const auto at = static_cast<std::int64_t>(i);
    return at >= 0 && at < size_ ? at : from_the_end(Int(i));
  }
  /// The place that a negative position names. Throws ShapeError for one that the shape doesn't have.
  std::int64_t from_the_end(std::int64_t i) const;
  static constexpr int kInline = 6;
  int size_ = 0;
  std::int64_t* heap_ = nullptr;  // when there are more than kInline dimensions
  std::int64_t inline_[kInline] = {};
};

namespace detail {
/// As NumPy writes it: `(2, 3)`, `(3,)`, `()`.
std::string to_string(const Shape& shape);
/// Row-major strides, counted in elements.
std::vector<std::int64_t> row_major_strides(const Shape& shape);
}  // namespace detail

}  // namespace weft
