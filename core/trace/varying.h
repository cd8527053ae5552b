// Which values differ between the devices of a mesh: what shard_map's check_vma is about (JAX: varying manual axes). While the body of such
// a map is traced, each value has the set of axes over which it may differ. An operation on values of different sets gets pvary equations
// for its operands, so that the transpose of the program sums cotangents just where a value that all devices share meets ones that they
// don't.
#pragma once
#include <cstdint>
#include <optional>

#include "weft/core/trace/trace.h"

namespace weft::detail {

/// A set of checked axes of this thread; bit i is the i-th.
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
bool is_checked(const std::string& axis);
/// Those of the names that are checked axes.
Varying varying_over(const std::vector<std::string>& names);
std::vector<std::string> names_of(Varying v);

/// Whether the current trace notes what varies. A pass that rewrites programs does not: its programs have the marks in them.
bool notes_varying();
/// The axes over which a value may differ. No axes, unless it was computed in a trace that notes them.
Varying varying_of(const Array& x);
std::vector<Varying> varying_of(std::span<const Array> xs);
/// x, marked as varying over these axes too.
Array vary_over(const Array& x, Varying axes, SourceLoc loc);

/// While it lives, the next program that is traced notes what varies; its inputs vary like these values. Does nothing if the current trace
/// notes nothing.
class [[nodiscard]] InputsVary {
 public:
  explicit InputsVary(std::span<const Array> like);
  /// Whatever the current trace does.
  explicit InputsVary(std::vector<Varying> inputs);
  ~InputsVary();
  InputsVary(const InputsVary&) = delete;
  InputsVary& operator=(const InputsVary&) = delete;
};
/// For trace_jaxpr: the trace that InputsVary asks for, or null.
Ref<Trace> take_noting_trace(const std::string& what);
/// For bind_primitive: stages an equation in a trace that notes what varies; nothing if the trace does not.
std::optional<std::vector<Array>> add_noted_eqn(Trace& trace, const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                                std::span<const Aval> out_avals, SourceLoc loc);

}  // namespace weft::detail
