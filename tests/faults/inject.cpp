// Preloaded in front of the library: makes the n-th call of a kind fail, as tests/faults/inject.h says.
//
//     LD_PRELOAD=build/tests/libfaults.so build/tests/test_faults
//
// What counts is who calls: the library, and for memory also the program, into which its templates are compiled. A call that libstdc++
// makes counts as that of whoever called it, and LAPACKE's own memory as the library's, which is told of it. LLVM, oneDNN, OpenBLAS and MPI
// end the process where they get no memory, and are left out.
#include "tests/faults/inject.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

struct Range {
  std::uintptr_t begin, end;
};
enum Who { kOther, kLibrary, kProgram, kStandard };
struct Module {
  Range text;
  Who who;
};

std::atomic<int> armed{-1};
std::atomic<long> calls{0}, failed{0}, first{0}, last{0};
std::atomic<int> error_code{0};
Module modules[64];
int num_modules = 0;
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

int add_module(dl_phdr_info* info, std::size_t, void*) {
  const char* name = info->dlpi_name ? info->dlpi_name : "";
  const Who who = std::strstr(name, "libweft") || std::strstr(name, "liblapacke") ? kLibrary
                  : std::strstr(name, "libstdc++")                                ? kStandard
                  : !*name                                                        ? kProgram
                                                                                  : kOther;
  for (int i = 0; who != kOther && i < info->dlpi_phnum && num_modules < 64; ++i)
    if (const auto& p = info->dlpi_phdr[i]; p.p_type == PT_LOAD && (p.p_flags & PF_X))
      modules[num_modules++] = {{info->dlpi_addr + p.p_vaddr, info->dlpi_addr + p.p_vaddr + p.p_memsz}, who};
  return 0;
}
Who who_is(std::uintptr_t pc) {
  for (int i = 0; i < num_modules; ++i)
    if (pc >= modules[i].text.begin && pc < modules[i].text.end) return modules[i].who;
  return kOther;
}

struct Walk {
  bool reached = false;
  Who who = kOther;
};
_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  Walk& w = *static_cast<Walk*>(data);
  const Who who = who_is(_Unwind_GetIP(context));
  // The first frames are of this library.
  w.reached |= who == kStandard;
  if (!w.reached || who == kStandard) return _URC_NO_REASON;
  w.who = who;
  return _URC_END_OF_STACK;
}

