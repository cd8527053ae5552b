#include "weft/backends/cuda/libraries/nvtx.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace weft::detail::cuda {
namespace {

using AnyFunction = void (*)();

// Modules of functions that a tool may take over, and the numbers of the two that are called here.
constexpr int kCore = 1, kDomains = 5;
constexpr std::size_t kRangePush = 9, kRangePop = 11, kNumFunctions = 16;

/// The tool's replacement for each function; null if it has none.
struct Taken {
  std::array<AnyFunction, kNumFunctions> core{}, domains{};
  std::array<AnyFunction*, kNumFunctions> core_places{}, domain_places{};
  Taken() {
    for (std::size_t i = 1; i < kNumFunctions; ++i) core_places[i] = &core[i], domain_places[i] = &domains[i];
  }
};
Taken& taken() {
  static Taken t;
  return t;
}

int function_table(int module, AnyFunction*** table, unsigned* size) {
  if (module != kCore && module != kDomains) return 0;
  if (table) *table = (module == kCore ? taken().core_places : taken().domain_places).data();
  if (size) *size = kNumFunctions;
  return 1;
}

struct Callbacks {
  std::size_t struct_size;
  int (*function_table)(int, AnyFunction***, unsigned*);
};
struct VersionInfo {
  std::size_t struct_size;
  std::uint32_t version, reserved;
  void (*set_tool_version)(std::uint32_t);
};

const void* export_table(std::uint32_t id) {
  static const Callbacks callbacks{sizeof(Callbacks), &function_table};
  static const VersionInfo version{sizeof(VersionInfo), 3, 0, [](std::uint32_t) {}};
  return id == 1 ? static_cast<const void*>(&callbacks) : id == 3 ? &version : nullptr;
}

/// Whether a tool is attached.
bool attached() {
  static const bool is = [] {
    const char* path = std::getenv("NVTX_INJECTION64_PATH");
    void* tool = path && *path ? dlopen(path, RTLD_LAZY) : nullptr;
    if (!tool) return false;
    const auto attach = reinterpret_cast<int (*)(const void* (*)(std::uint32_t))>(dlsym(tool, "InitializeInjectionNvtx2"));
    return attach && attach(&export_table) != 0 && taken().core[kRangePush] && taken().core[kRangePop];
  }();
  return is;
}

}  // namespace

ProfilerRange::ProfilerRange(const char* name) {
  if (attached()) reinterpret_cast<int (*)(const char*)>(taken().core[kRangePush])(name);
}
ProfilerRange::~ProfilerRange() {
  if (attached()) reinterpret_cast<int (*)()>(taken().core[kRangePop])();
}

}  // namespace weft::detail::cuda
