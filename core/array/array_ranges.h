// Arrays and C++ ranges: a loop over an array's rows, an array of nested vectors.
#pragma once
#include <cstddef>

#include "weft/core/array/constructors.h"

namespace weft {

/// The iterator of `for (Array row : x)`: slices along the leading axis. Within a traced function the loop is unrolled.
class RowIterator {
 public:
  using value_type = Array;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::input_iterator_tag;  // rows are made when they are asked for

  RowIterator() = default;
  RowIterator(const Array& x, std::int64_t row) : array_(x), row_(row) {}
  Array operator*() const { return array_[row_]; }
  RowIterator& operator++() { return ++row_, *this; }
  RowIterator operator++(int) { return {array_, row_++}; }
  /// Compares positions; both iterators must be of one array.
  friend bool operator==(const RowIterator& a, const RowIterator& b) { return a.row_ == b.row_; }

 private:
  Array array_;
  std::int64_t row_ = 0;
};
/// Throws ShapeError if the array has no axis. Only of arrays: numbers, which convert to them, must not pass for ranges.
template <std::same_as<Array> A>
RowIterator begin(const A& x, SourceLoc loc = SourceLoc::here());
template <std::same_as<Array> A>
RowIterator end(const A& x);

namespace detail {
/// The depth to which R nests rows of numbers: 1 for a range of numbers, 0 if it is none.
template <class R>
constexpr int nesting_of() {
  if constexpr (NumberRange<R>)
    return 1;
  else if constexpr (StridedSource<R>)
    return rank_of<R>();
  else if constexpr (requires(const R& r) { std::data(r), std::size(r); }) {
    using Row = std::remove_cvref_t<decltype(*std::data(std::declval<const R&>()))>;
    if constexpr (!std::is_same_v<Row, R> && !std::is_same_v<Row, Array> && !ScalarType<Row> &&
                  requires(const Row& r) { std::data(r), std::size(r); })
      return nesting_of<Row>() == 0 ? 0 : nesting_of<Row>() + 1;
  }
  return 0;
}
[[noreturn]] void throw_ragged(int depth, std::int64_t size, std::int64_t other, SourceLoc loc);

template <class R>
auto first_number(const R& r) {
  if constexpr (NumberRange<R>)
    return std::remove_cvref_t<decltype(*std::data(r))>{};
  else if constexpr (StridedSource<R>)
    return std::remove_cvref_t<decltype(*first_element(r))>{};
  else
    return first_number(*std::data(r));
}
inline void check_row(Shape& shape, int depth, std::int64_t n, SourceLoc loc) {
  if (depth == shape.size()) shape.push_back(n);
  if (shape[depth] != n) throw_ragged(depth, shape[depth], n, loc);
}
template <class R, class T>
void flatten_rows(const R& rows, Shape& shape, int depth, std::vector<T>& out, SourceLoc loc) {
  if constexpr (StridedSource<R>) {
    const StridedElements elements = elements_of(rows);
    for (int d = 0; d < elements.shape.size(); ++d) check_row(shape, depth + d, elements.shape[d], loc);
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(elements.shape.num_elements()));
    copy_strided(elements, out.data() + before, loc);
  } else {
    check_row(shape, depth, static_cast<std::int64_t>(std::size(rows)), loc);
    if constexpr (NumberRange<R>)
      out.insert(out.end(), std::data(rows), std::data(rows) + std::size(rows));
    else
      for (const auto& row : rows) flatten_rows(row, shape, depth + 1, out, loc);
  }
}
}  // namespace detail

/// Numbers in rows, such as a vector of vectors.
template <class R>
concept NestedNumberRange = !detail::HasAxes<R> && detail::nesting_of<R>() > 1;

/// A copy of rows of numbers, as nested as they are. The dtype is that of the element type if none is given. Throws ShapeError if rows have
/// different sizes.
template <NestedNumberRange R>
Array array(const R& rows, std::optional<DType> dtype = {}, SourceLoc loc = SourceLoc::here()) {
  using T = decltype(detail::first_number(rows));
  static_assert(!std::is_same_v<T, bool>, "weft: bools in rows; use unsigned char and give bool_ as the dtype");
  std::vector<T> numbers;
  Shape shape;
  detail::flatten_rows(rows, shape, 0, numbers, loc);
  while (shape.size() < detail::nesting_of<R>()) shape.push_back(0);
  return array(numbers, shape, dtype, loc);
}

}  // namespace weft
