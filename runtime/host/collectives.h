// Collectives, and how the devices of one process execute them: by combining their buffers. Host devices share memory, so equal results of
// several devices are one buffer.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/ops/collective/collective.h"

namespace weft::detail {

/// Positions in a mesh that communicate, each group in order of its index along the axes. Collectives along the same axes share them: of
/// many devices they are long.
using DeviceGroups = std::shared_ptr<const std::vector<std::vector<int>>>;
inline DeviceGroups device_groups(std::vector<std::vector<int>> groups) {
  return std::make_shared<const std::vector<std::vector<int>>>(std::move(groups));
}

/// One collective equation on one mesh.
struct CollectivePlan {
  Exchange exchange = Exchange::allreduce;
  Combiner combiner = Combiner::sum;  ///< of all_reduce and reduce_scatter: sum, max or min
  DeviceGroups groups;
  Aval in, out;  ///< of each device
  ExchangeParts parts;
  std::string operation;  ///< for messages: the primitive, the axes it names, the user's line
  std::vector<std::string> axes;
  SourceLoc loc;
  std::uint64_t program = 0;  ///< a hash of the program that it belongs to, where all processes must run the same one; 0: they needn't
};
/// The collective of an equation that exchanges data; its axes are all in the mesh.
CollectivePlan plan_collective(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out, DeviceGroups groups,
                               SourceLoc loc = {});

/// What it sends from one host device to another, all devices together; on accelerators the library that runs it decides.
std::int64_t bytes_moved(const CollectivePlan& plan);
/// `psum over i of f32[2] on each of 4 devices to f32[2]; 48 bytes moved`.
std::string to_string(const CollectivePlan& plan);

/// Executes the collective: in[k] is the operand of the device at position k, out[k] its result; `device_ids` are those of the positions.
/// GPUs may belong to other processes; in[k] is null for those. Sums are taken in the order of a balanced tree over the group, so that
/// results depend neither on threads nor on processes.
void run_collective(const CollectivePlan& plan, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                    std::span<const int> device_ids);

/// Counts of the collectives executed since the process began.
struct CollectiveCounters {
  std::int64_t calls = 0;        ///< collectives run
  std::int64_t bytes_moved = 0;  ///< sent from one device to another
};
CollectiveCounters collective_counters();
/// Counts one collective.
void count_collective(std::int64_t bytes_moved);
/// The same without atomic operations, for callers that are one thread at a time.
void count_collective_in_turn(std::int64_t bytes_moved);

}  // namespace weft::detail
