// Opens a library, calls it, closes it, and again.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  for (int i = 0; i < 2 && argc > 1; ++i) {
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    char text[200] = "";
    const auto run = reinterpret_cast<int (*)(char*, int)>(dlsym(library, "run"));
    if (!run || run(text, sizeof text) != 0) return 1;
    std::printf("%s\n", text);
    dlclose(library);
  }
  return 0;
}
