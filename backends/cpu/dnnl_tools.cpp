#include "weft/backends/cpu/dnnl_tools.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "weft/core/base/process_wide.h"
#include "weft/core/base/thread_object.h"

namespace weft::detail {

void forbid_library_threads() {
  // oneDNN's threading runtime is looked up by name, as its builds differ in it.
  thread_local const bool done = [] {
    if (void* f = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(f)(1);
    return true;
  }();
  (void)done;
}

const dnnl::engine& library_engine() {
  static const auto& e = process_wide<dnnl::engine>(dnnl::engine::kind::cpu, 0u);
  return e;
}
const dnnl::stream& library_stream() {
  struct Stream {
    dnnl::stream s{library_engine()};
  };
  return of_thread<Stream>().s;
}
void require_library_memory() {
  constexpr std::size_t enough = 32 << 20;
  void* const memory = mmap(nullptr, enough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  munmap(memory, enough);
}
void* library_scratch(std::size_t bytes) {
  struct Scratch {
    std::unique_ptr<char, decltype(&std::free)> memory{nullptr, &std::free};
    std::size_t size = 0;
  };
  auto& [memory, size] = of_thread<Scratch>();
  if (bytes > size) {
    // Much of it is one huge page, which is mapped in a third of the time that its 512 small ones take.
    constexpr std::size_t huge = 2 << 20;
    const std::size_t page = bytes > huge / 4 ? huge : 4096;
    const std::size_t wanted = (bytes + page - 1) / page * page;
    memory.reset(), size = 0;
    memory.reset(static_cast<char*>(std::aligned_alloc(page, wanted)));
    if (!memory) throw std::bad_alloc();
    size = wanted;
    if (page == huge) madvise(memory.get(), size, MADV_HUGEPAGE);  // only advice
  }
  return memory.get();
}

}  // namespace weft::detail
