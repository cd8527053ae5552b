// The partitioned programs of a jitted function, for arguments that are sharded over a mesh. Internal.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/function_ref.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/trees/skeleton.h"
#include "weft/runtime/sharded/sharding.h"
#include "weft/transforms/jit/compiled_function.h"

namespace weft::detail {

/// The partitioned programs of one traced function: one for each mesh, and each sharding of its arguments. Arguments and constraints over
/// several meshes of the same devices in the same order share a program over the mesh of common_mesh. Thread-safe.
class ShardedPrograms {
 public:
  /// The program for these arguments. Null if none of them is sharded and the function doesn't shard values itself, or if it can't be
  /// partitioned. Throws DeviceError for arguments on different devices, ShardingError for arguments over different meshes; both name the
  /// arguments.
  Ref<CompiledFunction> find(const CompiledFunction& f, std::span<const Array> inputs, FunctionRef<Skeleton()> arguments, SourceLoc loc);
  /// The program that find() returned last (`whole` where it returned none), if these arguments have the same placements and the program
  /// takes arrays of any placement; else null. It lives as long as this object.
  CompiledFunction* same_as_last(std::span<const Array> inputs, CompiledFunction& whole) const;

  /// Records that the unpartitioned function runs on arguments with these placements.
  void remember(std::span<const Array> inputs);

 private:
  struct Entry {
    MeshAxes mesh, results_over;
    std::vector<PartitionSpec> specs;
    Ref<CompiledFunction> program;
  };
  /// The placements of one call's arguments. They are compared by address, and kept alive so that the addresses stay theirs.
  struct Known {
    std::vector<Ref<const detail::Placement>> placements;
    Ref<CompiledFunction> program;
  };
  struct Inputs;

  /// Whether the function shards values itself, or captured a sharded one.
  bool shards_values(const CompiledFunction& f);
  /// The function with what it captured as inputs.
  const Hoisted& hoisted(const CompiledFunction& f);
  /// Nothing if none of them is sharded, and the function doesn't shard values over several devices.
  std::optional<Inputs> inputs_on_mesh(std::span<const Array> consts, std::span<const Array> arguments) const;
  /// Null if the function can't be partitioned.
  Ref<CompiledFunction> find_or_partition(const CompiledFunction& f, const Hoisted& h, const Inputs& in);
  [[noreturn]] static void throw_misplaced(const CompiledFunction& f, const Inputs& in, FunctionRef<Skeleton()> arguments, SourceLoc loc);
  /// The mesh to partition over: that of the first sharded input, or a finer one if other meshes of its devices are in use.
  MeshAxes mesh_for(const MeshAxes& first, std::span<const Array> inputs) const;
  void add_known(std::span<const Array> inputs, const Ref<CompiledFunction>& program);

  std::mutex mutex_;
  std::vector<std::unique_ptr<const Known>> known_;
  std::atomic<const Known*> last_{nullptr};  // one of known_
  std::optional<Hoisted> hoisted_;
  std::vector<MeshAxes> constrained_;  // meshes of the function's constraints
  std::optional<bool> shards_values_;
  std::vector<Entry> entries_;
};

/// The program with sharding_constraint equations on the inputs and results that have a placement.
Jaxpr with_constraints(const Jaxpr& j, const std::vector<std::optional<weft::Placement>>& in,
                       const std::vector<std::optional<weft::Placement>>& out, SourceLoc loc);

}  // namespace weft::detail
