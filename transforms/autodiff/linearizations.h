// A cache of linearized programs. A gradient outside of jit traces its function at each call, and nearly always gets the same program as at
// the call before; its linear part, the transpose of that, and the joined gradient are then taken from here.
#pragma once
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/core/base/function_ref.h"
#include "weft/core/ir/rewrite.h"

namespace weft::detail {

/// A program's linearization, and the programs derived from it. Thread-safe.
class Linearization : public RefCounted {
 public:
  Linearization(const Jaxpr& traced, std::vector<bool> nonzero, std::span<const Array> values = {});
  const LinearizedProgram& program() const { return program_; }
  /// transpose_program of the linear part.
  TransposedProgram transposed(const std::vector<bool>& linear, const std::vector<bool>& has_cotangent);
  /// The program that `make` returns for these results of the transposed gradient; it is called once for each `results`.
  Jaxpr joined(std::pair<std::size_t, std::size_t> results, FunctionRef<Jaxpr()> make);
  bool is_of(const Jaxpr& traced, const std::vector<bool>& nonzero) const;

 private:
  const Jaxpr traced_;
  const std::vector<bool> nonzero_;
  const LinearizedProgram program_;
  std::mutex mutex_;
  std::vector<std::pair<std::pair<std::vector<bool>, std::vector<bool>>, TransposedProgram>> transposed_;
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, Jaxpr>> joined_;
};

/// The linearization of a traced program without constants: a kept one of the same equations, types and lines, or a new one, which is kept
/// where operations are executed and the program has no effects. `nonzero`: which inputs have tangents. While RulesGetValues lives it is a
/// new one, which may depend on the inputs' values.
Ref<Linearization> linearization_of(const Jaxpr& traced, const std::vector<bool>& nonzero, std::span<const Array> values);

}  // namespace weft::detail
