// An interpreter of LLVM IR, for code that runs so briefly that compiling it would take longer.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace llvm {
class Function;
}

namespace weft::detail {

/// A function of the kinds that kernels have, each operation with the result that machine code gives. Thread-safe, but for its making.
class InterpretedCode {
 public:
  /// nullptr: it holds an operation that isn't known here.
  static std::unique_ptr<InterpretedCode> of(const llvm::Function& f);
  virtual ~InterpretedCode() = default;
  /// Of the type of a kernel.
  virtual void run(void* const* args, std::int64_t begin, std::int64_t end) const = 0;
};

}  // namespace weft::detail
