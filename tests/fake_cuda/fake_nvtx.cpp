// A profiler for tests: takes over the ranges and keeps their names.
#include <cstdint>
#include <string>

namespace {
std::string said;
int push(const char* name) { return said += std::string("(") + name, 0; }
int pop() { return said += ")", 0; }
struct Callbacks {
  std::size_t bytes;
  int (*table)(int, void (****)(), unsigned*);
};
}  // namespace

extern "C" {
const char* fake_nvtx_said() { return said.c_str(); }

int InitializeInjectionNvtx2(const void* (*tables)(std::uint32_t)) {
  const auto* callbacks = static_cast<const Callbacks*>(tables(1));
  void (***core)() = nullptr;
  unsigned size = 0;
  if (!callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->table(1, &core, &size) || size < 12) return 0;
  *core[9] = reinterpret_cast<void (*)()>(&push);
  *core[11] = reinterpret_cast<void (*)()>(&pop);
  return 1;
}
}
