// The number of processors that this process may use.
#pragma once
#include <string>

namespace weft::detail {

/// The CPU quota of control groups, in processors, rounded up: the least quota of the process's group and of its ancestors; 0: no limit.
/// `root`: the mount point of their file system; `groups`: the text of /proc/self/cgroup.
int cgroup_processors(const std::string& root, const std::string& groups);

/// The number of processors in the calling thread's affinity mask, limited by control groups; at least 1.
int usable_processors();

}  // namespace weft::detail
