// Numbers that a function computes itself, on the host, to make an array of them: their memory, asked for before they are computed, and the
// dtype of positions among them.
#pragma once
#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "weft/core/array/dtype.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

/// The dtype that holds every position among n things.
inline DType position_dtype(std::int64_t n) { return fits_int(n) ? int32 : int64; }

/// Memory for rows x columns numbers. Throws MemoryError where there is none, whatever the sizes are.
template <class T>
std::vector<T> host_numbers(const char* operation, std::int64_t rows, std::int64_t columns, SourceLoc loc) {
  std::vector<T> numbers;
  const auto count = checked_product(rows, columns);
  try {
    if (!count) throw std::length_error("host_numbers");
    numbers.reserve(static_cast<std::size_t>(*count));
  } catch (const std::bad_alloc&) {
    throw MemoryError(fmt::format("{}: out of memory: there is none for {} numbers", operation, *count), effective_loc(loc));
  } catch (const std::length_error&) {
    throw MemoryError(fmt::format("{}: {} x {} numbers are more than any memory holds", operation, rows, columns), effective_loc(loc));
  }
  return numbers;
}

}  // namespace weft::detail
