// Arrays made of numbers: literals, containers, constants, ranges.
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/strided_elements.h"

namespace weft {

/// A nested literal of any depth: `{{1, 2}, {3, 4}}`. Its leaves are numbers or arrays.
class Literal {
 public:
  Literal(ScalarType auto v) : kind_(Kind::number), number_(v) {}
  Literal(const Array& x) : kind_(Kind::array), array_(x) {}
  Literal(std::initializer_list<Literal> rows) : kind_(Kind::rows), rows_(rows) {}

  enum class Kind { number, array, rows };
  Kind kind() const { return kind_; }
  const detail::Number& number() const { return number_; }
  const Array& as_array() const { return array_; }
  const std::vector<Literal>& rows() const { return rows_; }

 private:
  Kind kind_;
  detail::Number number_;
  Array array_;
  std::vector<Literal> rows_;
};
/// Numbers in a row: a span, vector, std::array, C array, ...
template <class R>
concept NumberRange = !detail::HasAxes<R> && requires(const R& r) {
  std::data(r);
  std::size(r);
} && ScalarType<std::remove_cvref_t<decltype(*std::data(std::declval<const R&>()))>>;

/// The numbers as given: int32 or float32 (bool, complex64) if no dtype is given, uint32 of unsigned ones alone; int64 or uint64 if an
/// integer doesn't fit. With arrays among the leaves they are stacked.
/// Throws ShapeError if rows have different sizes.
Array array(Literal values, std::optional<DType> dtype = {}, SourceLoc loc = SourceLoc::here());
/// A copy of the numbers, row-major, in a shape. The dtype is that of the element type if none is given.
template <NumberRange R>
Array array(const R& values, Shape shape, std::optional<DType> dtype = {}, SourceLoc loc = SourceLoc::here()) {
  using T = std::remove_cvref_t<decltype(*std::data(values))>;
  static_assert(!std::is_same_v<T, long double> && sizeof(T) <= 16, "weft: long double has no dtype; use double");
  return detail::array_of_elements(std::data(values), detail::storage_dtype<T>(), static_cast<std::int64_t>(std::size(values)), shape,
                                   dtype, loc);
}
Array array(const std::same_as<std::vector<bool>> auto& values, SourceLoc loc = SourceLoc::here());
Array array(const NumberRange auto& values, SourceLoc loc = SourceLoc::here()) { return array(values, Shape(std::size(values)), {}, loc); }
/// The same numbers in a dtype: `array(values, float32)`.
template <NumberRange R>
Array array(const R& values, std::same_as<DType> auto dtype, SourceLoc loc = SourceLoc::here()) {
  return array(values, Shape(std::size(values)), dtype, loc);
}
/// A copy of a matrix or a view of another library, such as Eigen's matrices and a std::mdspan: element (i, j) of the array is their
/// (i, j), in whatever order they keep them in memory. What Eigen's types call a vector has one dimension, its tensors have as many as they
/// say; a sparse matrix is filled up with zeros. The dtype is that of the element type.
template <class M>
  requires(detail::HasAxes<M> && !std::is_convertible_v<const M&, Literal>)
Array array(const M& matrix, SourceLoc loc = SourceLoc::here()) {
  if constexpr (detail::SparseMatrix<M>)
    return array(detail::dense_elements(matrix), Shape{matrix.rows(), matrix.cols()}, {}, loc);
  else
    detail::check_strided_source<M>();
  if constexpr (detail::StridedSource<M>) return detail::array_of_strided(detail::elements_of(matrix), nullptr, {}, loc);
}
/// A copy of such a matrix or view, converted to a dtype.
template <class M, std::same_as<DType> D>
  requires(detail::HasAxes<M> && !std::is_convertible_v<const M&, Literal>)
Array array(const M& matrix, D dtype, SourceLoc loc = SourceLoc::here()) {
  if constexpr (detail::SparseMatrix<M>)
    return array(detail::dense_elements(matrix), Shape{matrix.rows(), matrix.cols()}, dtype, loc);
  else
    detail::check_strided_source<M>();
  if constexpr (detail::StridedSource<M>) return detail::array_of_strided(detail::elements_of(matrix), nullptr, dtype, loc);
}
/// A copy of such a matrix or view, its elements in row-major order, in another shape.
template <class M>
  requires(detail::HasAxes<M> && !std::is_convertible_v<const M&, Literal>)
Array array(const M& matrix, Shape shape, std::optional<DType> dtype = {}, SourceLoc loc = SourceLoc::here()) {
  detail::check_strided_source<M>();
  if constexpr (detail::StridedSource<M>) return detail::array_of_strided(detail::elements_of(matrix), &shape, dtype, loc);
}

/// All zeros; all ones.
Array zeros(Shape shape, DType dtype = float32, SourceLoc loc = SourceLoc::here());
Array ones(Shape shape, DType dtype = float32, SourceLoc loc = SourceLoc::here());
#define WEFT_SIZES_IN_BRACES(name)                                                              \
  template <detail::WholeNumber A, detail::WholeNumber B>                                       \
  Array name(A, B) {                                                                            \
    static_assert(!sizeof(A), "weft: the sizes of a shape stand in braces: " #name "({2, 3})"); \
    return {};                                                                                  \
  }
WEFT_SIZES_IN_BRACES(zeros)
WEFT_SIZES_IN_BRACES(ones)
#undef WEFT_SIZES_IN_BRACES
/// All elements equal to `value`, which is broadcast if it is not a scalar; of its dtype if none is given.
Array full(Shape shape, Arg value, std::optional<DType> dtype = {});
/// 0, 1, ... below `stop`: int32, or float32 if `stop` is a floating number.
Array arange(detail::Number stop, std::optional<DType> dtype = {}, SourceLoc loc = SourceLoc::here());
/// start, start + step, ... before `stop`, as jnp.arange: int32, or float32 if any number is floating.
Array arange(detail::Number start, detail::Number stop, detail::Number step = 1, std::optional<DType> dtype = {},
             SourceLoc loc = SourceLoc::here());
/// `num` values from `start` to `stop`, both included, at equal distances along a new leading axis. Computed as jnp.linspace does.
Array linspace(Arg start, Arg stop, Int num = 50, std::optional<DType> dtype = {});
/// Ones on the k-th diagonal of an n x m matrix (m = n by default), zeros elsewhere.
Array eye(Int n, std::optional<Int> m = {}, Int k = 0, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// The n x n identity matrix of a dtype: `eye(3, float64)`.
Array eye(Int n, DType dtype, SourceLoc loc = SourceLoc::here());
/// Ones on and below the k-th diagonal.
Array tri(Int n, std::optional<Int> m = {}, Int k = 0, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// x on and below the k-th diagonal of its last two axes, zeros above.
Array tril(Arg x, Int k);
inline Array tril(Arg x) { return tril(std::move(x), 0); }
/// x on and above the k-th diagonal of its last two axes, zeros below.
Array triu(Arg x, Int k);
inline Array triu(Arg x) { return triu(std::move(x), 0); }
/// Zeros, ones, or one value everywhere, with the shape of x, and its dtype unless another is given.
Array zeros_like(Arg x, std::optional<DType> dtype);
inline Array zeros_like(Arg x) { return zeros_like(std::move(x), {}); }
Array ones_like(Arg x, std::optional<DType> dtype);
inline Array ones_like(Arg x) { return ones_like(std::move(x), {}); }
Array full_like(Arg x, Arg value, std::optional<DType> dtype = {});
/// 0, 1, 2, ... along one dimension of the shape.
Array iota(DType dtype, Shape shape, AxisNumber dimension = 0, SourceLoc loc = SourceLoc::here());

}  // namespace weft
