// LLVM's code generator for the host's processor. Includes LLVM: only for sources.
#pragma once
#include <memory>
#include <string>

#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/cpu/jit.h"

namespace llvm {
class Target;
}

namespace weft::detail {

/// What code is made for.
struct Processor {
  const llvm::Target* target = nullptr;
  std::string triple, cpu, features;
  VectorFeatures vectors;
};
const Processor& processor();

std::unique_ptr<llvm::Module> new_module(llvm::LLVMContext& context, const std::string& name, CodeTier tier);

/// Throws CompileError if the module is malformed.
void verify(const llvm::Module& module);

/// The bytes of an object file, or assembly text. Changes the module.
std::string generate(llvm::Module& module, CodeTier tier, bool assembly = false);

}  // namespace weft::detail
