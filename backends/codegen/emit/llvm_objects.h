// Owners of LLVM's objects for code that may run out of memory. LLVM doesn't unwind: where an exception (std::bad_alloc) passes through it,
// its contexts and modules are left half-changed, and their destructors would read what is not there. Such an object is left undestroyed.
#pragma once
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <exception>
#include <memory>

namespace weft::detail {

/// Destroys an object unless an exception that came after the owner is on its way.
class UnlessThrown {
 public:
  template <class T>
  void operator()(T* object) const {
    if (std::uncaught_exceptions() <= before_) delete object;
  }

 private:
  int before_ = std::uncaught_exceptions();
};
using ModuleOwner = std::unique_ptr<llvm::Module, UnlessThrown>;

/// A context, to be declared before its modules.
class ContextOwner {
 public:
  operator llvm::LLVMContext&() { return *context_; }

 private:
  std::unique_ptr<llvm::LLVMContext, UnlessThrown> context_{new llvm::LLVMContext};
};

}  // namespace weft::detail
