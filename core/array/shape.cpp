#include "weft/core/array/shape.h"

#include <algorithm>
#include <limits>
#include <string>

#include "weft/core/array/rank.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft {

namespace {
/// A number of dimensions; of too many, as many as an int holds.
int clamped(std::size_t n) { return static_cast<int>(std::min<std::size_t>(n, std::numeric_limits<int>::max())); }
int clamped(std::ptrdiff_t n) { return clamped(static_cast<std::size_t>(n)); }
}  // namespace

void Shape::reserve_exact(int n) {
  if (n > detail::kMaxRank)
    throw ShapeError(std::to_string(n) + " dimensions; an array has at most " + std::to_string(detail::kMaxRank) +
                         "; reshape it to fewer (each vmap that is nested in another adds one)",
                     detail::effective_loc({}));
  if (n > kInline) {
    auto* grown = new std::int64_t[static_cast<std::size_t>(n)]();
    std::copy(begin(), end(), grown);
    delete[] heap_;
    heap_ = grown;
  }
}

void Shape::copy_sizes(const std::int64_t* first, const std::int64_t* last) {
  const int n = clamped(last - first);
  reserve_exact(n);
  size_ = n;
  std::copy(first, last, begin());
}
Shape::Shape(const std::vector<int>& dims) {
  const int n = clamped(dims.size());
  reserve_exact(n);
  size_ = n;
  std::copy(dims.begin(), dims.end(), begin());
}
Shape::Shape(const std::vector<std::int64_t>& dims) : Shape(dims.data(), dims.data() + dims.size()) {}
Shape::Shape(Shape&& o) noexcept : size_(o.size_), heap_(o.heap_) {
  std::copy(o.inline_, o.inline_ + kInline, inline_);
  o.heap_ = nullptr;
  o.size_ = 0;
}
Shape& Shape::operator=(const Shape& o) {
  if (heap_ || o.heap_) {
    if (this != &o) *this = Shape(o);
    return *this;
  }
  size_ = o.size_;
  std::copy(o.inline_, o.inline_ + kInline, inline_);
  return *this;
}
Shape& Shape::operator=(Shape&& o) noexcept {
  std::swap(size_, o.size_);
  std::swap(heap_, o.heap_);
  std::swap(inline_, o.inline_);
  return *this;
}

void Shape::push_back(std::int64_t d) {
  // The place to grow into is there below kInline; beyond, shapes have few dimensions to be copied.
  if (size_ >= kInline) reserve_exact(size_ + 1);
  begin()[size_++] = d;
}

std::int64_t Shape::from_the_end(std::int64_t i) const {
  if (i < 0 && i >= -size_) return i + size_;
  throw ShapeError(
      "the shape " + detail::to_string(*this) + " has no dimension " + std::to_string(i) +
          (size_ ? "; its dimensions are numbered 0 to " + std::to_string(size_ - 1) + ", or from the end -1 to -" + std::to_string(size_)
                 : std::string("; it has none")),
      detail::effective_loc({}));
}

Shape Shape::inserted(int at, std::int64_t d) const {
  std::vector<std::int64_t> dims(begin(), end());
  dims.insert(dims.begin() + (at == size_ ? at : position(at)), d);
  return Shape(dims);
}
Shape Shape::erased(int at) const {
  std::vector<std::int64_t> dims(begin(), end());
  dims.erase(dims.begin() + position(at));
  return Shape(dims);
}
Shape Shape::with(int at, std::int64_t d) const {
  Shape s = *this;
  s[at] = d;
  return s;
}

namespace detail {

std::string to_string(const Shape& shape) {
  std::string s = "(";
  for (int i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + (shape.size() == 1 ? ",)" : ")");
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.size()));
  std::int64_t n = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = n;
    n *= shape[i];
  }
  return strides;
}

}  // namespace detail
}  // namespace weft
