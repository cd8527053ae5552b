#include "weft/runtime/host/cpu_limit.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace weft::detail {
namespace {

/// The processors of a quota and its period in microseconds; 0: no limit.
int processors(long long quota, long long period) {
  return quota > 0 && period > 0 ? static_cast<int>(std::min((quota + period - 1) / period, 1LL << 20)) : 0;
}
int less(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

long long number(const std::string& path) {
  long long n = 0;
  std::ifstream(path) >> n;
  return n;
}

int of_folder(const std::string& folder, bool unified) {
  if (!unified) return processors(number(folder + "/cpu.cfs_quota_us"), number(folder + "/cpu.cfs_period_us"));
  std::ifstream in(folder + "/cpu.max");
  long long quota = 0, period = 0;
  return in >> quota >> period ? processors(quota, period) : 0;  // "max" is not a number
}

/// The least limit of a control group and its ancestors; those that can't be seen from here are taken to have none.
int of_group(const std::string& mount, std::string group, bool unified) {
  int least = 0;
  for (;;) {
    least = less(least, of_folder(mount + group, unified));
    const std::size_t slash = group.rfind('/');
    if (group.empty() || slash == std::string::npos) return least;
    group.resize(slash);
  }
}

std::string text_of(const char* path) {
  std::stringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}

}  // namespace

int cgroup_processors(const std::string& root, const std::string& groups) {
  int least = 0;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    // number:controllers:group
    const std::size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty()) {
      least = less(least, of_group(root, group, true));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      const int named = of_group(root + "/" + controllers, group, false);
      least = less(least, named ? named : of_group(root + "/cpu", group, false));
    }
  }
  return least;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(std::thread::hardware_concurrency());
  const int quota = cgroup_processors("/sys/fs/cgroup", text_of("/proc/self/cgroup"));
  return std::max(1, less(allowed, quota));
}

}  // namespace weft::detail
