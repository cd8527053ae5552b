// NCCL's communicators: the devices that share one, in one process or several, and when all of them are destroyed.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/backends/cuda/libraries/nccl.h"
#include "weft/runtime/processes/process_world.h"

namespace weft::detail::cuda {

/// The processes of some devices, in order; empty if all are this one's.
std::vector<int> processes_across(const std::vector<int>& device_ids);

/// For one of the groups of positions into which a collective divides a mesh's devices: a communicator for each of this process's devices
/// in it, in the group's order. Made at the first use: the mesh's, then by one split those of all groups. Where the mesh has devices of
/// several processes, all of these call it, in one order; they agree on what they make before they make it. Throws DistributedError.
std::vector<nccl::Comm> communicators_of(const std::vector<int>& mesh, const std::vector<std::vector<int>>& groups, std::size_t which,
                                         const CollectiveLabel& label);

/// f's status. Among several processes f may wait for others for ever: a thread of its own calls it, which is left behind if one of them
/// is gone, has given up, or does not come in time; then throws DistributedError.
int guarded(const std::vector<int>& processes, const CollectiveLabel& label, std::function<int()> f);

/// Registered by owners of graphs that use communicators: `drop` is called before the communicators are aborted.
class KeepsCollectives {
 public:
  explicit KeepsCollectives(std::function<void()> drop);
  ~KeepsCollectives();
  KeepsCollectives(const KeepsCollectives&) = delete;
  KeepsCollectives& operator=(const KeepsCollectives&) = delete;
  void drop() const { drop_(); }

 private:
  std::function<void()> drop_;
};
/// The number of times that communicators have been aborted; graphs captured before an abort are invalid.
std::uint64_t communicators_aborted();
/// After a failure nothing can be done with communicators but to abort them; the next collective makes new ones. `why` is told to the other
/// processes, which abort theirs; empty: they know.
void abort_communicators(const std::string& why);
/// The asynchronous error that NCCL reports for a communicator, or 0.
int asynchronous_error();

}  // namespace weft::detail::cuda
