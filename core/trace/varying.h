// Which values vary between the devices of a mesh, for shard_map's check_vma (JAX: varying manual axes). While the body of such a map is
// traced, each value has the set of axes over which it may vary. An operation on values with different sets gets pvary equations for its
// operands, so that the transpose of the program sums cotangents exactly where a replicated value is combined with one that varies. Passes
// that rewrite programs keep these equations.
#pragma once
#include <cstdint>
#include <optional>

#include "weft/core/trace/trace.h"

namespace weft::detail {

/// A set of axes: bit i is the thread's i-th checked axis.
using Varying = std::uint64_t;

/// The axes of a map whose body is traced, or rewritten, while the variable lives.
class [[nodiscard]] CheckedAxes {
 public:
  explicit CheckedAxes(const std::vector<std::string>& names);
  ~CheckedAxes();
  CheckedAxes(const CheckedAxes&) = delete;
  CheckedAxes& operator=(const CheckedAxes&) = delete;

 private:
  std::size_t before_;
};
/// The set of those names that are checked axes.
Varying varying_over(const std::vector<std::string>& names);
std::vector<std::string> names_of(Varying v);

/// Whether the current trace tracks varying axes. Passes that rewrite programs do not: their programs contain the pvary equations already.
bool notes_varying();
/// The axes over which a value may vary; none, unless it was computed in a trace that tracks them.
Varying varying_of(const Array& x);
std::vector<Varying> varying_of(std::span<const Array> xs);
/// x, marked as varying over these axes too.
Array vary_over(const Array& x, Varying axes, SourceLoc loc);

/// While it lives, the next program that is traced tracks varying axes, and its inputs vary like these values. Has no effect if the current
/// trace doesn't track them.
class [[nodiscard]] InputsVary {
 public:
  explicit InputsVary(std::span<const Array> like);
  /// The same with given sets, whether or not the current trace tracks varying axes.
  explicit InputsVary(std::vector<Varying> inputs);
  ~InputsVary();
  InputsVary(const InputsVary&) = delete;
  InputsVary& operator=(const InputsVary&) = delete;
};
/// For trace_jaxpr: the trace that InputsVary asks for, or null.
Ref<Trace> take_noting_trace(const std::string& what);
/// For bind_primitive: stages an equation in a trace that tracks varying axes; nullopt if the trace does not.
std::optional<std::vector<Array>> add_noted_eqn(Trace& trace, const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                                std::span<const Aval> out_avals, SourceLoc loc);

}  // namespace weft::detail
