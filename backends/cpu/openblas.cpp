#include "weft/backends/cpu/openblas.h"

#include <cblas.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>
#include <vector>

#include "weft/backends/cpu/openblas_core.h"

extern "C" __attribute__((weak)) int blas_thread_shutdown_();  // in no header of OpenBLAS

namespace weft::detail {
namespace {

int threads_of_process() {
  struct stat tasks{};
  return stat("/proc/self/task", &tasks) == 0 ? static_cast<int>(tasks.st_nlink) - 2 : -1;
}
void end_library_threads() {
  if (&blas_thread_shutdown_ != nullptr) blas_thread_shutdown_();
}

// OpenBLAS starts a thread for every processor when it is loaded, and they spin for a tenth of a second, just when a program compiles and
// first runs. weft never uses them, so they are ended; OpenBLAS starts them again for other users. Only if the process has no other
// threads, of which one might be inside OpenBLAS.
[[maybe_unused]] const bool ended = [] {
  const bool is_idle = threads_of_process() == openblas_get_num_threads();
  if (is_idle) end_library_threads();
  if (is_idle || !others_use_openblas()) use_avx2_if_unknown();
  return true;
}();

/// Starts n threads at once and ends them; throws std::system_error if they can't be created. OpenBLAS raises SIGINT if it can't start its
/// own threads, under a memory limit for example.
void try_threads(int n) {
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  const auto end_all = [&] {
    end = true;
    end.notify_all();
    for (std::thread& t : threads) t.join();
  };
  try {
    for (int i = 0; i < n; ++i) threads.emplace_back([&] { end.wait(false); });
  } catch (...) {
    end_all();
    throw;
  }
  end_all();
}

}  // namespace

void use_one_blas_thread() {
  static const bool done = [] {
    const int before = threads_of_process(), others = openblas_get_num_threads() - 1;
    if (others > 0) try_threads(others);
    openblas_set_num_threads(1);  // which starts them, if there are none
    if (threads_of_process() == before + others) end_library_threads();
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace weft::detail
