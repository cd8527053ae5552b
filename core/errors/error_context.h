// What an Error reports beside its message: lines, operands, transforms and the call stack. Internal.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

/// The message for the use of an empty Array, where the operation is not known yet.
inline constexpr const char* kEmptyArray = "an Array that was default-constructed or moved from holds nothing; assign a value to it first";

/// Shared by the copies of one Error. It is filled while the error travels up through the library; its text is made when somebody reads it.
class ErrorContext : public RefCounted {
 public:
  explicit ErrorContext(SourceLoc where);

  /// Sets the line of an error that has none.
  static void locate(Error& e, SourceLoc where);
  /// Adds where the error's operands come from: the argument of the function that is being traced, or the operation that made each. Later
  /// calls for the same error change nothing.
  static void name_operands(Error& e, std::span<const Array> operands);

  /// Adds the place inside a larger structure at which the error occurred: `in tree::map, at trees[0].w`.
  static void name_place(Error& e, std::string place);

  /// Adds a transform that was rewriting the function's program when the error occurred, after the function had been traced.
  static void add_transform(Error& e, const char* what, const std::string& function, SourceLoc where);

  /// Marks the error as one about an equation of a program that is executed or rewritten, not about a call in the user's function: its
  /// message keeps the operation's name.
  static void concern_equation(Error& e);

  SourceLoc where;
  bool concerns_equation = false;
  std::vector<std::string> operands;
  std::vector<TransformCall> transforms;  // innermost first
  bool is_tracing = true;                 // whether the innermost is
  std::vector<void*> calls;
  const char* text(const char* message);

 private:
  std::mutex mutex_;
  std::unique_ptr<const std::string> text_;  // what() has given its address away
};

/// An error about the shapes or dtypes of several operands: `operation: problem`, with the line, and where each operand comes from.
template <class E>
[[noreturn]] void throw_about(const std::string& message, SourceLoc where, std::span<const Array> operands) {
  E e(message, where);
  ErrorContext::name_operands(e, operands);
  throw e;
}

}  // namespace weft::detail
