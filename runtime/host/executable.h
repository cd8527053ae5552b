// What a backend compiles a Jaxpr into, and how the layers above call it.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/base/ref.h"
#include "weft/core/ir/jaxpr.h"

namespace weft {

/// What a compiled function is expected to cost.
struct CostAnalysis {
  double flops = 0;           ///< floating-point operations, a fused multiply-add counted as two
  double bytes_accessed = 0;  ///< bytes that its kernels read and write
};
/// Memory of one call, known before it runs.
struct MemoryAnalysis {
  std::int64_t argument_size_in_bytes = 0, output_size_in_bytes = 0, temp_size_in_bytes = 0;
  std::int64_t alias_size_in_bytes = 0;  ///< of results that take the memory of donated arguments
};

namespace detail {

struct CompileOptions {
  std::string name;                ///< of the function, for symbols, profiles and messages
  std::vector<bool> donated = {};  ///< for each input (constants not counted): its buffer may be reused for outputs; empty: none
};

/// A request to export an object file: the functions that it is to hold.
struct ObjectRequest {
  /// A C function `int name(const void* const* inputs, void* const* outputs)` for a program.
  struct Entry {
    std::string name, about;  ///< the C function, and a description of it for the header
    Jaxpr program;
    std::vector<std::string> inputs, outputs;  ///< names in the header, each a C identifier
  };
  std::string name;  ///< of the file
  std::vector<Entry> entries;
  std::vector<std::string> targets;  ///< processors: as ExportOptions has them
};
struct Object {
  std::string object, header;
};

/// A compiled program for one device of a backend. Thread-safe: may be called by any number of threads at once.
class Executable : public RefCounted {
 public:
  /// Runs on concrete arrays (or literals) of exactly the program's input types, on the device with the given id.
  virtual std::vector<Array> call(std::span<const Array> inputs, int device) = 0;
  /// Whether call() takes arrays of any placement, also sharded ones; what is not mapped then runs on `device`.
  virtual bool takes_placed() const { return false; }
  /// "jaxpr" (after simplification), "kernels", "llvm", "asm".
  virtual std::string as_text(std::string_view form) const = 0;
  virtual CostAnalysis cost_analysis() const = 0;
  virtual MemoryAnalysis memory_analysis() const = 0;
  /// A relocatable object file with a C function for each entry, and its header. Throws CompileError where a program needs something that
  /// no object file can hold (a callback, a collective).
  virtual Object export_object(const ObjectRequest& request) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view platform() const = 0;  ///< "cpu", "interp"
  virtual Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) = 0;
};
/// The backends by platform; throws DeviceError for an unknown one. Defined in backends/registry.cpp.
Backend& backend(std::string_view platform);

}  // namespace detail
}  // namespace weft
