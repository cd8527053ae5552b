// Writes a program as an LLVM function that does not depend on weft, for object files. Uses forward declarations of LLVM only.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/backends/cpu/code_generator.h"

namespace llvm {
class Constant;
class Function;
class Module;
}  // namespace llvm

namespace weft::detail {

/// The constants of an object file: equal ones are one, as functions for several processors read the same ones.
class ObjectConstants {
 public:
  explicit ObjectConstants(std::string prefix) : prefix_(std::move(prefix)) {}
  /// The contents' address in a module.
  llvm::Constant* add(llvm::Module& module, const void* data, std::int64_t bytes);
  /// Gives the module all contents.
  void define(llvm::Module& module) const;

 private:
  std::string symbol(std::size_t number) const { return prefix_ + "_constant" + std::to_string(number); }
  const std::string prefix_;
  std::vector<std::string> contents_;
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;
};

/// Adds a function `int32 symbol(inputs, outputs)` to the module, for the processor. `name`: of the program in messages. Throws
/// CompileError if the program needs what only weft has.
llvm::Function* write_program(llvm::Module& module, const std::string& name, const std::string& symbol, const Jaxpr& program,
                              const Processor& processor, ObjectConstants& constants);

/// Bodies for what the module's code calls of the library.
void define_library(llvm::Module& module, const std::string& name);

}  // namespace weft::detail
