// A program that opens and closes a plugin: host PLUGIN WAY.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool closes = std::strcmp(argv[2], "stays_open") != 0, threads = std::strcmp(argv[2], "closed_beside_threads") == 0;
  for (int i = 1; i <= 3; ++i) {
    void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      std::puts(dlerror());
      return 1;
    }
    const auto compute = reinterpret_cast<float (*)(int)>(dlsym(plugin, "compute"));
    if (compute(i) != 10.f * static_cast<float>(i)) return 1;
    if (threads && i == 1) reinterpret_cast<void (*)()>(dlsym(plugin, "keep_computing"))();
    if (closes && dlclose(plugin) != 0) return 1;
  }
  std::puts("done");
  return 0;
}
