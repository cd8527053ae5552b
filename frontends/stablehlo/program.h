// A whole StableHLO module: its program, and what it states about devices, memory and names. For code that runs programs on behalf of
// others (frontends/pjrt); <weft/stablehlo.h> is for users.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/partition_spec.h"

namespace weft::detail {
namespace mlir {
struct NarrowFormat;
}

/// Devices in a grid of named axes, as `sdy.mesh` declares them. `axes.device_ids` is empty where the module doesn't list devices: then
/// they are 0, 1, ... in row-major order of the axes.
struct ProgramMesh {
  std::string name;  ///< empty: is within a sharding
  MeshAxes axes;
};

/// How an array is sharded over a mesh (`sdy.sharding`).
struct ProgramSharding {
  ProgramMesh mesh;
  PartitionSpec spec;       ///< the axes of each dimension, the slowest first
  std::vector<bool> open;   ///< for each dimension: whether it may be sharded further; empty: none may
  bool is_maximal = false;  ///< the array is whole on the one device that the mesh lists
  /// Axes along which each device holds an addend: the array is the sum of them.
  std::vector<std::string> unreduced = {};
};

/// What a module says of an argument or a result of @main.
struct ProgramValue {
  ShapeDtypeStruct type;
  const mlir::NarrowFormat* narrow = nullptr;  ///< its elements, where weft has no dtype of them and keeps them as wider ones
  std::string name;  ///< of an argument: the path in the arguments of the traced function, `x`, `params['w']`; may be empty
  std::optional<ProgramSharding> sharding;  ///< sdy.sharding, or mhlo.sharding; none: it isn't said, and may be chosen
  std::string other_sharding;               ///< an mhlo.sharding that is no ProgramSharding, as it is written; empty: none
  std::string memory_kind;                  ///< mhlo.memory_kind: device, pinned_host, ...; empty: none
  std::string layout_mode;                  ///< mhlo.layout_mode: default, auto, or an order of dimensions; empty: none
  std::optional<int> aliased_result;        ///< of an argument, tf.aliasing_output: the result that may have its memory
  bool is_donated = false;                  ///< of an argument, jax.buffer_donor: any result may have its memory
  std::string result_info;                  ///< of a result, jax.result_info: `result[0]['w']`; may be empty
};

/// A module: its function @main as a program of whole arrays. Parts that a module says one device of a mesh does (`sdy.manual_computation`)
/// are shard_map equations, values whose sharding it states (`sdy.sharding_constraint`) sharding_constraint equations. Of several replicas
/// the program takes and gives what all of them have, each array with a leading dimension of replicas; types are those of one.
struct ImportedProgram {
  std::string name;  ///< of the module: jit_f
  Jaxpr jaxpr;
  std::vector<ProgramValue> arguments, results;
  std::vector<ProgramMesh> meshes;
  int num_partitions = 1, num_replicas = 1;  ///< mhlo.num_partitions, mhlo.num_replicas
};

/// Reads a module in StableHLO's text form, or in MLIR bytecode (a portable artifact, told by its first four bytes). `name` names it in
/// errors. Throws Error for what is damaged or unknown: the message begins with the line and column of a text, or the byte of bytecode, and
/// then names the line of the program that was written down, where the module says it.
ImportedProgram import_program(std::string_view module, const std::string& name, SourceLoc loc);

}  // namespace weft::detail
