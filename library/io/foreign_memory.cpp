#include "weft/library/io/foreign_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/device.h"

namespace weft::detail {
namespace {

bool is_row_major(const StridedElements& e) {
  std::int64_t stride = 1;
  for (int d = e.shape.size(); d-- > 0; stride *= e.shape[d])
    if (e.shape[d] != 1 && e.strides[static_cast<std::size_t>(d)] != stride) return false;
  return true;
}
/// Whether the distance between any two of the elements is a number of bytes.
bool strides_fit(const Shape& shape, const Shape& strides, std::int64_t itemsize) {
  std::optional<std::int64_t> reach = itemsize;
  for (int d = 0; reach && d < shape.size(); ++d) {
    const std::int64_t stride = strides[d] < 0 ? -(strides[d] + 1) : strides[d];  // so that the least number has one, too
    const auto steps = checked_product(std::max<std::int64_t>(shape[d] - 1, 0), stride);
    const auto bytes = steps ? checked_product(*steps, itemsize) : std::nullopt;
    reach = bytes ? checked_sum(*reach, *bytes) : std::nullopt;
  }
  return reach && *reach <= std::numeric_limits<std::int64_t>::max() / 2;
}
/// Whether generated code can read them where they are.
bool usable_in_place(const StridedElements& e, std::int64_t bytes) {
  if (bytes == 0 || !e.regular || !is_row_major(e) || default_device_id() >= num_host_devices()) return false;
  if (reinterpret_cast<std::uintptr_t>(e.first) % static_cast<std::uintptr_t>(e.dtype.itemsize()) != 0) return false;
  // A bool in memory is 0 or 1.
  const auto* const first = static_cast<const unsigned char*>(e.first);
  return !e.dtype.is_bool() || std::all_of(first, first + bytes, [](unsigned char b) { return b <= 1; });
}

}  // namespace

Array copy_of(const StridedElements& e, SourceLoc loc) {
  if (e.shape.num_elements() == 0) return zeros(e.shape, e.dtype, loc);
  if (!e.dtype.is_bool()) return array_of_strided(e, nullptr, {}, loc);
  StridedElements bytes = e;
  bytes.dtype = uint8;
  return array_of_strided(bytes, nullptr, {}, loc) != 0;
}

void check_count(const Shape& shape, std::size_t count, const char* operation, SourceLoc loc) {
  if (static_cast<std::uint64_t>(shape.num_elements()) != count)
    throw ShapeError(fmt::format("{}: {} elements don't have the shape {}", operation, count, to_string(shape)), effective_loc(loc));
}

StridedElements described_elements(const void* data, const Shape& shape, DType dtype, const std::optional<Shape>& strides,
                                   const char* operation, SourceLoc loc) {
  loc = effective_loc(loc);
  if (dtype.is_key()) throw DTypeError(fmt::format("{}: memory holds numbers; wrap_key_data makes keys of uint32", operation), loc);
  if (!checked_bytes({shape.begin(), shape.end()}, dtype.itemsize()))
    throw ShapeError(fmt::format("{}: the shape {} is not possible", operation, to_string(shape)), loc);
  if (!data && shape.num_elements() > 0) throw Error(fmt::format("{}: the pointer is null", operation), loc);
  if (strides && strides->size() != shape.size())
    throw ShapeError(fmt::format("{}: {} for the {} of {}", operation, counted(strides->size(), "stride"),
                                 counted(shape.size(), "dimension"), to_string(shape)),
                     loc);
  if (strides && shape.num_elements() > 0 && !strides_fit(shape, *strides, dtype.itemsize()))
    throw ShapeError(fmt::format("{}: elements of shape {} with the strides {} exceed the address space", operation, to_string(shape),
                                 to_string(*strides)),
                     loc);
  StridedElements e{data, dtype};
  const std::vector<std::int64_t> row_major = row_major_strides(shape);
  for (int d = 0; d < shape.size(); ++d) e.add_axis(shape[d], strides ? (*strides)[d] : row_major[static_cast<std::size_t>(d)]);
  return e;
}

Array array_over(const ForeignMemory& memory, const char* operation, SourceLoc loc) try {
  const StridedElements& e = memory.elements;
  const auto bytes = checked_bytes({e.shape.begin(), e.shape.end()}, e.dtype.itemsize());
  if (!bytes) throw ShapeError(fmt::format("{}: the shape {} is not possible", operation, to_string(e.shape)), effective_loc(loc));
  if (usable_in_place(e, *bytes)) {
    // Nothing that fails may be behind the buffer, which gives the memory back when it goes.
    return wrap_buffer({e.shape, e.dtype}, Ref<Buffer>(new BorrowedBuffer(const_cast<void*>(e.first), static_cast<std::size_t>(*bytes),
                                                                          default_device_id(), memory.release, memory.context)));
  }
  Array out = copy_of(e, loc);
  out.block_until_ready();
  if (memory.release) memory.release(memory.context);
  return out;
} catch (...) {
  rethrow_as_error(operation, loc);
}

}  // namespace weft::detail
