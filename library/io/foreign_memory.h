// Arrays over memory that the caller owns.
#pragma once
#include <span>
#include <utility>

#include "weft/core/array/constructors.h"

namespace weft {

/// Options of from_memory.
struct MemoryOptions {
  std::optional<Shape> strides = {};  ///< how many elements are between neighbours of each dimension; absent: row-major order without gaps
};

namespace detail {

/// Elements that the caller owns, and the function that releases them.
struct ForeignMemory {
  StridedElements elements;
  void (*release)(void*) = nullptr;
  void* context = nullptr;
};
/// An array over the memory, or a copy where the library can't use it in place; the memory is then released before the return. On an
/// exception the memory stays the caller's.
Array array_over(const ForeignMemory& memory, const char* operation, SourceLoc loc);
/// Throws ShapeError unless the shape has `count` elements.
void check_count(const Shape& shape, std::size_t count, const char* operation, SourceLoc loc);
/// A copy in row-major order; bools other than 0 are true.
Array copy_of(const StridedElements& elements, SourceLoc loc);
/// Elements with the caller's shape and strides, which are checked.
StridedElements described_elements(const void* data, const Shape& shape, DType dtype, const std::optional<Shape>& strides,
                                   const char* operation, SourceLoc loc);

template <class Release>
Array array_over_owned(StridedElements elements, Release release, SourceLoc loc) {
  struct Owner {
    Release release;
  };
  Owner* const owner = new Owner{std::move(release)};
  try {
    return array_over({std::move(elements),
                       [](void* context) {
                         Owner* const o = static_cast<Owner*>(context);
                         o->release();
                         delete o;
                       },
                       owner},
                      "from_memory", loc);
  } catch (...) {
    delete owner;
    throw;
  }
}

}  // namespace detail

/// An array over elements in host memory, without a copy. `release()`, any callable, is called when the last array over them is freed, on
/// the thread that frees it; it must not throw. Until then the memory must not be written to.
///
/// They are copied, and released before this returns, where the library can't compute with them in place: strides other than those of
/// row-major order, an address that is not a multiple of the element's size, bools other than 0 and 1, or a default device with memory of
/// its own. Throws ShapeError for an impossible shape or strides, and Error for a null pointer; the memory then stays the caller's.
template <class Release>
  requires requires(Release& r) { r(); }
Array from_memory(const void* data, Shape shape, DType dtype, Release release, MemoryOptions options = {},
                  SourceLoc loc = SourceLoc::here()) {
  return detail::array_over_owned(detail::described_elements(data, shape, dtype, options.strides, "from_memory", loc), std::move(release),
                                  loc);
}
/// The same for a span in row-major order; a vector if no shape is given. Throws ShapeError if the shape has another number of elements.
template <ScalarType T, class Release>
  requires requires(Release& r) { r(); }
Array from_memory(std::span<const T> values, Release release, std::optional<Shape> shape = {}, SourceLoc loc = SourceLoc::here()) {
  const Shape flat(values.size());
  detail::StridedElements e =
      detail::described_elements(values.data(), shape ? *shape : flat, detail::storage_dtype<T>(), {}, "from_memory", loc);
  detail::check_count(e.shape, values.size(), "from_memory", loc);
  return detail::array_over_owned(std::move(e), std::move(release), loc);
}
/// The same for a matrix, tensor or view of another library, such as Eigen's or std::mdspan; see array(). Not copied if it is row-major.
template <detail::StridedSource M, class Release>
  requires requires(Release& r) { r(); }
Array from_memory(const M& matrix, Release release, SourceLoc loc = SourceLoc::here()) {
  return detail::array_over_owned(detail::elements_of(matrix), std::move(release), loc);
}

}  // namespace weft
