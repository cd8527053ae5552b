// Matrices and views of other libraries as sources of array(...). They are known by their members; their headers are not included.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "weft/core/array/array.h"

namespace weft::detail {

template <class M>
concept HasRowsAndColumns = requires(const M& m) {
  static_cast<std::int64_t>(m.rows());
  static_cast<std::int64_t>(m.cols());
};
/// A matrix whose element (i, j) is at data()[i * rowStride() + j * colStride()], or so that inner and outer strides tell (Eigen's
/// matrices, vectors, Map, Ref, Block and transposes).
template <class M>
concept StridedMatrix = HasRowsAndColumns<M> && requires(const M& m) { requires ScalarType<std::remove_cvref_t<decltype(*m.data())>>; } &&
                        (
                            requires(const M& m) {
                              static_cast<std::int64_t>(m.rowStride());
                              static_cast<std::int64_t>(m.colStride());
                            } ||
                            requires(const M& m) {
                              static_cast<std::int64_t>(m.innerStride());
                              static_cast<std::int64_t>(m.outerStride());
                              static_cast<bool>(M::IsRowMajor);
                            });
/// A view whose element (i, j, ...) is at data_handle()[i * stride(0) + j * stride(1) + ...] (std::mdspan).
template <class M>
concept StridedView =
    requires(const M& m) {
      static_cast<std::size_t>(M::rank());
      static_cast<std::int64_t>(m.extent(0));
      requires ScalarType<std::remove_cvref_t<decltype(*m.data_handle())>>;
    } && (M::rank() == 0 || requires(const M& m) { static_cast<std::int64_t>(m.stride(0)); }) &&
    (!requires { typename M::reference; } || std::is_lvalue_reference_v<typename M::reference>);
/// Elements without gaps, in rows or in columns as the type says, of any rank (Eigen's Tensor and TensorMap).
template <class M>
concept DenseTensor = requires(const M& m) {
  static_cast<int>(M::NumDimensions);
  static_cast<int>(M::Layout);
  static_cast<std::int64_t>(m.dimension(0));
  requires ScalarType<std::remove_cvref_t<decltype(*m.data())>>;
};
template <class M>
concept StridedSource = StridedMatrix<M> || StridedView<M> || DenseTensor<M>;
/// A matrix that keeps some elements, by columns or by rows (Eigen's SparseMatrix).
template <class M>
concept SparseMatrix = HasRowsAndColumns<M> && !StridedMatrix<M> && requires(const M& m) {
  typename M::InnerIterator;
  requires ScalarType<typename M::Scalar>;
  m.outerSize();
};
/// A type with more axes than the flat range of its elements shows.
template <class M>
concept HasAxes = HasRowsAndColumns<M> || requires(const M& m) { m.extent(0); } || requires(const M& m) { m.dimensions(); } ||
                  requires(const M& m) { m.shape(); };

/// Whether the type says that it is a row or a column.
template <class M>
constexpr bool is_vector() {
  if constexpr (requires { static_cast<bool>(M::IsVectorAtCompileTime); }) return static_cast<bool>(M::IsVectorAtCompileTime);
  return false;
}
template <class M>
constexpr int rank_of() {
  if constexpr (StridedView<M>)
    return static_cast<int>(M::rank());
  else if constexpr (DenseTensor<M>)
    return static_cast<int>(M::NumDimensions);
  else
    return is_vector<M>() ? 1 : 2;
}

/// The address of the first element.
template <StridedSource M>
const auto* first_element(const M& m) {
  if constexpr (StridedView<M>)
    return m.data_handle();
  else
    return m.data();
}
/// Elements at equal distances in memory along each axis.
struct StridedElements {
  const void* first = nullptr;
  DType dtype = float32;
  Shape shape = {};
  std::vector<std::int64_t> strides = {};  ///< counted in elements
  bool regular = true;                     ///< whether the strides describe the layout completely

  void add_axis(std::int64_t size, std::int64_t stride) {
    shape.push_back(size);
    strides.push_back(stride);
  }
};
template <StridedSource M>
StridedElements elements_of(const M& m) {
  StridedElements e{.first = first_element(m), .dtype = storage_dtype<std::remove_cvref_t<decltype(*first_element(m))>>()};
  if constexpr (StridedView<M>) {
    if constexpr (requires { static_cast<bool>(m.is_strided()); }) e.regular = static_cast<bool>(m.is_strided());
    if constexpr (M::rank() > 0)
      for (int d = 0; d < rank_of<M>() && e.regular; ++d) {
        const auto axis = static_cast<decltype(M::rank())>(d);
        e.add_axis(static_cast<std::int64_t>(m.extent(axis)), static_cast<std::int64_t>(m.stride(axis)));
      }
  } else if constexpr (DenseTensor<M>) {
    constexpr int rank = static_cast<int>(M::NumDimensions);
    constexpr bool rows = static_cast<int>(M::Layout) == 1;
    for (int d = 0; d < rank; ++d) {
      std::int64_t stride = 1;
      for (int k = rows ? d + 1 : 0; k < (rows ? rank : d); ++k)
        stride *= static_cast<std::int64_t>(m.dimension(static_cast<std::size_t>(k)));
      e.add_axis(static_cast<std::int64_t>(m.dimension(static_cast<std::size_t>(d))), stride);
    }
  } else {
    std::int64_t row = 0, column = 0;
    if constexpr (requires { m.rowStride(), m.colStride(); })
      row = static_cast<std::int64_t>(m.rowStride()), column = static_cast<std::int64_t>(m.colStride());
    else if constexpr (static_cast<bool>(M::IsRowMajor))
      row = static_cast<std::int64_t>(m.outerStride()), column = static_cast<std::int64_t>(m.innerStride());
    else
      row = static_cast<std::int64_t>(m.innerStride()), column = static_cast<std::int64_t>(m.outerStride());
    const auto rows = static_cast<std::int64_t>(m.rows()), columns = static_cast<std::int64_t>(m.cols());
    if constexpr (is_vector<M>()) {
      e.add_axis(rows * columns, columns == 1 ? row : column);
    } else {
      e.add_axis(rows, row);
      e.add_axis(columns, column);
    }
  }
  return e;
}
/// A copy of the elements in row-major order, in their own shape or in another one. Throws ShapeError if their number doesn't fit it, or
/// where strides don't describe their layout.
Array array_of_strided(const StridedElements& elements, const Shape* shape, std::optional<DType> as, SourceLoc loc);
/// Copies the elements to `out` in row-major order.
void copy_strided(const StridedElements& elements, void* out, SourceLoc loc);

/// A sparse matrix's elements in row-major order, with zeros where it keeps none.
template <SparseMatrix M>
std::vector<typename M::Scalar> dense_elements(const M& m) {
  const auto columns = static_cast<std::size_t>(m.cols());
  std::vector<typename M::Scalar> out(static_cast<std::size_t>(m.rows()) * columns);
  for (auto outer = m.outerSize() - m.outerSize(); outer < m.outerSize(); ++outer)
    for (typename M::InnerIterator it(m, outer); it; ++it)
      out[static_cast<std::size_t>(it.row()) * columns + static_cast<std::size_t>(it.col())] += it.value();
  return out;
}

/// Fails to compile, with a sentence, for a matrix whose elements can't be read.
template <class M>
constexpr void check_strided_source() {
  static_assert(StridedSource<M>,
                "weft: array() reads matrices and views of numbers in memory, through data() and strides, and sparse matrices: evaluate an "
                "expression first, or give the elements as a span, in row-major order, and a shape");
}

}  // namespace weft::detail
