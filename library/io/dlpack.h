// Tensors shared with other libraries through DLPack (https://dmlc.github.io/dlpack/latest/c_api.html): NumPy, PyTorch, JAX, CuPy, ...
#pragma once
#include "weft/core/array/array.h"

namespace weft {

// The two structures of DLPack can't be told from each other by a pointer: what is in a Python capsule called "dltensor" is the first,
// in one called "dltensor_versioned" the second, of DLPack 1.0.

/// An array over a DLManagedTensor* in host memory; its deleter is called when the last array over it is freed; until then its memory must
/// not be written to. Copied where from_memory copies (strides other than row-major ones, ...). Throws DTypeError or DeviceError, the
/// tensor left to the caller, for an element type or a device that can't be read.
Array from_dlpack(void* managed_tensor, SourceLoc loc = SourceLoc::here());
/// The same of a DLManagedTensorVersioned* of version 1; of another major version, an Error.
Array from_dlpack_versioned(void* managed_tensor, SourceLoc loc = SourceLoc::here());

/// A DLManagedTensor* over the array's elements, which it keeps alive until its deleter is called. The receiver must call that, and must
/// not write to them: an array is immutable. An array on another device, or in parts, is gathered in host memory first. Throws DTypeError
/// for keys, TracerError for an array without a value.
void* to_dlpack(const Array& x, SourceLoc loc = SourceLoc::here());
/// The same as a DLManagedTensorVersioned* of version 1.0, which is marked as read-only.
void* to_dlpack_versioned(const Array& x, SourceLoc loc = SourceLoc::here());

}  // namespace weft
