#include "core/shape.h"

#include <algorithm>

namespace weft {

void Shape::reserve_exact(int n) {
  if (n > kInline) {
    auto* grown = new std::int64_t[static_cast<std::size_t>(n)]();
    std::copy(begin(), end(), grown);
    delete[] heap_;
    heap_ = grown;
  }
}

Shape::Shape(const std::int64_t* first, const std::int64_t* last) {
  reserve_exact(static_cast<int>(last - first));
  size_ = static_cast<int>(last - first);
  std::copy(first, last, begin());
}
Shape::Shape(std::initializer_list<Dim> dims) {
  reserve_exact(static_cast<int>(dims.size()));
  size_ = static_cast<int>(dims.size());
  std::transform(dims.begin(), dims.end(), begin(), [](Dim d) { return d.value; });
}
Shape::Shape(const std::vector<int>& dims) {
  reserve_exact(static_cast<int>(dims.size()));
  size_ = static_cast<int>(dims.size());
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

void Shape::push_back(std::int64_t d) { *this = inserted(size_, d); }

Shape Shape::inserted(int at, std::int64_t d) const {
  std::vector<std::int64_t> dims(begin(), end());
  dims.insert(dims.begin() + at, d);
  return Shape(dims);
}
Shape Shape::erased(int at) const {
  std::vector<std::int64_t> dims(begin(), end());
  dims.erase(dims.begin() + at);
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
