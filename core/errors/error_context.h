// What an Error tells beside its message. Internal.
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

/// The message of an Array that is used and holds nothing, where the operation is not known yet.
inline constexpr const char* kEmptyArray = "an Array that was default-constructed holds nothing; assign a value to it first";

/// Shared by the copies of one Error. It is filled while the error travels up through the library; its text is made when somebody reads it.
class ErrorContext : public RefCounted {
 public:
  explicit ErrorContext(SourceLoc where);

  /// Gives the line of an error that has none.
  static void locate(Error& e, SourceLoc where);
  /// Tells where the operands come from that the error is about: which argument of the function that is being traced, or which operation
  /// made them. The first call decides.
  static void name_operands(Error& e, std::span<const Array> operands);

  /// Tells at which place of a larger whole the error is: `in tree::map, at trees[0].w`.
  static void name_place(Error& e, std::string place);

  /// Names a transform that rewrites a program when it meets the error, after it has traced the function.
  static void add_transform(Error& e, const char* what, const std::string& function, SourceLoc where);

  /// Says that the error is about an equation of a program that is executed or rewritten, not about what the user's function calls now: its
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
