// Preloaded in front of the library: every array ends where its memory ends, with nothing mapped before and behind, and its memory is gone
// once it is released. Generated code that leaves an array then dies at that instruction; sanitizers don't see into such code.
//
//     LD_PRELOAD=build/tests/libmemory_guard.so build/tools/fuzz/weft-fuzz --seed 1 --count 1000
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignedAbove = 4 << 20;  // what is stored past the caches stands at whole vectors: only pages behind it are guarded
constexpr int kCaught = 99;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
std::size_t room(std::size_t bytes) { return whole_pages(bytes > 0 ? bytes : 1); }
std::size_t first_byte(std::size_t bytes) { return kPage + (bytes >= kAlignedAbove ? 0 : room(bytes) - bytes); }

/// OpenBLAS's kernels for complex matrices read a few elements past the end and don't use them: that page is then given to them.
bool pardoned(void* pc, void* address) {
  Dl_info where{};
  if (!dladdr(pc, &where) || !where.dli_fname || !std::strstr(where.dli_fname, "openblas")) return false;
  const auto page = reinterpret_cast<std::uintptr_t>(address) / kPage * kPage;
  return mprotect(reinterpret_cast<void*>(page), kPage, PROT_READ | PROT_WRITE) == 0;
}

void on_fault(int, siginfo_t* info, void* context) {
  void* pc = reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  if (pardoned(pc, info->si_addr)) return;
  std::fprintf(stderr, "memory guard: %p is outside of every array; reached from %p\n", info->si_addr, pc);
  void* frames[40];
  backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
  _exit(kCaught);
}

}  // namespace

/// Others' handlers would only say that the program crashed.
extern "C" __attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                                struct sigaction* old) noexcept {
  static const auto real = reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(dlsym(RTLD_NEXT, "sigaction"));
  if (number != SIGSEGV || !action || action->sa_sigaction == on_fault) return real(number, action, old);
  if (old) std::memset(old, 0, sizeof *old);
  return 0;
}

namespace weft::detail {

__attribute__((visibility("default"))) void* allocate_host(std::size_t bytes, int) {
  void* all = mmap(nullptr, room(bytes) + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  char* const inner = static_cast<char*>(all) + kPage;
  if (mprotect(inner, room(bytes), PROT_READ | PROT_WRITE) != 0) {
    munmap(all, room(bytes) + 2 * kPage);
    throw std::bad_alloc();
  }
  if (bytes < kAlignedAbove) std::memset(inner, 0xff, room(bytes));  // NaN where nothing was written
  return static_cast<char*>(all) + first_byte(bytes);
}

__attribute__((visibility("default"))) void release_host(void* p, std::size_t bytes, int) noexcept {
  munmap(static_cast<char*>(p) - first_byte(bytes), room(bytes) + 2 * kPage);
}

}  // namespace weft::detail

namespace {
[[gnu::constructor]] void install() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}
}  // namespace
