#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace weft {

/// The sizes of an array's dimensions, e.g. `{2, 3}`, `3` or `{}`. Up to six are stored in place.
class Shape {
 public:
  struct Dim {
    std::int64_t value;
    template <std::integral T>
    Dim(T v) : value(static_cast<std::int64_t>(v)) {}  // a size_t in braces is no narrowing error
  };
  Shape() = default;
  Shape(std::initializer_list<Dim> dims);
  template <std::integral T>
  Shape(T n) : Shape({Dim(n)}) {}
  Shape(const std::vector<int>& dims);
  Shape(const std::vector<std::int64_t>& dims);
  Shape(const std::int64_t* begin, const std::int64_t* end);
  Shape(const Shape& o) : Shape(o.begin(), o.end()) {}
  Shape(Shape&& o) noexcept;
  Shape& operator=(const Shape& o);
  Shape& operator=(Shape&& o) noexcept;
  ~Shape() { delete[] heap_; }

  /// Size of dimension i, 0 <= i < size(), unchecked.
  std::int64_t operator[](int i) const { return begin()[i]; }
  std::int64_t& operator[](int i) { return begin()[i]; }
  std::int64_t back() const { return begin()[size_ - 1]; }
  /// The number of dimensions.
  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::int64_t* begin() const { return heap_ ? heap_ : inline_; }
  const std::int64_t* end() const { return begin() + size_; }
  std::int64_t* begin() { return heap_ ? heap_ : inline_; }
  std::int64_t* end() { return begin() + size_; }
  /// The number of elements: the product of all sizes, 1 for `{}`.
  std::int64_t num_elements() const {
    std::int64_t n = 1;
    for (std::int64_t d : *this) n *= d;
    return n;
  }
  void push_back(std::int64_t d);
  /// A copy with `d` before dimension `at`, or with dimension `at` removed, or replaced.
  Shape inserted(int at, std::int64_t d) const;
  Shape erased(int at) const;
  Shape with(int at, std::int64_t d) const;
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  void reserve_exact(int n);
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
