// The library's exceptions.
#pragma once
#include <stdexcept>
#include <string>

#include "weft/core/base/ref.h"
#include "weft/core/errors/source_loc.h"

namespace weft {

namespace detail {
class ErrorContext;
}

/// The base of all exceptions that the library throws. Exceptions of the user's own, thrown in functions that the library calls, pass
/// through unchanged. Copies of an Error share its text.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, SourceLoc where = {});
  /// The whole text: the message, the user's line, where the operands come from, the transforms that were being traced, and the user's
  /// functions that were running (WEFT_TRACEBACK=0 leaves these out, WEFT_TRACEBACK=full also lists the library's).
  const char* what() const noexcept override;
  /// What was wrong with the actual shapes and dtypes, and what would be right: the first line of what().
  std::string message() const { return std::runtime_error::what(); }
  /// The line of the user's own call, where known.
  SourceLoc where() const noexcept;

 private:
  friend class detail::ErrorContext;
  detail::ErrorContext* context() const;  // null where there was no memory for it
  detail::Ref<detail::RefCounted> context_;
};

/// Shapes that don't fit together, or don't fit the operation.
class ShapeError : public Error {
 public:
  using Error::Error;
};
/// A dtype that the operation isn't defined for.
class DTypeError : public Error {
 public:
  using Error::Error;
};
/// A traced value used where that has no meaning.
class TracerError : public Error {
 public:
  using Error::Error;
};
/// A value asked of an array that has none yet, as it stands for a program's input.
class ConcretizationError : public TracerError {
 public:
  using TracerError::TracerError;
};
/// A traced value used after the function it belongs to has returned.
class LeakedTracerError : public TracerError {
 public:
  using TracerError::TracerError;
};
/// An axis that isn't there: a dimension's number, or a mapped axis's name.
class AxisError : public Error {
 public:
  using Error::Error;
};
/// A mesh, a PartitionSpec or a sharding that doesn't fit.
class ShardingError : public Error {
 public:
  using Error::Error;
};
/// Trees of different structure.
class PytreeError : public Error {
 public:
  using Error::Error;
};
/// A device that isn't there, or devices that may not be mixed.
class DeviceError : public Error {
 public:
  using Error::Error;
};
/// Memory that a device, or the process, could not be given. It is no std::bad_alloc: an object with two bases std::exception would be
/// caught by no `catch (const std::exception&)`.
class MemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};
/// Something else that the operating system refused: a thread, a file descriptor, a lock.
class SystemError : public Error {
 public:
  using Error::Error;
};
/// Code that could not be compiled.
class CompileError : public Error {
 public:
  using Error::Error;
};
/// Another process or device that failed or is missing.
class DistributedError : public Error {
 public:
  using Error::Error;
};
/// A file that can't be read or written.
class IoError : public Error {
 public:
  using Error::Error;
};

}  // namespace weft
