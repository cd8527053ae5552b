#pragma once
#include <stdexcept>
#include <string>

#include "core/source_loc.h"

namespace weft {

/// Base of all that the library throws. what() is the whole message: what was wrong with the actual shapes and dtypes,
/// the user's file and line, and what would be right.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, SourceLoc where = {});
  /// The line of the user's own call, where known.
  SourceLoc where() const { return where_; }

 private:
  SourceLoc where_;
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
