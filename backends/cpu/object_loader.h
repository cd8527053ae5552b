// Loads the machine code of object files into memory: a minimal linker, sufficient for what the code generator writes for kernels.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/base/function_ref.h"

namespace weft::detail {

/// The code and the constants of one object file, in memory that can be read and run, until the object goes.
class LoadedObject {
 public:
  /// `address` gives what other libraries have by their symbols' names; null: there is none. nullptr: the file is for another processor,
  /// isn't whole, or holds something that isn't known here (data that is written to, an unusual relocation). Throws CompileError where the
  /// process may not run what it has written.
  static std::unique_ptr<LoadedObject> of(std::string_view file, FunctionRef<void*(const char* name)> address);
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  /// Where a symbol that the file defines for others is; null: it doesn't.
  void* find(std::string_view name) const;

 private:
  friend class ObjectLoader;
  LoadedObject() = default;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::pair<std::string, void*>> symbols_;
};

}  // namespace weft::detail
