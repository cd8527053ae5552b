#include "weft/library/io/dlpack.h"

#include <fmt/format.h>

#include "weft/core/base/counted.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"
#include "weft/library/io/foreign_memory.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft {
namespace {

// The C ABI of DLPack.
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
struct DLManagedTensorVersioned {
  std::uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
constexpr std::int32_t kCpu = 1, kCudaHost = 3;
constexpr std::uint32_t kMajor = 1, kMinor = 0;
constexpr std::uint64_t kReadOnly = 1;
// No library has tensors of more.
constexpr std::int32_t kMostDimensions = 1024;

struct Type {
  std::uint8_t code, bits;
  DType dtype;
};
constexpr Type kTypes[] = {{0, 8, int8},     {0, 16, int16},    {0, 32, int32},     {0, 64, int64},       {1, 8, uint8},
                           {1, 16, uint16},  {1, 32, uint32},   {1, 64, uint64},    {2, 16, float16},     {2, 32, float32},
                           {2, 64, float64}, {4, 16, bfloat16}, {5, 64, complex64}, {5, 128, complex128}, {6, 8, bool_}};

detail::StridedElements elements_of(const DLTensor& t, const char* operation, SourceLoc loc) {
  if (t.device.device_type != kCpu && t.device.device_type != kCudaHost)
    throw DeviceError(fmt::format("{}: the tensor is on a device of type {}; copy it to the host first", operation, t.device.device_type),
                      loc);
  const Type* type = nullptr;
  for (const Type& known : kTypes)
    if (known.code == t.dtype.code && known.bits == t.dtype.bits && t.dtype.lanes == 1) type = &known;
  if (!type)
    throw DTypeError(fmt::format("{}: there is no dtype for elements of type code {}, {} bits, {} lanes", operation, t.dtype.code,
                                 t.dtype.bits, t.dtype.lanes),
                     loc);
  if (t.ndim < 0 || t.ndim > kMostDimensions || (t.ndim > 0 && !t.shape))
    throw ShapeError(fmt::format("{}: a tensor of {}{}", operation, detail::counted(t.ndim, "dimension"),
                                 t.ndim > 0 && !t.shape ? " without a shape" : ""),
                     loc);
  std::optional<Shape> strides;
  if (t.strides) strides = Shape(t.strides, t.strides + t.ndim);
  return detail::described_elements(t.data ? static_cast<const char*>(t.data) + t.byte_offset : nullptr, Shape(t.shape, t.shape + t.ndim),
                                    type->dtype, strides, operation, loc);
}

template <class Managed>
Array import(Managed* managed, const char* operation, SourceLoc loc) {
  return detail::array_over({elements_of(managed->dl_tensor, operation, loc),
                             [](void* context) {
                               auto* const m = static_cast<Managed*>(context);
                               if (m->deleter) m->deleter(m);
                             },
                             managed},
                            operation, loc);
}

/// An array lent to another library.
template <class Managed>
struct Loan {
  Managed managed{};
  Array array;
  std::vector<std::int64_t> shape, strides;
};
template <class Managed>
Loan<Managed>* lend(const Array& x, const char* operation, SourceLoc loc) try {
  if (x.is_empty_handle()) detail::throw_empty_array(loc);
  const Type* type = nullptr;
  for (const Type& known : kTypes)
    if (known.dtype == x.dtype()) type = &known;
  if (!type)
    throw DTypeError(
        fmt::format("{}: {} holds keys, which no other library has; use random::key_data", operation, detail::to_string(x.aval())),
        detail::effective_loc(loc));
  auto* const loan = new Loan<Managed>();
  try {
    loan->array = detail::lent_array(x, loc);
    loan->shape.assign(x.shape().begin(), x.shape().end());
    loan->strides = detail::row_major_strides(x.shape());
    DLTensor& t = loan->managed.dl_tensor;
    t.data = const_cast<void*>(detail::host_elements(loan->array, x.dtype(), loc));
    t.device = {kCpu, 0};
    t.ndim = x.ndim();
    t.dtype = {type->code, type->bits, 1};
    t.shape = loan->shape.data();
    t.strides = loan->strides.data();
    loan->managed.manager_ctx = loan;
    loan->managed.deleter = [](Managed* m) { delete static_cast<Loan<Managed>*>(m->manager_ctx); };
  } catch (...) {
    delete loan;
    throw;
  }
  return loan;
} catch (...) {
  detail::rethrow_as_error(operation, loc);
}

}  // namespace

Array from_dlpack(void* managed_tensor, SourceLoc loc) {
  loc = detail::effective_loc(loc);
  if (!managed_tensor) throw Error("from_dlpack: the tensor is null", loc);
  return import(static_cast<DLManagedTensor*>(managed_tensor), "from_dlpack", loc);
}

Array from_dlpack_versioned(void* managed_tensor, SourceLoc loc) {
  loc = detail::effective_loc(loc);
  if (!managed_tensor) throw Error("from_dlpack_versioned: the tensor is null", loc);
  auto* const managed = static_cast<DLManagedTensorVersioned*>(managed_tensor);
  if (managed->major != kMajor)
    throw Error(fmt::format("from_dlpack_versioned: the tensor is of DLPack {}.{}, and this reads {}.x; ask its library for that one",
                            managed->major, managed->minor, kMajor),
                loc);
  return import(managed, "from_dlpack_versioned", loc);
}

void* to_dlpack(const Array& x, SourceLoc loc) { return &lend<DLManagedTensor>(x, "to_dlpack", loc)->managed; }

void* to_dlpack_versioned(const Array& x, SourceLoc loc) {
  DLManagedTensorVersioned& m = lend<DLManagedTensorVersioned>(x, "to_dlpack_versioned", loc)->managed;
  m.major = kMajor;
  m.minor = kMinor;
  m.flags = kReadOnly;
  return &m;
}

}  // namespace weft
