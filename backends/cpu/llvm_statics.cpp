// Keeps the function-local statics of LLVM from being destroyed.
//
// LLVM has variables within functions (tables of value types, names of library functions, streams) that register their destructors when
// they are made, which is while a program compiles. Those destructors would run before older exit handlers and static destructors of the
// program, and while other threads compile. So the address by which the library that contains LLVM calls __cxa_atexit is replaced when weft
// is loaded: later registrations are dropped. LLVM's statics at namespace scope were registered when it was loaded; weft's handler of the
// process's end runs before them.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <llvm/TargetParser/Host.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "weft/runtime/host/process_end.h"

namespace weft::detail {
namespace {

using Register = int (*)(void (*)(void*), void*, void*);
Register original = nullptr;

/// Handlers without an object, as std::atexit registers them, may be weft's own where LLVM is linked into it.
int forget_destructors(void (*function)(void*), void* object, void* library) {
  return object || !original ? 0 : original(function, object, library);
}

struct Module {
  std::uintptr_t inside;  ///< an address of it
  std::uintptr_t base = 0;
  std::span<const ElfW(Phdr)> headers;
  bool holds(const ElfW(Phdr) & h) const { return inside - base - h.p_vaddr < h.p_memsz; }
};

Module module_of(const void* address) {
  Module m{reinterpret_cast<std::uintptr_t>(address), 0, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* wanted) {
        auto& found = *static_cast<Module*>(wanted);
        const Module here{found.inside, info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}};
        for (const ElfW(Phdr) & h : here.headers)
          if (h.p_type == PT_LOAD && here.holds(h)) {
            found = here;
            return 1;
          }
        return 0;
      },
      &m);
  return m;
}

/// Finds the table entries that hold the address of a function of another library.
template <class F>
void each_place_of(const Module& m, std::string_view name, F&& f) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (const ElfW(Phdr) & h : m.headers)
    if (h.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(m.base + h.p_vaddr);
  if (!dynamic) return;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* data = nullptr, *calls = nullptr;
  std::size_t data_bytes = 0, calls_bytes = 0, without_symbol = 0;
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) switch (d->d_tag) {
      // The loader has relocated the file's offsets to addresses.
      case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr); break;
      case DT_STRTAB: names = reinterpret_cast<const char*>(d->d_un.d_ptr); break;
      case DT_RELA: data = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr); break;
      case DT_RELASZ: data_bytes = d->d_un.d_val; break;
      case DT_RELACOUNT: without_symbol = d->d_un.d_val; break;  // the first ones
      case DT_JMPREL: calls = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr); break;
      case DT_PLTRELSZ: calls_bytes = d->d_un.d_val; break;
      default: break;
    }
  if (!symbols || !names) return;
  bool found = false;
  const auto search = [&](std::span<const ElfW(Rela)> list) {
    for (const ElfW(Rela) & r : list)
      if (const auto symbol = ELF64_R_SYM(r.r_info); symbol != 0 && names + symbols[symbol].st_name == name)
        f(m.base + r.r_offset), found = true;
  };
  if (calls) search({calls, calls_bytes / sizeof *calls});
  // For libraries whose calls don't go through that table.
  if (data && !found) search(std::span(data, data_bytes / sizeof *data).subspan(without_symbol));
}

void write(const Module& m, std::uintptr_t place, Register to) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(place / page * page);
  bool read_only = false;
  for (const ElfW(Phdr) & h : m.headers)
    read_only |= h.p_type == PT_GNU_RELRO && place - m.base >= h.p_vaddr && place - m.base < (h.p_vaddr + h.p_memsz) / page * page;
  if (read_only && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return;
  std::atomic_ref(*reinterpret_cast<Register*>(place)).store(to);
  if (read_only) mprotect(begin, page, PROT_READ);
}

[[maybe_unused]] const bool kept = [] {
  watch_process_end();
  const Module llvm_library = module_of(reinterpret_cast<const void*>(&llvm::sys::getProcessTriple));
  const Module own = module_of(reinterpret_cast<const void*>(&forget_destructors));
  if (llvm_library.base == own.base) original = reinterpret_cast<Register>(dlsym(RTLD_NEXT, "__cxa_atexit"));
  each_place_of(llvm_library, "__cxa_atexit", [&](std::uintptr_t place) { write(llvm_library, place, forget_destructors); });
  return true;
}();

}  // namespace
}  // namespace weft::detail
