// A compiled shard_map: whole arrays in, sharded arrays out.
#pragma once
#include <atomic>

#include "weft/runtime/sharded/mapped_replay.h"
#include "weft/runtime/sharded/sharding.h"
#include "weft/runtime/sharded/spmd_body.h"

namespace weft::detail {

/// A map's parameters as it runs: inner maps are spread over the available devices, and their values sharded.
ShardMapParams params_as_run(const ShardMapParams& p);

class SpmdProgram final : public RefCounted {
 public:
  /// Compiles the body's segments with the backend.
  /// `donated`: for each operand, whether its memory may be taken; empty: none.
  SpmdProgram(const ShardMapParams& params, Backend& backend, const std::string& name, std::vector<bool> donated);
  /// Runs on concrete arrays and literals of the operands' types, sharded or not; those that have the program's placement are not copied.
  /// Throws DeviceError for an operand that is committed to devices outside of the program's mesh.
  std::vector<Array> run(std::span<const Array> inputs, SourceLoc loc);
  const ShardMapParams& params() const { return params_; }
  const Mesh& mesh() const { return mesh_; }
  const SpmdBody& body() const { return body_; }

 private:
  DeviceBuffers on_each_local(const Ref<Buffer>& value) const;
  DeviceBuffers operand(std::size_t i, const Array& x, SourceLoc loc);
  DeviceBuffers taken_operand(std::size_t i, const Array& x, SourceLoc loc);

  ShardMapParams params_;
  std::vector<bool> donated_;
  Mesh mesh_;
  Hoisted flat_;
  SpmdBody body_;
  std::vector<Aval> in_avals_, out_avals_;              // of blocks, and of whole results
  std::vector<Ref<const Placement>> placements_;        // of the results
  std::vector<std::atomic<const Placement*>> fitting_;  // of each operand, the last placement that needed no copy
  std::vector<Ref<const Placement>> keep_alive_;
  std::vector<std::size_t> local_;        // positions of this process's devices
  std::vector<DeviceBuffers> constants_;  // of a program on accelerators: for each device
  std::unique_ptr<MappedReplay> replay_;  // null: runs step by step
};

/// The program of a shard_map equation, compiled once for equal parameters.
Ref<SpmdProgram> spmd_program(const ParamsRef& params, Backend& backend, const std::vector<bool>& donated = {});

}  // namespace weft::detail
