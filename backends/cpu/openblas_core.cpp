#include "weft/backends/cpu/openblas_core.h"

#include <cblas.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

// In no header of OpenBLAS: what it runs when it is loaded and unloaded, which chooses the code (driver/others/dynamic.c).
extern "C" {
__attribute__((weak)) void gotoblas_dynamic_init();
__attribute__((weak)) void gotoblas_dynamic_quit();
}

namespace weft::detail {
namespace {

/// The address of a table of the dynamic section: the loader has added where the object lies to most, not to those of the kernel's own.
const char* address(const dl_phdr_info& object, ElfW(Addr) a) {
  return reinterpret_cast<const char*>(a < object.dlpi_addr ? a + object.dlpi_addr : a);
}

/// Counts the loaded objects that name OpenBLAS among what they need.
int count_users(dl_phdr_info* object, std::size_t, void* count) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* first = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    const char* strings = nullptr;
    for (const ElfW(Dyn)* d = first; d->d_tag != DT_NULL; ++d)
      if (d->d_tag == DT_STRTAB) strings = address(*object, d->d_un.d_ptr);
    for (const ElfW(Dyn)* d = first; d->d_tag != DT_NULL && strings; ++d)
      if (d->d_tag == DT_NEEDED && std::string_view(strings + d->d_un.d_val).substr(0, 11) == "libopenblas") ++*static_cast<int*>(count);
  }
  return 0;
}

}  // namespace

bool others_use_openblas() {
  int count = 0;
  dl_iterate_phdr(&count_users, &count);
  return count > 1;  // the first one is weft
}

void use_avx2_if_unknown() {
#if defined(__x86_64__)
  if (&gotoblas_dynamic_init == nullptr || &gotoblas_dynamic_quit == nullptr || std::getenv("OPENBLAS_CORETYPE")) return;
  if (std::string_view(openblas_get_corename()) != "Prescott" || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  // OpenBLAS reads its environment again. The variable is in a copy, as other threads may be reading the environment.
  char choice[] = "OPENBLAS_CORETYPE=Haswell";
  std::vector<char*> variables{choice};
  char** const before = environ;
  for (char** v = before; v && *v; ++v) variables.push_back(*v);
  variables.push_back(nullptr);
  environ = variables.data();
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  environ = before;
#endif
}

}  // namespace weft::detail
