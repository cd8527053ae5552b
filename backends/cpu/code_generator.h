// LLVM's code generator for the host's processor, and for others that object files are written for. Includes LLVM: only for sources.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/backends/codegen/emit/llvm_objects.h"
#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/cpu/jit.h"

namespace llvm {
class Target;
}

namespace weft::detail {

/// The processor that code is generated for.
struct Processor {
  const llvm::Target* target = nullptr;
  std::string triple, cpu, features;
  VectorFeatures vectors;
};
const Processor& processor();
/// A processor that object files are written for: "native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" or "aarch64". Throws
/// CompileError for others.
Processor processor_named(std::string_view name);

ModuleOwner new_module(llvm::LLVMContext& context, const std::string& name, CodeTier tier);
ModuleOwner new_module(llvm::LLVMContext& context, const std::string& name, const Processor& p);

/// Throws CompileError if the module is malformed.
void verify(const llvm::Module& module);

/// The bytes of an object file, or assembly text. Changes the module.
std::string generate(llvm::Module& module, CodeTier tier, bool assembly = false);
/// An object file of optimised code for a processor; functions may be made for others of its kind, by their attributes.
std::string generate(llvm::Module& module, const Processor& p);

}  // namespace weft::detail