/// Whether this call is to fail; errno is then set.
bool fails(WeftFault kind, void* caller) {
  if (armed.load(std::memory_order_acquire) != kind || inside) return false;
  inside = true;
  Who who = who_is(reinterpret_cast<std::uintptr_t>(caller));
  if (who == kStandard) {
    Walk w;
    _Unwind_Backtrace(visit, &w);
    who = w.who;
  }
  inside = false;
  if (who != kLibrary && !(who == kProgram && kind == kFaultMemory)) return false;
  const long n = calls.fetch_add(1) + 1;
  if (n < first.load() || n > last.load()) return false;
  failed.fetch_add(1);
  static const bool tells = getenv("WEFT_FAULTS_TELL") != nullptr;
  if (tells) {
    inside = true;
    Dl_info info{};
    dladdr(caller, &info);
    dprintf(2, "fault: call %ld of kind %d from %s+%zx\n", n, kind, info.dli_fname ? info.dli_fname : "?",
            static_cast<std::size_t>(static_cast<char*>(caller) - static_cast<char*>(info.dli_fbase)));
    inside = false;
  }
  errno = error_code.load();
  return true;
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

void* allocate(std::size_t bytes, void* caller) {
  void* p = fails(kFaultMemory, caller) ? nullptr : __libc_malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
void* allocate(std::size_t bytes, std::align_val_t alignment, void* caller) {
  void* p = fails(kFaultMemory, caller) ? nullptr : __libc_memalign(static_cast<std::size_t>(alignment), bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

#define CALLER __builtin_return_address(0)
#define EXPORT __attribute__((visibility("default")))

EXPORT void* operator new(std::size_t n) { return allocate(n, CALLER); }
EXPORT void* operator new[](std::size_t n) { return allocate(n, CALLER); }
EXPORT void* operator new(std::size_t n, std::align_val_t a) { return allocate(n, a, CALLER); }
EXPORT void* operator new[](std::size_t n, std::align_val_t a) { return allocate(n, a, CALLER); }
EXPORT void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return fails(kFaultMemory, CALLER) ? nullptr : __libc_malloc(n);
}
EXPORT void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return fails(kFaultMemory, CALLER) ? nullptr : __libc_malloc(n);
}

extern "C" {

EXPORT void weft_faults_arm(WeftFault kind, long n, long more, int error) {
  num_modules = 0;
  dl_iterate_phdr(add_module, nullptr);
  calls = 0, failed = 0, first = n, last = n + more, error_code = error;
  armed.store(kind, std::memory_order_release);
}
EXPORT void weft_faults_disarm(long* calls_made, long* calls_failed) {
  armed.store(-1, std::memory_order_release);
  *calls_made = calls, *calls_failed = failed;
}

EXPORT void* malloc(std::size_t n) { return fails(kFaultMemory, CALLER) ? nullptr : __libc_malloc(n); }
EXPORT void* calloc(std::size_t n, std::size_t size) { return fails(kFaultMemory, CALLER) ? nullptr : __libc_calloc(n, size); }
EXPORT void* realloc(void* p, std::size_t n) { return fails(kFaultMemory, CALLER) ? nullptr : __libc_realloc(p, n); }
EXPORT void* aligned_alloc(std::size_t alignment, std::size_t n) {
  return fails(kFaultMemory, CALLER) ? nullptr : __libc_memalign(alignment, n);
}
EXPORT int posix_memalign(void** p, std::size_t alignment, std::size_t n) {
  if (fails(kFaultMemory, CALLER)) return ENOMEM;
  *p = __libc_memalign(alignment, n);
  return *p ? 0 : ENOMEM;
}

#define FAIL_OR(kind, failure, type, name, ...) \
  static const auto real = next<type>(name);    \
  return fails(kind, CALLER) ? failure : real(__VA_ARGS__)

EXPORT void* mmap(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  FAIL_OR(kFaultMap, MAP_FAILED, decltype(&::mmap), "mmap", at, n, protection, flags, fd, offset);
}
EXPORT void* mmap64(void* at, std::size_t n, int protection, int flags, int fd, off64_t offset) noexcept {
  FAIL_OR(kFaultMap, MAP_FAILED, decltype(&::mmap64), "mmap64", at, n, protection, flags, fd, offset);
}

using Open = int (*)(const char*, int, mode_t);
using OpenAt = int (*)(int, const char*, int, mode_t);
EXPORT int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  FAIL_OR(kFaultOpen, -1, Open, "open", path, flags, mode);
}
EXPORT int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  FAIL_OR(kFaultOpen, -1, Open, "open64", path, flags, mode);
}
EXPORT int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  FAIL_OR(kFaultOpen, -1, OpenAt, "openat", folder, path, flags, mode);
}
EXPORT int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  FAIL_OR(kFaultOpen, -1, OpenAt, "openat64", folder, path, flags, mode);
}
EXPORT FILE* fopen(const char* path, const char* mode) { FAIL_OR(kFaultOpen, nullptr, decltype(&::fopen), "fopen", path, mode); }
EXPORT FILE* fopen64(const char* path, const char* mode) { FAIL_OR(kFaultOpen, nullptr, decltype(&::fopen64), "fopen64", path, mode); }

EXPORT ssize_t read(int fd, void* to, std::size_t n) { FAIL_OR(kFaultRead, -1, decltype(&::read), "read", fd, to, n); }
EXPORT ssize_t pread(int fd, void* to, std::size_t n, off_t at) { FAIL_OR(kFaultRead, -1, decltype(&::pread), "pread", fd, to, n, at); }
EXPORT ssize_t pread64(int fd, void* to, std::size_t n, off64_t at) {
  FAIL_OR(kFaultRead, -1, decltype(&::pread64), "pread64", fd, to, n, at);
}
EXPORT ssize_t write(int fd, const void* from, std::size_t n) { FAIL_OR(kFaultWrite, -1, decltype(&::write), "write", fd, from, n); }
EXPORT ssize_t pwrite64(int fd, const void* from, std::size_t n, off64_t at) {
  FAIL_OR(kFaultWrite, -1, decltype(&::pwrite64), "pwrite64", fd, from, n, at);
}
EXPORT int fsync(int fd) { FAIL_OR(kFaultSync, -1, decltype(&::fsync), "fsync", fd); }

EXPORT int rename(const char* from, const char* to) noexcept { FAIL_OR(kFaultRename, -1, decltype(&::rename), "rename", from, to); }
EXPORT int renameat(int a, const char* from, int b, const char* to) noexcept {
  FAIL_OR(kFaultRename, -1, decltype(&::renameat), "renameat", a, from, b, to);
}
EXPORT int linkat(int a, const char* from, int b, const char* to, int flags) noexcept {
  FAIL_OR(kFaultRename, -1, decltype(&::linkat), "linkat", a, from, b, to, flags);
}
EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
  FAIL_OR(kFaultThread, EAGAIN, decltype(&::pthread_create), "pthread_create", thread, attributes, run, argument);
}
EXPORT void* dlopen(const char* name, int flags) noexcept {
  static const auto real = next<decltype(&::dlopen)>("dlopen");
  return real(fails(kFaultLibrary, CALLER) ? "/no library where a fault is wanted" : name, flags);
}

}  // extern "C"
