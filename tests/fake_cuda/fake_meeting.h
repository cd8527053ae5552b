// Where the ranks of a fake communicator meet that are several processes': a folder, in which each leaves files for the others. Waits are
// bounded: FAKE_NCCL_WAIT seconds (120).
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fake_cuda {

constexpr int kNotYet = -1;  ///< what a collective says while other processes have not come to it

class Folder {
 public:
  /// A new one, in TMPDIR; empty if there can be none.
  static std::string make() {
    static std::atomic<int> made{0};
    const char* top = std::getenv("TMPDIR");
    const std::string start = std::string(top ? top : "/tmp") + "/fake_nccl_" + std::to_string(getpid()) + "_";
    // A process of this number that was killed may have left some.
    for (int tries = 0; tries < 1000; ++tries)
      if (const std::string path = start + std::to_string(made++); mkdir(path.c_str(), 0700) == 0) return path;
    return {};
  }
  explicit Folder(std::string path) : path_(std::move(path)) { mkdir(path_.c_str(), 0700); }
  const std::string& path() const { return path_; }

  /// Appears to the others whole.
  void write(const std::string& name, const std::string& bytes) {
    const std::string hidden = path_ + "/." + name;
    std::ofstream(hidden, std::ios::binary) << bytes;
    {
      const std::lock_guard lock(mutex_);
      own_.insert(name);
    }
    std::rename(hidden.c_str(), (path_ + "/" + name).c_str());
  }
  bool has(const std::string& name) const { return access((path_ + "/" + name).c_str(), F_OK) == 0; }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    own_.erase(name);
    unlink((path_ + "/" + name).c_str());
  }
  /// What all ranks have written as `prefix` with their number, when all have read it: from then on each may leave. False: not in time.
  bool read_of_all(const std::string& prefix, int ranks, const std::vector<int>& own, const char* call, std::vector<std::string>& texts) {
    for (int r = 0; r < ranks; ++r) {
      const std::string name = prefix + std::to_string(r);
      if (!wait_for(name, call, [&] { return has(name); })) return false;
      texts.push_back(read(name));
    }
    for (int r : own) write("read." + prefix + std::to_string(r), "");
    for (int r = 0; r < ranks; ++r) {
      const std::string name = prefix + std::to_string(r), done = "read." + name;
      if (!wait_for(done, call, [&] { return has(done) || !has(name); })) return false;
    }
    return true;
  }
  /// This process's files go; with the last one's the folder.
  void leave() {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : own_) unlink((path_ + "/" + name).c_str());
    own_.clear();
    rmdir(path_.c_str());
  }

 private:
  template <class F>
  static bool wait_for(const std::string& name, const char* call, F there) {
    const char* given = std::getenv("FAKE_NCCL_WAIT");
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(given ? static_cast<int>(1000 * std::atof(given)) : 120'000);
    while (!there()) {
      if (std::chrono::steady_clock::now() > until) {
        std::fprintf(stderr, "fake NCCL: %s: no `%s` has come; the real one would wait for ever\n", call, name.c_str());
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  const std::string path_;
  std::mutex mutex_;
  std::set<std::string> own_;
};

}  // namespace fake_cuda
