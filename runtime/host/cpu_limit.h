// How many processors this process may use.
#pragma once
#include <string>

namespace weft::detail {

/// What control groups allow, in processors, rounded up: the least quota of the process's group and of the groups around it; 0: no limit.
/// `root`: where their file system is; `groups`: the text of /proc/self/cgroup.
int cgroup_processors(const std::string& root, const std::string& groups);

/// At least 1: the calling thread's affinity mask, cut to what control groups allow.
int usable_processors();

}  // namespace weft::detail
