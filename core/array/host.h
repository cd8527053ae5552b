// What core needs of the layers above it: memory, and the execution of one primitive or of a program. Defined in backends/registry.cpp,
// bound at link time.
#pragma once
#include <optional>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

class Host {
 public:
  virtual ~Host() = default;
  /// Executes one primitive on concrete arrays and literals.
  virtual std::vector<Array> execute(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                     std::span<const Aval> out_avals, SourceLoc loc) = 0;
  /// Executes a program without constants and effects, compiled as a whole; nothing where its equations are to be executed one by one.
  virtual std::optional<std::vector<Array>> execute_program(const Jaxpr& j, std::span<const Array> inputs) = 0;
  /// Uninitialised memory on the current default device (host memory if that is a host device).
  virtual Ref<Buffer> allocate(std::size_t bytes) = 0;
  /// Waits for the array's value.
  virtual void wait(const ConcreteArray& x) = 0;
  /// Copies all elements to host memory, row-major, gathered from their devices. Throws where some are not addressable.
  virtual void read(const ConcreteArray& x, void* out, SourceLoc loc) = 0;
};
Host& host();

/// A concrete uncommitted array of the given bytes (copied).
Array make_concrete(const Aval& aval, const void* bytes);

}  // namespace weft::detail
