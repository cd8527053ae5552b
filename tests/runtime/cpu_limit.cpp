// The number of threads, where a group of processes may use only some of the processors.
#include "weft/runtime/host/cpu_limit.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/folder.h"
#include "tests/runtime/devices.h"
#include "weft/runtime/host/thread_pool.h"

using namespace weft;
using namespace weft::detail;
namespace fs = std::filesystem;

namespace {

struct Groups : test::Folder {
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(path + "/" + file).parent_path());
    std::ofstream(path + "/" + file) << text;
  }
};

/// How often threads other than this one went to sleep.
long long sleeps_of_others() {
  long long sum = 0;
  for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(gettid())) continue;
    std::ifstream in(thread.path() / "status");
    for (std::string word; in >> word;)
      if (word == "voluntary_ctxt_switches:") {
        long long n = 0;
        in >> n;
        sum += n;
      }
  }
  return sum;
}

/// What this binary says of its threads when it is started with the given environment.
std::string threads_of_child(const std::string& environment) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const std::string command = environment + " '" + self + "' --no-skip -tc='tells its number of threads' 2>&1";
  std::string text;
  std::FILE* out = popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  for (int c = 0; (c = std::fgetc(out)) != EOF;) text += static_cast<char>(c);
  pclose(out);
  return text;
}

/// Only one of the processors that this thread may use, within a scope; of its children too.
class OneProcessor {
 public:
  OneProcessor() {
    CPU_ZERO(&before_);
    sched_getaffinity(0, sizeof before_, &before_);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  int all() const { return CPU_COUNT(&before_); }

 private:
  cpu_set_t before_;
};

}  // namespace

TEST_CASE("tells its number of threads" * doctest::skip()) { std::printf("threads: %d.\n", num_threads()); }

TEST_CASE("quotas of control groups count, also those of groups around") {
  const Groups g;
  CHECK(cgroup_processors(g.path, "0::/a/b\n") == 0);
  g.write("a/b/cpu.max", "max 100000\n");
  CHECK(cgroup_processors(g.path, "0::/a/b\n") == 0);
  g.write("a/cpu.max", "250000 100000\n");
  CHECK(cgroup_processors(g.path, "0::/a/b\n") == 3);
  g.write("a/b/cpu.max", "150000 100000\n");
  CHECK(cgroup_processors(g.path, "0::/a/b\n") == 2);
  CHECK(cgroup_processors(g.path, "0::/\n") == 0);
  g.write("cpu.max", "50000 100000\n");
  CHECK(cgroup_processors(g.path, "0::/a/b\n") == 1);
  CHECK(cgroup_processors(g.path, "0::/\n") == 1);
  // A group that is not to be seen from within a container.
  CHECK(cgroup_processors(g.path, "0::/elsewhere/c\n") == 1);
}

TEST_CASE("quotas of the older control groups") {
  const Groups g;
  const std::string groups = "4:memory:/m\n3:cpu,cpuacct:/a\n0::/\nnonsense\n";
  CHECK(cgroup_processors(g.path, groups) == 0);
  g.write("cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  g.write("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_processors(g.path, groups) == 0);
  g.write("cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  CHECK(cgroup_processors(g.path, groups) == 4);
  const Groups short_name;
  short_name.write("cpu/a/cpu.cfs_quota_us", "100001\n");
  short_name.write("cpu/a/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_processors(short_name.path, groups) == 2);
}

TEST_CASE("the affinity mask counts") {
  {
    const OneProcessor only;
    CHECK(usable_processors() == 1);
    CHECK(threads_of_child("").find("threads: 1.") != std::string::npos);
    CHECK(usable_processors() <= only.all());
  }
  CHECK(usable_processors() >= 1);
}

TEST_CASE("WEFT_NUM_THREADS says how many threads, or what is wrong with it") {
  CHECK(threads_of_child("WEFT_NUM_THREADS=3").find("threads: 3.") != std::string::npos);
  CHECK(threads_of_child("WEFT_NUM_THREADS=1").find("threads: 1.") != std::string::npos);
  // A variable that is empty counts as not set.
  CHECK(threads_of_child("WEFT_NUM_THREADS=") == threads_of_child(""));
  for (const char* wrong : {"0", "-1", "two", "5000", "2x"}) {
    const std::string said = threads_of_child(std::string("WEFT_NUM_THREADS=") + wrong);
    CAPTURE(said);
    CHECK(said.find("it must be a number from 1 to 1024") != std::string::npos);
  }
}

TEST_CASE("small work wakes nobody") {
  const auto f = jit([](Array x) { return sum(tanh(x) * 2 + x); });
  const Array x = ones(1000);
  f(x).block_until_ready();
  parallel_for(num_threads(), [](std::int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // threads of the pool look for work for a moment before they sleep
  const long long before = sleeps_of_others();
  for (int i = 0; i < 1000; ++i) f(x).block_until_ready();
  CHECK(sleeps_of_others() - before < 500);  // each call that woke one would count
}
