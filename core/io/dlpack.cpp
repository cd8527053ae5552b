// Reading arrays of other libraries through DLPack (https://dmlc.github.io/dlpack/latest/c_api.html).
#include <fmt/format.h>

#include <cstring>

#include "weft/core/array/constructors.h"
#include "weft/core/array/host.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace {

// The C ABI of a DLManagedTensor.
struct DLDevice {
  std::int32_t device_type, device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
constexpr std::int32_t kCpu = 1, kCudaHost = 3;
// No library has tensors of more.
constexpr std::int32_t kMostDimensions = 1024;

DType dtype_of(const DLDataType& t, SourceLoc loc) {
  struct Entry {
    int code, bits;
    DType dtype;
  };
  static constexpr Entry entries[] = {{0, 8, int8},     {0, 16, int16},    {0, 32, int32},     {0, 64, int64},       {1, 8, uint8},
                                      {1, 16, uint16},  {1, 32, uint32},   {1, 64, uint64},    {2, 16, float16},     {2, 32, float32},
                                      {2, 64, float64}, {4, 16, bfloat16}, {5, 64, complex64}, {5, 128, complex128}, {6, 8, bool_}};
  for (const Entry& e : entries)
    if (e.code == t.code && e.bits == t.bits && t.lanes == 1) return e.dtype;
  throw DTypeError(fmt::format("from_dlpack: there is no dtype for elements of type code {}, {} bits, {} lanes", t.code, t.bits, t.lanes),
                   loc);
}

}  // namespace

Array from_dlpack(void* managed_tensor, SourceLoc loc) {
  loc = detail::effective_loc(loc);
  if (!managed_tensor) throw Error("from_dlpack: the tensor is null", loc);
  auto* managed = static_cast<DLManagedTensor*>(managed_tensor);
  const DLTensor& t = managed->dl_tensor;
  if (t.device.device_type != kCpu && t.device.device_type != kCudaHost)
    throw DeviceError(fmt::format("from_dlpack: the tensor lies on a device of type {}; copy it to the host first", t.device.device_type),
                      loc);
  const DType dtype = dtype_of(t.dtype, loc);
  if (t.ndim < 0 || t.ndim > kMostDimensions || (t.ndim > 0 && !t.shape))
    throw ShapeError(fmt::format("from_dlpack: a tensor of {} dimensions{}", t.ndim, t.ndim > 0 && !t.shape ? " without a shape" : ""),
                     loc);
  const Shape shape(t.shape, t.shape + t.ndim);
  if (!detail::checked_bytes({shape.begin(), shape.end()}, dtype.itemsize()))
    throw ShapeError(fmt::format("from_dlpack: a tensor of the shape {} is not possible", detail::to_string(shape)), loc);
  const auto size = static_cast<std::size_t>(dtype.itemsize());
  const std::vector<std::int64_t> row_major = detail::row_major_strides(shape);
  const std::vector<std::int64_t> strides = t.strides ? std::vector<std::int64_t>(t.strides, t.strides + t.ndim) : row_major;
  const char* const data = static_cast<const char*>(t.data) + t.byte_offset;

  Array out;
  if (strides == row_major) {
    out = detail::make_concrete({shape, dtype}, data);
  } else {
    const std::int64_t n = shape.num_elements();
    std::vector<char> gathered(static_cast<std::size_t>(n) * size);
    for (std::int64_t p = 0; p < n; ++p) {
      std::int64_t from = 0;
      for (std::size_t d = 0; d < strides.size(); ++d) from += p / row_major[d] % shape[static_cast<int>(d)] * strides[d];
      std::memcpy(gathered.data() + static_cast<std::size_t>(p) * size, data + from * static_cast<std::int64_t>(size), size);
    }
    out = detail::make_concrete({shape, dtype}, gathered.data());
  }
  if (managed->deleter) managed->deleter(managed);
  return out;
}

}  // namespace weft
