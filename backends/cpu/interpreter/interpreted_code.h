// An interpreter of LLVM IR, for code whose execution takes less time than compiling it would.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace llvm {
class Function;
}

namespace weft::detail {

/// An interpreted kernel function, with the same results as machine code. Thread-safe once made.
class InterpretedCode {
 public:
  /// nullptr if the function has an operation that the interpreter doesn't know.
  static std::unique_ptr<InterpretedCode> of(const llvm::Function& f);
  virtual ~InterpretedCode() = default;
  /// Runs the function, with the arguments that a compiled kernel has.
  virtual void run(void* const* args, std::int64_t begin, std::int64_t end) const = 0;
};

}  // namespace weft::detail
